//! Adding up what belongs to the same key, in lists: they are filled and sorted faster than maps, and take less memory.

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
    fn keys_come_once_with_their_sums() {
        let mut list = vec![(3, 1), (1, 2), (3, 4), (2, 8), (1, 16), (3, 32)];
        sum_up(&mut list);
        assert_eq!(list, [(1, 18), (2, 8), (3, 37)]);
    }
}
