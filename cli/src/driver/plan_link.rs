//! Decides what clang gets for a link.
//!
//! Takes the arguments, gives a [`Link`]; touches no file and starts nothing. The user's words stay in their order,
//! which decides what a symbol binds to.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use super::arguments::Argument;

/// A call of the linker through clang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// In the order of the command line, which decides what a symbol binds to.
    pub words: Vec<LinkWord>,
    /// What comes of it.
    pub kind: LinkKind,
    /// `-Bsymbolic`: a library whose references bind to its own definitions. Not among the words: it also sets a flag
    /// that makes the dynamic loader look into the library first. A `--dynamic-list` of the hooks says the same of all
    /// others.
    pub symbolic: bool,
    /// The user's, or `a.out`.
    pub output: OsString,
    /// Where libraries are looked for first (`-L`).
    pub directories: Vec<OsString>,
    /// Of inputs that are bitcode.
    pub opt_level: u8,
}

/// A word of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkWord {
    /// The user's own.
    Word(OsString),
    /// An object or archive, or words for the linker, among which there may be some.
    Input(OsString),
    /// A library by its name.
    Library {
        /// `-lNAME`, or `-l` and `NAME`.
        words: Vec<OsString>,
        /// Only an archive will do.
        archive: bool,
    },
    /// The object of the unit with this index.
    Unit(usize),
    /// The linker's `--version-script`, which must not hide the hooks (a word for `-Xlinker`).
    VersionScript(OsString),
}

/// What a link makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A program that finds its libraries when it starts.
    Program,
    /// `-static`: nothing outside the program refers to its hooks.
    StaticProgram,
    /// `-shared`: the hooks are those of the program that loads it.
    SharedLibrary,
    /// `-r`: an object again, which gets its hooks when it is linked.
    Relocatable,
}

impl LinkKind {
    /// Whether the object with the hooks is linked in.
    #[must_use]
    pub fn needs_hooks(self) -> bool {
        self != Self::Relocatable
    }

    /// Options that the linker needs so that all modules of a process share one copy of the hooks.
    #[must_use]
    pub fn options(self) -> Vec<OsString> {
        let exported = || super::hook_symbols().map(|symbol| format!("-Wl,--export-dynamic-symbol={symbol}").into());
        match self {
            // In a library the option keeps `-Bsymbolic-functions` from binding it to its own copy.
            Self::Program | Self::SharedLibrary => exported().to_vec(),
            Self::StaticProgram | Self::Relocatable => Vec::new(),
        }
    }
}

/// Decides what a link gets, of whose words some may have been compiled.
#[must_use]
pub fn link(arguments: &[Argument], nothing_compiled: bool, output: Option<&OsStr>, opt_level: u8) -> Link {
    let mut words = Vec::new();
    let mut unit = 0;
    let kind = link_kind(arguments);
    let mut archives = Archives { only: kind == LinkKind::StaticProgram, ..Archives::default() };
    let mut binding = Binding { library: kind == LinkKind::SharedLibrary, ..Binding::default() };
    for argument in arguments {
        if let Argument::Linker(given) = argument
            && !argument.is_library()
        {
            archives.see(given);
        }
        match argument {
            Argument::Linker(given) if binding.concerns(given) => words.extend(binding.rewrite(given)),
            Argument::Input { kind, .. } if kind.is_compiled() => {
                words.push(LinkWord::Unit(unit));
                unit += 1;
            }
            Argument::Language(_) if !nothing_compiled => {}
            // Written once already, when the sources were compiled.
            Argument::Option(_) if argument.is_lto() || argument.is_dependency_option() => {}
            Argument::Option(_) if argument.is_save_temps() => {}
            Argument::Linker(given) if argument.is_library() => {
                words.push(LinkWord::Library { words: given.clone(), archive: archives.only });
            }
            Argument::Linker(_) | Argument::Input { .. } => {
                words.extend(argument.words().into_iter().map(LinkWord::Input))
            }
            _ => words.extend(argument.words().into_iter().map(LinkWord::Word)),
        }
    }
    if !nothing_compiled {
        words.push(LinkWord::Word("-Qunused-arguments".into()));
    }
    Link {
        words,
        kind,
        symbolic: binding.symbolic,
        output: output.unwrap_or(OsStr::new("a.out")).to_os_string(),
        directories: directories(arguments),
        opt_level,
    }
}

/// `-L DIR`, `-LDIR`, `-Wl,-LDIR`; their place among the libraries does not matter.
pub(super) fn directories(arguments: &[Argument]) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Option(words) if argument.name().starts_with("-L") => {
                let joined = OsStr::from_bytes(&words[0].as_bytes()[2..]);
                all.push(words.get(1).map_or(joined, OsString::as_os_str).to_os_string());
            }
            Argument::Linker(words) if !argument.is_library() => {
                all.extend(linker_words(words).iter().filter_map(|word| word.strip_prefix("-L")).map(OsString::from));
            }
            _ => {}
        }
    }
    all
}

/// Whether `-l` means archives only, as `-Bstatic` says of what comes after it.
#[derive(Default)]
pub(super) struct Archives {
    pub(super) only: bool,
    saved: Vec<bool>,
}

impl Archives {
    pub(super) fn see(&mut self, given: &[OsString]) {
        for word in linker_words(given) {
            match word.trim_start_matches('-') {
                "Bstatic" | "dn" | "non_shared" | "static" => self.only = true,
                "Bdynamic" | "dy" | "call_shared" => self.only = false,
                "push-state" => self.saved.push(self.only),
                "pop-state" => self.only = self.saved.pop().unwrap_or(self.only),
                _ => {}
            }
        }
    }
}

fn link_kind(arguments: &[Argument]) -> LinkKind {
    let mut shared = false;
    let mut relocatable = false;
    let mut fixed = false;
    for argument in arguments {
        match argument {
            Argument::Option(_) => match argument.name() {
                "-shared" | "--shared" => shared = true,
                "-r" | "--relocatable" => relocatable = true,
                "-static" | "--static" | "-static-pie" => fixed = true,
                _ => {}
            },
            Argument::Linker(words) => {
                for word in linker_words(words) {
                    match word.as_str() {
                        "-shared" | "--shared" | "-Bshareable" => shared = true,
                        "-r" | "-i" | "--relocatable" | "-Ur" => relocatable = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    match (relocatable, shared, fixed) {
        (true, _, _) => LinkKind::Relocatable,
        (_, true, _) => LinkKind::SharedLibrary,
        (_, _, true) => LinkKind::StaticProgram,
        _ => LinkKind::Program,
    }
}

/// `--version-script=FILE`: the file; `--version-script FILE`: an empty name.
fn version_script(word: &str) -> Option<&str> {
    let rest = word.strip_prefix("--version-script").or_else(|| word.strip_prefix("-version-script"))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('=') }
}

/// The linker's words that decide whether a library's references to the hooks leave the library.
#[derive(Default)]
struct Binding {
    library: bool,
    symbolic: bool,
    /// The script's name is in the next argument (libtool does that).
    script_follows: bool,
}

impl Binding {
    fn concerns(&self, given: &[OsString]) -> bool {
        let is_library = given[0].as_bytes().starts_with(b"-l");
        !is_library
            && (self.script_follows
                || linker_words(given)
                    .iter()
                    .any(|word| version_script(word).is_some() || self.symbolic(word).is_some()))
    }

    fn symbolic(&self, word: &str) -> Option<bool> {
        match word {
            "-Bsymbolic" | "--Bsymbolic" if self.library => Some(true),
            "-Bno-symbolic" | "--Bno-symbolic" if self.library => Some(false),
            _ => None,
        }
    }

    /// A linker's words, one by one, with the script set apart and `-Bsymbolic` only remembered.
    fn rewrite(&mut self, given: &[OsString]) -> Vec<LinkWord> {
        let mut words = Vec::new();
        for word in linker_words(given) {
            let script = if self.script_follows { Some(word.as_str()) } else { version_script(&word) };
            self.script_follows = script == Some("");
            match (script, self.symbolic(&word)) {
                (Some(""), _) => {}
                (Some(path), _) => {
                    words.extend([LinkWord::Word("-Xlinker".into()), LinkWord::VersionScript(path.into())])
                }
                (None, Some(symbolic)) => self.symbolic = symbolic,
                (None, None) => words.extend(["-Xlinker".into(), word.into()].map(LinkWord::Word)),
            }
        }
        words
    }
}

/// The linker's own words in `-Wl,a,b` or `-Xlinker a`.
fn linker_words(words: &[OsString]) -> Vec<String> {
    let first = words[0].to_string_lossy();
    match first.strip_prefix("-Wl,").or(first.strip_prefix("--for-linker=")) {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => words[1..].iter().map(|w| w.to_string_lossy().into_owned()).collect(),
    }
}
