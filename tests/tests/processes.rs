//! Processes come and go, libraries come and go, programs lock themselves in: the program does what it does without
//! hooks, and everything is measured, or the report names what is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::tool::{clang, describe, dmdprof, in_time, require, scratch, succeed, under};

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

/// Runs a program under the profiler, which must say nothing on its standard error but what is missing; what the program
/// wrote, and the report.
fn run(directory: &Path, words: &[&str]) -> (Output, String) {
    let output = in_time(dmdprof().args(["run", "-q", "-o", "x.data"]).args(words).current_dir(directory));
    let report = succeed(dmdprof().args(["report", "-v", "x.data"]).current_dir(directory));
    let report = String::from_utf8(report.stdout).expect("text");
    let gaps: String =
        report.lines().filter(|l| l.starts_with("INCOMPLETE")).map(|l| format!("dmdprof: {l}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stderr), gaps, "{}", describe(&output));
    (output, report)
}

/// The report of the last run as programs get it.
fn json(directory: &Path) -> serde_json::Value {
    let report = ["report", "--format", "json", "--threshold", "0%", "x.data"];
    let json = succeed(dmdprof().args(report).current_dir(directory));
    serde_json::from_slice(&json.stdout).expect("JSON")
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
        let (output, report) = run(at, &["--no-binary", "./launch", how, "./small"]);
        assert!(output.status.success(), "{how}: {}", describe(&output));
        assert_has(&report, "ByteDMD 280,");
        assert_has(&report, "lost events: 0");
    }
    if is_root {
        // Under a root without /proc, the dynamic linker's functions tell where its descriptors lie, if it has them.
        let (output, report) = run(at, &["--no-binary", "./launch", "r", "./small"]);
        assert!(output.status.success(), "{}", describe(&output));
        assert!(report.contains("ByteDMD 280,") || report.contains("INCOMPLETE"), "{report}");
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

/// Closes all descriptors but the standard ones, as careful launchers do, and becomes its arguments.
const CLOSER: &str = r#"
#include <unistd.h>
int main(int argc, char **argv) {
    for (int i = 3; i < 4096; i++) close(i);
    execvp(argv[1], argv + 1);
    return 9;
}"#;

/// Fails where the system does not let the user have namespaces, as containers may.
fn require_namespaces() {
    let unshare = require("unshare".as_ref(), "install util-linux");
    let output = Command::new(unshare).args(["-rUpf", "true"]).output().expect("unshare starts");
    assert!(
        output.status.success(),
        "these tests need user namespaces; allow them (sysctl user.max_user_namespaces, \
         kernel.apparmor_restrict_unprivileged_userns) or run as root: {}",
        describe(&output)
    );
}

/// Neither the path in the environment nor a process number leads out of there.
#[test]
fn processes_in_namespaces_of_their_own_are_measured() {
    let directory = scratch();
    let at = directory.path();
    compile(hooked(false), at, "small", SMALL, &[]);
    compile(plain(false), at, "closer", CLOSER, &[]);
    require_namespaces();
    for kinds in ["-rUpf", "-rUn", "-rUpfn", "-rUpfmn --mount-proc"] {
        for launcher in ["", "./closer "] {
            let script = format!("./small; {launcher}unshare {kinds} ./small");
            let (output, report) = run(at, &["sh", "-c", &script]);
            assert!(output.status.success(), "{script}: {}", describe(&output));
            assert!(report.contains("ByteDMD 560,") && report.contains("(2 processes, "), "{script}: {report}");
            assert!(!report.contains("INCOMPLETE"), "{script}: {report}");
        }
    }
    // A sandbox that also clears the environment.
    let _ = require("bwrap".as_ref(), "install bubblewrap");
    let sandbox = "./small; bwrap --ro-bind / / --dev /dev --unshare-all --clearenv ./small";
    let (_, report) = run(at, &["sh", "-c", sandbox]);
    assert_has(&report, "ByteDMD 560,");
}

/// A program that goes on to more records than a ring holds, in a namespace where it cannot see who reads them.
#[test]
fn long_programs_in_process_namespaces_are_measured_to_their_end() {
    const LONG: &str = "int main(){ static volatile int a[1000]; unsigned p=1; for(int i=0;i<3000000;i++){ \
                        p=p*1103515245+12345; if(p&65536) a[p>>8&511]=i; else a[p>>8&1023]; } return 0; }";
    let directory = scratch();
    compile(hooked(false), directory.path(), "long", LONG, &[]);
    let (_, outside) = run(directory.path(), &["./long"]);
    require_namespaces();
    let (_, inside) = run(directory.path(), &["sh", "-c", "unshare -rUpf ./long"]);
    let cost = |report: &str| report.lines().find(|l| l.starts_with("ByteDMD")).map(str::to_owned);
    assert!(cost(&inside).is_some() && cost(&inside) == cost(&outside), "{outside}\n{inside}");
}

/// Ends with 3 if it was started with SIGCHLD ignored.
const IGNORES: &str = r#"
#include <signal.h>
int main() {
    volatile int a[10]; int s = 0;
    for (int i = 0; i < 10; i++) a[i] = i;
    for (int i = 0; i < 10; i++) s += a[i];
    struct sigaction now;
    sigaction(SIGCHLD, 0, &now);
    return s != 45 ? 9 : now.sa_handler == SIG_IGN ? 3 : 0;
}"#;

#[test]
fn sigchld_stays_ignored_for_the_program_and_children_are_waited_for() {
    let directory = scratch();
    let at = directory.path();
    compile(hooked(false), at, "ignores", IGNORES, &[]);
    let ignoring = |words: &[&str]| {
        let mut shell = Command::new("bash");
        shell.args(["-c", "trap '' CHLD; exec \"$@\"", "sh"]).current_dir(at);
        in_time(&mut under(shell, dmdprof().args(words)))
    };
    let run = ignoring(&["run", "-q", "-o", "x.data", "./ignores"]);
    assert!(run.status.code() == Some(3) && run.stderr.is_empty(), "{}", describe(&run));
    let report = succeed(dmdprof().args(["report", "x.data"]).current_dir(at));
    assert_has(&String::from_utf8_lossy(&report.stdout), "(exited with 3)");
    let check = ignoring(&["check", "--save-baseline", "x", "--", "./ignores"]);
    assert!(check.status.success(), "{}", describe(&check));
    assert_has(&fs::read_to_string(at.join("dmdprof/x.toml")).expect("saved"), "cost = 336");
}

#[test]
fn programs_with_hooks_are_measured_without_proc() {
    let directory = scratch();
    let at = directory.path();
    compile(hooked(false), at, "small", SMALL, &[]);
    let mut command = Command::new("unshare");
    require_namespaces();
    let script = "mount -t tmpfs none /proc && exec \"$@\"";
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(dmdprof().get_program());
    let output = in_time(command.args(["run", "-q", "-o", "x.data", "./small"]).current_dir(at));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{}", describe(&output));
    let report = succeed(dmdprof().args(["report", "x.data"]).current_dir(at));
    assert_has(&String::from_utf8_lossy(&report.stdout), "ByteDMD 280,");
}

/// Its resolver reads 1000 numbers while the program is being linked.
const RESOLVER: &str = "static volatile int t[1000]; static int one(void){ return t[0]; } static int two(void){ return t[1]; } \
                        static void *choose(void){ int s=0; for(int i=0;i<1000;i++) s+=t[i]; return s ? one : two; } \
                        int f(void) __attribute__((ifunc(\"choose\"))); int main(){ return f(); }";

/// Its resolver calls a function that the program calls, too.
const HELPED: &str = "static volatile int t[100]; static int one(void){ return t[0]; } static int two(void){ return t[1]; } \
                      __attribute__((noinline)) static int sum(int n){ int s=0; for(int i=0;i<n;i++) s+=t[i]; return s; } \
                      static void *choose(void){ return sum(50) ? one : two; } \
                      int f(void) __attribute__((ifunc(\"choose\"))); int main(){ return f() + sum(3); }";

/// As compilers write them: the resolver reads what is known of the processor, and nothing else.
const CLONES: &str = "static volatile int t[10]; __attribute__((target_clones(\"avx2\",\"default\"))) int f(int n){ return t[n]; } \
                      int main(){ return f(3); }";

/// More records before the program's own constructor than a ring holds.
const PREINIT: &str = r#"
static volatile int t[1000], next[1000]; static volatile long r;
static void early(int c, char **v, char **e) {
    for (int i = 0; i < 1000; i++) { t[i] = 2 * i; next[i] = (i + 37) % 1000; }
    int p = 0; long s = 0;
    for (int i = 0; i < 50000; i++) { s += t[p]; p = next[p]; if (s & 1) s += t[p * 7 % 1000]; }
    r = s;
}
__attribute__((section(".preinit_array"), used)) static void (*entry)(int, char **, char **) = early;
int main(void) { return 0; }"#;

#[test]
fn what_runs_before_constructors_is_counted_or_said() {
    let directory = scratch();
    let at = directory.path();
    let whole = || {
        let report = json(at);
        (report["complete"].as_bool().expect("told"), report["totals"]["read"].as_u64().expect("a number"))
    };
    compile(hooked(false), at, "preinit", PREINIT, &[]);
    run(at, &["./preinit"]);
    assert_eq!(whole(), (true, 400_000));

    compile(hooked(false), at, "resolver", RESOLVER, &[]);
    let (output, report) = run(at, &["./resolver"]);
    assert_has(&String::from_utf8_lossy(&output.stderr), " in ifunc resolvers: ");
    assert_has(&report, " in ifunc resolvers: ");
    assert_eq!(whole(), (false, 4));
    let check = in_time(dmdprof().args(["check", "--save-baseline", "x", "--", "./resolver"]).current_dir(at));
    assert_eq!(check.status.code(), Some(1), "{}", describe(&check));
    assert_has(&String::from_utf8_lossy(&check.stdout), "the run is incomplete: ");

    // What a resolver calls would end the program, as hooks find nothing of it in its place.
    for options in [&[][..], &["-static"], &["-no-pie"]] {
        compile(hooked(false), at, "helped", HELPED, options);
        let (output, report) = run(at, &["./helped"]);
        assert!(output.status.success(), "{options:?}: {}", describe(&output));
        assert_has(&report, "accesses in ifunc resolvers: ");
    }

    // clang 14 cannot compile it without the compiler's library; where it can, nothing is missing.
    compile(hooked(false), at, "clones", CLONES, &[]);
    run(at, &["./clones"]);
    assert_eq!(whole(), (true, 4));
}

/// Allocates, forks, threads and handles signals on both sides of a library that is opened as it is told.
const OPENER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *library; static int wrong;
static void *work(void *unused) {
    volatile int *a = malloc(4000);
    for (int i = 0; i < 1000; i++) a[i] = i;
    wrong |= ((long (*)(volatile int *, int))dlsym(library, "sum"))(a, 1000) != 499500;
    free((void *)a);
    return unused;
}
int main(int argc, char **argv) {
    library = *argv[1] == 'd' ? dlopen("./sum.so", RTLD_NOW | RTLD_DEEPBIND)
            : *argv[1] == 'm' ? dlmopen(LM_ID_NEWLM, "./sum.so", RTLD_NOW) : dlopen("./sum.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    pthread_t thread;
    int status;
    work(0);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    if (!fork()) { work(0); _exit(0); }
    wait(&status);
    work(0);
    dlclose(library);
    return wrong | status;
}"#;

const SUM: &str = r#"
#include <signal.h>
#include <stdlib.h>
static volatile long hits[100];
static void count(int s) { for (int i = 0; i < 100; i++) hits[i]++; }
long sum(volatile int *a, int n) {
    long s = 0;
    volatile char *b = malloc(100);
    for (int i = 0; i < n; i++) s += a[i];
    for (int i = 0; i < 100; i++) b[i] = i;
    for (int i = 0; i < 100; i++) s += b[i] * 0;
    free((void *)b);
    signal(SIGUSR1, count);
    raise(SIGUSR1);
    for (int i = 0; i < n; i++) s += a[i] * 0;
    return s;
}"#;

/// A library that binds to the copy of the hooks that it carries has the stack of its process all the same.
#[test]
fn libraries_with_hooks_of_their_own_belong_to_the_process() {
    let directory = scratch();
    let at = directory.path();
    compile(hooked(false), at, "sum.so", SUM, &["-shared", "-fPIC"]);
    compile(hooked(false), at, "opener", OPENER, &["-pthread"]);
    compile(plain(false), at, "unaware", OPENER, &["-pthread"]);
    for program in ["./opener", "./unaware"] {
        let [plain, deep, apart] = ["p", "d", "m"].map(|how| {
            // What opens a library with hooks runs as it is. Its blocks lie elsewhere in their lines each time.
            let (output, report) = run(at, &["--no-binary", "--no-lines", program, how]);
            assert!(output.status.success(), "{program} {how}: {}", describe(&output));
            assert_has(&report, "(2 processes, ");
            let json = json(at);
            // The blocks of a program without hooks are not seen, and lie where its allocator likes.
            let numbers = if program == "./opener" { json["functions"].to_string() } else { String::new() };
            (numbers, json["totals"]["accesses"].clone(), json["complete"].clone())
        });
        assert_eq!(plain.2, true, "{program}");
        assert_eq!(plain, deep, "{program}");
        assert_eq!(plain, apart, "{program}");
    }
}

/// Memory that others fill is named, and nothing is missing of what the program itself does.
#[test]
fn buffers_that_the_kernel_or_others_fill_are_named() {
    const SHARES_MEMORY: &str = r#"
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
    volatile int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile int *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    syscall(SYS_io_uring_setup, 4, (void *)0);
    return shared[0] + own[0];
}"#;
    let directory = scratch();
    compile(hooked(false), directory.path(), "shares", SHARES_MEMORY, &[]);
    let (_, report) = run(directory.path(), &["./shares"]);
    assert_has(&report, "memory that others may write unseen (MAP_SHARED, shm_open, shmat) 1");
    assert_has(&report, "set-up of io_uring or kernel AIO, which fill buffers unseen 1");
    assert!(!report.contains("INCOMPLETE"), "{report}");
}
