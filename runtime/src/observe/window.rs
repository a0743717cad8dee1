//! A window of accesses, one by one, as the engine found them: for people to look at.
//!
//! Takes each access of a ring between two points of its run, with the depths that the engine told; gives them in
//! order, at most [`MOST`]. Also what takes bytes off the stack or moves them in between, so that whoever reads it can
//! follow the stack. While a window is open, the pipeline gives the engine one access at a time.

use crate::{
    counts::keys::{ObjectKey, SiteKey},
    decode::{block::CellNumber, context::ContextNumber},
    engine::{Access, DepthRun, Kind, Reports},
};

/// Accesses of the longest window.
pub const MOST: u64 = 100_000;
/// Ends of lives and moves for each access: with more of them, the window ends early.
const MOST_OTHERS: u64 = 4;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The depths of its bytes in the order of addresses, as (bytes above, bytes).
    Read {
        /// As (bytes above, bytes).
        depths: Vec<(u64, u64)>,
    },
    /// Bytes are written.
    Write,
    /// The bytes leave the stack.
    Dies,
    /// The bytes are elsewhere from now on.
    Moves {
        /// The first byte of the new place.
        to: u64,
    },
}

/// One event; `S` names the code, `O` the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event<S, O> {
    /// What happened.
    pub what: What,
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
    /// `None`: nobody counts it, as outside a region of interest.
    pub site: Option<S>,
    /// `None`: not measured.
    pub object: Option<O>,
}

/// A finished window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// Loads and stores.
    pub accesses: u64,
    /// It ended before the run did.
    pub cut: bool,
    /// The events, in their order.
    pub events: Vec<Event<SiteKey, ObjectKey>>,
}

/// A window being recorded; code and data are those of cells.
#[derive(Debug)]
pub struct Recorder {
    limit: u64,
    opened: bool,
    accesses: u64,
    cut: bool,
    /// The events so far, in their order.
    pub events: Vec<Event<CellNumber, CellNumber>>,
}

impl Recorder {
    /// Of so many accesses, once it is opened.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit: limit.min(MOST), opened: false, accesses: 0, cut: false, events: Vec::new() }
    }

    /// The window begins.
    pub fn open(&mut self) {
        self.opened = true;
    }

    /// Whether accesses are to be given one by one.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.opened && !self.cut
    }

    /// Whether it may still record something.
    #[must_use]
    pub fn is_awake(&self) -> bool {
        !self.cut
    }

    /// An access with what was found for it. `counts`: its cell is one.
    pub fn access(&mut self, access: Access, cell: CellNumber, counts: bool, found: &Reports) {
        let what = match access.kind {
            Kind::Load | Kind::Last => {
                let mut depths: Vec<(u64, u64)> = Vec::new();
                found.each(|_, found| match found {
                    DepthRun::Warm { above, len } | DepthRun::Cold { above, len } => depths.push((above, len)),
                    DepthRun::Row(row) => depths.extend(row.each().map(|above| (above, row.width))),
                    DepthRun::Holes(..) => {}
                });
                What::Read { depths }
            }
            Kind::Store | Kind::Fresh => What::Write,
            Kind::Remove => What::Dies,
        };
        let is_access = access.kind != Kind::Remove;
        if is_access && self.accesses == self.limit {
            self.cut = true;
            return;
        }
        self.accesses += u64::from(is_access);
        self.add(what, access.addr, access.len.into(), (is_access && counts).then_some(cell));
    }

    /// Bytes are elsewhere from now on.
    pub fn moves(&mut self, from: u64, to: u64, len: u64) {
        if self.is_open() {
            self.add(What::Moves { to }, from, len, None);
        }
    }

    fn add(&mut self, what: What, addr: u64, len: u64, site: Option<CellNumber>) {
        self.cut |= self.events.len() as u64 > (1 + MOST_OTHERS) * self.limit;
        if !self.cut {
            self.events.push(Event { what, addr, len, site, object: None });
        }
    }

    /// The window with its code and data named; `None` if it was never opened.
    #[must_use]
    pub fn finish(self, mut name: impl FnMut(CellNumber) -> (SiteKey, Option<ObjectKey>)) -> Option<Window> {
        let Self { opened, accesses, cut, events, .. } = self;
        let events = events.into_iter().map(|Event { what, addr, len, site, .. }| {
            let (site, object) = site.map(&mut name).map_or((None, None), |(site, object)| (Some(site), object));
            Event { what, addr, len, site, object }
        });
        opened.then(|| Window { accesses, cut, events: events.collect() })
    }
}

impl Window {
    /// Puts other numbers of contexts in the place of its own.
    pub(crate) fn with_contexts(mut self, nodes: &[ContextNumber]) -> Self {
        for event in &mut self.events {
            event.object = event.object.take().map(|object| object.with_contexts(nodes));
        }
        self
    }

    /// Of the windows of several threads the one with most accesses, whichever comes first.
    #[must_use]
    pub fn better(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if (a.accesses, &b) < (b.accesses, &a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}
