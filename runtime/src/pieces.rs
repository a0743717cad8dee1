//! Ranges of addresses, cut at multiples of a unit or joined: what every map of addresses in pages needs.

/// Pieces of a range between multiples of `unit`: (number of the unit, offset in it, bytes).
pub fn pieces(address: u64, len: u64, unit: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let (mut at, mut left) = (address, len);
    std::iter::from_fn(move || {
        let part = left.min(unit - at % unit);
        let piece = (at / unit, at % unit, part);
        at = at.wrapping_add(part);
        left -= part;
        (part > 0).then_some(piece)
    })
}

/// Ranges, by first bytes and lengths, that have all bytes of others: neighbours in the list are one range if at most
/// `close` bytes lie between them, which are then in it too. Those that are left may overlap.
pub fn together(ranges: impl Iterator<Item = (u64, u64)>, close: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (first, len) in ranges {
        match all.last_mut() {
            Some((start, known)) if first >= *start && first - *start <= known.saturating_add(close) => {
                *known = (*known).max(first - *start + len);
            }
            _ => all.push((first, len)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_if_they_are_close() {
        let ranges = [(100, 10), (110, 5), (112, 1), (120, 4), (90, 10), (u64::MAX - 3, 4)];
        let joined = |close| together(ranges.into_iter(), close);
        assert_eq!(joined(0), [(100, 15), (120, 4), (90, 10), (u64::MAX - 3, 4)]);
        assert_eq!(joined(5), [(100, 24), (90, 10), (u64::MAX - 3, 4)]);
    }
}
