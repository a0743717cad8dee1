//! The definition of depth and of capacity, written down as lists: every byte of the stack is one entry, the top is the
//! end. A second list has the free places too. Slow and obvious, for tests only.

use super::{
    progression::Progression,
    sink::{BatchSink, DepthSink},
};

/// What one loaded byte found: its depth, whether it had to enter at the bottom, and its depth with free places
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteDepth {
    pub depth: u64,
    pub cold: bool,
    pub capacity: u64,
}

impl ByteDepth {
    fn new(depth: u64, cold: bool) -> Self {
        ByteDepth { depth, cold, capacity: depth }
    }

    /// The last `len` of some bytes were below so many holes.
    pub fn below_holes(found: &mut [ByteDepth], holes: u64, len: u64) {
        let others = found.len() - len as usize;
        found[others..].iter_mut().for_each(|byte| byte.capacity += holes);
    }
}

/// Collects what the engine reports, byte by byte.
#[derive(Default)]
pub struct Collect(pub Vec<ByteDepth>);

impl DepthSink for Collect {
    fn warm(&mut self, above: u64, len: u64) {
        self.0.extend((above + 1..=above + len).map(|depth| ByteDepth::new(depth, false)));
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.0.extend((above + 1..=above + len).map(|depth| ByteDepth::new(depth, true)));
    }
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        ByteDepth::below_holes(&mut self.0, holes, runs.count * runs.width);
    }
}

impl BatchSink for Collect {
    fn begin(&mut self, _number: usize) {}
}

impl Collect {
    /// What was found, in order of depth.
    pub fn sorted(mut self) -> Vec<ByteDepth> {
        self.0.sort_unstable();
        self.0
    }
}

/// Where a byte is in a list, in which each is once. Looks above the byte before it first: there it mostly is.
fn position<T: PartialEq>(list: &[T], byte: &T, before: Option<usize>) -> Option<usize> {
    let next = before.map(|at| at + 1).filter(|&at| list.get(at) == Some(byte));
    next.or_else(|| list.iter().rposition(|on| on == byte))
}

#[derive(Default)]
pub struct Oracle {
    stack: Vec<u64>,
    /// The stack with the free places that the dead left. Empty while there are none: the places are the stack then.
    places: Vec<Option<u64>>,
    /// Addresses that do not count again. Those of bytes that moved away do.
    touched: std::collections::HashSet<u64>,
    footprint: u64,
    peak: usize,
}

impl Oracle {
    pub fn load(&mut self, addr: u64, len: u64) -> Vec<ByteDepth> {
        let mut found = Vec::new();
        let mut cold = 0;
        let (mut on_stack, mut in_places) = (None, None);
        for byte in addr..addr + len {
            on_stack = position(&self.stack, &byte, on_stack);
            let depth = match on_stack {
                Some(at) => (self.stack.len() - at) as u64,
                None => {
                    cold += 1;
                    self.stack.len() as u64 + cold
                }
            };
            let capacity = match on_stack {
                _ if self.places.is_empty() => depth,
                Some(_) => {
                    in_places = position(&self.places, &Some(byte), in_places);
                    (self.places.len() - in_places.expect("it is in both lists")) as u64
                }
                None => self.places.len() as u64 + cold,
            };
            found.push(ByteDepth { depth, cold: on_stack.is_none(), capacity });
        }
        self.store(addr, len);
        found
    }

    pub fn store(&mut self, addr: u64, len: u64) {
        let accessed = addr..addr + len;
        // Below the deepest of them nothing changes.
        let mut on_stack = len;
        let found = self.stack.iter().rposition(|on| {
            on_stack -= u64::from(accessed.contains(on));
            on_stack == 0
        });
        let above = self.stack.split_off(found.unwrap_or(0));
        self.stack.extend(above.into_iter().filter(|on| !accessed.contains(on)));
        self.stack.extend(accessed.clone());
        self.touch(addr, len);
        if !self.places.is_empty() {
            self.store_in_places(accessed);
        }
    }

    fn store_in_places(&mut self, accessed: std::ops::Range<u64>) {
        let (mut new, mut holes_above) = (accessed.end - accessed.start, false);
        for at in (0..self.places.len()).rev() {
            if new == 0 {
                break;
            }
            match self.places[at] {
                None => holes_above = true,
                Some(on) if accessed.contains(&on) => {
                    new -= 1;
                    // The newest hole is filled by what goes to the top, and leaves a hole here.
                    if let Some(hole) = holes_above.then(|| self.newest_hole()).flatten() {
                        self.places[at] = None;
                        self.places.remove(hole);
                    } else {
                        self.places.remove(at);
                    }
                }
                Some(_) => {}
            }
        }
        for _ in 0..new {
            let Some(hole) = self.newest_hole() else { break };
            self.places.remove(hole);
        }
        self.places.extend(accessed.map(Some));
        self.leave_places();
    }

    fn newest_hole(&self) -> Option<usize> {
        self.places.iter().rposition(Option::is_none)
    }

    /// There may be free places soon.
    fn enter_places(&mut self) {
        if self.places.is_empty() {
            self.places = self.stack.iter().copied().map(Some).collect();
        }
    }

    fn leave_places(&mut self) {
        if self.newest_hole().is_none() {
            self.places.clear();
        }
    }

    pub fn remove(&mut self, addr: u64, len: u64) {
        self.enter_places();
        self.stack.retain(|&on| !(addr..addr + len).contains(&on));
        for on in self.places.iter_mut().filter(|on| on.is_some_and(|on| (addr..addr + len).contains(&on))) {
            *on = None;
        }
        self.leave_places();
    }

    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        self.enter_places();
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
        for on in &mut self.places {
            *on = match *on {
                Some(byte) if source.contains(&byte) => Some(byte - from + to),
                Some(byte) if target.contains(&byte) => None,
                other => other,
            };
        }
        self.leave_places();
    }

    pub fn insert_bottom(&mut self, addr: u64, len: u64) {
        let new: Vec<u64> = (addr..addr + len).filter(|byte| !self.stack.contains(byte)).collect();
        for &byte in &new {
            self.touch(byte, 1);
        }
        if !self.places.is_empty() {
            self.places.splice(0..0, new.iter().copied().map(Some));
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
