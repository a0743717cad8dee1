//! Names of machines: which there may be, and which one was most likely meant.

/// What a machine may be called.
pub const NAME_RULE: &str = "letters, digits, - _ . + only, not ending in .toml, as in \"h100-sxm\"";

/// Whether a machine may be called this, see [`NAME_RULE`].
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !name.is_empty() && name.chars().all(is_good) && !name.ends_with(".toml")
}

/// The word that was probably meant.
#[must_use]
pub fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let scored = known.map(|k| (strsim::normalized_damerau_levenshtein(word, k), k));
    let best = scored.filter(|(score, _)| *score >= 0.6).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, k)| k)
}
