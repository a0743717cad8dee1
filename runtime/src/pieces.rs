//! Ranges of addresses cut at multiples of a unit: what every map of addresses in pages needs.

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
