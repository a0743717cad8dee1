//! What `dmdprof cc` and `c++` make of modules, of bitcode among the inputs of a link, of programs without a C library,
//! of `dmdprof.h`; and what other linkers say about objects with hooks.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use dmdprof_tests::profiled::Report;
use dmdprof_tests::tool::{clang, describe, dmdprof, output, require, scratch, succeed, take_environment};

/// Reads 4,000 bytes.
const SUM: &str = "(const volatile int *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n";

fn write(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(name), text).expect("a file");
}

/// A shell command in the directory, in which `$D` is dmdprof.
fn shell(directory: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    let tool = dmdprof();
    command.args(["-ec", line]).current_dir(directory).env("D", tool.get_program());
    take_environment(&mut command, &tool);
    output(&mut command)
}

fn good(directory: &Path, line: &str) -> Output {
    let found = shell(directory, line);
    assert!(found.status.success(), "`{line}`: {}", describe(&found));
    found
}

/// What `./NAME` reads, and what its profile says was linked without hooks.
fn read(directory: &Path, name: &str) -> (u64, Vec<String>) {
    let profile = directory.join(format!("{name}.data"));
    succeed(dmdprof().args(["run", "-q", "-o"]).arg(&profile).arg(directory.join(name)));
    let report = Report::read(&profile);
    let without = report.0["coverage"]["without_hooks"].as_array().expect("an array").iter();
    (report.total("read"), without.map(|name| name.as_str().expect("a name").to_owned()).collect())
}

/// The clang of the tests, and other versions that are here.
fn clangs() -> Vec<String> {
    let newer = ["clang-16", "clang-19"].into_iter().filter(|name| output_of_version(name));
    [clang(false).display().to_string()].into_iter().chain(newer.map(str::to_owned)).collect()
}

fn output_of_version(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn modules_have_hooks() {
    let directory = scratch();
    let at = directory.path();
    fs::create_dir(at.join("d")).expect("a directory");
    write(at, "d/m.cppm", &format!("export module m;\nexport __attribute__((noinline)) long kern{SUM}"));
    fs::copy(at.join("d/m.cppm"), at.join("m.cpp")).expect("a copy");
    write(
        at,
        "u.cpp",
        "import m;\nextern \"C\" void *malloc(unsigned long);\nint main() { volatile int *a = (volatile int *)malloc(4000); \
         for (int i = 0; i < 1000; i++) a[i] = i; return kern(a, 1000) != 499500; }\n",
    );
    for (number, clang) in clangs().iter().enumerate() {
        let run = |name: &str, line: &str| {
            let flags = "-std=c++20 -O1 -g";
            good(at, &format!("export DMDPROF_CLANG={clang} F='{flags}'; {line}"));
            assert_eq!(read(at, name).0, 4000, "{clang}: {line}");
        };
        run(
            "two",
            "$D c++ $F --precompile d/m.cppm -o m.pcm; $D c++ $F -c m.pcm -o m.o; $D c++ $F -fmodule-file=m.pcm u.cpp m.o -o two",
        );
        run("one", "$D c++ $F -c -x c++-module m.cpp -o m.o; $D c++ $F -fmodule-file=m.pcm u.cpp m.o -o one");
        run("sources", "$D c++ $F -fmodule-file=m.pcm u.cpp m.pcm -o sources");
        // Only the first is sure to be an old one, which does not know the option.
        if number > 0 {
            run(
                "out",
                "$D c++ $F -c d/m.cppm -fmodule-output -o n.o; $D c++ $F -fmodule-file=m=n.pcm u.cpp n.o -o out",
            );
            run("step", "$D c++ $F d/m.cppm u.cpp -fmodule-output -fprebuilt-module-path=d -o step; rm d/m.pcm");
        }
    }
}

#[test]
fn bitcode_gets_its_hooks_at_the_link() {
    let directory = scratch();
    let at = directory.path();
    write(at, "p.c", &format!("long first{SUM}"));
    write(at, "q.c", &format!("long second{SUM}"));
    write(
        at,
        "m.c",
        "#include <stdlib.h>\nlong first(const volatile int *, int), second(const volatile int *, int);\nint main(void) { \
         volatile int *a = malloc(4000); for (int i = 0; i < 1000; i++) a[i] = i; return first(a, 1000) != second(a, 1000); }\n",
    );
    for clang in clangs() {
        good(at, "rm -f *.o *.a");
        // Full and thin.
        good(
            at,
            &format!("{clang} -O1 -g -flto -c p.c; {clang} -O1 -g -flto=thin -c q.c; ar rcs libpq.a p.o q.o 2> said"),
        );
        good(at, "ar rcST libthin.a p.o q.o 2> said || ar rcsT libthin.a p.o q.o 2> said");
        for inputs in ["p.o q.o", "libpq.a", "-L. -lpq", "libthin.a", "-Wl,--start-group,libpq.a,--end-group"] {
            let line = format!("DMDPROF_CLANG={clang} $D cc -O1 -g m.c {inputs} -o m");
            assert_eq!(describe(&good(at, &line)), describe(&good(at, "true")), "{line} says something");
            assert_eq!(read(at, "m"), (8000, Vec::new()), "{line}");
        }
    }
    // Optimised code has no price in the values model.
    let clang = clang(false);
    let linked = good(
        at,
        &format!(
            "{} -O1 -g -flto -c p.c; $D cc -O1 -g -c q.c; $D cc --dmdprof-model=values -O1 -g m.c p.o q.o -fuse-ld=lld -o m",
            clang.display()
        ),
    );
    assert!(String::from_utf8_lossy(&linked.stderr).contains("note: p.o: linked without hooks: it is optimised code"));
    assert!(fs::read(at.join("m")).expect("a program").windows(26).any(|part| part == b"dmdprof-without-hooks: p.o"));
}

const OWN_START: &str = "
static int a[1000];
__attribute__((force_align_arg_pointer)) void _start(void) {
    long s = 0;
    for (int i = 0; i < 1000; i++) ((volatile int *)a)[i] = i;
    for (int i = 0; i < 1000; i++) s += ((volatile int *)a)[i];
    __asm__ volatile(\"syscall\" : : \"a\"(231L), \"D\"(s != 499500) : \"rcx\", \"r11\", \"memory\");
    __builtin_unreachable();
}
";

#[test]
fn programs_in_which_nothing_sets_up_thread_local_storage_are_refused() {
    let directory = scratch();
    let at = directory.path();
    write(at, "s.c", OWN_START);
    write(at, "m.c", "int main(void) { return 0; }\n");
    for flags in ["-nostdlib -static", "-nostdlib -no-pie", "-nostdlib -static-pie", "-nostartfiles -static"] {
        let refused = shell(at, &format!("$D cc -O1 -g -fno-stack-protector {flags} s.c -o s"));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{flags}: {said}");
        assert!(said.contains("s: nothing sets up thread-local storage") && said.contains("start files"), "{said}");
        assert!(!at.join("s").exists(), "{flags}");
    }
    // The dynamic linker does it. That nobody runs constructors takes nothing away.
    good(at, "$D cc -O1 -g -fno-stack-protector -nostdlib s.c -o s; ./s; $D run -q -o s.data ./s");
    let report = Report::read(&at.join("s.data")).0;
    assert!(report["totals"]["read"] == 4000 && report["complete"] == true, "{report}");
    // The C library does it, whoever names its start files; or nobody needs to.
    write(at, "p.c", &format!("long kern{SUM}static int a[1000]; int main(void) {{ return kern(a, 1000); }}\n"));
    for (start, flags) in [("crt1.o", "-static"), ("Scrt1.o", "-pie")] {
        let files = format!("$($D cc -print-file-name={start}) $($D cc -print-file-name=crti.o)");
        good(at, &format!("$D cc -O1 -g -nostartfiles {flags} {files} p.c $($D cc -print-file-name=crtn.o) -o p"));
        assert_eq!(read(at, "p").0, 4000, "{flags}");
    }
    good(at, "$D cc -static m.c -s -o m; ./m; $D cc -static-pie m.c -o m; ./m");
    good(at, "$D cc -nostdlib -shared -fPIC s.c -o s.so; $D cc -nostdlib -r s.c -o r.o");
    good(
        at,
        &format!(
            "{} -c -fno-stack-protector s.c -o s.o; $D cc -nostdlib -static s.o -o s; ./s",
            clang(false).display()
        ),
    );
}

#[test]
fn the_header_is_found_from_everywhere() {
    let directory = scratch();
    let at = directory.path();
    let source = "#include <dmdprof.h>\nint main(void) { dmdprof_begin(\"x\"); dmdprof_end(\"x\"); return 0; }\n";
    write(at, "k.c", source);
    write(at, "k.cpp", &source.replace("<dmdprof.h>", "\"dmdprof.h\""));
    good(
        at,
        "$D build k.c -o a; $D build k.cpp -o b; $D run -q k.c; $D time -n 1 k.c; $D cc -E k.c > k.i; $D cc -c k.c -o /dev/null",
    );
    // What make reads later is there later.
    good(at, "$D cc -c k.c -MD -MF k.d -o k.o");
    let dependencies = fs::read_to_string(at.join("k.d")).expect("dependencies");
    let header = dependencies.split_whitespace().find(|name| name.ends_with("/dmdprof.h")).expect("the header");
    assert!(Path::new(header).is_file(), "{header}");
    // Any other comes first.
    fs::create_dir(at.join("mine")).expect("a directory");
    write(at, "mine/dmdprof.h", "#error mine\n");
    let mine = shell(at, "$D cc -Imine -c k.c");
    assert!(String::from_utf8_lossy(&mine.stderr).contains("error: mine"), "{}", describe(&mine));
    // Without a home a temporary directory serves.
    good(at, "unset DMDPROF_CACHE_DIR XDG_CACHE_HOME HOME; $D build k.c -o a");
}

#[test]
fn other_linkers_say_what_to_do() {
    let _ = require(OsStr::new("gcc"), "install gcc (Debian: apt-get install gcc)");
    let directory = scratch();
    let at = directory.path();
    write(at, "m.c", &format!("long kern{SUM}int main(void) {{ int a[9] = {{0}}; return kern(a, 9); }}\n"));
    good(at, "$D cc -O1 -g -c m.c; $D cc m.o -o m; ./m");
    for linker in ["gcc", &clang(false).display().to_string()] {
        let failed = shell(at, &format!("{linker} m.o -o m"));
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        let missing: Vec<&str> = said.lines().filter(|line| line.contains("undefined reference")).collect();
        assert!(!failed.status.success() && missing.len() > 1, "{said}");
        assert!(missing.iter().all(|line| line.contains("__link_with_dmdprof_cc")), "{said}");
    }
}
