//! Whether it pays to fetch ahead what the accesses of a batch need from memory.
//!
//! Where an engine's data is in the processor's caches, looking for it twice costs a sixth more; where it is not, not doing so costs two or three
//! times as much. Which it is depends on the program and the machine and changes as the program goes, so both are tried now and then, a few
//! pieces of a batch each by turns, and the faster goes on. It only decides how long things take, never what is found. Shorter batches are
//! of callers that do other things between them; there, fetching ahead is as fast or faster, and stays.

use std::time::Instant;

/// Accesses from one trial to the next, and of each piece of one.
const PERIOD: usize = 1 << 20;
const PIECE: usize = 2048;
/// Pieces of a trial, half of them either way: what disturbs one does not disturb all.
const TRIALS: u32 = 8;

#[derive(Debug)]
pub struct Pace {
    fixed: Option<bool>,
    ahead: bool,
    /// Accesses until the next trial.
    left: usize,
    /// Pieces of the trial that are done, and the shortest time of a piece without and with fetching ahead.
    tried: u32,
    best: [u128; 2],
}

impl Pace {
    /// One that finds out, or one that always does the same.
    pub fn new(fixed: Option<bool>) -> Self {
        Pace { fixed, ahead: fixed.unwrap_or(true), left: 0, tried: 0, best: [u128::MAX; 2] }
    }

    /// Whether to fetch ahead for the next accesses, how many of those that are there to do so, and when that began, if `done` wants
    /// to know.
    #[inline]
    pub fn next(&mut self, accesses: usize) -> (bool, usize, Option<Instant>) {
        if self.fixed.is_some() || self.left > 0 || accesses < PIECE {
            self.left = self.left.saturating_sub(accesses);
            return (self.ahead, accesses, None);
        }
        (self.tried % 2 == 1, PIECE, Some(Instant::now()))
    }

    /// A piece of a trial is done.
    pub fn done(&mut self, began: Instant) {
        let best = &mut self.best[(self.tried % 2) as usize];
        *best = (*best).min(began.elapsed().as_nanos());
        self.tried += 1;
        if self.tried == TRIALS {
            *self = Pace { ahead: self.best[1] < self.best[0], left: PERIOD, ..Pace::new(None) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does as many accesses as a few periods; how many of them were fetched ahead for.
    fn ahead(mut pace: Pace, batch: usize) -> (usize, usize) {
        let (mut all, mut ahead) = (0, 0);
        while all < 4 * PERIOD {
            let (is_ahead, len, began) = pace.next(batch);
            assert!(len <= batch && len > 0);
            all += len;
            ahead += if is_ahead { len } else { 0 };
            began.into_iter().for_each(|began| pace.done(began));
        }
        (all, ahead)
    }

    #[test]
    fn what_is_fixed_stays() {
        assert_eq!(ahead(Pace::new(Some(false)), 1 << 14).1, 0);
        let (all, ahead) = ahead(Pace::new(Some(true)), 1 << 14);
        assert_eq!(all, ahead);
    }

    #[test]
    fn both_are_tried_and_one_goes_on() {
        let (all, ahead) = ahead(Pace::new(None), 1 << 14);
        let tried = TRIALS as usize / 2 * PIECE;
        assert!(ahead >= tried && all - ahead >= tried, "{ahead} of {all}");
    }

    #[test]
    fn the_faster_goes_on() {
        for is_ahead_slow in [false, true] {
            let mut pace = Pace::new(None);
            for piece in 0..TRIALS {
                let (ahead, _, began) = pace.next(PIECE);
                assert_eq!(ahead, piece % 2 == 1);
                let time = std::time::Duration::from_millis(if ahead == is_ahead_slow { 500 } else { 1 });
                pace.done(began.expect("a trial").checked_sub(time).expect("a clock that has run for a while"));
            }
            assert_eq!(pace.next(PIECE).0, !is_ahead_slow);
        }
    }

    #[test]
    fn short_batches_are_fetched_ahead() {
        let (all, ahead) = ahead(Pace::new(None), PIECE - 1);
        assert_eq!(all, ahead);
    }
}
