//! Stands between Cargo and rustc (`build.rustc-wrapper`).
//!
//! Takes rustc's command line, gives rustc's exit code: crates for the target leave their bitcode and line numbers, and
//! call dmdprof as their linker; everything else (build scripts, procedural macros, checks, questions) is rustc's alone
//! and is untouched. Cargo calls it under the name [`NAME`], a link to dmdprof in its own target directory. Cargo tells
//! build scripts of its wrapper, so that a Cargo which these start calls it too: what is made elsewhere than where our
//! Cargo would put it is a helper of the build, and rustc's alone as well.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, anyhow, bail};

use super::wrap_environment::{
    self, BITCODE_ONLY_ENVIRONMENT, DIRECTORY_ENVIRONMENT, MODEL_ENVIRONMENT, NO_STD_ENVIRONMENT, STAMP_ENVIRONMENT,
    TARGET_ENVIRONMENT, TOOL_ENVIRONMENT, WRAPPER_ENVIRONMENT,
};
use super::{Model, Toolbox, execute, own_generics, plan, rust_link, static_library};

/// The name under which dmdprof is this wrapper.
pub const NAME: &str = "dmdprof-rustc";

/// rustc has no option to leave out machine code and yet link. This one ends LLVM's code generator before its first
/// pass, so that a program's objects are text of no use; their bitcode, from before the code generator, stays as it is.
const NO_MACHINE_CODE: &str = "-Cllvm-args=-stop-before=pre-isel-intrinsic-lowering";

/// Whether leaving out machine code was tried with a rustc's LLVM; names of passes are no interface. Without it
/// everything works the same, and longer.
#[must_use]
pub fn leaves_out_machine_code(llvm_major: u32) -> bool {
    (20..=22).contains(&llvm_major)
}

/// As many as rustc makes by default. To be said because `--emit=llvm-bc` makes the default one.
const CODEGEN_UNITS: &str = "-Ccodegen-units=16";

/// The wrapper's whole life: `args` are the path of rustc and its words.
#[must_use]
pub fn main(args: &[OsString], tools: &Toolbox) -> i32 {
    match run(args, tools) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dmdprof: {error:#}");
            1
        }
    }
}

fn run(args: &[OsString], tools: &Toolbox) -> anyhow::Result<i32> {
    let Some((rustc, words)) = args.split_first() else { bail!("{NAME} is for Cargo, as build.rustc-wrapper") };
    let words = expand(words);
    let settings = Settings::from_environment();
    let Some(crate_) = Crate::parse(&words, &settings) else {
        return Err(untouched(rustc, &words, &settings));
    };
    for note in &crate_.notes {
        eprintln!("dmdprof: note: {note}");
    }
    let mut command = Command::new(rustc);
    command.args(&crate_.words);
    if settings.model == Model::Values {
        own_generics::demand(&mut command, || Command::new(rustc));
    }
    let link = rust_link::Settings {
        opt_level: crate_.opt_level,
        model: settings.model,
        no_std: settings.no_std,
        linker: crate_.linker.clone(),
        tool: env::var(TOOL_ENVIRONMENT).ok(),
        keep_bitcode: crate_.archive.is_some(),
        has_twin: wrap_environment::makes_twins(),
        ..rust_link::Settings::default()
    };
    if crate_.is_linked {
        command.arg(execute::joined("-Clinker=", env::current_exe()?.as_os_str()));
        link.give(&mut command);
    }
    let code = execute::run(&mut command)?;
    if code != 0 {
        return Ok(code);
    }
    if let Some(archive) = &crate_.archive {
        let tools = &Toolbox { model: link.model, ..*tools };
        let without = static_library::put_hooks(archive, link, tools)?;
        if !without.is_empty() {
            eprintln!("dmdprof: note: {}: linked without hooks: {}", archive.display(), without.join(", "));
        }
    }
    if crate_.is_linked || crate_.archive.is_some() {
        depend_on_stamp(crate_.dependencies.as_deref())?;
    }
    Ok(code)
}

/// Becomes rustc, with the wrapper of the person before it if another Cargo calls, which would have found that one.
fn untouched(rustc: &OsStr, words: &[OsString], settings: &Settings) -> anyhow::Error {
    let out = Options::cut(words).value("--out-dir").map(PathBuf::from);
    let of_another = out.is_some_and(|out| !wrap_environment::is_ours(&out, &settings.directory));
    let wrapper = env::var_os(WRAPPER_ENVIRONMENT).filter(|wrapper| of_another && !wrapper.is_empty());
    let error = match &wrapper {
        Some(wrapper) => Command::new(wrapper).arg(rustc).args(words).exec(),
        None => Command::new(rustc).args(words).exec(),
    };
    anyhow!("cannot run {}: {error}", wrapper.as_deref().unwrap_or(rustc).display())
}

/// What the wrapper is told by `dmdprof cargo`.
#[derive(Clone, Debug, Default)]
struct Settings {
    target: OsString,
    /// The target directory of our Cargo.
    directory: PathBuf,
    no_std: bool,
    /// [`leaves_out_machine_code`].
    bitcode_only: bool,
    model: Model,
}

impl Settings {
    fn from_environment() -> Self {
        Self {
            target: env::var_os(TARGET_ENVIRONMENT).unwrap_or_default(),
            directory: env::var_os(DIRECTORY_ENVIRONMENT).map(PathBuf::from).unwrap_or_default(),
            no_std: env::var_os(NO_STD_ENVIRONMENT).is_some(),
            bitcode_only: env::var_os(BITCODE_ONLY_ENVIRONMENT).is_some(),
            model: rust_link::model_named(env::var(MODEL_ENVIRONMENT).as_deref()),
        }
    }
}

/// `@file` with a word per line, which Cargo writes when a command line is too long.
fn expand(words: &[OsString]) -> Vec<OsString> {
    let read = |word: &OsString| -> Option<Vec<OsString>> {
        let content = fs::read_to_string(word.to_str()?.strip_prefix('@')?).ok()?;
        Some(content.lines().map(OsString::from).collect())
    };
    words.iter().flat_map(|word| read(word).unwrap_or_else(|| vec![word.clone()])).collect()
}

/// A crate for the target, as it is to be compiled.
#[derive(Debug, Default)]
struct Crate {
    words: Vec<OsString>,
    /// A program, test or shared library, which has a link.
    is_linked: bool,
    /// A static library, which has no link.
    archive: Option<PathBuf>,
    /// The link, where objects are replaced, is all that becomes of its objects.
    is_only_linked: bool,
    opt_level: u8,
    /// The linker that the user chose.
    linker: Option<OsString>,
    /// The file of dependencies that rustc writes for Cargo.
    dependencies: Option<PathBuf>,
    notes: Vec<&'static str>,
}

/// For the values model no optimiser merges, moves or drops an instruction, and checks are not part of what is
/// measured.
const AS_WRITTEN: [(&str, &str); 5] = [
    ("opt-level", "0"),
    ("overflow-checks", "off"),
    ("debug-assertions", "off"),
    ("lto", "off"),
    ("linker-plugin-lto", "off"),
];

const THIN_BECOMES_FAT: &str = "lto = \"thin\" leaves no bitcode of the optimised code; \"fat\" takes its place";
const NO_LTO_WITHOUT_STD: &str = "lto would merge the standard library into the program; --no-std switches it off";

impl Crate {
    /// `None` for what is not to be touched.
    fn parse(words: &[OsString], settings: &Settings) -> Option<Self> {
        let options = Options::cut(words);
        let of_target = options.value("--target").is_some_and(|target| target == settings.target)
            && options
                .value("--out-dir")
                .is_some_and(|out| wrap_environment::is_hooked(Path::new(out), &settings.directory, &settings.target));
        let name = options.value("--crate-name").filter(|name| *name != "___")?;
        let emit = options.value("--emit").and_then(|emit| emit.to_str()).unwrap_or("link");
        let makes_objects = emit.split(',').any(|kind| kind == "link" || kind.starts_with("link="));
        if !of_target || !makes_objects {
            return None;
        }
        let types = options.all("--crate-type");
        let types: Vec<String> = types
            .iter()
            .flat_map(|types| types.to_string_lossy().split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let is = |kinds: &[&str], kind: &String| kinds.contains(&kind.as_str());
        // A program is the default, as of benches with a harness of their own.
        let is_program = options.has("--test") || types.is_empty();
        let is_linked = is_program || types.iter().any(|kind| is(&["bin", "cdylib", "dylib", "sdylib"], kind));
        let is_only_linked = is_program || types.iter().all(|kind| is(&["bin", "cdylib"], kind));
        let of_objects = ["obj", "asm"].iter().any(|kind| emit.contains(kind));
        let mut extra = OsString::new();
        if let Some(suffix) = options.codegen("extra-filename") {
            extra.push(suffix);
        }
        let mut file = name.to_os_string();
        file.push(extra);
        let in_out_dir = |before: &str, after: &str| {
            let name = [OsStr::new(before), &file, OsStr::new(after)].into_iter().collect::<OsString>();
            options.value("--out-dir").map(|directory| Path::new(directory).join(name))
        };
        let mut crate_ = Self {
            is_linked,
            is_only_linked: is_only_linked && !of_objects,
            opt_level: options.codegen("opt-level").map_or(0, |level| plan::opt_level(&level)),
            linker: options.codegen("linker").map(OsString::from),
            archive: in_out_dir("lib", ".a").filter(|_| !is_program && types.iter().any(|kind| kind == "staticlib")),
            dependencies: in_out_dir("", ".d"),
            ..Self::default()
        };
        crate_.rewrite(&options, settings);
        Some(crate_)
    }

    fn rewrite(&mut self, options: &Options, settings: &Settings) {
        let plugin_lto = options.codegen("linker-plugin-lto").is_some();
        let mut debug_info = false;
        let mut mangling = false;
        let mut codegen_units = false;
        for option in &options.0 {
            let (name, value) = option.codegen();
            if settings.model == Model::Values
                && (AS_WRITTEN.iter().any(|(fixed, _)| *fixed == name) || option.words[0] == "-O")
            {
                continue;
            }
            match (name, value) {
                ("embed-bitcode" | "incremental" | "linker" | "split-debuginfo", _) => continue,
                ("debuginfo", "0" | "none" | "false") => continue,
                ("debuginfo", _) => debug_info = true,
                ("symbol-mangling-version", _) => mangling = true,
                ("codegen-units", _) => codegen_units = true,
                ("lto", "off" | "no" | "n" | "false") => {}
                ("lto", _) if settings.no_std => {
                    self.notes.push(NO_LTO_WITHOUT_STD);
                    self.words.push("-Clto=off".into());
                    continue;
                }
                // Ready-made bitcode alone is for a link-time optimisation that does not take place.
                ("linker-plugin-lto", _) if settings.no_std => continue,
                ("lto", "thin") => {
                    self.notes.push(THIN_BECOMES_FAT);
                    self.words.push("-Clto=fat".into());
                    continue;
                }
                _ => {}
            }
            if option.words[0] == "-g" {
                debug_info = true;
            }
            match option.value_of("--emit") {
                Some(kinds) if self.is_linked || self.archive.is_some() => {
                    let mut all = execute::joined("--emit=", kinds);
                    all.push(",llvm-bc");
                    self.words.push(all);
                }
                _ => self.words.extend(option.words.iter().cloned()),
            }
        }
        if !plugin_lto || settings.no_std {
            self.words.push("-Cembed-bitcode=yes".into());
        }
        if !debug_info {
            self.words.push("-Cdebuginfo=1".into());
        }
        if !mangling {
            self.words.push("-Csymbol-mangling-version=v0".into());
        }
        if (self.is_linked || self.archive.is_some()) && !codegen_units {
            self.words.push(CODEGEN_UNITS.into());
        }
        if self.is_only_linked && settings.bitcode_only {
            self.words.push(NO_MACHINE_CODE.into());
        }
        if settings.model == Model::Values {
            self.opt_level = 0;
            self.words.extend(AS_WRITTEN.iter().map(|(name, value)| format!("-C{name}={value}").into()));
        }
        // Regions and inputs of the markers crate record.
        self.words.push("--cfg=dmdprof".into());
    }
}

/// rustc's words, cut into options with their values.
struct Options(Vec<RustcOption>);

struct RustcOption {
    words: Vec<OsString>,
}

/// Options whose value may be the next word, as far as Cargo and users pass them.
const SEPARATE: [&str; 20] = [
    "-C",
    "--codegen",
    "-L",
    "-l",
    "-o",
    "-A",
    "-W",
    "-D",
    "-F",
    "-Z",
    "--cfg",
    "--check-cfg",
    "--crate-name",
    "--crate-type",
    "--edition",
    "--emit",
    "--extern",
    "--out-dir",
    "--target",
    "--cap-lints",
];

impl Options {
    fn cut(words: &[OsString]) -> Self {
        let mut options = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut all = vec![word.clone()];
            if word.to_str().is_some_and(|word| SEPARATE.contains(&word)) {
                all.extend(rest.next().cloned());
            }
            options.push(RustcOption { words: all });
        }
        Self(options)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|option| option.words[0] == name)
    }

    fn all(&self, name: &str) -> Vec<OsString> {
        self.0.iter().filter_map(|option| option.value_of(name).map(OsStr::to_os_string)).collect()
    }

    fn value(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().rev().find_map(|option| option.value_of(name))
    }

    /// The last value of a `-C` option.
    fn codegen(&self, name: &str) -> Option<String> {
        self.0
            .iter()
            .rev()
            .map(RustcOption::codegen)
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
    }
}

impl RustcOption {
    fn value_of(&self, name: &str) -> Option<&OsStr> {
        if self.words[0] == name {
            return self.words.get(1).map(OsString::as_os_str);
        }
        self.words[0].to_str()?.strip_prefix(name)?.strip_prefix('=').map(OsStr::new)
    }

    /// Name and value of a `-C` option, in all its spellings; empty for other options.
    fn codegen(&self) -> (&str, &str) {
        let text = |index: usize| self.words.get(index).and_then(|word| word.to_str());
        let setting = match text(0) {
            Some("-C" | "--codegen") => text(1),
            Some(word) => word.strip_prefix("--codegen=").or_else(|| word.strip_prefix("-C")),
            None => None,
        };
        let setting = setting.unwrap_or_default();
        setting.split_once('=').unwrap_or((setting, ""))
    }
}

/// Tells Cargo, in the file in which rustc tells what the crate depends on, that it also depends on how it was linked.
fn depend_on_stamp(dependencies: Option<&Path>) -> anyhow::Result<()> {
    let (Some(path), Ok(stamp)) = (dependencies, env::var(STAMP_ENVIRONMENT)) else { return Ok(()) };
    if !path.is_file() {
        return Ok(());
    }
    let mut file =
        fs::File::options().append(true).open(path).with_context(|| format!("cannot open {}", path.display()))?;
    writeln!(file, "\n# env-dep:{STAMP_ENVIRONMENT}={stamp}")
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, no_std: bool) -> Option<Crate> {
        let words: Vec<OsString> = text.split_ascii_whitespace().map(OsString::from).collect();
        Crate::parse(&words, &Settings { target: "t".into(), directory: "/o".into(), no_std, ..Settings::default() })
    }

    fn words(text: &str, no_std: bool) -> String {
        let crate_ = parse(text, no_std).expect("a crate for the target");
        crate_.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_crates_for_the_target_are_touched() {
        assert!(parse("--crate-name a --crate-type lib --emit=dep-info,link", false).is_none(), "a build script's");
        assert!(
            parse("--crate-name a --crate-type lib --emit=dep-info,metadata --out-dir /o/t --target t", false)
                .is_none(),
            "a check"
        );
        assert!(parse("--crate-name ___ --print=cfg --out-dir /o/t --target t", false).is_none(), "a question");
        assert!(parse("--crate-name a --emit=link --target other", false).is_none());
        assert!(parse("-vV", false).is_none());
        let inner = "--crate-name a --emit=link --target t --out-dir";
        for elsewhere in ["/p/target/t/release/deps", "/o/t/release/build/b-1/out/t/release/deps"] {
            assert!(
                parse(&format!("{inner} {elsewhere}"), false).is_none(),
                "a Cargo's in a build script: {elsewhere}"
            );
        }
        assert!(parse(&format!("{inner} /o/t/release/deps"), false).is_some());
    }

    #[test]
    fn for_the_values_model_code_is_as_written() {
        let settings =
            Settings { target: "t".into(), directory: "/o".into(), model: Model::Values, ..Settings::default() };
        let text =
            "--crate-name a --crate-type bin --emit=link -C opt-level=3 -C lto=thin -O --out-dir /o/t --target t";
        let words: Vec<OsString> = text.split_ascii_whitespace().map(OsString::from).collect();
        let crate_ = Crate::parse(&words, &settings).expect("a crate for the target");
        let words: Vec<_> = crate_.words.iter().map(|word| word.to_string_lossy()).collect();
        assert!(words.iter().all(|word| !["-O", "opt-level=3", "lto=thin"].contains(&word.as_ref())), "{words:?}");
        assert!(words.contains(&"-Copt-level=0".into()) && words.contains(&"-Clto=off".into()), "{words:?}");
        assert_eq!((crate_.opt_level, crate_.notes.len()), (0, 0));
    }

    #[test]
    fn libraries_embed_bitcode_and_programs_emit_it() {
        const ADDED: &str = "-Cembed-bitcode=yes -Cdebuginfo=1 -Csymbol-mangling-version=v0 --cfg=dmdprof";
        let library = "--crate-name a --crate-type lib --emit=dep-info,metadata,link -C opt-level=3 -C embed-bitcode=no --out-dir /o/t --target t";
        assert_eq!(
            words(library, false),
            format!(
                "--crate-name a --crate-type lib --emit=dep-info,metadata,link -C opt-level=3 --out-dir /o/t --target t {ADDED}"
            )
        );
        let program = "--crate-name a --crate-type bin --emit=dep-info,link -Copt-level=s -C extra-filename=-1 -C incremental=x \
                       -C linker=mold --out-dir /o/t --target t";
        let crate_ = parse(program, false).unwrap();
        assert!(crate_.is_linked);
        assert_eq!((crate_.opt_level, crate_.linker.as_deref()), (2, Some(OsStr::new("mold"))));
        assert_eq!(crate_.dependencies.as_deref(), Some(Path::new("/o/t/a-1.d")));
        assert_eq!(
            words(program, false),
            format!(
                "--crate-name a --crate-type bin --emit=dep-info,link,llvm-bc -Copt-level=s -C extra-filename=-1 --out-dir /o/t --target t {}",
                ADDED.replace("--cfg", "-Ccodegen-units=16 --cfg")
            )
        );
        assert!(
            parse("--crate-name a --emit=link --cfg test --out-dir /o/t --target t", false).unwrap().is_linked,
            "a bench of its own"
        );
        assert!(!parse(library, false).unwrap().is_linked);
        let of_types = |types: &str| {
            parse(&format!("--crate-name a {types} --emit=dep-info,link --out-dir /o/t --target t"), false)
        };
        let both = of_types("--crate-type staticlib --crate-type cdylib").unwrap();
        assert_eq!(both.archive.as_deref(), Some(Path::new("/o/t/liba.a")));
        assert!(
            both.is_linked
                && of_types("--crate-type staticlib").unwrap().words.contains(&"--emit=dep-info,link,llvm-bc".into())
        );
        assert!(of_types("--crate-type cdylib").unwrap().archive.is_none());
    }

    #[test]
    fn machine_code_is_left_out_where_nothing_needs_it() {
        let settings = Settings {
            target: "t".into(),
            directory: "/o".into(),
            no_std: false,
            bitcode_only: true,
            ..Settings::default()
        };
        let leaves_out = |text: &str| {
            let words: Vec<OsString> = text.split_ascii_whitespace().map(OsString::from).collect();
            let words = Crate::parse(
                &[words, vec!["--crate-name=a".into(), "--target=t".into(), "--out-dir=/o/t".into()]].concat(),
                &settings,
            )
            .unwrap()
            .words;
            words.iter().any(|word| word == NO_MACHINE_CODE)
        };
        assert!(
            leaves_out("--crate-type bin --emit=link") && leaves_out("--crate-type cdylib") && leaves_out("--test")
        );
        assert!(!leaves_out("--crate-type lib --emit=link"), "its objects are what it is");
        assert!(!leaves_out("--crate-type cdylib,rlib") && !leaves_out("--crate-type staticlib"));
        assert!(!leaves_out("--crate-type bin --emit=link,asm"), "somebody wants to see it");
    }

    #[test]
    fn debug_information_is_kept_if_there_is_any() {
        let with =
            |option: &str| words(&format!("--crate-name a --emit=link {option} --out-dir /o/t --target t"), false);
        assert!(!with("-C debuginfo=2").contains("debuginfo=1"));
        assert!(!with("-g").contains("debuginfo"));
        assert!(with("-C debuginfo=0").contains("-Cdebuginfo=1") && !with("-C debuginfo=0").contains("debuginfo=0"));
        assert!(!with("-Csymbol-mangling-version=legacy").contains("v0"));
    }

    #[test]
    fn link_time_optimisation() {
        let with = |option: &str, no_std| {
            let crate_ =
                parse(&format!("--crate-name a --emit=link {option} --out-dir /o/t --target t"), no_std).unwrap();
            (crate_.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "), crate_.notes)
        };
        let (text, notes) = with("-C lto=thin", false);
        assert!(text.contains("-Clto=fat") && !text.contains("thin") && notes == [THIN_BECOMES_FAT]);
        assert!(with("-C lto=fat", false).0.contains("-C lto=fat") && with("-C lto", false).1.is_empty());
        let (text, notes) = with("-C lto=fat", true);
        assert!(text.contains("-Clto=off") && notes == [NO_LTO_WITHOUT_STD]);
        assert!(with("-C lto=off", true).1.is_empty());
        assert!(!with("-C linker-plugin-lto", false).0.contains("embed-bitcode"));
        assert!(with("-C linker-plugin-lto", true).0.contains("embed-bitcode=yes"));
    }
}
