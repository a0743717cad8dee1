//! What can do only so much at a time: who comes later in the program may come earlier in time, so a server is a table
//! of slots by time, and not one time from which on it is free.

/// Slots that are looked at ahead.
const SLOTS: usize = 1 << 13;

/// One request in each interval of so many cycles.
pub struct Server {
    gap: u64,
    taken: Box<[u64]>,
}

impl Server {
    pub fn new(gap: u64) -> Self {
        Self { gap: gap.max(1), taken: vec![u64::MAX; SLOTS].into() }
    }

    /// When a request of a time is served.
    pub fn serve(&mut self, time: u64) -> u64 {
        let first = time / self.gap;
        let free = |slot: &u64| self.taken[*slot as usize % SLOTS] != *slot;
        // Whoever finds none is served: the queue cannot be longer than what is in flight.
        let slot = (first..first + 512).find(free).unwrap_or(first + 512);
        self.taken[slot as usize % SLOTS] = slot;
        time.max(slot * self.gap)
    }
}

/// So many units, each of which takes an operation per cycle.
pub struct Ports {
    units: u16,
    /// Cycle, and operations in it.
    busy: Box<[(u64, u16)]>,
}

impl Ports {
    pub fn new(units: u64) -> Self {
        Self { units: units.clamp(1, 64) as u16, busy: vec![(u64::MAX, 0); SLOTS].into() }
    }

    /// When an operation that is ready at a time starts, which keeps its unit for so many cycles.
    pub fn start(&mut self, ready: u64, cycles: u64) -> u64 {
        let mut time = ready;
        while self.slot_at(time).1 >= self.units {
            time += 1;
        }
        for cycle in time..time + cycles {
            self.slot_at(cycle).1 += 1;
        }
        time
    }

    fn slot_at(&mut self, time: u64) -> &mut (u64, u16) {
        let slot = &mut self.busy[time as usize % SLOTS];
        if slot.0 != time {
            *slot = (time, 0);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_request_takes_an_earlier_slot() {
        let mut server = Server::new(10);
        assert_eq!([100, 103, 40, 40].map(|time| server.serve(time)), [100, 110, 40, 50]);
    }

    #[test]
    fn units_take_one_operation_each() {
        let mut ports = Ports::new(2);
        assert_eq!([5, 5, 5, 4].map(|time| ports.start(time, 1)), [5, 5, 6, 4]);
        let mut divider = Ports::new(1);
        assert_eq!([0, 0].map(|time| divider.start(time, 8)), [0, 8]);
    }
}
