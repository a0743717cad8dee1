//! What the system says of itself: processor, caches, memory.
//!
//! Takes the root of the file system (Linux: `/sys/devices/system/cpu` and `/proc`), gives a [`System`]. Refuses
//! systems that do not list their caches, as some containers and virtual machines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::shared::quantity::parse_size;

/// A cache for data of the first processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u8,
    pub bytes: u64,
    /// Bytes that move together.
    pub line: u64,
    /// Lines of a set, if the system says.
    pub ways: Option<u32>,
    /// Processors that share it, at least 1.
    pub sharers: usize,
    /// Whether all of these are threads of one core.
    pub per_core: bool,
    /// Cores that share it, if the system says who does.
    pub shared_by: Option<usize>,
}

#[cfg(test)]
impl Cache {
    /// Of a processor with two threads per core.
    pub fn of_paired_threads(level: u8, bytes: u64, sharers: usize, per_core: bool) -> Self {
        Self { level, bytes, line: 64, ways: None, sharers, per_core, shared_by: Some(sharers / 2) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    pub model: String,
    /// That this process may use.
    pub processors: usize,
    /// Of them, those that are not threads of the same core.
    pub cores: usize,
    /// From the cores outwards, capacities increasing; never empty.
    pub caches: Vec<Cache>,
    /// Bytes.
    pub memory: u64,
    /// Bytes that can be had without swapping.
    pub available: u64,
    /// Which memory has huge pages, as in [`dmdprof_runtime::cycles::Figures`]: 0 none, 1 what asks, 2 all.
    pub huge_pages: u8,
}

impl System {
    /// # Errors
    /// When it does not list its caches or its memory.
    pub fn read(root: &Path) -> anyhow::Result<System> {
        let processors = crate::shared::processors();
        let cpu = root.join("sys/devices/system/cpu/cpu0");
        let siblings =
            text(&cpu.join("topology/thread_siblings_list")).map_or_else(|| [0].into(), |t| processor_list(&t));
        let mut caches = caches(&cpu, &siblings);
        caches.sort_by_key(|cache| (cache.level, cache.bytes));
        // A level that is not larger than the one before cannot be told from it by reading.
        caches.dedup_by(|outer, inner| outer.bytes <= inner.bytes);
        if caches.is_empty() {
            bail!(
                "the system does not list its caches in {}; write a machine file by hand: dmdprof machine show ref-cpu --toml > my.toml",
                cpu.join("cache").display()
            );
        }
        let memory = text(&root.join("proc/meminfo")).context("the system does not tell its memory (/proc/meminfo)")?;
        let kib = |key: &str| kib_of(&memory, key);
        let total = kib("MemTotal").context("/proc/meminfo has no MemTotal")?;
        let info = text(&root.join("proc/cpuinfo")).unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Ok(System {
            model: model.map_or_else(|| "unknown processor".into(), |(_, name)| name.trim().into()),
            processors,
            cores: processors.div_ceil(siblings.len().max(1)),
            caches,
            memory: total,
            available: kib("MemAvailable").unwrap_or(total / 2),
            huge_pages: huge_pages(&text(&root.join("sys/kernel/mm/transparent_hugepage/enabled")).unwrap_or_default()),
        })
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn caches(cpu: &Path, siblings: &BTreeSet<usize>) -> Vec<Cache> {
    let Ok(entries) = fs::read_dir(cpu.join("cache")) else { return Vec::new() };
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    folders.filter_map(|index| cache(&index, cpu, siblings)).collect()
}

fn cache(index: &Path, cpu: &Path, siblings: &BTreeSet<usize>) -> Option<Cache> {
    let field = |name: &str| text(&index.join(name));
    if field("type")? == "Instruction" {
        return None;
    }
    let told = field("shared_cpu_list").map(|list| processor_list(&list)).filter(|list| !list.is_empty());
    let shared_by = told.as_ref().map(|sharers| cores_of(sharers, cpu, siblings));
    let sharers = told.unwrap_or_else(|| siblings.clone());
    Some(Cache {
        level: field("level")?.parse().ok()?,
        bytes: parse_size(&field("size")?).ok()?,
        ways: field("ways_of_associativity").and_then(|ways| ways.parse().ok()).filter(|ways| *ways > 0),
        line: field("coherency_line_size").and_then(|line| line.parse().ok()).unwrap_or(64),
        sharers: sharers.len().max(1),
        per_core: sharers.is_subset(siblings),
        shared_by,
    })
}

/// Cores that processors are threads of; all like the first where the system does not say.
fn cores_of(processors: &BTreeSet<usize>, cpu: &Path, siblings: &BTreeSet<usize>) -> usize {
    let of = |number: &usize| text(&cpu.with_file_name(format!("cpu{number}")).join("topology/thread_siblings_list"));
    let told: Option<BTreeSet<String>> = processors.iter().map(of).collect();
    told.map_or_else(|| processors.len().div_ceil(siblings.len().max(1)), |cores| cores.len())
}

/// `always [madvise] never`: what is chosen is in brackets.
fn huge_pages(enabled: &str) -> u8 {
    match enabled.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some(("always", _)) => 2,
        Some(("madvise", _)) => 1,
        _ => 0,
    }
}

/// `0-3,8`.
fn processor_list(text: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// `MemTotal:  123 kB`, in bytes.
fn kib_of(meminfo: &str, key: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }

    fn cache_files(root: &Path, index: u8, fields: [&str; 4]) {
        for (name, value) in ["level", "type", "size", "shared_cpu_list"].into_iter().zip(fields) {
            write(root, &format!("sys/devices/system/cpu/cpu0/cache/index{index}/{name}"), &format!("{value}\n"));
        }
    }

    #[test]
    fn caches_of_a_processor_with_two_threads_per_core() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        write(root, "proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n");
        write(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n");
        write(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,8\n");
        cache_files(root, 0, ["1", "Data", "48K", "0,8"]);
        cache_files(root, 1, ["1", "Instruction", "32K", "0,8"]);
        cache_files(root, 2, ["2", "Unified", "2048K", "0,8"]);
        cache_files(root, 3, ["3", "Unified", "32M", "0-3,8-11"]);
        write(root, "sys/devices/system/cpu/cpu0/cache/index2/ways_of_associativity", "16\n");
        write(root, "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        let system = System::read(root).unwrap();
        let cache = Cache::of_paired_threads;
        let second = Cache { ways: Some(16), ..cache(2, 2 << 20, 2, true) };
        let expected = [cache(1, 48 << 10, 2, true), second, cache(3, 32 << 20, 8, false)];
        assert_eq!(system.caches, expected);
        assert_eq!(
            (system.model.as_str(), system.memory, system.available, system.huge_pages),
            ("Some CPU @ 2.0GHz", 16_384_000_000, 8_192_000_000, 2)
        );
    }

    #[test]
    fn huge_pages_are_for_whom_the_system_says() {
        let all = ["always [madvise] never", "always madvise [never]", "[always] madvise never", ""];
        assert_eq!(all.map(huge_pages), [1, 0, 2, 0]);
    }

    #[test]
    fn cores_of_different_kinds_are_counted_one_by_one() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        write(root, "proc/meminfo", "MemTotal: 16000000 kB\n");
        // One core with two threads, and four without.
        for (cpu, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2"), (3, "3"), (4, "4"), (5, "5")] {
            write(root, &format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), siblings);
        }
        cache_files(root, 0, ["1", "Data", "48K", "0-1"]);
        cache_files(root, 1, ["3", "Unified", "12M", "0-5"]);
        let system = System::read(root).unwrap();
        assert_eq!(system.caches.iter().map(|cache| cache.shared_by).collect::<Vec<_>>(), [Some(1), Some(5)]);
        fs::remove_file(root.join("sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list")).unwrap();
        assert_eq!(System::read(root).unwrap().caches[1].shared_by, None, "nobody says");
    }

    #[test]
    fn a_system_without_caches_is_refused_with_advice() {
        let root = tempfile::tempdir().expect("a folder");
        let error = System::read(root.path()).expect_err("nothing there").to_string();
        assert!(error.contains("does not list its caches") && error.contains("--toml > my.toml"), "{error}");
    }
}
