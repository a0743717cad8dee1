//! What a report says of a clock: its runs in a sentence, how sure a share is, and where counts and clock disagree.
//!
//! Takes rows with their samples. They are compared with shares of cycles, where a core followed, else of what a memory
//! of 32 KiB moves in lines, else of ByteDMD, and disagree where they are farther apart than what is not known of both.

use serde::Serialize;

use super::analysis::{Analysis, Grouping, Row, Sums};
use super::args::Sort;
use super::select::{amount, nearest};
use crate::{
    profile::{
        Profile,
        model::{ENOUGH_SAMPLES, MeasuredClock, Outcome, SampledBy},
    },
    shared::human,
};

/// Standard deviations of a normal distribution between which 95 % of it lies.
const DEVIATIONS: f64 = 1.96;
/// What shares of counts may be off as shares of time, beside all that is known: a model's, no measurement's.
const MODEL: f64 = 0.15;

/// The interval in which a share lies with 95 %, of which so many samples of so many tell (Wilson 1927).
#[must_use]
pub fn interval(part: u64, whole: u64) -> Option<[f64; 2]> {
    let (n, z) = (whole as f64, DEVIATIONS);
    let share = part as f64 / n;
    let (middle, width) = (share + z * z / (2.0 * n), z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt());
    let at = |x: f64| (x / (1.0 + z * z / n)).clamp(0.0, 1.0);
    (whole > 0).then(|| [at(middle - width), at(middle + width)])
}

/// The interval in which a share lies with 95 %, as a column has it.
#[must_use]
pub fn interval_in_short(part: u64, whole: u64) -> String {
    let percent = |[low, high]: [f64; 2]| format!("{:.1}-{:.1}%", low * 100.0, high * 100.0);
    interval(part, whole).map_or_else(String::new, percent)
}

/// What ran how often, with how many samples.
#[must_use]
pub fn runs(profile: &Profile) -> Option<String> {
    let clock = profile.clock.as_ref()?;
    let (runs, samples) = (&clock.runs, clock.samples());
    let who = if runs.is_twin { "the program without hooks" } else { "the program itself" };
    let by = match runs.sampled_by {
        SampledBy::Events => "perf events",
        SampledBy::Timer => "timer signals",
    };
    let (times, found) = (human::plural(runs.runs, "run"), human::plural(samples, "sample"));
    let mut text = format!("clock: {who}, {times}, {found} ({by})");
    if samples < ENOUGH_SAMPLES {
        text.push_str(", which are few");
    }
    if runs.lost > 0 {
        text.push_str(&format!("; {} more were lost", human::grouped(runs.lost.into())));
    }
    if runs.outcome != profile.meta.outcome {
        text.push_str(&format!("; it {}, the counted run {}", how(&runs.outcome), how(&profile.meta.outcome)));
    }
    Some(text)
}

fn how(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Exited(code) => format!("exited with {code}"),
        Outcome::Signaled(signal) => format!("was ended by signal {signal}"),
        Outcome::Unknown => "ended in a way that is not known".into(),
    }
}

/// What samples are compared with, in words; nothing if it was not measured.
fn counted(profile: &Profile) -> Option<(Sort, &'static str, &'static str)> {
    match nearest(profile) {
        Sort::Cycles => Some((Sort::Cycles, "Cycles", "of the cycles")),
        Sort::Moved => Some((Sort::Moved, "Lines", "of what a cache of 32 KiB moves")),
        bytes => profile.meta.has_bytes().then_some((bytes, "Bytes", "of ByteDMD")),
    }
}

/// In a sentence, the function about which counts and clock disagree most, and which to go by. Of lines of source
/// nothing: the clock stops a few instructions later than where time passes.
#[must_use]
pub fn disagreement(analysis: &Analysis, title: impl Fn(&Row) -> String) -> Option<String> {
    let (profile, total) = (analysis.profile, &analysis.total);
    let (samples, (counted, what, of)) = (total.clock, counted(profile)?);
    if samples == 0 || matches!(analysis.grouping, Grouping::Lines(_)) {
        return None;
    }
    let amount = |sums: &Sums| amount(profile, counted, sums, 0) as f64;
    let all = amount(total).max(1.0);
    let apart = |row: &Row| {
        let [low, high] = interval(row.own.clock, samples)?;
        let (counts, time) = (amount(&row.own) / all, row.own.clock as f64 / samples as f64);
        let error = DEVIATIONS * row.own.cycles.error() as f64 / all;
        let known = (high - low) / 2.0 + error + MODEL;
        let apart = (counts - time).abs();
        (apart > known).then_some((apart, counts, time))
    };
    let found = analysis.rows.iter().filter_map(|row| Some((apart(row)?, row)));
    let ((_, counts, time), row) = found.max_by(|((a, ..), _), ((b, ..), _)| a.total_cmp(b))?;
    let why = match counted {
        Sort::Cycles => "The core is a model",
        _ if counts > time => "What it moves may come ahead of its use, or beside other work",
        _ if row.own.executions == 0 => "Its accesses are not counted, or count for its callers",
        _ => "It may compute more than it moves",
    };
    let [counts, time] = [counts, time].map(human::share);
    let name = title(row);
    Some(format!("{what} and clock disagree about {name}: {counts} {of}, {time} of the time. {why}; go by the clock."))
}

/// The clock's runs in JSON; what was found where is among the numbers.
#[derive(Serialize)]
pub struct JsonClock {
    sampled_by: SampledBy,
    runs: u64,
    samples: u64,
    lost: u64,
    enough: bool,
    of_program_without_hooks: bool,
    same_ending: bool,
}

#[must_use]
pub fn json(profile: &Profile, clock: &MeasuredClock) -> JsonClock {
    let samples = clock.samples();
    JsonClock {
        sampled_by: clock.runs.sampled_by,
        runs: clock.runs.runs,
        samples,
        lost: clock.runs.lost,
        enough: samples >= ENOUGH_SAMPLES,
        of_program_without_hooks: clock.runs.is_twin,
        same_ending: clock.runs.outcome == profile.meta.outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Format, ReportOptions,
        tests::{complaints, formatted, plain, schema, text, with_cycles},
    };
    use super::*;
    use crate::profile::{
        model::{ClockPlace, ClockRuns, Function, FunctionId, StringId},
        sample,
    };

    #[test]
    fn intervals_are_wilsons() {
        let near = |found: Option<[f64; 2]>, wanted: [f64; 2]| {
            let found = found.expect("an interval");
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 5e-5), "{found:?} {wanted:?}");
        };
        // Newcombe (1998), table I, of method 3.
        near(interval(81, 263), [0.2553, 0.3662]);
        near(interval(15, 148), [0.0624, 0.1605]);
        near(interval(0, 20), [0.0, 0.1611]);
        near(interval(1, 29), [0.0061, 0.1718]);
        near(interval(29, 29), [0.8830, 1.0]);
        assert_eq!(interval(0, 0), None);
        assert_eq!(interval_in_short(500, 1000), "46.9-53.1%");
    }

    /// The clock is in the first function for half of the time, and in a library of which nothing is counted for a
    /// tenth.
    fn with_clock(mut profile: Profile) -> Profile {
        let library = FunctionId(profile.functions.len() as u32);
        let name = StringId(profile.strings.len() as u32);
        profile.strings.push("(libc.so.6)".into());
        profile.functions.push(Function { symbol: name, file: None, line: 0 });
        let mut places: Vec<ClockPlace> = profile.sites[..4]
            .iter()
            .zip([500, 250, 100, 50])
            .map(|(site, samples)| ClockPlace { function: site.function, position: site.position, samples })
            .collect();
        places.push(ClockPlace { function: library, position: None, samples: 100 });
        places.sort_by_key(|place| (place.function, place.position));
        let runs = ClockRuns { runs: 12, outcome: profile.meta.outcome.clone(), ..ClockRuns::default() };
        profile.clock = Some(MeasuredClock { runs, places });
        profile
    }

    #[test]
    fn a_clock_comes_first_and_no_sample_is_left_out() {
        let profile = with_clock(with_cycles());
        let causes = ReportOptions { causes: true, ..plain() };
        let alone = with_clock(sample::with_lines());
        let texts = [text(&profile, &plain()), text(&profile, &causes), text(&alone, &plain())];
        insta::assert_snapshot!(texts.join("\n"));
        for options in [formatted(Format::Json), ReportOptions { inclusive: true, ..formatted(Format::Json) }] {
            let json = text(&profile, &options);
            assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
            let report: serde_json::Value = serde_json::from_str(&json).unwrap();
            let samples = |of: &serde_json::Value| of["clock"]["samples"].as_u64().unwrap();
            let rows =
                report["functions"].as_array().unwrap().iter().map(|row| samples(&row["exclusive"])).sum::<u64>();
            assert_eq!(
                (rows, samples(&report["totals"]), report["clock"]["samples"].as_u64()),
                (1000, 1000, Some(1000))
            );
        }
    }
}
