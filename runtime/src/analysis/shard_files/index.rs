//! The index of a trace: points from which a part can begin without going over what is before it.
//!
//! Takes a trace, and gives the file; takes the file, and gives the last point before a place. A file is a magic
//! number, a version, and blocks: whose it is, then three for each point: what is new since the point before, what is
//! new of objects and of what lies where, and what runs there. Whoever looks for a point reads the first of all, the
//! second too if objects are measured, and the third of one. Refuses traces that are damaged, and files that are not as
//! they were written or of another trace.
//!
//! ```text
//!   0 | 89 44 4d 44 49 0d 0a 0a | 04 00 00 00 |          magic, version 4
//!  12 | Identity |                                       a block of `packed`, and so are all that follow
//!     | News | NewObjects | There |                      the first point, at least 512 KiB into the trace
//!     | News | NewObjects | There | ...                  those behind it
//! ```
//!
//! The index of a trace of less than 512 KiB ends behind its identity: 12 + 36 bytes, as drawn in `packed`.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    super::{analyzer::Analyzer, options::Options, replay::ReplayError},
    packed::{self, Unreadable},
    walk::{Descriptors, Now, Point, RingPoint, Walk, Walked},
};
use crate::{
    decode::{context::ContextNumber, locator::FunctionNumber, roi::RegionOfInterest},
    objects::{
        Objects,
        layout::LayoutSnapshot,
        layout_delta::{Changes, LayoutDelta, Mark},
    },
    trace::{Midway, Ring, TraceError, TraceReader},
};

/// First bytes of an index.
const MAGIC: [u8; 8] = *b"\x89DMDI\r\n\n";
/// Bumped whenever the meaning of the bytes after it changes.
const VERSION: u32 = 4;
/// Bytes of the trace from point to point, at least: going over them takes some 15 ms.
const LEAST: u64 = 1 << 19;
/// Points, at most. A part reads what is new at each before it.
const MOST: u64 = 2048;

/// Checksum of a trace's first bytes, and its length.
pub type Identity = (u32, u64);

/// What is new at a point.
#[derive(Serialize, Deserialize)]
struct News {
    /// Where the point is in the trace.
    at: u64,
    modules: Vec<Descriptors>,
    rings: Vec<RingNews>,
}

#[derive(Serialize, Deserialize)]
struct RingNews {
    number: u32,
    /// If it is new.
    ring: Option<Ring>,
    placed: Vec<(u32, u64)>,
    contexts: Vec<(ContextNumber, FunctionNumber)>,
}

/// What is new of objects and of what lies where, by ring.
type NewObjects = Vec<(u32, LayoutDelta, Changes)>;

/// What runs at a point.
#[derive(Serialize, Deserialize)]
struct There {
    midway: Midway,
    rings: Vec<(u32, Now)>,
}

/// Why an index cannot be used. The messages name no file.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// What the system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins as something else.
    #[error("not an index of a trace: it starts with other bytes")]
    NotAnIndex,
    /// Of another version of the format.
    #[error("made by another dmdprof: expected format {VERSION}, found {found}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// It was made of another file.
    #[error("the index of another trace")]
    OfAnother,
    /// Something in it is not as it was written.
    #[error("damaged: {0}")]
    Damaged(&'static str),
}

impl From<Unreadable> for IndexError {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Io(error) => Self::Io(error),
            Unreadable::Damaged(what) => Self::Damaged(what),
        }
    }
}

/// Why no index can be made.
#[derive(Debug, thiserror::Error)]
pub enum IndexingError {
    /// The trace, or the recorded programs.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Any analysis may want to know.
struct Everything;

impl RegionOfInterest for Everything {
    fn matches_symbol(&self, _: &str) -> bool {
        true
    }

    fn matches_region(&self, _: &str) -> bool {
        true
    }
}

/// Goes over a trace and writes its index. Gives the number of points.
///
/// # Errors
/// [`IndexingError`].
pub fn index<R: Read>(
    reader: &mut TraceReader<R>,
    identity: Identity,
    to: &mut dyn Write,
) -> Result<usize, IndexingError> {
    let options = Options { roi: Some(Arc::new(Everything)), objects: true, ..Options::default() };
    let mut walk = Walk::new(&options);
    let mut writer = IndexWriter::new(identity, to)?;
    let apart = LEAST.max(identity.1 / MOST);
    let mut next = apart;
    loop {
        if reader.block_offset() >= next
            && let Some(midway) = reader.midway()
        {
            next = midway.at + apart;
            if !writer.point(midway, &walk)? {
                break;
            }
        }
        match reader.next_block() {
            Ok(Some(block)) => walk.block(block)?,
            Ok(None) | Err(TraceError::Cut { .. }) => break,
            Err(error) => return Err(ReplayError::from(error).into()),
        }
    }
    Ok(writer.points)
}

struct IndexWriter<'a> {
    to: &'a mut dyn Write,
    points: usize,
    /// Modules that are written.
    modules: usize,
    rings: BTreeMap<u32, Written>,
}

/// What is written of a ring.
#[derive(Default)]
struct Written {
    modules: usize,
    contexts: usize,
    objects: Mark,
    laid: LayoutSnapshot,
}

impl Written {
    fn from_walked(ring: &Walked) -> Self {
        let Analyzer { locator, core, .. } = &ring.scanner;
        let known = core.charging.objects.as_ref().map(|objects| (objects.mark(), objects.layout.snapshot()));
        let (objects, laid) = known.unwrap_or_default();
        Self { modules: locator.modules.len(), contexts: core.calls.contexts.nodes.len(), objects, laid }
    }
}

impl<'a> IndexWriter<'a> {
    fn new(identity: Identity, to: &'a mut dyn Write) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        packed::write(to, &identity)?;
        Ok(Self { to, points: 0, modules: 0, rings: BTreeMap::new() })
    }

    /// Writes a point, unless an analysis could not go on from there.
    fn point(&mut self, midway: Midway, walk: &Walk<'_>) -> io::Result<bool> {
        let nows: Vec<_> = walk.rings.iter().map(|(&number, ring)| (number, ring.now())).collect();
        if nows.iter().any(|(_, now)| now.regions.open(|_| true).is_none()) {
            return Ok(false);
        }
        self.rings.retain(|number, _| walk.rings.contains_key(number));
        let mut news = News { at: midway.at, modules: walk.modules[self.modules..].to_vec(), rings: Vec::new() };
        let mut objects = NewObjects::new();
        for (&number, ring) in &walk.rings {
            let (modules, nodes) = (&ring.scanner.locator.modules, &ring.scanner.core.calls.contexts.nodes);
            let is_new = !self.rings.contains_key(&number);
            let written = self.rings.insert(number, Written::from_walked(ring)).unwrap_or_default();
            let Written { modules: placed, contexts, .. } = written;
            if let Some(known) = &ring.scanner.core.charging.objects {
                objects.push((number, known.delta_since(&written.objects), known.changes(written.laid)));
            }
            if is_new || placed < modules.len() || contexts < nodes.len() {
                news.rings.push(RingNews {
                    number,
                    ring: is_new.then(|| ring.ring.clone()),
                    placed: modules[placed..].iter().map(|module| (module.placed.id, module.placed.low)).collect(),
                    contexts: nodes[contexts..]
                        .iter()
                        .map(|node| (node.parent, node.function.unwrap_or_default()))
                        .collect(),
                });
            }
        }
        self.modules = walk.modules.len();
        self.points += 1;
        packed::write(self.to, &news)?;
        packed::write(self.to, &objects)?;
        packed::write(self.to, &There { midway, rings: nows })?;
        Ok(true)
    }
}

/// The last point at or before a place of a trace, with objects or without; nothing if there is none.
///
/// # Errors
/// [`IndexError`].
pub fn find(
    from: &mut (impl Read + Seek),
    identity: Identity,
    place: u64,
    with_objects: bool,
) -> Result<Option<Point>, IndexError> {
    let mut head = [0; 12];
    from.read_exact(&mut head).map_err(|_| IndexError::NotAnIndex)?;
    if head[..8] != MAGIC {
        return Err(IndexError::NotAnIndex);
    }
    let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if found != VERSION {
        return Err(IndexError::Version { found });
    }
    if packed::read::<Identity>(from)? != identity {
        return Err(IndexError::OfAnother);
    }
    let (mut modules, mut rings, mut last) = (Vec::new(), BTreeMap::new(), None);
    let first = from.stream_position()?;
    let end = from.seek(SeekFrom::End(0))?;
    from.seek(SeekFrom::Start(first))?;
    while from.stream_position()? < end {
        let news: News = packed::read(from)?;
        if news.at > place {
            break;
        }
        modules.extend(news.modules);
        for RingNews { number, ring, placed, contexts } in news.rings {
            if let Some(ring) = ring {
                let (placed, contexts, objects) = (Vec::new(), Vec::new(), with_objects.then(Objects::default));
                rings.insert(number, RingPoint { number, ring, placed, contexts, objects, now: Now::default() });
            }
            let ring =
                rings.get_mut(&number).ok_or(IndexError::Damaged("something new of a ring that is not there"))?;
            ring.placed.extend(placed);
            ring.contexts.extend(contexts);
        }
        match with_objects {
            true => packed::read::<NewObjects>(from)?.iter().try_for_each(|news| learn(&mut rings, news))?,
            false => packed::skip(from)?,
        }
        last = Some((news.at, from.stream_position()?));
        packed::skip(from)?;
    }
    let Some((at, state)) = last else { return Ok(None) };
    from.seek(SeekFrom::Start(state))?;
    let There { midway, rings: nows } = packed::read(from)?;
    if midway.at != at {
        return Err(IndexError::Damaged("a point that is not where it should be"));
    }
    let ring = |(number, now)| Some(RingPoint { now, ..rings.remove(&number)? });
    let rings: Option<Vec<_>> = nows.into_iter().map(ring).collect();
    let rings = rings.ok_or(IndexError::Damaged("a ring that runs and is not there"))?;
    Ok(Some(Point { midway, modules, rings }))
}

/// Goes on with the objects of a ring.
fn learn(
    rings: &mut BTreeMap<u32, RingPoint>,
    (number, news, changes): &(u32, LayoutDelta, Changes),
) -> Result<(), IndexError> {
    let objects = rings.get_mut(number).and_then(|ring| ring.objects.as_mut());
    let is_sound = objects.is_some_and(|objects| objects.learn_news(news) && objects.lay(changes));
    is_sound.then_some(()).ok_or(IndexError::Damaged("objects that do not fit those before"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{super::*, *};
    use crate::{
        abi::{ItemKind, segment_flag},
        decode::event::Event,
        tests::{
            program::{Function, Image, Program, Segment, item},
            run::{Named, Run},
            steps::Step,
        },
    };

    const REGION: &str = "a region";
    const IDENTITY: Identity = (7, 1000);

    /// A function that calls itself, stores and allocates.
    fn run() -> Run {
        let store = || Segment::block(1, vec![item(ItemKind::Store, 1, 0, 8)]);
        let segments = vec![store().with(segment_flag::ENTER), store(), store().with(segment_flag::EXIT)];
        let functions = vec![Function { name: "main".into(), segments }];
        let program = Program { images: vec![Image { functions, variables: vec![24] }] };
        let segment = |number, address| Step::Segment((0, number), vec![address]);
        let event = |event| Step::Event(None, event);
        let steps = vec![
            segment(0, 8),
            event(Event::Alloc { address: 0x1000, len: 64 }),
            event(Event::RegionBegin { name: REGION.into() }),
            segment(0, 0x1000),
            segment(1, 16),
            segment(2, 8),
            event(Event::RegionBegin { name: REGION.into() }),
            event(Event::RegionEnd { name: REGION.into() }),
            segment(1, 0x1008),
            event(Event::RegionEnd { name: REGION.into() }),
            segment(1, 0x1010),
        ];
        Run::new(program, &[steps.clone(), steps], 1)
    }

    fn options() -> Options {
        Options { hints: true, analyse: true, workers: 1, objects: true, ..Options::default() }
    }

    /// An index with a point between all blocks, and where these are.
    fn indexed(run: &Run) -> (Vec<u8>, Vec<u64>) {
        let options = Options { roi: Some(Arc::new(Everything)), objects: true, ..Options::default() };
        let (mut file, mut places, mut reader) = (Vec::new(), Vec::new(), run.reader());
        let mut walk = Walk::new(&options);
        let mut writer = IndexWriter::new(IDENTITY, &mut file).expect("room");
        loop {
            if let Some(midway) = reader.midway() {
                places.push(midway.at);
                assert!(writer.point(midway, &walk).expect("room"));
            }
            match reader.next_block().expect("a whole trace") {
                Some(block) => walk.block(block).expect("its programs"),
                None => break,
            }
        }
        assert_eq!(writer.points, places.len());
        places.dedup();
        (file, places)
    }

    fn found(file: &[u8], place: u64) -> Result<Option<Point>, IndexError> {
        find(&mut Cursor::new(file), IDENTITY, place, true)
    }

    fn damage(file: &[u8]) -> String {
        match found(file, u64::MAX) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("it is damaged"),
        }
    }

    #[test]
    fn the_point_of_a_place_is_the_last_one_at_it_or_before() {
        let (file, places) = indexed(&run());
        let at = |place| found(&file, place).expect("an index").map(|point| point.midway.at);
        assert_eq!(at(places[0] - 1), None, "none is before");
        for (number, place) in places.iter().enumerate() {
            assert_eq!(at(*place), Some(*place));
            assert_eq!(at(place + 1).max(Some(*place)), at(place + 1), "behind it");
            assert_eq!(at(place - 1), number.checked_sub(1).map(|before| places[before]));
        }
        assert_eq!(at(u64::MAX), places.last().copied());
    }

    #[test]
    fn a_part_from_a_point_on_is_the_part_from_the_start_on() {
        let run = run();
        let (file, places) = indexed(&run);
        for objects in [true, false] {
            let roi: Option<Arc<dyn RegionOfInterest>> = if objects { None } else { Some(Arc::new(Named(&[REGION]))) };
            let options = Options { objects, roi, ..options() };
            for range in places.windows(3).map(|places| places[1]..places[2]) {
                let whole = slice(&mut run.reader(), &options, &range, None).expect("a part");
                for place in [range.start, range.start - 1] {
                    let point = find(&mut Cursor::new(&file), IDENTITY, place, objects).expect("an index");
                    let part = slice(&mut run.reader(), &options, &range, point).expect("a part");
                    assert_eq!(format!("{part:?}"), format!("{whole:?}"), "{range:?} from {place}");
                }
            }
        }
    }

    #[test]
    fn an_index_that_is_none_or_of_something_else_is_refused() {
        let (file, _) = indexed(&run());
        let of_another = find(&mut Cursor::new(&file), (7, 1001), 0, true);
        assert!(matches!(of_another, Err(IndexError::OfAnother)));
        for byte in 0..8 {
            let mut other = file.clone();
            other[byte] ^= 1;
            assert!(matches!(found(&other, 0), Err(IndexError::NotAnIndex)), "byte {byte}");
        }
        assert!(matches!(found(&file[..11], 0), Err(IndexError::NotAnIndex)));
        let mut newer = file.clone();
        newer[8] += 1;
        assert!(matches!(found(&newer, 0), Err(IndexError::Version { found }) if found == VERSION + 1));
        assert_eq!(damage(&file[..file.len() - 1]), "damaged: it ends too early");
        let mut last = file.clone();
        *last.last_mut().expect("bytes") ^= 1;
        assert_eq!(damage(&last), "damaged: a checksum does not fit");
    }

    /// An index of one point with this news and these rings.
    fn with_point(news: Vec<RingNews>, objects: &NewObjects, rings: Vec<(u32, Now)>, behind: u64) -> Vec<u8> {
        let midway = run().reader().midway().expect("the start");
        let mut file = Vec::new();
        IndexWriter::new(IDENTITY, &mut file).expect("room");
        let news = News { at: midway.at + behind, modules: Vec::new(), rings: news };
        packed::write(&mut file, &news).expect("room");
        packed::write(&mut file, objects).expect("room");
        packed::write(&mut file, &There { midway, rings }).expect("room");
        file
    }

    #[test]
    fn points_that_cannot_be_are_refused() {
        let ring = Ring { process: 1, tid: 1, kind: 1, parent: None, ancestors: Vec::new() };
        let news = |ring| vec![RingNews { number: 3, ring, placed: Vec::new(), contexts: Vec::new() }];
        let (runs, none) = (|| vec![(3, Now::default())], NewObjects::new());
        let point = found(&with_point(news(Some(ring.clone())), &none, runs(), 0), u64::MAX).expect("a point");
        assert_eq!(point.expect("a point").rings.len(), 1);
        let unknown = damage(&with_point(news(None), &none, runs(), 0));
        assert_eq!(unknown, "damaged: something new of a ring that is not there");
        assert_eq!(damage(&with_point(Vec::new(), &none, runs(), 0)), "damaged: a ring that runs and is not there");
        let nothing = Objects::default();
        let (delta, changes) = (nothing.delta_since(&Mark::default()), nothing.changes(LayoutSnapshot::default()));
        let of_nobody = damage(&with_point(news(Some(ring.clone())), &vec![(4, delta, changes)], runs(), 0));
        assert_eq!(of_nobody, "damaged: objects that do not fit those before");
        let elsewhere = damage(&with_point(news(Some(ring)), &none, runs(), 1));
        assert_eq!(elsewhere, "damaged: a point that is not where it should be");
    }

    #[test]
    fn a_point_that_does_not_fit_the_programs_is_not_gone_on_from() {
        let run = run();
        let (file, places) = indexed(&run);
        let fits = |change: &dyn Fn(&mut RingPoint)| {
            let place = places[places.len() - 3];
            let mut point = found(&file, place).expect("an index").expect("a point");
            assert!(point.rings[0].contexts.len() > 2, "both activations have begun");
            change(&mut point.rings[0]);
            Walk::from(point, &options()).expect("its programs").is_some()
        };
        assert!(fits(&|_| ()));
        assert!(!fits(&|ring| ring.contexts[2].0 = ContextNumber::new(2)), "a context that calls itself");
        assert!(!fits(&|ring| ring.contexts[2].1 = FunctionNumber::new(1)), "a function that is not there");
        assert!(!fits(&|ring| ring.contexts.truncate(1)), "what runs has no context");
        assert!(!fits(&|ring| ring.placed[0].0 = 1), "a program that is not there");
        assert!(!fits(&|ring| ring.objects = None), "objects were not asked for");
        assert!(!fits(&|ring| ring.objects = Some(Objects::default())), "variables that are not known");
    }
}
