//! The page of `dmdprof view` in a real browser: it shows what the reports say, follows what a person does, obeys no
//! name, and asks for nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dmdprof_tests::browser::{Browser, PATIENCE};
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, in_time, output, scratch, succeed};
use serde_json::Value;

/// Structures of which one field is never used, work on floating-point numbers, recursion, a line that costs most.
const PARTICLES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
struct particle { double x, v; char name[40]; double mass; };
__attribute__((noinline)) double energy(const struct particle *p, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += p[i * 7 % n].mass * p[i].v;
    return sum;
}
__attribute__((noinline)) void move(struct particle *p, long n) {
    for (long i = 0; i < n; i++)
        p[i].x += p[i].v;
}
__attribute__((noinline)) long depth(long *list, long n) {
    return n > 1 ? list[n - 1] + depth(list, n / 2) : list[0];
}
int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 500;
    struct particle *p = malloc(n * sizeof *p);
    long *list = malloc(n * sizeof *list);
    for (long i = 0; i < n; i++)
        p[i].x = i, p[i].v = 1, p[i].mass = 2, list[i] = i;
    double e = 0;
    for (int step = 0; step < 4; step++)
        move(p, n), e += energy(p, n);
    printf("%g %ld\n", e, depth(list, n));
    return 0;
}
"#;

fn built(directory: &Path, name: &str, source: &str) -> PathBuf {
    let file = directory.join(format!("{name}.c"));
    fs::write(&file, source).expect("written");
    let program = directory.join(name);
    let mut compiler = dmdprof();
    compiler.args(["cc", "-w", "-O1", "-g"]).arg(&file).arg("-o").arg(&program);
    succeed(&mut compiler);
    program
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = succeed(dmdprof().current_dir(directory).args(arguments).args(["--format", "json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{}", describe(&output)))
}

/// Two runs of the program, and the events of a kernel.
fn measured(at: &Path) {
    let program = built(at, "particles", PARTICLES);
    for (profile, n) in [("old.data", "500"), ("new.data", "700")] {
        let run = ["run", "-q", "--flows", "--objects", "--line-size", "64", "-o", profile];
        succeed(dmdprof().args(run).arg(&program).arg(n).current_dir(at));
    }
    let kernel = Program::from_source(in_tests("kernels/c/dot.c"));
    let mut compiler = Compiler::dmdprof();
    compiler.name = "values";
    compiler.cc.push("--dmdprof-model=values".into());
    let kernel = kernel.build(&compiler);
    succeed(dmdprof().args(["ir", "--places", "-o", "dot.events"]).arg(kernel).arg("n=4").current_dir(at));
}

#[test]
fn the_page_shows_what_the_reports_say_and_follows_the_person() {
    let directory = scratch();
    let at = directory.path();
    measured(at);
    let view = ["view", "--before", "old.data", "--events", "dot.events", "new.data", "-o", "page.html"];
    // The kernel is not below the directory where the page is made.
    succeed(dmdprof().args(view).arg("--source-dir").arg(in_tests("kernels")).current_dir(at));
    let page = at.join("page.html");
    let mut browser = Browser::start(1280, 900);

    browser.open(&page, "");
    let report = json(at, &["report", "new.data", "--inclusive", "--hist"]);
    overview(&mut browser, &report);
    opens_as_a_report(&mut browser, at);
    functions(&mut browser, &page, &report);
    callers_and_callees(&mut browser, &page, &report);
    roofline(&mut browser, &page, at);
    traffic_follows_the_handle(&mut browser, &page, &report);
    tables_sort_and_search(&mut browser, &page);
    flame_graph_zooms(&mut browser, &page);
    source_has_lines(&mut browser, &page, at);
    objects_and_pairs(&mut browser, &page, at);
    differences(&mut browser, &page, at);
    stack_walk(&mut browser, &page, at);
    keys_and_themes(&mut browser, &page);

    assert_eq!(browser.errors, [""; 0]);
    assert_eq!(browser.requests, [""; 0]);
}

fn fact(browser: &mut Browser, name: &str) -> String {
    browser.text(&format!("document.querySelector('main [data-fact=\"{name}\"]')?.dataset.value ?? ''"))
}

fn overview(browser: &mut Browser, report: &Value) {
    for (name, key) in
        [("ByteDMD", "cost"), ("read", "read"), ("written", "written"), ("first touch", "cold"), ("flops", "flops")]
    {
        assert_eq!(fact(browser, name), report["totals"][key].to_string(), "{name}");
    }
    let headline = browser.text("document.querySelector('.headline').textContent");
    assert!(headline.starts_with("The costliest line is particles.c:13 in move:"), "{headline}");
    let why = browser.text("document.querySelector('.why').textContent");
    assert!(why.contains("They were last"), "{why}");
    let capacity = browser.text("document.querySelector('.curve-words').textContent");
    assert!(capacity.contains("Z: size of a fast memory") && capacity.contains("Q(Z)"), "{capacity}");
}

/// Words with one space between them.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page has the table and the sentences of the terminal, and its sentence goes by what orders them.
fn opens_as_a_report(browser: &mut Browser, at: &Path) {
    let report = succeed(dmdprof().current_dir(at).args(["report", "new.data", "--width", "100"]));
    let report = String::from_utf8(report.stdout).expect("text");
    let rows = "[...document.querySelectorAll('.opening tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join(' '))";
    let rows = browser.value(rows);
    let rows: Vec<String> = rows.as_array().expect("rows").iter().filter_map(Value::as_str).map(plain).collect();
    let told: Vec<String> = report.lines().map(plain).collect();
    let first = told.iter().position(|line| *line == rows[0]).unwrap_or_else(|| panic!("{rows:?}\n{report}"));
    assert_eq!(told[first..first + rows.len()], rows, "{report}");
    assert!(rows.len() > 3 && rows.last().is_some_and(|row| row.ends_with(" total")), "{rows:?}");
    let sentences = browser.value("[...document.querySelectorAll('.opening p')].map((p) => p.textContent)");
    for sentence in sentences.as_array().expect("sentences").iter().filter_map(Value::as_str) {
        assert!(plain(&report).contains(&plain(sentence)), "{sentence}\n{report}");
    }
    let headline = browser.text("document.querySelector('.headline').textContent");
    assert!(headline.ends_with("of what a cache of 32 KiB moves in lines."), "{headline}");
    browser.click(".opening tbody [data-key=function] button");
    browser.wait("location.hash.includes('panel=functions')");
    assert_eq!(browser.text("document.querySelector('.function-name').textContent"), "move");
}

/// What callers and callees have adds up to what the functions did, and recursion counts once.
fn callers_and_callees(browser: &mut Browser, page: &Path, report: &Value) {
    let rows = report["functions"].as_array().expect("functions");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let cells = |browser: &mut Browser, kind: &str| -> Vec<Vec<String>> {
        let all = format!(
            "[...document.querySelectorAll('.{kind} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
        );
        serde_json::from_value(browser.value(&all)).expect("cells")
    };
    let mut open = |name: &str| {
        browser.open(page, &format!("panel=functions&q={name}"));
        browser.value(&format!(
            "[...document.querySelectorAll('.function-list .row')].find((r) => r.querySelector('bdi').textContent === '{name}').click()"
        ));
        browser.settle();
        (cells(browser, "callers"), cells(browser, "callees"))
    };
    let (callers, callees) = open("energy");
    let calls = row("energy")["calls"].to_string();
    assert_eq!((callers.len(), callees.len()), (1, 0), "{callers:?}");
    let [who, cost, share, .., times] = &callers[0][..] else { panic!("{callers:?}") };
    assert_eq!((who.as_str(), share.as_str(), times), ("main", "100.0 %", &calls));
    assert!(!cost.is_empty());
    // The page's caller has the callee's numbers.
    let (_, called) = open("main");
    let energy = called.iter().find(|row| row[0] == "energy").unwrap_or_else(|| panic!("{called:?}"));
    assert_eq!((&energy[1], energy.last()), (cost, Some(&calls)));
    // A function that calls itself is called by main with all that it does, and by itself with the rest.
    let (callers, callees) = open("depth");
    let times =
        |rows: &[Vec<String>]| rows.iter().map(|row| row[row.len() - 1].parse::<u64>().expect("a count")).sum::<u64>();
    assert_eq!(times(&callers), row("depth")["calls"].as_u64().expect("calls"), "{callers:?}");
    let of = |name: &str| callers.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{callers:?}"))[2].clone();
    assert_eq!(of("main"), "100.0 %");
    assert_ne!(of("depth"), "100.0 %");
    assert_eq!(callees.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["depth"]);
}

/// The page of each function has the numbers of its row.
fn functions(browser: &mut Browser, page: &Path, report: &Value) {
    browser.open(page, "panel=functions");
    let rows = report["functions"].as_array().expect("functions");
    let fits = "(() => { const box = document.querySelector('.function-list .scroller'); return box.scrollWidth <= box.clientWidth; })()";
    assert_eq!(browser.value(fits), true, "the table is as wide as the window");
    let shown = browser.value("document.querySelectorAll('.function-list .row').length");
    assert_eq!(shown.as_u64(), Some(rows.len() as u64));
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        browser.open(page, &format!("panel=functions&q={name}"));
        let of_name = format!(
            "[...document.querySelectorAll('.function-list .row')].find((r) => r.querySelector('bdi').textContent === '{name}')"
        );
        browser.value(&format!("{of_name}.click()"));
        browser.settle();
        let numbers = &row["exclusive"];
        for (shown, key) in [("exact ByteDMD", "cost"), ("read", "read"), ("written", "written"), ("flops", "flops")] {
            assert_eq!(fact(browser, shown), numbers[key].to_string(), "{key} of {name}");
        }
        assert_eq!(fact(browser, "with callees"), row["inclusive"]["cost"].to_string(), "{name}");
        if !row["calls"].is_null() {
            assert_eq!(fact(browser, "calls"), row["calls"].to_string(), "{name}");
        }
    }
}

/// Times are those of the command, to the last bit.
fn roofline(browser: &mut Browser, page: &Path, at: &Path) {
    for machine in ["skx-6148-core", "zen2-7452-core"] {
        let sheet = &json(at, &["roofline", "new.data", "--machine", machine])["sheets"][0];
        browser.open(page, &format!("panel=roofline&machine={machine}"));
        let rows = "[...document.querySelectorAll('.roofline .row')].map((r) => [r.querySelector('bdi').textContent, \
                    r.querySelector('[data-key=time]').dataset.value, r.querySelector('[data-key=bound]').textContent])";
        let shown = browser.value(rows);
        let shown = shown.as_array().expect("rows");
        let wanted = sheet["rows"].as_array().expect("rows");
        assert_eq!(shown.len(), wanted.len(), "{machine}");
        for row in wanted {
            let found = shown.iter().find(|found| found[0] == row["name"]).unwrap_or_else(|| panic!("{row}"));
            let seconds: f64 = found[1].as_str().and_then(|text| text.parse().ok()).expect("a time");
            assert_eq!(Some(seconds), row["seconds"].as_f64(), "{machine}: {row}");
            assert_eq!(found[2].as_str(), Some(row["bound"].as_str().unwrap_or("")), "{machine}: {row}");
        }
        assert!(browser.value("document.querySelectorAll('.roof-picture circle.point').length").as_u64() > Some(1));
        let collide = "(() => { const boxes = [...document.querySelectorAll('.roof-picture text')].map((text) => [text.textContent, text.getBBox()]); \
                       const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height - 2 && b.y + 2 < a.y + a.height - 2; \
                       return boxes.flatMap(([name, a], i) => boxes.slice(i + 1).filter(([, b]) => overlap(a, b)).map(([other]) => [name, other])); })()";
        assert_eq!(browser.value(collide), serde_json::json!([]), "labels that lie on each other, {machine}");
    }
}

/// Reads deeper than a capacity, by the report's histogram.
fn beyond(row: &Value, capacity: u64) -> u64 {
    let buckets = row["by_capacity"].as_array().expect("a histogram");
    buckets.iter().filter(|bucket| bucket[0].as_u64() > Some(capacity)).filter_map(|bucket| bucket[2].as_u64()).sum()
}

fn traffic_follows_the_handle(browser: &mut Browser, page: &Path, report: &Value) {
    browser.open(page, "panel=functions");
    let (x, y) = browser.middle(".handle");
    browser.mouse("mousePressed", (x, y));
    let mut before = 0;
    for step in [-40.0, -80.0, 60.0] {
        browser.mouse("mouseMoved", (x + step, y));
        browser.settle();
        let capacity = browser.text("document.querySelector('.handle').getAttribute('aria-valuenow')");
        let capacity: u64 = capacity.parse().expect("a number");
        assert_ne!(capacity, before, "the handle moves");
        before = capacity;
        let expected: Vec<(&str, String)> = report["functions"]
            .as_array()
            .expect("functions")
            .iter()
            .map(|row| (row["name"].as_str().expect("a name"), beyond(&row["depth"], capacity).to_string()))
            .collect();
        // A busy machine draws the list some frames after the handle.
        let started = Instant::now();
        loop {
            let shown = browser.value(
                "[...document.querySelectorAll('.function-list .row')].map((r) => [r.querySelector('bdi').textContent, r.querySelector('[data-key=value]').dataset.value])",
            );
            let shown = shown.as_array().expect("rows");
            let is_shown = |(name, value): &(&str, String)| {
                shown.iter().find(|row| row[0] == *name).is_some_and(|row| row[1] == **value)
            };
            if expected.iter().all(is_shown) {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "traffic at {capacity} is {expected:?}, shown is {shown:?}");
            browser.settle();
        }
    }
    browser.mouse("mouseReleased", (x + 60.0, y));
    browser.value("document.querySelector('.handle').focus()");
    browser.key("ArrowRight");
    let after = browser.text("document.querySelector('.handle').getAttribute('aria-valuenow')");
    assert!(after.parse::<u64>().is_ok_and(|after| after > before), "{before} then {after}");
    browser.wait("location.hash.includes('metric=q')");
    // The address alone gives the same again.
    let hash = browser.text("location.hash.slice(1)");
    browser.open(page, &hash);
    assert_eq!(browser.text("document.querySelector('.handle').getAttribute('aria-valuenow')"), after);
}

fn tables_sort_and_search(browser: &mut Browser, page: &Path) {
    browser.open(page, "panel=functions");
    browser.click(".function-list [data-key=name]");
    let names = "[...document.querySelectorAll('.function-list .row')].map((r) => r.querySelector('bdi').textContent)";
    let sorted = browser.value(names);
    let list: Vec<&str> = sorted.as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(list.is_sorted() && list.len() > 3, "{list:?}");
    browser.click("input[type=search]");
    for key in ["e", "n", "e", "r"] {
        browser.key(key);
    }
    assert_eq!(browser.value(names), serde_json::json!(["energy"]));
    let hint = browser.text("document.querySelector('.function-list .quiet').textContent");
    assert!(hint.contains("contain “ener”"), "{hint}");
}

fn flame_graph_zooms(browser: &mut Browser, page: &Path) {
    browser.open(page, "panel=flame");
    let canvas = browser.value("(() => { const b = document.querySelector('.flame-box canvas').getBoundingClientRect(); return [b.x, b.y]; })()");
    let (x, y) = (canvas[0].as_f64().expect("x"), canvas[1].as_f64().expect("y"));
    let status = "document.querySelector('.flame-status').textContent";
    assert!(browser.text(status).starts_with("(program)"));
    browser.click_at((x + 30.0, y + 50.0));
    let zoomed = browser.text(status);
    assert!(zoomed.starts_with("move") && zoomed.contains("zoom out"), "{zoomed}");
    // What the pointer is on goes before what the keys are on.
    browser.mouse("mouseMoved", (x + 30.0, y - 60.0));
    browser.value("document.querySelector('.flame-box canvas').focus()");
    browser.key("Backspace");
    browser.key("Backspace");
    browser.key("ArrowUp");
    browser.key("ArrowUp");
    assert!(browser.text(status).starts_with("(program)"), "{}", browser.text(status));
    browser.open(page, "panel=flame&flame=flame&q=energy");
    assert!(browser.text(status).contains("matched: "), "{}", browser.text(status));
}

fn source_has_lines(browser: &mut Browser, page: &Path, at: &Path) {
    browser.open(page, "panel=source");
    let row = "document.querySelector('.source .row.picked')";
    assert_eq!(browser.text(&format!("{row}.querySelector('code').textContent.trim()")), "p[i].x += p[i].v;");
    let lines = json(at, &["report", "new.data", "--lines"]);
    let wanted = lines["lines"].as_array().expect("lines").iter().find(|line| line["line"] == 13).expect("line 13");
    let value = browser.text(&format!("{row}.querySelector('[data-key=share]').textContent"));
    let share = wanted["exclusive"]["share"].as_f64().expect("a share") * 100.0;
    assert_eq!(value, format!("{share:.1} %"));
    let cost: u64 = wanted["exclusive"]["cost"].as_u64().expect("a cost");
    let detail = browser.text("document.querySelector('.line-detail').textContent").replace(',', "");
    assert!(detail.contains(&format!("ByteDMD {cost}")), "{detail}");
    // Code of no line is one row, whatever functions it is in.
    let without = "[...document.querySelectorAll('.source .row [data-key=line]')].filter((cell) => cell.textContent === '?').length";
    assert!(browser.value(without).as_u64() <= Some(1));
}

fn objects_and_pairs(browser: &mut Browser, page: &Path, at: &Path) {
    browser.open(page, "panel=objects");
    let objects = json(at, &["report", "new.data", "--objects"]);
    let costs: Vec<u64> =
        objects["sheets"][0]["rows"].as_array().expect("rows").iter().filter_map(|row| row["cost"].as_u64()).collect();
    let shown = browser.value(
        "[...document.querySelectorAll('.objects .row [data-key=value]')].map((cell) => Number(cell.dataset.value))",
    );
    let shown: Vec<u64> = shown.as_array().expect("numbers").iter().filter_map(Value::as_u64).collect();
    // The table of the command ends with the total.
    assert_eq!(shown, costs.iter().copied().filter(|cost| *cost > 0).take(shown.len()).collect::<Vec<_>>());
    let names = browser.text("document.querySelector('.objects .table').textContent");
    assert!(names.contains("p (heap main)") && names.contains("list (heap main)"), "{names}");
    let structure = browser.text("document.querySelector('.structure').textContent");
    assert!(structure.starts_with("particle 64 bytes, 24 of them accessed"), "{structure}");
    assert_eq!(browser.value("document.querySelectorAll('.structure rect.unused').length"), 40);

    browser.open(page, "panel=pairs");
    let why = json(at, &["why", "-p", "new.data"]);
    let pairs = why["sheets"][0]["rows"].as_array().expect("rows");
    let first = browser.text("document.querySelector('.pairs .row [data-key=cost]').dataset.value");
    assert_eq!(first, pairs[0]["cost"].to_string());
    browser.value("document.querySelector('.arc[data-pair=\"1\"]').dispatchEvent(new MouseEvent('click'))");
    browser.settle();
    assert!(browser.text("document.querySelector('.pairs-words').textContent").starts_with("Pair 2:"));
}

fn differences(browser: &mut Browser, page: &Path, at: &Path) {
    browser.open(page, "panel=compare");
    let diff = json(at, &["diff", "old.data", "new.data"]);
    compared_rows(browser, &diff);
    assert!(browser.value("document.querySelector('.compare canvas').height").as_u64() > Some(40));
    let status = browser.text("document.querySelector('.compare .flame-status').textContent");
    assert!(status.contains("; before "), "{status}");
}

/// The table shows the costs that `dmdprof diff` has.
fn compared_rows(browser: &mut Browser, diff: &Value) {
    for change in diff["functions"].as_array().expect("functions") {
        let cost = change["metrics"]
            .as_array()
            .and_then(|list| list.iter().find(|m| m["metric"] == "cost"))
            .expect("the cost");
        if cost["change"] == 0 {
            continue;
        }
        let row = format!(
            "[...document.querySelectorAll('.compare .row')].find((r) => r.querySelector('bdi').textContent === {})",
            change["name"]
        );
        for side in ["before", "after"] {
            let shown = browser.text(&format!("{row}.querySelector('[data-key={side}]').dataset.value"));
            assert_eq!(shown, cost[side].to_string(), "{side} of {}", change["name"]);
        }
    }
}

/// The page pairs what `dmdprof diff` pairs.
#[test]
fn a_function_of_a_renamed_file_is_one_row() {
    let directory = scratch();
    let at = directory.path();
    for (name, profile, n) in [("mm", "old.data", "500"), ("mm2", "new.data", "700")] {
        let program = built(at, name, PARTICLES);
        succeed(dmdprof().args(["run", "-q", "-o", profile]).arg(&program).arg(n).current_dir(at));
    }
    succeed(dmdprof().args(["view", "--before", "old.data", "new.data", "-o", "page.html"]).current_dir(at));
    let diff = json(at, &["diff", "old.data", "new.data"]);
    let mut browser = Browser::start(1280, 900);
    browser.open(&at.join("page.html"), "panel=compare");
    compared_rows(&mut browser, &diff);
    let rows = "[...document.querySelectorAll('.compare .row')].map((row) => row.querySelector('[data-key=name]').textContent)";
    let rows = browser.value(rows);
    let rows: Vec<&str> = rows.as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    let moved: Vec<&str> = rows.iter().copied().filter(|row| row.starts_with("move")).collect();
    assert!(matches!(moved[..], [row] if row.contains("moved from ") && row.contains("mm.c")), "{rows:?}");
    // So does the flame graph: from `main` inwards.
    for _ in 0..2 {
        browser.value("document.querySelector('.compare canvas').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' }))");
        let status = browser.text("document.querySelector('.compare .flame-status').textContent");
        assert!(status.contains("; before ") && !status.contains("before 0,"), "{status}");
    }
    assert_eq!(browser.errors, [""; 0]);
}

/// A baseline has no calling contexts: frames have the colours of their functions.
#[test]
fn a_run_is_drawn_against_its_baseline() {
    let directory = scratch();
    let at = directory.path();
    let program = built(at, "particles", PARTICLES);
    for (profile, n) in [("old.data", "500"), ("new.data", "700")] {
        succeed(dmdprof().args(["run", "-q", "-o", profile]).arg(&program).arg(n).current_dir(at));
    }
    succeed(dmdprof().args(["check", "--save-baseline", "base", "--profile", "old.data"]).current_dir(at));
    let base = "dmdprof/base.toml";
    succeed(dmdprof().args(["diff", base, "new.data", "--html", "diff.html"]).current_dir(at));
    // The gate compares the same command only: here with a baseline of cheaper functions.
    let compared = json(at, &["diff", base, "new.data"]);
    let text = fs::read_to_string(at.join(base)).expect("a baseline");
    let unknown = text.replace("energy", "energies");
    fs::write(at.join(base), &unknown).expect("written");
    let check = ["check", "--profile", "old.data", "--baseline", "base", "--html", "check.html"];
    let checked = output(dmdprof().args(check).current_dir(at));
    assert!(at.join("check.html").is_file(), "{}", describe(&checked));

    let mut browser = Browser::start(1280, 900);
    browser.open(&at.join("diff.html"), "panel=compare");
    compared_rows(&mut browser, &compared);
    let status = "document.querySelector('.compare .flame-status').textContent";
    assert!(browser.text(status).contains("in the baseline"), "{}", browser.text(status));
    // What a baseline does not hold is said.
    let note =
        "[...document.querySelectorAll('.compare > .quiet')].map((p) => p.hidden ? '' : p.textContent).join(' ')";
    browser.open(&at.join("diff.html"), "panel=compare&metric=q&z=40000");
    assert!(browser.text(note).contains("Traffic at 32 KiB is compared"), "{}", browser.text(note));
    browser.open(&at.join("diff.html"), "panel=compare&metric=time");
    assert!(browser.text(note).contains("ByteDMD is compared"), "{}", browser.text(note));

    browser.open(&at.join("check.html"), "panel=compare");
    assert!(browser.value("document.querySelector('.compare canvas').height").as_u64() > Some(40));
    assert_eq!(browser.errors, [""; 0]);
    assert_eq!(browser.requests, [""; 0]);
}

fn stack_walk(browser: &mut Browser, page: &Path, at: &Path) {
    browser.open(page, "panel=walk");
    let events = fs::read_to_string(at.join("dot.events")).expect("events");
    let total = events
        .lines()
        .find_map(|line| line.strip_prefix("total "))
        .and_then(|rest| rest.split(' ').next())
        .expect("a total");
    browser.value("document.querySelector('.walk').focus()");
    let steps =
        events.lines().filter(|line| ["push", "read", "instr"].iter().any(|word| line.starts_with(word))).count();
    for step in 1..=steps {
        browser.key("ArrowRight");
        let status = browser.text("document.querySelector('.walk-status').textContent");
        assert!(status.contains(&format!(" {step} of {steps} events")), "{status}");
    }
    let status = browser.text("document.querySelector('.walk-status').textContent").replace(',', "");
    assert!(status.contains(&format!("cost so far {total} of {total}")), "{status}");
    // Every depth of the listing is that of the stack that is drawn.
    assert_eq!(browser.value("document.querySelector('.walk .warning').hidden"), true);
    let last = events.lines().rev().find_map(|line| line.split_once(" at ")).expect("a place").1;
    assert_eq!(source_line(browser), text_at(last), "the source line of the last event");
    browser.open(page, "panel=walk&speed=60&view=list");
    browser.click(".walk .play");
    browser.wait(&format!("document.querySelector('.walk-status').textContent.includes('{steps} of {steps} events')"));
}

/// What the walk shows as the line of its event.
fn source_line(browser: &mut Browser) -> String {
    browser.text("document.querySelector('.walk-line.now code')?.textContent.slice(1) ?? ''")
}

/// The text of `FILE:LINE`.
fn text_at(place: &str) -> String {
    let (file, line) = place.rsplit_once(':').expect("FILE:LINE");
    let text = fs::read_to_string(file).expect("a source file");
    text.lines().nth(line.parse::<usize>().expect("a number") - 1).expect("a line").to_owned()
}

/// Every access of a run, on a stack that the page computes: its depths are the engine's, and they add up to the
/// report's costs.
#[test]
fn a_window_of_a_run_is_walked_with_the_depths_of_the_engine() {
    let directory = scratch();
    let at = directory.path();
    let program = built(at, "particles", PARTICLES);
    let run = |options: &[&str], n: &str| {
        succeed(
            dmdprof()
                .args(["run", "-q", "--objects", "--window", "100000"])
                .args(options)
                .arg(&program)
                .arg(n)
                .current_dir(at),
        );
        fs::read_to_string(at.join("dmdprof.data.window")).expect("a window")
    };
    let whole = run(&["--html", "page.html"], "40");
    let (head, total) = (whole.lines().next().expect("a head"), whole.lines().last().expect("a total"));
    let report = json(at, &["report", "--lines"]);
    assert_eq!(head, format!("window of {} accesses from the start", report["totals"]["accesses"]));
    assert!(total.starts_with(&format!("total {} (", report["totals"]["cost"])), "{total}");
    assert!(total.ends_with("; the run ends here"), "{total}");
    let of_line = |number: u64| -> u64 {
        let place = format!("particles.c:{number}");
        let reads = whole.lines().filter(|line| line.starts_with("read ") && line.ends_with(&place));
        reads.filter_map(|line| line.split_once(" cost ")?.1.split(' ').next()?.parse::<u64>().ok()).sum()
    };
    for line in report["lines"].as_array().expect("lines").iter().filter(|line| line["line"].as_u64() > Some(0)) {
        let number = line["line"].as_u64().expect("a line");
        assert_eq!(line["exclusive"]["cost"], of_line(number), "line {number}");
    }

    let mut browser = Browser::start(1280, 900);
    browser.open(&at.join("page.html"), "panel=walk");
    let steps: Vec<&str> = whole.lines().skip(1).take_while(|line| !line.starts_with("total")).collect();
    let go = |browser: &mut Browser, step: usize| {
        browser.value(&format!(
            "(() => {{ const scrub = document.querySelector('.walk input[type=range]'); scrub.value = {step}; scrub.dispatchEvent(new Event('input')); }})()"
        ));
        browser.settle();
        assert_eq!(browser.value("document.querySelector('.walk .warning').hidden"), true, "step {step}");
        browser.text("document.querySelector('.walk-status').textContent").replace(',', "")
    };
    for step in (1..40).chain((40..steps.len()).step_by(97)).chain([steps.len(), 7]) {
        let status = go(&mut browser, step);
        assert!(status.contains(&format!(" {step} of {} events", steps.len())), "{status}");
        let event = steps[step - 1];
        if let Some((_, depth)) = event.split_once(" depth ") {
            let first = depth.split(['-', ' ', ',']).next().expect("a depth");
            assert!(status.contains(&format!("at depth {first} ")), "{event}: {status}");
        }
        if let Some((_, place)) = event.split_once(" at ") {
            assert_eq!(source_line(&mut browser), text_at(place), "{event}");
        }
    }
    let cost = total.split(' ').nth(1).expect("a cost");
    let status = go(&mut browser, steps.len());
    assert!(status.contains(&format!("cost so far {cost} of {cost}")), "{status}");
    assert_eq!(browser.errors, [""; 0]);

    // A window begins where the region of interest does, and ends after so many accesses.
    succeed(dmdprof().args(["run", "-q", "--roi", "energy", "--window", "30"]).arg(&program).arg("40").current_dir(at));
    let part = fs::read_to_string(at.join("dmdprof.data.window")).expect("a window");
    assert!(part.starts_with("window of 30 accesses from the start of energy\n"), "{part}");
    assert!(part.ends_with("; the window ends here\n"), "{part}");
    assert!(part.lines().nth(1).is_some_and(|line| line.contains("particles.c:8")), "{part}");
}

fn keys_and_themes(browser: &mut Browser, page: &Path) {
    browser.open(page, "theme=light");
    let panels = browser.value("[...document.querySelectorAll('.tabs button')].map((tab) => tab.dataset.panel)");
    // There are more panels than digits.
    for (number, panel) in panels.as_array().expect("panels").iter().enumerate().take(10) {
        browser.key(&((number + 1) % 10).to_string());
        let open = "document.querySelector('.tabs [aria-selected=true]').dataset.panel";
        assert_eq!(browser.value(open), *panel);
        assert!(browser.value("document.querySelector('main').textContent.length").as_u64() > Some(20), "{panel}");
        let smallest = "Math.min(...[...document.querySelectorAll('body *')].map((e) => parseFloat(getComputedStyle(e).fontSize)))";
        assert!(browser.value(smallest).as_f64() >= Some(11.0), "{panel}");
    }
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.text(ground);
    browser.key("t");
    assert_ne!(browser.text(ground), light);
    let loops = browser.text("(document.querySelector('[data-panel=motion]').click(), '')")
        + &{
            browser.settle();
            browser.text("document.querySelector('main').textContent")
        };
    assert!(loops.contains("dmdprof motion"), "what is missing says what brings it: {loops}");
}

/// Functions and files may be called anything, and sources may hold anything.
#[test]
fn names_and_sources_do_nothing_in_the_page() {
    let long = "n".repeat(10_000);
    let evil = format!(
        r#"
#include <stdlib.h>
/* </script><script>document.title = "pwned"</script><img src=x onerror="document.title='pwned'"> ]]> */
long f1(long *a, int n) __asm__("<script>document.title='pwned'</script>");
__attribute__((noinline)) long f1(long *a, int n) {{ long s = 0; for (int i = 0; i < n; i++) s += a[i * 7 % n]; /* <b>"'&amp; */ return s; }}
long f2(long *a, int n) __asm__("\" onload='document.title=1' <img src=x onerror=alert(1)>");
__attribute__((noinline)) long f2(long *a, int n) {{ long s = 0; for (int i = 0; i < n; i++) s += a[i * 3 % n]; return s; }}
long f3(long *a, int n) __asm__("abc\342\200\256\033[31mcba${{document.title='pwned'}}");
__attribute__((noinline)) long f3(long *a, int n) {{ long s = 0; for (int i = 0; i < n; i++) s += a[i * 11 % n]; return s; }}
__attribute__((noinline)) long {long}(long *a, int n) {{ long s = 0; for (int i = 0; i < n; i++) s += a[i * 5 % n]; return s; }}
int main() {{
  long *a = malloc(8000);
  for (int i = 0; i < 1000; i++) a[i] = i;
  return (f1(a, 1000) + f2(a, 1000) + f3(a, 1000) + {long}(a, 1000)) & 1;
}}
"#
    );
    let directory = scratch();
    let at = directory.path();
    let program = built(at, "evil", &evil);
    let run = in_time(
        dmdprof()
            .args(["run", "-q", "-o", "e.data", "--flows", "--objects", "--html", "page.html"])
            .arg(&program)
            .current_dir(at),
    );
    assert!(at.join("page.html").is_file(), "{}", describe(&run));
    let text = fs::read_to_string(at.join("page.html")).expect("text");
    assert!(!text.contains("pwned") && text.matches("<script").count() == 2, "names are data, not markup");
    let mut browser = Browser::start(1280, 900);
    for panel in
        ["overview", "flame", "functions", "functions&fn=1", "functions&fn=2", "source", "roofline", "pairs", "objects"]
    {
        browser.open(&at.join("page.html"), &format!("panel={panel}&q=%3Cscript"));
        browser.value("document.querySelectorAll('main *').forEach((e) => e.dispatchEvent(new PointerEvent('pointermove', { bubbles: false, clientX: 300, clientY: 400 })))");
        browser.settle();
        let title = browser.text("document.title");
        assert!(title.starts_with("dmdprof: evil"), "{panel}: {title}");
        assert_eq!(
            browser.value(
                "document.querySelectorAll('img, iframe, script:not(body > script), [onerror], [onload]').length"
            ),
            0,
            "{panel}"
        );
        let shown = browser.text("document.body.innerText");
        assert!(!shown.contains('\u{202e}') && !shown.contains('\u{1b}'), "{panel}");
        let wide = browser.value("document.documentElement.scrollWidth <= innerWidth");
        assert_eq!(wide, true, "{panel} fits, whatever the names");
    }
    browser.open(&at.join("page.html"), "panel=source");
    assert!(browser.text("document.querySelector('main').textContent").contains("/* <b>\"'&amp; */"));
    assert_eq!(browser.errors, [""; 0]);
    assert_eq!(browser.requests, [""; 0]);
}

#[test]
fn what_cannot_be_shown_is_refused_with_advice() {
    let directory = scratch();
    let at = directory.path();
    let program = built(at, "particles", PARTICLES);
    succeed(dmdprof().args(["run", "-q"]).arg(&program).arg("50").current_dir(at));
    let refused = |arguments: &[&str]| {
        let output = output(dmdprof().current_dir(at).arg("view").args(arguments));
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["none.data"]).contains("none.data"));
    assert!(refused(&["-o", "."]).contains("it is a directory; name a file in it"));
    assert!(
        refused(&["-o", "no/such/directory/page.html"])
            .contains("cannot write the page to no/such/directory/page.html")
    );
    assert!(refused(&["-o", "/dev/full"]).contains("cannot write the page"));
    for (browser, said) in [("false", "could not open the page"), ("no-such-browser", "cannot start no-such-browser")] {
        let view = output(dmdprof().current_dir(at).args(["view", "--open"]).env("BROWSER", browser));
        let said_here = String::from_utf8_lossy(&view.stderr);
        assert!(!view.status.success() && said_here.contains(said) && said_here.contains("set BROWSER"), "{said_here}");
    }
    assert!(refused(&["--machine", "h10"]).contains("no machine is called"));
    assert!(refused(&["--events", "particles.c"]).contains("dmdprof ir --places -o"));
    assert!(refused(&["--motion", "particles.c"]).contains("particles.c"));
    assert!(refused(&["--before", "particles.c"]).contains("particles.c"));
    let profile = fs::read(at.join("dmdprof.data")).expect("a profile");
    fs::write(at.join("cut.data"), &profile[..profile.len() / 2]).expect("written");
    assert!(refused(&["cut.data"]).contains("cut.data"));
    std::os::unix::fs::symlink("dmdprof.data", at.join("link.html")).expect("a link");
    assert!(refused(&["-o", "link.html"]).contains("symbolic link"));

    // The page says what became of the sources.
    let mut browser = Browser::start(1280, 900);
    let mut state = |arguments: &[&str]| {
        succeed(dmdprof().current_dir(at).args(["view", "-o", "page.html"]).args(arguments));
        browser.open(&at.join("page.html"), "panel=source");
        browser.text("document.querySelector('.file-state').textContent + ' ' + document.querySelector('.source .main').textContent")
    };
    let whole = state(&[]);
    assert!(whole.contains("double sum = 0;"), "{whole}");
    assert!(!state(&["--sources", "none"]).contains("double sum"));
    let link = state(&["--sources", "link"]);
    assert!(!link.contains("double sum") && link.contains("particles.c"), "{link}");
    fs::write(at.join("particles.c"), PARTICLES.replace("double sum = 0;", "double sum = 1;")).expect("written");
    let changed = state(&[]);
    assert!(changed.contains("changed since the run") && changed.contains("double sum = 1;"), "{changed}");
    fs::remove_file(at.join("particles.c")).expect("removed");
    let missing = state(&[]);
    assert!(missing.contains("was not found") && !missing.contains("double sum"), "{missing}");
    assert_eq!(browser.errors, [""; 0]);
}
