//! A Fenwick tree over times of last use (Bennett and Kruskal's method), renumbered when it is full.

use super::{Checksum, Map, Words};

pub struct Fenwick<M> {
    /// `sums[i]`: live words in the `i & -i` times up to `i`, counted from 1.
    sums: Vec<u32>,
    next: usize,
    live: u32,
    place: M,
}

impl<M: Map> Default for Fenwick<M> {
    fn default() -> Self {
        Fenwick { sums: vec![0; 1 << 13], next: 1, live: 0, place: M::default() }
    }
}

impl<M: Map> Fenwick<M> {
    #[inline(always)]
    fn add(&mut self, mut at: usize, by: u32) {
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    #[inline(always)]
    fn up_to(&self, mut at: usize) -> u32 {
        let mut sum = 0u32;
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    /// Packs the live times together, in room for four times as many.
    #[cold]
    fn renumber(&mut self) {
        let (sums, live) = (&self.sums, self.live as usize);
        let up_to = |mut at: usize| {
            let mut sum = 0u32;
            while at > 0 {
                sum = sum.wrapping_add(sums[at]);
                at &= at - 1;
            }
            sum
        };
        self.place.update(|at| up_to(at as usize));
        let size = (4 * live + 1).max(1 << 13);
        self.sums.clear();
        self.sums.resize(size, 0);
        for at in 1..size {
            self.sums[at] += u32::from(at <= live);
            let up = at + (at & at.wrapping_neg());
            if up < size {
                self.sums[up] += self.sums[at];
            }
        }
        self.next = live + 1;
    }

    #[inline(always)]
    fn push(&mut self, word: u64) {
        self.add(self.next, 1);
        self.place.set(word, self.next as u32);
        self.next += 1;
    }
}

impl<M: Map> Words for Fenwick<M> {
    #[inline(always)]
    fn load(&mut self, word: u64, sum: &mut Checksum) {
        if self.next == self.sums.len() {
            self.renumber();
        }
        match self.place.get(word) {
            Some(at) => {
                sum.warm(8 * u64::from(self.live - self.up_to(at as usize)), 8);
                self.add(at as usize, 1u32.wrapping_neg());
            }
            None => {
                sum.cold(8 * u64::from(self.live), 8);
                self.live += 1;
            }
        }
        self.push(word);
    }
    #[inline(always)]
    fn store(&mut self, word: u64) {
        if self.next == self.sums.len() {
            self.renumber();
        }
        match self.place.get(word) {
            Some(at) => self.add(at as usize, 1u32.wrapping_neg()),
            None => self.live += 1,
        }
        self.push(word);
    }
}
