//! The numbers of a row of `report --objects`: what some uses of objects read, wrote and cost, and which lines they
//! moved.
//!
//! Takes uses; gives sums, and the same columns for every table. Columns of lines are there if the profile has lines of
//! objects.

use crate::{
    profile::{
        Profile,
        model::{LineMoves, ObjectLines, ObjectUse},
    },
    report::{
        ReportOptions, Sort,
        depths::Depths,
        lines::{LineSums, Moved, SHOWN},
    },
    shared::human,
    sheet::{Column, Value},
};

/// Memories of [`SHOWN`] that tables have: like a first and a second level of caches.
const MEMORIES: [u64; 2] = [SHOWN[0], SHOWN[1]];
/// Names of their columns in JSON and CSV, and how soon they go.
const OF_MEMORIES: [(&str, u8); 2] = [("32kib", 2), ("1mib", 4)];

/// Numbers of some uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub read: u64,
    pub written: u64,
    pub cold: u64,
    pub cost: u128,
    pub depths: Depths,
    pub lines: LineSums,
}

impl Sums {
    pub(super) fn merge(&mut self, other: &Sums) {
        self.read += other.read;
        self.written += other.written;
        self.cold += other.cold;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
        self.lines.merge(&other.lines);
    }

    pub(super) fn weight(&self, sort: Sort) -> u128 {
        match sort {
            Sort::Read => self.read.into(),
            Sort::Written => self.written.into(),
            _ => self.cost,
        }
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
    /// Bytes of a line and what was moved, if lines of objects were measured.
    lines: Option<(u32, &'p [ObjectLines])>,
    pub total: Sums,
}

impl<'p> Numbers<'p> {
    pub(super) fn of(profile: &'p Profile, uses: &[ObjectUse], options: &'p ReportOptions) -> Self {
        let details = &profile.line_details.objects;
        let lines = profile.lines.as_ref().filter(|_| !details.is_empty());
        let mut numbers =
            Self { options, lines: lines.map(|lines| (lines.size, &details[..])), total: Sums::default() };
        let mut total = Sums::default();
        uses.iter().for_each(|used| numbers.add(&mut total, used));
        numbers.total = total;
        numbers
    }

    pub(super) fn has_lines(&self) -> bool {
        self.lines.is_some()
    }

    pub(super) fn add(&self, sums: &mut Sums, used: &ObjectUse) {
        sums.read += used.read;
        sums.written += used.written;
        sums.cold += used.cold;
        sums.cost += used.cost;
        sums.depths.add(&used.histogram);
        if let Some(moved) = self.moved(used) {
            sums.lines.add(moved);
        }
    }

    fn moved(&self, used: &ObjectUse) -> Option<&'p LineMoves> {
        let (_, lines) = self.lines?;
        let at = lines.binary_search_by_key(&(used.object, used.site), |lines| (lines.object, lines.site)).ok()?;
        Some(&lines[at].moved)
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
        let memories = self.lines.into_iter().flat_map(|_| MEMORIES.into_iter().zip(OF_MEMORIES).flat_map(memory));
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
            let moved = Moved::of(&sums.lines, size, capacity);
            let used = moved.used(sums.depths.traffic(capacity));
            [
                Value::Bytes(moved.fetched.into()),
                Value::Bytes(moved.written_back.into()),
                Value::or_empty(used, Value::Share),
            ]
        };
        let memories = self.lines.into_iter().flat_map(|(size, _)| MEMORIES.map(|capacity| (size, capacity)));
        numbers.into_iter().chain(memories.flat_map(memory)).collect()
    }

    /// Largest first; those that are not shown as one sum with their number.
    pub(super) fn select<K: Ord + Copy>(&self, all: impl IntoIterator<Item = (K, Sums)>) -> Selected<K> {
        let options = self.options;
        let mut rows: Vec<(K, Sums)> = all.into_iter().collect();
        rows.sort_by(|a, b| (b.1.weight(options.sort), b.1.cost, a.0).cmp(&(a.1.weight(options.sort), a.1.cost, b.0)));
        let least = options.threshold * self.total.weight(options.sort) as f64;
        let large = rows.iter().take_while(|(_, sums)| sums.weight(options.sort) as f64 >= least).count();
        let folded = rows.split_off(large.min(options.top.unwrap_or(usize::MAX)));
        let mut sum = Sums::default();
        folded.iter().for_each(|(_, sums)| sum.merge(sums));
        let count = folded.len();
        (rows, (count > 0).then_some((count, sum)))
    }
}

/// Rows with their keys, and the number of those that are not shown, with their sum.
pub(super) type Selected<K> = (Vec<(K, Sums)>, Option<(usize, Sums)>);
