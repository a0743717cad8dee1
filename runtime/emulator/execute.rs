//! Programs that the program starts: they run under the emulator too.
//!
//! The emulator hands `execve` to the system, which would run the new program by itself. So, before the call is made,
//! the process becomes an emulator of that program, with the same options. Programs that have hooks, and those that
//! have more rights than their user, start as they would; what cannot be started is left to the call, which fails as
//! it always does.

use std::{
    ffi::{CStr, CString, c_char},
    fs::{self, File},
    io::Read,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process,
    sync::OnceLock,
};

use dmdprof_hooks::emulator::{self, unmeasured};

use crate::sections::Sections;

/// A part of the name of the library that is loaded into emulated programs.
pub const LIBRARY: &str = "dmdprof-allocations-";

unsafe extern "C" {
    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> i32;
}

/// Ends the emulator's own options.
const NAME_OPTION: &CStr = c"-0";
/// Scripts of scripts, as the kernel follows them.
const DEEPEST: usize = 5;

/// The emulator's own options, and the file of the program that it runs.
fn started() -> (Vec<CString>, Option<PathBuf>) {
    let words = fs::read("/proc/self/cmdline").unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).filter_map(|word| CString::new(word).ok());
    let options = words.by_ref().take_while(|word| word.as_c_str() != NAME_OPTION).collect();
    // Before it is what the program is called.
    let program = words.nth(1).and_then(|path| fs::canonicalize(path_of(&path)).ok());
    (options, program)
}

/// The file of the program that runs: its `/proc/self/exe`, which is the emulator's to others.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Remembers which program this is, as long as its name is what it was when it was started.
pub fn remember() {
    if let (_, Some(program)) = started() {
        PROGRAM.get_or_init(|| program);
    }
}

/// Whether this program was started with the library that is loaded into emulated programs, and can load it.
pub fn has_library() -> bool {
    let sections = PROGRAM.get().and_then(|program| Sections::read_file(program.as_path()));
    started().0.iter().any(|word| has_ours(word.to_bytes())) && sections.is_some_and(|sections| sections.has(".interp"))
}

/// A text names the library.
fn has_ours(text: &[u8]) -> bool {
    text.windows(LIBRARY.len()).any(|window| window == LIBRARY.as_bytes())
}

/// How a program is started.
enum How {
    /// By an emulator of this processor.
    Emulated(&'static str),
    /// As it is.
    Alone,
}

/// Where a path begins that a call of `execve` has: at the working directory.
pub const HERE: u64 = -100i64 as u64;

/// Starts the program of a call of `execveat` in the place of this process; comes back if that is left to the call.
pub fn instead([directory, path, arguments, environment, flags, _]: [u64; 6]) {
    const EMPTY_PATH: u64 = 0x1000;
    if path == 0 {
        return;
    }
    // SAFETY: the program passes these to the system, which reads the same; it has the emulator's own addresses.
    let (path, lists) =
        unsafe { (CStr::from_ptr(path as *const c_char).to_owned(), [list(arguments), list(environment)]) };
    let directory = directory as i32;
    let of_descriptor = |rest: &[u8]| CString::new([format!("/proc/self/fd/{directory}").as_bytes(), rest].concat());
    let path = match path.to_bytes() {
        b"" if flags & EMPTY_PATH != 0 => of_descriptor(b""),
        b"" => return,
        whole if whole[0] == b'/' || directory == HERE as i32 => Ok(path),
        name => of_descriptor(&[b"/", name].concat()),
    };
    if let Ok(path) = path {
        start(path, lists);
    }
}

/// A path that another process may open: what `/proc` has of this process is something else there. `None` = there is
/// no such path.
fn for_others(path: CString) -> Option<CString> {
    use std::os::unix::ffi::OsStrExt;
    let own = format!("/proc/{}/", process::id());
    let of_process = ["/proc/self/", "/proc/thread-self/", &own];
    let Some(rest) = of_process.iter().find_map(|prefix| path.to_bytes().strip_prefix(prefix.as_bytes())) else {
        return Some(path);
    };
    let file = if rest == b"exe" { PROGRAM.get().cloned() } else { fs::canonicalize(path_of(&path)).ok() };
    CString::new(file?.as_os_str().as_bytes()).ok()
}

fn start(path: CString, [arguments, environment]: [Vec<CString>; 2]) {
    let Some((program, mut arguments)) = interpreted(path, arguments) else { return };
    let Some(program) = for_others(program.clone()) else {
        return emulator::not_emulated(unmeasured::NO_FILE, program.to_bytes());
    };
    let Some(how) = how(&program) else { return };
    let mut library = None;
    let environment = without_library(environment, &mut library);
    let file = match how {
        How::Alone => program.clone(),
        How::Emulated(processor) => {
            let Some(mut words) = emulator_of(processor, library.as_deref()) else {
                return emulator::not_emulated(unmeasured::PROCESSOR, name_of(&program));
            };
            let name = if arguments.is_empty() { program.clone() } else { arguments.remove(0) };
            words.extend([NAME_OPTION.to_owned(), name, program.clone()]);
            let file = words[0].clone();
            words.append(&mut arguments);
            arguments = words;
            file
        }
    };
    let pointers = |words: &[CString]| -> Vec<*const c_char> {
        words.iter().map(|word| word.as_ptr()).chain([core::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(&arguments), pointers(&environment));
    // SAFETY: lists of strings that end with null.
    unsafe { execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
}

/// The strings of a list that ends with null.
///
/// # Safety
/// The address must be null or that of such a list.
unsafe fn list(address: u64) -> Vec<CString> {
    let mut words = Vec::new();
    let mut at = address as *const *const c_char;
    // SAFETY: as demanded from the caller.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            words.push(CStr::from_ptr(*at).to_owned());
            at = at.add(1);
        }
    }
    words
}

fn path_of(text: &CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

/// What a program is called without its directories.
fn name_of(program: &CStr) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    path_of(program).file_name().map_or(program.to_bytes(), OsStrExt::as_bytes)
}

/// The executable that runs a file, and its arguments; `None` = the system shall say what is wrong.
fn interpreted(mut path: CString, mut arguments: Vec<CString>) -> Option<(CString, Vec<CString>)> {
    for _ in 0..DEEPEST {
        let metadata = fs::metadata(path_of(&path)).ok()?;
        if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
            return None;
        }
        let mut head = Vec::new();
        File::open(path_of(&path)).ok()?.take(256).read_to_end(&mut head).ok()?;
        let Some(line) = head.strip_prefix(b"#!") else {
            return head.starts_with(b"\x7fELF").then_some((path, arguments));
        };
        let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
        let end = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
        let (interpreter, rest) = line.split_at(end);
        let interpreter = CString::new(interpreter).ok()?;
        let mut words = vec![interpreter.clone()];
        if !rest.trim_ascii().is_empty() {
            words.push(CString::new(rest.trim_ascii()).ok()?);
        }
        words.push(path);
        words.extend(arguments.into_iter().skip(1));
        (path, arguments) = (interpreter, words);
    }
    None
}

/// How an executable is started; `None` = the system shall say what is wrong.
fn how(program: &CStr) -> Option<How> {
    const ELEVATED: u32 = 0o6000;
    let file = File::open(path_of(program)).ok()?;
    if file.metadata().ok()?.mode() & ELEVATED != 0 {
        emulator::not_emulated(unmeasured::RIGHTS, name_of(program));
        return Some(How::Alone);
    }
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if Sections::read_file(path_of(program)).is_some_and(|sections| sections.has(dmdprof_abi::SECTION)) {
        return Some(How::Alone);
    }
    let is_64 = header[4] == 2;
    match half(18) {
        62 if is_64 => Some(How::Emulated("x86_64")),
        183 if is_64 => Some(How::Emulated("aarch64")),
        243 if is_64 => Some(How::Emulated("riscv64")),
        _ => {
            emulator::not_emulated(unmeasured::PROCESSOR, name_of(program));
            Some(How::Alone)
        }
    }
}

/// The variables without the library that is loaded into emulated programs, which is left in `library`.
fn without_library(environment: Vec<CString>, library: &mut Option<CString>) -> Vec<CString> {
    const PRELOAD: &[u8] = b"LD_PRELOAD=";
    let mut cleaned = Vec::new();
    for variable in environment {
        let Some(paths) = variable.to_bytes().strip_prefix(PRELOAD) else {
            cleaned.push(variable);
            continue;
        };
        let paths: Vec<&[u8]> =
            paths.split(|byte| matches!(byte, b':' | b' ')).filter(|path| !path.is_empty()).collect();
        *library = paths.iter().find(|path| has_ours(path)).and_then(|path| CString::new(*path).ok());
        let others: Vec<&[u8]> = paths.into_iter().filter(|path| !has_ours(path)).collect();
        if !others.is_empty() {
            cleaned.extend(CString::new([PRELOAD, &others.join(&b':')].concat()));
        }
    }
    cleaned
}

/// The words by which a program of a processor is emulated: as this one is, if it is the same processor.
fn emulator_of(processor: &str, library: Option<&CStr>) -> Option<Vec<CString>> {
    let own = fs::read_link("/proc/self/exe").ok()?;
    let mut words = started().0.into_iter();
    words.next()?;
    let name = format!("qemu-{processor}");
    let is_same = own.file_name().is_some_and(|file| file.to_string_lossy() == name);
    let file = if is_same { own } else { own.with_file_name(name) };
    file.is_file().then_some(())?;
    let mut all = vec![CString::new(file.to_str()?).ok()?];
    if is_same {
        all.extend(words);
        return Some(with_library(all, library));
    }
    // Of the options, those that are for any processor.
    let words: Vec<CString> = words.collect();
    for pair in words.windows(2).filter(|pair| matches!(pair[0].to_bytes(), b"-plugin" | b"-seed")) {
        all.extend_from_slice(pair);
    }
    all.extend([c"-L".to_owned(), CString::new(format!("/usr/{processor}-linux-gnu")).ok()?]);
    Some(all)
}

/// The words with the variable that loads the library, or without it if the program has taken it out.
fn with_library(words: Vec<CString>, library: Option<&CStr>) -> Vec<CString> {
    if library.is_some() {
        return words;
    }
    let is_variable = |word: &CString| word.to_bytes().starts_with(b"LD_PRELOAD=");
    let mut left: Vec<CString> = Vec::new();
    for word in words {
        if is_variable(&word) && left.last().is_some_and(|last| last.as_bytes() == b"-E") {
            left.pop();
        } else {
            left.push(word);
        }
    }
    left
}
