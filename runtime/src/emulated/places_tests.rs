//! Places of real files, by the compilers and tools that are there: function, file and line in each form that debug
//! information has, and what is left without it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::places::{Declared, Places};

const SOURCE: &str = "static volatile long cells[8];
static inline __attribute__((always_inline)) long inner(int i) {
    return cells[i];
}
__attribute__((noinline)) long outer(int i) {
    return inner(i) + inner(i + 1);
}
int main(void) {
    return (int)outer(1);
}
";

fn run(directory: &Path, words: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    let done = Command::new(words[0]).args(&words[1..]).current_dir(directory).output();
    let done = done.unwrap_or_else(|error| panic!("{}: {error}; install gcc, clang, binutils and llvm", words[0]));
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A directory with a program made of the source.
fn built(commands: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.c"), SOURCE).expect("written");
    commands.iter().for_each(|command| run(directory.path(), command));
    directory
}

/// Each function that a chain goes through from the outside, with its declaration's line, and the line there.
fn chain(places: &mut Places, function: &str) -> Vec<(String, u32, u32)> {
    let start = places.address(function).unwrap_or_else(|| panic!("no {function}"));
    let name = |file: Option<&str>| file.is_some_and(|file| file.ends_with("/a.c"));
    for address in start..start + 64 {
        let chain = places.chain(address, start);
        if chain.len() < 2 {
            continue;
        }
        assert!(chain.iter().all(|place| name(Some(&place.file)) && name(place.function.file.as_deref())), "{chain:?}");
        return chain.into_iter().map(|place| (place.function.name, place.function.line, place.line)).collect();
    }
    Vec::new()
}

fn assert_found(program: PathBuf, below: &Path, what: &str) {
    let mut places = Places::read_below(&program, below);
    let found = chain(&mut places, "outer");
    assert_eq!(found, [("outer".into(), 5, 6), ("inner".into(), 2, 3)], "{what}");
    assert_eq!(places.missing(), None, "{what}");
}

#[test]
fn all_forms_of_debug_information_are_read() {
    for compiler in ["gcc", "clang"] {
        for version in [4, 5] {
            let whole = format!("{compiler} -O1 -gdwarf-{version} a.c -o a");
            let split = format!("{compiler} -O1 -gdwarf-{version} -gsplit-dwarf -c a.c -o a.o");
            let link = format!("{compiler} a.o -o a");
            let dwp = format!("{} -e a -o a.dwp", if compiler == "gcc" { "dwp" } else { "llvm-dwp" });
            // Of gcc's DWARF 5, binutils 2.40 and LLVM 14 can make no package: one crashes, one does not end.
            let package = if (compiler, version) == ("gcc", 5) { vec![] } else { vec![&*dwp, "rm a.dwo"] };
            let strip = ["objcopy --only-keep-debug a a.debug", "strip --strip-all a -o b"];
            let apart = [&strip[..], &["objcopy --add-gnu-debuglink=a.debug b c", "rm a"]].concat();
            for (what, commands, program) in [
                ("in the file", vec![&*whole], "a"),
                ("in .dwo files", vec![&split, &link], "a"),
                ("in a package", [&[&*split, &link], &package[..]].concat(), "a"),
                ("by .gnu_debuglink", [&[&*whole], &apart[..]].concat(), "c"),
                ("by .gnu_debuglink, split", [&[&*split, &link], &apart[..]].concat(), "c"),
                ("compressed", vec![&whole, "objcopy --compress-debug-sections a"], "a"),
            ] {
                let directory = built(&commands);
                let what = format!("{compiler}, DWARF {version}, {what}");
                assert_found(directory.path().join(program), Path::new("/no/such"), &what);
            }
        }
    }
}

#[test]
fn debug_information_is_found_by_build_identity() {
    let directory = built(&[
        "gcc -O1 -g -Wl,--build-id=0x0123456789 a.c -o a",
        "mkdir -p below/.build-id/01",
        "objcopy --only-keep-debug a below/.build-id/01/23456789.debug",
        "strip --strip-all a",
    ]);
    assert_found(directory.path().join("a"), &directory.path().join("below"), "build identity");
}

/// As a clock has it: a place in the file and no start of a function.
#[test]
fn places_in_a_file_are_those_of_its_addresses() {
    let directory = built(&["gcc -O1 -g a.c -o a", "strip --strip-all a -o b"]);
    let of = |name: &str| Places::read_below(&directory.path().join(name), Path::new("/no/such"));
    let mut places = of("a");
    let start = places.address("outer").expect("a symbol");
    // Code of a program that is linked to lie anywhere is where its addresses say.
    let found: Vec<_> = (start..start + 64).map(|offset| places.code(offset)).collect();
    let inlined = found.iter().find(|code| code.chain.len() == 2).expect("what was inlined");
    assert_eq!((inlined.function.name.as_str(), inlined.chain[1].function.name.as_str()), ("outer", "inner"));
    let stripped = of("b").code(start);
    assert_eq!(stripped.function.name, "(b)");
    assert!(stripped.uncovered.is_some_and(|at| at.address == start && at.after <= start), "{stripped:?}");
    assert_eq!((places.code(u64::MAX).function.name.as_str(), places.code(u64::MAX).uncovered), ("(a)", None));
}

#[test]
fn without_split_files_functions_have_symbols_and_lines() {
    for version in [4, 5] {
        let compile = format!("gcc -O1 -gdwarf-{version} -gsplit-dwarf -c a.c -o a.o");
        let directory = built(&[&compile, "gcc a.o -o a", "rm a.dwo"]);
        let mut places = Places::read_below(&directory.path().join("a"), Path::new("/no/such"));
        assert_eq!(chain(&mut places, "outer"), [], "nothing is known of what is inlined");
        let start = places.address("outer").expect("a symbol");
        let Declared { name, file, line } = places.function(start);
        // That of its first instruction, which may be of what was inlined.
        assert!(name == "outer" && [3, 5, 6].contains(&line), "DWARF {version}: {name} at line {line}");
        assert!(file.is_some_and(|file| file.ends_with("a.c")), "DWARF {version}");
        assert_eq!(places.missing(), Some(("a".into(), 1)), "DWARF {version}");
        assert_eq!(places.missing(), None, "told once");
    }
}

#[test]
fn a_split_file_of_another_build_is_not_taken() {
    let directory = built(&[
        "gcc -O1 -gdwarf-5 -gsplit-dwarf -c a.c -o a.o",
        "gcc a.o -o a",
        "gcc -O2 -DOTHER -gdwarf-5 -gsplit-dwarf -c a.c -o a.o",
    ]);
    let mut places = Places::read_below(&directory.path().join("a"), Path::new("/no/such"));
    assert_eq!(chain(&mut places, "outer"), []);
    assert_eq!(places.missing(), Some(("a".into(), 1)));
}
