//! Patterns over functions and files.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use super::key::Key;

/// `*` and `?` are wild, everything else is meant literally. With a `/` it is about files, else about names.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// # Errors
    /// When the pattern is too large to compile.
    pub fn new(text: &str) -> Result<Self, String> {
        let special = |c: char| matches!(c, '[' | ']' | '{' | '}' | '\\');
        let escaped: String = text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect();
        let glob = GlobBuilder::new(&escaped).backslash_escape(true).literal_separator(false).build();
        let matcher = glob.map_err(|e| format!("{text:?} is no pattern: {e}"))?.compile_matcher();
        Ok(Pattern { text: text.into(), matcher })
    }

    #[must_use]
    pub fn matches(&self, key: &Key) -> bool {
        if self.text.contains('/') {
            return self.matcher.is_match(&key.file);
        }
        self.matches_text(&key.name)
    }

    /// Whether a name matches, with or without its parameters.
    #[must_use]
    pub fn matches_text(&self, name: &str) -> bool {
        let without_parameters = name.split_once('(').map_or(name, |(base, _)| base);
        self.matcher.is_match(name) || self.matcher.is_match(without_parameters)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
