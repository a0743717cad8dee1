//! Prefetchers: by the steps of one instruction, and by streams of lines.

/// Instructions whose steps are known.
const INSTRUCTIONS: usize = 1 << 12;
/// Steps ahead.
const AHEAD: i64 = 4;

#[derive(Clone, Copy, Default)]
struct Step {
    instruction: u64,
    last: u64,
    by: i64,
    sure: u8,
}

/// How far each instruction steps.
pub struct Steps(Box<[Step]>);

impl Default for Steps {
    fn default() -> Self {
        Self(vec![Step::default(); INSTRUCTIONS].into())
    }
}

impl Steps {
    /// An access of an instruction; where it will be a few steps later, if that can be told.
    #[inline(always)]
    pub fn next(&mut self, instruction: u64, address: u64) -> Option<u64> {
        let step = &mut self.0[instruction as usize % INSTRUCTIONS];
        if step.instruction != instruction {
            *step = Step { instruction, last: address, by: 0, sure: 0 };
            return None;
        }
        let by = address.wrapping_sub(step.last) as i64;
        step.sure = if by == step.by && by != 0 { (step.sure + 1).min(4) } else { 0 };
        (step.by, step.last) = (by, address);
        (step.sure >= 2).then(|| address.wrapping_add_signed(by.wrapping_mul(AHEAD)))
    }
}

const STREAMS: usize = 32;
/// Lines of a page.
const PAGE: u32 = 6;
/// Steps of a stream are at most this many lines.
const FARTHEST: u64 = 8;
/// Lines that one miss makes a stream fetch.
const AT_A_TIME: usize = 8;

#[derive(Clone, Copy, Default)]
struct Stream {
    page: u64,
    last: u64,
    step: i64,
    hits: u64,
    /// Fetched up to here.
    ahead: u64,
    used: u64,
}

impl Stream {
    /// Takes note of a line that missed; whether the stream goes on as it did.
    fn goes_to(&mut self, line: u64) {
        let by = line.wrapping_sub(self.last) as i64;
        let is_multiple = self.step != 0 && by % self.step == 0 && (1..=4).contains(&(by / self.step));
        if by == self.step || is_multiple {
            self.hits += 1;
        } else {
            self.step = if by.unsigned_abs() <= FARTHEST { by } else { 0 };
            self.hits = u64::from(self.step != 0);
            self.ahead = line;
        }
        self.last = line;
    }

    fn is_behind(&self, line: u64) -> bool {
        if self.step > 0 { self.ahead < line } else { self.ahead > line }
    }
}

/// Streams of lines with equal steps.
pub struct Streams {
    streams: [Stream; STREAMS],
    time: u64,
    depth: u64,
}

impl Streams {
    pub fn new(depth: u64) -> Self {
        Self { streams: [Stream::default(); STREAMS], time: 0, depth: depth.min(1 << 10) }
    }

    /// A line missed the first level; tells `fetch` what to get.
    pub fn missed(&mut self, line: u64, mut fetch: impl FnMut(u64)) {
        let page = line >> PAGE;
        self.time += 1;
        let goes_on = |s: &Stream| s.hits >= 2 && s.last.wrapping_add_signed(s.step) == line;
        let found = self.streams.iter().position(|s| s.page == page);
        let Some(at) = found.or_else(|| self.streams.iter().position(goes_on)) else {
            let oldest = self.streams.iter_mut().min_by_key(|s| s.used).expect("there are some");
            *oldest = Stream { page, last: line, step: 0, hits: 0, ahead: line, used: self.time };
            return;
        };
        let stream = &mut self.streams[at];
        (stream.used, stream.page) = (self.time, page);
        if stream.last == line {
            return;
        }
        stream.goes_to(line);
        if stream.hits < 2 {
            return;
        }
        let depth = (2 * stream.hits).min(self.depth) as i64;
        let to = line.wrapping_add_signed(stream.step * depth);
        if stream.is_behind(line) {
            stream.ahead = line;
        }
        for _ in 0..AT_A_TIME {
            if !stream.is_behind(to) {
                break;
            }
            stream.ahead = stream.ahead.wrapping_add_signed(stream.step);
            fetch(stream.ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_foretold() {
        let mut steps = Steps::default();
        let told: Vec<Option<u64>> = [0, 8, 16, 24, 100].map(|a| steps.next(1, a)).into();
        assert_eq!(told, [None, None, None, Some(24 + 32), None]);
    }

    #[test]
    fn a_stream_runs_ahead_and_into_the_next_page() {
        let mut streams = Streams::new(16);
        let mut fetched = Vec::new();
        (60..70).for_each(|line| streams.missed(line, |ahead| fetched.push(ahead)));
        assert!(fetched.is_sorted() && fetched.contains(&75), "{fetched:?}");
        fetched.clear();
        [5000, 9000, 200].into_iter().for_each(|line| streams.missed(line, |ahead| fetched.push(ahead)));
        assert!(fetched.is_empty());
    }
}
