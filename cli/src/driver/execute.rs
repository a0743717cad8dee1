//! Does what [`plan`] decided.
//!
//! Takes a plan, runs clang and the instrumenter, leaves objects and programs; gives the exit code. Clang's messages go
//! out unchanged, ours begin with `dmdprof: `, and a good run says nothing. A unit is compiled to bitcode *under the
//! name of its object*, so that every file whose name or content clang derives from it (`-MD`, `--coverage`,
//! `-ftime-trace`) comes out as without us; the bitcode is moved away at once and the object takes its place.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use anyhow::{Context, bail};

use crate::shared::signals::{self, Kind};

use super::{
    Append, Face, Model, Request, Toolbox,
    clang::{self, Clang},
    header,
    link_inputs::{Bitcode, Inputs},
    notes,
    plan::{self, Build, Codegen, Link, LinkKind, LinkWord, OutputPath, Plan, Unit},
    response,
    scratch::{Provisional, Scratch},
    thread_storage, twin, values_support, version_script,
};

/// A command line longer than this goes to clang in a response file.
const LONGEST_COMMAND: usize = 96 << 10;

/// `dmdprof cc ARGS`, `dmdprof c++ ARGS`: everything from the words to the exit code.
#[must_use]
pub fn compile(face: Face, args: &[OsString], tools: &Toolbox) -> i32 {
    match try_compile(face, args, tools) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dmdprof: {error:#}");
            1
        }
    }
}

fn try_compile(face: Face, args: &[OsString], tools: &Toolbox) -> anyhow::Result<i32> {
    let clang = clang::find(face, tools.llvm_major)?;
    let DriverOptions { model, has_twin, rest: args } = DriverOptions::from_args(&response::expand(args), tools.model)?;
    let tools = &Toolbox { model, ..*tools };
    match plan::plan(&args) {
        Plan::Build(build) if !build.units.iter().any(names_a_device) => {
            Run { clang: &clang, tools, scratch: Scratch::new()?, has_twin }.build(&build)
        }
        plan => {
            let mut command = clang.command();
            command.args(args);
            if let Plan::Pass(reason) = &plan
                && reason.reads_headers()
            {
                command.args(header::lasting_words().into_iter().flatten());
            }
            let error = command.exec();
            bail!("cannot run {}: {error}", clang.program.display())
        }
    }
}

/// Says what the hooks are for; clang does not know it.
const MODEL_OPTION: &str = "--dmdprof-model=";

/// Also marks where iterations of loops begin.
const LOOPS_OPTION: &str = "--dmdprof-loops";

/// Hooks that can draw a sample while the program runs.
const SAMPLE_OPTION: &str = "--dmdprof-sample";

/// Our own options among clang's words, and the others.
struct DriverOptions {
    model: Model,
    has_twin: bool,
    rest: Vec<OsString>,
}

impl DriverOptions {
    fn from_args(args: &[OsString], default: Model) -> anyhow::Result<Self> {
        let mut model = default;
        let (mut loops, mut sampled, mut has_twin) = (false, false, false);
        let mut rest = Vec::new();
        for word in args {
            match word.to_str().unwrap_or_default() {
                LOOPS_OPTION => loops = true,
                SAMPLE_OPTION => sampled = true,
                twin::OPTION => has_twin = true,
                text => match text.strip_prefix(MODEL_OPTION) {
                    Some("memory") => model = Model::Memory,
                    Some("values") => model = Model::Values,
                    Some(other) => bail!("{MODEL_OPTION}{other}: the models are memory and values"),
                    None => rest.push(word.clone()),
                },
            }
        }
        let given = [(loops, LOOPS_OPTION), (sampled, SAMPLE_OPTION), (has_twin, twin::OPTION)];
        if let Some((_, option)) = given.iter().find(|(is_given, _)| *is_given && model == Model::Values) {
            bail!("{option} is about the memory model; it cannot be combined with {MODEL_OPTION}values");
        }
        let model = match (loops, sampled) {
            (true, true) => bail!("{LOOPS_OPTION} cannot be combined with {SAMPLE_OPTION}: motion needs all records"),
            (true, false) => Model::Loops,
            (false, true) => Model::Sampled,
            (false, false) => model,
        };
        Ok(Self { model, has_twin, rest })
    }
}

/// From version 17 on clang tracks assignments to variables, in a way that LLVM's C interface does not let read; this
/// has it say where variables are as before. No code depends on it.
fn plain_variables(major: u32) -> Vec<OsString> {
    let words: &[&str] = if major >= 17 { &["-Xclang", "-fexperimental-assignment-tracking=disabled"] } else { &[] };
    words.iter().map(OsString::from).collect()
}

/// `-o` may name a pipe or a device, where no object can be put together.
fn names_a_device(unit: &Unit) -> bool {
    matches!(&unit.place, OutputPath::Named(path) if fs::metadata(path).is_ok_and(|m| !m.is_file()))
}

struct Run<'a> {
    clang: &'a Clang,
    tools: &'a Toolbox<'a>,
    scratch: Scratch,
    has_twin: bool,
}

impl Run<'_> {
    fn build(&self, build: &Build) -> anyhow::Result<i32> {
        let mut objects = Vec::new();
        let mut first_failure = 0;
        for (index, unit) in build.units.iter().enumerate() {
            let object = match &unit.place {
                OutputPath::Named(path) => PathBuf::from(path),
                OutputPath::Temporary(name) => {
                    let dir = self.scratch.file(&index.to_string());
                    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
                    dir.join(name)
                }
            };
            let code = self.compile_unit(unit, &object)?;
            if first_failure == 0 {
                first_failure = code;
            }
            objects.push(object);
        }
        match &build.link {
            Some(link) if first_failure == 0 => self.link(link, &objects),
            _ => Ok(first_failure),
        }
    }

    fn compile_unit(&self, unit: &Unit, object: &Path) -> anyhow::Result<i32> {
        let words = |extra: &[&[OsString]]| {
            let mut words = unit.arguments.clone();
            extra.iter().for_each(|more| words.extend_from_slice(more));
            words
        };
        let out: [OsString; 2] = ["-o".into(), object.into()];
        let mut quiet: &[OsString] = &[];
        let no_warnings = ["-w".into()];
        if let Some(save_temps) = &unit.save_temps {
            // The files asked for are those of the program without hooks.
            let code = self.clang(words(&[std::slice::from_ref(save_temps), &out]))?;
            if code != 0 {
                return Ok(code);
            }
            quiet = &no_warnings;
        }
        let Some(for_bitcode) = &unit.bitcode else { return self.clang(words(&[&out])) };
        let header = if unit.kind.reads_headers() { header::words(&self.scratch)?.to_vec() } else { Vec::new() };
        let model =
            if self.tools.model == Model::Values { values_support::words(unit, &self.scratch)? } else { Vec::new() };
        let variables = plain_variables(self.clang.major);
        let code = self.clang(words(&[for_bitcode, &header, &model, &variables, quiet, &out]))?;
        if code != 0 {
            return Ok(code);
        }
        let provisional = Provisional::new(object);
        let bitcode = self.scratch.file("unit.bc");
        let native = self.scratch.file("unit.o");
        let metadata = fs::metadata(object).with_context(|| format!("clang left no {}", object.display()))?;
        move_file(object, &bitcode)?;
        if !is_bitcode(&bitcode)? {
            bail!(
                "{}: clang wrote something other than bitcode for these options, so the object cannot carry hooks; \
                 compile it with clang itself if that is intended",
                unit.input.display()
            );
        }
        if let Err(error) = self.instrument(&bitcode, &native, unit.codegen, &code_flags(&unit.arguments)) {
            // Inline assembly is read by the code generator only: an error in it is the user's, and clang words it
            // best.
            if !unit.reads_stdin {
                let discarded: [OsString; 2] = ["-o".into(), self.scratch.file("discarded.o").into()];
                let code = self.clang(words(&[&["-w".into()], &discarded]))?;
                if code != 0 {
                    return Ok(code);
                }
            }
            return Err(error.context(format!("cannot instrument {}", unit.input.display())));
        }
        if self.has_twin {
            let plain = self.scratch.file("twin.o");
            let made = self.tools.instrumenter.compile(&bitcode, &plain, unit.codegen.opt_level);
            made.and_then(|()| twin::append(&native, &plain))
                .with_context(|| format!("cannot make the twin of {}", unit.input.display()))?;
        }
        install(&native, object, &metadata)?;
        fs::remove_file(&bitcode).ok();
        provisional.keep();
        Ok(0)
    }

    fn instrument(&self, bitcode: &Path, object: &Path, codegen: Codegen, flags: &str) -> anyhow::Result<()> {
        self.tools.instrumenter.instrument(&Request {
            input: bitcode,
            object,
            model: self.tools.model,
            loop_records: true,
            append: Append::InPlace,
            opt_level: codegen.opt_level,
            function_sections: codegen.function_sections,
            flags,
            dump_ir: self.tools.dump_ir,
        })
    }

    /// The object of bitcode that was made for link-time optimisation, which ends before the last of the optimiser's
    /// passes.
    fn instrument_input(&self, bitcode: &Path, object: &Path, opt_level: u8) -> anyhow::Result<()> {
        anyhow::ensure!(self.tools.model != Model::Values, "it is optimised code, which the values model cannot price");
        let level = format!("-O{opt_level}");
        let optimised = self.scratch.file("input.bc");
        let mut command = self.clang.command();
        command.args([&level, "-w", "-c", "-emit-llvm", "-x", "ir"]).arg(bitcode).arg("-o").arg(&optimised);
        let output = command.output().with_context(|| format!("cannot run {}", self.clang.program.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("clang cannot read its bitcode: {}", said.lines().next().unwrap_or_default());
        }
        // As link-time optimisation, after which the linker can leave out what nobody uses.
        self.instrument(&optimised, object, Codegen { opt_level, function_sections: true }, &level)
    }

    fn link(&self, link: &Link, objects: &[PathBuf]) -> anyhow::Result<i32> {
        let is_program = matches!(link.kind, LinkKind::Program | LinkKind::StaticProgram);
        // Nothing can be beside a device.
        let is_file = fs::metadata(&link.output).map_or(true, |found| found.is_file());
        let twin = if self.has_twin && is_program && is_file { self.twin(link, objects)? } else { None };
        let make = |bitcode: &Path, object: &Path| self.instrument_input(bitcode, object, link.opt_level);
        let make = Bitcode(make);
        let inputs = Inputs::new(&self.scratch, &make);
        let mut words = Vec::new();
        if link.kind.needs_hooks() {
            // First, where no `-Wl,` state of the user's is in force yet.
            words.push(write_hooks(&self.scratch, self.tools.hooks_object)?.into());
            words.extend(link.kind.options());
            if link.symbolic {
                let list = self.scratch.file("dynamic-list");
                fs::write(&list, version_script::dynamic_list(&super::hook_symbols()))
                    .with_context(|| format!("cannot write {}", list.display()))?;
                words.extend(["-Xlinker".into(), joined("--dynamic-list=", list.as_os_str())]);
            }
        }
        let unit = |index: usize| Ok(vec![objects[index].clone().into()]);
        words.extend(link_words(link, &inputs, unit, |path| self.version_script(path, link))?);
        let without_hooks = inputs.without_hooks().into_iter().map(say_without_hooks);
        let lines: Vec<String> = without_hooks.map(|name| notes::line(&name)).chain(twin).collect();
        if let Some(object) = notes::noted(&self.scratch, &lines)? {
            words.push(object.into());
        }
        // In a shared library its functions would take the place of the C library's for everybody.
        if self.tools.model == Model::Values && is_program {
            let unit = values_support::library_unit(&self.scratch)?;
            let object = self.scratch.file("dmdprof_library.o");
            let code = self.compile_unit(&unit, &object)?;
            if code != 0 {
                return Ok(code);
            }
            words.extend(["-Xlinker".into(), values_support::archive(&object, &self.scratch)?.into()]);
        }
        let code = self.clang(words)?;
        if code == 0 && is_program {
            thread_storage::check(Path::new(&link.output))?;
        }
        Ok(code)
    }

    /// Links the same program without hooks; gives what the one with hooks says of it. Nothing where that is not
    /// possible, which the person is told of.
    fn twin(&self, link: &Link, objects: &[PathBuf]) -> anyhow::Result<Option<String>> {
        let inputs = Inputs::new(&self.scratch, &twin::Twins);
        let mut words = vec![header::inert(&self.scratch)?.into()];
        let unit = |index: usize| inputs.words(objects[index].as_os_str());
        words.extend(link_words(link, &inputs, unit, |path| Ok(joined("--version-script=", path)))?);
        let path = twin::path(Path::new(&link.output));
        words.extend(["-o".into(), path.clone().into()]);
        twin::link(&mut self.command(words)?, &path)
    }

    /// A copy of the user's version script in which the hooks stay visible: a library with a hidden copy would count on
    /// its own, beside the program.
    fn version_script(&self, path: &OsStr, link: &Link) -> anyhow::Result<OsString> {
        let content = fs::read_to_string(path).ok().filter(|_| link.kind.needs_hooks());
        let rewritten = content.and_then(|content| version_script::with_global(&content, &super::hook_symbols()));
        // Unreadable, or nothing that we understand: the linker's business.
        let Some(content) = rewritten else { return Ok(joined("--version-script=", path)) };
        let copy = self.scratch.path().join(Path::new(path).file_name().unwrap_or(path));
        fs::write(&copy, content).with_context(|| format!("cannot write {}", copy.display()))?;
        Ok(joined("--version-script=", copy.as_os_str()))
    }

    fn clang(&self, words: Vec<OsString>) -> anyhow::Result<i32> {
        run(&mut self.command(words)?)
    }

    fn command(&self, mut words: Vec<OsString>) -> anyhow::Result<Command> {
        if words.iter().map(|w| w.len() + 1).sum::<usize>() > LONGEST_COMMAND {
            let file = self.scratch.file("arguments");
            fs::write(&file, response::quote(&words)).with_context(|| format!("cannot write {}", file.display()))?;
            words = vec![joined("@", file.as_os_str())];
        }
        let mut command = self.clang.command();
        command.args(words);
        Ok(command)
    }
}

/// The words of a link, with those of units and of version scripts as the link has them.
fn link_words(
    link: &Link,
    inputs: &Inputs,
    unit: impl Fn(usize) -> anyhow::Result<Vec<OsString>>,
    version_script: impl Fn(&OsStr) -> anyhow::Result<OsString>,
) -> anyhow::Result<Vec<OsString>> {
    let mut words = Vec::new();
    for word in &link.words {
        match word {
            LinkWord::Word(word) => words.push(word.clone()),
            LinkWord::Input(word) => words.extend(inputs.words(word)?),
            LinkWord::Library { words: given, archive } => {
                words.extend(inputs.library(given, *archive, &link.directories)?);
            }
            LinkWord::Unit(index) => words.extend(unit(*index)?),
            LinkWord::VersionScript(path) => words.push(version_script(path)?),
        }
    }
    Ok(words)
}

/// The name of an input whose hooks are missing, of which the person is told why.
fn say_without_hooks((name, reason): (String, String)) -> String {
    eprintln!("dmdprof: note: {name}: linked without hooks: {reason}");
    name
}

/// Writes the hooks where the linker finds them.
pub(super) fn write_hooks(scratch: &Scratch, object: &[u8]) -> anyhow::Result<PathBuf> {
    let path = scratch.file("dmdprof-hooks.o");
    fs::write(&path, object).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// An option and its value in one word.
pub(super) fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// Runs a tool that shares our terminal; gives its exit code, `128 + n` for a signal.
///
/// # Errors
/// When it cannot be started.
pub fn run(command: &mut Command) -> anyhow::Result<i32> {
    let status = signals::status(command, Kind::Program)
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(exit_code(status))
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Raw bitcode, or bitcode in the wrapper that Darwin uses.
fn is_bitcode(path: &Path) -> anyhow::Result<bool> {
    let mut magic = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| io::Read::read(&mut file, &mut magic));
    let read = read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(read == 4 && (magic == *b"BC\xc0\xde" || magic == [0xde, 0xc0, 0x17, 0x0b]))
}

fn move_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)
        .and_then(|_| fs::remove_file(from))
        .with_context(|| format!("cannot move {} away", from.display()))
}

/// Puts the finished object in its place in one step, with the permissions that clang gave its file.
fn install(native: &Path, object: &Path, like: &fs::Metadata) -> anyhow::Result<()> {
    let place = || -> io::Result<()> {
        fs::set_permissions(native, like.permissions())?;
        if fs::rename(native, object).is_ok() {
            return Ok(());
        }
        // Another file system: a new file beside the object, then the same.
        let mut name = OsString::from(".");
        name.push(object.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        let beside = object.with_file_name(name);
        let provisional = Provisional::new(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(&fs::read(native)?)?;
        fs::set_permissions(&beside, like.permissions())?;
        fs::rename(&beside, object)?;
        provisional.keep();
        Ok(())
    };
    place().with_context(|| format!("cannot write {}", object.display()))
}

/// The words that change what code comes out, as far as they are the same in every checkout: no paths, no definitions.
fn code_flags(arguments: &[OsString]) -> String {
    const BESIDE: [&str; 5] = ["-fdiagnostics-", "-fcolor-", "-fno-color-", "-fmessage-length", "-fdebug-"];
    let changes_code = |word: &&str| {
        ["-O", "--optimize", "-f", "-m", "-std="].iter().any(|prefix| word.starts_with(prefix))
            && !BESIDE.iter().any(|prefix| word.starts_with(prefix))
            && !word.contains(['/', ' '])
    };
    arguments.iter().filter_map(|word| word.to_str()).filter(changes_code).collect::<Vec<_>>().join(" ")
}
