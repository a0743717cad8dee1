//! Processes come and go, libraries come and go, programs lock themselves in: the program does what it does without
//! hooks, and everything is measured, or the report names what is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::tool::{clang, describe, dmdprof, in_time, scratch, succeed};

/// Of the user that owns nothing.
const NOBODY: u32 = 65534;

/// Costs 280: ten numbers written, then read.
const SMALL: &str = "int main(){ volatile int a[10]; for(int i=0;i<10;i++)a[i]=i; int s=0; for(int i=0;i<10;i++) s+=a[i]; return s!=45; }";

/// Compiles a source with `compiler`.
fn compile(mut compiler: Command, directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let file = directory.join(format!("{name}.{}", if source.contains("//c++") { "cc" } else { "c" }));
    fs::write(&file, source).expect("written");
    let output = directory.join(name);
    succeed(compiler.args(["-w", "-O2", "-g"]).arg(&file).arg("-o").arg(&output).args(options).current_dir(directory));
    output
}

fn hooked(cpp: bool) -> Command {
    let mut command = dmdprof();
    command.arg(if cpp { "c++" } else { "cc" });
    command
}

fn plain(cpp: bool) -> Command {
    Command::new(clang(cpp))
}

/// Runs a program under the profiler, which must say nothing on its standard error; what the program wrote, and the
/// report.
fn run(directory: &Path, words: &[&str]) -> (Output, String) {
    let output = in_time(dmdprof().args(["run", "-q", "-o", "x.data"]).args(words).current_dir(directory));
    assert!(output.stderr.is_empty(), "{}", describe(&output));
    let report = succeed(dmdprof().args(["report", "x.data"]).current_dir(directory));
    (output, String::from_utf8(report.stdout).expect("text"))
}

#[track_caller]
fn assert_has(report: &str, what: &str) {
    assert!(report.contains(what), "no {what:?} in\n{report}");
}

const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    for (int i = 1; i <= 4; i++) {
        char name[99];
        snprintf(name, sizeof name, "%s%d.so", argv[1], i);
        remove("plugin.so");
        link(name, "plugin.so");
        void *library = dlopen("./plugin.so", RTLD_NOW);
        if (!library) { puts(dlerror()); return 1; }
        printf("%d\n", ((int (*)(void))dlsym(library, "count"))());
        fflush(stdout);
        dlclose(library);
    }
    return 0;
}"#;

const PLUGIN: &str = r#"
#include <stdio.h>
static int n;
static volatile char data[100 * VERSION];
__attribute__((destructor)) static void bye(void) { puts("unloaded"); fflush(stdout); }
#define NAME_(v) work_ ## v
#define NAME(v) NAME_(v)
__attribute__((noinline)) void NAME(VERSION)(void) { for (int i = 0; i < 100 * VERSION; i++) data[i]; }
int count(void) { NAME(VERSION)(); return ++n + VERSION * 100; }"#;

const PLUGIN_CPP: &str = r#"//c++
#include <cstdio>
#include <vector>
struct Held { std::vector<int> all; ~Held() { printf("%zu held\n", all.size()); fflush(stdout); } };
static Held held;
extern "C" int count() { for (int i = 0; i < VERSION * 10; i++) held.all.push_back(i); return held.all.back(); }"#;

/// Each library that comes to lie where another one lay has descriptors, variables and destructors of its own.
#[test]
fn a_library_that_is_loaded_again_is_a_new_one() {
    for (cpp, source) in [(false, PLUGIN), (true, PLUGIN_CPP)] {
        let mut outputs = Vec::new();
        for compiled_with_hooks in [false, true] {
            let compiler = if compiled_with_hooks { hooked } else { plain };
            let directory = scratch();
            let at = directory.path();
            for version in 1..=4 {
                let define = format!("-DVERSION={version}");
                compile(compiler(cpp), at, &format!("p{version}.so"), source, &["-fPIC", "-shared", &define]);
            }
            compile(compiler(false), at, "host", HOST, &["-ldl"]);
            let alone = in_time(Command::new("./host").arg("p").current_dir(at));
            assert!(alone.status.success(), "{}", describe(&alone));
            outputs.push(alone.stdout);
            if compiled_with_hooks {
                let (output, report) = run(at, &["./host", "p"]);
                outputs.push(output.stdout);
                assert_has(&report, "lost events: 0");
                if !cpp {
                    let lines = succeed(dmdprof().args(["report", "x.data", "--format", "csv"]).current_dir(at)).stdout;
                    let lines = String::from_utf8(lines).expect("text");
                    for version in 1..=4 {
                        let line = lines.lines().find(|line| line.contains(&format!("work_{version}")));
                        let read = format!(",{},", 100 * version);
                        assert!(line.is_some_and(|line| line.contains(&read)), "work_{version}:\n{lines}");
                    }
                }
            }
        }
        let [native, alone, profiled] = outputs.try_into().expect("three runs");
        assert_eq!(String::from_utf8_lossy(&native), String::from_utf8_lossy(&alone));
        assert_eq!(String::from_utf8_lossy(&native), String::from_utf8_lossy(&profiled));
    }
}

/// More processes, one after the other, than there is room for at a time; their programs are gone before anybody asks.
#[test]
fn short_processes_are_all_measured() {
    let directory = scratch();
    compile(hooked(false), directory.path(), "small", SMALL, &[]);
    let script = "i=0; while [ $i -lt 1100 ]; do cp small copy; ./copy; rm copy; i=$((i+11)); \
                  ./small; ./small; ./small; ./small; ./small; ./small; ./small; ./small; ./small; ./small; done";
    let (_, report) = run(directory.path(), &["sh", "-c", script]);
    assert_has(&report, "ByteDMD 308,000,");
    assert_has(&report, "(1,100 processes, ");
    assert_has(&report, "lost events: 0");
}

/// Runs its arguments without environment, as another user or under another root, as it is told.
const LAUNCH: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int argc, char **argv) {
    if (!fork()) {
        extern char **environ;
        char *none[] = { 0 };
        if (strchr(argv[1], 'r') && (chroot(".") || chdir("/"))) _exit(9);
        if (strchr(argv[1], 'u') && (setgid(65534) || setuid(65534))) _exit(9);
        execve(argv[2], argv + 2, strchr(argv[1], 'e') ? none : environ);
        _exit(9);
    }
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}"#;

#[test]
fn processes_without_environment_and_of_other_users_are_measured() {
    let directory = scratch();
    let at = directory.path();
    fs::set_permissions(at, Permissions::from_mode(0o755)).expect("ours");
    compile(hooked(false), at, "small", SMALL, &["-static"]);
    compile(plain(false), at, "launch", LAUNCH, &[]);
    // Only the superuser may become somebody else.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let situations: &[&str] = if is_root { &["e", "u", "eu"] } else { &["e"] };
    for how in situations {
        let (output, report) = run(at, &["./launch", how, "./small"]);
        assert!(output.status.success(), "{how}: {}", describe(&output));
        assert_has(&report, "ByteDMD 280,");
        assert_has(&report, "lost events: 0");
    }
    if is_root {
        // Without /proc, where its descriptors lie cannot be told.
        let (output, report) = run(at, &["./launch", "r", "./small"]);
        assert!(output.status.success(), "{}", describe(&output));
        assert_has(&report, "INCOMPLETE");
        // A program with rights of its own trusts nobody. It is named.
        compile(hooked(false), at, "special", SMALL, &[]);
        chown(at.join("special"), Some(NOBODY), None).expect("root");
        fs::set_permissions(at.join("special"), Permissions::from_mode(0o4755)).expect("root");
        let (_, report) = run(at, &["sh", "-c", "./small; ./special"]);
        assert_has(&report, "INCOMPLETE");
        assert_has(&report, "special (1 times)");
    }
}

const LOCKED_IN: &str = r#"
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define ONLY(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(int argc, char **argv) {
    long *a = malloc(80000), s = 0;
    for (int i = 0; i < 10000; i++) a[i] = i;
    struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ONLY(SYS_write), ONLY(SYS_exit), ONLY(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL) };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 8;
    switch (*argv[1]) {
    case 's': if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 9; break;
    case 'f': if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 9; break;
    case 'c': if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) return 9; break;
    }
    for (int r = 0; r < 1000; r++) for (int i = 0; i < 10000; i++) s += a[(i * 7) % 10000] ^ r;
    char c = (s & 7) + '0';
    write(1, &c, 1);
    syscall(SYS_exit, 0);
}"#;

#[test]
fn programs_that_forbid_themselves_system_calls_live() {
    let directory = scratch();
    compile(hooked(false), directory.path(), "locked", LOCKED_IN, &[]);
    let mut costs = Vec::new();
    for how in ["none", "strict", "filter", "call"] {
        let (output, report) = run(directory.path(), &["./locked", how]);
        assert!(output.status.success() && output.stdout == b"0", "{how}: {}", describe(&output));
        assert_has(&report, "lost events: 0");
        assert!(!report.contains("2 threads"), "{how}: {report}");
        costs.push(report.lines().find(|line| line.starts_with("ByteDMD")).expect("a cost").to_owned());
    }
    assert!(costs.iter().all(|cost| cost == &costs[0]), "{costs:?}");
}

const SHARES: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
static volatile long out[3]; static volatile int go;
static int work(void *x) {
    long id = (long)x, a[100], s = 0;
    for (__sync_fetch_and_add(&go, 1); go < 3;) ;
    for (int r = 0; r < 20000; r++) { for (int i = 0; i < 100; i++) a[i] = i + r; for (int i = 0; i < 100; i++) s += a[(i * 7) % 100]; __asm__ volatile("" ::: "memory"); }
    out[id] = s;
    return 0;
}
int main() {
    int p[2], status;
    for (long i = 0; i < 2; i++) p[i] = clone(work, (char *)malloc(65536) + 65536, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, (void *)i);
    work((void *)2);
    for (int i = 0; i < 2; i++) waitpid(p[i], &status, 0);
    printf("%ld %ld %ld", out[0], out[1], out[2]);
    return 0;
}"#;

#[test]
fn tasks_that_share_a_thread_s_storage_do_not_hang_and_are_named() {
    let directory = scratch();
    compile(hooked(false), directory.path(), "shares", SHARES, &[]);
    let (output, report) = run(directory.path(), &["./shares"]);
    assert!(
        output.status.success() && output.stdout == b"20098000000 20098000000 20098000000",
        "{}",
        describe(&output)
    );
    assert_has(&report, "INCOMPLETE");
    assert_has(&report, "a task made with clone()");
}

/// As a sanitizer does: the program's handler is called by another one, with the number alone.
const BETWEEN: &str = r#"
#include <signal.h>
#include <string.h>
static void (*theirs)(int);
static void ours(int s) { ((void (*)(int, long, long))theirs)(s, 1, 1); }
void (*signal(int s, void (*handler)(int)))(int) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ours;
    theirs = handler;
    sigaction(s, &action, 0);
    return 0;
}"#;

const JUMPS: &str = r#"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf back; static long a[100];
static void handler(int s) { for (int i = 0; i < 100; i++) a[i] += s; siglongjmp(back, s); }
int main() {
    for (int i = 0; i < 3; i++) {
        signal(SIGSEGV, handler);
        if (!sigsetjmp(back, 1)) *(volatile int *)0 = 1;
    }
    printf("%ld", a[3]);
    return 0;
}"#;

#[test]
fn handlers_may_be_called_by_others_than_the_kernel() {
    let directory = scratch();
    let between = compile(plain(false), directory.path(), "between.o", BETWEEN, &["-c"]);
    compile(hooked(false), directory.path(), "jumps", JUMPS, &[between.to_str().expect("a plain path")]);
    let (output, report) = run(directory.path(), &["./jumps"]);
    assert!(output.status.success() && output.stdout == b"33", "{}", describe(&output));
    assert_has(&report, "lost events: 0");
}
