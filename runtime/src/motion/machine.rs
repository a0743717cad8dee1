//! Replays the records of one ring for the motion of data through loops.
//!
//! Takes words in the layout of [`crate::abi`] from code whose loops are marked, gives a [`RingResult`] with [`RingMotion`]. There is no
//! stack of bytes here and no depth.

use std::collections::BTreeMap;

use super::{
    MotionOptions,
    arrays::Arrays,
    elements::Elements,
    loops::{ModuleLoops, NO_LOOP, SourceLoop},
    movement::Movement,
    nest::{LevelNumber, NO_LEVEL},
    regular::{Lane, Steady, pages},
    result::RingMotion,
};
use crate::{
    abi::{EventKind, Item, ItemKind, SegmentKind, item_flag, segment_flag},
    engine::{Stream, plan::Plan},
    objects::{ObjectNumber, Origin},
    session::{
        analyzer::{ModuleSource, RingResult, RingTotals, lane_runs},
        context::Contexts,
        counters::DepthCounts,
        locator::{Locator, Module},
        records::{self, Event},
    },
    sites::{Segment, SiteTable},
};

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
    loops: u32,
    modules: Vec<(u32, Vec<SourceLoop>)>,
}

#[derive(Clone, Copy)]
struct SegmentPlace {
    /// Number of the loop in the ring, or [`NO_LOOP`].
    number: u32,
    iteration: bool,
    first_item: u32,
}

impl Tables {
    fn add(&mut self, module: &Module, core: &mut Core) {
        let table = &module.placed.table;
        let found = ModuleLoops::of(table);
        let renumbered = |number: u32| if number == NO_LOOP { NO_LOOP } else { self.loops + number };
        let first_item = self.closes_update.len() as u32;
        self.segments.extend(table.segments.iter().zip(&found.segments).map(|(segment, place)| SegmentPlace {
            number: renumbered(place.number),
            iteration: place.iteration,
            first_item: first_item + segment.items.start,
        }));
        core.movement.nest.add_loops(found.loops.iter().map(|l| renumbered(l.parent)));
        self.closes_update.resize(first_item as usize + table.items.len(), false);
        for segment in &table.segments {
            for index in closed_updates(segment, table) {
                self.closes_update[first_item as usize + index] = true;
            }
        }
        self.modules.push((module.placed.id, found.loops.clone()));
        self.loops += found.loops.len() as u32;
    }
}

/// Items (of the table) that store to where an earlier one of the segment has loaded from: read-modify-writes, if each load is taken once.
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
    function: u32,
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
    array: u32,
    row: u32,
}

struct Core {
    contexts: Contexts,
    movement: Movement,
    arrays: Arrays,
    elements: Option<Elements>,
    /// By item.
    last_rows: Vec<LastRow>,
    /// Records that are done singly before it is tried again to do many together.
    singly: usize,
    totals: RingTotals,
}

/// Fewest iterations that are worth doing together.
const LEAST: usize = 16;
/// Records done singly after it was tried in vain, at least.
const PATIENCE: usize = 8;

const NO_ROW_YET: LastRow = LastRow { level: NO_LEVEL, array: 0, row: 0 };

impl MotionMachine {
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
        let (module, number) = self.locator.locate(head, source, |m| self.core.add(m, &mut self.tables))?;
        let module = &self.locator.modules[module];
        let table = &module.placed.table;
        let segment = &table.segments[number as usize];
        let len = usize::from(segment.words);
        if len > rest.len() || len == 0 {
            return None;
        }
        let items = &table.items[segment.items.start as usize..segment.items.end as usize];
        if records::is_endless(segment.kind, items, rest) {
            return None;
        }
        let place = self.tables.segments[(module.first_segment + number) as usize];
        let closes = &self.tables.closes_update[place.first_item as usize..][..items.len()];
        let record = &rest[..len];
        if !segment.slots.is_empty() {
            let movement = &mut self.core.movement;
            self.core.arrays.slots_start(module, segment, record, |address, len| movement.forget(address, len));
        }
        let function = module.first_function + segment.function;
        self.core.segment(segment, items, record, function, place, closes);
        if place.iteration && rest.len() >= 2 * len && rest[len] == head && self.core.may_go_on(segment, items) {
            let marks = items.iter().take_while(|item| item.kind == ItemKind::Loop as u8).count();
            let following = Following { segment, items, marks, words: rest, len, function, place, closes };
            return Some(len * (1 + self.core.go_on(&following)));
        }
        Some(len)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let event = Event::of(rest)?;
        let mut site = None;
        if event.site != 0 {
            let (module, number) = self.locator.locate(event.site, source, |m| self.core.add(m, &mut self.tables))?;
            let module = &self.locator.modules[module];
            let function = module.first_function + module.placed.table.segments[number as usize].function;
            self.core.resume(function);
            site = Some(module.first_segment + number);
        }
        let item = site.map(|segment| self.tables.segments[segment as usize].first_item);
        let origin = Origin { context: self.core.contexts.current(), segment: site.unwrap_or(u32::MAX) };
        self.core.event(&event, item, origin)?;
        Some(event.len())
    }

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
    pub fn finish(self) -> RingResult {
        let Core { contexts, mut movement, arrays, elements, totals, .. } = self.core;
        movement.finish();
        let motion = RingMotion::new(&self.tables.modules, &movement, arrays, elements);
        RingResult {
            modules: self.locator.modules,
            contexts,
            blocks: Vec::new(),
            cells: Vec::new(),
            cold: DepthCounts::default(),
            totals,
            regions: Vec::new(),
            unfollowed: BTreeMap::new(),
            problems: Vec::new(),
            followed: None,
            sequences: BTreeMap::new(),
            exact_error: None,
            window: None,
            objects: None,
            motion: Some(motion),
        }
    }
}

impl Core {
    fn add(&mut self, module: &Module, tables: &mut Tables) {
        tables.add(module, self);
        self.arrays.add_module(module);
        self.last_rows.resize(tables.closes_update.len(), NO_ROW_YET);
    }

    /// Does what an event says, with the item and the origin of its call site; `None` if it cannot be understood.
    fn event(&mut self, event: &Event, item: Option<u32>, origin: Origin) -> Option<()> {
        let operand = |i| event.operand(i);
        let is = |kind: EventKind| event.kind == kind as u8;
        if is(EventKind::Read) || is(EventKind::Write) {
            self.touch(operand(1)?, operand(2)?, item, 1);
        } else if is(EventKind::Copy) {
            self.touch(operand(2)?, operand(3)?, item, 1);
            self.touch(operand(1)?, operand(3)?, item, 1);
        } else if is(EventKind::Alloc) {
            self.movement.forget(operand(1)?, operand(2)?);
            self.arrays.allocated(operand(1)?, operand(2)?, origin);
        } else if is(EventKind::Mapped) {
            self.arrays.mapped(operand(1)?, operand(2)?, &event.name(3)?, origin);
        } else if is(EventKind::Free) {
            self.movement.forget(operand(1)?, operand(2)?);
            self.arrays.ended(operand(1)?, operand(2)?);
        } else if is(EventKind::Relocate) {
            let (from, from_len, to, to_len) = (operand(1)?, operand(2)?, operand(3)?, operand(4)?);
            if from != to {
                let array = self.arrays.at(from);
                self.movement.relocate(from, to, from_len.min(to_len), array);
            }
            self.arrays.relocated(from, from_len, to, to_len, origin);
        } else if is(EventKind::FreeUnknown) {
            self.totals.unknown_frees += 1;
        } else if is(EventKind::Restart) {
            self.contexts.restart();
            self.movement.nest.leave(self.contexts.depth());
        } else {
            let known = [EventKind::Input, EventKind::Output, EventKind::RegionBegin, EventKind::RegionEnd];
            return known.into_iter().any(is).then_some(());
        }
        Some(())
    }

    /// The running function is another: everything above it is gone.
    fn resume(&mut self, function: u32) {
        if self.contexts.function() != function {
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
        function: u32,
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
            self.contexts.land(function, cookie());
            self.movement.nest.leave(self.contexts.depth());
        } else {
            self.resume(function);
        }
        self.movement.nest.go(self.contexts.depth(), place.number, place.iteration);
        // Only code without marks has loops in one record.
        if segment.kind == SegmentKind::Loop as u8 {
            for iteration in 0..record[1] {
                let address = |item: &Item| records::place(item, record, iteration);
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
        let bounds = segment_flag::ENTER | segment_flag::EXIT | segment_flag::LANDING;
        segment.kind != SegmentKind::Loop as u8
            && segment.flags & bounds == 0
            && segment.slots.is_empty()
            && self.elements.is_none()
            && items.iter().all(is_plain)
    }

    /// Does iterations that go on as the one that has been done; gives their number.
    fn go_on(&mut self, following: &Following<'_>) -> usize {
        let alike = records::alike(following.words, following.len) - 1;
        let Some((lanes, plan)) = self.lanes(following, alike) else {
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
            self.movement.go_on(&steady, first, count);
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

    /// What the following iterations access, if many of them can be done together.
    fn lanes(&mut self, following: &Following<'_>, alike: usize) -> Option<(Vec<Lane>, Plan)> {
        let level = self.movement.nest.innermost();
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
            let last = self.last_rows[following.place.first_item as usize + item];
            let array = self.arrays.objects.whole_stream(&stream, iterations)?;
            if (last.level, last.array) != (level, array) {
                return None;
            }
            lanes.push(Lane { stream, array, row: last.row, counts: !following.closes[item] });
        }
        Some((lanes, plan))
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
        let level = self.movement.nest.innermost();
        if level == NO_LEVEL || len == 0 {
            return None;
        }
        if self.movement.nest.is_pending() {
            self.open_tiles();
        }
        let array = self.arrays.at(address);
        let row = match item.map(|item| &mut self.last_rows[item as usize]) {
            Some(last) if last.level == level && last.array == array => last.row,
            Some(last) => {
                let row = self.movement.row(level, array);
                *last = LastRow { level, array, row };
                row
            }
            None => self.movement.row(level, array),
        };
        self.movement.touch(row, address, len, accesses);
        if let Some(elements) = &mut self.elements {
            elements.touch(&self.movement.nest, array, self.arrays.place(address), len);
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
            let level = &nest.levels[number as usize];
            timestamp.push(level.iteration);
            if opened.contains(&number) {
                elements.begin(number, level, timestamp.clone());
            }
        }
    }

    fn rare(&mut self, item: &Item, record: &[u64], address: u64, dense: u32) {
        let size = u64::from(item.size);
        let word = |i: u16| record[usize::from(i)];
        let dynamic = item.flags & item_flag::DYNAMIC != 0;
        let length = || if dynamic { word(item.word2) } else { size };
        let lanes = || (0..item.lanes.min(64)).filter(|l| word(item.word2) >> l & 1 == 1);
        let is = |kind: ItemKind| item.kind == kind as u8;
        let site = Some(dense);
        if is(ItemKind::Loop) {
            // Known before the items.
        } else if is(ItemKind::Kill) {
            self.arrays.objects.ended(address, length());
        } else if is(ItemKind::Update) {
            self.touch(address, size, site, 1);
        } else if is(ItemKind::MaskedLoad) || is(ItemKind::MaskedStore) {
            for (first, count) in lane_runs(word(item.word2), item.lanes) {
                self.touch(address + first * size, count * size, site, 1);
            }
        } else if is(ItemKind::Gather) || is(ItemKind::Scatter) {
            for lane in lanes() {
                self.touch(word(item.word + lane), size, site, 1);
            }
        } else if is(ItemKind::ExpandLoad) || is(ItemKind::CompressStore) {
            self.touch(address, size * lanes().count() as u64, site, 1);
        } else if is(ItemKind::Copy) {
            let length = if dynamic { word(item.lanes) } else { size };
            self.touch(word(item.word2), length, site, 1);
            self.touch(address, length, site, 1);
        } else if is(ItemKind::Fill) {
            self.touch(address, length(), site, 1);
        } else {
            self.totals.lost_words += 1;
        }
    }
}
