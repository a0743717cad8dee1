//! `--roi`: a glob over demangled function names and over the names of declared regions.

use std::sync::Arc;

use dmdprof_runtime::decode::roi::RegionOfInterest;
use globset::{GlobBuilder, GlobMatcher};

use crate::shared::names::demangle;

/// A compiled `--roi` pattern.
pub struct Roi {
    matcher: GlobMatcher,
}

impl Roi {
    /// Compiles a pattern such as `matmul`, `*::solve` or `parse_*`.
    ///
    /// # Errors
    /// What is wrong with the pattern.
    pub fn new(pattern: &str) -> anyhow::Result<Arc<Self>> {
        // Function names contain brackets and braces that are meant literally; only `*` and `?` are wild.
        let escaped: String = pattern
            .chars()
            .flat_map(|c| if matches!(c, '[' | ']' | '{' | '}' | '\\') { vec!['\\', c] } else { vec![c] })
            .collect();
        let glob = GlobBuilder::new(&escaped).backslash_escape(true).literal_separator(false).build()?;
        Ok(Arc::new(Self { matcher: glob.compile_matcher() }))
    }

    fn matches(&self, name: &str) -> bool {
        let without_parameters = || name.split_once('(').map_or(name, |(base, _)| base);
        self.matcher.is_match(name) || self.matcher.is_match(without_parameters())
    }
}

impl RegionOfInterest for Roi {
    fn matches_symbol(&self, symbol: &str) -> bool {
        self.matches(symbol) || self.matches(&demangle(symbol))
    }

    fn matches_region(&self, name: &str) -> bool {
        self.matches(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_globs_and_parameters() {
        let roi = |p: &str| Roi::new(p).expect("valid pattern");
        assert!(roi("matmul").matches("matmul"));
        assert!(!roi("matmul").matches("matmul_tiled"));
        assert!(roi("matmul*").matches("matmul_tiled"));
        assert!(roi("ns::solve").matches("ns::solve(int, double*)"));
        assert!(roi("*::{closure#0}").matches("main::{closure#0}"));
    }
}
