//! The definition of depth, written down as a list: every byte of the stack is one entry, the top is the end. Slow and
//! obvious, for tests only.

use super::sink::DepthSink;

/// What one loaded byte found: its depth, and whether it had to enter at the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub depth: u64,
    pub cold: bool,
}

/// Collects what the engine reports, byte by byte.
#[derive(Default)]
pub struct Collect(pub Vec<Found>);

impl DepthSink for Collect {
    fn warm(&mut self, above: u64, len: u64) {
        self.0.extend((above + 1..=above + len).map(|depth| Found { depth, cold: false }));
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.0.extend((above + 1..=above + len).map(|depth| Found { depth, cold: true }));
    }
}

#[derive(Default)]
pub struct Oracle {
    stack: Vec<u64>,
    /// Addresses that do not count again. Those of bytes that moved away do.
    touched: std::collections::HashSet<u64>,
    footprint: u64,
    peak: usize,
}

impl Oracle {
    pub fn load(&mut self, addr: u64, len: u64) -> Vec<Found> {
        let mut found = Vec::new();
        let mut cold = 0;
        for byte in addr..addr + len {
            match self.stack.iter().rposition(|&on| on == byte) {
                Some(at) => found.push(Found { depth: (self.stack.len() - at) as u64, cold: false }),
                None => {
                    cold += 1;
                    found.push(Found { depth: self.stack.len() as u64 + cold, cold: true });
                }
            }
        }
        self.store(addr, len);
        found
    }

    pub fn store(&mut self, addr: u64, len: u64) {
        self.remove(addr, len);
        self.stack.extend(addr..addr + len);
        self.touch(addr, len);
    }

    pub fn remove(&mut self, addr: u64, len: u64) {
        self.stack.retain(|&on| !(addr..addr + len).contains(&on));
    }

    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let source = from..from + len;
        let target = to..to + len;
        self.stack.retain(|on| source.contains(on) || !target.contains(on));
        let moved: Vec<u64> = self.stack.iter().copied().filter(|on| source.contains(on)).collect();
        for on in &moved {
            self.touched.remove(on);
        }
        self.touched.extend(moved.iter().map(|on| on - from + to));
        for on in self.stack.iter_mut().filter(|on| source.contains(on)) {
            *on = *on - from + to;
        }
    }

    pub fn insert_bottom(&mut self, addr: u64, len: u64) {
        let new: Vec<u64> = (addr..addr + len).filter(|byte| !self.stack.contains(byte)).collect();
        for &byte in &new {
            self.touch(byte, 1);
        }
        self.stack.splice(0..0, new);
        self.peak = self.peak.max(self.stack.len());
    }

    fn touch(&mut self, addr: u64, len: u64) {
        for byte in addr..addr + len {
            self.footprint += u64::from(self.touched.insert(byte));
        }
        self.peak = self.peak.max(self.stack.len());
    }

    pub fn live(&self) -> u64 {
        self.stack.len() as u64
    }

    pub fn peak_live(&self) -> u64 {
        self.peak as u64
    }

    pub fn footprint(&self) -> u64 {
        self.footprint
    }
}
