//! Which files are the user's own.
//!
//! Takes the current directory and directories that the user names, gives whether the text of a file may be shown.
//! Names of files come from debug information, and with that from whoever made the program or the profile: what they
//! name is shown only where the user is at work or has said so. The compilation directory is no such place, as it has
//! the same source. Refuses what a link leads out of these directories.

use std::{
    env,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Makes a directory a project.
pub const CONFIG_FILE: &str = "dmdprof.toml";

/// The nearest directory at or above that holds `dmdprof.toml`, else `.git`.
#[must_use]
pub fn repository(from: &Path) -> Option<PathBuf> {
    marker(from).map(|(directory, _)| directory)
}

/// A repository, and what makes it one.
fn marker(from: &Path) -> Option<(PathBuf, PathBuf)> {
    let holds = |name: &str| {
        let all = from.ancestors().map(|directory| (directory.to_path_buf(), directory.join(name)));
        all.into_iter().find(|(_, marker)| marker.exists())
    };
    holds(CONFIG_FILE).or_else(|| holds(".git"))
}

/// Directories whose files may be shown, without links.
#[derive(Clone, Debug)]
pub struct OwnDirectories(Vec<PathBuf>);

impl OwnDirectories {
    /// The current directory with the repository around it, and `given`.
    #[must_use]
    pub fn new(given: &[PathBuf]) -> Self {
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let here = env::current_dir().ok().map(|here| around(&here, home.as_deref()));
        Self(given.iter().cloned().chain(here).filter_map(|directory| directory.canonicalize().ok()).collect())
    }

    /// Whether a file without links in its path is below one of them.
    #[must_use]
    pub fn has(&self, real: &Path) -> bool {
        self.0.iter().any(|directory| real.starts_with(directory))
    }
}

/// The repository around a directory, or the directory: where the repository is another user's, who can have put it
/// above ours, and where it has the user's home in it, so that everything would be a source.
fn around(here: &Path, home: Option<&Path>) -> PathBuf {
    let is_ours = |(directory, marker): &(PathBuf, PathBuf)| {
        let owner = marker.metadata().map(|metadata| metadata.uid());
        let is_all = directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory));
        owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw()) && !is_all
    };
    marker(here).filter(is_ours).map_or_else(|| here.to_path_buf(), |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_repository_around_a_directory_is_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("build/deep")).expect("new directories");
        assert_eq!(around(&root.join("build"), None), root.join("build"), "there is no repository");
        fs::create_dir(root.join(".git")).expect("a new directory");
        assert_eq!(around(&root.join("build/deep"), None), root);
        for home in [&root, &root.join("home/me")] {
            assert_eq!(around(&root.join("build"), Some(home)), root.join("build"), "all of the home is no source");
        }
        assert_eq!(repository(&root.join("build")), Some(root.clone()));
        fs::write(root.join("build").join(CONFIG_FILE), "").expect("written");
        assert_eq!(around(&root.join("build/deep"), None), root.join("build"));
    }

    #[test]
    fn links_lead_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        fs::create_dir_all(root.join("own")).expect("new directories");
        let own = OwnDirectories::new(&[root.join("own")]);
        assert!(own.has(&root.join("own/a.c")) && !own.has(&root.join("a.c")) && !own.has(&root.join("own2/a.c")));
    }
}
