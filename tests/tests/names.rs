//! Names and places in what dmdprof prints: one file has one name however it was reached, files are shown only where
//! the user is at work, and C++ names read as their authors wrote them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use dmdprof_tests::browser::Browser;
use dmdprof_tests::tool::{dmdprof, scratch, succeed};

/// Runs `dmdprof` there; what it printed.
fn printed(at: &Path, arguments: &[&str]) -> String {
    let mut command: Command = dmdprof();
    String::from_utf8(succeed(command.args(arguments).current_dir(at)).stdout).expect("text")
}

fn write(at: &Path, file: &str, text: &str) {
    let path = at.join(file);
    fs::create_dir_all(path.parent().expect("a directory")).expect("new directories");
    fs::write(path, text).expect("written");
}

const HEADER: &str = "static inline __attribute__((noinline)) long kern(const volatile int *a, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += a[i];
    return s;
}
";

const MAIN: &str = "#include <stdlib.h>
long one(int *, int), two(int *, int), three(int *, int);
int main(void) {
    volatile int *a = malloc(4000);
    for (int i = 0; i < 1000; i++) a[i] = i;
    return one((int *)a, 1000) + two((int *)a, 1000) != 2 * three((int *)a, 1000);
}
";

#[test]
fn a_header_that_is_reached_in_several_ways_is_one_file() {
    let directory = scratch();
    let at = directory.path();
    write(at, "project/.git/HEAD", "");
    write(at, "elsewhere/k.h", HEADER);
    // `link/..` is `elsewhere` and not `project`, where there is another file of the name.
    write(at, "elsewhere/deep/none.h", "");
    write(at, "project/k.h", "#error \"another file\"\n");
    fs::create_dir_all(at.join("project/build")).expect("a new directory");
    symlink("../elsewhere/deep", at.join("project/link")).expect("a link");
    symlink("../elsewhere", at.join("project/inc")).expect("a link");
    let includes = [("one", "../inc/k.h"), ("two", "k.h"), ("three", "k.h")];
    for (name, include) in includes {
        let text = format!("#include \"{include}\"\nlong {name}(int *a, int n) {{ return kern(a, n); }}\n");
        write(at, &format!("project/src/{name}.c"), &text);
    }
    write(at, "project/src/main.c", MAIN);
    let build = at.join("project/build");
    for (name, path) in [("one", "../nothing"), ("two", "../src/../inc"), ("three", "../link/.."), ("main", ".")] {
        let source = format!("../src/{name}.c");
        let include = format!("-I{path}");
        printed(&build, &["cc", "-O2", "-g", &include, "-c", &source, "-o", &format!("{name}.o")]);
    }
    printed(&build, &["cc", "one.o", "two.o", "three.o", "main.o", "-o", "app"]);
    printed(&build, &["run", "-q", "./app"]);

    let whole = |options: &[&str]| printed(&build, &[&["report", "--threshold", "0%"], options].concat());
    let count = |text: &str, what: &str| text.lines().filter(|line| line.contains(what)).count();
    let functions = whole(&["--format", "csv"]);
    assert_eq!(count(&functions, "function,kern,"), 1, "{functions}");
    let lines = whole(&["--lines", "--format", "csv"]);
    assert_eq!(count(&lines, "k.h"), 1, "one line of it reads: {lines}");
    let header = at.canonicalize().expect("it is there").join("elsewhere/k.h");
    let header = header.to_str().expect("a plain path");
    assert!(lines.contains(&format!("{header},")), "{lines}");
    let annotated = printed(&build, &["annotate", "--threshold", "0%", "--source-dir", "../../elsewhere"]);
    assert_eq!(count(&annotated, "k.h: "), 1, "{annotated}");
    assert_eq!(count(&annotated, "s += a[i]"), 1, "{annotated}");
    printed(&build, &["check", "--save-baseline", "base", "--profile", "dmdprof.data"]);
    let baseline = fs::read_to_string(at.join("project/dmdprof/base.toml")).expect("a baseline");
    assert_eq!(count(&baseline, "kern = { cost"), 1, "{baseline}");
    assert!(baseline.contains(header) && baseline.contains("\"src/main.c\""), "{baseline}");
}

/// A program whose debug information says that a function is in another file.
#[test]
fn a_file_outside_is_named_and_not_shown() {
    let directory = scratch();
    let at = directory.path();
    let secret = at.join("secret.txt");
    write(at, "secret.txt", "the secret\n");
    let text = format!(
        "#include <stdlib.h>\n#line 1 \"{}\"\n__attribute__((noinline)) long f(long *a) {{ long s = 0; for (int i = 0; i < 100; i++) s += a[i]; return s; }}\n#line 4 \"main.c\"\nint main(void) {{ return f(calloc(100, 8)) & 1; }}\n",
        secret.display()
    );
    write(at, "work/main.c", &text);
    let work = at.join("work");
    printed(&work, &["cc", "-O2", "-g", "main.c", "-o", "app"]);
    printed(&work, &["run", "-q", "./app"]);
    let annotated = printed(&work, &["annotate", "--threshold", "0%"]);
    assert!(!annotated.contains("the secret") && annotated.contains("--source-dir"), "{annotated}");
    let allowed = printed(&work, &["annotate", "--threshold", "0%", "--source-dir", ".."]);
    assert!(allowed.contains("the secret"), "{allowed}");
    // A link in the checkout changes nothing, and the page goes by the same rule.
    symlink(&secret, work.join("secret.txt")).expect("a link");
    let annotated = printed(&work, &["annotate", "--threshold", "0%"]);
    assert!(!annotated.contains("the secret"), "{annotated}");
    let mut browser = Browser::start(1280, 900);
    for (more, shown) in [(None, false), (Some("--source-dir=.."), true)] {
        succeed(dmdprof().args(["view", "-o", "page.html"]).args(more).current_dir(&work));
        browser.open(&work.join("page.html"), "panel=source");
        let page = browser.text("document.querySelector('main').textContent");
        assert_eq!(page.contains("the secret"), shown, "{more:?}: {page}");
        assert_eq!(page.contains("--source-dir DIR shows files below DIR"), !shown, "{page}");
    }
}

const NAMES: &str = "
template <class T> struct Größe {
    T wert;
    template <class U> __attribute__((noinline)) Größe(U u, volatile int *p) : wert(u + *p) {}
    __attribute__((noinline)) T länge(volatile int *p) const { return wert + *p; }
};
static volatile int g = 1;
__attribute__((noinline)) int operator\"\"_km(unsigned long long v) { return (int)v + g; }
int main() { Größe<unsigned long> a(3, &g); return a.länge(&g) + 5_km == 0; }
";

#[test]
fn names_are_what_authors_wrote() {
    let directory = scratch();
    let at = directory.path();
    write(at, "n.cpp", NAMES);
    printed(at, &["c++", "-std=c++17", "-O1", "-g", "n.cpp", "-o", "n"]);
    printed(at, &["run", "-q", "./n"]);
    let report = printed(at, &["report", "--threshold", "0%", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let names: Vec<&str> =
        report["functions"].as_array().expect("functions").iter().filter_map(|row| row["name"].as_str()).collect();
    for name in [
        "Größe<unsigned long>::Größe<int>(int, int volatile*)",
        "Größe<unsigned long>::länge(int volatile*) const",
        "operator\"\" _km(unsigned long long)",
    ] {
        assert!(names.contains(&name), "{name} is none of {names:?}");
    }
}
