//! Patterns of sites in the iterations of an affine run, told together.
//!
//! Takes streams that access aligned words, each for a site of its own if it reads; counts what single accesses would,
//! but no samples. A stream stays in a line for some iterations. Lines in which a stream stays are on top of the stack
//! of lines, whatever their order, and are put on it when the last stream leaves: from then on their order matters.

use super::sites::{EPOCH, LINE, LINE_BYTES, PAGE_LINES, PAGE_WORDS, Patterns, SiteNumber, WORD, place};
use crate::{
    engine::{
        Kind, Stream,
        dependence::{Plan, STREAMS},
        hint::prefetch,
    },
    shadow::PAGE,
};

/// Iterations that memory is fetched ahead where each is in another line.
const AHEAD: i64 = 8;

/// One access of each iteration, and its site.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Its address and step.
    pub stream: Stream,
    /// Its site.
    pub site: SiteNumber,
}

/// Where a stream is in its lines; iterations.
#[derive(Clone, Copy)]
struct Stay {
    /// When it enters the next line.
    enters: u64,
    /// The line that it stays in, and when it is there for the last time.
    line: u64,
    last: Option<u64>,
}

impl Stay {
    /// The next iteration in which something happens.
    fn next(&self) -> u64 {
        self.last.unwrap_or(self.enters)
    }
}

impl Patterns {
    /// Counts iterations `first .. first + count`, which follow those done before.
    pub fn go_on(&mut self, lanes: &[Lane], plan: &Plan, first: u64, count: u64) {
        for lane in lanes.iter().filter(|lane| lane.stream.kind == Kind::Load) {
            let words = lane.stream.words(first, count);
            let (pattern, steps) = self.site(lane.site);
            if pattern.reads > 0 {
                steps.vote(pattern, words.first.wrapping_sub(steps.last) as i64, 1);
            }
            if count > 1 {
                steps.vote(pattern, words.step, count - 1);
            }
            steps.last = words.start_of(count - 1);
            pattern.reads += count;
        }
        self.stay_in_lines(lanes, first, first + count);
        self.note_words(lanes, plan, first, count);
    }

    fn stay_in_lines(&mut self, lanes: &[Lane], first: u64, end: u64) {
        let mut stays = [Stay { enters: first, line: 0, last: None }; STREAMS];
        let stays = &mut stays[..lanes.len()];
        // Lines that streams stay in, and how many.
        let mut busy: Vec<(u64, u32)> = Vec::with_capacity(lanes.len());
        loop {
            let now = stays.iter().map(Stay::next).min().unwrap_or(end);
            if now >= end {
                return;
            }
            for (lane, stay) in lanes.iter().zip(&mut *stays) {
                if stay.last.is_none() && stay.enters == now {
                    self.enter_line(lane, stay, end, &mut busy);
                }
                if stay.last == Some(now) {
                    self.leave_line(stay, &mut busy);
                }
            }
        }
    }

    #[inline]
    fn enter_line(&mut self, lane: &Lane, stay: &mut Stay, end: u64, busy: &mut Vec<(u64, u32)>) {
        let now = stay.enters;
        let address = lane.stream.address_at(now);
        let (line, offset) = (address / LINE, address % LINE);
        let (stride, len) = (lane.stream.stride, u64::from(lane.stream.len));
        let steps = match stride {
            0 => u64::MAX,
            _ if stride > 0 => (LINE - 1 - offset) / stride as u64 + 1,
            _ => offset / stride.unsigned_abs() + 1,
        };
        let steps = steps.min(end - now);
        let mask = mask(offset, stride, len, steps);
        let streams = busy.len() as u64;
        let same = busy.iter_mut().find(|(busy, _)| *busy == line);
        let is_busy = same.is_some();
        if steps == 1 {
            // It is on the stack at once.
            stay.enters = now + 1;
            self.fetch(address.wrapping_add_signed(stride.wrapping_mul(AHEAD)));
        } else {
            (stay.line, stay.last) = (line, Some(now + steps - 1));
            match same {
                Some((_, streams)) => *streams += 1,
                None => busy.push((line, 1)),
            }
        }
        let depth = if is_busy { 0 } else { self.line_depth(line).saturating_add(streams) };
        if !is_busy && steps > 1 {
            self.lines.remove(place(line), LINE_BYTES);
        }
        self.visit(line, mask, lane.site, depth);
    }

    /// Asks the processor to fetch what is known of an address.
    #[inline]
    fn fetch(&mut self, address: u64) {
        let word = address / WORD;
        if let Some(page) = self.pages.find(word / PAGE_WORDS as u64) {
            prefetch(&page.visits[(address / LINE) as usize % PAGE_LINES]);
            prefetch(&page.epochs[word as usize % PAGE_WORDS]);
        }
    }

    #[inline]
    fn leave_line(&mut self, stay: &mut Stay, busy: &mut Vec<(u64, u32)>) {
        let Some(last) = stay.last.take() else { return };
        stay.enters = last + 1;
        let Some(at) = busy.iter().position(|(line, _)| *line == stay.line) else { return };
        busy[at].1 -= 1;
        if busy[at].1 == 0 {
            busy.swap_remove(at);
            self.lines.store(place(stay.line), LINE_BYTES);
        }
    }

    /// Notes when words were touched last, and who touched how much in each epoch.
    fn note_words(&mut self, lanes: &[Lane], plan: &Plan, first: u64, count: u64) {
        self.file_running();
        let streams = lanes.len() as u64;
        // Of the first accesses of the iterations, how many a stream does.
        let of_stream = |stream: usize, accesses: u64| (accesses + streams - 1 - stream as u64) / streams;
        let (mut done, all) = (0, streams * count);
        while done < all {
            let next = all.min(done + u64::from(EPOCH - self.accesses));
            let epoch = self.epochs.len() as u32;
            for (number, lane) in lanes.iter().enumerate() {
                let (from, to) = (of_stream(number, done), of_stream(number, next));
                if from < to {
                    let access = self.access_of[lane.site.index()];
                    self.touched.add(access, (to - from) * u64::from(lane.stream.len));
                }
                // What another stream touches later in the block is noted there.
                let from = from.max(plan.kept_from(number, count as usize) as u64);
                if from < to {
                    let words = lane.stream.words(first + from, if lane.stream.stride == 0 { 1 } else { to - from });
                    words
                        .by_page(PAGE as u64)
                        .for_each(|(address, count)| self.note_epoch(address, count * words.width, epoch));
                }
            }
            self.went_by((next - done) as u32);
            done = next;
        }
    }
}

/// Bytes of a line that the words of some iterations have.
fn mask(offset: u64, stride: i64, len: u64, count: u64) -> u64 {
    let word = |offset: u64| (u64::MAX >> (64 - len)) << offset;
    match stride {
        0 => word(offset),
        _ => (0..count).fold(0, |mask, at| mask | word(offset.wrapping_add_signed(stride * at as i64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        decode::locator::SegmentNumber,
        observe::patterns::{Pattern, between::Between},
    };

    /// Passes over the streams, each of `iterations`, in blocks or access by access; and what was touched since words
    /// of the last one were.
    fn passes(lanes: &[Lane], iterations: u64, in_blocks: bool) -> (Vec<Pattern>, Vec<Between<u32>>) {
        let mut patterns = Patterns::default();
        (0..lanes.len() as u32).for_each(|item| patterns.add_site((SegmentNumber::default(), item)));
        let streams: Vec<Stream> = lanes.iter().map(|lane| lane.stream).collect();
        let plan = Plan::new(&streams, iterations).expect("regular");
        assert_eq!(plan.warm_up, 0, "no stream touches another's words");
        for _ in 0..4 {
            if in_blocks {
                patterns.go_on(lanes, &plan, 0, iterations);
                continue;
            }
            for (iteration, lane) in
                (0..iterations).flat_map(|iteration| lanes.iter().map(move |lane| (iteration, lane)))
            {
                let (address, len) = (lane.stream.address_at(iteration), lane.stream.len.into());
                match lane.stream.kind {
                    Kind::Load => patterns.read(address, len, lane.site),
                    _ => patterns.touch(address, len, lane.site),
                }
            }
        }
        let words = lanes.iter().flat_map(|lane| (0..iterations).step_by(13).map(|at| lane.stream.address_at(at)));
        (0..).zip(words).for_each(|(flow, address)| patterns.sample(address, flow));
        let found = patterns.finish();
        (found.patterns, found.between)
    }

    /// With ever more iterations, lines are just in fast memory, then just out of it, when a stream comes to them
    /// again.
    #[test]
    fn lines_are_fetched_by_the_same_accesses() {
        let lane = |site: usize, stride: i64, kind| {
            let addr = (site as u64 + 1) << 21;
            Lane { stream: Stream { addr, stride, len: 8, kind }, site: SiteNumber::new(site) }
        };
        let column =
            [lane(0, 8, Kind::Load), lane(1, 512, Kind::Load), lane(2, 16, Kind::Store), lane(3, -8, Kind::Load)];
        assert_ne!(passes(&column, 280, true).1, Vec::new());
        let mut fetched = std::collections::BTreeSet::new();
        for iterations in 280..360 {
            let expected = passes(&column, iterations, false);
            assert_eq!(passes(&column, iterations, true), expected, "{iterations} iterations");
            fetched.insert(expected.0.iter().map(|pattern| pattern.lines).sum::<u64>() / iterations);
        }
        assert!(fetched.len() > 3, "{fetched:?}");
    }
}
