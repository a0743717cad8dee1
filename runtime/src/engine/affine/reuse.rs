//! What is remembered of earlier affine runs: their plans, and which shapes of runs were done in blocks.
//!
//! Takes the streams of a run. The same loop comes again and again, at other addresses and often with another number of
//! iterations; its plan is the same as long as what it says of pairs of streams is. Refuses to guess: what cannot be
//! told from the run before is worked out anew.

use super::dependence::{Plan, are_apart, is_usual};
use crate::engine::access::Stream;

/// Which shapes of runs are worth trying: where none was done in blocks for a while, only some are tried.
#[derive(Default)]
pub struct BackOff {
    /// By shape: runs that failed in a row, then those passed over.
    failed: Vec<u8>,
}

impl BackOff {
    const SHAPES: usize = 256;
    /// So many may fail in a row; then as many are passed over between two that are tried.
    const MOST_FAILURES: u8 = 8;

    pub fn shape(streams: &[Stream]) -> usize {
        let shape = streams.iter().fold(streams.len() as u64, |shape, stream| {
            let own = stream.stride as u64 ^ u64::from(stream.len) << 32 ^ (stream.kind as u64) << 40;
            (shape ^ own).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
        (shape >> 17) as usize % Self::SHAPES
    }

    pub fn try_again(&mut self, shape: usize) -> bool {
        let Some(failed) = self.failed.get_mut(shape) else { return true };
        if *failed < Self::MOST_FAILURES {
            return true;
        }
        *failed = if *failed < 2 * Self::MOST_FAILURES { *failed + 1 } else { Self::MOST_FAILURES };
        *failed == Self::MOST_FAILURES
    }

    pub fn tried(&mut self, shape: usize, succeeded: bool) {
        self.failed.resize(Self::SHAPES, 0);
        let failed = &mut self.failed[shape];
        *failed = if succeeded { 0 } else { (*failed + 1).min(Self::MOST_FAILURES) };
    }
}

/// Plans of earlier runs.
#[derive(Default)]
pub struct Plans {
    /// By shape.
    known: Vec<Option<CachedPlan>>,
}

/// A plan, and the run that it was made for.
struct CachedPlan {
    streams: Vec<Stream>,
    accesses: Vec<u8>,
    iterations: u64,
    plan: Plan,
}

impl Plans {
    const SHAPES: usize = 32;

    /// The plan of a run, see [`Plan::of_words`].
    pub fn plan_for(&mut self, streams: &[Stream], accesses: &[u8], iterations: u64) -> Option<&Plan> {
        if self.known.is_empty() {
            self.known.resize_with(Self::SHAPES, || None);
        }
        let known = &mut self.known[BackOff::shape(streams) % Self::SHAPES];
        if !known.as_mut().is_some_and(|known| known.fits(streams, accesses, iterations)) {
            let plan = Plan::of_words(streams, accesses, iterations)?;
            *known = Some(CachedPlan { streams: streams.to_vec(), accesses: accesses.to_vec(), iterations, plan });
        }
        known.as_ref().map(|known| &known.plan)
    }
}

impl CachedPlan {
    /// Whether a plan made for this run would be the same.
    fn fits(&mut self, streams: &[Stream], accesses: &[u8], iterations: u64) -> bool {
        let is_alike = |(a, b): (&Stream, &Stream)| {
            (a.stride, a.len, a.kind) == (b.stride, b.len, b.kind) && is_usual(b, iterations)
        };
        if !self.plan.holds_for(iterations)
            || self.accesses != accesses
            || !self.streams.iter().zip(streams).all(is_alike)
        {
            return false;
        }
        let moved = |number: usize| streams[number].addr.wrapping_sub(self.streams[number].addr);
        let is_longer = iterations > self.iterations;
        // All of them have moved by as much: nothing is nearer to or farther from anything than it was.
        if !is_longer && (1..streams.len()).all(|number| moved(number) == moved(0)) {
            return true;
        }
        let fits = (1..streams.len()).all(|number| {
            (0..number).all(|other| {
                let (one, two) = (&streams[number], &streams[other]);
                let as_before = moved(number) == moved(other) && (one.stride == two.stride || !is_longer);
                as_before || !self.plan.are_related(number, other) && are_apart(one, two, iterations)
            })
        });
        if fits && !is_longer {
            // The runs that follow are most likely like this one.
            self.streams.copy_from_slice(streams);
            self.iterations = iterations;
            self.plan.holds_at_most(iterations);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Kind;
    use proptest::prelude::*;

    type Run = (Vec<Stream>, u64);

    /// Runs of one loop, whose streams have moved, some by as much as others, and which are of different lengths.
    fn runs() -> impl Strategy<Value = Vec<Run>> {
        let kind = prop::sample::select(vec![Kind::Load, Kind::Load, Kind::Store, Kind::Last, Kind::Fresh]);
        let word =
            (0u64..40, prop::sample::select(vec![1i64, 1, 1, 2, 0, -1]), prop::sample::select(vec![8u32, 8, 4]), kind);
        let moves = prop::collection::vec(prop::sample::select(vec![0u64, 0, 0, 1, 12, 100]), 6);
        (prop::collection::vec(word, 1..6), prop::collection::vec((moves, 1u64..30), 2..6)).prop_map(|(words, runs)| {
            let run = |(moves, iterations): (Vec<u64>, u64)| {
                let stream = |(&(at, stride, len, kind), moved): (&(u64, i64, u32, Kind), &u64)| Stream {
                    addr: 8 * (1000 + at + moved),
                    stride: 8 * stride,
                    len,
                    kind,
                };
                (words.iter().zip(&moves).map(stream).collect(), iterations)
            };
            runs.into_iter().map(run).collect()
        })
    }

    proptest! {
        #[test]
        fn kept_plans_are_those_that_would_be_made(runs in runs()) {
            let mut plans = Plans::default();
            for (streams, iterations) in runs {
                let accesses: Vec<u8> = (0..streams.len() as u8).collect();
                let made = Plan::of_words(&streams, &accesses, iterations);
                match (plans.plan_for(&streams, &accesses, iterations), &made) {
                    (Some(kept), Some(made)) => prop_assert!(kept.is_like(made), "{:?}\n{:?}", kept, made),
                    (kept, made) => prop_assert!(kept.is_none() && made.is_none(), "{:?}\n{:?}", kept, made),
                }
            }
        }
    }
}
