//! Directories of the user.

use std::path::PathBuf;

/// Configuration: `$XDG_CONFIG_HOME`, else `~/.config`; `None` if neither is known.
#[must_use]
pub fn config() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
}
