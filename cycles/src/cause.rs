//! Why cycles pass.

/// Why the next instruction could not retire yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Nothing was in the way but how many operations a core does at a time.
    Base,
    /// It waited for the result of another instruction.
    Dependence,
    /// A branch went another way than foretold, and the right instructions had to be fetched.
    Branch,
    /// For the first level's latency.
    L1,
    /// For a line of the second level.
    L2,
    /// For a line of the last level.
    L3,
    /// For a line of the memory.
    Memory,
    /// For a line that others were in the way of.
    Bandwidth,
    /// For the translation of an address.
    Pages,
    /// For a store whose bytes it reads.
    Forwarding,
    /// The system gave a page on its first use.
    Fault,
}

/// Number of causes.
pub const CAUSES: usize = 11;

/// Cycles by cause.
pub type Cycles = [u64; CAUSES];

/// Adds cycles by cause.
pub fn add_cycles(own: &mut Cycles, more: &Cycles) {
    own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
}

impl Cause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; CAUSES] = [
        Self::Base,
        Self::Dependence,
        Self::Branch,
        Self::L1,
        Self::L2,
        Self::L3,
        Self::Memory,
        Self::Bandwidth,
        Self::Pages,
        Self::Forwarding,
        Self::Fault,
    ];

    /// The word in files and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Dependence => "dependence",
            Self::Branch => "branch",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::Memory => "memory",
            Self::Bandwidth => "bandwidth",
            Self::Pages => "pages",
            Self::Forwarding => "forwarding",
            Self::Fault => "fault",
        }
    }

    /// What code does whose cycles mostly pass for it.
    #[must_use]
    pub fn clause(self) -> &'static str {
        match self {
            Self::Base => "does as many operations at a time as the core can",
            Self::Dependence => "waits for chains of dependent operations",
            Self::Branch => "waits for mispredicted branches",
            Self::L1 => "waits for the latency of the first level",
            Self::L2 => "waits for lines from the second level",
            Self::L3 => "waits for lines from the last level",
            Self::Memory => "waits for the latency of the memory",
            Self::Bandwidth => "waits for the bandwidth of caches and memory",
            Self::Pages => "waits for the translation of addresses",
            Self::Forwarding => "waits for loads of what was just stored",
            Self::Fault => "waits for first touches of pages",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        for (number, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, number);
        }
    }
}
