//! What processes have mapped, and what of it samples are in.
//!
//! Takes what happens to processes in its order, gives samples by place in a file. Code that is in no file is one
//! place.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

/// A part of a file that can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub bytes: u64,
    /// Where in the file.
    pub offset: u64,
    pub file: PathBuf,
}

/// A file and a place in it; none and 0 for code that a program made.
pub type At = (Option<PathBuf>, u64);

/// All processes of a program.
#[derive(Default)]
pub struct Processes {
    /// The newest last.
    mapped: HashMap<u32, Vec<Mapping>>,
    found: BTreeMap<At, u64>,
    samples: u64,
    /// Samples that nobody kept.
    pub lost: u64,
}

impl Processes {
    /// What it had mapped is gone.
    pub fn becomes_program(&mut self, process: u32) {
        self.mapped.remove(&process);
    }

    pub fn forks(&mut self, from: u32, process: u32) {
        let mapped = self.mapped.get(&from).cloned().unwrap_or_default();
        self.mapped.insert(process, mapped);
    }

    pub fn maps(&mut self, process: u32, mapping: Mapping) {
        self.mapped.entry(process).or_default().push(mapping);
    }

    pub fn samples_at(&mut self, process: u32, address: u64) {
        let mapped = self.mapped.get(&process).map_or(&[][..], Vec::as_slice);
        let inside = |mapping: &&Mapping| address.checked_sub(mapping.start).is_some_and(|at| at < mapping.bytes);
        let code = match mapped.iter().rfind(inside) {
            Some(Mapping { file, .. }) if is_memory(file) => (None, 0),
            Some(Mapping { start, offset, file, .. }) => (Some(file.clone()), address - start + offset),
            None => (None, 0),
        };
        *self.found.entry(code).or_default() += 1;
        self.samples += 1;
    }

    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Samples by place.
    #[must_use]
    pub fn samples_by_place(&self) -> &BTreeMap<At, u64> {
        &self.found
    }
}

/// As the kernel calls memory that is of no file.
fn is_memory(file: &std::path::Path) -> bool {
    let name = file.as_os_str().as_encoded_bytes();
    name.is_empty() || name == b"//anon"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_what_is_mapped_last() {
        let mapping = |start, file: &str| Mapping { start, bytes: 16, offset: 0x100, file: file.into() };
        let mut processes = Processes::default();
        processes.maps(1, mapping(0x1000, "/a"));
        processes.forks(1, 2);
        processes.maps(2, mapping(0x1000, "/b"));
        processes.samples_at(1, 0x1004);
        processes.samples_at(2, 0x1004);
        processes.samples_at(2, 0x1010);
        processes.becomes_program(2);
        processes.samples_at(2, 0x1004);
        processes.maps(2, mapping(0x1000, "//anon"));
        processes.samples_at(2, 0x1004);
        let found: Vec<_> = processes.samples_by_place().clone().into_iter().collect();
        let of = |file: &str| (Some(PathBuf::from(file)), 0x104);
        assert_eq!(found, [((None, 0), 3), (of("/a"), 1), (of("/b"), 1)]);
        assert_eq!(processes.samples(), 5);
    }
}
