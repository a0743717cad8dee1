//! Caches as the command line names them: `SIZE,WAYS,LINE[,POLICY]`, the next level after a comma, or those of a
//! machine.
//!
//! Takes text, gives levels that can be one behind the other. Refuses, with what to write instead, what is no such
//! list and levels that no cache has, and machines that do not state enough of their first level.

use dmdprof_runtime::observe::caches::{Geometry, Policy, check};

use crate::{
    machine::{Level, Machine, Places},
    shared::quantity::{parse_size, parse_small_size},
};

const FORM: &str = "write SIZE,WAYS,LINE for each level, as in 32KiB,8,64 or 32KiB,8,64,plru,1MiB,16,64";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The first nearest to the processor.
    pub levels: Vec<Geometry>,
    /// What of a machine is not among them, and why.
    pub note: Option<String>,
}

impl Hierarchy {
    /// Bytes of a line, of all levels.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.levels[0].line
    }
}

/// The levels that a text names.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Hierarchy, String> {
    let name = text.split(',').next().unwrap_or_default().trim();
    if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
        let policy = match text.split_once(',').map(|(_, policy)| policy.trim()) {
            None | Some("lru") => Policy::Lru,
            Some("plru") => Policy::TreePlru,
            Some(word) => return Err(format!("{word:?} after machine {name}: must be lru or plru")),
        };
        let found = Places::from_env().find(name).map_err(|error| format!("{error}\n  or {FORM}"))?;
        return of_machine(&found.machine, policy);
    }
    let mut words = text.split(',').map(str::trim).peekable();
    let mut levels = Vec::new();
    while let Some(size) = words.next() {
        let number = levels.len() + 1;
        let (Some(ways), Some(line)) = (words.next(), words.next()) else {
            return Err(format!("level {number} is incomplete: {FORM}"));
        };
        let bytes = parse_size(size).map_err(|why| format!("size {size:?} of level {number}: {why}; {FORM}"))?;
        let count = |text: &str| {
            text.parse::<u32>().map_err(|_| format!("ways {text:?} of level {number} is no number: {FORM}"))
        };
        let ways = count(ways)?;
        let line =
            parse_small_size(line).map_err(|why| format!("line size {line:?} of level {number}: {why}; {FORM}"))?;
        let policy = match words.peek() {
            Some(&"lru") => Some(Policy::Lru),
            Some(&"plru") => Some(Policy::TreePlru),
            Some(word) if word.starts_with(|c: char| c.is_ascii_digit()) => None,
            Some(word) => return Err(format!("policy {word:?} of level {number}: must be lru or plru")),
            None => None,
        };
        if policy.is_some() {
            words.next();
        }
        let geometry = Geometry { bytes, ways, line, policy: policy.unwrap_or(Policy::Lru) };
        geometry.sets().map_err(|why| format!("level {number}: {why}"))?;
        levels.push(geometry);
    }
    check(&levels)?;
    Ok(Hierarchy { levels, note: None })
}

/// The levels of a machine, up to the first that cannot be simulated.
fn of_machine(machine: &Machine, policy: Policy) -> Result<Hierarchy, String> {
    let mut levels: Vec<Geometry> = Vec::new();
    for level in &machine.levels {
        let simulated = geometry(level, policy).and_then(|geometry| {
            geometry.sets()?;
            check(&[&levels[..], &[geometry]].concat())?;
            Ok(geometry)
        });
        match simulated {
            Ok(geometry) => levels.push(geometry),
            Err(why) if levels.is_empty() => {
                return Err(format!("machine {}, {}: {why}; {FORM}", machine.name, level.name));
            }
            Err(why) => {
                let note = format!(
                    "the caches of {} are simulated without {} and what is behind it: {why}",
                    machine.name, level.name
                );
                return Ok(Hierarchy { levels, note: Some(note) });
            }
        }
    }
    if levels.is_empty() {
        return Err(format!("machine {} states no levels; {FORM}", machine.name));
    }
    Ok(Hierarchy { levels, note: None })
}

fn geometry(level: &Level, policy: Policy) -> Result<Geometry, String> {
    let missing = |field: &str, example: &str| format!("its file states no {field} ({field} = {example} in [[level]])");
    let ways = level.ways.as_ref().ok_or_else(|| missing("ways", "8"))?;
    let line = level.line.as_ref().ok_or_else(|| missing("line", "\"64 B\""))?;
    Ok(Geometry { bytes: level.capacity.value as u64, ways: ways.value as u32, line: line.value as u32, policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_a_size_ways_a_line_and_perhaps_a_policy() {
        let level = |bytes, ways, policy| Geometry { bytes, ways, line: 64, policy };
        let parsed = |text| parse(text).map(|found| found.levels);
        for text in ["32KiB,8,64", "32768,8,64", "32K,8,64B", "32768 B, 8, 64 B"] {
            assert_eq!(parsed(text), Ok(vec![level(32 << 10, 8, Policy::Lru)]), "{text}");
        }
        let small = Geometry { bytes: 1024, ways: 2, line: 64, policy: Policy::Lru };
        assert_eq!(parsed("1024,2,64"), Ok(vec![small]));
        let three = parsed("32 KiB, 8, 64, plru, 1MiB,16,64, 22 MiB,11,64,lru");
        assert_eq!(three.map(|levels| levels[2]), Ok(level(22 << 20, 11, Policy::Lru)));
        let two = vec![level(32 << 10, 8, Policy::TreePlru), level(1 << 20, 16, Policy::Lru)];
        assert_eq!(parsed("32KiB,8,64,plru,1MiB,16,64,lru"), Ok(two));
    }

    #[test]
    fn machines_that_state_ways_are_hierarchies() {
        let level = |bytes, ways, policy| Geometry { bytes, ways, line: 64, policy };
        let Hierarchy { levels, note } = parse("zen2-7452-core").expect("a machine with ways");
        assert_eq!(levels, [(32 << 10, 8), (512 << 10, 8), (16 << 20, 16)].map(|(b, w)| level(b, w, Policy::Lru)));
        assert_eq!(note, None);
        // The third level is in parts, by a function of the address that nobody publishes.
        let Hierarchy { levels, note } = parse("skx-6148-core, plru").expect("a machine with ways");
        assert_eq!(levels, [(32 << 10, 8), (1 << 20, 16)].map(|(b, w)| level(b, w, Policy::TreePlru)));
        let note = note.expect("something is left out");
        assert!(
            note.starts_with("the caches of skx-6148-core are simulated without L3") && note.contains("40960 sets"),
            "{note}"
        );
    }

    #[test]
    fn what_is_no_cache_gets_advice() {
        let wrong = [
            "",
            "skx-6148-cor",
            "skx-6148-core,fifo",
            "h100-sxm",
            "place-cpu",
            "32KiB,8",
            "32,8,64",
            "32KiB,eight,64",
            "32KiB,8,60",
            "32KiB,7,64",
            "32KiB,8,64,fifo",
            "32KiB,8,64,16KiB,8,64",
            "32KiB,8,64,1MiB,16,128",
            "48KiB,12,64,plru",
            "32KiB,0,64",
            "20MiB,16,64",
        ];
        let messages: Vec<String> =
            wrong.iter().map(|text| format!("{text:?}: {}", parse(text).expect_err("it is no cache"))).collect();
        insta::assert_snapshot!(messages.join("\n"));
    }
}
