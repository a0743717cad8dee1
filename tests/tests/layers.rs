//! The inside: files import each other in one direction, and are short enough to be read.
//!
//! Takes the sources of the crates, gives the imports between their files (`use` and paths, but not those within macro
//! calls or code that is only for tests). Refuses a ring of imports between files or between rooms, imports that
//! `docs/architecture.md` does not name, `unsafe` where `CONTRIBUTING.md` does not name it, files longer than
//! [`LONGEST`] lines that are no tables, and subjects of commits longer than [`LONGEST_SUBJECT`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree,
    buffer::Cursor,
    parse::{ParseStream, Parser},
    visit::{self, Visit},
};

/// Folders in which no file may import a file that imports it, directly or through others.
const WITHOUT_CYCLES: [&str; 8] = [
    "abi/src",
    "cli/src",
    "cycles/src",
    "instrument/src",
    "models/src",
    "runtime/emulator",
    "runtime/hooks",
    "runtime/src",
];
/// Crates whose rooms, the files and folders directly below `src`, could each be a crate.
const OF_ROOMS: [&str; 3] = ["cli", "instrument", "runtime"];
/// Crates whose rooms have a row in `docs/architecture.md`, which names the rooms that they know.
const OF_ROWS: [&str; 2] = ["cli", "runtime"];
/// Lines of a file.
const LONGEST: usize = 600;
/// Characters of a commit's subject.
const LONGEST_SUBJECT: usize = 72;
/// Commits from here on have such subjects.
const SUBJECTS_SINCE: &str = "2026-11-29T00:00:00Z";

/// Path of a module in its crate.
type Module = Vec<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository").to_path_buf()
}

/// All files below a folder that end in `.rs`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The module that a file is, by its place below `src`.
fn module_of(file: &Path, src: &Path) -> Module {
    let place = file.strip_prefix(src).expect("the file lies in it").with_extension("");
    let mut module: Module = place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_root = module.len() == 1 && src.file_name().is_some_and(|name| name == module[0].as_str());
    if is_root || module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// Collects the paths that a file names.
struct Names<'a> {
    /// The module that the code at hand is in.
    here: Module,
    modules: &'a BTreeSet<Module>,
    paths: Vec<Module>,
    /// Modules that are only there for tests.
    tests: Vec<Module>,
}

impl Names<'_> {
    /// The absolute path that a path stands for, if it is one of the crate.
    fn resolve(&self, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(self.here.iter().chain(rest).cloned().collect()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let kept = self.here.len().checked_sub(ups)?;
                Some(self.here[..kept].iter().chain(&path[ups..]).cloned().collect())
            }
            child => {
                let child: Module = self.here.iter().cloned().chain([child.to_owned()]).collect();
                self.modules.contains(&child).then(|| child.into_iter().chain(rest.iter().cloned()).collect())
            }
        }
    }

    fn name(&mut self, path: &[String]) {
        self.paths.extend(self.resolve(path));
    }

    fn tree(&mut self, before: &mut Module, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            UseTree::Name(name) => {
                let full: Module = before.iter().cloned().chain([name.ident.to_string()]).collect();
                self.name(&full);
            }
            UseTree::Rename(name) => {
                let full: Module = before.iter().cloned().chain([name.ident.to_string()]).collect();
                self.name(&full);
            }
            UseTree::Glob(_) => self.name(before),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(before, tree)),
        }
    }
}

impl<'a> Visit<'a> for Names<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        } else if let Item::Mod(ItemMod { ident, .. }) = item {
            self.tests.push(self.here.iter().cloned().chain([ident.to_string()]).collect());
        }
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        self.here.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.here.pop();
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.tree(&mut Module::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 {
            self.name(&parts);
        }
        visit::visit_path(self, path);
    }
}

/// Who imports whom, by the folders that have no cycles.
static IMPORTS: LazyLock<BTreeMap<PathBuf, Imports>> = LazyLock::new(|| {
    let folders = WITHOUT_CYCLES.iter().map(|folder| root().join(folder));
    folders.map(|folder| (folder.clone(), imports_in(&folder))).collect()
});

/// Who imports whom, by module.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Who imports whom in a crate; without modules that are only there for tests.
fn imports_in(src: &Path) -> Imports {
    let files = sources(src);
    let modules: BTreeSet<Module> = files.iter().map(|file| module_of(file, src)).collect();
    let (mut found, mut tests) = (BTreeMap::new(), BTreeSet::new());
    for file in &files {
        let text = fs::read_to_string(file).expect("a source is text");
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let here = module_of(file, src);
        let mut names = Names { here: here.clone(), modules: &modules, paths: Vec::new(), tests: Vec::new() };
        names.visit_file(&parsed);
        tests.extend(names.tests);
        let file_of =
            |path: &Module| (0..=path.len()).rev().map(|len| path[..len].to_vec()).find(|m| modules.contains(m));
        let imported: BTreeSet<Module> =
            names.paths.iter().filter_map(file_of).filter(|module| *module != here).collect();
        found.insert(here, imported);
    }
    found.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    found
}

/// Rings of imports, each as the modules that are on it.
fn rings(imports: &Imports) -> Vec<Vec<String>> {
    let number: BTreeMap<&Module, u32> = imports.keys().zip(0..).collect();
    let mut graph = DiGraphMap::<u32, ()>::new();
    for (module, imported) in imports {
        for other in imported.iter().filter_map(|other| number.get(other)) {
            graph.add_edge(number[module], *other, ());
        }
    }
    let name = |at: u32| imports.keys().nth(at as usize).expect("a number of a module").join("::");
    let rings = tarjan_scc(&graph).into_iter().filter(|ring| ring.len() > 1);
    rings.map(|ring| ring.into_iter().map(name).collect()).collect()
}

#[test]
fn files_import_each_other_in_one_direction() {
    let mut found = Vec::new();
    for name in WITHOUT_CYCLES {
        let imports = &IMPORTS[&root().join(name)];
        assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 0, "{name}: no import was found");
        found.extend(rings(imports).into_iter().map(|ring| format!("{name}: {}", ring.join(", "))));
    }
    assert!(found.is_empty(), "files that import each other; move what they share below them:\n{}", found.join("\n"));
}

/// Who imports whom, by room. The root of a crate names all of them and is none.
fn by_room(imports: &Imports) -> Imports {
    let room = |module: &Module| module.first().map(|first| vec![first.clone()]);
    let mut rooms: Imports = BTreeMap::new();
    for (module, imported) in imports {
        let Some(here) = room(module) else { continue };
        let others = imported.iter().filter_map(room).filter(|other| *other != here);
        rooms.entry(here.clone()).or_default().extend(others);
    }
    rooms
}

#[test]
fn rooms_import_each_other_in_one_direction() {
    let mut found = Vec::new();
    for name in OF_ROOMS {
        let rooms = by_room(&IMPORTS[&root().join(name).join("src")]);
        assert!(rooms.values().any(|imported| !imported.is_empty()), "{name}: no import was found");
        found.extend(rings(&rooms).into_iter().map(|ring| format!("{name}: {}", ring.join(", "))));
    }
    assert!(found.is_empty(), "rooms that import each other; move what they share below them:\n{}", found.join("\n"));
}

/// What a table's row says that a room knows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    knows: BTreeSet<String>,
    /// It knows every room, as far as the row tells.
    knows_everything: bool,
    /// Every room knows it.
    is_known_to_all: bool,
}

/// The rows of the table of a crate's rooms. Its first column names rooms, its last one what they know.
fn rows(text: &str, name: &str) -> BTreeMap<String, Row> {
    let head = format!("| folder of `{name}/src/` |");
    let table = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let mut found = BTreeMap::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let columns: Vec<&str> = line.trim_matches('|').split('|').collect();
        let (rooms, knows) = (columns[0], columns[columns.len() - 1]);
        for room in quoted(rooms) {
            let row = Row {
                knows: quoted(knows).map(room_of).collect(),
                knows_everything: knows.contains("everything"),
                is_known_to_all: knows.contains("known to all"),
            };
            assert!(found.insert(room_of(room), row).is_none(), "{name}: two rows of {room}");
        }
    }
    found
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The room that a file or folder is.
fn room_of(place: &str) -> String {
    place.trim_end_matches('/').trim_end_matches(".rs").to_owned()
}

/// Where the rows of a table and the imports between rooms differ.
fn differences(rows: &BTreeMap<String, Row>, rooms: &Imports) -> Vec<String> {
    let mut found = Vec::new();
    for (room, imported) in rooms {
        let room = &room[0];
        let Some(row) = rows.get(room) else {
            found.push(format!("{room} has no row"));
            continue;
        };
        let is_for_all = |other: &str| rows.get(other).is_some_and(|row| row.is_known_to_all);
        let imported: BTreeSet<&str> = imported.iter().map(|other| other[0].as_str()).collect();
        let unnamed = imported.iter().filter(|other| !row.knows.contains(**other) && !is_for_all(other));
        if !row.knows_everything {
            found.extend(unnamed.map(|other| format!("{room} imports {other}, which its row does not name")));
        }
        let unknown = row.knows.iter().filter(|other| !imported.contains(other.as_str()));
        found.extend(unknown.map(|other| format!("{room} does not import {other}, which its row names")));
    }
    let gone = rows.keys().filter(|room| !rooms.contains_key(std::slice::from_ref(*room)));
    found.extend(gone.map(|room| format!("{room} has a row and is not there")));
    found
}

#[test]
fn rooms_import_what_the_architecture_names() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).expect("the page is there");
    let found: Vec<String> = OF_ROWS
        .iter()
        .flat_map(|name| {
            let rooms = by_room(&IMPORTS[&root().join(name).join("src")]);
            differences(&rows(&text, name), &rooms).into_iter().map(move |found| format!("{name}: {found}"))
        })
        .collect();
    assert!(found.is_empty(), "docs/architecture.md and the imports differ:\n{}", found.join("\n"));
}

#[test]
fn a_difference_from_the_rows_is_found() {
    let text = "| folder of `x/src/` | what it does | knows |\n|---|---|---|\n\
                | `a/`, `b.rs` | this | `c` |\n| `c/` | that | nothing; known to all |\n| `d/` | all | everything |\n";
    let rows = rows(text, "x");
    let module = |name: &str| vec![name.to_owned()];
    let of = |all: &[(&str, &[&str])]| {
        all.iter().map(|(room, others)| (module(room), others.iter().map(|name| module(name)).collect())).collect()
    };
    let same = of(&[("a", &["c"]), ("b", &["c"]), ("c", &[]), ("d", &["a", "c"])]);
    assert_eq!(differences(&rows, &same), Vec::<String>::new());
    let other = of(&[("a", &["c", "d"]), ("b", &[]), ("d", &[]), ("e", &[])]);
    let expected = [
        "a imports d, which its row does not name",
        "b does not import c, which its row names",
        "e has no row",
        "c has a row and is not there",
    ];
    assert_eq!(differences(&rows, &other), expected);
}

#[test]
fn a_ring_of_rooms_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("room for a file");
    for room in ["a", "b"] {
        fs::create_dir(folder.path().join(room)).expect("room for a folder");
        write(&format!("{room}/mod.rs"), "pub mod one; pub mod two;");
    }
    write("lib.rs", "mod a; mod b;");
    write("a/one.rs", "use crate::b::one;");
    write("b/one.rs", "");
    write("b/two.rs", "use crate::a::two;");
    write("a/two.rs", "");
    let imports = imports_in(folder.path());
    assert_eq!(rings(&imports), Vec::<Vec<String>>::new());
    let mut ring = rings(&by_room(&imports));
    ring.iter_mut().for_each(|ring| ring.sort());
    assert_eq!(ring, [["a", "b"]]);
}

#[test]
fn a_ring_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("room for a file");
    write("lib.rs", "mod a; mod b; mod c; #[cfg(test)] mod tests;");
    write("a.rs", "use super::b::{self, Thing};");
    write("b.rs", "pub struct Thing; fn f() { crate::c::g() } #[cfg(test)] mod tests { use crate::a; }");
    write("c.rs", "pub fn g() {}");
    write("tests.rs", "use super::a;");
    assert_eq!(rings(&imports_in(folder.path())), Vec::<Vec<String>>::new());
    write("c.rs", "pub fn g() { let _: crate::a::X; }");
    let mut ring = rings(&imports_in(folder.path()));
    ring.iter_mut().for_each(|ring| ring.sort());
    assert_eq!(ring, [["a", "b", "c"]]);
}

#[test]
fn files_are_short_enough_to_be_read() {
    let too_long: Vec<String> = WITHOUT_CYCLES
        .iter()
        .flat_map(|name| sources(&root().join(name)))
        .filter_map(|file| {
            let lines = fs::read_to_string(&file).expect("a source is text").lines().count();
            (lines > LONGEST).then(|| format!("{}: {lines}", file.strip_prefix(root()).expect("below it").display()))
        })
        .collect();
    assert!(too_long.is_empty(), "files of more than {LONGEST} lines:\n{}", too_long.join("\n"));
}

/// Columns of a comment.
const WIDEST: usize = 120;

#[test]
fn comments_fit_the_columns() {
    let is_wide = |line: &str| {
        let words = line.trim_start();
        // Tables and drawings keep their lines.
        let is_prose = words.starts_with("//") && !words.contains(" | ") && !words.contains("//!     ");
        is_prose && line.chars().count() > WIDEST
    };
    let wide: Vec<String> = WITHOUT_CYCLES
        .iter()
        .chain(&["tests/src"])
        .flat_map(|name| sources(&root().join(name)))
        .filter_map(|file| {
            let text = fs::read_to_string(&file).expect("a source is text");
            let line = text.lines().position(is_wide)?;
            Some(format!("{}:{}", file.strip_prefix(root()).expect("below it").display(), line + 1))
        })
        .collect();
    assert!(wide.is_empty(), "comments of more than {WIDEST} columns:\n{}", wide.join("\n"));
}

/// Whether code has the word `unsafe`; comments and strings are none.
fn is_unsafe(code: &str) -> syn::Result<bool> {
    let all = |input: ParseStream| {
        input.step(|cursor| {
            let mut rest = *cursor;
            let found = has_unsafe(&mut rest);
            while let Some((_, next)) = rest.token_tree() {
                rest = next;
            }
            Ok((found, rest))
        })
    };
    all.parse_str(code)
}

/// Whether the word is among these tokens, or in groups of them.
fn has_unsafe(tokens: &mut Cursor) -> bool {
    while let Some((_, next)) = tokens.token_tree() {
        let is_word = tokens.ident().is_some_and(|(word, _)| word == "unsafe");
        let mut inside = tokens.any_group().map(|(inside, ..)| inside);
        if is_word || inside.as_mut().is_some_and(has_unsafe) {
            return true;
        }
        *tokens = next;
    }
    false
}

#[test]
fn unsafe_stays_where_it_is_needed() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the page is there");
    let table = text.lines().skip_while(|line| !line.starts_with("| `unsafe` in |")).skip(2);
    let allowed: BTreeSet<&str> = table
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| quoted(line.trim_matches('|').split('|').next().expect("a column")))
        .collect();
    let (mut unused, mut outside) = (allowed.clone(), Vec::new());
    for file in WITHOUT_CYCLES.iter().chain(&["runtime/markers"]).flat_map(|name| sources(&root().join(name))) {
        let code = fs::read_to_string(&file).expect("a source is text");
        if !is_unsafe(&code).unwrap_or_else(|error| panic!("{}: {error}", file.display())) {
            continue;
        }
        let place = file.strip_prefix(root()).expect("below it");
        let named: Vec<&str> = allowed.iter().copied().filter(|path| place.starts_with(path)).collect();
        if named.is_empty() {
            outside.push(place.display().to_string());
        }
        unused.retain(|path| !named.contains(path));
    }
    assert!(outside.is_empty(), "`unsafe` that CONTRIBUTING.md does not name:\n{}", outside.join("\n"));
    assert!(unused.is_empty(), "CONTRIBUTING.md names places without `unsafe`: {unused:?}");
}

#[test]
fn unsafe_is_found_in_code_alone() {
    let found = |code: &str| is_unsafe(code).expect("tokens");
    assert!(found("fn f() { unsafe { g() } }"));
    assert!(found("macro_rules! m { () => { pub unsafe fn g() {} } }"));
    assert!(found("#[unsafe(no_mangle)] fn f() {}"));
    assert!(!found("//! unsafe\n#![forbid(unsafe_code)]\n/// unsafe\nfn f() { g(\"unsafe\") /* unsafe */ }"));
}

#[test]
fn subjects_of_commits_are_short() {
    if !root().join(".git").exists() {
        println!("no repository is here: there is nothing to check");
        return;
    }
    let mut git = Command::new("git");
    git.current_dir(root()).args(["log", "--no-merges", "--since", SUBJECTS_SINCE, "--format=%h %s"]);
    let output = git.output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let long = long_subjects(&String::from_utf8_lossy(&output.stdout));
    assert!(long.is_empty(), "subjects of more than {LONGEST_SUBJECT} characters:\n{}", long.join("\n"));
}

/// Lines of a log, of commits with a subject each, whose subject is too long.
fn long_subjects(log: &str) -> Vec<String> {
    let is_long =
        |line: &&str| line.split_once(' ').is_some_and(|(_, subject)| subject.chars().count() > LONGEST_SUBJECT);
    log.lines().filter(is_long).map(str::to_owned).collect()
}

#[test]
fn a_long_subject_is_found() {
    let (short, long) = ("é".repeat(LONGEST_SUBJECT), "a".repeat(LONGEST_SUBJECT + 1));
    assert_eq!(long_subjects(&format!("c1 {short}\nc2 {long}\nc3\n")), [format!("c2 {long}")]);
}
