//! Flows of affine runs, in blocks of iterations.
//!
//! Takes the streams of a run and its number of iterations; gives what single accesses would, as stretches of reads of
//! one flow per stream, to which the engine's rows of depths are then added. Where a word was touched a few iterations
//! ago, the streams tell its state ([`Plan`]); the states of all others are looked up before the block, row by row.
//! Iterations of runs without a plan, and those in which bytes of a word are in different states or patterns take a
//! sample, are followed access by access.

use super::{
    bytes::{Flows, end},
    parts::{Parts, Piece, Readings, add},
    run::{Run, Seen},
    sites::Sites,
    transitions::Step,
};
use crate::{
    engine::{
        Access, AccessTag, Kind, Stream,
        dependence::{Plan, STREAMS},
    },
    observe::patterns::Lane,
    shadow::UNTOUCHED,
};

/// Iterations of a block, at most: what a sample cuts off is looked up again.
const LONGEST: u64 = 2048;
/// Iterations that are followed singly where bytes of a word are in different states.
const SINGLY: u64 = 16;

impl Run {
    /// Follows an affine run of a batch; gives the number of iterations that were followed in blocks.
    pub(super) fn follow(
        &mut self,
        flows: &mut Flows,
        streams: &[Stream],
        labels: &[AccessTag],
        iterations: u64,
        parts: &mut Parts,
    ) -> u64 {
        self.readings.resize_with(streams.len(), Readings::default);
        let plan = if self.has_lanes(&flows.sites, streams, labels) { Plan::new(streams, iterations) } else { None };
        let mut singly = plan.as_ref().map_or(iterations, |plan| plan.warm_up.min(iterations));
        let (mut done, mut in_blocks) = (0, 0);
        while done < iterations {
            self.do_each(flows, streams, labels, done..done + singly);
            done += singly;
            singly = 0;
            let Some(plan) = &plan else { continue };
            while done < iterations && singly == 0 {
                let most = (iterations - done).min(plan.longest as u64).min(LONGEST);
                match self.block(flows, plan, done, most) {
                    Ok(count) => {
                        done += count;
                        in_blocks += count;
                    }
                    Err(count) => singly = count.min(most),
                }
            }
        }
        parts.readings.append(&mut self.readings);
        in_blocks
    }

    /// Finds who the streams are; false if some cannot be followed together.
    fn has_lanes(&mut self, sites: &Sites, streams: &[Stream], labels: &[AccessTag]) -> bool {
        self.lanes.clear();
        self.counted.clear();
        for (&stream, &label) in streams.iter().zip(labels) {
            let (Some(site), counted) = sites.of(label) else { return false };
            let is_load = stream.kind == Kind::Load;
            // The steps of a site's reads are told in their order.
            let is_other = |lane: &Lane| lane.site != site || lane.stream.kind != Kind::Load;
            if !(stream.kind == Kind::Store || is_load && self.lanes.iter().all(is_other)) {
                return false;
            }
            self.lanes.push(Lane { stream, site });
            self.counted.push(counted && is_load);
        }
        self.lanes.len() <= STREAMS
    }

    fn do_each(
        &mut self,
        flows: &mut Flows,
        streams: &[Stream],
        labels: &[AccessTag],
        iterations: std::ops::Range<u64>,
    ) {
        for iteration in iterations {
            for ((stream, &label), readings) in streams.iter().zip(labels).zip(&mut self.readings) {
                let Stream { len, kind, .. } = *stream;
                flows.access(&Access { addr: stream.address_at(iteration), len, kind }, label, &mut self.pieces);
                for Piece { flow, bytes } in self.pieces.drain(..) {
                    add(&mut readings.pieces, flow, bytes.into());
                }
            }
        }
    }

    /// Does iterations from `first` on, at most so many; gives their number. An error gives the number of those to do
    /// singly first.
    fn block(&mut self, flows: &mut Flows, plan: &Plan, first: u64, most: u64) -> Result<u64, u64> {
        if !self.see(flows, plan, first, most) {
            return Err(SINGLY);
        }
        let count = self.until_sample(flows, most);
        if count == 0 {
            return Err(1);
        }
        for number in 0..self.lanes.len() {
            let Lane { stream, .. } = self.lanes[number];
            for seen in part(&self.seen[number], 0, count) {
                if self.counted[number] {
                    add(&mut self.readings[number].pieces, seen.flow, seen.count * u64::from(stream.len));
                    if let Some(patterns) = &mut flows.sites.patterns {
                        patterns.pass(seen.flow, seen.count);
                    }
                } else if stream.kind == Kind::Store {
                    let state = flows.transitions.pairs[seen.state as usize];
                    let bytes = seen.count * u64::from(stream.len);
                    flows.sites.patterns.iter_mut().for_each(|patterns| end(patterns, state, bytes));
                }
            }
        }
        if let Some(patterns) = &mut flows.sites.patterns {
            patterns.go_on(&self.lanes, plan, first, count);
        }
        self.leave(flows, plan, first, count);
        Ok(count)
    }

    /// Finds what the streams see in some iterations; false if bytes of a word are in different states.
    fn see(&mut self, flows: &mut Flows, plan: &Plan, first: u64, count: u64) -> bool {
        let lanes = self.lanes.len();
        self.seen.resize_with(lanes, Vec::new);
        let mut open = u64::MAX.checked_shr(64 - lanes as u32).unwrap_or(0);
        while open != 0 {
            for number in 0..lanes {
                if open >> number & 1 == 0 {
                    continue;
                }
                let words = self.lanes[number].stream.words(first, count);
                // The words that another stream of the block does not hand over.
                let own = match plan.carried(number) {
                    // Each iteration is as the one before, which has been done.
                    Some(carried) if words.step == 0 && carried.distance > 0 => 1,
                    Some(carried) => count.min(carried.distance.into()),
                    None => count,
                };
                let source = plan.carried(number).filter(|_| own < count && words.step != 0 || own == 0);
                if source.is_some_and(|carried| open >> carried.source & 1 == 1) {
                    continue;
                }
                self.labels.clear();
                if !flows.states.words(words.take(own), &mut self.labels) {
                    return false;
                }
                match source {
                    Some(carried) => {
                        self.labels.extend(
                            part(&self.seen[usize::from(carried.source)], 0, count - own).map(|s| (s.next, s.count)),
                        );
                    }
                    None => self.labels.last_mut().into_iter().for_each(|(_, words)| *words += count - own),
                }
                open &= !(1 << number);
                self.step_all(flows, number);
            }
        }
        true
    }

    /// What a stream makes of the states that it sees.
    fn step_all(&mut self, flows: &mut Flows, number: usize) {
        let Lane { stream, site } = self.lanes[number];
        let written = if stream.kind == Kind::Store { flows.transitions.written(site) } else { UNTOUCHED };
        self.seen[number].clear();
        for &(state, count) in &self.labels {
            let seen = if stream.kind == Kind::Store {
                Seen { state, next: written, flow: u32::MAX, count }
            } else {
                let Step { state, next, flow } = flows.transitions.step(state, site);
                Seen { state, next, flow, count }
            };
            self.seen[number].push(seen);
        }
    }

    /// How many of the iterations come before the next sample of a flow, at least.
    fn until_sample(&mut self, flows: &Flows, most: u64) -> u64 {
        let Some(patterns) = &flows.sites.patterns else { return most };
        self.reads.resize(flows.transitions.flows.len(), 0);
        let mut until = most;
        for (seen, _) in self.seen.iter().zip(&self.counted).filter(|(_, counted)| **counted) {
            let mut at = 0;
            for &Seen { flow, count, .. } in seen {
                let reads = &mut self.reads[flow as usize];
                let room = patterns.until_sample(flow).saturating_sub(*reads);
                if count > room {
                    until = until.min(at + room);
                }
                at += count;
                *reads += count;
                self.flows.push(flow);
                if at >= until {
                    break;
                }
            }
        }
        self.flows.drain(..).for_each(|flow| self.reads[flow as usize] = 0);
        until
    }

    /// Puts down the states of the words.
    fn leave(&self, flows: &mut Flows, plan: &Plan, first: u64, count: u64) {
        for (number, (lane, seen)) in self.lanes.iter().zip(&self.seen).enumerate() {
            let start = plan.kept_from(number, count as usize) as u64;
            // Of accesses to one word, the last leaves the state.
            let start = if lane.stream.stride == 0 { start.max(count - 1) } else { start };
            let is_new = |seen: Seen| plan.carried(number).is_some() || seen.next != seen.state;
            if part(seen, start, count).any(is_new) {
                let words = lane.stream.words(first, count).skip(start);
                flows.states.fill_words(words, part(seen, start, count).map(|seen| (seen.next, seen.count)));
            }
        }
    }
}

/// Accesses `start .. end` of a stream.
fn part(seen: &[Seen], start: u64, end: u64) -> impl Iterator<Item = Seen> {
    let mut at = 0;
    seen.iter()
        .map_while(move |seen| {
            let from = at;
            at += seen.count;
            (from < end).then(|| Seen { count: at.min(end).saturating_sub(from.max(start)), ..*seen })
        })
        .filter(|seen| seen.count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{observe::cell_table::CellTable, tests::program::executed};

    #[test]
    fn loops_are_followed_in_blocks() {
        let stream = |addr: u64, stride: i64, kind| Stream { addr, stride, len: 8, kind };
        let row = [0, 8, 16, 8000].map(|at| stream(4096 + at, 8, Kind::Load));
        let stencil = [&row[..], &[stream(1 << 20, 8, Kind::Store)]].concat();
        let sum = [stream(4096, 8, Kind::Load), stream(512, 0, Kind::Load), stream(512, 0, Kind::Store)];
        let columns = [stream(4096, 8, Kind::Load), stream(1 << 20, 4096, Kind::Load)];
        for streams in [&stencil[..], &sum, &columns] {
            for patterns in [false, true] {
                let mut flows = Flows::new(patterns, false);
                let labels: Vec<AccessTag> = (0..streams.len()).map(AccessTag::new).collect();
                let sites = CellTable { blocks: vec![executed(0, 0)], parts: None };
                labels.iter().for_each(|label| flows.sites.learn(*label, &sites));
                let in_blocks: u64 = (0..10)
                    .map(|_| Run::default().follow(&mut flows, streams, &labels, 1000, &mut Parts::default()))
                    .sum();
                assert!(in_blocks > 9700, "{in_blocks} of 10000, patterns: {patterns}: {streams:?}");
            }
        }
    }
}
