//! What programs that can be sampled count, by the objects that their functions are compiled in.

use super::{error::RingError, reader::RingReader};

/// Where the counters of an object are in the rings of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The process's number in the run.
    pub process: u32,
    /// What the object is known by.
    pub name: u64,
    /// The first of its counters, and how many it has.
    pub first: u64,
    pub count: u64,
}

/// How often a segment was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// What its object is known by; `None`: nobody has announced it.
    pub unit: Option<u64>,
    /// Number of the counter in the object.
    pub counter: u64,
    /// How often.
    pub times: u64,
}

/// Objects with counters, at one time of a run.
#[derive(Clone, Debug, Default)]
pub struct Counters(pub(super) Vec<Unit>);

impl Counters {
    /// What the counters of a ring say whose process and its ancestors are these. Only for a producer that is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_ring(&self, ring: &RingReader, processes: &[u32]) -> Result<Vec<Counted>, RingError> {
        let mut units: Vec<&Unit> = self.0.iter().filter(|unit| processes.contains(&unit.process)).collect();
        units.sort_by_key(|unit| unit.first);
        let place = |(number, times): (u64, u64)| {
            let unit = units[..units.partition_point(|unit| unit.first <= number)].last();
            match unit.filter(|unit| number - unit.first < unit.count) {
                Some(unit) => Counted { unit: Some(unit.name), counter: number - unit.first, times },
                None => Counted { unit: None, counter: number, times },
            }
        };
        Ok(ring.counters()?.into_iter().map(place).collect())
    }
}
