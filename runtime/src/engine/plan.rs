//! How the streams of a regular run relate: which word another access of the run had shortly before.
//!
//! Takes streams and a number of iterations; gives a [`Plan`], or nothing for a run whose accesses are not all of one size,
//! whose words overlap in part, or whose streams cross: such runs are done access by access.

use super::cell::BYTES;
use super::{Kind, Stream};

/// Most streams of a planned run.
pub const STREAMS: usize = 16;
/// Reuse up to this many iterations later is known from the plan alone.
const NEAR: i64 = 8;
/// Iterations a run may have so that no address computation overflows.
const LONGEST: u64 = 1 << 24;

/// The previous access to a stream's word is this run's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Iterations ago, up to [`NEAR`].
    pub delay: usize,
    /// The stream whose access it was.
    pub source: usize,
    /// Live bytes above it; the same in every iteration.
    pub above: u64,
}

#[derive(Debug)]
pub struct Plan {
    /// Bytes of every access: 4, 8, 16, 32 or 64.
    pub len: u64,
    near: [Option<Near>; STREAMS],
    /// Iterations since another stream's access let the word die that this stream's store brings back, if few.
    reborn: [Option<usize>; STREAMS],
    /// The stream that takes the word over, and iterations until then, if soon.
    taken: [Option<(usize, usize)>; STREAMS],
    /// Iterations of the run that must be done before `near` holds.
    pub warm_up: u64,
    /// Most iterations in a block, so that reuse that is not near is of an earlier block.
    pub longest: usize,
}

impl Plan {
    /// Cells of every access.
    pub fn width(&self) -> usize {
        (self.len / BYTES) as usize
    }

    pub fn near(&self, stream: usize) -> Option<Near> {
        self.near[stream]
    }

    /// The stream that has a stream's word next, within few iterations, and their number.
    pub fn taker(&self, stream: usize) -> Option<(usize, usize)> {
        self.taken[stream]
    }

    pub fn reborn(&self, stream: usize) -> Option<usize> {
        self.reborn[stream]
    }

    /// First of a block's iterations whose access is the last to its word in the block.
    pub fn kept_from(&self, stream: usize, iterations: usize) -> usize {
        self.taken[stream].map_or(0, |(_, delay)| iterations.saturating_sub(delay))
    }

    pub fn new(streams: &[Stream], iterations: u64) -> Option<Plan> {
        let len = u64::from(streams.first()?.len);
        let is_wide =
            matches!(len, 16 | 32 | 64) && streams.iter().all(|s| !matches!(s.kind, Kind::Last | Kind::Fresh));
        if streams.len() > STREAMS || !(len == 4 || len == 8 || is_wide) || iterations > LONGEST {
            return None;
        }
        let is_usual = |s: &Stream| {
            let far = s.stride.unsigned_abs().checked_mul(iterations).is_some_and(|far| far < 1 << 60);
            let lowest = s.addr.checked_add_signed(s.stride.min(0).wrapping_mul(iterations as i64)).is_some();
            let aligned = s.addr.is_multiple_of(len) && s.stride.unsigned_abs().is_multiple_of(len);
            u64::from(s.len) == len && s.kind != Kind::Remove && s.addr < 1 << 62 && far && lowest && aligned
        };
        if !streams.iter().all(is_usual) {
            return None;
        }
        let (near, reborn, taken) = ([None; STREAMS], [None; STREAMS], [None; STREAMS]);
        let mut plan = Plan { len, near, reborn, taken, warm_up: 0, longest: usize::MAX };
        for stream in 0..streams.len() {
            plan.relate(streams, stream, iterations)?;
        }
        for stream in 0..streams.len() {
            if let Some(near) = plan.near[stream] {
                plan.taken[near.source] = Some((stream, near.delay));
            }
        }
        for stream in 0..streams.len() {
            if let Some(near) = plan.near[stream] {
                let above = len * plan.alive_since(streams, stream, near);
                plan.near[stream] = Some(Near { above, ..near });
            }
        }
        Some(plan)
    }

    /// Finds the access of the run that had the stream's word last.
    fn relate(&mut self, streams: &[Stream], stream: usize, iterations: u64) -> Option<()> {
        let mut latest: Option<(i64, usize)> = None;
        for other in 0..streams.len() {
            let Some(delay) = delay(&streams[stream], &streams[other], iterations, other < stream).ok()? else {
                continue;
            };
            // Of equally old ones, the later stream's access is the later one.
            if latest.is_none_or(|(least, _)| delay <= least) {
                latest = Some((delay, other));
            }
        }
        // A word is where the stream's kind says only if what had it last left it there.
        let found = |source: usize| (streams[stream].kind == Kind::Fresh) == (streams[source].kind == Kind::Last);
        match latest {
            Some((_, source)) if !found(source) => return None,
            Some((delay, _)) if delay <= NEAR && streams[stream].kind == Kind::Fresh => {
                self.reborn[stream] = Some(delay as usize);
                self.warm_up = self.warm_up.max(delay as u64);
            }
            Some((delay, source)) if delay <= NEAR => {
                self.near[stream] = Some(Near { delay: delay as usize, source, above: 0 });
                self.warm_up = self.warm_up.max(delay as u64);
            }
            Some((delay, _)) => self.longest = self.longest.min(delay as usize),
            None => {}
        }
        Some(())
    }

    /// Words accessed after the source of a near reuse that are still where that access put them.
    fn alive_since(&self, streams: &[Stream], stream: usize, near: Near) -> u64 {
        let kind_of = |stream: usize| streams[stream].kind;
        let streams = streams.len();
        let mut alive = 0;
        // Iterations are counted from that of the source; the reuse is in iteration `delay`.
        for at in near.source + 1..near.delay * streams + stream {
            let (iteration, other) = (at / streams, at % streams);
            let taken_by_then = (0..streams).any(|taker| {
                self.near[taker]
                    .is_some_and(|n| n.source == other && (iteration + n.delay, taker) < (near.delay, stream))
            });
            alive += u64::from(kind_of(other) != Kind::Last && !taken_by_then);
        }
        alive
    }
}

/// Iterations since `other` had the word that `stream` accesses; `None` if it never had it before. An error if that is not
/// so for all iterations alike.
fn delay(stream: &Stream, other: &Stream, iterations: u64, is_before: bool) -> Result<Option<i64>, ()> {
    let len = i64::from(stream.len);
    let apart = other.addr as i64 - stream.addr as i64;
    if stream.stride == other.stride {
        let stride = stream.stride;
        if stride == 0 {
            return Ok((apart == 0).then_some(i64::from(!is_before)));
        }
        if stride.abs() < len {
            return Err(());
        }
        // Aligned words of one size are equal or apart.
        let ago = apart / stride;
        let is_earlier = ago > 0 || ago == 0 && is_before;
        return Ok((ago * stride == apart && is_earlier && ago < iterations as i64).then_some(ago));
    }
    let ends = |s: &Stream| {
        let (first, last) = (s.addr as i64, s.addr as i64 + s.stride * (iterations as i64 - 1));
        (first.min(last), first.max(last) + len)
    };
    let ((low, high), (other_low, other_high)) = (ends(stream), ends(other));
    if high <= other_low || other_high <= low { Ok(None) } else { Err(()) }
}
