//! A window of accesses, one by one, as the engine found them: for people to look at.
//!
//! Takes each access of a ring between two points of its run, with the depths that the engine told; gives them in
//! order, at most [`MOST`]. Also what takes bytes off the stack or moves them in between, so that whoever reads it can
//! follow the stack. While a window is open, the pipeline gives the engine one access at a time.

use crate::{
    counts::keys::{ObjectKey, SiteKey},
    decode::block::CellNumber,
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

/// A finished window; `S` names the code, `O` the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window<S = SiteKey, O = ObjectKey> {
    /// Loads and stores.
    pub accesses: u64,
    /// It ended before the run did.
    pub cut: bool,
    /// The events, in their order.
    pub events: Vec<Event<S, O>>,
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
    pub fn finish<S, O>(self, mut name: impl FnMut(CellNumber) -> (Option<S>, Option<O>)) -> Option<Window<S, O>> {
        let Self { opened, accesses, cut, events, .. } = self;
        let events = events.into_iter().map(|Event { what, addr, len, site, .. }| {
            let (site, object) = site.map_or((None, None), &mut name);
            Event { what, addr, len, site, object }
        });
        opened.then(|| Window { accesses, cut, events: events.collect() })
    }
}

impl<S, O> Window<S, O> {
    /// Gives code and data other names.
    pub(crate) fn named<T, P>(self, site: impl Fn(S) -> T, object: impl Fn(O) -> Option<P>) -> Window<T, P> {
        let named = |Event { what, addr, len, site: code, object: data }| Event {
            what,
            addr,
            len,
            site: Option::map(code, &site),
            object: Option::and_then(data, &object),
        };
        Window { accesses: self.accesses, cut: self.cut, events: self.events.into_iter().map(named).collect() }
    }
}

impl Window {
    /// Of the windows of several threads the one with most accesses, whichever comes first.
    #[must_use]
    pub fn better(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if (a.accesses, &b) < (b.accesses, &a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{AccessTag, Engine};

    const CELL: CellNumber = CellNumber::new(3);

    fn access(kind: Kind) -> Access {
        Access { addr: 8, len: 4, kind }
    }

    fn recorder(limit: u64) -> Recorder {
        let mut recorder = Recorder::new(limit);
        recorder.open();
        recorder
    }

    fn record(recorder: &mut Recorder, kinds: &[Kind]) {
        kinds.iter().for_each(|kind| recorder.access(access(*kind), CELL, true, &Reports::default()));
    }

    fn finish(recorder: Recorder) -> Window {
        recorder.finish(|cell| (Some((0, cell.index() as u32, 0)), Some(ObjectKey::Unknown))).expect("it was opened")
    }

    #[test]
    fn a_window_has_as_many_accesses_as_were_asked_for() {
        let mut whole = recorder(2);
        record(&mut whole, &[Kind::Store, Kind::Remove, Kind::Store, Kind::Remove]);
        assert!(whole.is_open());
        let window = finish(whole);
        assert_eq!((window.accesses, window.cut, window.events.len()), (2, false, 4), "the run ended there");
        let mut longer = recorder(2);
        record(&mut longer, &[Kind::Store, Kind::Store, Kind::Remove, Kind::Store, Kind::Remove]);
        assert!(!longer.is_open() && !longer.is_awake());
        let window = finish(longer);
        assert_eq!((window.accesses, window.cut), (2, true));
        assert_eq!(window.events.last().map(|event| &event.what), Some(&What::Dies), "which came before the third");
        assert_eq!(window.events.len(), 3);
    }

    #[test]
    fn a_window_ends_early_if_too_much_else_happens() {
        let mut recorder = recorder(2);
        (0..20).for_each(|place| recorder.moves(place, 100 + place, 1));
        assert!(!recorder.is_open());
        let window = finish(recorder);
        assert_eq!((window.accesses, window.cut, window.events.len()), (0, true, 11));
        assert_eq!(window.events[1].what, What::Moves { to: 101 });
    }

    #[test]
    fn nothing_is_recorded_before_a_window_opens() {
        let mut recorder = Recorder::new(5);
        recorder.moves(0, 100, 1);
        assert!(!recorder.is_open() && recorder.is_awake());
        assert!(recorder.events.is_empty());
        assert!(recorder.finish::<(), ()>(|_| panic!("there is nothing to name")).is_none());
        let mut longest = self::recorder(u64::MAX);
        (0..=MOST).for_each(|_| record(&mut longest, &[Kind::Store]));
        assert_eq!(finish(longest).accesses, MOST, "however many were asked for");
    }

    #[test]
    fn who_does_not_count_has_no_name_and_neither_has_a_death() {
        let mut recorder = recorder(5);
        recorder.access(access(Kind::Store), CELL, true, &Reports::default());
        recorder.access(access(Kind::Store), CELL, false, &Reports::default());
        recorder.access(access(Kind::Remove), CELL, true, &Reports::default());
        let found = finish(recorder).events.into_iter().map(|event| (event.site, event.object)).collect::<Vec<_>>();
        assert_eq!(found, [(Some((0, 3, 0)), Some(ObjectKey::Unknown)), (None, None), (None, None)]);
    }

    #[test]
    fn all_events_get_other_names_and_data_without_one_has_none() {
        fn event<O>(site: Option<u32>, object: Option<O>) -> Event<u32, O> {
            Event { what: What::Write, addr: 8, len: 4, site, object }
        }
        let events = vec![event(Some(1), Some(2)), event(None, Some(3)), event(Some(4), None)];
        let window = Window { accesses: 7, cut: true, events };
        let named = window.named(|site| 10 * site, |object| (object == 2).then_some("two"));
        let events = vec![event(Some(10), Some("two")), event(None, None), event(Some(40), None)];
        assert_eq!(named, Window { accesses: 7, cut: true, events });
    }

    #[test]
    fn depths_are_in_the_order_of_addresses() {
        let mut engine = Engine::new();
        let (mut recorder, mut found) = (recorder(9), Reports::default());
        engine.store(8, 4);
        engine.store(100, 16);
        engine.store(12, 2);
        // Bytes 8 to 11 are below 18 others, 12 and 13 on top, and 14 and 15 are touched first.
        let load = Access { addr: 8, len: 8, kind: Kind::Load };
        engine.batch_to(&[load], &[AccessTag::new(0)], &mut found);
        recorder.access(load, CELL, true, &found);
        let [Event { what: What::Read { depths }, addr: 8, len: 8, .. }] = &recorder.events[..] else {
            panic!("one read: {recorder:?}")
        };
        let mut each = depths.iter().flat_map(|(above, len)| (0..*len).map(move |byte| above + byte));
        let first: Vec<u64> = each.by_ref().take(4).collect();
        assert_eq!(first.iter().min(), Some(&18));
        assert_eq!(depths.iter().map(|(_, len)| len).sum::<u64>(), 8);
        assert_eq!(each.next(), Some(0), "all are where they were before the access");
    }

    #[test]
    fn of_several_windows_that_with_most_accesses_is_shown_whichever_comes_first() {
        let window = |accesses, addr| {
            let event = Event { what: What::Write, addr, len: 1, site: None, object: None };
            Some(Window { accesses, cut: false, events: vec![event] })
        };
        let better = |a: &Option<Window>, b: &Option<Window>| {
            let (one, other) = (Window::better(a.clone(), b.clone()), Window::better(b.clone(), a.clone()));
            assert_eq!(one, other, "in any order");
            one
        };
        assert_eq!(better(&window(3, 1), &window(2, 5)), window(3, 1));
        assert_eq!(better(&window(2, 1), &window(2, 5)), window(2, 1), "the same of two that are as long");
        assert_eq!(better(&window(0, 1), &None), window(0, 1));
        assert_eq!(better(&None, &None), None);
    }
}
