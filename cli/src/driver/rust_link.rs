//! Stands in for the linker that rustc calls.
//!
//! Takes rustc's linker command line, gives the link's exit code: every object that rustc made is replaced by one made
//! from its bitcode, those of libraries (the standard library among them) too, and the hooks are added. rustc leaves an
//! object's bitcode in one of two places: in the section `.llvmbc` (libraries compiled with `-C embed-bitcode=yes`), or
//! beside it (`--emit=llvm-bc`), as programs never embed theirs. Refuses a crate whose objects have no bitcode, and a
//! link in which nothing gets hooks; objects of ready-made libraries without bitcode are named in the program, for
//! reports.
//!
//! rustc starts it as `dmdprof` with [`ENVIRONMENT`] set, not as a script: temporary directories may forbid programs.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use anyhow::{Context, anyhow, bail};

use super::{
    Append, Model, Request, Toolbox, arguments, clang, execute, header,
    link_inputs::Inputs,
    notes,
    object_cache::{Cache, InUse, Key},
    plan::LinkKind,
    plan_link, response,
    rlib::{self, Kind, Member, Purpose},
    scratch::Scratch,
    thread_storage, twin, wrap_environment,
};
use crate::shared::{hash, human};

/// Set to the code generator's level (`0` to `3`) in the environment of rustc; its presence makes `dmdprof` a linker.
pub const ENVIRONMENT: &str = "DMDPROF_RUST_LINK";
const DUMP_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_DUMP_IR";
const MODEL_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_MODEL";
const NO_STD_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_NO_STD";
const LINKER_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_LINKER";
const TOOL_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_TOOL";
const KEEP_BITCODE_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_KEEP_BITCODE";
const TWIN_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_TWIN";

/// What a link is told through rustc's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Level of the code generator.
    pub opt_level: u8,
    /// What the hooks are for.
    pub model: Model,
    /// The standard library's own objects stay as they are.
    pub no_std: bool,
    /// The linker that the user chose.
    pub linker: Option<OsString>,
    /// SHA-256 of dmdprof, which is part of each object's key. Computed where it is not told.
    pub tool: Option<String>,
    /// `--dump-ir DIR`.
    pub dump_ir: Option<PathBuf>,
    /// The bitcode beside objects is of use after the link too.
    pub keep_bitcode: bool,
    /// A program is linked without hooks too, beside the one with hooks.
    pub has_twin: bool,
}

impl Settings {
    /// Makes a rustc that this command starts call dmdprof as its linker.
    pub fn give(&self, command: &mut Command) {
        command.env(ENVIRONMENT, self.opt_level.to_string());
        let optional = [
            (MODEL_ENVIRONMENT, (self.model != Model::Memory).then(|| model_name(self.model).into())),
            (NO_STD_ENVIRONMENT, self.no_std.then(|| "1".into())),
            (KEEP_BITCODE_ENVIRONMENT, self.keep_bitcode.then(|| "1".into())),
            (TWIN_ENVIRONMENT, self.has_twin.then(|| "1".into())),
            (LINKER_ENVIRONMENT, self.linker.clone()),
            (TOOL_ENVIRONMENT, self.tool.clone().map(OsString::from)),
            (DUMP_ENVIRONMENT, self.dump_ir.clone().map(PathBuf::into_os_string)),
        ];
        for (name, value) in optional {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    fn from_environment() -> Self {
        Self {
            opt_level: env::var(ENVIRONMENT).map_or(3, |level| super::plan::opt_level(&level)),
            model: requested_model(),
            no_std: env::var_os(NO_STD_ENVIRONMENT).is_some(),
            linker: env::var_os(LINKER_ENVIRONMENT),
            tool: env::var(TOOL_ENVIRONMENT).ok(),
            dump_ir: env::var_os(DUMP_ENVIRONMENT).map(PathBuf::from),
            keep_bitcode: env::var_os(KEEP_BITCODE_ENVIRONMENT).is_some(),
            has_twin: env::var_os(TWIN_ENVIRONMENT).is_some(),
        }
    }

    fn remove_from(command: &mut Command) {
        let names = [
            ENVIRONMENT,
            MODEL_ENVIRONMENT,
            NO_STD_ENVIRONMENT,
            LINKER_ENVIRONMENT,
            TOOL_ENVIRONMENT,
            DUMP_ENVIRONMENT,
            KEEP_BITCODE_ENVIRONMENT,
            TWIN_ENVIRONMENT,
        ];
        for name in names {
            command.env_remove(name);
        }
    }
}

/// SHA-256 of this program.
///
/// # Errors
/// When it cannot be found or read.
pub fn tool_hash() -> anyhow::Result<String> {
    hash::of_file(&env::current_exe().context("cannot find the path of dmdprof itself")?)
}

/// Was this process started by rustc, in place of the linker? To be asked before the command line is parsed.
#[must_use]
pub fn requested() -> bool {
    env::var_os(ENVIRONMENT).is_some()
}

/// The model that the hooks of this link are for.
#[must_use]
pub fn requested_model() -> Model {
    model_named(env::var(MODEL_ENVIRONMENT).or_else(|_| env::var(wrap_environment::MODEL_ENVIRONMENT)).as_deref())
}

/// A model, as environment variables and keys of the cache name it.
#[must_use]
pub fn model_name(model: Model) -> &'static str {
    match model {
        Model::Memory => "memory",
        Model::Values => "values",
        Model::Loops => "loops",
        Model::Sampled => "sampled",
    }
}

/// The model of this name; anything else is the usual one.
#[must_use]
pub fn model_named<E>(name: Result<&str, E>) -> Model {
    let models = [Model::Values, Model::Loops, Model::Sampled];
    let found = models.into_iter().find(|model| name.as_ref().is_ok_and(|name| *name == model_name(*model)));
    found.unwrap_or(Model::Memory)
}

/// The linker's whole life: from rustc's words to the exit code.
#[must_use]
pub fn link(args: &[OsString], tools: &Toolbox) -> i32 {
    match try_link(args, tools) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dmdprof: {error:#}");
            1
        }
    }
}

/// What a word of the command line is to us.
enum Word {
    /// An object that rustc made from the crate being compiled, and its content.
    CrateObject {
        path: PathBuf,
        content: Vec<u8>,
    },
    /// A Rust library, and its content.
    Library {
        path: PathBuf,
        content: Vec<u8>,
    },
    Other(OsString),
}

fn try_link(args: &[OsString], tools: &Toolbox) -> anyhow::Result<i32> {
    let settings = Settings::from_environment();
    let args = response::expand(args);
    let words = args.iter().map(|arg| classify(arg)).collect::<anyhow::Result<Vec<Word>>>()?;
    let cache = Cache::of_user()?;
    let link = Link::new(tools, settings, cache.as_ref())?;
    let replaced = link.replace(&words)?;

    let kind = if args.iter().any(|a| a == "-shared") { LinkKind::SharedLibrary } else { LinkKind::Program };
    let mut all: Vec<OsString> = vec![execute::write_hooks(&link.scratch, tools.hooks_object)?.into()];
    all.extend(kind.options());
    all.extend(replaced.words);
    let program = args.iter().rposition(|word| word == "-o").and_then(|at| args.get(at + 1));
    let program = program.map(Path::new).filter(|_| kind == LinkKind::Program);
    let twin = program.filter(|_| link.settings.has_twin).map(|program| link.twin(&args, program)).transpose()?;
    let without_hooks = replaced.without_hooks.iter().map(|name| notes::line(name));
    let notes: Vec<String> = without_hooks.chain(twin.flatten()).collect();
    if let Some(object) = notes::noted(&link.scratch, &notes)? {
        all.push(object.into());
    }
    let code = execute::run(&mut link.linker(&all, "arguments")?)?;
    if code == 0
        && let Some(program) = program
    {
        thread_storage::check(program)?;
    }
    if code == 0 && !link.settings.keep_bitcode {
        remove_bitcode(&words);
    }
    if link.cache.is_some()
        && let Some(cache) = &cache
    {
        drop(link);
        // It can wait for the next build.
        cache.drop_the_oldest().ok();
    }
    Ok(code)
}

fn classify(word: &OsStr) -> anyhow::Result<Word> {
    let read = || fs::read(word).with_context(|| format!("cannot read {}", word.display()));
    Ok(match word.to_str() {
        Some(name) if name.ends_with(".rcgu.o") => Word::CrateObject { path: word.into(), content: read()? },
        Some(name) if name.ends_with(".rlib") => Word::Library { path: word.into(), content: read()? },
        _ => Word::Other(word.to_os_string()),
    })
}

/// What makes the objects of a link.
pub(super) struct Link<'a> {
    pub(super) tools: &'a Toolbox<'a>,
    pub(super) scratch: Scratch,
    pub(super) settings: Settings,
    cache: Option<InUse>,
}

/// The linker's words with hooks in the objects.
struct Replaced {
    words: Vec<OsString>,
    /// Objects and libraries that rustc made and that have no hooks.
    without_hooks: Vec<String>,
}

/// One object to make.
pub(super) struct Job<'a> {
    /// For messages and IR dumps.
    pub(super) name: String,
    pub(super) bitcode: &'a [u8],
    pub(super) opt_level: u8,
}

impl<'t> Link<'t> {
    pub(super) fn new(tools: &'t Toolbox, settings: Settings, cache: Option<&Cache>) -> anyhow::Result<Self> {
        // Until the linker has read them. Without a place for it objects are made for this link alone; an IR dump is a
        // by-product that no cache holds.
        let in_use = cache.filter(|_| settings.dump_ir.is_none()).and_then(|cache| cache.in_use().ok());
        Ok(Self { tools, scratch: Scratch::new()?, settings, cache: in_use })
    }

    /// The linker with these words.
    fn linker(&self, words: &[OsString], file: &str) -> anyhow::Result<Command> {
        let file = self.scratch.file(file);
        fs::write(&file, response::quote(words)).with_context(|| format!("cannot write {}", file.display()))?;
        let chosen = self.settings.linker.clone();
        let mut linker = Command::new(chosen.map_or_else(|| real_linker(self.tools), |linker| Ok(linker.into()))?);
        linker.arg(execute::joined("@", file.as_os_str()));
        Settings::remove_from(&mut linker);
        Ok(linker)
    }

    /// Links the program as rustc wants it, without hooks; gives what the one with hooks says of it.
    fn twin(&self, args: &[OsString], program: &Path) -> anyhow::Result<Option<String>> {
        let inputs = Inputs::new(&self.scratch, &twin::Twins);
        let is_input = |word: &OsString| Path::new(word).extension().is_some_and(|end| end == "rlib" || end == "a");
        let directories = plan_link::directories(&arguments::parse(args));
        let mut archives = plan_link::Archives::default();
        let mut words = vec![header::inert(&self.scratch)?.into()];
        for word in args {
            archives.see(std::slice::from_ref(word));
            words.extend(match word.as_encoded_bytes() {
                // By debug information samples have lines, and inlined functions of their own.
                b"-Wl,--strip-debug" | b"-Wl,--strip-all" => Vec::new(),
                [b'-', b'l', ..] => inputs.library(std::slice::from_ref(word), archives.only, &directories)?,
                _ if is_input(word) => inputs.words(word)?,
                _ => vec![word.clone()],
            });
        }
        let path = twin::path(program);
        words.extend(["-o".into(), path.clone().into()]);
        twin::link(&mut self.linker(&words, "arguments-of-twin")?, &path)
    }

    fn replace(&self, words: &[Word]) -> anyhow::Result<Replaced> {
        // Bitcode beside objects, which must live as long as the jobs.
        let beside = words.iter().map(read_beside).collect::<anyhow::Result<Vec<_>>>()?;
        let mut jobs = Vec::new();
        let mut without_hooks = Vec::new();
        let mut plans = Vec::new();
        for (word, beside) in words.iter().zip(&beside) {
            plans.push(self.plan(word, beside.as_deref(), &mut jobs, &mut without_hooks)?);
        }
        if jobs.is_empty() {
            bail!("no object of this link has bitcode, so nothing can carry hooks: {}", without_hooks.join(", "));
        }
        let objects = self.make(&jobs)?;
        let words = plans.iter().enumerate().map(|(index, plan)| self.word(index, plan, &objects));
        Ok(Replaced { words: words.collect::<anyhow::Result<_>>()?, without_hooks })
    }

    fn plan<'a>(
        &self,
        word: &'a Word,
        beside: Option<&'a [u8]>,
        jobs: &mut Vec<Job<'a>>,
        without_hooks: &mut Vec<String>,
    ) -> anyhow::Result<Plan<'a>> {
        let mut job = |name: &str, bitcode, opt_level| {
            jobs.push(Job { name: name.to_owned(), bitcode, opt_level });
            jobs.len() - 1
        };
        match word {
            Word::Other(word) => {
                // rustc names the standard library's shared copy with `-C prefer-dynamic` and for plug-ins.
                if word.to_str().is_some_and(|word| word.starts_with("-lstd-")) {
                    without_hooks.push("the standard library's shared object".into());
                }
                Ok(Plan::Keep(word))
            }
            Word::CrateObject { path, content } => {
                let name = file_name(path);
                match (rlib::kind_of(name, content), beside) {
                    (Kind::Bitcode(bitcode), _) | (_, Some(bitcode)) => {
                        Ok(Plan::Object(job(name, bitcode, self.settings.opt_level)))
                    }
                    // The shim between `alloc` and the allocator, which touches no memory; everything else has bitcode.
                    (Kind::Text(text), None) if !rlib::is_codegen_unit(name) => {
                        Ok(Plan::Made(self.compile(name, &text)?))
                    }
                    (Kind::WithoutBitcode | Kind::Text(_), None) => bail!(
                        "{}: rustc left no bitcode for this object, so it cannot carry hooks (is `-C linker-plugin-lto` on?)",
                        path.display()
                    ),
                    _ => Ok(Plan::Keep(path.as_os_str())),
                }
            }
            Word::Library { path, content } => {
                let standard = is_standard(path);
                // The standard library is optimised code, which the values model cannot price. But a crate shares
                // functions with `alloc` that move its values: `RawVec<u8>::grow_one` is never inlined, and never
                // compiled again.
                let priced = self.tools.model != Model::Values || file_name(path).starts_with("liballoc-");
                if standard && (self.settings.no_std || !priced) {
                    without_hooks.push(file_name(path).to_owned());
                    return Ok(Plan::Keep(path.as_os_str()));
                }
                let opt_level = if standard { 3 } else { self.settings.opt_level };
                let mut parts = Vec::new();
                let mut foreign = 0;
                for member in rlib::members(path, content)? {
                    let replacement = match member.kind {
                        Kind::Bitcode(bitcode) => Some(job(&member.name, bitcode, opt_level)),
                        _ => None,
                    };
                    if member.kind == Kind::WithoutBitcode {
                        without_hooks.push(format!("{}({})", file_name(path), member.name));
                    }
                    // The allocator's own shim is one of rustc's objects.
                    foreign +=
                        u64::from(!standard && !member.name.ends_with(".rcgu.o") && member.is_code_without_hooks());
                    parts.push((member, replacement));
                }
                if foreign > 0 {
                    let objects = human::plural(foreign, "object");
                    without_hooks.push(format!("{} ({objects} of C or assembly)", file_name(path)));
                }
                let replaced = parts.iter().any(|(_, replacement)| replacement.is_some());
                Ok(if replaced { Plan::Library(path, parts) } else { Plan::Keep(path.as_os_str()) })
            }
        }
    }

    /// Makes all objects, or finds them in the cache; the largest first, several at a time.
    pub(super) fn make(&self, jobs: &[Job]) -> anyhow::Result<Vec<PathBuf>> {
        let tool = self.settings.tool.clone().map_or_else(tool_hash, Ok)?;
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|&index| jobs[index].bitcode.len());
        let waiting = Mutex::new(order);
        let objects = Mutex::new(vec![PathBuf::new(); jobs.len()]);
        let work = || -> anyhow::Result<()> {
            loop {
                let Some(index) = waiting.lock().map_err(|_| anyhow!("another thread failed"))?.pop() else {
                    return Ok(());
                };
                let object = self.object(index, &jobs[index], &tool)?;
                objects.lock().map_err(|_| anyhow!("another thread failed"))?[index] = object;
            }
        };
        let threads = crate::shared::processors().min(jobs.len());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
        })?;
        let objects = objects.into_inner().map_err(|_| anyhow!("another thread failed"))?;
        Ok(objects)
    }

    fn object(&self, index: usize, job: &Job, tool: &str) -> anyhow::Result<PathBuf> {
        let level = job.opt_level.to_string();
        let model = model_name(self.tools.model);
        match &self.cache {
            Some(cache) => {
                let key = Key::new(&[tool, model, &level], job.bitcode);
                cache.get(&key, |path| self.instrument(index, job, path))
            }
            None => {
                let path = self.scratch.file(&format!("{index}.o"));
                self.instrument(index, job, &path).map(|()| path)
            }
        }
    }

    /// Whole programs with their libraries are large, and each is compiled more often than it runs for long.
    fn append(&self) -> Append {
        if self.tools.model == Model::Values { Append::InPlace } else { Append::ByCall }
    }

    fn instrument(&self, index: usize, job: &Job, object: &Path) -> anyhow::Result<()> {
        let directory = self.scratch.file(&index.to_string());
        let bitcode = directory.join(format!("{}.bc", job.name.trim_end_matches(".o")));
        fs::create_dir_all(&directory)
            .and_then(|()| fs::write(&bitcode, job.bitcode))
            .with_context(|| format!("cannot write {}", bitcode.display()))?;
        self.tools
            .instrumenter
            .instrument(&Request {
                input: &bitcode,
                object,
                model: self.tools.model,
                loop_records: true,
                append: self.append(),
                opt_level: job.opt_level,
                // As rustc does on Linux.
                function_sections: true,
                flags: &format!("-Copt-level={}", job.opt_level),
                dump_ir: self.tools.dump_ir.or(self.settings.dump_ir.as_deref()),
            })
            .with_context(|| format!("cannot instrument {}", job.name))?;
        fs::remove_file(&bitcode).with_context(|| format!("cannot remove {}", bitcode.display()))
    }

    /// An object without hooks.
    fn compile(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let ir = self.scratch.file(&format!("{name}.ll"));
        fs::write(&ir, text).with_context(|| format!("cannot write {}", ir.display()))?;
        let object = self.scratch.file(name);
        let compiled = self.tools.instrumenter.compile(&ir, &object, self.settings.opt_level);
        compiled.with_context(|| format!("cannot compile {name}"))?;
        Ok(object)
    }

    fn word(&self, index: usize, plan: &Plan, objects: &[PathBuf]) -> anyhow::Result<OsString> {
        match plan {
            Plan::Keep(word) => Ok((*word).to_os_string()),
            Plan::Object(object) => Ok(objects[*object].clone().into()),
            Plan::Made(object) => Ok(object.into()),
            Plan::Library(path, members) => {
                // Under its own name, which the linker may mention.
                let directory = self.scratch.file(&format!("library{index}"));
                fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
                let archive = directory.join(file_name(path));
                let members: Vec<_> =
                    members.iter().map(|(member, object)| (member, object.map(|o| objects[o].as_path()))).collect();
                rlib::write(&archive, &members, Purpose::OneLink)?;
                Ok(archive.into())
            }
        }
    }
}

/// What becomes of a word; numbers are those of jobs.
enum Plan<'a> {
    Keep(&'a OsStr),
    Object(usize),
    Made(PathBuf),
    Library(&'a Path, Vec<(Member<'a>, Option<usize>)>),
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or("?")
}

/// Libraries that come with the toolchain are in its `lib/rustlib/<target>/lib`.
fn is_standard(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().collect();
    parts.windows(2).any(|pair| pair == ["lib", "rustlib"])
}

fn read_beside(word: &Word) -> anyhow::Result<Option<Vec<u8>>> {
    let Word::CrateObject { path, .. } = word else { return Ok(None) };
    bitcode_beside(path)
}

/// The bitcode that rustc left beside an object.
pub(super) fn bitcode_beside(object: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(found) = beside(object).into_iter().find(|candidate| candidate.is_file()) else { return Ok(None) };
    fs::read(&found).map(Some).with_context(|| format!("cannot read {}", found.display()))
}

/// Where `--emit=llvm-bc` puts the bitcode: `x.y.h-cgu.1.rcgu.bc` for one of several units, `x.bc` for the only one.
fn beside(object: &Path) -> Vec<PathBuf> {
    let Some(name) = object.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let Some(stem) = name.strip_suffix(".o") else { return Vec::new() };
    let mut candidates = vec![object.with_file_name(format!("{stem}.bc"))];
    if let Some((unit, "0.rcgu")) = stem.split_once("-cgu.") {
        let ends = unit.char_indices().filter(|&(_, c)| c == '.').map(|(at, _)| at);
        candidates.extend(
            ends.collect::<Vec<_>>().into_iter().rev().map(|end| object.with_file_name(format!("{}.bc", &unit[..end]))),
        );
    }
    candidates
}

/// Nobody but us asked for the bitcode, and what is left of one build could be taken for the next one's.
fn remove_bitcode(words: &[Word]) {
    for word in words {
        if let Word::CrateObject { path, .. } = word {
            remove_bitcode_beside(path);
        }
    }
}

pub(super) fn remove_bitcode_beside(object: &Path) {
    for file in beside(object) {
        fs::remove_file(file).ok();
    }
}

/// The linker driver that rustc would have called.
///
/// # Errors
/// When there is none.
pub(super) fn real_linker(tools: &Toolbox) -> anyhow::Result<PathBuf> {
    clang::resolve(OsStr::new("cc"))
        .or_else(|| clang::find(super::Face::C, tools.llvm_major).ok().map(|clang| clang.program))
        .ok_or_else(|| {
            anyhow!("no linker: neither cc nor clang is in PATH; install gcc or clang from the system's packages")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitcode_beside_the_object() {
        let names = |object: &str| {
            beside(Path::new(object)).into_iter().map(|p| p.to_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("/t/h.h.0123-cgu.0.rcgu.o"), ["/t/h.h.0123-cgu.0.rcgu.bc", "/t/h.h.bc", "/t/h.bc"]);
        assert_eq!(names("/t/h.h.0123-cgu.1.rcgu.o"), ["/t/h.h.0123-cgu.1.rcgu.bc"]);
        assert_eq!(names("/t/h.4fz.rcgu.o"), ["/t/h.4fz.rcgu.bc"]);
    }

    #[test]
    fn the_toolchains_own_libraries() {
        assert!(is_standard(Path::new("/r/toolchains/x/lib/rustlib/x86_64-unknown-linux-gnu/lib/libstd-1.rlib")));
        assert!(!is_standard(Path::new("/home/rustlib/target/release/deps/liba-1.rlib")));
    }
}
