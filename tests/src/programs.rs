//! The programs that are profiled: how to get their sources, how to build them, how to run them.
//!
//! A [`Program`] is a recipe; [`Program::build`] compiles it with a [`Compiler`] into the shared cache, one object per
//! source, and gives the executable. The cache key covers the compiler (its path, size and time), all flags, and size
//! and time of every source, so that a second test run compiles nothing and a rebuilt `dmdprof` compiles again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::UNIX_EPOCH;

use crate::tool::{cache_dir, clang, describe, dmdprof_path, in_tests, repository};

/// A C and C++ compiler command.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// For directory names.
    pub name: &'static str,
    pub cc: Vec<OsString>,
    pub cxx: Vec<OsString>,
    /// Behind all other flags.
    pub last: Vec<OsString>,
}

impl Compiler {
    /// Plain clang.
    #[must_use]
    pub fn native() -> Self {
        Self { name: "native", cc: vec![clang(false).into()], cxx: vec![clang(true).into()], last: Vec::new() }
    }

    /// Plain clang in a hurry, for programs whose output alone matters: it does not depend on the optimiser.
    #[must_use]
    pub fn unoptimised() -> Self {
        Self { name: "unoptimised", last: vec!["-O0".into()], ..Self::native() }
    }

    /// `dmdprof cc` and `dmdprof c++` over the same clang.
    #[must_use]
    pub fn dmdprof() -> Self {
        // They look for clang themselves; a missing one must be a clear failure of ours.
        let _ = (clang(false), clang(true));
        let tool = |mode: &str| vec![dmdprof_path().into(), mode.into()];
        Self { name: "dmdprof", cc: tool("cc"), cxx: tool("c++"), last: Vec::new() }
    }

    /// The same, with marked loops.
    #[must_use]
    pub fn dmdprof_loops() -> Self {
        let mut compiler = Self::dmdprof();
        compiler.name = "loops";
        compiler.cc.push("--dmdprof-loops".into());
        compiler.cxx.push("--dmdprof-loops".into());
        compiler
    }

    /// The same, of programs that can draw a sample.
    #[must_use]
    pub fn dmdprof_sample() -> Self {
        let mut compiler = Self::dmdprof();
        compiler.name = "sample";
        compiler.cc.push("--dmdprof-sample".into());
        compiler.cxx.push("--dmdprof-sample".into());
        compiler
    }

    fn command(&self, cpp: bool) -> Command {
        let words = if cpp { &self.cxx } else { &self.cc };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }
}

/// A recipe.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub name: String,
    pub sources: Vec<PathBuf>,
    pub include: Vec<PathBuf>,
    /// `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Further compiler flags, besides `-O2 -g`.
    pub flags: Vec<String>,
    /// Linker flags.
    pub libraries: Vec<String>,
    /// Arguments of the run.
    pub args: Vec<String>,
    /// Functions that must appear in its profile.
    pub functions: Vec<&'static str>,
}

impl Program {
    /// A program of one file and no arguments.
    #[must_use]
    pub fn from_source(source: PathBuf) -> Self {
        let name = source.file_stem().expect("a file").to_string_lossy().into_owned();
        Self { name, sources: vec![source], ..Self::default() }
    }

    #[must_use]
    pub fn defines<D: Into<String>>(mut self, defines: impl IntoIterator<Item = D>) -> Self {
        self.defines.extend(defines.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    fn is_cpp(&self) -> bool {
        self.sources.iter().any(|s| is_cpp(s))
    }

    fn compile_flags(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = vec!["-O2".into(), "-gdwarf-4".into(), "-w".into()];
        flags.extend(self.flags.iter().map(Into::into));
        flags.extend(self.include.iter().map(|dir| prefixed("-I", dir)));
        flags.extend(self.defines.iter().map(|define| prefixed("-D", Path::new(define))));
        flags
    }

    /// The executable with hooks.
    #[must_use]
    pub fn hooked(&self) -> PathBuf {
        self.build(&Compiler::dmdprof())
    }

    /// The executable, compiled now or before.
    #[must_use]
    pub fn build(&self, compiler: &Compiler) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (&compiler.cc, &compiler.cxx, self.compile_flags(), &compiler.last, &self.libraries).hash(&mut hasher);
        for file in compiler.cc.iter().chain(&compiler.cxx).map(Path::new).filter(|p| p.is_absolute()) {
            stamp(file).hash(&mut hasher);
        }
        for file in &self.sources {
            (file, stamp(file)).hash(&mut hasher);
            for header in headers_beside(file) {
                stamp(&header).hash(&mut hasher);
            }
        }
        let directory = cache_dir().join(format!("{}-{}-{:016x}", self.name, compiler.name, hasher.finish()));
        fs::create_dir_all(&directory).expect("the cache directory can be made");
        let executable = directory.join(&self.name);
        // Other test processes may want the same program: the first builds, the others wait.
        let lock = File::create(directory.join("lock")).expect("a lock file");
        lock.lock().expect("the cache can be locked");
        if !executable.exists() {
            self.compile(compiler, &directory, &executable);
        }
        executable
    }

    fn compile(&self, compiler: &Compiler, directory: &Path, executable: &Path) {
        let todo = Mutex::new(self.sources.iter().enumerate());
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(self.sources.len());
        let object = |i: usize| directory.join(format!("{i}.o"));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let Some((i, source)) = todo.lock().expect("no worker panics here").next() else { return };
                        let mut command = compiler.command(is_cpp(source));
                        command
                            .args(self.compile_flags())
                            .args(&compiler.last)
                            .arg("-c")
                            .arg(source)
                            .arg("-o")
                            .arg(object(i));
                        run(&mut command);
                    }
                });
            }
        });
        let unfinished = directory.join("linking");
        let mut command = compiler.command(self.is_cpp());
        command.args((0..self.sources.len()).map(object)).arg("-o").arg(&unfinished).args(&self.libraries);
        run(&mut command);
        fs::rename(&unfinished, executable).expect("the executable can be put in its place");
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    assert!(output.status.success(), "{command:?}\n{}", describe(&output));
    assert!(output.stderr.is_empty(), "the compiler is not silent: {command:?}\n{}", describe(&output));
}

fn is_cpp(source: &Path) -> bool {
    source.extension().is_some_and(|e| e == "cpp")
}

fn prefixed(prefix: &str, rest: &Path) -> OsString {
    let mut word = OsString::from(prefix);
    word.push(rest);
    word
}

/// Size and time of a file.
fn stamp(path: &Path) -> (u64, u128) {
    let data = fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let time = data.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    (data.len(), time.map_or(0, |t| t.as_nanos()))
}

fn headers_beside(source: &Path) -> Vec<PathBuf> {
    let directory = source.parent().expect("a source has a directory");
    let mut headers: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "h"))
        .collect();
    headers.sort();
    headers
}

/// The kernels of a PolyBench/C 4 directory, with its medium data sets.
#[must_use]
pub fn polybench(directory: &Path) -> Vec<Program> {
    let utilities = directory.join("utilities");
    let list = utilities.join("benchmark_list");
    let list = fs::read_to_string(&list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let kernel = |line: &str| {
        let source = directory.join(line.trim());
        let own = source.parent().expect("a source has a directory").to_owned();
        let mut program = Program::from_source(source);
        program.sources.push(utilities.join("polybench.c"));
        program.include = vec![utilities.clone(), own];
        program.libraries = vec!["-lm".into()];
        program.defines(["MEDIUM_DATASET"])
    };
    list.lines().filter(|line| !line.trim().is_empty()).map(kernel).collect()
}

/// Source directory of a crate that `tests/programs/Cargo.toml` names.
#[must_use]
pub fn bundled(package: &str) -> PathBuf {
    static SOURCES: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let sources = SOURCES.get_or_init(|| {
        let manifest = in_tests("programs/Cargo.toml");
        let cargo = |command: &str, more: &[&str]| {
            let output = Command::new(env!("CARGO"))
                .args([command, "--locked", "--manifest-path"])
                .arg(&manifest)
                .args(more)
                .current_dir(repository())
                .output()
                .unwrap_or_else(|e| panic!("cannot start cargo {command}: {e}"));
            assert!(
                output.status.success(),
                "cannot get the sources of the real programs: they come from crates.io by `cargo {command}`, which needs \
                 the network once\n{}",
                describe(&output)
            );
            output.stdout
        };
        cargo("fetch", &[]);
        let metadata = cargo("metadata", &["--format-version", "1", "--offline"]);
        let metadata: serde_json::Value = serde_json::from_slice(&metadata).expect("cargo metadata is JSON");
        let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
        let one = |p: &serde_json::Value| {
            let manifest = Path::new(p["manifest_path"].as_str()?);
            Some((p["name"].as_str()?.to_owned(), manifest.parent()?.to_path_buf()))
        };
        packages.iter().filter_map(one).collect()
    });
    sources.get(package).unwrap_or_else(|| panic!("tests/programs/Cargo.toml does not name {package}")).clone()
}

/// Files `names` with suffix `.c` in a directory; each must be there.
fn c_files(directory: &Path, names: &[&str]) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = names.iter().map(|name| directory.join(format!("{name}.c"))).collect();
    for file in &files {
        assert!(file.is_file(), "{} is missing: has the crate moved its sources?", file.display());
    }
    files
}

fn driver(name: &str) -> PathBuf {
    in_tests("programs/drivers").join(name)
}

#[must_use]
pub fn sqlite() -> Program {
    let directory = bundled("libsqlite3-sys").join("sqlite3");
    let mut sources = c_files(&directory, &["sqlite3"]);
    sources.extend(["sqlite.c", "sqlite_threads.c"].map(driver));
    Program {
        name: "sqlite".into(),
        sources,
        include: vec![directory],
        defines: vec!["SQLITE_OMIT_LOAD_EXTENSION".into()],
        // The optimiser's next level takes a quarter longer for 250,000 lines.
        flags: vec!["-O1".into()],
        libraries: vec!["-lm".into(), "-pthread".into()],
        args: vec!["sqlite.db".into()],
        functions: vec!["sqlite3VdbeExec", "sqlite3BtreeInsert", "sqlite3_step"],
    }
}

#[must_use]
pub fn zlib() -> Program {
    let directory = bundled("libz-sys").join("src/zlib");
    let names =
        ["adler32", "compress", "crc32", "deflate", "inffast", "inflate", "inftrees", "trees", "uncompr", "zutil"];
    let mut sources = c_files(&directory, &names);
    sources.extend(["zlib.c", "zlib_threads.c"].map(driver));
    Program {
        name: "zlib".into(),
        sources,
        include: vec![directory],
        defines: vec!["HAVE_UNISTD_H".into()],
        libraries: vec!["-pthread".into()],
        functions: vec!["inflate_fast", "deflate_slow", "main"],
        ..Program::default()
    }
}

#[must_use]
pub fn bzip2() -> Program {
    let directory = bundled("bzip2-sys").join("bzip2-1.0.8");
    let names = ["blocksort", "compress", "crctable", "decompress", "huffman", "randtable", "bzlib"];
    let mut sources = c_files(&directory, &names);
    sources.push(driver("bzip2.c"));
    Program {
        name: "bzip2".into(),
        sources,
        include: vec![directory],
        defines: vec!["BZ_NO_STDIO".into()],
        functions: vec!["BZ2_blockSort", "BZ2_decompress", "BZ2_compressBlock"],
        ..Program::default()
    }
}

#[must_use]
pub fn lua() -> Program {
    let directory = bundled("lua-src").join("lua-5.4.7");
    let names = [
        "lapi", "lauxlib", "lbaselib", "lcode", "lcorolib", "lctype", "ldblib", "ldebug", "ldo", "ldump", "lfunc",
        "lgc", "linit", "liolib", "llex", "lmathlib", "lmem", "loadlib", "lobject", "lopcodes", "loslib", "lparser",
        "lstate", "lstring", "lstrlib", "ltable", "ltablib", "ltm", "lundump", "lutf8lib", "lvm", "lzio",
    ];
    let mut sources = c_files(&directory, &names);
    sources.push(driver("lua.c"));
    Program {
        name: "lua".into(),
        sources,
        include: vec![directory],
        // The default seed is made of addresses and the time.
        defines: vec!["LUA_USE_POSIX".into(), "luai_makeseed(L)=42u".into()],
        libraries: vec!["-lm".into()],
        args: vec![driver("script.lua").to_string_lossy().into_owned()],
        functions: vec!["luaV_execute", "luaD_throw", "luaH_getstr"],
        ..Program::default()
    }
}

/// The seven programs that benchmarks are about.
#[must_use]
pub fn seven() -> [Program; 7] {
    // As people build it.
    let sqlite = Program { flags: Vec::new(), ..sqlite() };
    [bench("matmul"), bench("stencil"), bench("hash"), sqlite, zlib(), bzip2(), lua()]
}

/// Three programs more, whose lines come in other orders: a tree, records and hash chains, a sparse matrix.
#[must_use]
pub fn ten() -> Vec<Program> {
    seven().into_iter().chain(["tree", "compress", "spmv"].map(bench)).collect()
}

/// Lua with a script that takes a moment.
#[must_use]
pub fn short_lua() -> Program {
    Program { args: vec![driver("short.lua").to_string_lossy().into_owned()], ..lua() }
}

/// A C++ driver: `exceptions`, `threads`, `containers` or `virtual`.
#[must_use]
pub fn cpp(name: &str) -> Program {
    let mut program = Program::from_source(driver(&format!("{name}.cpp")));
    program.flags = vec!["-std=c++17".into(), "-pthread".into()];
    program.libraries = vec!["-pthread".into()];
    program.functions = vec!["main"];
    program
}

/// A benchmark workload: `matmul`, `stencil`, `hash`, `tree`, `compress`, `spmv` or `empty`, compiled without
/// vectorisation.
#[must_use]
pub fn bench(name: &str) -> Program {
    let mut program = Program::from_source(in_tests("programs/bench").join(format!("{name}.c")));
    program.flags = vec!["-fno-vectorize".into(), "-fno-slp-vectorize".into()];
    program
}

/// A program in C of `tests/truth`, whose numbers are derived.
#[must_use]
pub fn truth(source: &str) -> Program {
    let mut program = Program::from_source(in_tests("truth").join(source));
    program.name = format!("truth-{}", program.name);
    program
}

/// A program of `tests/programs/cases`: a small one that does something unusual.
#[must_use]
pub fn case(name: &str) -> Program {
    let mut program = Program::from_source(in_tests("programs/cases").join(format!("{name}.c")));
    program.flags = vec!["-pthread".into()];
    program.libraries = vec!["-pthread".into()];
    program
}

/// The same with OpenMP.
#[must_use]
pub fn openmp(name: &str) -> Program {
    let mut program = case(name);
    program.flags = vec!["-fopenmp".into()];
    program.libraries = vec!["-fopenmp".into()];
    program
}

/// The fast ways of the analysis that `--without` leaves out.
pub const WAYS: [&str; 7] = ["blocks", "runs", "moves", "skips", "batches", "vectors", "narrow"];
