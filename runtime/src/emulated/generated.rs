//! Names of code that a program makes while it runs: files for `perf`, which many runtimes write on request.
//!
//! Takes the number of a process and addresses, gives the entries of `/tmp/perf-PID.map` that have them. A line is an
//! address, bytes (both hexadecimal) and a name. Addresses come again: the last line that has one counts. Refuses files
//! that were there before, which another process with this number has left, and what is no file; a line that is none is
//! passed over, as perf does.

use std::{collections::BTreeSet, fs::File, io::Read, time::SystemTime};

use rustix::fs::{Mode, OFlags, open};

use crate::sites::{Generated, last};

/// Bytes that are read of a file: what is in it is the program's to say.
const MOST_BYTES: u64 = 256 << 20;

/// What the process's file says of addresses, if it was written since then.
pub fn names(pid: u32, since: SystemTime, addresses: &BTreeSet<u64>) -> Vec<Generated> {
    // A pipe would have us wait, and a link could lead anywhere.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(format!("/tmp/perf-{pid}.map"), flags, Mode::empty());
    let Ok(file) = file.map(File::from) else { return Vec::new() };
    let is_new = |about: std::fs::Metadata| about.is_file() && about.modified().is_ok_and(|at| at >= since);
    let mut text = Vec::new();
    if !file.metadata().is_ok_and(is_new) || file.take(MOST_BYTES).read_to_end(&mut text).is_err() {
        return Vec::new();
    }
    last_entries(&String::from_utf8_lossy(&text), addresses)
}

/// The entries of a text that are the last to have one of the addresses, in their order.
fn last_entries(text: &str, addresses: &BTreeSet<u64>) -> Vec<Generated> {
    let entries: Vec<Generated> = text.lines().filter_map(entry).collect();
    let last = last(&entries, addresses.iter().copied());
    let used: BTreeSet<usize> = last.into_values().collect();
    used.into_iter().map(|number| entries[number].clone()).collect()
}

fn entry(line: &str) -> Option<Generated> {
    let mut fields = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok();
    let (start, bytes) = (number()?, number()?);
    let name = fields.next()?.trim();
    (!name.is_empty()).then(|| Generated { start, bytes, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_has_an_address_counts() {
        let text =
            "1000 20 first of all\n1010 8 inner\n\nnonsense\n0x2000 0x10 other\n1000 4 again\n3000 0 empty\n4000 8\n";
        let addresses = BTreeSet::from([0x1000, 0x1004, 0x1012, 0x1018, 0x1020, 0x200f, 0x2010, 0x3000, 0x4000]);
        let found = last_entries(text, &addresses);
        let names: Vec<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["first of all", "inner", "other", "again"]);
        let by_address: Vec<(u64, &str)> =
            last(&found, addresses.into_iter()).into_iter().map(|(at, number)| (at, names[number])).collect();
        let expected = [
            (0x1000, "again"),
            (0x1004, "first of all"),
            (0x1012, "inner"),
            (0x1018, "first of all"),
            (0x200f, "other"),
        ];
        assert_eq!(by_address, expected);
        assert_eq!(
            last_entries("ffffffffffffffff ffffffffffffffff all\n0 1 none\n", &BTreeSet::from([u64::MAX])).len(),
            1
        );
    }
}
