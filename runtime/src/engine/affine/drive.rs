//! Drives affine runs through the stack: blocks of iterations where they can be done together, single accesses
//! elsewhere.
//!
//! Takes streams and a number of iterations, and does to the stack what the single accesses would. How loops are
//! unrolled, and how wide their accesses are, is changed to what the words' old positions go by ([`Normalised`]).
//! Refuses, by stopping early, an access whose positions do not fit the cells.

use super::{
    block::LEAST,
    normalise::Normalised,
    reuse::{BackOff, Plans},
    scratch::{Change, Room, Scratch},
    together::BlockRun,
};
use crate::engine::{
    access::{Access, Stream},
    access_tag::AccessTag,
    cell::Cell,
    report::Reports,
    stack::Stack,
};

/// Accesses done singly at a time.
const SINGLE: usize = 64;

/// Does the iterations of a run from access number `done` on; gives the number of accesses done in all, which is less
/// than there are only if the cells are too narrow for the next one.
#[inline(always)]
pub fn affine<C: Cell>(
    stack: &mut Stack<C>,
    streams: &[Stream],
    labels: &[AccessTag],
    iterations: u64,
    mut done: u64,
    out: &mut Reports,
) -> u64 {
    let mut scratch = stack.scratch.take().unwrap_or_default();
    let Scratch { normalised, back_off, plans, room, .. } = &mut *scratch;
    let all = streams.len() as u64 * iterations;
    let shape = BackOff::shape(streams);
    let may_try = stack.options.affine && done == 0 && back_off.try_again(shape);
    let mut driver = Driver { stack, room, out };
    if may_try && normalised.start(streams, labels) {
        let before = driver.stack.in_blocks;
        let mut left = iterations * normalised.factor as u64;
        loop {
            let (did, change) = driver.iterations(normalised, left, plans);
            done += did;
            let Some(change) = change else { break };
            let first = did / normalised.accesses.len() as u64;
            left -= first;
            match change {
                Change::Unroll(times) => {
                    left /= times as u64;
                    normalised.unroll(first, times);
                }
                Change::Split => normalised.split(first),
            }
        }
        back_off.tried(shape, (driver.stack.in_blocks - before) * 4 > all);
    } else {
        done = driver.do_each(streams, |stream, _| labels[stream], done, all);
    }
    stack.scratch = Some(scratch);
    done
}

/// What drives a run, with what it needs of the stack's memory.
struct Driver<'a, C> {
    stack: &'a mut Stack<C>,
    room: &'a mut Room,
    out: &'a mut Reports,
}

impl<C: Cell> Driver<'_, C> {
    /// Does iterations of a run, up to where a change may help; gives the number of accesses done, and that change. As
    /// many iterations as can be unrolled are left then.
    #[inline(always)]
    fn iterations(&mut self, normalised: &Normalised, iterations: u64, plans: &mut Plans) -> (u64, Option<Change>) {
        let count = normalised.accesses.len() as u64;
        let all = count * iterations;
        let plan = plans.plan_for(&normalised.words, &normalised.access_of, iterations);
        let may_change = !self.stack.options.in_order;
        if plan.is_none() && may_change && normalised.can_split() {
            return (0, Some(Change::Split));
        }
        let (mut done, mut pause, mut change) = (0, LEAST as u64, None);
        let mut singles_until = plan.map_or(all, |plan| plan.warm_up * count).min(all);
        while done < all {
            let Some(plan) = plan.filter(|_| done >= singles_until) else {
                done = self.do_each(&normalised.accesses, |s, i| normalised.label(s, i), done, singles_until);
                if done < singles_until {
                    return (done, None);
                }
                if change.is_some() {
                    break;
                }
                continue;
            };
            let (first, left) = (done / count, iterations - done / count);
            let block = BlockRun::new(self.stack, normalised, plan, first, self.room, self.out).run(left as usize);
            done += block as u64 * count;
            self.stack.in_blocks += block as u64 * count;
            if block == 0 {
                let may_help = |change: &Change| match *change {
                    _ if !may_change => false,
                    Change::Unroll(times) => normalised.can_unroll(times) && left >= (LEAST * times) as u64,
                    Change::Split => normalised.can_split(),
                };
                change = self.room.change.filter(may_help);
                let singly = match change {
                    None => pause,
                    Some(Change::Unroll(times)) => left % times as u64,
                    Some(Change::Split) => 0,
                };
                singles_until = (done + singly * count).min(all);
                if change.is_some() && singly == 0 {
                    break;
                }
                pause = (pause * 2).min(64);
            } else {
                pause = LEAST as u64;
            }
        }
        (done, change)
    }

    /// Accesses number `done .. until` one by one; gives the number of the first not done.
    #[inline(always)]
    fn do_each(
        &mut self,
        streams: &[Stream],
        label: impl Fn(usize, u64) -> AccessTag,
        mut done: u64,
        until: u64,
    ) -> u64 {
        let (room, count) = (&mut *self.room, streams.len() as u64);
        while done < until {
            let wanted = (until - done).min(SINGLE as u64);
            room.singles.clear();
            room.labels.clear();
            let (mut number, mut iteration) = ((done % count) as usize, done / count);
            for _ in 0..wanted {
                let Stream { len, kind, .. } = streams[number];
                room.singles.push(Access { addr: streams[number].address_at(iteration), len, kind });
                room.labels.push(label(number, iteration));
                number += 1;
                if number == streams.len() {
                    (number, iteration) = (0, iteration + 1);
                }
            }
            let did = self.stack.batch(&room.singles, &room.labels, self.out) as u64;
            done += did;
            if did < wanted {
                break;
            }
        }
        done
    }
}
