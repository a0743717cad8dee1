//! Loops between a part of a run and the stack before it: what a block of iterations asks for, and the answer.
//!
//! A block of a part finds words that are not on its stack. It asks for them as a loop, whose accesses the stack before
//! does in blocks in its turn: the words leave that stack, as they are the part's now, and lie as many bytes deeper as
//! the part had above them. A part that has free places does without blocks. Takes and gives [`RequestedLoop`]s with
//! their asks. Refuses nothing: what cannot be done in blocks is asked and answered one by one.

use super::{
    block::LEAST,
    dependence::{Plan, STREAMS},
    scratch::Scratch,
    together::{BlockRun, grows, with_live},
};
use crate::engine::{
    access::{Kind, Stream},
    boundary::{MissRequest, RequestedLoop},
    cell::Cell,
    report::Reports,
    stack::Stack,
};

/// Asks that are answered one by one at a time.
const SINGLE: usize = 64;

/// A part's side.
impl<C: Cell> BlockRun<'_, C> {
    /// Asks the stack before a part for the words that are not on the part's, in the order of accesses.
    #[inline(always)]
    pub(super) fn ask_for_fresh(&mut self) {
        let (streams, normalised, size, live) =
            (&self.streams, self.normalised, self.block.size, self.stack.order.live());
        let Some(slice) = &mut self.stack.slice else { return };
        let is_fresh = |stream: &Stream| stream.kind == Kind::Fresh;
        let count = streams.iter().filter(|stream| is_fresh(stream)).count();
        if count == 0 {
            return;
        }
        let change: i64 = streams.iter().map(grows).sum();
        let iteration = |number: usize| {
            let live = live.wrapping_add_signed(change * number as i64);
            let (at, mut last) = (self.first + number as u64, None);
            with_live(streams, live).filter(|(_, stream, _)| is_fresh(stream)).map(move |(word, stream, above)| {
                let access = normalised.access_of[word];
                let kind = if normalised.words[word].kind == Kind::Load { Kind::Load } else { Kind::Store };
                let (label, joined) = (normalised.label(access.into(), at), last.replace(access) == Some(access));
                (
                    MissRequest { addr: stream.address_at(at), above, holes: 0, len: stream.len, label, kind, joined },
                    stream.stride,
                )
            })
        };
        // Iterations after which labels are the same again are one of the loop that is asked for.
        let period = normalised.period();
        let turns = if count * period <= STREAMS { size / period } else { 0 };
        let mut done = 0;
        if turns >= LEAST {
            let asks = (0..period).flat_map(iteration).map(|(ask, stride)| (ask, stride * period as i64));
            slice.ask_in_loop(asks, turns as u64, change * period as i64);
            done = turns * period;
        }
        slice.asks.extend((done..size).flat_map(iteration).map(|(ask, _)| ask));
    }
}

/// The side of the stack before a part.
impl<C: Cell> BlockRun<'_, C> {
    /// Answers a block of what a part asked, as far as the words are not on the stack; counts the most bytes that are
    /// on both stacks at a time, and those that are new.
    #[inline(always)]
    pub(super) fn answer(&mut self, untouched: u64) {
        let (streams, normalised, first, size) = (&self.streams, self.normalised, self.first, self.block.size);
        let (live, last) = (self.stack.order.live(), size as u64 - 1);
        let goes = |stream: &Stream| if stream.kind == Kind::Last { u64::from(stream.len) } else { 0 };
        let gone: u64 = streams.iter().map(goes).sum();
        let mut asks = Vec::new();
        let (mut taken, mut start) = (0, 0);
        for words in normalised.access_of.chunk_by(|a, b| a == b) {
            let access = start..start + words.len();
            let before = live - taken;
            let (mut all, mut unknown) = (0, 0);
            for number in access.clone() {
                let (stream, len) = (&streams[number], u64::from(streams[number].len));
                if stream.kind == Kind::Remove {
                    if self.stack.slice.is_some() {
                        let label = normalised.label(words[0].into(), 0);
                        let ask = normalised.asked.request_for(number, label, stream).in_iteration(
                            first,
                            stream.stride,
                            normalised.asked.grows,
                        );
                        let above = ask.above + before;
                        asks.push((MissRequest { above, joined: unknown > 0, ..ask }, stream.stride));
                    } else if normalised.is_asked_load(number) {
                        for iteration in 0..size as u64 {
                            let above = normalised.asked.above(number, first + iteration) + before - gone * iteration;
                            normalised.cold(number, first + iteration, above + unknown, len, self.out);
                        }
                    }
                    unknown += len;
                }
                (all, taken) = (all + len, taken + goes(stream));
            }
            for iteration in [0, last] {
                let above = normalised.asked.above(start, first + iteration);
                self.stack.count_block(above + all + live - taken - gone * iteration, 0);
            }
            start = access.end;
        }
        self.stack.count_block(0, untouched);
        if !asks.is_empty()
            && let Some(slice) = &mut self.stack.slice
        {
            slice.ask_in_loop(asks.into_iter(), size as u64, normalised.asked.grows - gone as i64);
        }
    }
}

/// Answers what a part asked in a loop.
#[inline(always)]
pub fn resolve_loop<C: Cell>(
    stack: &mut Stack<C>,
    asked: RequestedLoop,
    asks: &[MissRequest],
    strides: &[i64],
    out: &mut Reports,
) {
    let mut scratch = stack.scratch.take().unwrap_or_default();
    let Scratch { normalised, plans, room, asks: singles, .. } = &mut *scratch;
    let RequestedLoop { iterations, grows, .. } = asked;
    let mut plan: Option<&Plan> = None;
    let may_try = stack.options.affine && asks.iter().all(|ask| ask.holes == 0);
    if may_try && normalised.add_requests(asks, strides, grows) {
        plan = plans.plan_for(&normalised.words, &normalised.access_of, iterations);
    }
    let (mut done, mut pause) = (0, LEAST as u64);
    while done < iterations {
        let left = iterations - done;
        let block =
            plan.map_or(0, |plan| BlockRun::new(stack, normalised, plan, done, room, out).run(left as usize) as u64);
        if block > 0 {
            (done, pause) = (done + block, LEAST as u64);
            continue;
        }
        let until = done + if plan.is_some() { pause.min(left) } else { left };
        for iteration in done..until {
            singles.extend(asks.iter().zip(strides).map(|(ask, stride)| ask.in_iteration(iteration, *stride, grows)));
            if singles.len() >= SINGLE || iteration + 1 == until {
                stack.resolve(singles, out);
                singles.clear();
            }
        }
        (done, pause) = (until, (pause * 2).min(64));
    }
    stack.scratch = Some(scratch);
}
