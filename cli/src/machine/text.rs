//! A [`Machine`] as the text of a machine file: the inverse of [`super::file`], to the bit.
//!
//! The confidence and the source that most numbers have are stated once, at the top; numbers with others state their
//! own. The text depends on the machine alone and not on where it is from.

use std::collections::BTreeMap;

use dmdprof_cycles::Figures;
use sha2::{Digest, Sha256};
use toml_writer::ToTomlValue;

use super::file::SCHEMA;
use super::model::{Confidence, Figure, Growth, Machine, Sharers};
use crate::shared::quantity::{self, Kind};

/// The text.
#[must_use]
pub fn to_toml(machine: &Machine) -> String {
    let mut out = Writer { text: String::new(), common: most_common(machine) };
    out.top(machine);
    out.table("peak", machine.peak.iter().map(|(t, f)| (t.word(), Some(f), Kind::OpsPerSecond)));
    for level in &machine.levels {
        out.line("\n[[level]]");
        out.line(&format!("name = {}", level.name.to_toml_value()));
        out.figure("capacity", Some(&level.capacity), Kind::Bytes);
        out.figure("bandwidth", level.bandwidth.as_ref(), Kind::BytesPerSecond);
        out.figure("energy", level.energy.as_ref(), Kind::JoulesPerByte);
        if level.per_core {
            out.line("per_core = true");
        }
        match &level.shared_by {
            Some(Sharers::All) => out.line("shared_by = \"all\""),
            Some(Sharers::Cores(cores)) => out.figure("shared_by", Some(cores), Kind::Number),
            None => {}
        }
        out.figure("line", level.line.as_ref(), Kind::Bytes);
        out.figure("ways", level.ways.as_ref(), Kind::Number);
        if let Some(write) = level.write {
            out.line(&format!("write = {}", write.word().to_toml_value()));
        }
    }
    for (name, fields) in tables(machine) {
        out.table(name, fields.into_iter());
    }
    out.table("core", core_fields(machine));
    out.table("energy", machine.op_energy.iter().map(|(t, f)| (t.word(), Some(f), Kind::JoulesPerOp)));
    let additions = machine.addition_energy.iter().map(|(t, f)| (t.word(), Some(f), Kind::JoulesPerOp));
    out.table("addition_energy", additions);
    if let Some(growth) = &machine.growth {
        out.growth(growth);
    }
    out.text
}

impl Machine {
    /// SHA-256 of all that the file says, whatever its layout, and wherever it lies.
    #[must_use]
    pub fn content_hash(&self) -> [u8; 32] {
        Sha256::digest(to_toml(self)).into()
    }
}

/// A field's name, what the machine states, and its unit.
pub type Field<'a> = (&'static str, Option<&'a Figure>, Kind);

/// Fields outside all tables.
#[must_use]
pub fn top_fields(machine: &Machine) -> [Field<'_>; 4] {
    [
        ("efficiency", machine.efficiency.as_ref(), Kind::Number),
        ("cores", machine.cores.as_ref(), Kind::Number),
        ("fast_memory", machine.fast_memory.as_ref(), Kind::Bytes),
        ("price", machine.price.as_ref(), Kind::Dollars),
    ]
}

/// Tables with fixed fields.
#[must_use]
pub fn tables(machine: &Machine) -> [(&'static str, Vec<Field<'_>>); 4] {
    let memory = &machine.memory;
    [
        (
            "memory",
            vec![
                ("capacity", memory.capacity.as_ref(), Kind::Bytes),
                ("bandwidth", memory.bandwidth.as_ref(), Kind::BytesPerSecond),
                ("latency", memory.latency.as_ref(), Kind::Seconds),
                ("transfer", memory.transfer.as_ref(), Kind::Bytes),
                ("energy", memory.energy.as_ref(), Kind::JoulesPerByte),
            ],
        ),
        (
            "dispatch",
            vec![("floor", machine.floor.as_ref(), Kind::Seconds), ("setup", machine.setup.as_ref(), Kind::Seconds)],
        ),
        (
            "placement",
            vec![
                ("launch", machine.launch.as_ref(), Kind::Seconds),
                ("transfer_in", machine.transfer_in.as_ref(), Kind::Seconds),
            ],
        ),
        (
            "power",
            vec![("max", machine.power_max.as_ref(), Kind::Watts), ("idle", machine.power_idle.as_ref(), Kind::Watts)],
        ),
    ]
}

/// Numbers of a core.
fn core_fields(machine: &Machine) -> impl Iterator<Item = Field<'_>> {
    Figures::ALL.iter().map(|number| (number.name, machine.core.get(number.name), Kind::Number))
}

/// Doubling times.
#[must_use]
pub fn growth_fields(growth: &Growth) -> [Field<'_>; 6] {
    [
        ("peak", growth.peak.as_ref(), Kind::Years),
        ("bandwidth", growth.bandwidth.as_ref(), Kind::Years),
        ("latency", growth.latency.as_ref(), Kind::Years),
        ("transfer", growth.transfer.as_ref(), Kind::Years),
        ("fast_memory", growth.fast_memory.as_ref(), Kind::Years),
        ("cores", growth.cores.as_ref(), Kind::Years),
    ]
}

/// Every number of a machine, with its path in the file.
#[must_use]
pub fn figures(machine: &Machine) -> Vec<(String, &Figure, Kind)> {
    let mut all: Vec<(String, Option<&Figure>, Kind)> = Vec::new();
    all.extend(machine.peak.iter().map(|(t, f)| (format!("peak.{t}"), Some(f), Kind::OpsPerSecond)));
    all.extend(top_fields(machine).map(|(key, figure, kind)| (key.into(), figure, kind)));
    for level in &machine.levels {
        let name = |key| format!("level.{}.{key}", level.name);
        all.push((name("capacity"), Some(&level.capacity), Kind::Bytes));
        all.push((name("bandwidth"), level.bandwidth.as_ref(), Kind::BytesPerSecond));
        all.push((name("energy"), level.energy.as_ref(), Kind::JoulesPerByte));
        if let Some(Sharers::Cores(cores)) = &level.shared_by {
            all.push((name("shared_by"), Some(cores), Kind::Number));
        }
        all.push((name("line"), level.line.as_ref(), Kind::Bytes));
        all.push((name("ways"), level.ways.as_ref(), Kind::Number));
    }
    for (table, fields) in tables(machine) {
        all.extend(fields.into_iter().map(|(key, figure, kind)| (format!("{table}.{key}"), figure, kind)));
    }
    all.extend(core_fields(machine).map(|(key, figure, kind)| (format!("core.{key}"), figure, kind)));
    all.extend(machine.op_energy.iter().map(|(t, f)| (format!("energy.{t}"), Some(f), Kind::JoulesPerOp)));
    let additions = machine.addition_energy.iter();
    all.extend(additions.map(|(t, f)| (format!("addition_energy.{t}"), Some(f), Kind::JoulesPerOp)));
    if let Some(growth) = &machine.growth {
        all.extend(growth_fields(growth).map(|(key, figure, kind)| (format!("growth.{key}"), figure, kind)));
    }
    all.into_iter().filter_map(|(key, figure, kind)| Some((key, figure?, kind))).collect()
}

/// The confidence and source that most numbers have; of equally many, those that come first.
fn most_common(machine: &Machine) -> (Confidence, String) {
    let figures = figures(machine);
    let mut counts: BTreeMap<(Confidence, &str), usize> = BTreeMap::new();
    for (_, figure, _) in &figures {
        *counts.entry((figure.confidence, &figure.source)).or_default() += 1;
    }
    let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    best.map_or((Confidence::Estimated, String::new()), |((confidence, source), _)| (confidence, source.into()))
}

struct Writer {
    text: String,
    common: (Confidence, String),
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn top(&mut self, machine: &Machine) {
        let (confidence, source) = self.common.clone();
        self.line(&format!("schema = {SCHEMA}"));
        self.line(&format!("name = {}", machine.name.to_toml_value()));
        self.line(&format!("title = {}", machine.title.to_toml_value()));
        self.line(&format!("confidence = \"{confidence}\""));
        self.line(&format!("source = {}", source.to_toml_value()));
        if !machine.notes.is_empty() {
            self.line("notes = [");
            for note in &machine.notes {
                self.line(&format!("  {},", note.to_toml_value()));
            }
            self.line("]");
        }
        self.line(&format!("default_type = \"{}\"", machine.default_type));
        for (key, figure, kind) in top_fields(machine) {
            self.figure(key, figure, kind);
        }
    }

    fn table<'a>(&mut self, name: &str, fields: impl Iterator<Item = Field<'a>>) {
        let stated: Vec<Field<'a>> = fields.filter(|(_, figure, _)| figure.is_some()).collect();
        if stated.is_empty() {
            return;
        }
        self.line(&format!("\n[{name}]"));
        for (key, figure, kind) in stated {
            self.figure(key, figure, kind);
        }
    }

    fn growth(&mut self, growth: &Growth) {
        self.line("\n[growth]");
        self.line(&format!("year = {}", growth.year));
        for (key, figure, kind) in growth_fields(growth) {
            self.figure(key, figure, kind);
        }
    }

    fn figure(&mut self, key: &str, figure: Option<&Figure>, kind: Kind) {
        let Some(figure) = figure else { return };
        let text = quantity::exact(figure.value, kind);
        let value = if kind == Kind::Number { text } else { text.to_toml_value() };
        let mut parts = Vec::new();
        if figure.confidence != self.common.0 {
            parts.push(format!("confidence = \"{}\"", figure.confidence));
        }
        if figure.source != self.common.1 {
            parts.push(format!("source = {}", figure.source.to_toml_value()));
        }
        if parts.is_empty() {
            self.line(&format!("{key} = {value}"));
        } else {
            self.line(&format!("{key} = {{ value = {value}, {} }}", parts.join(", ")));
        }
    }
}
