//! How the streams of an affine run relate: which word another access of the run had shortly before.
//!
//! Takes streams and a number of iterations; gives a [`Plan`], or nothing for a run with accesses of other sizes than
//! words have, whose words overlap in part, or whose streams cross: such runs are done access by access.

use crate::engine::{
    access::{Kind, Stream},
    cell::BYTES,
};

/// Most streams of a planned run.
pub const STREAMS: usize = 64;
/// Reuse up to this many iterations later is known from the plan alone.
const MAX_DISTANCE: i64 = 8;
/// Iterations a run may have so that no address computation overflows.
const LONGEST: u64 = 1 << 24;

/// The previous access to a stream's word is this run's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Iterations ago, up to [`MAX_DISTANCE`].
    pub distance: u8,
    /// The stream whose access it was; its words are as long.
    pub source: u8,
    /// Live bytes above it; the same in every iteration.
    pub above: u32,
}

/// What is known of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Word {
    /// Bytes of an access: 4, 8, 16, 32 or 64.
    len: u8,
    /// Streams of one access have the same number: they have their words at the same time.
    access: u8,
    /// Where an iteration puts the word, counted from the position of the iteration's first.
    slot: u16,
    carried: Option<Carried>,
    /// Iterations since another stream's access let the word die that this stream's store brings back, if few.
    reborn: Option<u8>,
    /// The stream that takes the word over, and iterations until then, if soon.
    next_use: Option<(u8, u8)>,
    /// Streams that have had the stream's words before, one bit each.
    related: u64,
}

#[derive(Debug)]
pub struct Plan {
    words: Vec<Word>,
    /// From one iteration's positions to those of the next.
    pub step: u64,
    /// Some positions of an iteration stay free, so that words lie at multiples of their size.
    pub has_gaps: bool,
    /// The most bytes of an access.
    pub widest: u64,
    /// Iterations of the run that must be done before `carried` holds.
    pub warm_up: u64,
    /// Most iterations in a block, so that reuse that is not loop-carried is of an earlier block.
    pub longest: usize,
    /// Fewest and most iterations for which streams that stay as far from each other as they are have this plan.
    holds: (u64, u64),
}

impl Plan {
    /// Bytes of a stream's accesses.
    pub fn len(&self, stream: usize) -> u64 {
        self.words[stream].len.into()
    }

    /// Cells of a stream's accesses.
    pub fn width(&self, stream: usize) -> usize {
        (self.len(stream) / BYTES) as usize
    }

    /// Where an iteration puts a stream's word, counted from the position of the iteration's first.
    pub fn slot(&self, stream: usize) -> u64 {
        self.words[stream].slot.into()
    }

    /// Whether a stream accesses its word before another does in the same iteration.
    pub fn is_before(&self, stream: usize, other: usize) -> bool {
        stream < other && self.words[stream].access != self.words[other].access
    }

    pub fn carried(&self, stream: usize) -> Option<Carried> {
        self.words[stream].carried
    }

    /// The stream that has a stream's word next, within few iterations, and their number.
    pub fn next_user(&self, stream: usize) -> Option<(usize, usize)> {
        self.words[stream].next_use.map(|(next_user, distance)| (next_user.into(), distance.into()))
    }

    pub fn reborn(&self, stream: usize) -> Option<usize> {
        self.words[stream].reborn.map(usize::from)
    }

    /// Whether one of two streams has words that the other had.
    pub fn are_related(&self, stream: usize, other: usize) -> bool {
        (self.words[stream].related >> other | self.words[other].related >> stream) & 1 == 1
    }

    /// Whether so many iterations of streams that stay as far from each other as they are, those with different strides
    /// apart, have this plan.
    pub fn holds_for(&self, iterations: u64) -> bool {
        (self.holds.0..=self.holds.1).contains(&iterations)
    }

    /// Whether two plans are the same, whatever they hold for.
    #[cfg(test)]
    pub fn is_like(&self, other: &Plan) -> bool {
        let all = |plan: &Plan| (plan.step, plan.has_gaps, plan.widest, plan.warm_up, plan.longest);
        self.words == other.words && all(self) == all(other)
    }

    /// The streams have changed their distances: nothing is known of longer runs.
    pub fn holds_at_most(&mut self, iterations: u64) {
        self.holds.1 = self.holds.1.min(iterations);
    }

    /// First of a block's iterations whose access is the last to its word in the block.
    pub fn kept_from(&self, stream: usize, iterations: usize) -> usize {
        self.next_user(stream).map_or(0, |(_, distance)| iterations.saturating_sub(distance))
    }

    /// Of streams that access one after the other.
    pub fn new(streams: &[Stream], iterations: u64) -> Option<Plan> {
        let each: [u8; STREAMS] = std::array::from_fn(|number| number as u8);
        Self::of_words(streams, each.get(..streams.len())?, iterations)
    }

    /// Of streams that are the words of accesses, which are numbered.
    pub fn of_words(streams: &[Stream], accesses: &[u8], iterations: u64) -> Option<Plan> {
        if streams.is_empty()
            || streams.len() > STREAMS
            || iterations > LONGEST
            || !streams.iter().all(|s| is_usual(s, iterations))
        {
            return None;
        }
        let words = vec![Word::default(); streams.len()];
        let mut plan =
            Plan { words, step: 0, has_gaps: false, widest: 0, warm_up: 0, longest: usize::MAX, holds: (1, LONGEST) };
        plan.lay_out(streams, accesses);
        for stream in 0..streams.len() {
            plan.relate(streams, stream, iterations)?;
        }
        for stream in 0..streams.len() {
            if let Some(carried) = plan.words[stream].carried {
                plan.words[usize::from(carried.source)].next_use = Some((stream as u8, carried.distance));
            }
        }
        for stream in 0..streams.len() {
            if let Some(carried) = plan.words[stream].carried {
                let above = plan.alive_since(streams, stream, carried) as u32;
                plan.words[stream].carried = Some(Carried { above, ..carried });
            }
        }
        Some(plan)
    }

    /// Where each iteration puts its words.
    fn lay_out(&mut self, streams: &[Stream], accesses: &[u8]) {
        let mut used = 0;
        for ((word, stream), &access) in self.words.iter_mut().zip(streams).zip(accesses) {
            let len = u64::from(stream.len);
            (word.len, word.access) = (stream.len as u8, access);
            self.widest = self.widest.max(len);
            if stream.kind != Kind::Last {
                self.step = self.step.next_multiple_of(len);
                word.slot = self.step as u16;
                self.step += len;
                used += len;
            }
        }
        self.step = self.step.next_multiple_of(self.widest);
        self.has_gaps = self.step != used;
    }

    /// Finds the access of the run that had the stream's word last.
    fn relate(&mut self, streams: &[Stream], stream: usize, iterations: u64) -> Option<()> {
        let mut latest: Option<(i64, usize)> = None;
        for other in 0..streams.len() {
            let Some(distance) =
                distance(&streams[stream], &streams[other], iterations, self.is_before(other, stream)).ok()?
            else {
                self.holds.1 = self.holds.1.min(apart_until(&streams[stream], &streams[other], iterations));
                continue;
            };
            self.words[stream].related |= 1 << other;
            self.holds.0 = self.holds.0.max(distance as u64 + 1);
            // Of equally old ones, the later stream's access is the later one.
            if latest.is_none_or(|(least, _)| distance <= least) {
                latest = Some((distance, other));
            }
        }
        // A word is where the stream's kind says only if what had it last left it there.
        let found = |source: usize| (streams[stream].kind == Kind::Fresh) == (streams[source].kind == Kind::Last);
        match latest {
            Some((_, source)) if !found(source) => return None,
            Some((distance, _)) if distance <= MAX_DISTANCE && streams[stream].kind == Kind::Fresh => {
                self.words[stream].reborn = Some(distance as u8);
                self.warm_up = self.warm_up.max(distance as u64);
            }
            Some((distance, source)) if distance <= MAX_DISTANCE => {
                self.words[stream].carried = Some(Carried { distance: distance as u8, source: source as u8, above: 0 });
                self.warm_up = self.warm_up.max(distance as u64);
            }
            Some((distance, _)) => self.longest = self.longest.min(distance as usize),
            None => {}
        }
        Some(())
    }

    /// Bytes accessed after the source of a loop-carried reuse that are still where that access put them.
    fn alive_since(&self, streams: &[Stream], stream: usize, carried: Carried) -> u64 {
        let kind_of = |stream: usize| streams[stream].kind;
        let streams = streams.len();
        let mut alive = 0;
        // Iterations are counted from that of the source; the reuse is in iteration `distance`.
        let (distance, source) = (usize::from(carried.distance), usize::from(carried.source));
        let is_over = |iteration: usize, other: usize| {
            iteration < distance || iteration == distance && self.is_before(other, stream)
        };
        for at in source + 1..distance * streams + stream {
            let (iteration, other) = (at / streams, at % streams);
            let next_user = self.next_user(other);
            let taken_by_then = next_user.is_some_and(|(next_user, later)| is_over(iteration + later, next_user));
            if is_over(iteration, other) && kind_of(other) != Kind::Last && !taken_by_then {
                alive += self.len(other);
            }
        }
        alive
    }
}

/// Whether a stream's accesses are words that a plan can have.
pub fn is_usual(stream: &Stream, iterations: u64) -> bool {
    let len = u64::from(stream.len);
    let is_word = match stream.kind {
        Kind::Load | Kind::Store => is_word(len),
        Kind::Last | Kind::Fresh => matches!(len, 4 | 8),
        Kind::Remove => false,
    };
    is_word
        && stream.addr.is_multiple_of(len)
        && stream.stride.unsigned_abs().is_multiple_of(len)
        && stays_within(stream, iterations)
}

/// Whether accesses of so many bytes can be in a plan.
pub fn is_word(len: u64) -> bool {
    matches!(len, 4 | 8 | 16 | 32 | 64)
}

/// Iterations since `other` had the word that `stream` accesses; `None` if it never had it before. An error if that is
/// not so for all iterations alike.
fn distance(stream: &Stream, other: &Stream, iterations: u64, is_before: bool) -> Result<Option<i64>, ()> {
    let (len, other_len) = (i64::from(stream.len), i64::from(other.len));
    let apart = other.addr as i64 - stream.addr as i64;
    if stream.stride != other.stride {
        return if are_apart(stream, other, iterations) { Ok(None) } else { Err(()) };
    }
    let stride = stream.stride;
    if len != other_len {
        // Words of two sizes are apart in all iterations, or nothing is known of them.
        let phase = apart.checked_rem_euclid(stride.abs()).unwrap_or(0);
        let alternate = phase >= len && stride.abs() - phase >= other_len;
        return if alternate || are_apart(stream, other, iterations) { Ok(None) } else { Err(()) };
    }
    if stride == 0 {
        return Ok((apart == 0).then_some(i64::from(!is_before)));
    }
    if stride.abs() < len {
        return Err(());
    }
    if apart.unsigned_abs() >= stride.unsigned_abs() * iterations {
        return Ok(None);
    }
    // Aligned words of one size are equal or apart.
    let ago = apart / stride;
    let is_earlier = ago > 0 || ago == 0 && is_before;
    Ok((ago * stride == apart && is_earlier).then_some(ago))
}

/// Iterations up to which two streams that have no word in common certainly have none, if they advance alike.
fn apart_until(stream: &Stream, other: &Stream, iterations: u64) -> u64 {
    let (stride, apart) = (stream.stride.unsigned_abs(), stream.addr.abs_diff(other.addr));
    if stream.stride != other.stride || stride == 0 {
        return u64::MAX;
    }
    if stream.len != other.len {
        return iterations;
    }
    // Where one goes beyond where the other began, their words take turns, or the other has them later.
    let far = apart / stride;
    if far < iterations { u64::MAX } else { far }
}

/// The number of iterations, at most as many as there are, in which no word of a stream overlaps one of another that
/// advances differently.
pub fn apart(streams: &[Stream], iterations: u64) -> u64 {
    if !streams.iter().all(|stream| stays_within(stream, iterations)) {
        return iterations;
    }
    let mut apart = iterations;
    for (number, stream) in streams.iter().enumerate() {
        for other in streams[..number].iter().filter(|other| other.stride != stream.stride) {
            apart = while_apart(apart, |iterations| are_apart(stream, other, iterations));
        }
    }
    apart
}

/// The number of iterations, at most as many as there are, up to which something is so; it is not again later on.
pub fn while_apart(most: u64, are_apart: impl Fn(u64) -> bool) -> u64 {
    if most == 0 || are_apart(most) {
        return most;
    }
    let (mut apart, mut met) = (0, most);
    while met - apart > 1 {
        let middle = apart + (met - apart) / 2;
        *if are_apart(middle) { &mut apart } else { &mut met } = middle;
    }
    apart
}

/// Whether the addresses of a stream are such that nothing overflows.
fn stays_within(stream: &Stream, iterations: u64) -> bool {
    let far = stream.stride.unsigned_abs().checked_mul(iterations).is_some_and(|far| far < 1 << 60);
    far && stream.addr < 1 << 62
        && stream.addr.checked_add_signed(stream.stride.min(0).wrapping_mul(iterations as i64)).is_some()
}

/// Whether no word of a stream overlaps one of another in some iterations.
pub fn are_apart(stream: &Stream, other: &Stream, iterations: u64) -> bool {
    let ends = |s: &Stream| {
        let (first, last) = (s.addr as i64, s.addr as i64 + s.stride * (iterations as i64 - 1));
        (first.min(last), first.max(last) + i64::from(s.len))
    };
    let ((low, high), (other_low, other_high)) = (ends(stream), ends(other));
    high <= other_low || other_high <= low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn streams() -> impl Strategy<Value = Vec<Stream>> {
        let stream = (0u64..64, -3i64..4, prop::sample::select(vec![4u32, 8]));
        prop::collection::vec(stream, 2..4).prop_map(|list| {
            let word = |(at, stride, len)| Stream { addr: 4096 + 8 * at, stride: 8 * stride, len, kind: Kind::Load };
            list.into_iter().map(word).collect()
        })
    }

    /// Whether the positions that two streams have gone over lie among each other.
    fn have_met(stream: &Stream, other: &Stream, iterations: u64) -> bool {
        let ends = |s: &Stream| {
            let positions = (0..iterations).map(|iteration| s.address_at(iteration));
            (positions.clone().min(), positions.max().map(|last| last + u64::from(s.len)))
        };
        let ((low, high), (other_low, other_high)) = (ends(stream), ends(other));
        low < other_high && other_low < high
    }

    proptest! {
        #[test]
        fn streams_are_apart_until_they_meet(streams in streams(), iterations in 1u64..40) {
            let met = |iterations: u64| {
                let differ = |a: &Stream, b: &Stream| a.stride != b.stride && have_met(a, b, iterations);
                streams.iter().enumerate().any(|(number, a)| streams[..number].iter().any(|b| differ(a, b)))
            };
            let expected = (1..=iterations).take_while(|&count| !met(count)).last().unwrap_or(0);
            prop_assert_eq!(apart(&streams, iterations), expected);
        }
    }
}
