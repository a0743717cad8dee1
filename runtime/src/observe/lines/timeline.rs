//! When lines left the front, as positions in time; how many that are still behind it have a later one.
//!
//! Takes positions that are given up; gives new ones, each later than all before, and numbers of later ones. Positions
//! are bits, counted by blocks of two sizes. Blocks are filled when the first position in them is given out, so that
//! giving one out is one addition.

/// Bits of the number of positions in a block of each size.
const SMALL: u32 = 9;
const LARGE: u32 = 15;
/// Words of the smallest block.
const WORDS: usize = 1 << (SMALL - 6);
/// Blocks in one of the next size.
const PER: usize = 1 << (LARGE - SMALL);

/// Which words of a block come after one of them.
const AFTER: [[u64; WORDS]; WORDS] = {
    let mut masks = [[0; WORDS]; WORDS];
    let mut word = 0;
    while word < WORDS {
        let mut later = word + 1;
        while later < WORDS {
            masks[word][later] = u64::MAX;
            later += 1;
        }
        word += 1;
    }
    masks
};

/// Remembered questions.
pub const FINGERS: usize = 8;

/// Positions that were asked about last, by kinds of questions, and how many earlier ones are taken now.
struct Fingers {
    positions: [u32; FINGERS],
    earlier: [u32; FINGERS],
}

/// Near none that is asked about.
const NOWHERE: u32 = u32::MAX - 128;

impl Default for Fingers {
    fn default() -> Self {
        Self { positions: [NOWHERE; FINGERS], earlier: [0; FINGERS] }
    }
}

#[derive(Default)]
pub struct Timeline {
    words: Vec<u64>,
    small: Vec<u16>,
    large: Vec<u32>,
    next: u32,
    /// Positions that are taken.
    taken: u32,
    /// Up to where blocks are filled.
    filled: u32,
    fingers: Fingers,
}

impl Timeline {
    /// One with room for at least so many positions, of which the first are taken.
    #[must_use]
    pub fn new(room: u32, taken: u32) -> Self {
        let room = (u64::from(room) + 1).next_multiple_of(1 << SMALL);
        let blocks = |bits: u32| room.div_ceil(1 << bits) as usize;
        let mut new = Self {
            words: vec![0; blocks(6)],
            small: vec![0; blocks(SMALL).next_multiple_of(PER)],
            large: vec![0; blocks(LARGE)],
            ..Self::default()
        };
        while new.filled < taken {
            new.fill();
        }
        (new.next, new.taken) = (taken, taken);
        new
    }

    /// Whether so many positions can be given out.
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self, positions: u32) -> bool {
        self.next as usize + positions as usize <= self.words.len() << 6
    }

    /// The position that is given out next.
    #[inline(always)]
    #[must_use]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Fills the blocks of so many positions that are given out next; there is room for them.
    #[inline(always)]
    pub fn fill_ahead(&mut self, positions: u32) {
        while self.filled < self.next + positions {
            self.fill();
        }
    }

    /// Takes the next positions, whose blocks are filled.
    #[inline(always)]
    pub fn push_all(&mut self, positions: u32) {
        self.next += positions;
        self.taken += positions;
    }

    /// Takes the next position.
    #[inline(always)]
    pub fn push(&mut self) -> u32 {
        if self.next == self.filled {
            self.fill();
        }
        self.next += 1;
        self.taken += 1;
        self.next - 1
    }

    /// Fills the next block.
    #[cold]
    fn fill(&mut self) {
        let start = self.filled;
        let word = (start >> 6) as usize;
        self.words[word..word + WORDS].fill(u64::MAX);
        self.small[(start >> SMALL) as usize] += 1 << SMALL;
        self.large[(start >> LARGE) as usize] += 1 << SMALL;
        self.filled += 1 << SMALL;
    }

    /// Gives a position up; gives how many later ones are taken.
    #[inline(always)]
    pub fn take(&mut self, position: u32, kind: usize) -> u32 {
        let earlier = self.take_from(position, kind);
        self.taken - earlier
    }

    /// Gives a position up; gives how many earlier ones are taken. Questions of one kind are mostly about neighbours.
    #[inline(always)]
    pub fn take_from(&mut self, position: u32, kind: usize) -> u32 {
        let kind = kind % FINGERS;
        let between = position.wrapping_sub(self.fingers.positions[kind]).wrapping_sub(1);
        let earlier = if between < 64 {
            self.fingers.earlier[kind] + self.taken_from(self.fingers.positions[kind] + 1, between)
        } else {
            self.taken - self.later(position) - 1
        };
        self.words[(position >> 6) as usize] &= !(1 << (position & 63));
        self.small[(position >> SMALL) as usize] -= 1;
        self.large[(position >> LARGE) as usize] -= 1;
        self.taken -= 1;
        // All at once.
        let Fingers { positions, earlier: others } = &mut self.fingers;
        for finger in 0..FINGERS {
            let less = others[finger].wrapping_sub(u32::from(position < positions[finger]));
            others[finger] = if finger == kind { earlier } else { less };
            positions[finger] = if finger == kind { position } else { positions[finger] };
        }
        earlier
    }

    /// Gives up all positions from one to another that are taken; questions of a kind were last about the one before.
    #[inline(always)]
    pub fn take_all(&mut self, first: u32, last: u32, kind: usize) {
        let kind = kind % FINGERS;
        for finger in 0..FINGERS {
            let position = self.fingers.positions[finger];
            if position > first && position <= last {
                self.fingers.earlier[finger] -=
                    words(first, position - 1).map(|(word, mask)| (self.words[word] & mask).count_ones()).sum::<u32>();
            }
        }
        let mut taken = 0;
        for (word, mask) in words(first, last) {
            let these = (self.words[word] & mask).count_ones();
            self.words[word] &= !mask;
            self.small[word >> (SMALL - 6)] -= these as u16;
            self.large[word >> (LARGE - 6)] -= these;
            taken += these;
        }
        self.taken -= taken;
        let Fingers { positions, earlier } = &mut self.fingers;
        for finger in 0..FINGERS {
            earlier[finger] = earlier[finger].wrapping_sub(if positions[finger] > last { taken } else { 0 });
            positions[finger] = if finger == kind { last } else { positions[finger] };
        }
    }

    /// Whether a position comes soon after another one, and none between them is taken.
    #[inline(always)]
    pub fn follows(&self, position: u32, other: u32) -> bool {
        let between = position.wrapping_sub(other).wrapping_sub(1);
        between == 0 || between < 64 && self.taken_from(other + 1, between) == 0
    }

    /// How many of so many positions from one on are taken, of at most 63.
    #[inline(always)]
    fn taken_from(&self, first: u32, count: u32) -> u32 {
        let (word, bit) = ((first >> 6) as usize, first & 63);
        let Some(&low) = self.words.get(word) else { return 0 };
        let high = self.words.get(word + 1).copied().unwrap_or(0);
        // In two steps, as all bits may go.
        let bits = low >> bit | high << 1 << (63 - bit);
        (bits & ((1 << count) - 1)).count_ones()
    }

    /// Taken positions after one.
    #[inline(always)]
    fn later(&self, position: u32) -> u32 {
        let (word, bit) = ((position >> 6) as usize, position & 63);
        let mut later = (self.words[word] >> bit >> 1).count_ones();
        let block: &[u64; WORDS] = self.words[word / WORDS * WORDS..][..WORDS].try_into().expect("blocks are whole");
        later += block.iter().zip(&AFTER[word % WORDS]).map(|(word, mask)| (word & mask).count_ones()).sum::<u32>();
        later += sum_after(&self.small, (position >> SMALL) as usize);
        later += self.large[(position >> LARGE) as usize + 1..].iter().sum::<u32>();
        later - (self.filled - self.next)
    }

    /// Positions that are taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// For each word, how many positions before it are taken.
    #[must_use]
    pub fn ranks(&self) -> Vec<u32> {
        let mut before = 0;
        let ranks = self.words.iter().map(|word| {
            let rank = before;
            before += word.count_ones();
            rank
        });
        ranks.collect()
    }

    /// How many positions before one are taken.
    #[inline]
    #[must_use]
    pub fn rank(&self, ranks: &[u32], position: u32) -> u32 {
        let word = (position >> 6) as usize;
        ranks[word] + (self.words[word] & ((1 << (position & 63)) - 1)).count_ones()
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.words.len() * 8 + self.small.len() * 2 + self.large.len() * 4;
        bytes as u64
    }

    /// Brings what tells about a position closer.
    #[inline(always)]
    pub fn prefetch(&self, position: u32) {
        if let Some(word) = self.words.get((position >> 6) as usize) {
            crate::engine::hint::prefetch(word);
        }
    }
}

/// The words of positions, each with a mask of these.
#[inline(always)]
fn words(first: u32, last: u32) -> impl Iterator<Item = (usize, u64)> {
    (first >> 6..=last >> 6).map(move |word| {
        let from = if word == first >> 6 { first & 63 } else { 0 };
        let to = if word == last >> 6 { last & 63 } else { 63 };
        (word as usize, u64::MAX << from & u64::MAX >> (63 - to))
    })
}

/// The counts after one of them, within its group.
#[inline(always)]
fn sum_after(counts: &[u16], one: usize) -> u32 {
    let group: &[u16; PER] = counts[one / PER * PER..][..PER].try_into().expect("groups are whole");
    let one = (one % PER) as u16;
    let numbers: [u16; PER] = std::array::from_fn(|number| number as u16);
    // At most `1 << LARGE`, so that 16 bits do.
    let later = group.iter().zip(numbers).map(|(count, number)| if number > one { *count } else { 0 });
    u32::from(later.fold(0u16, u16::wrapping_add))
}
