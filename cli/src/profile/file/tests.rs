//! Profile files: written and read again, old ones, and damaged ones.

use proptest::prelude::*;

use super::*;
use crate::profile::{model::Liveness, sample};
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
    bytes[8..12].copy_from_slice(&(OLDEST - 1).to_le_bytes());
    assert!(matches!(decode(&bytes), Err(ReadError::Older { .. })));
}

#[test]
fn the_oldest_format_is_still_read() {
    let profile = Profile { thread_starts: Vec::new(), has_capacities: false, ..sample::small() };
    let mut content = content(&profile);
    let later = later_than(OLDEST);
    assert_eq!(content.split_off(content.len() - later), vec![0; later], "it ends with what format 8 lacks");
    let of_oldest = |content: &[u8]| {
        let mut bytes = wrap(content);
        bytes[8..12].copy_from_slice(&OLDEST.to_le_bytes());
        bytes
    };
    assert_eq!(decode(&of_oldest(&content)).unwrap(), profile);
    content.pop();
    assert!(decode(&of_oldest(&content)).is_err(), "nothing else may be missing");
}

#[test]
fn capacities_come_back_and_older_files_have_none_unless_nothing_died() {
    let profile = sample::deaths();
    assert_eq!(decode(&to_bytes(&profile)).unwrap(), profile);
    let mut content = content(&Profile { has_capacities: false, ..sample::small() });
    // Neither capacities nor an optimum.
    assert_eq!((content.pop(), content.pop()), (Some(0), Some(0)));
    let of_before = |content: &[u8]| {
        let mut bytes = wrap(content);
        bytes[8..12].copy_from_slice(&14u32.to_le_bytes());
        decode(&bytes).unwrap()
    };
    assert!(of_before(&content).without_traffic().is_some_and(|why| why.contains("older dmdprof")));
    let nothing_died = |p: &mut Profile| (p.meta.liveness, p.has_capacities) = (Liveness::None, false);
    let mut profile = sample::small();
    nothing_died(&mut profile);
    let mut content = super::content(&profile);
    content.truncate(content.len() - 2);
    assert_eq!(of_before(&content).without_traffic(), None);
}

#[test]
fn capacities_of_what_is_not_there_are_refused() {
    let profile = sample::small();
    let of =
        |at: u32| Capacities { cells: vec![(at, profile.cells[1].histogram.depths.clone())], ..Capacities::default() };
    let written = |capacities| decode(&wrap(&postcard::to_stdvec(&(&profile, Some(capacities))).unwrap()));
    assert!(written(of(1)).is_ok());
    let refused = written(of(999)).unwrap_err().to_string();
    assert!(refused.contains("capacities of what the profile does not have"), "{refused}");
    // A byte that needs less room than its depth.
    let nearer = Capacities { cells: vec![(1, vec![(0, profile.cells[1].read)])], ..Capacities::default() };
    let refused = written(nearer).unwrap_err().to_string();
    assert!(refused.contains("no deeper than its depths"), "{refused}");
}

#[test]
fn a_sampled_run_is_refused() {
    let sampling = Some(crate::profile::model::RetiredSampling::default());
    let bytes = to_bytes(&Profile { sampling, ..sample::small() });
    let error = decode(&bytes).unwrap_err();
    assert!(matches!(error, ReadError::Sampled { .. }), "{error}");
}

#[test]
fn the_bytes_are_pinned() {
    // Changes whenever the layout, the model or the compressor changes: the first two need a new FORMAT_VERSION.
    let pinned = |profile| crc32fast::hash(&postcard::to_stdvec(&profile).unwrap());
    let found = [sample::small(), sample::flows(), sample::with_lines(), sample::with_caches(), sample::with_optimum()]
        .map(pinned);
    assert_eq!(found, PINNED, "new layout? then bump FORMAT_VERSION and pin it again");
}

#[test]
fn the_documentation_names_the_version() {
    let documented = include_str!("../../../../docs/profile-format.md");
    assert!(documented.contains(&format!("| version | format version, now {FORMAT_VERSION} |")));
}

const PINNED: [u32; 5] = [1_413_966_192, 763_778_514, 791_407_430, 2_814_783_809, 3_885_750_684];

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
        ReadError::Sampled { path: path() },
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
        let mut decoded = postcard::to_stdvec(&profile).unwrap();
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
