//! Which functions and declared regions are of interest: decided by the caller, by their names.

/// Decides which functions and declared regions are of interest.
pub trait RegionOfInterest: Send + Sync {
    /// Whether a linked symbol (mangled) matches.
    fn matches_symbol(&self, symbol: &str) -> bool;
    /// Whether the name of a declared region matches.
    fn matches_region(&self, name: &str) -> bool;
}
