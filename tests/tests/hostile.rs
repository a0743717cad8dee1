//! Names, paths and files that mean harm: nothing hangs, nothing is overwritten, nothing obeys what a program calls its
//! functions.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dmdprof_tests::profiled::{Report, Run};
use dmdprof_tests::tool::{MOST, describe, dmdprof, in_time, scratch, succeed, under};

/// Builds a program from this source, with hooks.
fn build(directory: &Path, name: &str, source: &str) -> PathBuf {
    let file = directory.join(format!("{name}.c"));
    fs::write(&file, source).expect("written");
    let program = directory.join(name);
    succeed(dmdprof().args(["cc", "-w", "-O2", "-g"]).arg(&file).arg("-o").arg(&program));
    program
}

/// Debug information may name what cannot be a source file.
#[test]
fn pipes_and_devices_are_no_sources() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    succeed(Command::new("mkfifo").arg(at("pipe.c")));
    let function = |name: &str, file: &Path| {
        format!(
            "#line 1 \"{}\"\n__attribute__((noinline)) long {name}(volatile long *a) {{ long s = 0; for (int i = 0; i < 100; i++) s += a[i]; return s; }}\n",
            file.display()
        )
    };
    let source = function("f", &at("pipe.c"))
        + &function("g", Path::new("/dev/zero"))
        + "#line 1 \"m.c\"\nlong a[100]; int main() { return f(a) + g(a); }\n";
    let program = build(directory.path(), "program", &source);
    let profile = at("x.data");
    let output = in_time(dmdprof().args(["run", "-q", "-o"]).arg(&profile).arg(&program));
    assert!(output.status.success() && profile.is_file(), "{}", describe(&output));
    let output = in_time(dmdprof().args(["annotate", "-p"]).arg(&profile).current_dir(directory.path()));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("Sources that are not here"), "{}", describe(&output));
    assert!(text.contains("/dev/zero") && text.contains("pipe.c"), "{text}");
}

/// Terminal escapes, new lines that begin with workflow commands, directions of writing, formulas.
const EVIL: &str = r#"
#include <stdlib.h>
long f1(long *a, int n) __asm__("\033]0;pwned\007\033[31mEVIL");
__attribute__((noinline)) long f1(long *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i * 7 % n]; return s; }
long f2(long *a, int n) __asm__("nl\n::error file=x::injected");
__attribute__((noinline)) long f2(long *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i * 3 % n]; return s; }
long f3(long *a, int n) __asm__("=cmd|' /C calc'!A0");
__attribute__((noinline)) long f3(long *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i * 11 % n]; return s; }
long f4(long *a, int n) __asm__("abc\342\200\256cba");
#line 1 "evil\033]52;c;cHduZWQ=\007.c"
__attribute__((noinline)) long f4(long *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i * 5 % n]; return s; }
int main() {
  long *a = malloc(8000);
  for (int i = 0; i < 1000; i++) a[i] = i;
  return (f1(a, 1000) + f2(a, 1000) + f3(a, 1000) + f4(a, 1000)) & 1;
}
"#;

#[test]
fn names_control_nothing_that_people_read() {
    let directory = scratch();
    let program = build(directory.path(), "evil", EVIL);
    let run = in_time(
        dmdprof().args(["run", "-q", "-o", "e.data", "--flows", "--objects"]).arg(&program).current_dir(&directory),
    );
    assert!(run.status.code().is_some_and(|code| code < 2), "{}", describe(&run));
    let check = ["check", "--profile", "e.data", "--baseline", "b"];
    let save = ["check", "--profile", "e.data", "--save-baseline", "b"];
    let commands: [&[&str]; 14] = [
        &["report", "e.data"],
        &["report", "e.data", "--lines", "--hist"],
        &["report", "e.data", "--format", "csv"],
        &["report", "e.data", "--objects"],
        &["report", "e.data", "--objects", "--format", "csv"],
        &["annotate", "-p", "e.data", "--threshold", "0"],
        &["why", "-p", "e.data"],
        &["why", "-p", "e.data", "--format", "csv"],
        &["waste", "e.data"],
        &["fuse", "e.data"],
        &["roofline", "-m", "toy3", "--work", "ops", "--plot", "--svg", "r.svg", "e.data"],
        &save,
        &check,
        &[&check[..], &["--format", "md", "--markdown", "s.md", "--junit", "j.xml", "--limit", "read=0%"]].concat(),
    ];
    let mut shown = String::new();
    for command in commands {
        let output = in_time(dmdprof().args(command).current_dir(&directory).env("GITHUB_ACTIONS", "true"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("unexpected argument"), "{command:?}: {text}");
        shown += &text;
        harmless(&format!("{command:?}"), &text);
    }
    // What failed to be shown could not do any harm.
    for name in ["\\x1b]0;pwned\\x07\\x1b[31mEVIL", "nl\\n::error", "abc\\u{202e}cba", "'=cmd", "evil\\x1b]52"] {
        assert!(shown.contains(name), "{name} is nowhere");
    }
    let mut worse = fs::read_to_string(directory.path().join("dmdprof/b.toml")).expect("a baseline");
    worse = worse.replace("cost = ", "cost = 1");
    fs::write(directory.path().join("dmdprof/b.toml"), worse).expect("written");
    for format in ["table", "md"] {
        let output =
            in_time(dmdprof().args(check).args(["--format", format, "--junit", "j.xml"]).current_dir(&directory));
        harmless(format, &String::from_utf8_lossy(&output.stdout));
        harmless(format, &String::from_utf8_lossy(&output.stderr));
    }
    for file in ["r.svg", "s.md", "j.xml"] {
        harmless(file, &fs::read_to_string(directory.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}")));
    }
    let json = succeed(dmdprof().args(["report", "e.data", "--format", "json"]).current_dir(&directory));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert!(json.to_string().contains("\\u001b]0;pwned"), "JSON has the exact name:\n{json}");
}

#[track_caller]
fn harmless(what: &str, text: &str) {
    let control = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(control), "{what}: {:?}", text.chars().find(|c| control(*c)));
    let obeyed = |line: &&str| line.trim_start().starts_with("::error file=x");
    assert!(text.lines().find(obeyed).is_none(), "{what}:\n{text}");
    let is_formula = |cell: &str| what.contains("csv") && text.contains(cell);
    assert!(![",=cmd", "\"=cmd", "\n=cmd"].into_iter().any(is_formula), "{what}:\n{text}");
}

/// Whoever can put a link where results go does not choose what is overwritten.
#[test]
fn planted_links_are_refused_before_the_program_runs() {
    let directory = scratch();
    let program = build(directory.path(), "p", "int main() { volatile int a = 1; return a - 1; }\n");
    let at = |name: &str| directory.path().join(name);
    fs::write(at("precious"), "mine").expect("written");
    symlink(at("precious"), at("link")).expect("a link");
    let refused = |command: &mut Command| {
        let output = in_time(command.current_dir(&directory));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains("symbolic link to"), "{}", describe(&output));
        assert_eq!(fs::read_to_string(at("precious")).expect("there"), "mine");
    };
    refused(dmdprof().args(["run", "-q", "-o", "link"]).arg(&program));
    refused(dmdprof().args(["run", "-q", "-o", "x.data", "--save-outputs", "link"]).arg(&program));
    refused(dmdprof().args(["record", "-o", "link"]).arg(&program));
    succeed(dmdprof().args(["run", "-q", "-o", "y.data"]).arg(&program).current_dir(&directory));
    refused(dmdprof().args(["roofline", "-m", "toy3", "--work", "ops", "--svg", "link", "y.data"]));
    let through = Command::new("sh")
        .arg("-c")
        .arg(format!("{} run -q -o /dev/stdout ./p | wc -c", dmdprof().get_program().display()))
        .current_dir(&directory)
        .output()
        .expect("a shell");
    let bytes: u64 = String::from_utf8_lossy(&through.stdout).trim().parse().expect("a number");
    assert!(bytes > 100, "links of the system are followed: {bytes}");
}

/// Prints `ready`, then works until a signal ends it.
const ENDLESS: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main() {
  volatile long a[100];
  for (int i = 0; i < 100; i++) a[i] = i;
  FILE *ready = fopen("ready", "w");
  fprintf(ready, "%d\n", getpid());
  fclose(ready);
  for (;;) for (int i = 0; i < 100; i++) a[i] += i;
}
"#;

/// The number of the program that `command` runs below, once it works.
fn once_ready(directory: &Path) -> String {
    let started = Instant::now();
    loop {
        match fs::read_to_string(directory.join("ready")) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => assert!(started.elapsed() < MOST, "the program never worked"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, pid: &str) {
    succeed(Command::new("kill").args(["-s", name, pid]));
}

#[test]
fn signals_that_end_dmdprof_end_the_program_and_leave_a_profile() {
    let directory = scratch();
    let program = build(directory.path(), "endless", ENDLESS);
    let kinds: [(&str, i32, &[&str]); 4] = [
        ("TERM", 143, &["run", "-q", "-o", "x.data"]),
        ("HUP", 129, &["run", "-q", "-o", "x.data"]),
        ("TERM", 143, &["record", "-o", "x.trace"]),
        ("TERM", 143, &["check", "--save-baseline", "b", "--"]),
    ];
    for (name, code, command) in kinds {
        for file in ["ready", "x.data", "x.trace"] {
            let _ = fs::remove_file(directory.path().join(file));
        }
        // Whoever runs the tests may ignore hangups, as `nohup` does, and so would dmdprof.
        let mut env = Command::new("env");
        env.arg("--default-signal=HUP");
        let mut command = under(env, &dmdprof_with(command, &program, directory.path()));
        command.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("started");
        let pid = once_ready(directory.path());
        signal(name, &child.id().to_string());
        let output = child.wait_with_output().expect("its output");
        assert_eq!(output.status.code(), Some(code), "{command:?} {}", describe(&output));
        assert!(!Path::new("/proc").join(pid).exists(), "the program still runs after {command:?}");
        if directory.path().join("x.trace").exists() {
            succeed(dmdprof().args(["replay", "-q", "-o", "x.data", "x.trace"]).current_dir(&directory));
        }
        if !format!("{command:?}").contains("check") {
            let report = succeed(dmdprof().args(["report", "x.data"]).current_dir(&directory));
            let report = String::from_utf8_lossy(&report.stdout);
            assert!(report.contains("INCOMPLETE: killed by signal") && report.contains("main"), "{report}");
        }
    }
}

/// A program that does not want to end, ends with the second signal, and its profile is written all the same.
#[test]
fn a_second_signal_ends_the_program_hard() {
    let directory = scratch();
    let source = ENDLESS.replace("int main() {", "#include <signal.h>\nint main() { signal(SIGTERM, SIG_IGN);");
    let program = build(directory.path(), "endless", &source);
    let child = dmdprof_with(&["run", "-q", "-o", "x.data"], &program, directory.path()).spawn().expect("started");
    let pid = once_ready(directory.path());
    let started = Instant::now();
    // Two that come before the first is handled are one.
    while Path::new("/proc").join(&pid).exists() {
        assert!(started.elapsed() < MOST, "the program still runs");
        signal("TERM", &child.id().to_string());
        std::thread::sleep(Duration::from_millis(700));
    }
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(137), "{}", describe(&output));
    assert!(directory.path().join("x.data").is_file());
}

fn dmdprof_with(words: &[&str], program: &Path, directory: &Path) -> Command {
    let mut command = dmdprof();
    command.args(words).arg(program).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A handler that is left by `siglongjmp` leaves nothing behind, however often that happens.
#[test]
fn jumps_out_of_handlers_do_not_pile_up() {
    let directory = scratch();
    let source = r#"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
static sigjmp_buf back;
static volatile long count;
static void handler(int s) { count++; volatile int a[10]; for (int i = 0; i < 10; i++) a[i] = i; siglongjmp(back, 1); }
int main(int c, char **v) {
  signal(SIGUSR1, handler);
  for (volatile int k = 0; k < atoi(v[1]); k++) if (!sigsetjmp(back, 1)) raise(SIGUSR1);
  return count != atoi(v[1]);
}
"#;
    let program = build(directory.path(), "jumps", source);
    let bytes = |times: &str| {
        let data = directory.path().join(times);
        succeed(dmdprof().args(["run", "-q", "-o"]).arg(&data).arg(&program).arg(times));
        fs::metadata(&data).expect("a profile").len()
    };
    let (few, many) = (bytes("20"), bytes("2000"));
    assert!(many < few + few / 2, "the profile grows from {few} to {many} bytes");
}

/// Work that goes five to sixty frames deep, and a loop over 4 KiB that comes after each time. What is left with
/// `LEAVE` is caught with `CATCH`; without, everything returns.
const FRAMES: &str = r#"
#include <setjmp.h>
static sigjmp_buf back;
static volatile unsigned sum;
__attribute__((noinline)) static void inner(int k) {
    volatile unsigned char big[4096];
    for (int i = 0; i < 4096; i++) big[i] = (unsigned char)(i ^ k);
    sum += big[k & 4095];
    LEAVE;
}
__attribute__((noinline)) static void middle(int depth, int k) {
    volatile int local[256];
    local[k & 255] = k;
    if (depth) middle(depth - 1, k); else inner(k);
    sum += local[k & 255];
}
__attribute__((noinline)) static unsigned hot(unsigned *a) { unsigned s = 0; for (int i = 0; i < 1024; i++) s += a[i]; return s; }
unsigned a[1024];
int main() {
    for (volatile int k = 0; k < 100; k++) {
        CATCH(middle(5 + k % 8 * 8, k));
        sum += hot(a);
    }
    return 0;
}
"#;

/// Frames that are left without a return end all the same: what comes after is as deep as if they had returned.
#[test]
fn variables_end_with_frames_that_jumps_and_exceptions_leave() {
    let directory = scratch();
    let measured = |compiler: &str, name: &str, [leave, catch]: [&str; 2]| {
        let program = directory.path().join(name);
        let file = directory.path().join(if compiler == "cc" { "frames.c" } else { "frames.cc" });
        fs::write(&file, FRAMES).expect("written");
        let defines = [format!("-DLEAVE={leave}"), format!("-DCATCH(x)={catch}")];
        succeed(dmdprof().args([compiler, "-w", "-O1", "-g"]).args(defines).arg(&file).arg("-o").arg(&program));
        Run::new(&program, directory.path()).go().report
    };
    for (compiler, leaves) in [
        ("cc", ["siglongjmp(back, 1)", "if (!sigsetjmp(back, 1)) x"]),
        ("c++", ["throw k", "try { x; } catch (int) {}"]),
    ] {
        let returned = measured(compiler, "returned", ["", "x"]);
        let left = measured(compiler, "left", leaves);
        let hot = |report: &Report| {
            let mut names = report.functions().iter().filter_map(|f| f["symbols"][0].as_str());
            let symbol = names.rfind(|name| name.contains("hot")).expect("the loop").to_owned();
            report.function(&symbol).exclusive("cost")
        };
        let (expected, found) = (hot(&returned), hot(&left));
        assert!(found.abs_diff(expected) * 1000 < expected, "{compiler}: the loop costs {found}, not {expected}");
        let peaks = [returned.total("peak_live"), left.total("peak_live")];
        assert!(peaks[1].abs_diff(peaks[0]) < 64, "{compiler}: {peaks:?} bytes live at once");
        assert_eq!(left.0["coverage"]["skipped"], serde_json::json!([]), "{compiler}");
    }
}

/// The same of a panic that is caught, which runs much code of the library on its way.
#[test]
fn variables_end_with_frames_that_panics_leave() {
    let directory = scratch();
    let peak = |end: &str| {
        let source = directory.path().join("frames.rs");
        let text = format!(
            "use std::{{hint::black_box, panic::{{catch_unwind, resume_unwind}}}};
            #[inline(never)] fn work(depth: u32) -> u32 {{
                let local = black_box([depth; 256]);
                let below = if depth > 0 {{ work(depth - 1) }} else {{ {end} }};
                below + local[7]
            }}
            #[inline(never)] fn hot(a: &[u32]) -> u32 {{ a.iter().sum() }}
            fn main() {{
                let a = black_box(vec![1; 1024]);
                let all = (0..50).map(|k| catch_unwind(|| work(k % 5 * 8)).unwrap_or(0) + hot(&a));
                black_box(all.sum::<u32>());
            }}"
        );
        fs::write(&source, text).expect("written");
        let report = Run::new(&source, directory.path()).go().report;
        let mut names = report.functions().iter().filter_map(|f| f["symbols"][0].as_str());
        let symbol = names.rfind(|name| name.contains("frames") && name.contains("hot")).expect("the loop");
        report.function(symbol).exclusive("cost")
    };
    let (returned, left) = (peak("0"), peak("resume_unwind(Box::new(0u32))"));
    assert!(left.abs_diff(returned) * 20 < returned, "the loop costs {left}, not {returned}");
}

/// A stack that is switched by hand: frames on it are not gone when others run, and the report says that it cannot tell.
#[test]
fn frames_of_another_stack_stay_and_are_counted() {
    let directory = scratch();
    let source = r#"
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t home, other; static jmp_buf at_home, away; static volatile unsigned sum;
__attribute__((noinline)) static void leave(void) { if (!_setjmp(away)) _longjmp(at_home, 1); }
__attribute__((noinline)) unsigned keeps(volatile int *a) { unsigned s = 0; for (int i = 0; i < 64; i++) s += a[i]; return s; }
static void work(void) { volatile int own[64]; for (int i = 0; i < 64; i++) own[i] = i; for (;;) { leave(); sum += keeps(own); } }
__attribute__((noinline)) static void go(int first) { volatile int own[16]; own[first] = 1; if (!_setjmp(at_home)) { if (first) swapcontext(&home, &other); else _longjmp(away, 1); } sum += own[first]; }
int main() {
  getcontext(&other); other.uc_stack.ss_sp = malloc(65536); other.uc_stack.ss_size = 65536; makecontext(&other, work, 0);
  for (volatile int k = 0; k < 50; k++) go(k == 0);
  return 0;
}
"#;
    let program = build(directory.path(), "stacks", source);
    let report = Run::new(&program, directory.path()).go().report;
    assert_eq!(report.function("keeps").exclusive("cold"), 0, "its bytes have stayed on the stack");
    let reasons = report.0["coverage"]["skipped"].as_array().expect("a list");
    let unseen = reasons.iter().find(|r| r.to_string().contains("left unseen")).expect("what cannot be told");
    assert!(unseen.to_string().chars().any(|c| c.is_ascii_digit()), "{unseen}");
}
