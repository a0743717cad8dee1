//! Decides what a compiler command line asks for.
//!
//! Takes words, gives a [`Plan`]; touches no file and starts nothing. A command line is either clang's own business
//! ([`Plan::Pass`], with the reason) or a [`Build`]: units to compile one by one, and perhaps a link.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

pub use super::plan_link::{Link, LinkKind, LinkWord};
use super::{
    arguments::{Argument, InputKind, parse},
    plan_link::link,
};

/// What is to be done for a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Clang gets the user's words and the result carries no hooks.
    Pass(Reason),
    /// Objects with hooks, or a program or library of them.
    Build(Build),
}

/// Why clang runs alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `--version`, `-v`, `-Wl,--version` and the like.
    NoInput,
    /// The option that asks for something other than objects or a program.
    OtherAction(String),
    /// The option that asks for another processor or system.
    ForeignTarget(String),
    /// An input that has no instrumentation, or is a header to precompile.
    OtherInput(OsString),
    /// `-c` without a source in C, C++ or IR.
    NothingToInstrument,
    /// `-c -o /dev/null`, `-c -o -`.
    NoObject,
    /// `-c -o` with several sources: clang explains why not.
    SeveralOutputs,
}

impl Reason {
    /// Whether clang preprocesses a source all the same.
    #[must_use]
    pub fn reads_headers(&self) -> bool {
        const ACTIONS: &str = "
            -E --preprocess -S --assemble -M -MM --dependencies --user-dependencies -fsyntax-only -emit-llvm -emit-ast
            --analyze --precompile
        ";
        match self {
            Self::OtherAction(action) => ACTIONS.split_ascii_whitespace().any(|reads| reads == action),
            Self::ForeignTarget(_) | Self::OtherInput(_) | Self::NoObject => true,
            Self::NoInput | Self::NothingToInstrument | Self::SeveralOutputs => false,
        }
    }
}

/// Sources to compile, and what to link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// One per source, in the order of the command line.
    pub units: Vec<Unit>,
    /// None with `-c`.
    pub link: Option<Link>,
}

/// One source file to compile to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The source, or `-`.
    pub input: OsString,
    /// What it holds.
    pub kind: InputKind,
    /// Where its object goes.
    pub place: OutputPath,
    /// Clang's words for an object, without `-o`.
    pub arguments: Vec<OsString>,
    /// Words to add for bitcode; `None` for assembly, which carries no hooks.
    pub bitcode: Option<Vec<OsString>>,
    /// How machine code is made of its bitcode.
    pub codegen: Codegen,
    /// The `-save-temps` option, which is not among `arguments`.
    pub save_temps: Option<OsString>,
    /// The source comes from standard input, which can be read once only.
    pub reads_stdin: bool,
}

/// Where a unit's object goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPath {
    /// Asked for by the user.
    Named(OsString),
    /// Only for the link; the name is the source's, to be recognised in the linker's messages.
    Temporary(OsString),
}

/// What the code generator must be told because the bitcode does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codegen {
    /// 0 to 3.
    pub opt_level: u8,
    /// `-ffunction-sections`: one section per function.
    pub function_sections: bool,
}

/// Decides. `args` have their response files expanded.
#[must_use]
pub fn plan(args: &[OsString]) -> Plan {
    let arguments = parse(args);
    match why_pass(&arguments) {
        Some(reason) => Plan::Pass(reason),
        None => Plan::Build(build(&arguments)),
    }
}

fn why_pass(arguments: &[Argument]) -> Option<Reason> {
    let inputs = || {
        arguments.iter().filter_map(|a| if let Argument::Input { path, kind } = a { Some((path, *kind)) } else { None })
    };
    if inputs().next().is_none() {
        return Some(Reason::NoInput);
    }
    if let Some(action) = other_action(arguments) {
        return Some(Reason::OtherAction(action));
    }
    if let Some(target) = foreign_target(arguments) {
        return Some(Reason::ForeignTarget(target));
    }
    if let Some((path, _)) = inputs().find(|(_, kind)| matches!(kind, InputKind::Header | InputKind::Foreign)) {
        return Some(Reason::OtherInput(path.clone()));
    }
    if !compile_only(arguments) {
        return None;
    }
    let output = output(arguments);
    if !inputs().any(|(_, kind)| kind.is_instrumentable()) {
        Some(Reason::NothingToInstrument)
    } else if output.is_some_and(|o| o == "-" || o == "/dev/null") {
        Some(Reason::NoObject)
    } else if output.is_some() && inputs().filter(|(_, kind)| kind.is_compiled()).count() > 1 {
        Some(Reason::SeveralOutputs)
    } else {
        None
    }
}

fn build(arguments: &[Argument]) -> Build {
    let compile_only = compile_only(arguments);
    let output = output(arguments);
    let codegen = codegen(arguments);
    let save_temps = save_temps(arguments);
    let mut units = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let Argument::Input { path, kind } = argument else { continue };
        if !kind.is_compiled() {
            continue;
        }
        let object = with_extension(Path::new(path).file_name().unwrap_or(path), "o");
        let mut words = unit_words(arguments, index, compile_only, units.is_empty());
        let place = if compile_only {
            OutputPath::Named(output.unwrap_or(&object).to_os_string())
        } else {
            words.extend(dependency_words(arguments, path, output));
            words.extend(["-c".into(), "-Qunused-arguments".into()]);
            OutputPath::Temporary(object)
        };
        if *kind == InputKind::Module && !(compile_only && output.is_some()) {
            words.extend(module_words(arguments, path));
        }
        units.push(Unit {
            input: path.clone(),
            kind: *kind,
            place,
            arguments: words,
            bitcode: kind.is_instrumentable().then(|| bitcode_words(arguments, *kind)),
            codegen,
            save_temps: save_temps.clone(),
            reads_stdin: path == "-",
        });
    }
    // That of link-time optimisation, unless a level is given.
    let level = last_opt_level(arguments).unwrap_or(2);
    let link = (!compile_only).then(|| link(arguments, units.is_empty(), output, level));
    Build { units, link }
}

/// The user's options with one of the sources.
fn unit_words(arguments: &[Argument], unit: usize, compile_only: bool, first: bool) -> Vec<OsString> {
    let mut words = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let wanted = match argument {
            Argument::Input { kind, .. } if kind.is_compiled() => index == unit,
            // With `-c` clang warns, once, that these have no effect.
            Argument::Input { .. } | Argument::Linker(_) => compile_only && first,
            Argument::Output(_) => false,
            Argument::Language(_) => true,
            Argument::Option(_) => !argument.is_lto() && !argument.is_save_temps(),
        };
        if wanted {
            words.extend(argument.words());
        }
    }
    words
}

/// What makes clang write bitcode that is worth instrumenting. The bitcode is what comes out of the optimiser.
fn bitcode_words(arguments: &[Argument], kind: InputKind) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-emit-llvm".into()];
    if kind.reads_headers() {
        words.push("-D__DMDPROF__=1".into());
    }
    if kind != InputKind::Ir && !has_lines(arguments) {
        words.push("-gline-tables-only".into());
    }
    words
}

/// Does the last option about debug information leave line numbers? `-g0` does not, and is overruled: the numbers of a
/// profile without lines would be of little use.
fn has_lines(arguments: &[Argument]) -> bool {
    let level = |name: &str| match name {
        "-g0" | "-ggdb0" => Some(false),
        "-g"
        | "-g1"
        | "-g2"
        | "-g3"
        | "-gmlt"
        | "-gline-tables-only"
        | "-gline-directives-only"
        | "-gfull"
        | "-gused"
        | "--debug" => Some(true),
        "-gdwarf" | "-gdwarf-2" | "-gdwarf-3" | "-gdwarf-4" | "-gdwarf-5" | "-gcodeview" => Some(true),
        _ => name.strip_prefix("-ggdb").or(name.strip_prefix("-glldb")).or(name.strip_prefix("-gsce")).map(|_| true),
    };
    arguments.iter().filter_map(|a| level(a.name())).next_back().unwrap_or(false)
}

/// When clang compiles and links in one step, `-MD` derives its names from the program. The object is a temporary file
/// here, so they have to be said.
fn dependency_words(arguments: &[Argument], source: &OsStr, output: Option<&OsStr>) -> Vec<OsString> {
    let given = |names: &[&str]| {
        arguments
            .iter()
            .any(|a| matches!(a, Argument::Option(_)) && names.iter().any(|name| a.name().starts_with(name)))
    };
    if !given(&["-MD", "-MMD", "--write-dependencies", "--write-user-dependencies"]) {
        return Vec::new();
    }
    let file_name = Path::new(source).file_name().unwrap_or(source);
    let mut words = Vec::new();
    if !given(&["-MF"]) {
        words.extend(["-MF".into(), with_extension(output.unwrap_or(file_name), "d")]);
    }
    if !given(&["-MT", "-MQ"]) {
        let target = output.map_or_else(|| with_extension(file_name, "o"), OsStr::to_os_string);
        words.extend(["-MQ".into(), target]);
    }
    words
}

/// `-fmodule-output` names the precompiled module after the object if `-o` does so with `-c`, else after the source. We
/// name objects ourselves.
fn module_words(arguments: &[Argument], source: &OsStr) -> Option<OsString> {
    let last = arguments.iter().map(Argument::name).rfind(|name| name.starts_with("-fmodule-output"));
    (last == Some("-fmodule-output")).then(|| {
        let mut word = OsString::from("-fmodule-output=");
        word.push(with_extension(source, "pcm"));
        word
    })
}

fn compile_only(arguments: &[Argument]) -> bool {
    arguments.iter().any(|a| matches!(a.name(), "-c" | "--compile"))
}

fn output(arguments: &[Argument]) -> Option<&OsStr> {
    arguments.iter().rev().find_map(|a| if let Argument::Output(path) = a { Some(path.as_os_str()) } else { None })
}

fn save_temps(arguments: &[Argument]) -> Option<OsString> {
    arguments.iter().rev().find(|a| a.is_save_temps()).map(|a| a.name().into())
}

/// The option that makes clang produce something other than objects, or nothing.
fn other_action(arguments: &[Argument]) -> Option<String> {
    const EXACT: &str = "
        -### -E --preprocess -S --assemble -M -MM --dependencies --user-dependencies -fsyntax-only -emit-llvm
        -emit-ast --emit-static-lib -emit-interface-stubs -emit-merged-ifs -fdriver-only --analyze --precompile
        -verify-pch -module-file-info -extract-api -rewrite-objc -rewrite-legacy-objc -objcmt-migrate-all --migrate
        -fmodule-header --help -help --help-hidden --version -cc1 -cc1as -cc1gen-reproducer -emit-cir
    ";
    const PREFIXES: &[&str] =
        &["-print-", "--print-", "-dump", "--dump", "-ccc-print", "--autocomplete=", "-fmodule-header="];
    let exceptions = ["-dumpdir", "-dumpdir="];
    arguments.iter().find_map(|argument| {
        let Argument::Option(words) = argument else { return None };
        let name = argument.name();
        let asks = (EXACT.split_ascii_whitespace().any(|exact| exact == name)
            || PREFIXES.iter().any(|p| name.starts_with(p)))
            && !exceptions.contains(&name);
        if asks {
            return Some(name.to_owned());
        }
        let inner = (name == "-Xclang").then(|| words.get(1)?.to_str()).flatten()?;
        let frontend_action = ["-emit-", "-ast-", "-dump-", "-fsyntax-only", "-E", "-S", "-analyze", "-verify"]
            .iter()
            .any(|p| inner.starts_with(p));
        frontend_action.then(|| format!("-Xclang {inner}"))
    })
}

/// The option that leaves x86-64 Linux, or asks for code for an accelerator besides.
fn foreign_target(arguments: &[Argument]) -> Option<String> {
    let mut width = None;
    let mut triple = None;
    for argument in arguments {
        let Argument::Option(words) = argument else { continue };
        let name = argument.name();
        match name {
            "-m32" | "-m16" | "-mx32" | "-miamcu" => width = Some(name.to_owned()),
            "-m64" => width = None,
            "-target" => triple = words.get(1).map(|t| t.to_string_lossy().into_owned()),
            "-arch" => return Some(name.to_owned()),
            _ if name.starts_with("--target=") => triple = Some(name["--target=".len()..].to_owned()),
            _ if name.starts_with("-fopenmp-targets=")
                || name.starts_with("--offload-")
                || name.starts_with("--cuda-gpu-arch=") =>
            {
                return Some(name.to_owned());
            }
            _ => {}
        }
    }
    let native = |triple: &String| {
        (triple.starts_with("x86_64-") || triple.starts_with("amd64-"))
            && triple.contains("linux")
            && !triple.contains("x32")
            && !triple.contains("android")
    };
    width.or(triple.filter(|t| !native(t)))
}

fn codegen(arguments: &[Argument]) -> Codegen {
    let sections = arguments.iter().rev().find_map(|argument| match argument.name() {
        "-ffunction-sections" => Some(true),
        "-fno-function-sections" => Some(false),
        _ => None,
    });
    Codegen { opt_level: last_opt_level(arguments).unwrap_or(0), function_sections: sections.unwrap_or(false) }
}

fn last_opt_level(arguments: &[Argument]) -> Option<u8> {
    arguments.iter().rev().find_map(|argument| match argument.name() {
        "--optimize" => Some(1),
        name => name.strip_prefix("-O").or(name.strip_prefix("--optimize=")).map(opt_level),
    })
}

/// Clang's own mapping from `-O` to the code generator's levels.
#[must_use]
pub fn opt_level(level: &str) -> u8 {
    match level {
        "0" => 0,
        "" | "1" | "g" => 1,
        "2" | "s" | "z" => 2,
        _ => 3,
    }
}

/// Replaces what follows the last dot of the last component, or appends, as `llvm::sys::path::replace_extension` does.
fn with_extension(path: &OsStr, extension: &str) -> OsString {
    let bytes = path.as_bytes();
    let name = bytes.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    let stem = bytes[name..].iter().rposition(|&b| b == b'.').map_or(bytes.len(), |dot| name + dot);
    let mut out = OsStr::from_bytes(&bytes[..stem]).to_os_string();
    out.push(".");
    out.push(extension);
    out
}
