//! Which function is which, in two builds: names and paths without what changes from checkout to checkout and from
//! compiler to compiler.
//!
//! Takes demangled names and source paths as a profile has them, gives a [`Key`]. Paths become relative to the
//! repository, and those of libraries lose the directory and the version that they were found under. Functions that
//! then have equal keys (the instances of one generic function, the closures of one function) count as one.

use std::path::Path;

use dmdprof_instrument::source_path::folded;

/// A function's identity. Ordered by file, then name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Relative to the repository; empty if not known.
    pub file: String,
    pub name: String,
}

impl Key {
    /// The file's name without directories.
    #[must_use]
    pub fn base_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or("")
    }
}

/// Rewrites the beginnings of source paths.
#[derive(Clone, Debug, Default)]
pub struct PathMap {
    /// The repository, if there is one.
    root: Option<String>,
    /// (old, new) prefixes; the last that matches counts.
    rules: Vec<(String, String)>,
}

impl PathMap {
    #[must_use]
    pub fn new(root: Option<&Path>, rules: &[PrefixRule]) -> Self {
        let root = root.map(|r| normal(&r.to_string_lossy()));
        // A profile has no links in its paths: a rule is about what they lead to, too.
        let spellings = |rule: &PrefixRule| {
            let resolved = Path::new(&rule.from).canonicalize().ok().map(|real| real.to_string_lossy().into_owned());
            let given = normal(&rule.from);
            [resolved.filter(|real| *real != given), Some(given)].into_iter().flatten()
        };
        let rules = rules.iter().flat_map(|rule| spellings(rule).map(|from| (from, rule.to.clone()))).collect();
        PathMap { root: root.filter(|r| r != "/"), rules }
    }

    /// The path as baselines name it.
    #[must_use]
    pub fn apply(&self, path: &str) -> String {
        let path = normal(path);
        let of_user = self.rules.iter().rev().find_map(|(from, to)| Some(join(to, below(&path, from)?)));
        of_user
            .or_else(|| below(&path, self.root.as_ref()?).filter(|rest| !rest.is_empty()).map(str::to_owned))
            .or_else(|| library(&path))
            .unwrap_or(path)
    }
}

/// `OLD=NEW` of `--path-prefix-map`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixRule {
    from: String,
    to: String,
}

impl std::str::FromStr for PrefixRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() => Ok(PrefixRule { from: from.into(), to: to.into() }),
            _ => Err("expected OLD=NEW, as in /home/me/project=.".into()),
        }
    }
}

fn join(prefix: &str, rest: &str) -> String {
    match (prefix, rest) {
        ("" | ".", rest) => rest.into(),
        (prefix, "") => prefix.into(),
        (prefix, rest) => format!("{}/{rest}", prefix.trim_end_matches('/')),
    }
}

/// What follows a directory in a path below it.
fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() || directory.ends_with('/') { Some(rest) } else { rest.strip_prefix('/') }
}

/// Nothing is looked up here: the files may be another machine's.
fn normal(path: &str) -> String {
    folded(path, |_| false)
}

/// Sources of Rust's library and of crates, whose directories name machines and versions.
fn library(path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("/rustc/") {
        return Some(format!("rust/{}", rest.split_once('/')?.1));
    }
    if let Some((_, rest)) = path.split_once("/lib/rustlib/src/rust/") {
        return Some(format!("rust/{rest}"));
    }
    let packages = path.strip_prefix("/rust/deps/");
    let packages = packages.or_else(|| path.split_once("/registry/src/")?.1.split_once('/').map(|(_index, rest)| rest));
    let (package, rest) = packages?.split_once('/')?;
    let is_version = |(_, v): &(&str, &str)| v.starts_with(|c: char| c.is_ascii_digit());
    let name = package.match_indices('-').map(|(at, _)| (&package[..at], &package[at + 1..])).find(is_version);
    Some(format!("package/{}/{rest}", name.map_or(package, |(name, _)| name)))
}

/// A demangled name without numbers that compilers make up. `symbol` is a linkage name of the function.
#[must_use]
pub fn stable_name(name: &str, symbol: &str) -> String {
    let name = name.split(" [clone ").next().unwrap_or(name);
    let name = without_clone_suffix(name);
    if rustc_demangle::try_demangle(symbol).is_ok() { rust_name(name) } else { name.into() }
}

/// `f.cold`, `f.part.1`, `f.specialized.2`, `f.__uniq.123`: pieces and copies of `f`.
fn without_clone_suffix(name: &str) -> &str {
    const MARKS: [&str; 6] = [".cold", ".part.", ".constprop.", ".isra.", ".specialized.", ".__uniq."];
    let end = MARKS.iter().filter_map(|mark| name.find(mark)).filter(|at| *at > 0).min();
    &name[..end.unwrap_or(name.len())]
}

/// The two ways in which rustc mangles agree on this: no type arguments, no numbers of closures.
fn rust_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("::<") {
        let (head, tail) = rest.split_at(at);
        let Some(end) = closing(&tail[2..]).filter(|_| !tail.starts_with("::<impl ")) else {
            out.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
            continue;
        };
        out.push_str(head);
        rest = &tail[2 + end..];
    }
    out.push_str(rest);
    without_closure_numbers(&out)
}

/// Just behind the bracket that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

fn without_closure_numbers(name: &str) -> String {
    const OPEN: &str = "{closure#";
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((head, tail)) = rest.split_once(OPEN) {
        let Some((number, tail)) = tail.split_once('}') else { break };
        if !number.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        out.push_str(head);
        out.push_str("{{closure}}");
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_checkouts_have_the_same_paths() {
        let map = PathMap::new(Some(Path::new("/home/a/project")), &["/build/x=".parse().unwrap()]);
        for (path, mapped) in [
            ("/home/a/project/src/a.c", "src/a.c"),
            ("/home/a/project//src/./a.c", "src/a.c"),
            // `build` may be a link.
            ("/home/a/project/build/../src/./a.c", "build/../src/a.c"),
            ("/home/a/project2/src/a.c", "/home/a/project2/src/a.c"),
            ("/build/x/src/a.c", "src/a.c"),
            ("/rustc/59807616e/library/core/src/slice/mod.rs", "rust/library/core/src/slice/mod.rs"),
            ("/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/a.rs", "rust/library/a.rs"),
            ("/home/me/.cargo/registry/src/index-1949/zlib-rs-0.5.1/src/a.rs", "package/zlib-rs/src/a.rs"),
            ("/rust/deps/hashbrown-0.16.1/src/lib.rs", "package/hashbrown/src/lib.rs"),
            ("src/a.c", "src/a.c"),
            ("/usr/include/stdlib.h", "/usr/include/stdlib.h"),
            ("", ""),
        ] {
            assert_eq!(map.apply(path), mapped);
        }
        assert!("no-sign".parse::<PrefixRule>().unwrap_err().contains("OLD=NEW"));
    }

    #[test]
    fn a_rule_may_name_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("it is there").join("real");
        std::fs::create_dir(&real).expect("a new directory");
        std::os::unix::fs::symlink(&real, folder.path().join("link")).expect("a link");
        let map = PathMap::new(None, &[format!("{}=src", folder.path().join("link").display()).parse().unwrap()]);
        assert_eq!(map.apply(real.join("a.c").to_str().unwrap()), "src/a.c");
        assert_eq!(map.apply(folder.path().join("link/a.c").to_str().unwrap()), "src/a.c");
    }

    #[test]
    fn the_last_rule_wins() {
        let rules = ["/a=one", "/a/b=two"].map(|r| r.parse().unwrap());
        let map = PathMap::new(None, &rules);
        assert_eq!((map.apply("/a/b/c"), map.apply("/a/c")), ("two/c".into(), "one/c".into()));
    }

    #[test]
    fn names_lose_what_compilers_number() {
        for (name, symbol, stable) in [
            ("helper.cold", "helper.cold", "helper"),
            ("ns::f(int) [clone .part.1]", "_ZN2ns1fEi.part.1", "ns::f(int)"),
            ("lib::map::<u32, core::option::Option<u8>>", "_RINvC3lib3mapmE", "lib::map"),
            (
                "mycrate::foo::{closure#3}::{closure#0}",
                "_RNvCs1234_7mycrate3foo",
                "mycrate::foo::{{closure}}::{{closure}}",
            ),
            ("mycrate::foo::<fn() -> u8>::bar", "_RNvCs1234_7mycrate3foo", "mycrate::foo::bar"),
            ("<a::B as c::D<e::F>>::g", "_RNvCs1234_7mycrate3foo", "<a::B as c::D<e::F>>::g"),
            ("std::map<int>::<lambda>", "_Zsomething", "std::map<int>::<lambda>"),
        ] {
            assert_eq!(stable_name(name, symbol), stable);
        }
    }
}
