//! `dmdprof doctor`: what this machine has, what is missing and what to do about it.
//!
//! Takes the answer about LLVM from the instrumentation and looks for the rest itself; gives a [`Diagnosis`], which
//! says whether the main job can run (instrument, link, run), and a table of it. A missing optional part is a note, no
//! failure.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::PathBuf,
    process::{Command, Stdio},
};

use comfy_table::{ContentArrangement, Table, presets};
use dmdprof_instrument::llvm::{NEWEST, OLDEST};
use serde::Serialize;

use super::{Face, cargo::Rustc, clang, rlib, scratch};

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing is missing.
    Ok,
    /// Something that only some uses need is missing.
    Note,
    /// The main job cannot run.
    Problem,
}

/// One thing that dmdprof needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked for.
    pub name: &'static str,
    /// Whether that will do.
    pub status: Status,
    /// What there is: a version, a path, a limit.
    pub found: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
}

impl Check {
    /// What was found, or what there is instead; then how bad that is, and what to do about it.
    fn new(name: &'static str, found: Result<String, String>, status: Status, advice: impl Into<String>) -> Self {
        match found {
            Ok(found) => Self { name, status: Status::Ok, found, advice: String::new() },
            Err(found) => Self { name, status, found, advice: advice.into() },
        }
    }
}

/// Everything that `dmdprof doctor` says.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Of the JSON document.
    pub schema_version: u32,
    /// Of dmdprof.
    pub version: &'static str,
    /// Can the main job run?
    pub ok: bool,
    /// In the order in which they are printed.
    pub checks: Vec<Check>,
}

/// Answer about LLVM: the library's path and version, or why there is none.
pub type LlvmAnswer = Result<(PathBuf, String), String>;

/// Checks.
#[must_use]
pub fn diagnose(llvm: LlvmAnswer, emulator: Result<String, String>, llvm_major: fn() -> u32) -> Diagnosis {
    let mut checks = vec![rustc(), llvm_library(llvm)];
    checks.extend(rust_programs(llvm_major()));
    checks.extend(clangs(llvm_major));
    checks.extend([
        linker(),
        temporary_files(),
        proc_files(),
        shared_memory(),
        channel_size(),
        fixed_layout(),
        valgrind(),
        emulator_of_programs(emulator),
    ]);
    let ok = checks.iter().all(|check| check.status != Status::Problem);
    Diagnosis { schema_version: 1, version: env!("CARGO_PKG_VERSION"), ok, checks }
}

/// Runs programs without hooks; only those need it.
fn emulator_of_programs(answer: Result<String, String>) -> Check {
    let advice = "programs without hooks are profiled under QEMU's user emulator: apt install qemu-user";
    Check::new("emulator", answer, Status::Note, advice)
}

/// For people. Without a width, one line per check.
#[must_use]
pub fn table(diagnosis: &Diagnosis, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for check in &diagnosis.checks {
        let status = match check.status {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Problem => "PROBLEM",
        };
        table.add_row([check.name, status, &check.found]);
    }
    let mut text: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    for check in diagnosis.checks.iter().filter(|check| !check.advice.is_empty()) {
        text.push_str(&format!("\n{}: {}\n", check.name, check.advice));
    }
    text.push_str(if diagnosis.ok { "\nReady." } else { "\nNot ready: mend the problems above first." });
    text
}

/// Source files are built there, and programs without hooks load the hooks from there.
fn temporary_files() -> Check {
    let usual = env::temp_dir();
    let found = match scratch::directory_for_programs() {
        Some(found) if found == usual => Ok(found.display().to_string()),
        Some(found) => Ok(format!("{} for programs, because {} is mounted noexec", found.display(), usual.display())),
        None => Err("no place for programs".into()),
    };
    Check::new("temporary files", found, Status::Problem, scratch::NO_PROGRAMS)
}

/// The version of a program that only some uses need.
fn version(name: &'static str, program: OsString, option: &str, advice: &str) -> Check {
    let found = first_line(Command::new(program).arg(option)).ok_or_else(|| "not found".to_owned());
    Check::new(name, found, Status::Note, advice)
}

fn rustc_program() -> OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

fn rustc() -> Check {
    let advice = "needed for Rust programs only: install a toolchain from https://rustup.rs, or set RUSTC";
    version("rustc", rustc_program(), "-V", advice)
}

/// What whole Rust programs need: Cargo, a rustc whose bitcode can be read, and a standard library that carries its
/// bitcode.
fn rust_programs(llvm_major: u32) -> Vec<Check> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let advice = "dmdprof cargo needs it: install a toolchain from https://rustup.rs";
    let cargo = version("cargo", cargo, "-V", advice);
    let Ok(rustc) = Rustc::ask(None) else { return vec![cargo] };
    let mut checks = vec![cargo, rustc_bitcode(&rustc, llvm_major)];
    let sysroot = first_line(Command::new(rustc_program()).args(["--print", "sysroot"]));
    checks.extend(sysroot.map(|sysroot| standard_library(sysroot.as_ref(), &rustc.host)));
    checks
}

fn rustc_bitcode(rustc: &Rustc, llvm_major: u32) -> Check {
    let (found, advice) = match rustc.llvm_major {
        Some(major) if major > llvm_major => (
            Err(format!("of LLVM {major}")),
            format!(
                "Rust code cannot be instrumented, because LLVM {llvm_major} cannot read it: use a toolchain with LLVM {llvm_major} or older \
                 (dmdprof cargo +stable run), or a newer dmdprof"
            ),
        ),
        Some(major) => (Ok(format!("of LLVM {major}, readable")), String::new()),
        None => (Err("rustc does not say which LLVM it has (another code generator?)".into()), String::new()),
    };
    Check::new("rustc's bitcode", found, Status::Note, advice)
}

/// Whether the standard library for this machine is there with bitcode. Toolchains of rustup carry it; those of
/// distributions may not.
fn standard_library(sysroot: &std::path::Path, host: &str) -> Check {
    let directory = sysroot.join("lib/rustlib").join(host).join("lib");
    let libraries = fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let std = libraries.into_iter().find(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    });
    let advice = "the standard library then has no hooks of its own, except for what is generic or inlined, and reports name it: \
                  toolchains of rustup carry the bitcode (rustup toolchain install stable)";
    let has_bitcode = |std: &PathBuf| {
        let content = fs::read(std).unwrap_or_default();
        let members = rlib::members(std, &content).unwrap_or_default();
        members.iter().any(|member| matches!(member.kind, rlib::Kind::Bitcode(_)))
    };
    let found = match std {
        None => Err(format!("not found in {}", directory.display())),
        Some(std) if has_bitcode(&std) => Ok(format!("with bitcode, {host}")),
        Some(std) => Err(format!("without bitcode, {}", std.display())),
    };
    Check::new("std for Rust", found, Status::Note, advice)
}

fn llvm_library(llvm: LlvmAnswer) -> Check {
    let advice = format!(
        "nothing can be instrumented without a libLLVM of version {OLDEST} to {NEWEST}: for C and C++, install clang from the system's \
         packages, which brings one (apt install clang); for Rust, install a toolchain that carries it (rustup toolchain install \
         stable); or set DMDPROF_LLVM to a libLLVM or its directory, such as /usr/lib/llvm-{OLDEST}/lib"
    );
    let found = llvm.map(|(path, version)| format!("{version}, {}", path.display()));
    Check::new("LLVM library", found, Status::Problem, advice)
}

fn clangs(llvm_major: fn() -> u32) -> Vec<Check> {
    let chosen = clang::find(Face::C, llvm_major);
    let llvm_major = llvm_major();
    let used = chosen.as_ref().ok().map(|clang| clang.program.clone());
    let why = chosen.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let found = chosen.map(|clang| format!("{}, {}", clang.major, clang.program.display()));
    let found = found.map_err(|_| "none to use for C and C++; Rust and bitcode work without".to_owned());
    let mut checks = vec![Check::new("clang", found, Status::Note, why)];
    for (program, major) in clang::all(llvm_major).into_iter().filter(|(program, _)| Some(program) != used.as_ref()) {
        let found = match major {
            Some(major) if major > llvm_major => {
                format!("{major}, {} (newer than LLVM {llvm_major}: unusable)", program.display())
            }
            Some(major) => format!("{major}, {} (not used; DMDPROF_CLANG would choose it)", program.display()),
            None => format!("{} (does not answer as clang does)", program.display()),
        };
        checks.push(Check::new("  also found", Ok(found), Status::Ok, ""));
    }
    checks
}

fn linker() -> Check {
    let found: Vec<String> = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"]
        .iter()
        .filter(|ld| clang::resolve(OsStr::new(ld)).is_some())
        .map(|ld| (*ld).to_owned())
        .collect();
    let driver = ["cc", "clang"].into_iter().find(|cc| clang::resolve(OsStr::new(cc)).is_some());
    let (found, missing) = match (found.iter().any(|ld| ld == "ld" || ld == "ld.lld"), driver) {
        (true, Some(driver)) => (Ok(format!("{} (called through {driver})", found.join(", "))), ""),
        (false, _) => (Err("no ld in PATH".into()), "binutils or lld"),
        (true, None) => (Err("neither cc nor clang in PATH".into()), "gcc or clang"),
    };
    let advice = format!("programs cannot be linked: install {missing} from the system's packages");
    Check::new("linker", found, Status::Problem, advice)
}

fn proc_files() -> Check {
    let found = fs::read_link("/proc/self/exe").and_then(|_| fs::read("/proc/self/maps"));
    let found = found.map(|_| "readable".to_owned()).map_err(|error| error.to_string());
    let advice = "without /proc, programs find dmdprof only if nobody closes the descriptor that they inherit: mount it (mount -t proc \
                  proc /proc), or allow it in the sandbox";
    Check::new("/proc", found, Status::Note, advice)
}

/// The channel is a memory file that the program inherits, or opens through `/proc`.
fn shared_memory() -> Check {
    let probe = || -> io::Result<()> {
        let fd = rustix::fs::memfd_create("dmdprof-doctor", rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(rustix::fs::ftruncate(&fd, dmdprof_runtime::abi::RINGS_OFFSET as u64)?)
    };
    let found = probe().map(|()| format!("memfd usable; {}", available_memory()));
    let advice = "the program and dmdprof share a memory file: allow memfd_create (container or seccomp settings)";
    Check::new("shared memory", found.map_err(|error| format!("memfd: {error}")), Status::Problem, advice)
}

/// The memory file is sparse but large, and is mapped ring by ring.
fn channel_size() -> Check {
    let needed = dmdprof_runtime::abi::CHANNEL_BYTES;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    let found = match limit {
        Some(limit) if limit < needed => {
            Err(format!("{limit} bytes, but the sparse memory file of a run is {needed} bytes"))
        }
        Some(limit) => Ok(format!("{limit} bytes")),
        None => Ok("unlimited".into()),
    };
    let advice = "raise it in the shell that starts dmdprof: ulimit -f unlimited";
    Check::new("file size limit", found, Status::Problem, advice)
}

fn available_memory() -> String {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kb| format!("{} MiB available", kb >> 10));
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .filter(|&bytes| bytes < 1 << 50)
        .map(|bytes| format!(", {} MiB allowed to this group", bytes >> 20));
    format!("{}{}", available.unwrap_or_else(|| "amount unknown".to_owned()), limit.unwrap_or_default())
}

/// Tried on a process of its own: `setarch -R` does what `run` will do.
fn fixed_layout() -> Check {
    const ADVICE: &str = "addresses vary from run to run. Bytes do not depend on them unless the program looks at \
                          addresses itself, and `dmdprof check` starts a program until its stack begins where it \
                          always does, so that lines do not vary either; in a container, allow the personality system \
                          call (docker: --security-opt seccomp=unconfined)";
    let (found, advice) = match clang::resolve(OsStr::new("setarch")) {
        None => (Err("not tried: setarch is not installed".into()), ""),
        Some(setarch) if first_line(Command::new(&setarch).args(["x86_64", "-R", "echo", "allowed"])).is_some() => {
            (Ok("personality(ADDR_NO_RANDOMIZE) allowed".into()), "")
        }
        Some(_) => (Err("personality(ADDR_NO_RANDOMIZE) is not allowed".into()), ADVICE),
    };
    Check::new("fixed layout", found, Status::Note, advice)
}

fn valgrind() -> Check {
    let found = first_line(Command::new("valgrind").arg("--version"));
    let found = found.ok_or_else(|| "not found (optional: only used to compare results)".to_owned());
    Check::new("valgrind", found, Status::Note, "")
}

fn first_line(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
