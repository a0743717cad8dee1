//! Which caches of sets and ways there can be, and how they may stand one behind the other.

/// How a set chooses the line that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one used longest ago.
    Lru,
    /// A tree of bits, each pointing away from the half that was used last.
    TreePlru,
}

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Its size in bytes.
    pub bytes: u64,
    /// Ways of each set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Which line leaves a full set.
    pub policy: Policy,
}

/// Most levels.
pub const MOST_LEVELS: usize = 4;
/// Most lines of a level, as each takes memory here.
const MOST_LINES: u64 = 1 << 26;
/// Most ways of a tree of bits.
const MOST_PLRU: u32 = 64;

impl Geometry {
    /// The number of its sets.
    ///
    /// # Errors
    /// Why there is no such cache.
    pub fn sets(&self) -> Result<u64, String> {
        let Self { bytes, ways, line, policy } = *self;
        if !line.is_power_of_two() || line < 2 {
            return Err(format!("lines of {line} bytes: must be a power of two of at least 2"));
        }
        if ways == 0 {
            return Err("a cache needs at least one way".into());
        }
        if bytes == 0 || bytes / u64::from(line) > MOST_LINES {
            return Err(format!("{bytes} bytes in lines of {line}: must be from 1 to {MOST_LINES} lines"));
        }
        let way = u64::from(line) * u64::from(ways);
        if bytes % way != 0 {
            return Err(format!("{bytes} bytes cannot be divided into {ways} ways of lines of {line} bytes"));
        }
        let sets = bytes / way;
        if !sets.is_power_of_two() {
            return Err(format!(
                "{bytes} bytes in {ways} ways of lines of {line} bytes are {sets} sets: must be a power of two"
            ));
        }
        if policy == Policy::TreePlru && !(ways.is_power_of_two() && ways <= MOST_PLRU) {
            return Err(format!("plru with {ways} ways: must be a power of two up to {MOST_PLRU}"));
        }
        Ok(sets)
    }
}

/// Whether levels can be one behind the other, the first nearest to the processor.
///
/// # Errors
/// Why not.
pub fn check(levels: &[Geometry]) -> Result<(), String> {
    if levels.len() > MOST_LEVELS {
        return Err(format!("{} levels: at most {MOST_LEVELS} are simulated", levels.len()));
    }
    for level in levels {
        level.sets()?;
    }
    for (near, far) in levels.iter().zip(levels.iter().skip(1)) {
        if near.line != far.line {
            return Err(format!("levels with lines of {} and {} bytes: all must have the same", near.line, far.line));
        }
        if far.bytes <= near.bytes {
            return Err(format!(
                "a level of {} bytes behind one of {}: each must be larger, as it holds what those before it hold",
                far.bytes, near.bytes
            ));
        }
    }
    Ok(())
}
