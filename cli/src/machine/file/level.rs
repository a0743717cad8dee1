//! Levels of memory in a machine file, each by itself and beside the others.

use toml::Spanned;

use super::{Reader, Section, number::Allowed};
use crate::{
    machine::model::{Confidence, Figure, Level, Memory, Sharers},
    shared::quantity::{self, Kind},
};

/// Whether a calibration found it so, and said so when it did: no slip of the pen.
fn is_a_finding(inner: &Figure, outer: &Figure) -> bool {
    outer.confidence == Confidence::Measured && matches!(inner.confidence, Confidence::Measured | Confidence::Estimated)
}

impl Reader<'_> {
    pub(super) fn levels(
        &self,
        top: &Section<'_, '_, '_>,
        memory: &Section<'_, '_, '_>,
        beyond: &Memory,
    ) -> Vec<Level> {
        let Some(value) = top.value("level") else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            self.problem(value.span(), "level", "write each level as a [[level]] table, from the cores outwards");
            return Vec::new();
        };
        let mut levels: Vec<Level> = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let path = format!("level[{}]", i + 1);
            let Some(table) = value.get_ref().as_table() else {
                self.problem(value.span(), &path, "write a table: [[level]]");
                continue;
            };
            let section = Section::new(self, Some(table), path, value.span(), &top.provenance);
            if let Some(level) = self.level(&section) {
                self.order(&section, &levels, &level);
                levels.push(level);
            }
            section.finish();
        }
        self.memory_fills_last(memory, &levels, beyond);
        levels
    }

    fn level(&self, section: &Section<'_, '_, '_>) -> Option<Level> {
        let name = section.required_text("name").map(|(_, name)| name);
        let capacity = section.required_figure("capacity", Kind::Bytes);
        let bandwidth = section.figure("bandwidth", Kind::BytesPerSecond, Allowed::Positive);
        let energy = section.figure("energy", Kind::JoulesPerByte, Allowed::Positive);
        let shared_by = self.shared_by(section);
        let per_core = self.per_core(section, shared_by.as_ref());
        let line = section.figure("line", Kind::Bytes, Allowed::Positive);
        if line.as_ref().is_some_and(|line| !(line.value as u64).is_power_of_two()) {
            let span = section.value("line").map_or(section.span.clone(), Spanned::span);
            self.problem(span, &section.field("line"), "is no power of two; write it as in \"64 B\"");
        }
        let ways = section.count("ways");
        if let (Some(ways), Some(line), Some(capacity)) = (&ways, &line, &capacity)
            && capacity.value % (ways.value * line.value) != 0.0
        {
            let message = format!(
                "{} ways of lines of {} do not divide {}",
                ways.value,
                quantity::rounded(line.value, Kind::Bytes),
                quantity::rounded(capacity.value, Kind::Bytes)
            );
            let span = section.value("ways").map_or(section.span.clone(), Spanned::span);
            self.problem(span, &section.field("ways"), message);
        }
        let write = section.write_policy();
        Some(Level { name: name?, capacity: capacity?, bandwidth, energy, per_core, shared_by, line, ways, write })
    }

    fn shared_by(&self, section: &Section<'_, '_, '_>) -> Option<Sharers> {
        let value = section.value("shared_by")?;
        match value.get_ref().as_str() {
            Some("all") => Some(Sharers::All),
            Some(word) => {
                let message = format!("{word:?} is no number of cores; write shared_by = 4, or shared_by = \"all\"");
                self.problem(value.span(), &section.field("shared_by"), message);
                None
            }
            None => section.count("shared_by").map(Sharers::Cores),
        }
    }

    /// Whether each core has one of its own, which both fields can say.
    fn per_core(&self, section: &Section<'_, '_, '_>, shared_by: Option<&Sharers>) -> bool {
        let says = section.flag("per_core");
        let by_one = matches!(shared_by, Some(Sharers::Cores(cores)) if cores.value == 1.0);
        if let (true, Some(_), false) = (says, shared_by, by_one) {
            let span = section.value("shared_by").map_or(section.span.clone(), Spanned::span);
            let message =
                "contradicts per_core = true, by which each core has one of its own; leave one of the two out";
            self.problem(span, &section.field("shared_by"), message);
        }
        says || by_one
    }

    /// How a level goes with those nearer to the cores.
    fn order(&self, section: &Section<'_, '_, '_>, inner: &[Level], level: &Level) {
        let at = |key| section.value(key).map_or(section.span.clone(), Spanned::span);
        if inner.iter().any(|other| other.name == level.name) {
            self.problem(at("name"), &section.field("name"), format!("another level is called {:?}", level.name));
        }
        let Some(last) = inner.last() else { return };
        if level.capacity.value <= last.capacity.value {
            let (this, before) = (level.capacity.value, last.capacity.value);
            let message = format!(
                "{} is not more than the {} of {}; write levels from the cores outwards, capacities increasing",
                quantity::rounded(this, Kind::Bytes),
                quantity::rounded(before, Kind::Bytes),
                last.name
            );
            self.problem(at("capacity"), &section.field("capacity"), message);
        }
        if level.sharers() < last.sharers() {
            let message = format!(
                "{} is shared by fewer cores than {}, which it fills; levels are written from the cores outwards",
                level.name, last.name
            );
            self.warning(at("shared_by"), &section.field("shared_by"), message);
        }
        if let (Some(outer), Some(inner)) = (&level.bandwidth, &last.bandwidth)
            && outer.value > inner.value
            && !is_a_finding(inner, outer)
        {
            let message = format!(
                "{outer} is filled faster than {inner}: the bandwidth of a level is that of the link which fills it from outside, so \
                 that of {inner} is what {outer} gives; correct the one that is wrong, or measure this machine: dmdprof machine \
                 calibrate",
                outer = level.name,
                inner = last.name
            );
            self.warning(at("bandwidth"), &section.field("bandwidth"), message);
        }
    }

    fn memory_fills_last(&self, section: &Section<'_, '_, '_>, levels: &[Level], memory: &Memory) {
        let Some(last) = levels.last() else { return };
        if let (Some(fill), Some(bandwidth)) = (&last.bandwidth, &memory.bandwidth)
            && fill.value != bandwidth.value
        {
            let message = format!(
                "{} differs from the {} that fill {}, the last level before the memory",
                quantity::rounded(bandwidth.value, Kind::BytesPerSecond),
                quantity::rounded(fill.value, Kind::BytesPerSecond),
                last.name
            );
            let span = section.value("bandwidth").map_or(section.span.clone(), Spanned::span);
            self.warning(span, "memory.bandwidth", message);
        }
    }
}
