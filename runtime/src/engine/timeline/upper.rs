//! How many bits are set before each level-2 node: three levels of nodes of 32, and one number per 2^31 positions.
//!
//! Takes positions, and by how much the bits of their level-2 node change; gives counts. Refuses nothing, but expects
//! positions below the limit.

use super::node::Node;

#[derive(Default)]
pub struct Upper {
    /// Nodes of 2^21, 2^26 and 2^31 positions.
    levels: [Vec<Node<u32>>; 3],
    /// Bits before each 2^31 positions.
    top: Vec<u64>,
    /// Levels that can hold anything but zero, with the two below: 2 to 6.
    height: usize,
}

impl Upper {
    pub fn heap_bytes(&self) -> u64 {
        let nodes: usize = self.levels.iter().map(Vec::capacity).sum();
        (nodes * size_of::<Node<u32>>() + self.top.capacity() * size_of::<u64>()) as u64
    }

    /// Nothing is set, and there is room up to `limit`.
    pub fn reset(&mut self, limit: usize) {
        self.height = 2 + [16, 21, 26, 31].into_iter().filter(|bits| limit > 1 << bits).count();
        for (level, bits) in self.levels.iter_mut().zip([21, 26, 31]) {
            level.resize(level.len().max((limit >> bits) + 1), Node([0; 32]));
            level[0] = Node([0; 32]);
        }
        self.top.resize(self.top.len().max((limit >> 31) + 1), 0);
        self.top[0] = 0;
    }

    /// Bits before the level-2 node of a position.
    #[inline(always)]
    pub fn before(&self, p: usize) -> u64 {
        if self.height <= 2 {
            return 0;
        }
        let [n3, n4, n5] = &self.levels;
        let mut before = n3[p >> 21].lane((p >> 16) % 32);
        if self.height > 3 {
            before += n4[p >> 26].lane((p >> 21) % 32);
            if self.height > 4 {
                return u64::from(before) + u64::from(n5[p >> 31].lane((p >> 26) % 32)) + self.top[p >> 31];
            }
        }
        u64::from(before)
    }

    /// `n` (possibly negative) fewer bits in the level-2 node of a position: corrects the lanes behind it.
    #[inline(always)]
    pub fn take(&mut self, p: usize, n: u32) {
        let [n3, n4, n5] = &mut self.levels;
        n3[p >> 21].take((p >> 16) % 32, n);
        if self.height > 3 {
            n4[p >> 26].take((p >> 21) % 32, n);
            if self.height > 4 {
                n5[p >> 31].take((p >> 26) % 32, n);
                for before in &mut self.top[(p >> 31) + 1..] {
                    *before = before.wrapping_sub(n as i32 as u64);
                }
            }
        }
    }

    /// Opens a level-2 node by its number; the one before it has `count` bits.
    pub fn open(&mut self, mut number: usize, mut count: u32) {
        for level in &mut self.levels {
            count += level[(number - 1) >> 5].lane((number - 1) % 32);
            if !number.is_multiple_of(32) {
                return level[number >> 5].open(number % 32, count);
            }
            level[number >> 5] = Node([0; 32]);
            number >>= 5;
        }
        self.top[number] = self.top[number - 1] + u64::from(count);
    }

    /// The level-2 node with bit number `count`, which the levels know.
    pub fn node_with(&self, count: u64) -> usize {
        let mut node = self.top.iter().rposition(|&before| before < count).unwrap_or(0);
        // What is left fits: there are at most 2^31 in a node.
        let mut left = (count - self.top[node]) as u32;
        for (level, nodes) in self.levels.iter().enumerate().rev() {
            if level + 2 < self.height {
                let (child, before) = nodes[node].last_below(left);
                (node, left) = (node * 32 + child, left - before);
            } else {
                node *= 32;
            }
        }
        node
    }
}
