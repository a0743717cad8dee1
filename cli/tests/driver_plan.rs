//! What each form of compiler command line is taken for. Nothing is started here.

use std::ffi::OsString;

use dmdprof::driver::{
    arguments::{Argument, InputKind, following_words, parse},
    plan::{Build, LinkKind, LinkWord, OutputPath, Plan, Reason, plan},
    response,
};

fn words(line: &str) -> Vec<OsString> {
    line.split_ascii_whitespace().map(OsString::from).collect()
}

/// Command lines, one per line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim().lines().map(str::trim)
}

fn build(line: &str) -> Build {
    match plan(&words(line)) {
        Plan::Build(build) => build,
        Plan::Pass(reason) => panic!("`{line}` passes: {reason:?}"),
    }
}

fn pass(line: &str) -> Reason {
    match plan(&words(line)) {
        Plan::Pass(reason) => reason,
        Plan::Build(build) => panic!("`{line}` builds: {build:?}"),
    }
}

fn join(words: &[OsString]) -> String {
    words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The words for clang's bitcode run of the only unit.
fn bitcode_line(line: &str) -> String {
    let build = build(line);
    let [unit] = &build.units[..] else { panic!("`{line}` has {} units", build.units.len()) };
    join(&[&unit.arguments[..], unit.bitcode.as_deref().expect("instrumented")].concat())
}

fn link_line(line: &str) -> String {
    let words = build(line).link.expect("links").words;
    let shown = words.iter().map(|word| match word {
        LinkWord::Word(word) | LinkWord::Input(word) => word.to_string_lossy().into_owned(),
        LinkWord::Library { words, archive } => format!("{}{}", join(words), if *archive { " (.a)" } else { "" }),
        LinkWord::Unit(index) => format!("<{index}>"),
        LinkWord::VersionScript(path) => format!("<script {}>", path.display()),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn objects(line: &str) -> Vec<String> {
    let place = |place: &OutputPath| match place {
        OutputPath::Named(path) => path.to_string_lossy().into_owned(),
        OutputPath::Temporary(path) => format!("<{}>", path.display()),
    };
    build(line).units.iter().map(|unit| place(&unit.place)).collect()
}

#[test]
fn what_makes_no_object_is_clangs_business() {
    for line in ["", "-v", "--version", "-dumpmachine", "-print-search-dirs", "-Wl,--version", "-lm", "-o x", "-o"] {
        assert_eq!(pass(line), Reason::NoInput, "`{line}`");
    }
    let actions = "
        -E x.c
        -E -
        -E -dM -x c /dev/null
        -S x.c
        -M x.c
        -MM x.c
        -fsyntax-only x.c
        --version x.c
        -### x.c
        -c -emit-llvm x.c
        -S -emit-llvm x.c
        -c x.c -S
        --analyze x.c
        -Xclang -ast-dump -c x.c
        -Xclang -emit-pch x.c
        -print-target-triple x.c";
    for line in lines(actions) {
        assert!(matches!(pass(line), Reason::OtherAction(_)), "`{line}`");
    }
    assert_eq!(pass("-c x.s"), Reason::NothingToInstrument);
    assert_eq!(pass("-c x.S y.o"), Reason::NothingToInstrument);
    assert_eq!(pass("-c x.o"), Reason::NothingToInstrument);
    assert_eq!(pass("-c x.c -o /dev/null"), Reason::NoObject);
    assert_eq!(pass("-c -x c - -o -"), Reason::NoObject);
    assert_eq!(pass("-c a.c b.c -o x.o"), Reason::SeveralOutputs);
    assert_eq!(pass("x.h"), Reason::OtherInput("x.h".into()));
    assert_eq!(pass("-x c-header stdafx -o stdafx.pch"), Reason::OtherInput("stdafx".into()));
    assert_eq!(pass("-c -x cuda x.c"), Reason::OtherInput("x.c".into()));
    assert_eq!(pass("-c kernel.cu"), Reason::OtherInput("kernel.cu".into()));
}

#[test]
fn other_targets_carry_no_hooks() {
    let foreign = "
        -m32 -c x.c
        -c x.c --target=aarch64-linux-gnu
        -target armv7-linux-gnueabi x.c
        -arch arm64 -c x.c
        --target=x86_64-w64-mingw32 x.c
        -mx32 x.c
        -fopenmp-targets=nvptx64 x.c
        --target=x86_64-linux-gnux32 -c x.c";
    for line in lines(foreign) {
        assert!(matches!(pass(line), Reason::ForeignTarget(_)), "`{line}`");
    }
    for line in ["-m32 -m64 -c x.c", "--target=x86_64-linux-gnu -c x.c", "-target x86_64-unknown-linux-musl -c x.c"] {
        build(line);
    }
}

#[test]
fn one_source_to_one_object() {
    assert_eq!(bitcode_line("-O2 -c x.c -o y.o"), "-O2 -c x.c -emit-llvm -D__DMDPROF__=1 -gline-tables-only");
    assert_eq!(objects("-c dir/x.c -o out/y.o"), ["out/y.o"]);
    assert_eq!(objects("-c dir/x.c -oy.o"), ["y.o"]);
    assert_eq!(objects("-c x.c --output=y.o"), ["y.o"]);
    assert_eq!(objects("-c x.c -o first.o -o last.o"), ["last.o"]);
    assert_eq!(objects("-c dir.d/x.y.c dir.d/z.cc"), ["x.y.o", "z.o"]);
    assert_eq!(objects("-c -x c -"), ["-.o"]);
    assert_eq!(objects("-c -x c++ strange.inc -o z.o"), ["z.o"]);
    assert!(build("-c x.c").link.is_none());
    assert!(build("-x c -c -").units[0].reads_stdin);
    assert_eq!(bitcode_line("-c x.ll"), "-c x.ll -emit-llvm");
}

#[test]
fn lines_are_added_unless_asked_for() {
    for given in ["-g", "-g1", "-ggdb3", "-gdwarf-4", "-gmlt", "-gline-tables-only", "-g0 -g"] {
        assert!(!bitcode_line(&format!("-c x.c {given}")).contains("=1 -gline-tables-only"), "`{given}`");
    }
    for given in ["", "-g0", "-g -g0", "-gz", "-gcolumn-info", "-gsplit-dwarf"] {
        assert!(bitcode_line(&format!("-c x.c {given}")).ends_with("=1 -gline-tables-only"), "`{given}`");
    }
}

#[test]
fn several_objects_from_one_call() {
    let build = build("-c a.c b.S c.cpp -O1 z.o -lm");
    let lines: Vec<String> = build.units.iter().map(|u| join(&u.arguments)).collect();
    // Clang's remark about the unused linker input comes once.
    assert_eq!(lines, ["-c a.c -O1 z.o -lm", "-c b.S -O1", "-c c.cpp -O1"]);
    assert!(build.units[1].bitcode.is_none(), "assembly carries no hooks");
}

#[test]
fn compiling_and_linking_keeps_the_order() {
    assert_eq!(
        link_line("-O2 first.o a.c -L. -lfoo b.S c.cc libx.a -Wl,--as-needed -o prog -lm"),
        "-O2 first.o <0> -L. -lfoo <1> <2> libx.a -Wl,--as-needed -o prog -lm -Qunused-arguments"
    );
    assert_eq!(objects("a.c dir/a.c b.S -o prog"), ["<a.o>", "<a.o>", "<b.o>"]);
    let line = bitcode_line("-O2 a.c z.o -lm -Wl,-x -o p");
    assert!(line.starts_with("-O2 a.c -c -Qunused-arguments -emit-llvm"), "{line}");
    // Only objects: the user's words and nothing else.
    assert_eq!(link_line("a.o -o prog -lm -g"), "a.o -o prog -lm -g");
    assert_eq!(link_line("-x c a.c -o prog"), "<0> -o prog -Qunused-arguments");
    assert_eq!(link_line("-x assembler a.inc -x none b.o"), "<0> b.o -Qunused-arguments");
}

#[test]
fn where_libraries_are_looked_for() {
    let directories = |line: &str| join(&build(line).link.expect("links").directories);
    assert_eq!(directories("a.o -La -lx -L b -Wl,-Lc,-z,now -o p"), "a b c");
    assert_eq!(
        link_line("a.o -lx -Wl,-Bstatic -ly -l z -Wl,-Bdynamic -lm"),
        "a.o -lx -Wl,-Bstatic -ly (.a) -l z (.a) -Wl,-Bdynamic -lm"
    );
    assert_eq!(link_line("-static a.o -lx"), "-static a.o -lx (.a)");
    assert_eq!(link_line("a.o -Wl,--push-state,-Bstatic -lx -Wl,--pop-state -ly").matches("(.a)").count(), 1);
    let level = |line: &str| build(line).link.expect("links").opt_level;
    assert_eq!([level("a.o"), level("a.o -O1"), level("a.o -O3 -O0")], [2, 1, 0]);
}

#[test]
fn modules_are_sources() {
    assert_eq!(bitcode_line("-g -c m.cppm -o o/m.o"), "-g -c m.cppm -emit-llvm -D__DMDPROF__=1");
    assert_eq!(
        bitcode_line("-c -x c++-module m.cpp"),
        "-c -x c++-module m.cpp -emit-llvm -D__DMDPROF__=1 -gline-tables-only"
    );
    assert_eq!(bitcode_line("-c m.pcm -o m.o"), "-c m.pcm -emit-llvm -gline-tables-only");
    // The precompiled module has the name that clang would give it.
    let unit = |line: &str| join(&build(line).units[0].arguments);
    assert_eq!(unit("-c m.cppm -fmodule-output -o o/m.o"), "-c m.cppm -fmodule-output");
    assert_eq!(unit("-c d/m.cppm -fmodule-output"), "-c d/m.cppm -fmodule-output -fmodule-output=d/m.pcm");
    assert!(unit("d/m.cppm u.cpp -fmodule-output -o p").contains("-fmodule-output=d/m.pcm"));
    assert_eq!(unit("-c d/m.cppm -fmodule-output=x.pcm"), "-c d/m.cppm -fmodule-output=x.pcm");
    assert_eq!(link_line("m.cppm u.cpp -o p"), "<0> <1> -o p -Qunused-arguments");
    assert!(matches!(pass("--precompile m.cppm -o m.pcm"), Reason::OtherAction(_)));
    assert!(matches!(pass("-c -x c++-user-header h.h"), Reason::OtherInput(_)));
}

#[test]
fn kinds_of_links() {
    let kind = |line: &str| build(line).link.expect("links").kind;
    assert_eq!(kind("a.o"), LinkKind::Program);
    assert_eq!(kind("a.o -pie"), LinkKind::Program);
    assert_eq!(kind("a.o -static"), LinkKind::StaticProgram);
    assert_eq!(kind("a.o -static-pie"), LinkKind::StaticProgram);
    assert_eq!(kind("a.o -shared"), LinkKind::SharedLibrary);
    assert_eq!(kind("a.o -Wl,-soname,x,-shared"), LinkKind::SharedLibrary);
    assert_eq!(kind("a.o -r"), LinkKind::Relocatable);
    assert_eq!(kind("a.o -nostdlib -Wl,-r"), LinkKind::Relocatable);
    assert_eq!(kind("a.o -Xlinker --relocatable"), LinkKind::Relocatable);
    assert!(
        LinkKind::Program
            .options()
            .contains(&"-Wl,--export-dynamic-symbol=__dmdprof_v5_ring__link_with_dmdprof_cc".into())
    );
    assert_eq!(LinkKind::SharedLibrary.options(), LinkKind::Program.options());
    assert!(LinkKind::StaticProgram.options().is_empty() && LinkKind::Relocatable.options().is_empty());
    assert!(!LinkKind::Relocatable.needs_hooks());
}

#[test]
fn version_scripts_are_set_apart() {
    let forms = "
        -shared a.o -Wl,--version-script=v.map
        -shared a.o -Wl,--version-script,v.map
        -shared a.o -Wl,-version-script -Wl,v.map
        -shared a.o -Xlinker --version-script=v.map
        -shared a.o -Xlinker --version-script -Xlinker v.map";
    for line in lines(forms) {
        assert_eq!(link_line(line), "-shared a.o -Xlinker <script v.map>", "`{line}`");
    }
    assert_eq!(
        link_line("-shared a.o -Wl,-soname,x,--version-script=v.map,-z,defs -lm"),
        "-shared a.o -Xlinker -soname -Xlinker x -Xlinker <script v.map> -Xlinker -z -Xlinker defs -lm"
    );
}

#[test]
fn symbolic_libraries_are_linked_by_a_list() {
    let symbolic = |line: &str| build(line).link.expect("links").symbolic;
    assert!(symbolic("a.o -shared -Wl,-Bsymbolic"));
    assert!(!symbolic("a.o -Wl,-Bsymbolic") && !symbolic("a.o -shared -Wl,-Bsymbolic-functions"));
    assert!(!symbolic("a.o -shared -Wl,-Bsymbolic -Wl,-Bno-symbolic"));
    assert_eq!(link_line("-shared a.o -Wl,-Bsymbolic,-z,defs -lm"), "-shared a.o -Xlinker -z -Xlinker defs -lm");
    assert_eq!(link_line("-shared a.o -Wl,-Bsymbolic-functions"), "-shared a.o -Wl,-Bsymbolic-functions");
    assert_eq!(link_line("-pie a.o -Wl,-Bsymbolic"), "-pie a.o -Wl,-Bsymbolic");
}

#[test]
fn link_time_optimisation_is_dropped() {
    for flags in
        ["-flto", "-flto=thin", "-flto -ffat-lto-objects", "-flto -fwhole-program-vtables", "-flto-jobs=4 -flto"]
    {
        assert_eq!(bitcode_line(&format!("-c {flags} x.c -g")), "-c x.c -g -emit-llvm -D__DMDPROF__=1", "`{flags}`");
        assert_eq!(link_line(&format!("{flags} x.o")), "x.o", "`{flags}`");
    }
}

#[test]
fn code_generation_outside_the_bitcode() {
    let codegen = |line: &str| build(&format!("-c x.c {line}")).units[0].codegen;
    for (flags, level) in [("-O0 ", 0), ("-O -O1 -Og -O3,-O1", 1), ("-O2 -Os -Oz --optimize=2", 2), ("-O3 -Ofast", 3)] {
        for flag in flags.split(' ') {
            assert_eq!(codegen(&flag.replace(',', " ")).opt_level, level, "`{flag}`");
        }
    }
    assert!(codegen("-ffunction-sections").function_sections && !codegen("-fdata-sections").function_sections);
    assert!(!codegen("-ffunction-sections -fno-function-sections").function_sections);
}

#[test]
fn dependency_names_in_one_step_builds() {
    let unit = |line: &str| join(&build(line).units[0].arguments);
    assert_eq!(unit("-MMD d/a.c -o out/prog"), "-MMD d/a.c -MF out/prog.d -MQ out/prog -c -Qunused-arguments");
    assert_eq!(unit("-MD d/a.c"), "-MD d/a.c -MF a.d -MQ a.o -c -Qunused-arguments");
    assert_eq!(unit("-MD -MF x.d a.c -o p"), "-MD -MF x.d a.c -MQ p -c -Qunused-arguments");
    assert_eq!(unit("-MD -MT t -MFx.d a.c"), "-MD -MT t -MFx.d a.c -c -Qunused-arguments");
    // With `-c` clang derives the names itself, from `-o`.
    assert_eq!(unit("-MD -c a.c -o b.o"), "-MD -c a.c");
    assert_eq!(link_line("-MD -MF x.d -MP a.c -o p"), "<0> -o p -Qunused-arguments");
}

#[test]
fn intermediate_files_are_made_in_a_run_of_their_own() {
    let build = build("-save-temps=obj -c x.c");
    assert_eq!(build.units[0].save_temps.as_deref(), Some("-save-temps=obj".as_ref()));
    assert_eq!(join(&build.units[0].arguments), "-c x.c");
}

#[test]
fn options_that_take_the_next_word() {
    let separate = "-include -isystem -I -D -Xclang -Xlinker -mllvm -MF -MT -MQ -T -u -z -L -idirafter -Xpreprocessor \
                    -Xassembler --param -isysroot -Xarch_host -Xarch_x86_64 -Xopenmp-target=nvptx64 -rpath \
                    -working-directory -resource-dir --sysroot";
    for option in separate.split_ascii_whitespace() {
        assert_eq!(build(&format!("{option} x.c -c y.c")).units.len(), 1, "`{option}`");
    }
    for option in ["-arch", "-target", "-x", "-o"] {
        assert_eq!(following_words(option), 1, "`{option}`");
    }
    for option in ["-Ifoo", "-Wl,-x", "-Wall", "-std=c99", "-fPIC", "--sysroot=/", "-MFx", "-march=native", "-s"] {
        assert_eq!(following_words(option), 0, "`{option}`");
    }
    assert_eq!(following_words("-sectcreate"), 3);
}

#[test]
fn languages_and_the_end_of_options() {
    use InputKind::{Assembly, Ir, Object, Source};
    let kinds = |line: &str| -> Vec<InputKind> {
        let inputs = parse(&words(line)).into_iter();
        inputs.filter_map(|a| if let Argument::Input { kind, .. } = a { Some(kind) } else { None }).collect()
    };
    assert_eq!(kinds("a.o -x c b.o -x none c.o -xassembler-with-cpp d"), [Object, Source, Object, Assembly]);
    assert_eq!(kinds("a.C b.i c.mm d.bc e.sx f.so.1 g"), [Source, Source, Source, Ir, Object, Object, Object]);
    assert_eq!(bitcode_line("-c -g -- -x.c"), "-c -g ./-x.c -emit-llvm -D__DMDPROF__=1");
    assert_eq!(objects("-c -- -x.c"), ["-x.o"]);
}

#[test]
fn response_files() {
    let tokens = |text: &str| {
        response::tokenize(text.as_bytes()).iter().map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tokens("-c  x.c\n\t-o y.o\r\n"), ["-c", "x.c", "-o", "y.o"]);
    assert_eq!(tokens(r#"-DA="b c" 'd e' f\ g "h\"i" '' "\\""#), ["-DA=b c", "d e", "f g", "h\"i", "", "\\"]);
    assert_eq!(tokens(r"'it\'s' C:\\x trailing\"), ["it's", "C:\\x", "trailing\\"]);
    assert_eq!(tokens("\u{feff}x"), ["x"]);

    let dir = tempfile::tempdir().expect("temporary directory");
    let file = |name: &str, content: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).expect("writes");
        path
    };
    let inner = file("inner", "-DX='a b' x.c");
    let outer = file("outer", &format!("-c @{}", inner.display()));
    let endless = dir.path().join("endless");
    file("endless", &format!("@{}", endless.display()));
    let at = |path: &std::path::Path| OsString::from(format!("@{}", path.display()));
    assert_eq!(join(&response::expand(&[at(&outer), "@missing".into(), "@".into()])), "-c -DX=a b x.c @missing @");
    assert_eq!(response::expand(&[at(&endless)]).len(), 1);

    let odd: Vec<OsString> = ["a b", "c\"d", "e\\f", "", "'g'", "$h\n"].map(OsString::from).to_vec();
    assert_eq!(response::tokenize(&response::quote(&odd)), odd);
}
