//! What hooks and the emulator measure of the same kernels, both built with `-O2`.
//!
//! Takes kernels in C, the first variant of each at its small size; gives the table of those whose ByteDMD differs
//! most. Counted are the accesses of the kernel's own file: not how its arrays are filled and its results added up.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::pairs::Kernel;
use crate::profiled::Run;
use crate::tool::{clang, dmdprof, scratch, succeed};

/// Rows of the table.
const ROWS: usize = 10;

/// What is measured of a kernel's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Measured {
    read: u64,
    written: u64,
    cost: u64,
}

/// A kernel, with hooks and without.
struct Compared {
    name: String,
    hooks: Measured,
    emulated: Measured,
}

impl Compared {
    /// By which part the emulator's ByteDMD is larger.
    fn change(&self) -> f64 {
        self.emulated.cost as f64 / self.hooks.cost as f64 - 1.0
    }
}

/// Measures the kernels and prints how many differ, and those that differ most.
pub fn compare(kernels: &[Kernel]) {
    let folder = scratch();
    let mut all: Vec<Compared> = kernels.iter().map(|kernel| compared(kernel, folder.path())).collect();
    all.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    let within = |part: f64| all.iter().filter(|one| one.change().abs() <= part).count();
    let same = all.iter().filter(|one| one.hooks == one.emulated).count();
    println!(
        "{} kernels: {same} have the same bytes and ByteDMD, {} differ by at most 0.1 %, {} by 1 %, {} by 5 %.\n",
        all.len(),
        within(0.001),
        within(0.01),
        within(0.05)
    );
    println!("| kernel | read, hooks | emulated | written, hooks | emulated | ByteDMD, hooks | emulated | |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for one @ Compared { name, hooks, emulated } in all.iter().take(ROWS) {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {:+.2} % |",
            hooks.read,
            emulated.read,
            hooks.written,
            emulated.written,
            hooks.cost,
            emulated.cost,
            100.0 * one.change()
        );
    }
}

fn compared(kernel: &Kernel, folder: &Path) -> Compared {
    let variant = &kernel.variants[0];
    let source = kernel.source_of(variant, folder);
    let of = |mut compiler: Command, program: &str| {
        compiler.args(["-O2", "-g", "-DSMALL", &source, "-lm", "-o", program]);
        succeed(compiler.current_dir(folder));
        measured(kernel, &folder.join(program), folder)
    };
    let mut hooks = dmdprof();
    hooks.arg("cc");
    let name = format!("{} {variant}", kernel.name);
    Compared { name, hooks: of(hooks, "hooks"), emulated: of(Command::new(clang(false)), "plain") }
}

fn measured(kernel: &Kernel, program: &Path, folder: &Path) -> Measured {
    let done = Run::new(program, folder).go();
    let mut report = dmdprof();
    report.arg("report").arg(&done.profile).args(["--threshold", "0%", "--format", "json"]);
    let report: Value = serde_json::from_slice(&succeed(&mut report).stdout).expect("JSON");
    let file = kernel.source.to_string_lossy();
    let is_of = |row: &&Value| row["file"].as_str().is_some_and(|name| Path::new(name).ends_with(Path::new(&*file)));
    let rows = report["functions"].as_array().expect("rows").iter().filter(is_of);
    let number = |row: &Value, field: &str| row["exclusive"][field].as_u64().expect("a number");
    rows.fold(Measured::default(), |sum, row| Measured {
        read: sum.read + number(row, "read"),
        written: sum.written + number(row, "written"),
        cost: sum.cost + number(row, "cost"),
    })
}
