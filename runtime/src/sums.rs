//! Adding up what belongs to the same key, in lists: they are filled and sorted faster than maps, and take less memory.

/// Sums by small numbers, to be added to many times.
#[derive(Debug, Default)]
pub struct Sums {
    by_key: Vec<u64>,
    /// Keys whose sums are not zero.
    keys: Vec<u32>,
}

impl Sums {
    #[inline]
    pub fn add(&mut self, key: u32, n: u64) {
        let at = key as usize;
        if self.by_key.len() <= at {
            self.by_key.resize((at + 1).next_power_of_two(), 0);
        }
        let sum = &mut self.by_key[at];
        if *sum == 0 && n > 0 {
            self.keys.push(key);
        }
        *sum += n;
    }

    /// Keys and sums, in the order in which the keys came.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.keys.iter().map(|&key| (key, self.by_key[key as usize]))
    }

    /// Takes out keys and sums, in the order in which the keys came; the sums begin again.
    pub fn take(&mut self) -> Vec<(u32, u64)> {
        let sums = self.iter().collect();
        self.keys.drain(..).for_each(|key| self.by_key[key as usize] = 0);
        sums
    }
}

/// Sorts a list by key, and puts the sum in the place of entries of the same key.
pub fn sum_up<K: Ord + Copy>(list: &mut Vec<(K, u64)>) {
    list.sort_unstable_by_key(|(key, _)| *key);
    list.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        first.1 += if is_same { next.1 } else { 0 };
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_begin_again() {
        let mut sums = Sums::default();
        [(7, 1), (2, 0), (3, 5), (7, 2)].into_iter().for_each(|(key, n)| sums.add(key, n));
        assert_eq!(sums.take(), [(7, 3), (3, 5)]);
        sums.add(3, 1);
        assert_eq!(sums.iter().collect::<Vec<_>>(), [(3, 1)]);
    }

    #[test]
    fn keys_come_once_with_their_sums() {
        let mut list = vec![(3, 1), (1, 2), (3, 4), (2, 8), (1, 16), (3, 32)];
        sum_up(&mut list);
        assert_eq!(list, [(1, 18), (2, 8), (3, 37)]);
    }
}
