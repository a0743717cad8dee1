//! The driver at work with a real clang and a fake instrumenter, which compiles the bitcode as it is.
//!
//! This program is two things. Started by cargo it runs the tests below (a name as argument selects). Started with
//! [`TOOL`] in its environment, or by rustc as a linker, it is `dmdprof cc`, `c++` or the linker, with the fake inside.
//! So the tests drive the driver as make and configure do: as a compiler in another process.

use std::{
    env,
    ffi::OsString,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use dmdprof::driver::{
    Face, Instrumenter, Request, Toolbox, doctor, execute, hook_symbols, rust_link,
    source::{CompileFailed, SourceOptions, build_source},
};
use tempfile::TempDir;

/// Set to `cc` or `c++`: be that compiler.
const TOOL: &str = "DMDPROF_TEST_TOOL";
/// Object file with stand-ins for the hooks.
const HOOKS: &str = "DMDPROF_TEST_HOOKS";
/// File that receives one line per instrumented bitcode file.
const LOG: &str = "DMDPROF_TEST_LOG";

const TESTS: &[(&str, fn())] = &[
    ("passes_what_is_not_ours", passes_what_is_not_ours),
    ("objects_and_programs", objects_and_programs),
    ("dependency_files_are_clangs_own", dependency_files_are_clangs_own),
    ("assembly_response_files_and_mixes", assembly_response_files_and_mixes),
    ("libraries_share_the_programs_hooks", libraries_share_the_programs_hooks),
    ("static_relocatable_and_lto", static_relocatable_and_lto),
    ("every_clang_and_linker", every_clang_and_linker),
    ("errors_are_clear_and_leave_nothing", errors_are_clear_and_leave_nothing),
    ("interruption_leaves_nothing", interruption_leaves_nothing),
    ("derived_files_are_where_clang_puts_them", derived_files_are_where_clang_puts_them),
    ("make_project", make_project),
    ("configure_probes", configure_probes),
    ("cmake_project", cmake_project),
    ("choice_of_clang", choice_of_clang),
    ("sources_become_programs", sources_become_programs),
    ("rust_goes_through_the_linker", rust_goes_through_the_linker),
    ("doctor_says_what_to_do", doctor_says_what_to_do),
];

fn main() -> ExitCode {
    if rust_link::requested() {
        // The objects have real hooks there.
        return with_tools(|tools| {
            let tools = Toolbox { hooks_object: dmdprof_runtime::hooks_object::HOOKS_OBJECT, ..*tools };
            rust_link::link(&arguments(), &tools)
        });
    }
    match env::var(TOOL).as_deref() {
        Ok("cc") => return with_tools(|tools| execute::compile(Face::C, &arguments(), tools)),
        Ok("c++") => return with_tools(|tools| execute::compile(Face::Cxx, &arguments(), tools)),
        _ => {}
    }
    let given: Vec<String> = env::args().skip(1).collect();
    if given.iter().any(|a| a == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = given.iter().filter(|a| !a.starts_with('-')).collect();
    let chosen: Vec<_> =
        TESTS.iter().filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f))).collect();
    let queue = Mutex::new(chosen.iter());
    let failed = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((name, test)) = next() {
                    let start = Instant::now();
                    let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
                    println!("test {name} ... {} ({:.1?})", if passed { "ok" } else { "FAILED" }, start.elapsed());
                    if !passed {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(*name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{} of {} tests passed", chosen.len() - failed.len(), chosen.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Vec<OsString> {
    env::args_os().skip(1).collect()
}

fn with_tools(job: impl FnOnce(&Toolbox) -> i32) -> ExitCode {
    let hooks = env::var_os(HOOKS).map(|path| fs::read(path).expect("hooks")).unwrap_or_default();
    ExitCode::from(job(&toolbox(&hooks)) as u8)
}

fn toolbox(hooks: &[u8]) -> Toolbox<'_> {
    Toolbox {
        instrumenter: &Unchanged,
        model: dmdprof::driver::Model::Memory,
        hooks_object: hooks,
        llvm_major: || 22,
        dump_ir: None,
    }
}

/// Compiles the bitcode without adding anything; for rustc's, which no clang here reads, takes rustc's own object.
struct Unchanged;

impl Instrumenter for Unchanged {
    fn instrument(&self, request: &Request) -> anyhow::Result<()> {
        use std::io::Write;
        if let Some(log) = env::var_os(LOG) {
            let line = format!("O{} {}\n", request.opt_level, request.input.display());
            fs::OpenOptions::new().create(true).append(true).open(log)?.write_all(line.as_bytes())?;
        }
        if env::var_os(rust_link::ENVIRONMENT).is_some() {
            // No clang reads the bitcode of every rustc.
            dmdprof_instrument::instrument_file(&Request { dump_ir: None, ..*request })?;
            return Ok(());
        }
        if env::var_os("DMDPROF_TEST_STALL").is_some() {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        let clang = env::var_os("DMDPROF_CLANG").unwrap_or_else(|| "clang".into());
        let mut command = Command::new(clang);
        command.args(["-w", "-c", "-fPIC", "-x", "ir"]).arg(format!("-O{}", request.opt_level));
        command.args(request.function_sections.then_some("-ffunction-sections"));
        command.arg(request.input).arg("-o").arg(request.object);
        let out = command.output()?;
        anyhow::ensure!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Ok(())
    }

    fn compile(&self, ir: &Path, object: &Path, opt_level: u8) -> anyhow::Result<()> {
        Ok(dmdprof_instrument::compile_file(ir, object, opt_level)?)
    }
}

// -- A place to work in
// ------------------------------------------------------------------------------------------------

/// A directory with sources, and the compilers as scripts.
struct Place {
    dir: TempDir,
}

const HOOKS_C: &str = r#"
__thread void *__dmdprof_v5_ring__link_with_dmdprof_cc;
void __dmdprof_v5_reserve__link_with_dmdprof_cc(void) {}
void __dmdprof_v5_module__link_with_dmdprof_cc(const void *blob) { (void)blob; }
void __dmdprof_v5_call__link_with_dmdprof_cc(void) {}
void __dmdprof_v5_landed__link_with_dmdprof_cc(void) {}
int __dmdprof_v5_sigaction__link_with_dmdprof_cc(void) { return 0; }
void *__dmdprof_v5_signal__link_with_dmdprof_cc(void) { return 0; }
"#;

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let place = Self { dir };
        fs::create_dir(place.path("tmp")).expect("creates");
        fs::create_dir(place.path("w")).expect("creates");
        place.file("../hooks.c", HOOKS_C);
        let mut clang = Command::new("clang");
        clang.args(["-c", "-O1", "-fPIC", "-ftls-model=initial-exec", "hooks.c", "-o", "hooks.o"]);
        assert!(clang.current_dir(place.dir.path()).status().expect("clang runs").success());
        for tool in ["cc", "c++"] {
            let us = env::current_exe().expect("own path");
            place.script(&format!("../{tool}"), &format!("{TOOL}={tool} exec '{}' \"$@\"", us.display()));
        }
        place
    }

    /// A path outside of the working directory.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn work(&self) -> PathBuf {
        self.path("w")
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("creates");
        fs::write(&path, content).expect("writes");
        path
    }

    fn script(&self, name: &str, body: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// A program in the working directory, with our temporary files in a directory of their own.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work()).env("TMPDIR", self.path("tmp"));
        command.env(HOOKS, self.path("hooks.o")).env(LOG, self.path("log")).env("LC_ALL", "C");
        command
    }

    fn shell(&self, line: &str) -> Output {
        let mut command = self.command("sh");
        command.env("CC", self.path("cc")).env("CXX", self.path("c++")).args(["-c", line]);
        command.output().expect("sh runs")
    }

    /// The line must do well; its output. A good run of ours prints nothing, which most callers check by this.
    fn good(&self, line: &str) -> String {
        let out = self.shell(line);
        let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "`{line}`: {}\n{text}", out.status);
        text
    }

    fn silent(&self, line: &str) {
        assert_eq!(self.good(line), "", "`{line}` prints");
    }

    /// Objects instrumented since the last call.
    fn instrumented(&self) -> usize {
        let log = self.path("log");
        let count = fs::read_to_string(&log).map_or(0, |text| text.lines().count());
        fs::remove_file(log).ok();
        count
    }

    /// What clang and we make of the same words must be indistinguishable.
    fn same(&self, words: &str) {
        let ours = self.shell(&format!("$CC {words}"));
        let clang = self.shell(&format!("clang {words}"));
        let show = |out: &Output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (out.status.code(), text(&out.stdout), text(&out.stderr))
        };
        assert_eq!(show(&ours), show(&clang), "`{words}`");
    }

    fn nothing_left(&self) {
        assert_eq!(files(&self.path("tmp")), Vec::<PathBuf>::new(), "temporary files are left");
        let stray = files(&self.work()).into_iter().filter(|f| f.extension().is_some_and(|e| e == "tmp"));
        assert_eq!(stray.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "temporary files are left");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.nothing_left();
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    files
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

const SUM_C: &str = "\
#include \"sum.h\"
int sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
";
const SUM_H: &str = "int sum(const int *a, int n);\n";
const MAIN_C: &str = "\
#include <stdio.h>
#include \"sum.h\"
#ifndef __DMDPROF__
#error not defined
#endif
int main(void) { int a[] = {1, 2, 3}; printf(\"%d\\n\", sum(a, 3)); return 0; }
";

fn with_sum() -> Place {
    let place = Place::new();
    place.file("sum.c", SUM_C);
    place.file("sum.h", SUM_H);
    place.file("main.c", MAIN_C);
    place
}

// -- Tests
// -------------------------------------------------------------------------------------------------------------

fn passes_what_is_not_ours() {
    let place = with_sum();
    for words in [
        "",
        "--version",
        "-v",
        "-dumpmachine",
        "-print-search-dirs",
        "-E sum.c",
        "-S -O2 sum.c -o -",
        "-M sum.c",
        "-fsyntax-only -Wall sum.c",
        "-E -dM -x c /dev/null",
        "-O2 -c sum.c -o /dev/null",
        "-c sum.c main.c -o x.o",
        "-c missing.c",
        "-c sum.c --no-such-option",
        "-Wl,--version",
        "-### -c sum.c",
        "-m32 -S sum.c -o -",
        "-c sum.c -o missing-dir/x.o",
        "-x c -fsyntax-only - < sum.c",
        "-include",
    ] {
        place.same(words);
    }
    place.silent("$CC -emit-llvm -c sum.c -o ours.bc && clang -emit-llvm -c sum.c -o clang.bc && cmp ours.bc clang.bc");
    place.silent("$CC -x c-header sum.h -o sum.h.pch && test -s sum.h.pch");
    assert_eq!(place.instrumented(), 0);
    // A warning comes once, in clang's words.
    place.file("warn.c", "int f(void) { int unused; return 0; }\n");
    place.same("-Wall -c warn.c");
    place.same("-Wall -c warn.c -lm");
    place.same("-Werror -Wall -c warn.c");
}

fn objects_and_programs() {
    let place = with_sum();
    place.silent("$CC -O2 -c sum.c && $CC -c main.c -o m.o && $CC sum.o m.o -o prog");
    assert_eq!(place.good("./prog"), "6\n");
    assert_eq!(place.instrumented(), 2);
    place.silent("$CC -O2 main.c sum.c -lm");
    assert_eq!(place.good("./a.out"), "6\n");
    assert_eq!(place.instrumented(), 2);
    place.silent("mkdir out && $CC -c main.c sum.c && test -s main.o -a -s sum.o && ar rcs libsum.a sum.o");
    place.silent("$CC main.o -L. -lsum -o prog2");
    assert_eq!(place.good("./prog2"), "6\n");
    // From standard input, and with line numbers although nobody asked.
    place.silent("$CC -x c -c - -o stdin.o < sum.c && $CC main.o stdin.o -o prog3");
    assert_eq!(place.good("./prog3"), "6\n");
    assert!(place.good("readelf -SW stdin.o").contains(".debug_line"));
    // C++, with exceptions, and the permissions and links that clang leaves.
    place.file(
        "x.cc",
        "#include <iostream>\nint main() { try { throw 7; } catch (int i) { std::cout << i << '\\n'; } }\n",
    );
    place.silent("$CXX -O2 x.cc -o x && umask 077 && $CXX -c x.cc");
    assert_eq!(place.good("./x; stat -c %a x.o"), "7\n600\n");
    // The program exports the hooks for libraries.
    let exported = place.good("nm -D prog");
    for symbol in hook_symbols() {
        assert!(exported.contains(symbol), "{symbol}");
    }
    // A name with everything in it.
    place.file("odd $name 'é\".c", "int odd;\n");
    place.silent("$CC -c odd* && test -s odd*.o && $CC -c -- odd*.c");
}

fn dependency_files_are_clangs_own() {
    let place = with_sum();
    for words in [
        "-MD -c sum.c",
        "-MMD -c sum.c -o out/y.o",
        "-MMD -MP -c sum.c -o 'out/y z$.o'",
        "-MD -MF dep.txt -c sum.c -o out/y.o",
        "-MMD -MF dep.txt -MT 'a b' -MQ '$(c)' -c sum.c",
        "-MMD -c sum.c main.c",
        "-MMD main.c sum.c -o out/prog",
        "-MMD -MP sum.c main.c",
        "-Wp,-MMD,dep.txt -c sum.c",
        "-Wp,-MD,dep.txt,-MT,x -c sum.c",
        "-MMD -MF dep.txt -c -x c - -o s.o < sum.c",
    ] {
        let dependencies = |compiler: &str| {
            place.good("rm -rf out *.d dep.txt && mkdir out");
            place.silent(&format!("{compiler} {words}"));
            let found = [files(&place.work()), files(&place.work().join("out"))].concat();
            found
                .into_iter()
                .filter(|f| f.extension().is_some_and(|e| e == "d" || e == "txt"))
                .map(|f| (f.clone(), fs::read_to_string(f).expect("reads")))
                .collect::<Vec<_>>()
        };
        let expected = dependencies("clang -D__DMDPROF__");
        assert!(!expected.is_empty(), "`{words}`");
        assert_eq!(dependencies("$CC"), expected, "`{words}`");
    }
}

fn assembly_response_files_and_mixes() {
    let place = with_sum();
    place.file(
        "seven.S",
        "#define VALUE 7\n.globl seven\nseven: mov $VALUE, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    );
    place.file("three.s", ".globl three\nthree: mov $3, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n");
    place.file("mix.c", "int seven(void), three(void), sum(const int*, int); int main(void) { int a[] = {1}; return seven() + three() + sum(a, 1); }\n");
    place.silent("$CC -c three.s sum.c && ar rcs libsum.a sum.o");
    assert_eq!(place.instrumented(), 1);
    place.silent("$CC seven.S mix.c three.o -L. -lsum -o mix");
    assert_eq!(place.instrumented(), 1);
    assert_eq!(place.good("./mix; echo $?"), "11\n");
    place.silent("$CC -c -MMD seven.S && clang -c -MMD seven.S -o c.o && cmp seven.o c.o");
    place.file("inner.rsp", "-DTEXT=\"\\\"some text\\\"\" -I 'with space'");
    place.file("outer.rsp", "-O2\n@inner.rsp -o \"out put.o\"");
    place.file("with space/t.h", "const char *text = TEXT;\n");
    place.file("text.c", "#include \"t.h\"\n");
    place.silent("$CC -c text.c @outer.rsp");
    assert!(place.good("strings -a 'out put.o'").contains("some text"));
    // More words than a command line holds.
    let many: String = (0..30_000).map(|i| format!("-DNAME_{i}=1\n")).collect();
    place.file("many.rsp", &many);
    place.silent("$CC @many.rsp -c sum.c");
    place.good("rm -f *.o");
}

fn libraries_share_the_programs_hooks() {
    let place = Place::new();
    place.file(
        "lib.c",
        "extern __thread void *__dmdprof_v5_ring__link_with_dmdprof_cc; void __dmdprof_v5_reserve__link_with_dmdprof_cc(void);\n\
         void *lib_ring(void) { return &__dmdprof_v5_ring__link_with_dmdprof_cc; } void *lib_reserve(void) { return (void *)__dmdprof_v5_reserve__link_with_dmdprof_cc; }\n",
    );
    place.file(
        "app.c",
        "extern __thread void *__dmdprof_v5_ring__link_with_dmdprof_cc; void __dmdprof_v5_reserve__link_with_dmdprof_cc(void); void *lib_ring(void), *lib_reserve(void);\n\
         int main(void) { return lib_ring() != &__dmdprof_v5_ring__link_with_dmdprof_cc || lib_reserve() != (void *)__dmdprof_v5_reserve__link_with_dmdprof_cc; }\n",
    );
    place.file("plain.map", "{ global: lib_*; local: *; };\n");
    place.file("versions.map", "# a comment {\nV_1 { global: lib_ring; local: *; };\nV_2 { lib_reserve; } V_1;\n");
    for flags in [
        "",
        "-Wl,-Bsymbolic",
        "-Wl,-Bsymbolic-functions",
        "-Wl,--version-script=plain.map",
        "-Wl,-soname,liblib.so,-version-script -Wl,versions.map -Wl,-z,defs",
        "-fvisibility=hidden -Wl,--version-script,plain.map -fvisibility=default",
    ] {
        for linker in ["bfd", "gold", "lld"].into_iter().filter(|l| installed(&format!("ld.{l}"))) {
            if linker == "gold" && flags.ends_with("-functions") {
                continue; // gold has no way to exempt a function
            }
            let link = format!("$CC -fuse-ld={linker}");
            place.silent(&format!("{link} -fPIC -shared {flags} lib.c -o liblib.so"));
            place.silent(&format!("{link} app.c -L. -llib -Wl,-rpath,\"$PWD\" -o app && ./app"));
        }
    }
    // As without hooks: it goes when the program closes it.
    assert!(!place.good("readelf -dW liblib.so").contains("NODELETE"));
}

fn static_relocatable_and_lto() {
    let place = with_sum();
    place.silent("$CC -static -O2 main.c sum.c -o static && test \"$(./static)\" = 6");
    place.silent("$CC -r -nostdlib main.c sum.c -o both.o && $CC both.o -o rel && test \"$(./rel)\" = 6");
    place.silent("$CC -flto -O2 -c main.c sum.c && $CC -flto=thin main.o sum.o -o lto && test \"$(./lto)\" = 6");
    place.silent("$CC -flto -ffat-lto-objects main.c sum.c -o lto2 && test \"$(./lto2)\" = 6");
    assert!(place.good("readelf -h main.o").contains("ELF64"));
    place.silent("$CC -ffunction-sections -c sum.c");
    assert!(place.good("readelf -SW sum.o").contains(".text.sum"));
    place.silent("$CC -O2 main.c sum.c -s -Wl,--gc-sections -o stripped && test \"$(./stripped)\" = 6");
}

fn every_clang_and_linker() {
    let place = with_sum();
    for clang in ["clang-14", "clang-16", "clang-19"].into_iter().filter(|c| installed(c)) {
        place.silent(&format!("DMDPROF_CLANG={clang} $CC -O2 -MMD main.c sum.c -o p && test \"$(./p)\" = 6"));
    }
    for linker in ["bfd", "gold", "lld"].into_iter().filter(|l| installed(&format!("ld.{l}"))) {
        place.silent(&format!("$CC -fuse-ld={linker} main.c sum.c -o p && test \"$(./p)\" = 6"));
        let exported = place.good("nm -D p");
        assert!(hook_symbols().iter().all(|symbol| exported.contains(symbol)), "{linker}: {exported}");
    }
}

fn errors_are_clear_and_leave_nothing() {
    let place = with_sum();
    place.file("bad.c", "int f(void) { return x; }\n");
    place.same("-c bad.c");
    place.same("-c bad.c -o out.o");
    assert!(!place.work().join("out.o").exists());
    // The other sources are still compiled, for their messages, and nothing is linked.
    place.file("bad2.c", "int g(void) { return y; }\n");
    let out = place.shell("$CC bad.c bad2.c -o p");
    assert_eq!(out.status.code(), Some(1));
    assert!(stderr(&out).contains("'x'") && stderr(&out).contains("'y'") && !place.work().join("p").exists());
    // Known to the code generator only: clang's message all the same, once.
    place.file("asm.c", "void f(void) { __asm__(\"no_such_instruction\"); }\n");
    place.same("-c asm.c");
    assert!(!place.work().join("asm.o").exists());
    // A link error is the linker's.
    let out = place.shell("$CC main.c -o p");
    assert_eq!(out.status.code(), Some(1));
    assert!(stderr(&out).contains("undefined reference to `sum'"), "{}", stderr(&out));
    assert!(!stderr(&out).contains("dmdprof:"), "{}", stderr(&out));
    // No place for temporary files.
    let out = place.shell("TMPDIR=/nonexistent $CC -c sum.c");
    assert_eq!(out.status.code(), Some(1));
    assert!(
        stderr(&out).starts_with("dmdprof: cannot create a temporary directory in /nonexistent"),
        "{}",
        stderr(&out)
    );
    assert_eq!(stderr(&out).lines().count(), 1);
    // The object's place cannot be written.
    let out = place.shell("mkdir taken.o; $CC -c sum.c -o taken.o");
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(stderr(&out).matches("taken.o").count(), 1, "{}", stderr(&out));
}

fn interruption_leaves_nothing() {
    let place = with_sum();
    let line = "DMDPROF_TEST_STALL=1 $CC -c sum.c & pid=$!; i=0; \
                while [ ! -s ../log ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done; kill -TERM $pid; wait $pid; echo $?";
    assert_eq!(String::from_utf8_lossy(&place.shell(line).stdout), "143\n");
    assert!(!place.work().join("sum.o").exists(), "an unfinished object would be taken for a good one");
}

fn derived_files_are_where_clang_puts_them() {
    let place = with_sum();
    place.silent("mkdir out && $CC --coverage -c sum.c -o out/sum.o && test -s out/sum.gcno");
    place.silent("$CC -ftime-trace -c sum.c -o out/sum.o && test -s out/sum.json");
    place.silent("$CC -save-temps -c sum.c && test -s sum.i -a -s sum.s -a -s sum.bc");
    place.silent("$CC -save-temps=obj -c sum.c -o out/sum.o && test -s out/sum.i -a -s out/sum.s");
    assert_eq!(place.instrumented(), 4);
}

fn make_project() {
    let place = with_sum();
    place.file(
        "Makefile",
        "CFLAGS = -O2 -Wall -Werror -MMD -MP\nOBJECTS = main.o sum.o\nprog: main.o libsum.a\n\t$(CC) $^ -o $@\n\
         libsum.a: sum.o\n\t$(AR) rcs $@ $^\n-include $(OBJECTS:.o=.d)\n",
    );
    place.good("make -s -j2 CC=\"$CC\" && test \"$(./prog)\" = 6");
    assert_eq!(place.instrumented(), 2);
    // The header's dependents are known.
    place.good("sleep 0.02; touch sum.h; make -s CC=\"$CC\" prog");
    assert_eq!(place.instrumented(), 2);
    place.good("make -s CC=\"$CC\" prog");
    assert_eq!(place.instrumented(), 0);
}

fn configure_probes() {
    let place = Place::new();
    place.script(
        "configure",
        r#"
log() { echo "$1=$2"; }
probe() { if "$@" >probe.out 2>probe.err; then if [ -s probe.err ]; then echo noisy; else echo yes; fi; else echo no; fi; }
echo 'int main(void){return 0;}' > conftest.c
log works "$(probe $CC conftest.c)"; log default "$(ls a.out)"; rm -f a.out
log object "$(probe $CC -c conftest.c; ls conftest.o)"
echo 'choke me' > conftest.c
log nonsense "$(probe $CC -c conftest.c)"
echo 'int main(void){return no_such_function();} ' > conftest.c
log undeclared_function "$(probe $CC -Werror=implicit-function-declaration -c conftest.c)"
echo 'char sqrt(); int main(void){return sqrt();}' > conftest.c
log needs_libm "$(probe $CC -fno-builtin conftest.c -o conftest)$(probe $CC -fno-builtin conftest.c -o conftest -lm)"
echo 'int main(void){return 0;}' > conftest.c
for flag in -Wall -fPIC -fno-such-flag -Wno-such-warning -march=native -Wl,--as-needed -Wl,--no-such -pthread -flto -lnosuch; do
  log "flag $flag" "$(probe $CC -Werror $flag conftest.c -o conftest)"
done
log gnu "$(printf '#ifndef __GNUC__\nno\n#endif\n' | $CC -E - | grep -c no)"
log sizeof "$(printf 'int a[sizeof(long) == 8 ? 1 : -1];' > s.c; probe $CC -c s.c)$(printf 'int a[sizeof(long) == 4 ? 1 : -1];' > s.c; probe $CC -c s.c)"
log machine "$($CC -dumpmachine)"
log stdin "$(echo 'int x;' | probe $CC -x c -c - -o stdin.o)"
log dev_null "$(probe $CC -c -x c /dev/null -o null.o)$(probe $CC conftest.c -o /dev/null)"
log runs "$($CC conftest.c -o conftest && ./conftest; echo $?)"
log ld "$($CC -print-prog-name=ld)"
log linker "$($CC -Wl,--version 2>&1 | head -n 1)"
log asm "$(printf 'void f(void){__asm__("bogus");}' > s.c; probe $CC -c s.c)"
log depends "$($CC -MT x -MD -MP -MF dep.Tpo -c conftest.c -o sub.o; cat dep.Tpo)"
"#,
    );
    let ours = place.good("./configure");
    let clang = place.good("CC=clang ./configure");
    assert_eq!(ours, clang);
    assert!(ours.contains("works=yes") && ours.contains("nonsense=no") && ours.contains("runs=0"), "{ours}");
    assert!(place.instrumented() > 5);
}

fn cmake_project() {
    if !installed("cmake") {
        println!("SKIPPED cmake_project: cmake is not installed");
        return;
    }
    let place = with_sum();
    place.file(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(demo C CXX)\nfind_package(Threads REQUIRED)\n\
         add_library(sum SHARED sum.c)\nadd_executable(prog main.c)\ntarget_link_libraries(prog sum Threads::Threads)\n",
    );
    place.good("cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build build");
    assert_eq!(place.good("build/prog"), "6\n");
}

fn choice_of_clang() {
    let place = with_sum();
    let fails = |line: &str, with: &str| {
        let out = place.shell(line);
        assert_eq!(out.status.code(), Some(1), "`{line}`");
        assert!(stderr(&out).starts_with("dmdprof: ") && stderr(&out).contains(with), "`{line}`: {}", stderr(&out));
        assert_eq!(stderr(&out).lines().count(), 1, "{}", stderr(&out));
    };
    fails("DMDPROF_CLANG=/no/clang $CC -c sum.c", "DMDPROF_CLANG=/no/clang: no such program");
    place.script("bin/clang", "echo gcc 12");
    fails("DMDPROF_CLANG=./bin/clang $CC -c sum.c", "does not answer");
    place.script("bin/clang", "echo 'Some clang version 99.1.0'");
    fails("DMDPROF_CLANG=./bin/clang $CC -c sum.c", "is version 99, but the LLVM in use is 22");
    fails("PATH=$PWD/bin $CC -c sum.c", "is version 99");
    place.good("mkdir empty");
    fails("PATH=$PWD/empty $CC -c sum.c", "install clang from the system's packages, or set DMDPROF_CLANG");
    // One that is too new is passed over when another is there: the newest that is not too new.
    place.script("bin/clang-9", "case $1 in --version) echo clang version 9.0.0;; *) echo nine;; esac");
    place.script("bin/clang-21", "case $1 in --version) echo clang version 21.0.0;; *) echo twenty-one;; esac");
    place.script("bin/clang-23", "echo clang version 23.0.0");
    assert_eq!(place.good("PATH=$PWD/bin $CC -E sum.c"), "twenty-one\n");
    // Without a clang++ beside it, clang is told to be one.
    place.script("bin/clang-21", "case $1 in --version) echo clang version 21.0.0;; *) echo $1;; esac");
    assert_eq!(place.good("PATH=$PWD/bin $CXX -E sum.c"), "--driver-mode=g++\n");
}

fn sources_become_programs() {
    let place = with_sum();
    let hooks = fs::read(place.path("hooks.o")).expect("hooks");
    let tools = toolbox(&hooks);
    place.file("one.c", "#include <math.h>\n#include <stdio.h>\nint main(int n, char **v) { printf(\"%g\\n\", sqrt(n * 16)); return 3; }\n");
    place.file("two.cpp", "#include <vector>\nint main() { std::vector<int> v(5); return v.size(); }\n");
    place.file("broken.c", "int main(void) { return x; }\n");
    place.good("clang -O1 -S -emit-llvm one.c -o three.ll && clang -O1 -c -emit-llvm one.c -o four.bc");
    let built = |name: &str, options: &SourceOptions| build_source(&place.work().join(name), options, &tools);
    for (name, stdout, code) in [("one.c", "4\n", 3), ("two.cpp", "", 5), ("three.ll", "4\n", 3), ("four.bc", "4\n", 3)]
    {
        let program = built(name, &SourceOptions::default()).expect(name);
        let out = Command::new(&program.program).output().expect("runs");
        assert_eq!((String::from_utf8_lossy(&out.stdout).as_ref(), out.status.code()), (stdout, Some(code)), "{name}");
        let path = program.program.clone();
        drop(program);
        assert!(!path.exists());
    }
    let failed = built("broken.c", &SourceOptions::default()).expect_err("does not compile");
    assert!(failed.downcast_ref::<CompileFailed>().is_some());
    assert!(failed.to_string().ends_with("broken.c failed"), "{failed}");
    assert!(built("sum.h", &SourceOptions::default()).is_err());
    assert!(built("missing.c", &SourceOptions::default()).expect_err("missing").to_string().contains("cannot read"));
}

fn rust_goes_through_the_linker() {
    let place = Place::new();
    place.file(
        "my-kernel.rs",
        "fn main() { let v: Vec<u32> = (1..4).collect(); println!(\"{}\", v.iter().sum::<u32>()); }\n",
    );
    let us = env::current_exe().expect("own path");
    // As `build_source` does it, but in a process with our environment.
    let line = format!(
        "{}=2 DMDPROF_RUST_LINK_NO_STD=1 DMDPROF_CACHE_DIR=$PWD/cache rustc --edition=2024 --crate-name my_kernel --emit=link,llvm-bc --out-dir out -Copt-level=2 -Cdebuginfo=1 \
         -Ccodegen-units=1 -Clto=off -Clinker-flavor=gcc -Clinker='{}' my-kernel.rs",
        rust_link::ENVIRONMENT,
        us.display()
    );
    place.silent(&line);
    assert_eq!(place.good("out/my_kernel"), "6\n");
    let log = fs::read_to_string(place.path("log")).expect("log");
    assert!(log.starts_with("O2 ") && log.contains("/my_kernel.") && log.lines().count() == 1, "{log}");
    assert!(place.good("nm -D out/my_kernel").contains("__dmdprof_v5_ring__link_with_dmdprof_cc"));
    // Without bitcode there would be no hooks: an error, not a silent gap.
    let out = place.shell(&format!("rm -r out; {}", line.replace("link,llvm-bc", "link")));
    assert_eq!(out.status.code(), Some(1));
    assert!(stderr(&out).contains("rustc left no bitcode"), "{}", stderr(&out));
}

fn doctor_says_what_to_do() {
    let found = || Ok((PathBuf::from("/lib/libLLVM.so"), "22.1.2".to_owned()));
    let emulator = || Ok("QEMU 7.2.22".to_owned());
    let good = doctor::diagnose(found(), emulator(), || 22);
    assert!(good.ok, "{good:?}");
    let bad = doctor::diagnose(Err("no libLLVM anywhere".to_owned()), emulator(), || 22);
    assert!(!bad.ok);
    for check in good.checks.iter().chain(&bad.checks) {
        assert!(check.status != doctor::Status::Problem || !check.advice.is_empty(), "{check:?}");
    }
    let json = serde_json::to_value(&bad).expect("JSON");
    assert_eq!(json["ok"], false);
    assert!(json["checks"].as_array().is_some_and(|checks| checks.len() >= 9));
}
