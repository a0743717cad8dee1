//! A trace that is analysed on several machines as `examples/cluster` does it: workers that are killed, and slices that
//! are damaged.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use dmdprof_tests::programs::{Compiler, case};
use dmdprof_tests::tool::{assert_same, describe, dmdprof, dmdprof_path, repository, scratch, succeed};

const PARTS: usize = 4;

fn example(name: &str) -> PathBuf {
    repository().join("examples/cluster").join(name)
}

/// A trace in a directory, and its profile by `dmdprof replay`.
fn recorded(directory: &Path) -> (PathBuf, Vec<u8>) {
    let program = case("layout").build(&Compiler::dmdprof());
    succeed(dmdprof().arg("record").arg(&program).current_dir(directory));
    succeed(dmdprof().args(["replay", "--quiet", "-o", "whole.data"]).current_dir(directory));
    (directory.join("dmdprof.trace"), std::fs::read(directory.join("whole.data")).expect("a profile"))
}

/// A command that finds dmdprof.
fn with_dmdprof(program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
    let programs = directory.join("bin");
    if !programs.exists() {
        std::fs::create_dir(&programs).expect("a new directory");
        std::os::unix::fs::symlink(dmdprof_path(), programs.join("dmdprof")).expect("a new link");
    }
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).current_dir(directory);
    command
}

/// A job of the array, started as Slurm would.
fn job(part: usize, trace: &Path, directory: &Path) -> Child {
    let mut job = with_dmdprof("bash", directory);
    job.arg(example("slices.sbatch")).arg(trace);
    job.env("SLURM_ARRAY_TASK_ID", part.to_string()).env("SLURM_ARRAY_TASK_MAX", PARTS.to_string());
    job.spawn().expect("bash starts")
}

fn merge(trace: &Path, directory: &Path) -> Output {
    let slices = (1..=PARTS).map(|part| format!("{}.{part}.slice", trace.display()));
    let mut merge = dmdprof();
    merge.args(["merge", "--quiet"]).args(slices).args(["-o", "merged.data"]).current_dir(directory);
    merge.output().expect("dmdprof starts")
}

#[test]
fn an_array_of_jobs_survives_a_kill_and_a_damaged_slice() {
    let directory = scratch();
    let here = directory.path();
    let (trace, expected) = recorded(here);
    let mut jobs: Vec<Child> = (1..=PARTS).map(|part| job(part, &trace, here)).collect();
    // The last one has to go over everything before, so it is in the middle of that.
    jobs[PARTS - 1].kill().expect("killed");
    let ended: Vec<bool> = jobs.iter_mut().map(|job| job.wait().expect("a child").success()).collect();
    assert_eq!(ended, [true, true, true, false]);
    let output = merge(&trace, here);
    assert!(!output.status.success(), "{}", describe(&output));

    let again = |part: usize| assert!(job(part, &trace, here).wait().expect("a child").success());
    again(PARTS);
    let second = format!("{}.2.slice", trace.display());
    let mut damaged = std::fs::read(&second).expect("a slice");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&second, damaged).expect("a damaged slice");
    let output = merge(&trace, here);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(&second) && said.contains("damaged"), "{}", describe(&output));
    assert!(!here.join("merged.data").exists(), "what is refused leaves no profile");

    std::fs::remove_file(&second).expect("the slice can go");
    again(2);
    let output = merge(&trace, here);
    assert!(output.status.success(), "{}", describe(&output));
    assert_same("merged slices", &expected, &std::fs::read(here.join("merged.data")).expect("a profile"));
}

/// Processes that analyse a slice of a trace.
fn slicing(trace: &Path) -> Vec<i32> {
    let trace = trace.display().to_string();
    let is_one = |process: &i32| {
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"slice".as_slice()) && words.get(2) == Some(&trace.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_one).collect()
}

#[test]
#[ignore = "needs Ray: `.ci/cluster` installs it and runs this"]
fn ray_starts_a_part_again_whose_worker_was_killed() {
    let directory = scratch();
    let here = directory.path();
    let (trace, expected) = recorded(here);
    let python = std::env::var_os("DMDPROF_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let drive = || {
        let mut driver = with_dmdprof(&python, here);
        driver.arg(example("ray_slices.py")).arg(&trace).args([&PARTS.to_string(), "slices", "-o", "merged.data"]);
        driver.spawn().expect("python starts")
    };
    let mut driver = drive();
    let victim = loop {
        if let Some(first) = slicing(&trace).first() {
            break *first;
        }
        assert!(driver.try_wait().expect("a child").is_none(), "the driver ended before a slice began; is Ray there?");
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    succeed(Command::new("kill").args(["-9", &victim.to_string()]));
    assert!(driver.wait().expect("a child").success());
    assert_same("merged slices", &expected, &std::fs::read(here.join("merged.data")).expect("a profile"));

    let slice = here.join("slices/3.slice");
    std::fs::write(&slice, "not a slice").expect("a damaged slice");
    std::fs::remove_file(here.join("merged.data")).expect("the profile can go");
    assert!(!drive().wait().expect("a child").success());
    assert!(!here.join("merged.data").exists());
    std::fs::remove_file(&slice).expect("the slice can go");
    assert!(drive().wait().expect("a child").success());
    assert_same("merged again", &expected, &std::fs::read(here.join("merged.data")).expect("a profile"));
}
