//! Replays the records of one ring for the motion of data through loops.
//!
//! Takes words in the layout of [`crate::abi`] from code whose loops are marked, gives a [`MotionResult`]. There is no
//! stack of bytes here and no depth.

use super::{
    affine::{Lane, Steady, pages},
    arrays::Arrays,
    elements::Elements,
    loops::{LoopNumber, ModuleLoops, SourceLoop},
    movement::{Movement, RowNumber},
    nest::{LevelNumber, RingLoopNumber},
    options::MotionOptions,
    result::{MotionResult, RingMotion},
};
use crate::{
    abi::{Item, ItemKind, SegmentKind, segment_flag},
    decode::{
        context::Contexts,
        effects::{Effects, effects},
        event::{Event, EventRecord},
        locator::{FunctionNumber, Located, Locator, Module, ModuleSource},
        records,
        ring::{DecodedRing, RingTotals},
    },
    engine::{Stream, dependence::Plan},
    objects::{ObjectNumber, Origin},
    sites::{Segment, SiteTable},
};

/// Replays the records of one ring, and counts what each tile of each loop brings in.
pub struct MotionMachine {
    locator: Locator,
    tables: Tables,
    core: Core,
}

/// What is static, by numbers that are unique in the ring.
#[derive(Default)]
struct Tables {
    segments: Vec<SegmentPlace>,
    /// By item: a store to where the segment has loaded from before: both are one access.
    closes_update: Vec<bool>,
    loops: usize,
    modules: Vec<(u32, Vec<SourceLoop>)>,
}

#[derive(Clone, Copy)]
struct SegmentPlace {
    /// The loop that it is in.
    number: Option<RingLoopNumber>,
    iteration: bool,
    first_item: u32,
}

impl Tables {
    fn add(&mut self, module: &Module, core: &mut Core) {
        let table = &module.placed.table;
        let found = ModuleLoops::from_sites(table);
        let in_ring = |number: LoopNumber| RingLoopNumber::new(self.loops + number.index());
        let first_item = self.closes_update.len() as u32;
        self.segments.extend(table.segments.iter().zip(&found.segments).map(|(segment, place)| SegmentPlace {
            number: place.number.map(in_ring),
            iteration: place.iteration,
            first_item: first_item + segment.items.start,
        }));
        core.movement.nest.add_loops(found.loops.iter().map(|l| l.parent.map(in_ring)));
        self.closes_update.resize(first_item as usize + table.items.len(), false);
        for segment in &table.segments {
            for index in closed_updates(segment, table) {
                self.closes_update[first_item as usize + index] = true;
            }
        }
        self.modules.push((module.placed.id, found.loops.clone()));
        self.loops += found.loops.len();
    }
}

/// Items (of the table) that store to where an earlier one of the segment has loaded from: read-modify-writes, if each
/// load is taken once.
fn closed_updates(segment: &Segment, table: &SiteTable) -> Vec<usize> {
    let mut loaded: Vec<(u16, i64, u32)> = Vec::new();
    let mut closing = Vec::new();
    for index in segment.items.start as usize..segment.items.end as usize {
        let item = &table.items[index];
        let place = (item.word, item.offset, item.size);
        if item.kind == ItemKind::Load as u8 {
            loaded.push(place);
        } else if item.kind == ItemKind::Store as u8
            && let Some(at) = loaded.iter().rposition(|l| *l == place)
        {
            loaded.swap_remove(at);
            closing.push(index);
        }
    }
    closing
}

/// A record of one iteration that has been done, and what follows it.
struct Following<'a> {
    segment: &'a Segment,
    /// The accesses begin after the marks of loops.
    items: &'a [Item],
    marks: usize,
    /// From that record on.
    words: &'a [u64],
    /// Words of a record.
    len: usize,
    function: FunctionNumber,
    place: SegmentPlace,
    closes: &'a [bool],
}

impl Following<'_> {
    fn accesses(&self) -> &[Item] {
        &self.items[self.marks..]
    }

    fn record(&self, number: usize) -> &[u64] {
        &self.words[number * self.len..][..self.len]
    }
}

/// The row that an item's last access went to.
#[derive(Clone, Copy)]
struct LastRow {
    level: LevelNumber,
    array: ObjectNumber,
    row: RowNumber,
}

struct Core {
    contexts: Contexts,
    movement: Movement,
    arrays: Arrays,
    elements: Option<Elements>,
    /// By item.
    last_rows: Vec<Option<LastRow>>,
    /// Records that are done singly before it is tried again to do many together.
    singly: usize,
    totals: RingTotals,
}

/// Fewest iterations that are worth doing together.
const LEAST: usize = 16;
/// Records done singly after it was tried in vain, at least.
const PATIENCE: usize = 8;

impl MotionMachine {
    /// Nothing was replayed.
    #[must_use]
    pub fn new(options: &MotionOptions) -> Self {
        let core = Core {
            contexts: Contexts::default(),
            movement: Movement::new(options.memory),
            arrays: Arrays::new(options.elements.is_some()),
            elements: options.elements.map(Elements::new),
            last_rows: Vec::new(),
            singly: 0,
            totals: RingTotals::default(),
        };
        Self { locator: Locator::default(), tables: Tables::default(), core }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        let lost = records::each(words, |rest| self.record(rest, source));
        self.core.totals.replayed(words, lost);
    }

    #[inline]
    fn record(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let head = rest[0];
        if head >> 48 != 0 {
            return self.event(rest, source);
        }
        let added = |module: &Module| self.core.add(module, &mut self.tables);
        let Located { module, segment: number, words: len } = self.locator.record(rest, source, added)?;
        let module = &self.locator.modules[module];
        let segment = module.segment(number);
        let items = module.items(segment);
        let place = self.tables.segments[module.segment_number(number).index()];
        let closes = &self.tables.closes_update[place.first_item as usize..][..items.len()];
        let record = &rest[..len];
        if !segment.slots.is_empty() {
            let movement = &mut self.core.movement;
            self.core.arrays.slots_start(module, segment, record, |address, len| movement.forget(address, len));
        }
        let function = module.function_number(segment.function);
        self.core.segment(segment, items, record, function, place, closes);
        if place.iteration && rest.len() >= 2 * len && rest[len] == head && self.core.may_go_on(segment, items) {
            let marks = items.iter().take_while(|item| item.kind == ItemKind::Loop as u8).count();
            let following = Following { segment, items, marks, words: rest, len, function, place, closes };
            return Some(len * (1 + self.core.go_on(&following)));
        }
        Some(len)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let EventRecord { site: address, words, event } = EventRecord::from_words(rest)?;
        let site = self.locator.call_site(address, source, |m| self.core.add(m, &mut self.tables))?;
        if let Some(site) = site {
            self.core.resume(site.function);
        }
        let site = site.map(|site| site.segment);
        let item = site.map(|segment| self.tables.segments[segment.index()].first_item);
        let origin = Origin { context: self.core.contexts.current(), segment: site };
        self.core.event(event, item, origin);
        Some(words)
    }

    /// Accesses so far.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.totals.accesses
    }

    /// Memory that stamps take, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.core.movement.stamps.heap_bytes()
    }

    /// Ends the replay and gives up the counters.
    #[must_use]
    pub fn finish(self) -> MotionResult {
        let Core { contexts, mut movement, arrays, elements, totals, .. } = self.core;
        movement.finish();
        let motion = RingMotion::new(&self.tables.modules, &movement, arrays, elements);
        MotionResult { ring: DecodedRing { modules: self.locator.modules, contexts, totals }, motion }
    }
}

impl Core {
    fn add(&mut self, module: &Module, tables: &mut Tables) {
        tables.add(module, self);
        self.arrays.add_module(module);
        self.last_rows.resize(tables.closes_update.len(), None);
    }

    /// Does what an event says, with the item and the origin of its call site.
    fn event(&mut self, event: Event, item: Option<u32>, origin: Origin) {
        match event {
            Event::Read { address, len } | Event::Write { address, len } => {
                self.touch(address, len, item, 1);
            }
            Event::Copy { to, from, len } => {
                self.touch(from, len, item, 1);
                self.touch(to, len, item, 1);
            }
            Event::Alloc { address, len } => {
                self.movement.forget(address, len);
                self.arrays.allocated(address, len, origin);
            }
            Event::Mapped { address, len, file } => self.arrays.mapped(address, len, &file, origin),
            Event::Free { address, len } => {
                self.movement.forget(address, len);
                self.arrays.ended(address, len);
            }
            Event::Relocate { from, from_len, to, to_len } => {
                if from != to {
                    let array = self.arrays.array_at(from);
                    self.movement.relocate(from, to, from_len.min(to_len), array);
                }
                self.arrays.relocated(from, from_len, to, to_len, origin);
            }
            Event::FreeUnknown => self.totals.unknown_frees += 1,
            Event::Restart => {
                let _ = self.contexts.restart();
                self.movement.nest.leave(self.contexts.depth());
            }
            // Loops move the same bytes whatever the program declares, and whoever waits.
            Event::Input { .. }
            | Event::Output { .. }
            | Event::RegionBegin { .. }
            | Event::RegionEnd { .. }
            | Event::Clock { .. }
            | Event::Executed { .. }
            | Event::Paged { .. }
            | Event::Synchronise(_) => {}
        }
    }

    /// The running function is another: everything above it is gone.
    fn resume(&mut self, function: FunctionNumber) {
        if self.contexts.function() != Some(function) {
            self.contexts.resume(function);
            self.movement.nest.leave(self.contexts.depth());
        }
    }

    #[inline]
    fn segment(
        &mut self,
        segment: &Segment,
        items: &[Item],
        record: &[u64],
        function: FunctionNumber,
        place: SegmentPlace,
        closes: &[bool],
    ) {
        let flags = segment.flags;
        let cookie = || record[record.len() - 1];
        if flags & segment_flag::ENTER != 0 {
            // Loops of frames that ended unseen, and of an earlier activation at this depth.
            self.movement.nest.leave(self.contexts.depth());
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            self.contexts.enter(function, cookie, false);
        } else if flags & segment_flag::LANDING != 0 {
            let _ = self.contexts.land(function, cookie());
            self.movement.nest.leave(self.contexts.depth());
        } else {
            self.resume(function);
        }
        self.movement.nest.record_loop(self.contexts.depth(), place.number, place.iteration);
        // Only code without marks has loops in one record.
        if segment.kind == SegmentKind::Loop as u8 {
            for iteration in 0..record[1] {
                let address = |item: &Item| records::address_in(item, record, iteration);
                self.items(items, record, address, place.first_item, closes);
            }
        } else {
            let address = |item: &Item| record[usize::from(item.word)].wrapping_add_signed(item.offset);
            self.items(items, record, address, place.first_item, closes);
        }
        if flags & segment_flag::EXIT != 0 {
            self.contexts.exit(function);
            self.movement.nest.leave(self.contexts.depth());
        }
    }

    /// Whether a segment's next records may be done together.
    #[inline]
    fn may_go_on(&mut self, segment: &Segment, items: &[Item]) -> bool {
        if self.singly > 0 {
            self.singly -= 1;
            return false;
        }
        let is_plain = |item: &Item| {
            [ItemKind::Loop, ItemKind::Load, ItemKind::Store].into_iter().any(|kind| item.kind == kind as u8)
        };
        segment.kind != SegmentKind::Loop as u8
            && segment.flags & segment_flag::BORDERS == 0
            && segment.slots.is_empty()
            && self.elements.is_none()
            && items.iter().all(is_plain)
    }

    /// Does iterations that go on as the one that has been done; gives their number.
    fn go_on(&mut self, following: &Following<'_>) -> usize {
        let alike = records::alike(following.words, following.len) - 1;
        let Some((level, lanes, plan)) = self.lanes(following, alike) else {
            self.singly = alike.max(PATIENCE);
            return 0;
        };
        let warm_up = plan.warm_up as usize;
        for number in 1..=warm_up {
            let Following { segment, items, function, place, closes, .. } = *following;
            self.segment(segment, items, following.record(number), function, place, closes);
        }
        let steady = Steady { lanes: &lanes, plan: &plan };
        let (mut first, end) = (warm_up as u64 + 1, alike as u64 + 1);
        while first < end {
            let count = (end - first).min(plan.longest as u64);
            self.movement.go_on(level, &steady, first, count);
            first += count;
        }
        let count = (alike - warm_up) as u64;
        for (lane, item) in lanes.iter().zip(following.accesses()).filter(|(lane, _)| lane.counts) {
            let element = u64::from(item.size / u32::from(item.lanes.max(1)));
            self.arrays.count(lane.array, element, count * u64::from(item.size));
            self.totals.accesses += count;
        }
        alike
    }

    /// The innermost level and what its following iterations access, if many of them can be done together.
    fn lanes(&mut self, following: &Following<'_>, alike: usize) -> Option<(LevelNumber, Vec<Lane>, Plan)> {
        let level = self.movement.nest.innermost()?;
        if alike < LEAST || !self.movement.nest.has_tiles_for(alike as u64) {
            return None;
        }
        let iterations = alike as u64 + 1;
        let stream = |item: &Item| records::stream(item, following.words, following.len);
        let streams: Vec<Stream> = following.accesses().iter().map(stream).collect();
        let plan = Plan::new(&streams, iterations).filter(|plan| plan.warm_up < alike as u64)?;
        if !self.movement.has_room_for(streams.iter().map(|stream| pages(stream, iterations)).sum()) {
            return None;
        }
        let mut lanes = Vec::with_capacity(streams.len());
        for (number, &stream) in streams.iter().enumerate() {
            let item = following.marks + number;
            let last = self.last_rows[following.place.first_item as usize + item]?;
            let array = self.arrays.objects.layout.whole_stream(&stream, iterations)?;
            if (last.level, last.array) != (level, array) {
                return None;
            }
            lanes.push(Lane { stream, array, row: last.row, counts: !following.closes[item] });
        }
        Some((level, lanes, plan))
    }

    #[inline]
    fn items(
        &mut self,
        items: &[Item],
        record: &[u64],
        address: impl Fn(&Item) -> u64,
        first_item: u32,
        closes: &[bool],
    ) {
        for (index, item) in items.iter().enumerate() {
            let dense = first_item + index as u32;
            let address = address(item);
            if item.kind == ItemKind::Load as u8 || item.kind == ItemKind::Store as u8 {
                let accesses = u64::from(!closes[index]);
                if let Some(array) = self.touch(address, u64::from(item.size), Some(dense), accesses)
                    && accesses > 0
                {
                    let element = u64::from(item.size / u32::from(item.lanes.max(1)));
                    self.arrays.count(array, element, u64::from(item.size));
                }
            } else {
                self.rare(item, record, address, dense);
            }
        }
    }

    /// An access, or the second half of one (`accesses` is 0). Gives the array, if it is in a loop.
    #[inline]
    fn touch(&mut self, address: u64, len: u64, item: Option<u32>, accesses: u64) -> Option<ObjectNumber> {
        self.totals.accesses += accesses;
        let level = self.movement.nest.innermost().filter(|_| len > 0)?;
        if self.movement.nest.is_pending() {
            self.open_tiles();
        }
        let array = self.arrays.array_at(address);
        let row = match item.map(|item| &mut self.last_rows[item as usize]) {
            Some(Some(last)) if last.level == level && last.array == array => last.row,
            Some(last) => {
                let row = self.movement.row(level, array);
                *last = Some(LastRow { level, array, row });
                row
            }
            None => self.movement.row(level, array),
        };
        self.movement.touch(row, address, len, accesses);
        if let Some(elements) = &mut self.elements {
            elements.touch(&self.movement.nest, array, self.arrays.byte_in_array(address), len);
        }
        Some(array)
    }

    fn open_tiles(&mut self) {
        let opened = self.movement.open_tiles();
        let Some(elements) = &mut self.elements else { return };
        let opened = opened.to_vec();
        let nest = &self.movement.nest;
        let mut timestamp = Vec::new();
        for number in nest.running() {
            let level = &nest.levels[number.index()];
            timestamp.push(level.iteration);
            if opened.contains(&number) {
                elements.begin(number, level, timestamp.clone());
            }
        }
    }

    fn rare(&mut self, item: &Item, record: &[u64], address: u64, dense: u32) {
        let mut to = OfItem { core: self, item: dense };
        if effects(item, record, address, &mut to).is_err() {
            self.totals.lost_words += 1;
        }
    }
}

/// What an item does, for the array and the loops that it is in.
struct OfItem<'a> {
    core: &'a mut Core,
    item: u32,
}

impl OfItem<'_> {
    fn touch(&mut self, address: u64, len: u64) {
        self.core.touch(address, len, Some(self.item), 1);
    }
}

impl Effects for OfItem<'_> {
    fn load(&mut self, address: u64, len: u64) {
        self.touch(address, len);
    }

    fn store(&mut self, address: u64, len: u64) {
        self.touch(address, len);
    }

    fn update(&mut self, address: u64, len: u64) {
        self.touch(address, len);
    }

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        self.touch(from, len);
        self.touch(to, len);
    }

    fn fill(&mut self, address: u64, len: u64) {
        self.touch(address, len);
    }

    fn kill(&mut self, address: u64, len: u64) {
        self.core.arrays.objects.ended(address, len);
    }
}
