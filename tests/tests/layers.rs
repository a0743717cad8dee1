//! The inside: files import each other in one direction, and are short enough to be read.
//!
//! Takes the sources of the crates, gives the imports between their files (`use` and paths, but not those within macro
//! calls or code that is only for tests). Refuses a ring of imports between files or between rooms, and files longer
//! than [`LONGEST`] lines that are no tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree,
    visit::{self, Visit},
};

/// Folders in which no file may import a file that imports it, directly or through others.
const WITHOUT_CYCLES: [&str; 6] =
    ["abi/src", "cli/src", "instrument/src", "models/src", "runtime/src", "runtime/hooks"];
/// Crates whose rooms, the files and folders directly below `src`, could each be a crate.
const OF_ROOMS: [&str; 3] = ["cli", "instrument", "runtime"];
/// Lines of a file.
const LONGEST: usize = 600;

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

/// Who imports whom in a crate, by module; without modules that are only there for tests.
fn imports(src: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
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
fn rings(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
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
        let imports = imports(&root().join(name));
        assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 0, "{name}: no import was found");
        found.extend(rings(&imports).into_iter().map(|ring| format!("{name}: {}", ring.join(", "))));
    }
    assert!(found.is_empty(), "files that import each other; move what they share below them:\n{}", found.join("\n"));
}

/// Who imports whom, by room. The root of a crate names all of them and is none.
fn by_room(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    let room = |module: &Module| module.first().map(|first| vec![first.clone()]);
    let mut rooms: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
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
        let rooms = by_room(&imports(&root().join(name).join("src")));
        assert!(rooms.values().any(|imported| !imported.is_empty()), "{name}: no import was found");
        found.extend(rings(&rooms).into_iter().map(|ring| format!("{name}: {}", ring.join(", "))));
    }
    assert!(found.is_empty(), "rooms that import each other; move what they share below them:\n{}", found.join("\n"));
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
    let imports = imports(folder.path());
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
    assert_eq!(rings(&imports(folder.path())), Vec::<Vec<String>>::new());
    write("c.rs", "pub fn g() { let _: crate::a::X; }");
    let mut ring = rings(&imports(folder.path()));
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
        .chain(&["runtime/emulator", "tests/src"])
        .flat_map(|name| sources(&root().join(name)))
        .filter_map(|file| {
            let text = fs::read_to_string(&file).expect("a source is text");
            let line = text.lines().position(is_wide)?;
            Some(format!("{}:{}", file.strip_prefix(root()).expect("below it").display(), line + 1))
        })
        .collect();
    assert!(wide.is_empty(), "comments of more than {WIDEST} columns:\n{}", wide.join("\n"));
}
