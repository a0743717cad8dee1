//! Caches as the command line names them: `SIZE,WAYS,LINE[,POLICY]`, the next level after a comma.
//!
//! Takes text, gives levels that can be one behind the other. Refuses, with what to write instead, what is no such
//! list and levels that no cache has.

use dmdprof_runtime::observe::caches::{Geometry, Policy, check};

use crate::machine::quantity::parse_size;

const FORM: &str = "write SIZE,WAYS,LINE for each level, as in 32KiB,8,64 or 32KiB,8,64,plru,1MiB,16,64";

/// Levels, the first nearest to the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy(pub Vec<Geometry>);

impl Hierarchy {
    /// Bytes of a line, of all levels.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.0[0].line
    }
}

/// The levels that a text names.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Hierarchy, String> {
    let mut words = text.split(',').map(str::trim).peekable();
    let mut levels = Vec::new();
    while let Some(size) = words.next() {
        let number = levels.len() + 1;
        let (Some(ways), Some(line)) = (words.next(), words.next()) else {
            let of_machine = if text.contains(',') { "" } else { "; machine files do not state ways" };
            return Err(format!("level {number} is incomplete{of_machine}: {FORM}"));
        };
        let bytes = parse_size(size).map_err(|why| format!("size {size:?} of level {number}: {why}; {FORM}"))?;
        let count = |text: &str, what: &str| {
            text.parse::<u32>().map_err(|_| format!("{what} {text:?} of level {number} is no number: {FORM}"))
        };
        let (ways, line) = (count(ways, "ways")?, count(line, "line size")?);
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
    Ok(Hierarchy(levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_a_size_ways_a_line_and_perhaps_a_policy() {
        let level = |bytes, ways, policy| Geometry { bytes, ways, line: 64, policy };
        let parsed = |text| parse(text).map(|found| found.0);
        assert_eq!(parsed("32KiB,8,64"), Ok(vec![level(32 << 10, 8, Policy::Lru)]));
        let three = parsed("32 KiB, 8, 64, plru, 1MiB,16,64, 22 MiB,11,64,lru");
        assert_eq!(three.map(|levels| levels[2]), Ok(level(22 << 20, 11, Policy::Lru)));
        let two = vec![level(32 << 10, 8, Policy::TreePlru), level(1 << 20, 16, Policy::Lru)];
        assert_eq!(parsed("32KiB,8,64,plru,1MiB,16,64,lru"), Ok(two));
    }

    #[test]
    fn what_is_no_cache_gets_advice() {
        let wrong = [
            "",
            "skx-6148-core",
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
