//! One spelling for each source file.
//!
//! Takes the compilation directory and the name that debug information has, gives the path that descriptors, and with
//! them profiles and all that is made of these, have. The compiler has just read the files and its working directory is
//! ours, so links are followed here and nowhere else: a profile may be read where there are other files. What is not
//! there (another machine compiled it, `-ffile-prefix-map` or `#line` named it) is folded as far as that cannot lead to
//! another file. Refuses nothing.

use std::{collections::HashMap, fs, path::Path};

/// Paths by compilation directory and name, each looked up once.
#[derive(Default)]
pub struct SourcePaths(HashMap<(String, String), String>);

impl SourcePaths {
    /// Of a directory and a name in it.
    pub fn path_of(&mut self, name: (String, String)) -> String {
        self.0.entry(name).or_insert_with_key(|(directory, file)| source_path(directory, file)).clone()
    }
}

fn source_path(directory: &str, file: &str) -> String {
    let path =
        if file.starts_with('/') || directory.is_empty() { file.to_owned() } else { format!("{directory}/{file}") };
    resolved(&path).unwrap_or_else(|| folded(&path, is_real_directory))
}

/// Without links, `.` and `..`. Relative names stay what they are: that the directory is not in them may be on purpose.
fn resolved(path: &str) -> Option<String> {
    // Ours there are not the compiler's.
    let is_of_process = path.starts_with("/dev/") || path.starts_with("/proc/");
    if !path.starts_with('/') || is_of_process || !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    fs::canonicalize(path).ok()?.into_os_string().into_string().ok()
}

/// What `..` leads back from. A link is none: its `..` is somewhere else.
fn is_real_directory(path: &str) -> bool {
    fs::symlink_metadata(Path::new(path)).is_ok_and(|metadata| metadata.is_dir())
}

/// A path without `.` and doubled slashes, and without `..` where that is known not to cross a link: behind what
/// `is_real_directory`, and in the tree that rustc names its library by, which is nowhere.
#[must_use]
pub fn folded(path: &str, is_real_directory: impl Fn(&str) -> bool) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            parts.push(part);
            continue;
        }
        let so_far = format!("{root}{}", parts.join("/"));
        match parts.last() {
            None if root == "/" => {}
            Some(&last) if last != ".." && (so_far.starts_with("/rustc/") || is_real_directory(&so_far)) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_there_has_one_spelling_across_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        for directory in ["src", "other/deep", "inc"] {
            fs::create_dir_all(root.join(directory)).expect("a new directory");
        }
        for file in ["inc/k.h", "other/inc.h", "src/a.c"] {
            fs::write(root.join(file), "").expect("written");
        }
        symlink("other/deep", root.join("link")).expect("a link");
        symlink("inc/k.h", root.join("k.h")).expect("a link");
        let root = root.to_str().expect("a plain path");
        let of = |directory: &str, file: &str| source_path(&format!("{root}/{directory}"), file);
        for (directory, file, there) in [
            ("src", "a.c", "src/a.c"),
            ("src", "../src/../inc/k.h", "inc/k.h"),
            ("inc", "./k.h", "inc/k.h"),
            (".", "k.h", "inc/k.h"),
            // By text this were `inc.h` beside `link`, and there is none.
            ("link", "../inc.h", "other/inc.h"),
            // Not there: `..` behind a directory folds, behind a link and behind nothing it stays.
            ("src", ".././gone.c", "gone.c"),
            ("link", "../gone.c", "link/../gone.c"),
            ("gone", "../a.c", "gone/../a.c"),
            ("src", "<stdin>", "src/<stdin>"),
        ] {
            assert_eq!(of(directory, file), format!("{root}/{there}"), "{directory} and {file}");
        }
    }

    #[test]
    fn what_is_nowhere_keeps_what_may_be_a_link() {
        for (directory, file, path) in [
            ("", "a.c", "a.c"),
            (".", "./a.c", "a.c"),
            ("../up", "../a.c", "../up/../a.c"),
            ("/nowhere", "a/./b//../c.c", "/nowhere/a/b/../c.c"),
            ("/nowhere", "/../c.c", "/c.c"),
            ("/w", "/dev/stdin", "/dev/stdin"),
            ("/rustc/0a1b/library/core", "src/../../stdarch/x.rs", "/rustc/0a1b/library/stdarch/x.rs"),
        ] {
            assert_eq!(source_path(directory, file), path);
        }
    }
}
