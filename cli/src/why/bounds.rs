//! What bounds each line, of a profile with cycles.
//!
//! Takes a profile and what was asked about, gives a table of lines by cycles with the causes of each, and a sentence
//! for the first of them, which also says where moving less gains nothing. Nothing is said of an object: cycles are
//! those of code.

use std::collections::HashMap;

use super::{
    clock::Shares,
    loops::Loops,
    places::{Options, is_line, place, relative},
};
use crate::{
    document::{Column, Sheet, Value},
    estimate::workload::short,
    profile::Profile,
    report::{
        Analysis, Grouping, Inlined, Row,
        cycles::{bound_by, causes, causes_in_short, gains_nothing},
    },
    shared::{human, names},
};

/// Characters of a function's name in a sentence.
const MOST: usize = 60;
/// Lines that have a sentence.
const SENTENCES: usize = 3;
/// Such lines take a hundredth of the cycles of the first, at least.
const WORTH: u64 = 100;

/// What is said of lines.
pub struct Bounds {
    pub sentences: Vec<String>,
    pub sheet: Sheet,
}

/// Nothing where no core followed, or no code with cycles is meant.
#[must_use]
pub fn find_bounds(profile: &Profile, clock: &Shares, options: &Options) -> Option<Bounds> {
    profile.cycles.as_ref()?;
    let analysis = Analysis::new(profile, Grouping::Lines(Inlined::Own));
    let mut lines: Vec<&Row> = analysis.rows.iter().filter(|row| row.own.cycles.total() > 0).collect();
    if let Some(wanted) = &options.subject {
        let at_line = |row: &Row| is_line(&place(row), wanted);
        let in_function = |row: &Row| row.names.iter().any(|name| name == wanted || short(name) == wanted);
        let is_a_line = lines.iter().any(|row| at_line(row));
        lines.retain(|row| if is_a_line { at_line(row) } else { in_function(row) });
    }
    lines.sort_by_key(|row| (std::cmp::Reverse(row.own.cycles.total()), place(row)));
    lines.first()?;
    let loops: HashMap<String, String> = around(&lines, &Loops::from_profile(profile));
    let all = analysis.total.cycles.total();
    let mut sheet = Sheet::new("bounds", "What bounds each line", columns(clock.are_known()));
    let show = |place: &str| Value::Name(relative(place, options.home.as_deref()));
    for row in sheet.first(&lines, options.top) {
        let cycles = &row.own.cycles;
        let share = [Value::part(cycles.total() as f64, all as f64)];
        sheet.row(share.into_iter().chain(clock.cell(&place(row))).chain([
            Value::Count(cycles.total().into()),
            show(&place(row)),
            Value::Name(row.name().to_owned()),
            Value::or_empty(loops.get(&place(row)), |place| show(place)),
            Value::Text(causes_in_short(cycles)),
            Value::Flag(gains_nothing(cycles).is_none()),
        ]));
    }
    let first = lines[0].own.cycles.total();
    let is_worth_it = |row: &&&Row| row.own.cycles.total() * WORTH >= first;
    let told = lines.iter().filter(is_worth_it).take(SENTENCES.min(options.top.unwrap_or(SENTENCES)));
    let sentences = told.map(|row| sentence(row, all, clock, options.home.as_deref())).collect();
    Some(Bounds { sentences, sheet })
}

fn columns(has_clock: bool) -> Vec<Column> {
    let clock = has_clock.then_some(("clock", ["", "clock"], 0));
    let others = [
        ("cycles", ["", "cycles"], 1),
        ("line", ["", "line"], 0),
        ("function", ["", "in"], 2),
        ("loop", ["in the", "loop at"], 3),
        ("bounds", ["", "what bounds it"], 0),
        ("gains_by_moving_less", ["moving less", "gains"], 4),
    ];
    let all = [("share", ["", "share"], 0)].into_iter().chain(clock).chain(others);
    all.map(|(key, header, goes)| Column::new(key, header, goes)).collect()
}

/// By line: the innermost loop that is around its accesses.
fn around(lines: &[&Row], loops: &Loops<'_>) -> HashMap<String, String> {
    let of = |row: &&Row| {
        let around = row.sites.iter().find_map(|site| loops.around(*site).first().copied())?;
        Some((place(row), loops.place(around)?))
    };
    lines.iter().filter_map(of).collect()
}

fn sentence(row: &Row, all: u64, clock: &Shares, home: Option<&str>) -> String {
    let cycles = &row.own.cycles;
    let share = human::percent(cycles.total().into(), all.into());
    let place = relative(&place(row), home);
    let name = names::shorten(row.name(), MOST);
    let whose = if place == row.name() { name } else { format!("{place} ({name})") };
    let time = clock
        .line(&self::place(row))
        .map_or_else(String::new, |share| format!(" and {} of the time", human::share(share)));
    let mut text = format!("{whose} takes {share} of the cycles{time}: {}", causes(cycles));
    if let Some(cause) = gains_nothing(cycles) {
        text.push_str(&format!("; nothing to gain by moving less: bound by {}", bound_by(cause)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::with_cycles;

    fn of_subject(subject: Option<&str>) -> Option<Bounds> {
        let options = Options { subject: subject.map(str::to_owned), ..Options::default() };
        find_bounds(&with_cycles(), &Shares::default(), &options)
    }

    #[test]
    fn lines_come_by_cycles_and_say_what_bounds_them() {
        let Bounds { sentences, sheet } = of_subject(None).expect("cycles");
        let cycles: Vec<&Value> = sheet.rows.iter().map(|row| &row[1].value).collect();
        assert_eq!(cycles, [8100, 4100, 2100, 1100].map(Value::Count).iter().collect::<Vec<_>>());
        insta::assert_snapshot!(sentences.join("\n"), @r"
        src/util.cpp:9 (util::quicksort<double>(double*, double*)) takes 52.6% of the cycles: 98.8% does as many operations at a time as the core can; nothing to gain by moving less: bound by what the core can do at a time
        src/linalg.cpp:18 (linalg::multiply(…)) takes 26.6% of the cycles: 97.6% waits for mispredicted branches; nothing to gain by moving less: bound by branches
        include/matrix.hpp:21 (linalg::Matrix::at(unsigned long, unsigned long) const) takes 13.6% of the cycles: 95.2% waits for the latency of the memory
        ");
    }

    #[test]
    fn a_function_a_line_or_nothing_is_meant() {
        let all = of_subject(None).expect("cycles").sheet;
        let Value::Name(line) = all.rows[1][2].value.clone() else { panic!("a name") };
        let one = of_subject(Some(&line)).expect("a line").sheet;
        assert_eq!(one.rows, all.rows[1..2]);
        let Value::Name(name) = all.rows[1][3].value.clone() else { panic!("a name") };
        let function = of_subject(Some(&name)).expect("a function").sheet;
        assert!(function.rows.contains(&all.rows[1]));
        assert!(of_subject(Some("nobody")).is_none());
    }
}
