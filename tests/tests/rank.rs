//! `dmdprof time` and `dmdprof rank` on variants of one matrix product (`tests/variants`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::programs::{Compiler, case};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, output, scratch, succeed};
use serde_json::Value;
use tempfile::TempDir;

const MACHINE: &str = "skx-6148-core";

/// A directory to work in, with a cache and a configuration of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(scratch())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = dmdprof();
        command.args(words).current_dir(self.0.path());
        command.env("XDG_CACHE_HOME", self.path("cache")).env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    fn good(&self, words: &[&str]) -> Output {
        succeed(&mut self.command(words))
    }

    /// What it said about why it failed.
    fn refused(&self, words: &[&str]) -> String {
        let output = output(&mut self.command(words));
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Without cycles, which take another run of each variant.
    fn rank(&self, words: &[&str]) -> Ranked {
        self.rank_by_cycles(&[&["--no-cycles"], words].concat())
    }

    fn rank_by_cycles(&self, words: &[&str]) -> Ranked {
        let output = self.good(&[&["rank", "--format", "json"], words].concat());
        Ranked(serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", describe(&output))))
    }

    /// The path of a new file with this text.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a plain path").into()
    }
}

/// The path of a variant.
fn variant(name: &str) -> String {
    in_tests("variants").join(name).to_str().expect("a plain path").into()
}

/// A ranking in JSON.
struct Ranked(Value);

fn file_name(value: &Value) -> String {
    let path = Path::new(value.as_str().expect("a name"));
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

impl Ranked {
    fn sheet(&self, name: &str) -> &Value {
        let sheets = self.0["sheets"].as_array().expect("sheets");
        sheets.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("no sheet {name}: {:#}", self.0))
    }

    /// File names of all variants, best first.
    fn names(&self) -> Vec<String> {
        self.sheet("variants")["rows"].as_array().expect("rows").iter().map(|row| file_name(&row["name"])).collect()
    }

    fn row(&self, name: &str) -> &Value {
        let rows = self.sheet("variants")["rows"].as_array().expect("rows");
        rows.iter().find(|row| file_name(&row["name"]) == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// (criterion, file name of the pick).
    fn picks(&self) -> Vec<(String, String)> {
        let rows = self.sheet("picks")["rows"].as_array().expect("rows");
        rows.iter().map(|row| (row["criterion"].as_str().expect("a text").into(), file_name(&row["pick"]))).collect()
    }
}

#[test]
fn the_cheapest_variant_that_does_the_same_is_picked() {
    let place = Place::new();
    let [ijk, ikj, tiled, wrong] = ["ijk.c", "ikj.c", "tiled.c", "wrong.c"].map(variant);
    let core = "--cycles=zen4-9654-core";
    let found = place.rank_by_cycles(&[core, "--machine", MACHINE, &ijk, &ikj, &tiled, &wrong, "--", "64"]);
    assert_eq!(found.names().last().map(String::as_str), Some("wrong.c"));
    assert_eq!(found.names()[0], "ikj.c");
    let (baseline, best, excluded) = (found.row("ijk.c"), found.row("ikj.c"), found.row("wrong.c"));
    assert_eq!((&best["rank"], &best["difference"], &best["standing"]), (&1.into(), &0.into(), &"eligible".into()));
    assert_eq!(baseline["times_baseline"], 1.0);
    assert!(best["cycles"].as_u64() < baseline["cycles"].as_u64());
    assert!(best[format!("{MACHINE}.seconds")].as_f64() > Some(0.0));
    assert_eq!((&excluded["rank"], &excluded["difference"]), (&Value::Null, &Value::Null), "infinite");
    assert_eq!(excluded["standing"], "too different");
    assert_eq!(excluded["reason"], "prints another text from line 1 on");
    let picks = found.picks();
    assert_eq!(picks[0].0, "cycles on zen4-9654-core");
    assert_ne!(picks[0].1, "wrong.c");
    assert_eq!(found.sheet("told")["rows"].as_array().map(Vec::len), Some(6), "each two of four");
    assert_eq!(picks[1], ("lines moved".into(), "tiled.c".into()));
    assert_eq!(picks[2], ("ByteDMD".into(), "tiled.c".into()));
    assert_eq!(picks[3].0, format!("time on {MACHINE}"));
    assert_ne!(picks[3].1, "wrong.c");
    let remarks = found.sheet("picks")["remarks"].to_string();
    assert!(remarks.contains("wrong.c is cheaper, but may not win: prints another text"), "{remarks}");
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_row_walk_goes_before_a_column_walk() {
    let place = Place::new();
    let walk = |name: &str, index: &str| {
        let text = "#include <stdio.h>\ndouble a[1024 * 1024];\nint main(void) { double s = 0; for (int i = 0; i < 1024 * 1024; i++) a[i] = i; for (int r = 0; r < 3; r++)\n\
            for (int i = 0; i < 1024; i++) for (int j = 0; j < 1024; j++) s += a[INDEX]; printf(\"%f\\n\", s); }\n";
        place.write(name, &text.replace("INDEX", index))
    };
    let (column, row) = (walk("column.c", "j * 1024 + i"), walk("row.c", "i * 1024 + j"));
    let cores = ["zen4-9654-core", "zen3-7763-core", "skx-6148-core", "snb-e5-2680-core"];
    let found = place.rank_by_cycles(&["--machine", &cores.join(","), &column, &row]);
    assert_eq!(found.picks()[0], ("cycles on zen4-9654-core".into(), "row.c".into()));
    for core in cores {
        let on = format!("time on {core}");
        assert!(found.picks().contains(&(on, "row.c".into())), "{core}: {:?}", found.picks());
        let [fast, slow] = ["row.c", "column.c"].map(|name| found.row(name)[format!("{core}.seconds")].as_f64());
        assert!(fast < slow, "{core}");
    }
    let told = &found.sheet("told")["rows"][0];
    assert_eq!((file_name(&told["faster"]).as_str(), told["doubt"].as_str()), ("row.c", Some("")));
    assert!(
        found.row("row.c")["moved.times_baseline"].as_f64() < Some(0.6),
        "eight elements of a column are in eight lines"
    );
}

#[test]
fn another_rounding_is_tolerated_if_it_pays() {
    let place = Place::new();
    let [ijk, backwards] = ["ijk.c", "backwards.c"].map(variant);
    let rank = |options: &[&str]| place.rank(&[options, &[&ijk, &backwards]].concat());
    let pick = |found: &Ranked| found.picks().into_iter().find(|pick| pick.0 == "ByteDMD").expect("a pick").1;
    let found = rank(&[]);
    assert_eq!((pick(&found).as_str(), &found.row("backwards.c")["standing"]), ("ijk.c", &"too different".into()));
    let strict = rank(&["--tolerance", "1e-6", "--margin", "99"]);
    assert_eq!(pick(&strict), "ijk.c");
    assert_eq!(strict.row("backwards.c")["standing"], "not chosen: within margin");
    // Its lines are as many.
    let found = rank(&["--tolerance", "1e-6", "--margin", "0"]);
    assert_eq!(pick(&found), "backwards.c");
    assert_eq!(found.row("backwards.c")["standing"], "eligible");
    let difference = found.row("backwards.c")["difference"].as_f64().expect("a number");
    assert!(difference > 0.0 && difference < 1e-6, "{difference}");
}

#[test]
fn declared_outputs_are_compared_across_languages() {
    let place = Place::new();
    let [c, rust, backwards, wrong] = ["ijk.c", "ikj.rs", "backwards.c", "wrong.c"].map(variant);
    let words = [&c, &rust, &backwards, &wrong, "--", "32", "declare"].map(|w| w as &str);
    let found = place.rank(&words);
    assert_eq!(found.row("ikj.rs")["difference"], 0);
    let size = |found: &Ranked, name: &str| found.row(name)["difference"].as_f64().expect("a number");
    assert!(size(&found, "backwards.c") < 1e-12 && size(&found, "wrong.c") > 0.1);
    assert_eq!(found.row("backwards.c")["standing"], "too different");
    let tolerant = place.rank(&[&["--tolerance", "1e-12"], &words[..]].concat());
    assert_ne!(tolerant.row("backwards.c")["standing"], "too different");
    assert_eq!(tolerant.row("wrong.c")["standing"], "too different");
    let values = place.rank(&["--model", "values", &c, &rust, "--", "8", "declare"]);
    assert_eq!(values.row("ikj.rs")["difference"], 0);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn an_unchanged_variant_does_not_run_again() {
    let place = Place::new();
    let header = std::fs::read_to_string(variant("matmul.h")).expect("the header");
    let include = |name: &str| std::fs::read_to_string(variant(name)).expect("the source");
    let header = header.replace("../../runtime", in_tests("../runtime").to_str().expect("a plain path"));
    place.write("matmul.h", &header);
    let [ijk, tiled, rust] = ["ijk.c", "tiled.c", "ikj.rs"].map(|name| place.write(name, &include(name)));
    let rank = |options: &[&str]| {
        let output =
            place.good(&[&["rank", "--no-cycles", &ijk, &tiled, &rust], options, &["--", "16", "declare"]].concat());
        (output.stdout, String::from_utf8(output.stderr).expect("text"))
    };
    let (first, said) = rank(&[]);
    assert!(!said.contains("cache"), "{said}");
    let (second, said) = rank(&[]);
    assert!(said.contains("3 of 3 results came from the cache"), "{said}");
    assert_eq!(first, second);
    let (uncached, said) = rank(&["--no-cache"]);
    assert!(!said.contains("came from the cache") && uncached == first, "{said}");
    let (_, said) = rank(&["--liveness", "exact"]);
    assert!(!said.contains("cache"), "{said}");

    place.write("tiled.c", &include("tiled.c").replace("TILE = 8", "TILE = 4"));
    let (changed, said) = rank(&[]);
    assert!(said.contains("2 of 3 results came from the cache") && changed != first, "{said}");

    for entry in std::fs::read_dir(place.path("cache/dmdprof/rank")).expect("the cache") {
        std::fs::write(entry.expect("an entry").path(), "damaged").expect("written");
    }
    let (again, said) = rank(&[]);
    assert!(!said.contains("cache") && again == changed, "{said}");
}

#[test]
fn content_of_standard_input_and_of_named_files_matters() {
    let place = Place::new();
    let text = "#include <stdio.h>\nint main(int n, char **v) { char b[9] = {0}; FILE *f = n > 1 ? fopen(v[1], \"r\") : stdin;\n\
                puts(fgets(b, 9, f) ? b : \"\"); }\n";
    let [a, b] = ["a.c", "b.c"].map(|name| place.write(name, text));
    let input = place.write("input", "one");
    let said = |words: &[&str]| {
        let output = place.good(&[&["rank", "--no-cycles", &a, &b], words].concat());
        String::from_utf8(output.stderr).expect("text")
    };
    for words in [["--stdin", &input], ["--", &input]] {
        place.write("input", words[0]);
        assert!(!said(&words).contains("cache"));
        assert!(said(&words).contains("2 of 2"));
        place.write("input", "other");
        assert!(!said(&words).contains("cache"), "{words:?}");
    }
}

#[test]
fn programs_with_hooks_are_variants_too() {
    let place = Place::new();
    for name in ["ijk", "tiled"] {
        place.good(&["build", "-o", name, &variant(&format!("{name}.c"))]);
    }
    let built = place.rank(&["./ijk", "./tiled", "--", "16"]);
    let sources = place.rank(&[&variant("ijk.c"), &variant("tiled.c"), "--", "16"]);
    assert_eq!(built.row("tiled")["cost"], sources.row("tiled.c")["cost"]);
    // A program without hooks is emulated, and told by what it prints.
    let output = place.good(&["rank", "./ijk", "true"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("prints another text"), "{}", describe(&output));
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let place = Place::new();
    let ijk = variant("ijk.c");
    let aborts = place.write("aborts.c", "#include <stdlib.h>\nint main(void) { abort(); }\n");
    let error = place.refused(&["rank", &ijk, &aborts]);
    assert!(error.contains("aborts.c: the run is incomplete: killed by signal 6 (SIGABRT)"), "{error}");
    let broken = place.write("broken.c", "int main(void) { return x; }\n");
    assert!(place.refused(&["rank", &ijk, &broken]).contains("broken.c failed"));
    let idle = place.write("idle.c", "int main(void) { return 0; }\n");
    let error = place.refused(&["rank", "--no-cycles", &idle, &ijk]);
    assert!(error.contains("idle.c reads nothing that is counted"), "{error}");
    // Cycles pass all the same.
    let ranked = place.rank_by_cycles(&[&idle, &ijk, "--", "16"]);
    assert!(ranked.row("idle.c")["cycles"].as_u64() < ranked.row("ijk.c")["cycles"].as_u64());
    assert_eq!(ranked.row("idle.c")["times_baseline"], serde_json::Value::Null);
    assert!(place.refused(&["rank", "./none", &ijk]).contains("./none: not found"));
    assert!(place.refused(&["rank", &ijk, &ijk]).contains("ijk.c is named twice"));
    let error = place.refused(&["rank", "--no-cycles", "--work", "flops", "--machine", MACHINE, &ijk, &idle]);
    assert!(error.contains("idle.c"), "{error}");
    let times = place.write("times.csv", "name,seconds\nother,1\n");
    let error = place.refused(&["rank", "--no-cycles", "--times", &times, &ijk, &variant("ikj.c")]);
    assert!(error.contains("there is a time for other, which is not one of the variants"), "{error}");
}

#[test]
fn without_floating_point_all_operations_are_the_work() {
    let place = Place::new();
    let text = "#include <stdio.h>\nstatic int v[99];\nint main(int n, char **a) { int s = 0; (void)a;\nfor (int i = 0; i < 99; i++) v[i] = i * n;\n\
                for (int i = 0; i < 99; i++) s += v[i * 7 % 99]; printf(\"%d\\n\", s); }\n";
    let [a, b] = ["a.c", "b.c"].map(|name| place.write(name, text));
    let found = place.rank(&["--machine", MACHINE, &a, &b]);
    let notes = found.0["notes"].to_string();
    assert!(notes.contains("a.c counts no floating-point operations"), "{notes}");
    let error = place.refused(&["rank", "--no-cycles", "--machine", MACHINE, "--work", "flops", &a, &b]);
    assert!(error.contains("the profile counts no flops"), "{error}");
}

/// Names of the times in a file.
fn names_in(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("the times");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| file_name(&line.rsplit_once(',').expect("two columns").0.into())).collect()
}

#[test]
fn times_of_one_program_go_with_its_profile() {
    let place = Place::new();
    let ijk = variant("ijk.c");
    let output = place.good(&["time", "-n", "3", "-o", "times.csv", "--format", "json", &ijk, "--", "64"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &json["sheets"][0]["rows"][0];
    assert_eq!((row["runs"].as_u64(), row["name"].as_str()), (Some(3), Some(&*ijk)));
    assert!(row["min"].as_f64() <= row["seconds"].as_f64() && row["seconds"].as_f64() <= row["max"].as_f64());
    let text = std::fs::read_to_string(place.path("times.csv")).expect("the times");
    assert!(text.starts_with("# measured by dmdprof time ") && text.contains("\nname,seconds\n(program),"), "{text}");
    place.good(&["run", "-q", &ijk, "64"]);
    let output = place.good(&["roofline", "--machine", MACHINE, "--times", "times.csv"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Fidelity"), "{}", describe(&output));
}

#[test]
fn times_of_variants_show_how_good_the_estimates_are() {
    let place = Place::new();
    let [ijk, rust] = ["ijk.c", "ikj.rs"].map(variant);
    place.good(&["time", "-n", "1", "-o", "times.csv", &ijk, &rust, "--", "32", "declare"]);
    assert_eq!(names_in(&place.path("times.csv")), ["ijk.c", "ikj.rs"]);
    let words = ["--machine", MACHINE, "--times", "times.csv", &ijk, &rust, "--", "32", "declare"];
    let found = place.rank(&words);
    assert_eq!(found.sheet(&format!("{MACHINE}.fidelity"))["rows"][0]["pairs"], 2);
    assert!(found.row("ikj.rs")["measured"].as_f64() > Some(0.0));
}

#[test]
fn only_what_runs_without_hooks_is_timed() {
    let place = Place::new();
    let hooked = case("stages").build(&Compiler::dmdprof());
    let error = place.refused(&["time", hooked.to_str().expect("a plain path")]);
    assert!(
        error.contains("has hooks, so its time says nothing; build it without them, or name the source file"),
        "{error}"
    );
    let dot = in_tests("programs/cases/outputs.c");
    place.good(&["build", "--model", "values", "-o", "values", dot.to_str().expect("a plain path")]);
    assert!(place.refused(&["time", "./values"]).contains("has hooks"));
    assert!(place.refused(&["time", "false"]).contains("false failed: exit code 1"));
    assert!(place.refused(&["time", "./none"]).contains("./none: not found"));
}

#[test]
fn markers_do_nothing_in_a_timed_program() {
    let place = Place::new();
    let case = |name: &str| in_tests("programs/cases").join(name).to_str().expect("a plain path").to_owned();
    for name in ["outputs.c", "outputs.cpp", "outputs.rs"] {
        place.good(&["time", "-n", "1", "-O", "1", &case(name)]);
    }
    // As a build for hooks leaves it: the markers are calls.
    let mut clang = Command::new(dmdprof_tests::tool::clang(false));
    clang
        .args(["-O1", "-S", "-emit-llvm", "-D__DMDPROF__=1", "-o"])
        .arg(place.path("outputs.ll"))
        .arg(case("outputs.c"));
    succeed(&mut clang);
    place.good(&["time", "-n", "1", "outputs.ll"]);
}

#[test]
fn each_run_reads_standard_input_anew() {
    let place = Place::new();
    place.write("input", "yes\n");
    place.good(&["time", "-n", "2", "--stdin", "input", "grep", "--", "yes"]);
    assert!(
        place.refused(&["time", "grep", "--", "yes"]).contains("grep failed: exit code 1"),
        "it is empty otherwise"
    );
}
