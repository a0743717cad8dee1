//! Branch prediction: a TAGE predictor of directions, a table of targets and a stack of return addresses.
//!
//! Takes branches in their order, says of each whether it went as foretold. The predictor is that of Seznec and
//! Michaud ("A case for (partially) tagged geometric history length branch prediction", 2006), with histories that are
//! hashed and not folded: folded ones never learn long patterns that real cores learn.

/// Tables with tags, and branches of history that each looks at.
const LENGTHS: [usize; 6] = [5, 11, 22, 44, 90, 180];
const TABLES: usize = LENGTHS.len();
const ENTRIES: usize = 1 << 14;
const BIMODAL: usize = 1 << 15;
const TARGETS: usize = 1 << 12;
/// Return addresses that are kept.
const RETURNS: usize = 32;

/// The part of each word of history that each table looks at.
const MASKS: [[u64; 3]; TABLES] = {
    let mut masks = [[0; 3]; TABLES];
    let mut at = 0;
    while at < TABLES * 3 {
        let (table, word) = (at / 3, at % 3);
        masks[table][word] = match LENGTHS[table].saturating_sub(word * 64) {
            bits if bits >= 64 => u64::MAX,
            bits => (1 << bits) - 1,
        };
        at += 1;
    }
    masks
};

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// Taken if not negative.
    counter: i8,
    useful: u8,
}

/// Where a branch's entry is in each table, and its tag.
type Places = [(usize, u16); TABLES];

/// Foretells branches.
pub struct Predictor {
    bimodal: Box<[u8]>,
    tables: Box<[[Entry; ENTRIES]]>,
    history: [u64; 3],
    random: u32,
    targets: Box<[u64]>,
    path: u64,
    returns: Vec<u64>,
}

impl Default for Predictor {
    fn default() -> Self {
        Self {
            bimodal: vec![2; BIMODAL].into(),
            tables: vec![[Entry::default(); ENTRIES]; TABLES].into(),
            history: [0; 3],
            random: 1,
            targets: vec![0; TARGETS].into(),
            path: 0,
            returns: Vec::with_capacity(RETURNS + 1),
        }
    }
}

impl Predictor {
    /// A branch that is taken or not; whether that was foretold.
    pub fn conditional(&mut self, address: u64, taken: bool) -> bool {
        let is_right = self.direction(address, taken);
        self.push(taken);
        is_right
    }

    /// A branch to a place that is computed; whether that was foretold.
    pub fn indirect(&mut self, address: u64, target: u64) -> bool {
        let place = (address ^ (self.path.wrapping_mul(0x9e37_79b1) >> 7)) as usize % TARGETS;
        let is_right = self.targets[place] == target;
        self.targets[place] = target;
        self.path = (self.path << 3) ^ (target >> 2);
        self.push((target >> 3) & 1 == 1);
        is_right
    }

    /// A call, which will return there.
    pub fn call(&mut self, behind: u64) {
        if self.returns.len() == RETURNS {
            self.returns.remove(0);
        }
        self.returns.push(behind);
    }

    /// A return; whether its target was foretold.
    pub fn returns(&mut self, target: u64) -> bool {
        self.returns.pop() == Some(target)
    }

    fn push(&mut self, taken: bool) {
        let [a, b, c] = self.history;
        self.history = [(a << 1) | u64::from(taken), (b << 1) | (a >> 63), (c << 1) | (b >> 63)];
    }

    fn places(&self, address: u64) -> Places {
        let mut places = [(0, 0); TABLES];
        for (table, (place, (length, masks))) in (0u64..).zip(places.iter_mut().zip(LENGTHS.iter().zip(&MASKS))) {
            let mut hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(table);
            for (history, mask) in self.history.iter().zip(masks).take(length.div_ceil(64)) {
                hash = (hash ^ (history & mask)).wrapping_mul(0xd6e8_feb8_6659_fd93);
                hash ^= hash >> 32;
            }
            *place = ((hash >> 40) as usize % ENTRIES, (hash >> 20) as u16 & 0x0fff | 1);
        }
        places
    }

    fn direction(&mut self, address: u64, taken: bool) -> bool {
        let places = self.places(address);
        let simple = (address ^ (address >> 13)) as usize % BIMODAL;
        let (mut longest, mut next) = (None, None);
        for (table, (place, tag)) in places.iter().enumerate() {
            if self.tables[table][*place].tag == *tag {
                (longest, next) = (Some(table), longest);
            }
        }
        let by_simple = self.bimodal[simple] >= 2;
        let says = |table: usize| self.tables[table][places[table].0].counter >= 0;
        let other = next.map_or(by_simple, says);
        let mut foretold = longest.map_or(by_simple, says);
        if let Some(table) = longest {
            let entry = &mut self.tables[table][places[table].0];
            // Just made, it knows little.
            if matches!(entry.counter, 0 | -1) && entry.useful == 0 {
                foretold = other;
            }
            let own = entry.counter >= 0;
            if own != other {
                entry.useful = if own == taken { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
            }
            entry.counter = if taken { (entry.counter + 1).min(3) } else { (entry.counter - 1).max(-4) };
        } else {
            let counter = &mut self.bimodal[simple];
            *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        }
        if foretold != taken {
            self.learn(&places, longest.map_or(0, |table| table + 1), taken);
        }
        foretold == taken
    }

    /// Makes an entry of a longer history.
    fn learn(&mut self, places: &Places, mut from: usize, taken: bool) {
        self.random = self.random.wrapping_mul(1_103_515_245).wrapping_add(12345);
        if from + 1 < TABLES && (self.random >> 16) & 1 == 1 {
            from += 1;
        }
        for (table, (place, tag)) in places.iter().enumerate().skip(from) {
            let entry = &mut self.tables[table][*place];
            if entry.useful == 0 {
                *entry = Entry { tag: *tag, counter: if taken { 0 } else { -1 }, useful: 0 };
                return;
            }
        }
        for (table, (place, _)) in places.iter().enumerate().skip(from) {
            self.tables[table][*place].useful -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(outcomes: impl Iterator<Item = bool>) -> usize {
        let mut predictor = Predictor::default();
        outcomes.filter(|taken| !predictor.conditional(0x40_1234, *taken)).count()
    }

    #[test]
    fn patterns_are_learned_and_chance_is_not() {
        let pattern = [true, true, false, true, false, false, true];
        assert!(wrong(pattern.into_iter().cycle().take(10_000)) < 100);
        let mut state = 1u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 63 == 1
        });
        let missed = wrong(random.take(10_000));
        assert!((4_000..6_000).contains(&missed), "{missed}");
    }

    #[test]
    fn returns_go_back_to_their_calls() {
        let mut predictor = Predictor::default();
        predictor.call(1);
        predictor.call(2);
        assert!(predictor.returns(2) && predictor.returns(1) && !predictor.returns(3));
    }

    #[test]
    fn a_target_is_where_it_went_before() {
        let mut predictor = Predictor::default();
        let wrong = (0..1000).filter(|_| !predictor.indirect(0x1000, 0x2000)).count();
        assert!(wrong < 50, "{wrong}");
    }
}
