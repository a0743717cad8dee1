//! What a fuzzer feeds with files: for each format of the command line the code that reads it, and what is done with
//! the result.
//!
//! Each function takes any bytes, and must come back: an error of the format is fine, a panic is a defect. Those that
//! decode also use what they got as the commands do, and check that what is printed for people has no control
//! characters.

use std::io;
use std::path::Path;

use crate::estimate::times::Times;
use crate::export::{self, Target};
use crate::gate::{baseline, config};
use crate::machine::{Origin, file as machine_file};
use crate::motion;
use crate::profile::{self, Profile};
use crate::report::analysis::Generics;
use crate::shared::printable;
use crate::{
    document,
    report::{self, Format, Grouping, Inlined, ReportOptions},
    sample,
    shared::names,
};

const PATH: &str = "fuzz.data";

/// A profile's bytes.
pub fn profile(bytes: &[u8]) {
    if let Ok(profile) = profile::file::from_bytes(Path::new(PATH), bytes) {
        show(&profile);
    }
}

/// What a profile holds, in a file whose lengths and checksum are right.
pub fn profile_content(content: &[u8]) {
    profile(&profile::file::wrap(content));
}

/// A profile that was accepted can be reported and exported in every way.
fn show(profile: &Profile) {
    let groupings = [Grouping::Functions, Grouping::AllFunctions, Grouping::Symbols, Grouping::Lines(Inlined::Own)];
    for (grouping, format) in groupings.into_iter().zip([Format::Table, Format::Json, Format::Csv, Format::Table]) {
        let options = ReportOptions {
            grouping,
            format,
            hist: true,
            by_thread: true,
            inclusive: matches!(grouping, Grouping::Functions),
            generics: Generics::Shorten,
            ..ReportOptions::default()
        };
        let mut out = Vec::new();
        report::render(profile, &options, &mut out).expect("writing to memory");
        for_people(out, format == Format::Json);
    }
    for target in [
        Target::Callgrind,
        Target::Speedscope,
        Target::Pprof,
        Target::Folded,
        Target::Firefox,
        Target::Sarif,
        Target::Csv,
    ] {
        let metrics =
            if target.holds_several() { export::DEFAULT_METRICS.to_vec() } else { vec![export::DEFAULT_METRICS[0]] };
        let options = export::Options { target, metrics, inlined: Inlined::Own, top: 100, root: None };
        export::write(profile, &options, &mut io::sink()).expect("writing to nowhere");
    }
}

/// Checks a report; JSON has the exact names.
fn for_people(out: Vec<u8>, is_json: bool) {
    let text = String::from_utf8(out).expect("reports are text");
    let raw = |c: char| c != '\n' && !is_json && printable::controls(c);
    assert!(!text.contains(raw), "a control character in a report");
}

/// The estimates of a sample: what was read is written and read the same, and can be reported.
pub fn estimate(bytes: &[u8]) {
    let read = |bytes: &[u8]| sample::file::from_bytes(Path::new(PATH), bytes);
    let Ok(estimates) = read(bytes) else { return };
    let written = sample::file::to_bytes(&estimates);
    let again = read(&written).expect("what was written is read");
    assert_eq!(sample::file::to_bytes(&again), written, "equal estimates have equal bytes");
    for grouping in [Grouping::Functions, Grouping::Lines(Inlined::Own)] {
        let document = sample::document(&estimates, &ReportOptions { grouping, ..ReportOptions::default() });
        for format in [document::Format::Table, document::Format::Json, document::Format::Csv] {
            let mut out = Vec::new();
            document
                .write(document::Look { format, ..document::Look::default() }, &mut out)
                .expect("writing to memory");
            for_people(out, format == document::Format::Json);
        }
    }
}

/// What such a file holds, compressed and with the right header.
pub fn estimate_content(content: &[u8]) {
    estimate(&profile::file::wrapped(sample::file::KIND, content));
}

/// A file of `dmdprof motion`.
pub fn motion(bytes: &[u8]) {
    drop(motion::file::from_bytes(bytes));
}

/// What such a file holds, compressed and with the right header.
pub fn motion_content(content: &[u8]) {
    self::motion(&motion::file::wrap(content).expect("compressing in memory"));
}

/// A committed baseline: what is read is written and read the same.
pub fn baseline(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match baseline::from_text(Path::new(PATH), text) {
        Ok(summary) => {
            let again = baseline::from_text(Path::new(PATH), &baseline::to_text(&summary));
            assert_eq!(again.expect("what was written is read"), summary);
        }
        Err(error) => printed(&error.to_string()),
    }
}

/// `dmdprof.toml`.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = config::from_text(Path::new(PATH), text) {
        printed(&error.to_string());
    }
}

/// A machine file.
pub fn machine(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = machine_file::from_text(Path::new(PATH), text, Origin::Shipped) {
        printed(&error.to_string());
    }
}

/// Measured times.
pub fn times(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = Times::parse(text) {
        printed(&error.to_string());
    }
}

/// A symbol and a path as they are printed, and as a cell of a spreadsheet.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let name = names::demangle(&text);
    for shown in
        [name.clone(), names::without_generics(&name), names::shorten(&name, 30), names::shorten_path(&text, 20)]
    {
        let shown = printable::name(&shown);
        assert!(!shown.contains(printable::controls), "a control character in a name");
        assert_eq!(printable::name(&shown), shown, "what is printable stays");
    }
    let cell = printable::csv_cell(&name).into_owned();
    assert!(!cell.starts_with(['=', '+', '-', '@']), "a formula in a cell");
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record([cell.as_str(), "1"]).expect("writing to memory");
    let written = csv.into_inner().expect("writing to memory");
    let mut read = csv::ReaderBuilder::new().has_headers(false).from_reader(written.as_slice());
    let record = read.records().next().expect("a record").expect("what was written is read");
    assert_eq!(record.get(0), Some(cell.as_str()));
}

/// Errors quote what is in files.
fn printed(error: &str) {
    let shown = printable::lines(error);
    assert!(!shown.contains(|c: char| c != '\n' && printable::controls(c)), "a control character in an error");
}
