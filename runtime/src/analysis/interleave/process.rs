//! All threads of one process, in the order of the model.
//!
//! Takes what the process's rings carried, gives the result of each. Refuses more threads than [`MOST_THREADS`], and
//! clusters that name no thread.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    cluster::Cluster,
    names::RingNames,
    object_attribution::{CellsByObject, ObjectAttribution},
    order::Order,
    own::RingStack,
};
use crate::{
    abi::synchronise::Synchronise,
    analysis::{
        analyzer::Analyzer,
        charge::Charging,
        deferred::DeferredRing,
        items::{Front, Items},
        modules::{ModuleTable, Source},
        options::Options,
        result::{MemoryResult, OwnStack},
        shared::{
            MOST_THREADS, Member, Met, Shared, SharedLine, SharedObject, SharedPart, ThreadError, ThreadNumber,
            Together,
        },
    },
    decode::locator::SegmentNumber,
    engine::{AccessTag, AllocationFailure},
    objects::{
        Object, ObjectNumber,
        common::{CommonObjects, Ended},
    },
    observe::sharing::{RingSite, Sharing, Writer},
};

/// A thread, and what its ring carried.
struct Ring {
    part: DeferredRing,
    analyzer: Analyzer,
    /// By cell of the ring: the label of its cell of the cluster; [`AccessTag::UNCOUNTED`] while it has none.
    labels: Vec<AccessTag>,
    /// Numbers of its thread and of its stack, once it has begun.
    thread: Option<(ThreadNumber, usize)>,
    /// So many of its modules were looked at.
    met: usize,
    /// Its stack alone, if there is one beside its cluster's; and what that gave.
    own: Option<RingStack>,
    alone: Option<OwnStack>,
}

/// A process being analysed.
pub struct Process<'a> {
    together: &'a Together,
    options: &'a Options,
    modules: &'a ModuleTable,
    rings: Vec<Ring>,
    /// The ring of each thread; threads without hooks have none.
    ring_of: Vec<Option<usize>>,
    /// The ring of the thread that was made by the event of this number.
    made: HashMap<u64, usize>,
    order: Order,
    clusters: Vec<Cluster>,
    /// Stacks by number of the cluster in the options, or of the ring; of threads that no cluster names.
    stacks: BTreeMap<Option<usize>, usize>,
    /// Whose memory it is, if that is to be known.
    common: Option<CommonObjects>,
    sharing: Option<Sharing>,
    /// Modules whose variables `common` knows: number of the table, and where it is.
    met: HashSet<(u32, u64)>,
    pub shared: Shared,
}

impl<'a> Process<'a> {
    /// A process with rings of threads, in any order.
    ///
    /// # Errors
    /// Too many threads.
    pub fn new(
        together: &'a Together,
        options: &'a Options,
        modules: &'a ModuleTable,
        mut parts: Vec<DeferredRing>,
    ) -> Result<Self, ThreadError> {
        if parts.len() > MOST_THREADS {
            return Err(ThreadError::Many { threads: parts.len() });
        }
        parts.sort_by_key(|part| part.start.map(|start| start.event));
        let made = matched(&parts);
        // The first is the one that the process began with. Of the others, who is not made by code with hooks is there
        // from the start; members of a team come in the order of their numbers in it.
        let mut first: Vec<usize> = (0..parts.len()).filter(|ring| !made.values().any(|of| of == ring)).collect();
        if let Some(others) = first.get_mut(1..) {
            others.sort_by_key(|ring| parts[*ring].start);
        }
        let ring = |part| Ring {
            part,
            analyzer: Analyzer::new(options.clone()),
            labels: Vec::new(),
            thread: None,
            met: 0,
            own: together.alone.then(|| RingStack::new(options)),
            alone: None,
        };
        let mut process = Self {
            together,
            options,
            modules,
            rings: parts.into_iter().map(ring).collect(),
            ring_of: Vec::new(),
            made,
            order: Order::new(together.turn),
            clusters: Vec::new(),
            stacks: BTreeMap::new(),
            common: (together.sharing.is_some() || options.objects).then(CommonObjects::default),
            sharing: together.sharing.map(|line| Sharing::new(line, together.apart)),
            met: HashSet::new(),
            shared: Shared::default(),
        };
        if process.sharing.is_some() {
            process.common.iter_mut().for_each(|common| common.objects.layout.keep_starts());
        }
        // A team orders its members.
        let is_unseen = |ring: &&usize| process.rings[**ring].part.start.is_none_or(|start| start.member == 0);
        let unseen_starts = first.iter().skip(1).filter(is_unseen).count() as u64;
        process.shared.unseen_starts = unseen_starts;
        for ring in first {
            let handle = process.rings[ring].part.start.map(|start| start.handle);
            process.begin(None, handle, Some(ring));
        }
        Ok(process)
    }

    /// Has everything done, in order. Where the system refuses what an engine needs, the stacks are lost, and with them
    /// what reads cost.
    ///
    /// # Errors
    /// What the system refused.
    pub fn attempt(&mut self) -> Result<(), String> {
        AllocationFailure::catch(|| self.run()).map_err(|refused| {
            self.clusters.clear();
            refused.0
        })
    }

    fn run(&mut self) {
        loop {
            let Some(thread) = self.order.next() else {
                if self.order.force() {
                    continue;
                }
                return;
            };
            match self.ring_of[thread as usize] {
                Some(ring) => self.turn(thread, ring),
                None => self.order.end(thread),
            }
        }
    }

    fn turn(&mut self, thread: ThreadNumber, number: usize) {
        let mut room = self.order.room(thread);
        while room > 0 {
            let ring = &mut self.rings[number];
            let Some(front) = ring.front(self.modules) else { return self.order.end(thread) };
            match front {
                Front::Work => {
                    let stack = self.stack(number);
                    self.meet_modules(number);
                    let Some(done) = self.work(number, stack, room) else { return };
                    self.order.advance(thread, done);
                    room -= done;
                }
                Front::Synchronise(event) => {
                    ring.analyzer.core.charging.engine.backend.deferred_items().into_iter().for_each(Items::pass);
                    if event.what == Synchronise::Created {
                        let made = self.made.remove(&event.value);
                        self.begin(Some(thread), Some(event.object), made);
                    }
                    return self.order.event(thread, event);
                }
            }
        }
    }

    /// Has a ring's stack do up to so many accesses; how many there were.
    fn work(&mut self, number: usize, stack: usize, most: u64) -> Option<u64> {
        let Ring { analyzer, labels, .. } = &mut self.rings[number];
        let mut worker = self.clusters[stack].worker(number as u32, labels);
        let Charging { engine, counters, .. } = &mut analyzer.core.charging;
        let items = engine.backend.deferred_items()?;
        let Some(common) = &mut self.common else { return Some(items.work(most, |op| worker.op(op))) };
        let parted =
            counters.table.parts.as_deref_mut().map(|cells| CellsByObject { cells, counters: &mut counters.cells });
        let sharing = self.sharing.as_mut();
        let mut watched = ObjectAttribution { ring: number as u32, worker, common, parted, sharing };
        Some(items.work(most, |op| watched.op(op)))
    }

    /// Tells `common` of the variables of modules.
    fn meet_modules(&mut self, number: usize) {
        let ring = &mut self.rings[number];
        let Some(common) = &mut self.common else { return };
        let modules = &ring.analyzer.locator.modules;
        for module in &modules[ring.met..] {
            if self.met.insert((module.placed.id, module.placed.low)) {
                common.objects.add_module(module);
            }
        }
        ring.met = modules.len();
    }

    fn begin(&mut self, by: Option<ThreadNumber>, handle: Option<u64>, ring: Option<usize>) {
        let thread = self.order.begin(by, handle);
        self.ring_of.push(ring);
        if let Some(ring) = ring {
            self.rings[ring].thread = Some((thread, usize::MAX));
        }
    }

    /// The stack of a ring that has something to do, so that its first function is known.
    fn stack(&mut self, number: usize) -> usize {
        let ring = &mut self.rings[number];
        let thread = match ring.thread {
            Some((_, stack)) if stack != usize::MAX => return stack,
            Some((thread, _)) => thread,
            None => 0,
        };
        let name = RingNames(&ring.analyzer).first_name();
        let is_named = |member: &Member| member.names(thread, name.as_deref());
        let cluster = if self.together.apart {
            Some(number)
        } else {
            let cluster = self.together.clusters.iter().position(|members| members.iter().any(is_named));
            self.shared.named.extend(cluster);
            cluster
        };
        let stack = *self.stacks.entry(cluster).or_insert_with(|| {
            let with_thread = self.options.workers > 1 && self.clusters.is_empty();
            self.clusters.push(Cluster::new(&self.options.ways, &self.options.line_sizes, with_thread));
            self.clusters.len() - 1
        });
        ring.thread = Some((thread, stack));
        stack
    }

    /// The results of all rings, in the order of their threads; the objects, of which these are numbers; what else was
    /// found.
    pub fn finish(mut self) -> (Vec<MemoryResult>, Option<Ended>, Shared) {
        self.shared.undefined = self.order.undefined;
        let mut peak_bytes = 0;
        let mut of_stack = Vec::new();
        let rings = &mut self.rings;
        for ring in rings.iter_mut() {
            ring.analyzer.count_unmoved();
            peak_bytes += ring.own.as_ref().map_or(0, RingStack::heap_bytes);
            ring.alone = ring.own.take().map(|own| own.finish(&mut ring.analyzer.core.charging.counters));
        }
        self.shared.most_threads = most_threads(rings, self.clusters.len());
        for cluster in std::mem::take(&mut self.clusters) {
            peak_bytes += cluster.heap_bytes();
            of_stack.push(cluster.finish(|ring, cell, found| {
                if let Some(cell) = rings[ring as usize].analyzer.core.charging.counters.cells.get_mut(cell.index()) {
                    cell.merge(found);
                }
            }));
        }
        self.shared.engine_bytes = peak_bytes;
        if let Some(sharing) = self.sharing.take() {
            self.shared.met = Some(self.named(sharing));
        }
        let mut order: Vec<usize> = (0..self.rings.len()).collect();
        order.sort_by_key(|ring| self.rings[*ring].thread);
        let objects = self.common.take().filter(|_| self.options.objects).map(|common| {
            let mut ended = common.finish();
            // Results come in another order than rings.
            let mut place = vec![0; order.len()];
            order.iter().zip(0..).for_each(|(ring, at)| place[*ring] = at);
            ended.list.iter_mut().for_each(|(ring, _)| *ring = place.get(*ring as usize).copied().unwrap_or_default());
            ended
        });
        let mut results: Vec<Option<Ring>> = self.rings.into_iter().map(Some).collect();
        let rings = order.into_iter().filter_map(|ring| results[ring].take());
        let mut given = vec![false; of_stack.len()];
        let results = rings.map(|ring| {
            let stack = ring.thread.map(|(_, stack)| stack);
            let mut result = MemoryResult { own: ring.alone, ..ring.analyzer.counted() };
            result.cells.iter_mut().for_each(crate::counts::cell::CellCounters::flush);
            if let Some((totals, cold)) = stack.and_then(|stack| of_stack.get(stack)) {
                let stack = stack.unwrap_or_default();
                result.ring.totals.peak_live = totals.peak_live;
                // Once, as sums are over threads.
                if !std::mem::replace(&mut given[stack], true) {
                    result.ring.totals.footprint = totals.footprint;
                    result.ring.totals.in_blocks = totals.in_blocks;
                    result.cold = cold.clone();
                }
            }
            result
        });
        (results.collect(), objects, self.shared)
    }

    /// What threads did to each other, in the numbers of the measurement.
    fn named(&self, sharing: Sharing) -> Met {
        let found = sharing.finish();
        let thread = |ring: u32| self.rings[ring as usize].thread.map_or(0, |(thread, _)| thread);
        let names = |ring: usize| RingNames(&self.rings[ring].analyzer);
        let place = |(ring, label): RingSite| (thread(ring), names(ring as usize).site_key(label));
        let object = |number: ObjectNumber| {
            let Some((ring, object)) = self.common.as_ref().map(|common| common.of_ring(number)) else {
                return SharedObject::Unknown;
            };
            let site = |segment: Option<SegmentNumber>| names(ring as usize).segment_key(segment?);
            match object {
                Object::Unknown => SharedObject::Unknown,
                Object::Datum { table, datum } => SharedObject::Datum { table, datum },
                Object::Slot { table, slot } => SharedObject::Slot { table, slot },
                Object::Block { segment, .. } => SharedObject::Block { site: site(segment) },
                Object::Mapping { segment, .. } => SharedObject::Mapping { site: site(segment) },
            }
        };
        let mut met = Met { line: self.together.sharing.unwrap_or_default(), ..Met::default() };
        let threads = self.ring_of.iter();
        met.threads = threads.map(|ring| names((*ring)?).first_function()).collect();
        for (writer, reader, of, bytes) in found.moved {
            *met.moved.entry((place(writer), place(reader), object(of))).or_default() += bytes;
        }
        let part = |Writer { site, object: of, offset, mask, since }: Writer<RingSite>| SharedPart {
            site: place(site),
            object: object(of),
            offset,
            mask,
            since,
        };
        met.lines.extend(
            found
                .lines
                .into_iter()
                .map(|found| SharedLine { parts: found.writers.into_iter().map(part).collect(), line: found.line }),
        );
        if self.together.apart {
            met.handed = vec![0; met.threads.len()];
            found.handed.into_iter().for_each(|(ring, bytes)| met.handed[thread(ring) as usize] += bytes);
        }
        met
    }

    /// What the temporary file refused.
    pub fn error(&mut self) -> Option<std::io::Error> {
        self.rings.iter_mut().find_map(|ring| ring.part.error.take())
    }
}

impl Ring {
    /// What comes next; decodes more if need be.
    fn front(&mut self, modules: &ModuleTable) -> Option<Front> {
        loop {
            if let Some(front) = self.analyzer.core.charging.engine.backend.deferred_items()?.front() {
                return Some(front);
            }
            let words = self.part.next_words()?;
            let mut source = Source { processes: &self.part.processes, table: modules };
            self.analyzer.replay(&words, &mut source);
            self.analyzer.core.charging.flush();
            // All before that was done, so what waits is new.
            self.own.iter_mut().for_each(|own| own.follow(&mut self.analyzer.core.charging));
        }
    }
}

/// Threads of the stack that most of them share.
fn most_threads(rings: &[Ring], stacks: usize) -> u64 {
    let mut threads = vec![0; stacks];
    for stack in rings.iter().filter_map(|ring| ring.thread).map(|(_, stack)| stack) {
        threads.get_mut(stack).into_iter().for_each(|threads| *threads += 1);
    }
    threads.into_iter().max().unwrap_or(0)
}

/// Which ring is of the thread that an event made, by the number of the event. A handle comes again when its thread has
/// ended, so a thread that starts is the one that was made last before, else the one that is made next: it may start
/// before the one that made it says so.
fn matched(parts: &[DeferredRing]) -> HashMap<u64, usize> {
    let mut made: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (handle, event) in parts.iter().flat_map(|part| &part.created) {
        made.entry(*handle).or_default().push(*event);
    }
    made.values_mut().for_each(|events| events.sort_unstable());
    let mut matched = HashMap::new();
    for (ring, part) in parts.iter().enumerate().skip(1) {
        let Some(start) = part.start else { continue };
        let Some(events) = made.get_mut(&start.handle) else { continue };
        let before = events.partition_point(|event| *event < start.event);
        let at = if before > 0 { before - 1 } else { before };
        if at < events.len() {
            matched.insert(events.remove(at), ring);
        }
    }
    matched
}
