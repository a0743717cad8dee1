//! Numbers of the uses of objects, added up, selected and in columns.

use std::collections::BTreeMap;

use crate::{
    profile::model::ObjectUse,
    report::{ReportOptions, Sort, depths::Depths},
    sheet::{Column, Value},
};

/// Numbers of some uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) cold: u64,
    pub(super) cost: u128,
    pub(super) depths: Depths,
}

impl Sums {
    pub(super) fn add(&mut self, used: &ObjectUse) {
        self.read += used.read;
        self.written += used.written;
        self.cold += used.cold;
        self.cost += used.cost;
        self.depths.add(&used.histogram);
    }

    pub(super) fn merge(&mut self, other: &Sums) {
        self.read += other.read;
        self.written += other.written;
        self.cold += other.cold;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
    }

    pub(super) fn weight(&self, sort: Sort) -> u128 {
        match sort {
            Sort::Read => self.read.into(),
            Sort::Written => self.written.into(),
            _ => self.cost,
        }
    }
}

/// Rows with their keys, and the number of those that are not shown, with their sum.
pub(super) type Selected<K> = (Vec<(K, Sums)>, Option<(usize, Sums)>);

/// Largest first; those that are not shown as one sum with their number.
pub(super) fn select<K: Ord + Copy>(all: BTreeMap<K, Sums>, total: &Sums, options: &ReportOptions) -> Selected<K> {
    let mut rows: Vec<(K, Sums)> = all.into_iter().collect();
    rows.sort_by(|a, b| (b.1.weight(options.sort), b.1.cost, a.0).cmp(&(a.1.weight(options.sort), a.1.cost, b.0)));
    let least = options.threshold * total.weight(options.sort) as f64;
    let large = rows.iter().take_while(|(_, sums)| sums.weight(options.sort) as f64 >= least).count();
    let folded = rows.split_off(large.min(options.top.unwrap_or(usize::MAX)));
    let mut sum = Sums::default();
    folded.iter().for_each(|(_, sums)| sum.merge(sums));
    let count = folded.len();
    (rows, (count > 0).then_some((count, sum)))
}

const NUMBERS: [(&str, [&str; 2], u8); 6] = [
    ("share", ["", "share"], 0),
    ("cost", ["", "ByteDMD"], 0),
    ("cost_per_byte", ["cost", "/byte"], 2),
    ("read", ["", "read"], 0),
    ("written", ["", "written"], 1),
    ("cold", ["first", "touch"], 5),
];

pub(super) fn columns(rest: &[(&str, [&str; 2], u8)]) -> Vec<Column> {
    NUMBERS.iter().chain(rest).map(|(key, header, goes)| Column::new(*key, *header, *goes)).collect()
}

pub(super) fn numbers(sums: &Sums, total: &Sums) -> Vec<Value> {
    let share = (total.cost > 0).then(|| sums.cost as f64 / total.cost as f64);
    let mean = (sums.read > 0).then(|| sums.cost as f64 / sums.read as f64);
    vec![
        Value::or_empty(share, Value::Share),
        Value::Count(sums.cost),
        Value::or_empty(mean, Value::Ratio),
        Value::Bytes(sums.read.into()),
        Value::Bytes(sums.written.into()),
        Value::Bytes(sums.cold.into()),
    ]
}
