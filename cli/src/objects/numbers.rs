//! The numbers of a row of `report --objects`: what some uses of objects read, wrote and cost, and which lines they
//! moved.
//!
//! Takes uses; gives sums, and the same columns for every table. Columns of lines are there if the profile has lines of
//! objects.

use crate::{
    document::{Column, Value},
    profile::{Profile, model::ObjectUse},
    report::{
        ReportOptions, Sort, Sums,
        lines::{Moved, SHOWN},
    },
    shared::human,
};

/// Memories of [`SHOWN`] that tables have: like a first and a second level of caches.
const MEMORIES: [u64; 2] = [SHOWN[0], SHOWN[1]];
/// Names of their columns in JSON and CSV, and how soon they go.
const OF_MEMORIES: [(&str, u8); 2] = [("32kib", 2), ("1mib", 4)];

fn weight(sums: &Sums, sort: Option<Sort>) -> u128 {
    match sort {
        Some(Sort::Read) => sums.read.into(),
        Some(Sort::Written) => sums.written.into(),
        _ => sums.cost,
    }
}

const NUMBERS: [(&str, [&str; 2], u8); 6] = [
    ("share", ["", "share"], 0),
    ("cost", ["", "ByteDMD"], 0),
    ("cost_per_byte", ["cost", "/byte"], 2),
    ("read", ["", "read"], 0),
    ("written", ["", "written"], 1),
    ("cold", ["first", "touch"], 5),
];

/// What a profile tells of uses.
pub(super) struct Numbers<'p> {
    pub options: &'p ReportOptions,
    /// Bytes of a line, if lines of objects were measured.
    line: Option<u32>,
    pub total: Sums,
}

impl<'p> Numbers<'p> {
    pub(super) fn from_uses(profile: &Profile, uses: &[ObjectUse], options: &'p ReportOptions) -> Self {
        let mut total = Sums::default();
        uses.iter().for_each(|used| total.add(used.read, &used.counts));
        let line = profile.line_size().filter(|_| uses.iter().any(|used| used.lines.is_some()));
        Self { options, line, total }
    }

    pub(super) fn has_lines(&self) -> bool {
        self.line.is_some()
    }

    /// Columns of numbers, then others.
    pub(super) fn columns(&self, rest: &[(&str, [&str; 2], u8)]) -> Vec<Column> {
        let columns = |list: &[(&str, [&str; 2], u8)]| {
            list.iter().map(|(key, header, goes)| Column::new(*key, *header, *goes)).collect::<Vec<_>>()
        };
        let memory = |(capacity, (name, goes)): (u64, (&str, u8))| {
            let size = human::bytes(capacity.into());
            let column = |key: &str, header: &str, goes| Column::new(format!("{key}_{name}"), [&*size, header], goes);
            [
                column("fetched", "fetched", goes),
                column("written_back", "wr. back", goes),
                column("line_use", "line use", goes + 1),
            ]
        };
        let memories = self.line.into_iter().flat_map(|_| MEMORIES.into_iter().zip(OF_MEMORIES).flat_map(memory));
        columns(&NUMBERS).into_iter().chain(memories).chain(columns(rest)).collect()
    }

    /// The numbers of a row.
    pub(super) fn row(&self, sums: &Sums) -> Vec<Value> {
        let share = (self.total.cost > 0).then(|| sums.cost as f64 / self.total.cost as f64);
        let mean = (sums.read > 0).then(|| sums.cost as f64 / sums.read as f64);
        let numbers = [
            Value::or_empty(share, Value::Share),
            Value::Count(sums.cost),
            Value::or_empty(mean, Value::Ratio),
            Value::Bytes(sums.read.into()),
            Value::Bytes(sums.written.into()),
            Value::Bytes(sums.cold.into()),
        ];
        let memory = |(size, capacity): (u32, u64)| {
            let moved = Moved::from_sums(sums.lines(), size, capacity);
            let used = moved.used(sums.depths.traffic(capacity), sums.cold);
            [
                Value::Bytes(moved.fetched.into()),
                Value::Bytes(moved.written_back.into()),
                Value::or_empty(used, Value::Share),
            ]
        };
        let memories = self.line.into_iter().flat_map(|size| MEMORIES.map(|capacity| (size, capacity)));
        numbers.into_iter().chain(memories.flat_map(memory)).collect()
    }

    /// Largest first; those that are not shown as one sum with their number.
    pub(super) fn select<K: Ord + Copy>(&self, all: impl IntoIterator<Item = (K, Sums)>) -> Selected<K> {
        let options = self.options;
        let mut rows: Vec<(K, Sums)> = all.into_iter().collect();
        rows.sort_by(|a, b| {
            (weight(&b.1, options.sort), b.1.cost, a.0).cmp(&(weight(&a.1, options.sort), a.1.cost, b.0))
        });
        let least = options.threshold * weight(&self.total, options.sort) as f64;
        let large = rows.iter().take_while(|(_, sums)| weight(sums, options.sort) as f64 >= least).count();
        let folded = rows.split_off(large.min(options.top.unwrap_or(usize::MAX)));
        let mut sum = Sums::default();
        folded.iter().for_each(|(_, sums)| sum.merge(sums));
        let count = folded.len();
        (rows, (count > 0).then_some((count, sum)))
    }
}

/// Rows with their keys, and the number of those that are not shown, with their sum.
pub(super) type Selected<K> = (Vec<(K, Sums)>, Option<(usize, Sums)>);
