//! The streams of an affine run as blocks take them: normalised up, unrolled, or with wide accesses in pieces.
//!
//! Takes streams, each with the label of its loads; gives the accesses of an iteration, and the words that they consist
//! of. Loops are often unrolled: streams that are a group of streams several times over, each time one step further,
//! are taken for that group with as many more iterations. The other way round, where the loop before went two or four
//! words at a time, the old positions of every second or fourth word are arithmetic, and a run is taken for one of so
//! many times the streams. And where words were last used one by one, or where vectors overlap, the words of wide
//! accesses are streams of their own, which are accessed at the same time.

use super::dependence::STREAMS;
use crate::engine::{
    access::{Kind, Stream},
    access_tag::AccessTag,
    boundary::MissRequest,
    cell::BYTES,
    progression::Progression,
    report::Reports,
};

/// The longest word that is never cut.
const WORD: u64 = 8;

/// A run's accesses and their words; kept to save allocations. What begins a run fills it, what unrolls or splits the
/// run changes it, and its blocks read it: valid until the next run begins, unless the beginning gave `false`.
#[derive(Default)]
pub struct Normalised {
    /// The accesses of an iteration.
    pub accesses: Vec<Stream>,
    /// Their words, and which access has each.
    pub words: Vec<Stream>,
    pub access_of: Vec<u8>,
    /// Of the accesses as they were given.
    labels: Vec<AccessTag>,
    /// Iterations that were made one by what was given.
    pub factor: usize,
    /// Iterations that are made one here, and those before the first.
    times: usize,
    before: u64,
    is_split: bool,
    pub asked: Asked,
}

/// Of words that a part of a run asks for: what lay above them on its stack.
#[derive(Default)]
pub struct Asked {
    /// By word, in the first iteration; nothing if the words are accesses.
    pub above: Vec<u64>,
    /// From one iteration to the next.
    pub grows: i64,
    /// Words of stores, one bit each.
    stores: u64,
}

impl Asked {
    /// Bytes of the part above a word.
    #[inline(always)]
    pub fn above(&self, word: usize, iteration: u64) -> u64 {
        self.above[word].wrapping_add_signed(self.grows.wrapping_mul(iteration as i64))
    }

    /// What was asked for a word in the first iteration, whose label is known.
    pub fn request_for(&self, word: usize, label: AccessTag, stream: &Stream) -> MissRequest {
        let kind = if self.stores >> word & 1 == 1 { Kind::Store } else { Kind::Load };
        MissRequest {
            addr: stream.addr,
            above: self.above[word],
            holes: 0,
            len: stream.len,
            label,
            kind,
            joined: false,
        }
    }
}

impl Normalised {
    /// Takes the streams of a run; false if there are more than a plan can have.
    pub fn start(&mut self, streams: &[Stream], labels: &[AccessTag]) -> bool {
        if streams.len() > STREAMS {
            return false;
        }
        let unrolled = |factor: &usize| streams.len().is_multiple_of(*factor) && is_unrolled(streams, *factor);
        let factor = (2..=streams.len()).rev().find(unrolled).unwrap_or(1);
        self.labels.clear();
        self.labels.extend_from_slice(labels);
        self.accesses.clear();
        self.accesses.extend_from_slice(&streams[..streams.len() / factor]);
        self.accesses.iter_mut().for_each(|stream| stream.stride /= factor as i64);
        (self.factor, self.times, self.before, self.is_split) = (factor, 1, 0, false);
        self.asked = Asked { above: std::mem::take(&mut self.asked.above), ..Asked::default() };
        self.asked.above.clear();
        self.cut(0);
        true
    }

    /// Takes what a part of a run asked in a loop: accesses whose words leave the stack. False if there are more than a
    /// plan can have.
    pub fn add_requests(&mut self, asks: &[MissRequest], strides: &[i64], grows: i64) -> bool {
        if asks.len() > STREAMS {
            return false;
        }
        self.accesses.clear();
        self.words.clear();
        self.access_of.clear();
        self.labels.clear();
        (self.factor, self.times, self.before, self.is_split) = (1, 1, 0, false);
        self.asked.above.clear();
        (self.asked.grows, self.asked.stores) = (grows, 0);
        let mut above = 0;
        for (number, (ask, &stride)) in asks.iter().zip(strides).enumerate() {
            let stream = Stream { addr: ask.addr, stride, len: ask.len, kind: Kind::Last };
            if number == 0 || !ask.joined {
                self.accesses.push(stream);
                self.labels.push(ask.label);
                above = ask.above;
            }
            self.words.push(stream);
            self.access_of.push(self.accesses.len() as u8 - 1);
            self.asked.above.push(above);
            self.asked.stores |= u64::from(ask.kind != Kind::Load) << number;
        }
        true
    }

    /// Whether the words are what a part of a run asks for.
    pub fn is_asked(&self) -> bool {
        !self.asked.above.is_empty()
    }

    /// Whether anybody wants to know how deep a word lies that is on the stack.
    #[inline(always)]
    pub fn is_read(&self, word: usize, stream: &Stream) -> bool {
        matches!(stream.kind, Kind::Load | Kind::Last) && self.is_asked_load(word)
    }

    /// Whether a word is not that of a store that a part asks for.
    #[inline(always)]
    pub fn is_asked_load(&self, word: usize) -> bool {
        self.asked.stores >> word & 1 == 0
    }

    /// Iterations after which an access has the same label again.
    pub fn period(&self) -> usize {
        (1..=self.factor).find(|period| (period * self.times).is_multiple_of(self.factor)).unwrap_or(1)
    }

    /// Goes on after the first iterations, so many at a time; there must be room for the streams.
    pub fn unroll(&mut self, done: u64, times: usize) {
        self.advance(done);
        let count = self.accesses.len();
        for turn in 1..times {
            for number in 0..count {
                let stream = self.accesses[number];
                self.accesses.push(Stream { addr: stream.address_at(turn as u64), ..stream });
            }
        }
        for stream in &mut self.accesses {
            stream.stride = stream.stride.wrapping_mul(times as i64);
        }
        self.times = times;
        self.cut(if self.is_split { self.piece() } else { 0 });
    }

    pub fn can_unroll(&self, times: usize) -> bool {
        self.times == 1 && self.words.len() * times <= STREAMS
    }

    /// Goes on after the first iterations with wide accesses in pieces.
    pub fn split(&mut self, done: u64) {
        self.advance(done);
        self.is_split = true;
        self.cut(self.piece());
    }

    pub fn can_split(&self) -> bool {
        let piece = self.piece();
        let pieces = |stream: &Stream| if is_whole(stream) { 1 } else { u64::from(stream.len) / piece };
        let is_cut = |stream: &Stream| !is_whole(stream);
        let fits = || self.accesses.iter().map(pieces).sum::<u64>() <= STREAMS as u64;
        !self.is_split && piece >= BYTES && self.accesses.iter().any(is_cut) && fits()
    }

    fn advance(&mut self, iterations: u64) {
        self.accesses.iter_mut().for_each(|stream| stream.addr = stream.address_at(iterations));
        self.before += iterations * self.times as u64;
    }

    /// Bytes of the pieces that accesses are cut into, all of the same size as they may overlap.
    fn piece(&self) -> u64 {
        let cut = self.accesses.iter().filter(|stream| !is_whole(stream));
        let all = cut.fold(WORD, |all, s| all | s.addr | s.stride.unsigned_abs() | u64::from(s.len));
        1 << all.trailing_zeros()
    }

    /// Finds the words of accesses, in pieces of so many bytes where these are no words; 0 leaves all as they are.
    fn cut(&mut self, piece: u64) {
        self.words.clear();
        self.access_of.clear();
        if piece == 0 {
            self.words.extend_from_slice(&self.accesses);
            self.access_of.extend((0..).take(self.accesses.len()));
            return;
        }
        for (number, stream) in self.accesses.iter().enumerate() {
            let len = if is_whole(stream) { stream.len } else { piece as u32 };
            for skip in (0..stream.len).step_by(len.max(1) as usize) {
                self.words.push(Stream { addr: stream.addr.wrapping_add(skip.into()), len, ..*stream });
                self.access_of.push(number as u8);
            }
        }
    }

    /// The label of an access in an iteration.
    pub fn label(&self, access: usize, iteration: u64) -> AccessTag {
        let accesses = self.accesses.len() / self.times;
        let iteration = self.before + iteration * self.times as u64 + (access / accesses) as u64;
        self.labels[(iteration % self.factor as u64) as usize * accesses + access % accesses]
    }

    /// Reports the load of a word that is not on the stack.
    #[inline(always)]
    pub fn cold(&self, word: usize, iteration: u64, above: u64, len: u64, out: &mut Reports) {
        out.begin(self.label(self.access_of[word].into(), iteration));
        out.cold(above, len);
    }

    /// Reports loads of a word in a number of iterations from `first` on, each below so many holes.
    #[inline(always)]
    pub fn row(&self, word: usize, first: u64, mut row: Progression, holes: u64, out: &mut Reports) {
        if self.is_asked() {
            row.first += self.asked.above(word, first);
            row.step += self.asked.grows;
        }
        let (access, factor) = (self.access_of[word].into(), self.factor as u64);
        for skip in 0..factor.min(row.count) {
            out.begin(self.label(access, first + skip));
            let count = (row.count - skip).div_ceil(factor);
            let row = Progression { first: row.start_of(skip), step: row.step * factor as i64, count, ..row };
            out.row(row);
            out.row_below_holes(row, holes);
        }
    }
}

/// Whether an access is one word wherever it is in its stream.
fn is_whole(stream: &Stream) -> bool {
    let len = u64::from(stream.len);
    len <= WORD && (len == 0 || stream.addr.is_multiple_of(len) && stream.stride.unsigned_abs().is_multiple_of(len))
}

/// Whether streams are `factor` times the same group, each time one step further.
fn is_unrolled(streams: &[Stream], factor: usize) -> bool {
    let count = streams.len() / factor;
    (count..streams.len()).all(|number| {
        let (first, this, steps) = (streams[number % count], streams[number], (number / count) as i64);
        let is_alike = (first.stride, first.len, first.kind) == (this.stride, this.len, this.kind);
        let step = first.stride / factor as i64;
        is_alike && step * factor as i64 == first.stride && this.addr == first.addr.wrapping_add_signed(step * steps)
    })
}
