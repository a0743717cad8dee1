//! A small part of the farm (`docs/farm.md`): programs from Debian's sources, built by their own build systems without
//! and with hooks. Nothing that the farm's list does not explain may differ. Needs apt, dpkg-dev and the archives.

use dmdprof_tests::farm::{Manifest, examine, installed, see};
use dmdprof_tests::tool::cache_dir;

fn check(name: &str) {
    let manifest = Manifest::read();
    let programs = manifest.select(&[name.to_owned()]).expect("a program of the list");
    let cache = cache_dir().join("farm");
    std::fs::create_dir_all(&cache).expect("created");
    let outcome = examine(programs[0], &cache);
    assert!(outcome.faults.is_empty(), "{name}: {}", outcome.faults.join("\n"));
    let measured = outcome.measured.expect("no fault, so it was measured");
    assert!(measured.same_output && measured.same_profile && measured.complete, "{name}: {measured:?}");
    // Fewer than Cachegrind, which also counts the C library and spilled registers; not by much.
    let [ours, theirs] = measured.misses;
    assert!(ours <= theirs + theirs / 50 && ours >= theirs - theirs / 5, "{name}: {measured:?}");
}

/// A Makefile, a shared library and a program that uses it.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn bzip2() {
    check("bzip2");
}

/// One of the programs that are installed: it moves the lines that Cachegrind counts.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn gzip_as_it_is() {
    let list = installed();
    let gzip = list.iter().find(|program| program.name == "gzip").expect("a program of the list");
    let seen = see(gzip, 2, &cache_dir().join("farm"));
    assert!(seen.faults.is_empty() && !seen.version.is_empty(), "{seen:?}");
    let numbers = seen.numbers.as_ref().expect("no fault, so it was measured");
    let (ours, theirs) = (numbers.ours, numbers.theirs.expect("counted"));
    assert!(ours.abs_diff(theirs) * 500 <= theirs, "{seen:?}");
    assert!(numbers.functions.iter().all(|(name, _)| name.starts_with("gzip+0x")), "{seen:?}");
}

/// A configure script.
#[test]
#[ignore = "`.ci/farm zlib` runs it"]
fn zlib() {
    check("zlib");
}

/// Its own tests, in C++.
#[test]
#[ignore = "`.ci/farm tinyxml2` runs it"]
fn tinyxml2() {
    check("tinyxml2");
}
