//! Profile files: written and read again, old ones, and damaged ones.

use proptest::prelude::*;

use super::*;
use crate::profile::{model::CacheCounts, sample, sections::Section};
use crate::report::{self, ReportOptions};

fn decode(bytes: &[u8]) -> Result<Profile, ReadError> {
    from_bytes(Path::new("p.data"), bytes)
}

#[test]
fn every_truncation_is_an_error_that_says_so() {
    let bytes = to_bytes(&sample::small());
    for n in 1..bytes.len() {
        let error = decode(&bytes[..n]).unwrap_err();
        assert!(matches!(error, ReadError::Truncated { .. }), "{n} bytes: {error}");
    }
    assert!(matches!(decode(&[]), Err(ReadError::NotAProfile { .. })));
}

#[test]
fn every_flipped_bit_is_an_error() {
    let bytes = to_bytes(&sample::small());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(decode(&damaged).is_err(), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn something_after_the_end_is_an_error() {
    let mut bytes = to_bytes(&sample::small());
    bytes.push(0);
    assert!(matches!(decode(&bytes), Err(ReadError::Overlong { .. })));
}

#[test]
fn versions_are_told_apart() {
    let mut bytes = to_bytes(&sample::small());
    bytes[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    assert!(matches!(decode(&bytes), Err(ReadError::Newer { .. })));
    bytes[8..12].copy_from_slice(&(FORMAT_VERSION - 1).to_le_bytes());
    assert!(matches!(decode(&bytes), Err(ReadError::Older { .. })));
}

#[test]
fn capacities_come_back() {
    let profile = sample::deaths();
    assert_eq!(decode(&to_bytes(&profile)).unwrap(), profile);
    let mut nearer = sample::small();
    // A byte that needs less room than its depth.
    nearer.cells[1].depths.capacities = Some(vec![(0, nearer.cells[1].read)]);
    let refused = decode(&to_bytes(&nearer)).unwrap_err().to_string();
    assert!(refused.contains("no deeper than its depths"), "{refused}");
}

fn changed(change: impl FnOnce(&mut Vec<Section>)) -> Result<Profile, ReadError> {
    let mut sections = sections::sections(&sample::with_caches());
    change(&mut sections);
    decode(&wrap(&postcard::to_stdvec(&sections).unwrap()))
}

#[test]
fn unknown_sections_are_kept_and_known_ones_of_another_version_are_refused() {
    let holes = Section { name: "holes".into(), version: 3, content: vec![1, 2, 3] };
    let profile = changed(|sections| sections.insert(1, holes.clone())).unwrap();
    assert_eq!(profile.unknown, [holes]);
    assert_eq!(decode(&to_bytes(&profile)).unwrap(), profile);
    assert_eq!(Profile { unknown: Vec::new(), ..profile }, sample::with_caches());
    let other = changed(|sections| sections[2].version += 1).unwrap_err();
    assert!(matches!(other, ReadError::Section { .. }), "{other}");
    let refused = |change: fn(&mut Vec<Section>)| changed(change).unwrap_err().to_string();
    assert!(refused(|sections| sections.push(sections[0].clone())).contains("section run comes twice"));
    assert!(refused(|sections| _ = sections.remove(0)).contains("no section run"));
    assert!(refused(|sections| sections[0].content.push(0)).contains("run: 1 bytes after the content"));
}

#[test]
fn what_is_missing_was_not_measured() {
    let profile = changed(|sections| sections.retain(|section| section.name != "caches")).unwrap();
    assert_eq!(profile, sample::with_lines());
    let refused = changed(|sections| sections.retain(|section| section.name != "cells")).unwrap_err().to_string();
    assert!(refused.contains("contradicts itself"), "{refused}");
}

#[test]
fn columns_of_what_is_not_there_are_refused() {
    let column =
        |of: [Vec<(u32, Vec<CacheCounts>)>; 2]| postcard::to_stdvec(&(&sample::with_caches().caches, of)).unwrap();
    let with = |content: Vec<u8>| {
        let replaced = changed(|sections| {
            let caches = sections.iter_mut().find(|section| section.name == "caches").expect("it has caches");
            caches.content = content;
        });
        replaced.unwrap_err().to_string()
    };
    let nothing = vec![CacheCounts::default(); 2];
    assert!(with(column([vec![(999, nothing.clone())], Vec::new()])).contains("cell 999, which there is not"));
    assert!(with(column([Vec::new(), vec![(0, nothing)]])).contains("use 0, which there is not"));
}

#[test]
fn the_bytes_are_pinned() {
    // Changes whenever the layout or a section does: a new FORMAT_VERSION, or a version of its own.
    let pinned = |profile| crc32fast::hash(&sections::content(&profile));
    let found = [
        sample::small(),
        sample::flows(),
        sample::with_lines(),
        sample::with_caches(),
        sample::with_hazards(),
        sample::with_optimum(),
        sample::with_pairs(),
    ]
    .map(pinned);
    assert_eq!(found, PINNED, "new layout? then bump a version and pin it again");
}

#[test]
fn the_documentation_names_the_version() {
    let documented = include_str!("../../../../docs/profile-format.md");
    assert!(documented.contains(&format!("| version | format version, now {FORMAT_VERSION} |")));
}

const PINNED: [u32; 7] =
    [3_900_391_663, 3_130_502_270, 330_535_668, 3_776_124_514, 3_993_215_115, 2_061_682_524, 3_324_054_374];

#[test]
fn messages_say_expected_found_and_what_to_do() {
    let path = || PathBuf::from("p.data");
    let (expected, found) = (720, 40);
    let all = [
        ReadError::Truncated { path: path(), expected, found },
        ReadError::Overlong { path: path(), expected, found: 721 },
        ReadError::Checksum { path: path(), expected: 0xf7dc_21a9, found: 0xdb11 },
        ReadError::Newer { path: path(), expected: 1, found: 9 },
        ReadError::Older { path: path(), expected: 1, found: 0 },
        ReadError::Section { path: path(), other: OtherVersion { name: "cells", expected: 1, found: 2 } },
        from_bytes(&path(), b"{\"a\": 1}").unwrap_err(),
        from_bytes(&path(), b"hello\0").unwrap_err(),
        from_bytes(&path(), &wrap(b"hello")).unwrap_err(),
    ]
    .map(|error| error.to_string());
    for message in &all {
        assert!(message.contains("expected: ") && message.contains("found: "), "{message}");
        assert!(message.contains("`dmdprof run") || message.contains("the profile again"), "{message}");
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn writing_keeps_the_previous_profile() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.data");
    let (first, mut second) = (sample::small(), sample::small());
    second.meta.command.push("again".into());
    write(&path, &first).unwrap();
    write(&path, &second).unwrap();
    assert_eq!(read(&path).unwrap(), second);
    assert_eq!(read(&old_path(&path)).unwrap(), first);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "a temporary file was left behind");
}

#[test]
fn a_failed_write_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.data");
    write(&path, &sample::small()).unwrap();
    // The previous profile cannot move: its new name is a directory that is not empty.
    fs::create_dir_all(old_path(&path).join("full")).unwrap();
    let error = write(&path, &sample::small()).unwrap_err();
    assert!(error.to_string().contains("rename the previous profile"), "{error}");
    assert_eq!(read(&path).unwrap(), sample::small());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "a temporary file was left behind");

    let error = write(&dir.path().join("no/such/x.data"), &sample::small()).unwrap_err();
    assert!(error.to_string().contains("create the directory first"), "{error}");
    assert!(matches!(write(dir.path(), &sample::small()), Err(WriteError::Directory { .. })));
}

#[test]
fn a_full_disk_is_named_and_devices_are_not_renamed() {
    if Path::new("/dev/full").exists() {
        let error = write(Path::new("/dev/full"), &sample::small()).unwrap_err();
        assert!(error.to_string().contains("free some space"), "{error}");
        write(Path::new("/dev/null"), &sample::small()).unwrap();
        assert!(!Path::new("/dev/null.old").exists());
    }
}

#[test]
fn whether_a_place_is_writable_is_known_before() {
    let dir = tempfile::tempdir().unwrap();
    check_writable(&dir.path().join("x.data")).unwrap();
    check_writable(Path::new("x.data")).unwrap();
    check_writable(Path::new("/dev/null")).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(check_writable(dir.path()).is_err());
    let error = check_writable(&dir.path().join("no/such/x.data")).unwrap_err();
    assert!(error.to_string().contains("create the directory first"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_does_not_choose_what_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("precious"), dir.path().join("link.data"));
    fs::write(&real, "mine").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for error in [write(&link, &sample::small()).unwrap_err(), check_writable(&link).unwrap_err()] {
        assert!(error.to_string().contains("symbolic link to "), "{error}");
    }
    assert_eq!(fs::read_to_string(&real).unwrap(), "mine");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_profile_is_there_while_it_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.data");
    write(&path, &sample::small()).unwrap();
    let mut profile = sample::small();
    profile.meta.command = vec!["second".into()];
    complete(&path, &mut profile, |p| {
        assert_eq!(read(&path).unwrap(), *p);
        p.meta.command = vec!["completed".into()];
    })
    .unwrap();
    assert_eq!(read(&path).unwrap(), profile);
    assert_eq!(read(&old_path(&path)).unwrap(), sample::small());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "a temporary file was left behind");
}

#[test]
fn a_missing_file_says_how_to_make_one() {
    let error = read(Path::new("/nonexistent/dmdprof.data")).unwrap_err().to_string();
    assert!(error.contains("dmdprof run"), "{error}");
}

proptest! {
    #[test]
    fn round_trip(profile in sample::any_profile()) {
        let bytes = to_bytes(&profile);
        prop_assert_eq!(&bytes, &to_bytes(&profile.clone()));
        prop_assert_eq!(decode(&bytes).unwrap(), profile);
    }

    /// Damage that the checksum cannot see: whatever is accepted can be shown.
    #[test]
    fn damage_under_a_correct_checksum_never_panics(
        profile in sample::any_profile(), at in any::<prop::sample::Index>(), value: u8, cut: bool
    ) {
        let mut decoded = sections::content(&profile);
        let at = at.index(decoded.len());
        if cut { decoded.truncate(at) } else { decoded[at] = value }
        if let Ok(profile) = decode(&wrap(&decoded)) {
            for options in [ReportOptions::default(), ReportOptions { inclusive: true, hist: true, ..ReportOptions::default() }] {
                report::render(&profile, &options, &mut io::sink()).unwrap();
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        prop_assert!(decode(&bytes).is_err());
        prop_assert!(decode(&[&MAGIC[..], &bytes].concat()).is_err());
        prop_assert!(decode(&wrap(&bytes)).is_err());
    }
}
