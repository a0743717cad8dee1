//! The page of a large profile: 5,000 functions, 100,000 calling contexts, 200,000 lines.
//!
//! `cargo bench -p dmdprof-tests --bench view [-- --keep DIR]` makes such a profile (always the same) with its source
//! files, writes its page, opens it in Chromium and prints size, seconds to write it (the best of three), milliseconds
//! to the first picture, and pictures a second while the handle is dragged in each panel.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dmdprof::profile::model::{
    AccessKind, Block, BlockCount, BlockId, Cell, CellCounts, Context, ContextId, Coverage, Function, FunctionId,
    Histogram, Liveness, Meta, Outcome, Position, PositionId, Profile, Random, Site, SiteId, SourceFile, StringId,
    ThreadMode, Totals, Unit,
};
use dmdprof_tests::browser::Browser;
use dmdprof_tests::tool::{dmdprof, scratch, succeed};

const FUNCTIONS: u32 = 5_000;
const CONTEXTS: u32 = 100_000;
const FILES: u32 = 250;
const LINES_PER_FILE: u32 = 800;

/// Numbers that look random and are always the same (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Most are small: up to `limit`, by powers of two.
    fn skewed(&mut self, limit: u32) -> u64 {
        let bits = self.below(u64::from(limit) + 1);
        self.below(1 << bits) + 1
    }
}

/// Price of the smallest depth of a bucket, for costs that validate.
fn price(bucket: u16) -> u128 {
    let bucket = u64::from(bucket);
    let floor = if bucket < 32 { bucket } else { (32 + bucket % 32) << ((bucket - 32) / 32) };
    u128::from(floor.isqrt() + 1)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let kept = words.iter().position(|word| word == "--keep").and_then(|at| words.get(at + 1)).map(PathBuf::from);
    let own = scratch();
    let directory = kept.unwrap_or_else(|| own.path().to_path_buf());
    fs::create_dir_all(&directory).expect("the directory can be made");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    write_sources(&directory, &mut dice);
    let data = directory.join("large.data");
    dmdprof::profile::write(&data, &profile(&directory, &mut dice)).expect("the profile can be written");
    let page = directory.join("large.html");
    for sources in ["embed", "none"] {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let started = Instant::now();
            succeed(dmdprof().arg("view").arg(&data).arg("-o").arg(&page).args(["--sources", sources]));
            best = best.min(started.elapsed().as_secs_f64());
        }
        let size = fs::metadata(&page).expect("the page is there").len();
        println!("--sources {sources}: {:.2} MB, written in {best:.2} s", size as f64 / 1e6);
        open(&page);
    }
}

fn open(page: &Path) {
    let mut browser = Browser::start(1280, 900);
    for panel in ["overview", "flame", "functions", "source"] {
        browser.open(page, &format!("panel={panel}"));
        let ready = browser.text("document.documentElement.dataset.ready");
        browser.settle();
        let drag = "new Promise((done) => { const handle = document.querySelector('.handle'); const box = handle.getBoundingClientRect(); \
             const at = (x) => ({ bubbles: true, button: 0, clientX: x, clientY: box.y + 20 }); \
             handle.dispatchEvent(new PointerEvent('pointerdown', at(box.x))); let n = 0; const start = performance.now(); let worst = 0; let last = start; \
             const step = () => { const now = performance.now(); if (n > 0) worst = Math.max(worst, now - last); last = now; \
             if (n === 60) { dispatchEvent(new PointerEvent('pointerup')); done([60000 / (now - start), worst]); return; } \
             n += 1; dispatchEvent(new PointerEvent('pointermove', at(300 + 12 * n))); requestAnimationFrame(step); }; requestAnimationFrame(step); })";
        let found = browser.value(drag);
        println!(
            "  {panel:10} first picture after {ready} ms; dragged: {:.0} pictures a second, the slowest {:.0} ms",
            found[0].as_f64().unwrap_or(0.0),
            found[1].as_f64().unwrap_or(0.0)
        );
    }
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
}

fn file_name(directory: &Path, file: u32) -> String {
    format!("{}/src/module_{:02}/part_{file:03}.c", directory.display(), file % 17)
}

/// Lines as a program has them: names, numbers, indentation.
fn write_sources(directory: &Path, dice: &mut Dice) {
    const WORDS: [&str; 12] =
        ["sum", "table", "index", "node", "weight", "next", "value", "cell", "matrix", "length", "count", "buffer"];
    for file in 0..FILES {
        let path = PathBuf::from(file_name(directory, file));
        fs::create_dir_all(path.parent().expect("a directory")).expect("the directory can be made");
        let mut text = String::new();
        for line in 0..LINES_PER_FILE {
            let mut word = || WORDS[dice.below(12) as usize];
            let (a, b, c) = (word(), word(), word());
            let indent = " ".repeat(4 * (line as usize % 4));
            text.push_str(&format!("{indent}{a}[{}] += {b}[i * {line}] * {c};\n", dice.below(1000)));
        }
        File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).expect("the source can be written");
    }
}

fn profile(directory: &Path, dice: &mut Dice) -> Profile {
    let mut strings: Vec<String> = (0..FILES).map(|file| file_name(directory, file)).collect();
    let of_file = |file: u32| Some(StringId(file));
    let functions: Vec<Function> = (0..FUNCTIONS)
        .map(|number| {
            strings.push(format!("_ZN6solver8module{:02}19step_of_the_schedule17h{number:016x}E", number % 70));
            let symbol = StringId(strings.len() as u32 - 1);
            Function { symbol, file: of_file(number % FILES), line: number / FILES * 40 + 1 }
        })
        .collect();
    let lines = FILES * LINES_PER_FILE;
    // Lines belong to the function that begins before them in their file.
    let function_of = |line: u32| FunctionId((line % LINES_PER_FILE) / 40 * FILES + line / LINES_PER_FILE);
    let position = |line: u32| Position {
        function: function_of(line),
        file: of_file(line / LINES_PER_FILE),
        line: line % LINES_PER_FILE + 1,
        column: 9,
        inlined_at: None,
    };
    let positions = (0..lines).map(position).collect();
    let site = |line: u32| Site {
        function: function_of(line),
        position: Some(PositionId(line)),
        kind: AccessKind::Load,
        size: 8,
    };
    let sites: Vec<Site> = (0..lines).map(site).collect();
    let (contexts, cells) = contexts_and_cells(dice, &sites);
    let mut totals = Totals { peak_live: 1 << 30, footprint: 1 << 30, ..Totals::default() };
    for cell in &cells {
        totals.accesses += cell.executions;
        totals.read += cell.read;
        totals.written += cell.written;
        totals.cost += cell.cost;
    }
    let blocks: Vec<Block> =
        (0..FUNCTIONS).map(|f| Block { function: FunctionId(f), ops: vec![(None, [1, 1, 0, 0, 0, 3, 1])] }).collect();
    let numbered = contexts.iter().enumerate().filter_map(|(i, context)| Some((i as u32, context.function?)));
    let block_counts = numbered
        .map(|(i, function)| BlockCount {
            context: ContextId(i),
            block: BlockId(function.0),
            executions: u64::from(i) % 900 + 1,
        })
        .collect();
    let sources = (0..FILES).map(|file| SourceFile { path: StringId(file), sha256: None }).collect();
    Profile {
        meta: Meta {
            tool_version: "0.1.0".into(),
            model: "memory".into(),
            model_version: 1,
            liveness: Liveness::Hints,
            thread_mode: ThreadMode::Private,
            unit: Unit::Byte,
            command: vec!["large".into()],
            roi: None,
            outcome: Outcome::Exited(0),
            incomplete: None,
            random: Random::default(),
            values: None,
        },
        coverage: Coverage { processes: 1, threads: 1, ..Coverage::default() },
        threads: vec![totals.clone()],
        totals,
        strings,
        functions,
        positions,
        sites,
        blocks,
        contexts,
        cells,
        block_counts,
        sources,
        has_capacities: true,
        ..Profile::default()
    }
}

/// A tree of calls in which each function is called by few others, and a cell for every line, most in one context of
/// its function.
fn contexts_and_cells(dice: &mut Dice, sites: &[Site]) -> (Vec<Context>, Vec<Cell>) {
    let mut contexts = vec![Context { parent: None, function: None, calls: 0 }];
    let mut of_function: Vec<Vec<u32>> = vec![Vec::new(); FUNCTIONS as usize];
    for number in 1..CONTEXTS {
        let parent = if number < 20 { number - 1 } else { dice.below(u64::from(number)) as u32 };
        let function = (u64::from(number) * 7 + dice.below(3)) % u64::from(FUNCTIONS);
        of_function[function as usize].push(number);
        contexts.push(Context {
            parent: Some(ContextId(parent)),
            function: Some(FunctionId(function as u32)),
            calls: dice.skewed(20),
        });
    }
    let mut cells = Vec::new();
    for (number, site) in sites.iter().enumerate() {
        let places = &of_function[site.function.index()];
        let context = ContextId(places[dice.below(places.len() as u64) as usize]);
        let mut buckets = std::collections::BTreeMap::new();
        for _ in 0..=dice.below(5) {
            *buckets.entry(dice.below(700) as u16).or_insert(0) += 8 * dice.skewed(16);
        }
        let read = buckets.values().sum();
        let cost = buckets.iter().map(|(bucket, reads)| price(*bucket) * u128::from(*reads)).sum();
        let counts = CellCounts {
            executions: read / 8,
            written: if number % 3 == 0 { read } else { 0 },
            cost,
            depths: Histogram::from_depths(buckets.into_iter().collect()),
            ..CellCounts::default()
        };
        cells.push(Cell { context, site: SiteId(number as u32), read, counts });
    }
    cells.sort_by_key(|cell| (cell.context, cell.site));
    (contexts, cells)
}
