//! Which executables and libraries the program's processes have loaded, and their descriptors.

use std::{
    collections::{BTreeMap, HashMap},
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use super::living::LivingRings;
use crate::{
    abi::emulated,
    decode::locator::{ModuleSource, Placed},
    emulated::{Files, names},
    ring::{Module, SiteAreas},
    sites::{Batch, EMULATED, Emulated, GeneratedCode, SiteTable, joined::Joined},
    trace::TraceWriter,
};

/// Descriptors read so far, shared by all workers.
#[derive(Default)]
pub struct ModuleTable {
    inner: Mutex<Inner>,
    live: Option<Live>,
}

/// Of a run at hand: where the sites of emulated programs come from, and where they are written down.
struct Live {
    areas: SiteAreas,
    trace: Option<Arc<TraceWriter>>,
    /// Files of names that are older are of other processes.
    since: SystemTime,
}

/// The clock of files may be a little late.
const LATE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Inner {
    tables: Vec<(PathBuf, Arc<SiteTable>)>,
    by_file: HashMap<FileKey, Option<u32>>,
    /// Load bias and table, of each module of a process.
    by_process: HashMap<u32, Vec<(u64, u32)>>,
    unreadable: Vec<String>,
    /// Tables of emulated programs: number, by address.
    emulated: BTreeMap<u64, u32>,
    joined: Joined,
    /// Stands for tables that were given up.
    nothing: Arc<SiteTable>,
    areas: BTreeMap<u32, Area>,
    living: LivingRings,
    files: Files,
}

/// The sites of a process.
#[derive(Clone, Copy, Default)]
struct Area {
    /// Bytes that are known.
    known: u64,
    /// The system's number of the process. The ring that says it is given up before the area is.
    pid: u32,
}

/// What tells a file, and one state of it, from others.
#[derive(PartialEq, Eq, Hash)]
struct FileKey {
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileKey {
    /// Of a file with a name; which file it is now, if it can be looked at.
    fn new(path: &Path, found: Option<&Metadata>) -> Self {
        let of = |f: fn(&Metadata) -> u64| found.map_or(0, f);
        let time = |f: fn(&Metadata) -> (i64, i64)| found.map_or((0, 0), f);
        Self {
            path: path.to_path_buf(),
            device: of(Metadata::dev),
            inode: of(Metadata::ino),
            bytes: of(Metadata::len),
            written: time(|m| (m.mtime(), m.mtime_nsec())),
            changed: time(|m| (m.ctime(), m.ctime_nsec())),
        }
    }
}

impl ModuleTable {
    /// For the programs of a channel.
    pub fn live(areas: SiteAreas, trace: Option<Arc<TraceWriter>>) -> Self {
        let since = SystemTime::now() - LATE;
        Self { live: Some(Live { areas, trace, since }), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A worker that panicked while holding the lock has already failed the run.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has loaded a module, whose file is at `file` now. Reads the descriptors unless they are known.
    pub fn register(&self, module: &Module, file: &Path) {
        let found = std::fs::metadata(file).ok();
        let key = FileKey::new(&module.path, found.as_ref());
        let mut inner = self.lock();
        let inner = &mut *inner;
        let id = *inner.by_file.entry(key).or_insert_with(|| match SiteTable::read(file) {
            Ok(table) => {
                inner.tables.push((module.path.clone(), Arc::new(table)));
                Some(inner.tables.len() as u32 - 1)
            }
            Err(error) => {
                inner.unreadable.push(error.to_string());
                None
            }
        });
        if let Some(id) = id {
            inner.by_process.entry(module.process).or_default().push((module.bias, id));
        }
    }

    /// Sites of an emulated program.
    pub fn add_batch(&self, batch: &Batch) {
        self.lock().add_batch(batch);
    }

    /// A ring begins, perhaps of a process that another ring's forked.
    pub fn ring_begins(&self, ring: u32, parent: Option<u32>) {
        self.lock().living.begins(ring, parent);
    }

    /// A ring has ended and its counts are added up, and its process has forked so often. Gives up what nobody names
    /// any more.
    pub fn ring_ends(&self, ring: u32, forks: u32) {
        let mut inner = self.lock();
        for over in inner.living.ends(ring, forks) {
            inner.forget(over);
            if let Some(live) = &self.live {
                live.areas.release(over);
            }
        }
    }

    /// Names of code that an emulated program has made, all of whose sites are known.
    pub fn name_generated(&self, code: &GeneratedCode) {
        self.lock().name_generated(code);
    }

    /// Asks for the names of all code that programs have made, which have ended.
    fn ask_for_names(&self, live: &Live) {
        let mut inner = self.lock();
        for (area, Area { pid, .. }) in inner.areas.clone() {
            let addresses = inner.of_area(area).flat_map(|id| inner.tables[id].1.generated()).collect();
            let functions = names(pid, live.since, &addresses);
            if functions.is_empty() {
                continue;
            }
            let code = GeneratedCode { area, functions };
            if let Some(trace) = &live.trace {
                trace.add_generated(&code);
            }
            inner.name_generated(&code);
        }
    }

    /// The sites of an emulated program at an address, those that have just come included.
    fn emulated(&self, address: u64) -> Option<Placed> {
        let mut inner = self.lock();
        inner.emulated_at(address).or_else(|| {
            let (ring, _) = emulated::area_of(address)?;
            inner.read_added(ring, self.live.as_ref()?);
            inner.emulated_at(address)
        })
    }

    /// A module's file cannot be found any more.
    pub fn vanished(&self, module: &Module) {
        let path = module.path.display();
        self.lock().unreadable.push(format!("{path}: the file that a process has loaded is not there any more"));
    }

    /// Number of items of a segment.
    pub fn items(&self, table: u32, segment: u32) -> usize {
        let inner = self.lock();
        inner.tables[table as usize].1.segments[segment as usize].items.len()
    }

    /// A table at an address, if there is that table.
    pub fn placed(&self, id: u32, low: u64) -> Option<Placed> {
        let table = self.lock().tables.get(id as usize)?.1.clone();
        Some(Placed { low, table, id })
    }

    /// All tables, those of modules included that no record named, so that coverage counts them.
    pub fn into_parts(self) -> (Vec<(PathBuf, Arc<SiteTable>)>, Vec<String>) {
        if let Some(live) = &self.live {
            self.ask_for_names(live);
        }
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.tables, inner.unreadable)
    }
}

impl Inner {
    fn emulated_at(&self, address: u64) -> Option<Placed> {
        let (&low, &id) = self.emulated.range(..=address).next_back()?;
        let table = &self.tables[id as usize].1;
        (address - low < table.section_len).then(|| Placed { low, table: table.clone(), id })
    }

    /// Numbers of the tables of an area.
    fn of_area(&self, area: u32) -> impl Iterator<Item = usize> + use<'_> {
        let range = emulated::address(area, 0)..=emulated::address(area, emulated::AREA_BYTES as u64 - 1);
        self.emulated.range(range).map(|(_, id)| *id as usize)
    }

    /// Gives up the tables of an area that have only what others have. Their numbers stay.
    fn forget(&mut self, area: u32) {
        let is_spare = |id: &usize| self.tables[*id].1.is_spare(*id as u32);
        let spare: Vec<usize> = self.of_area(area).filter(is_spare).collect();
        for id in spare {
            let table = &mut self.tables[id].1;
            self.emulated.remove(&table.section_address);
            let says_nothing = table.emulated.as_ref().is_none_or(|about| *about == Emulated::default());
            *table = if says_nothing { self.nothing.clone() } else { Arc::new(table.without_sites()) };
        }
    }

    fn name_generated(&mut self, code: &GeneratedCode) {
        let ids: Vec<usize> = self.of_area(code.area).collect();
        for id in ids {
            let table = &mut self.tables[id].1;
            if !table.generated().is_empty() {
                Arc::make_mut(table).name_generated(&code.functions);
            }
        }
    }

    fn add_batch(&mut self, batch: &Batch) {
        let path = PathBuf::from(EMULATED);
        match SiteTable::from_batch(batch, &path) {
            Ok(mut table) => {
                let rest = self.joined.join(&mut table, &self.tables);
                self.emulated.insert(batch.low, self.tables.len() as u32);
                self.tables.push((path.clone(), Arc::new(table)));
                self.tables.extend(rest.map(|rest| (path, Arc::new(rest))));
            }
            Err(error) => self.unreadable.push(error.to_string()),
        }
    }

    /// Reads what has come to an area.
    fn read_added(&mut self, ring: u32, live: &Live) {
        let area = self.areas.entry(ring).or_insert_with(|| Area { known: 0, pid: live.areas.pid(ring) });
        let Some((from, words)) = live.areas.words_since(ring, area.known) else { return };
        area.known = from + words.len() as u64 * 8;
        let low = emulated::address(ring, from);
        self.files.learn(low, &words);
        let batch = self.files.batch(low, &words);
        if let Some(trace) = &live.trace {
            // Before words that name its sites.
            trace.add_batch(&batch);
        }
        self.add_batch(&batch);
    }
}

/// The modules that one ring's records can name.
pub struct Source<'a> {
    /// The ring's process, then those that it was forked from, whose modules it has too.
    pub processes: &'a [u32],
    pub table: &'a ModuleTable,
}

impl ModuleSource for Source<'_> {
    fn modules(&mut self, address: u64) -> Vec<Placed> {
        if emulated::area_of(address).is_some() {
            return self.table.emulated(address).into_iter().collect();
        }
        let inner = self.table.lock();
        let of_process = |process: &u32| inner.by_process.get(process).into_iter().flatten();
        let place = |&(bias, id): &(u64, u32)| {
            let table = inner.tables[id as usize].1.clone();
            Placed { low: bias.wrapping_add(table.section_address), table, id }
        };
        // Ancestors first, as they loaded theirs before.
        self.processes.iter().rev().flat_map(of_process).map(place).collect()
    }

    fn processes(&self) -> &[u32] {
        self.processes
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        analysis::{Options, replay},
        tests::run::imported,
    };

    /// Sites of programs that nobody compiled with hooks come with the trace, and are found by the addresses of
    /// instructions.
    #[test]
    fn accesses_are_counted_by_their_instructions() {
        let (imported, mut reader) =
            imported("W 64 8 0x401000 0\nW 128 4 0x401010 0\nR 64 8 0x402000 0\nR 64 8 0x402000 1");
        assert_eq!(imported.threads, 2);
        let options = Options { hints: true, workers: 1, ..Options::default() };
        let measurement = replay(&mut reader, &options).expect("a whole trace").measurement;
        let mut found: Vec<_> = measurement
            .blocks
            .iter()
            .flat_map(|block| {
                let table = &measurement.tables[block.table as usize].1;
                let segment = &table.segments[block.segment as usize];
                let addresses = &table.addresses[segment.items.start as usize..segment.items.end as usize];
                let count = |(address, cell): (&u64, &crate::counts::cell::CellCounters)| {
                    (*address, block.executions, cell.written, cell.cold, cell.cost)
                };
                addresses.iter().zip(&block.cells).map(count).collect::<Vec<_>>()
            })
            .collect();
        found.sort_unstable();
        // One thread finds its word below four bytes, at depths 5 to 12; the other one brings in 8, at depths 1 to 8.
        let (below, first) = (5 * 3 + 3 * 4, 1 + 3 * 2 + 4 * 3);
        assert_eq!(found.iter().map(|found| found.0).collect::<Vec<_>>(), [0x40_1000, 0x40_1010, 0x40_2000]);
        assert_eq!((found[0].1, found[0].2, found[1].2), (1, 8, 4));
        assert_eq!((found[2].1, found[2].3, found[2].4), (2, 8, below + first));
        assert_eq!(measurement.threads.len(), 2);
    }
}
