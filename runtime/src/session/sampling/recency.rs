//! How long ago each byte was touched, in epochs, and how many bytes there are of each epoch.
//!
//! A coarse LRU stack that is cheap to keep: touching bytes that were already touched in the current epoch changes nothing, and
//! nearly all accesses are of that kind. The bytes above one of epoch `e` are all those of later epochs and some of its own, so a
//! depth is known up to the number of bytes of one epoch. Takes ranges of addresses in program order and, from time to time, the
//! start of a new epoch; holds 2 bytes per address in pages of 16384. When the numbers of epochs run out, epochs are merged where
//! that adds least to the uncertainty of a depth.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

use super::{super::hash::FastHash, counts::Counts};
use crate::engine::{Access, Kind};

/// When a byte was touched last.
pub type Epoch = u16;

/// Never touched.
const UNTOUCHED: Epoch = 0;
/// Touched, and dead since.
const DEAD: Epoch = 1;
/// On the stack, below everything that was touched.
const BOTTOM: Epoch = 2;

const PAGE: usize = 16384;
/// Bytes that are looked at together.
const TOGETHER: usize = 8;
/// With as many epochs more as can be looked at beyond the end; these mean nothing.
type Page = [Epoch; PAGE + TOGETHER];
/// Entries of the direct-mapped cache of pages.
const RECENT: usize = 1024;
/// Of the bytes above them, merged epochs hold at most one in this many.
const FINENESS: u64 = 256;

pub struct Recency {
    index: HashMap<u64, u32, FastHash>,
    pages: Vec<Box<Page>>,
    /// Pages that were looked up last, by number modulo the length: (number plus one, page).
    recent: Box<[(u64, u32); RECENT]>,
    /// Bytes of epochs before the current one, and of that.
    counts: Counts,
    in_now: u64,
    now: Epoch,
    /// Epochs before this one are old.
    old: Epoch,
    /// When the epochs began that are not old yet.
    young: VecDeque<(u64, Epoch)>,
    pub live: u64,
    pub peak_live: u64,
    pub footprint: u64,
}

impl Default for Recency {
    fn default() -> Self {
        Self {
            index: HashMap::default(),
            pages: Vec::new(),
            recent: Box::new([(0, 0); RECENT]),
            counts: Counts::default(),
            in_now: 0,
            now: BOTTOM + 1,
            old: BOTTOM + 1,
            young: VecDeque::new(),
            live: 0,
            peak_live: 0,
            footprint: 0,
        }
    }
}

/// Whether bytes are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    Yes,
    /// They are all of this epoch, which is old.
    Old(Epoch),
    No,
}

/// What was known of a run of neighbouring bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// They are not on the stack.
    Gone,
    /// They were touched in the current epoch.
    Now,
    /// They were touched in this epoch.
    Then(Epoch),
    /// The same, and it is old.
    Old(Epoch),
}

/// Pieces of a range, each within one page: (page number, range in it).
fn pieces(address: u64, len: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    crate::pieces::pieces(address, len, PAGE as u64)
        .map(|(page, offset, part)| (page, offset as usize..(offset + part) as usize))
}

/// Whether all are of one epoch. Without an early end, so that it is done by vectors.
#[inline(always)]
fn all_are(epochs: &[Epoch], epoch: Epoch) -> bool {
    epochs.iter().fold(0, |other, e| other | (e ^ epoch)) == 0
}

/// The epochs of [`TOGETHER`] bytes, the first in the lowest bits.
#[inline(always)]
fn read_together(page: &Page, offset: usize) -> u128 {
    assert!(offset < PAGE);
    // SAFETY: a page has so many epochs beyond each offset within it.
    u128::from_le(unsafe { page.as_ptr().add(offset).cast::<u128>().read_unaligned() })
}

/// An epoch, as often as epochs are looked at together.
#[inline(always)]
fn spread(epoch: Epoch) -> u128 {
    u128::from(epoch) * (u128::MAX / u128::from(Epoch::MAX))
}

/// The bits of the first so many of the epochs that are looked at together.
const MASKS: [u128; TOGETHER + 1] = {
    let mut masks = [0; TOGETHER + 1];
    let mut len = 1;
    while len <= TOGETHER {
        masks[len] = u128::MAX >> (16 * (TOGETHER - len));
        len += 1;
    }
    masks
};

/// How many epochs at the start of a list are the same; the list is not empty.
#[inline]
fn run_of(epochs: &[Epoch]) -> usize {
    const STEP: usize = 16;
    let first = epochs[0];
    let alike = STEP * epochs.chunks_exact(STEP).take_while(|chunk| all_are(chunk, first)).count();
    alike + epochs[alike..].iter().take_while(|e| **e == first).count()
}

/// How many places of `LEN` bytes, `stride` apart, are within a page and all of the epoch of the first byte; they are of epoch `now`
/// then.
#[inline]
fn renew_alike<const LEN: usize>(page: &mut [Epoch], mut offset: usize, stride: i64, places: u64, now: Epoch) -> u64 {
    let alike = [page[offset]; LEN];
    for place in 0..places {
        match page.get_mut(offset..offset.wrapping_add(LEN)) {
            Some(epochs) if epochs == alike => epochs.copy_from_slice(&[now; LEN]),
            _ => return place,
        }
        offset = offset.wrapping_add_signed(stride as isize);
    }
    places
}

impl Recency {
    #[inline(always)]
    fn page(&mut self, number: u64) -> Option<u32> {
        let recent = self.recent[number as usize % RECENT];
        if recent.0 == number + 1 { Some(recent.1) } else { self.find(number) }
    }

    #[inline(never)]
    fn find(&mut self, number: u64) -> Option<u32> {
        let page = self.index.get(&number).copied()?;
        self.recent[number as usize % RECENT] = (number + 1, page);
        Some(page)
    }

    fn page_made(&mut self, number: u64) -> u32 {
        if let Some(page) = self.page(number) {
            return page;
        }
        let page = self.pages.len() as u32;
        self.pages.push(Box::new([UNTOUCHED; PAGE + TOGETHER]));
        self.index.insert(number, page);
        self.recent[number as usize % RECENT] = (number + 1, page);
        page
    }

    /// Touches bytes, unless there is more to do about them; then some may be touched.
    #[inline]
    pub fn touch_recent(&mut self, address: u64, len: u64) -> Touched {
        let Some((page, offset, epoch)) = self.epoch_of(address, len) else {
            return if self.touch_runs(address, len, |_, _, _| false) { Touched::Yes } else { Touched::No };
        };
        if epoch < self.old {
            return if epoch < BOTTOM { Touched::No } else { Touched::Old(epoch) };
        }
        if epoch != self.now {
            self.renew_together(page, offset, len as usize);
            self.renew(epoch, len);
        }
        Touched::Yes
    }

    /// Touches the bytes of accesses from the start of a list, as long as there is no more to do about them; how many accesses.
    pub fn touch_all(&mut self, accesses: &[Access]) -> usize {
        let now = spread(self.now);
        for (at, access) in accesses.iter().enumerate() {
            let (offset, len) = ((access.addr % PAGE as u64) as usize, access.len as usize);
            let number = access.addr / PAGE as u64;
            let recent = self.recent[number as usize % RECENT];
            if len > TOGETHER || offset + len > PAGE || recent.0 != number + 1 || access.kind == Kind::Remove {
                return at;
            }
            let epochs = read_together(&self.pages[recent.1 as usize], offset);
            let mask = MASKS[len];
            if (epochs ^ now) & mask == 0 {
                continue;
            }
            let epoch = epochs as Epoch;
            if epoch < self.old || (epochs ^ spread(epoch)) & mask != 0 {
                return at;
            }
            self.renew_together(recent.1, offset, len);
            self.renew(epoch, len as u64);
        }
        accesses.len()
    }

    /// Up to [`TOGETHER`] bytes of a page are of the current epoch. No more is written than that: who goes on behind them looks at
    /// what was written long ago.
    #[inline(always)]
    fn renew_together(&mut self, page: u32, offset: usize, len: usize) {
        let epochs = &mut self.pages[page as usize][offset..offset + len];
        match len {
            1 => epochs[0] = self.now,
            2 => epochs[..2].fill(self.now),
            4 => epochs[..4].fill(self.now),
            8 => epochs[..8].fill(self.now),
            _ => epochs.fill(self.now),
        }
    }

    /// Bytes of an epoch before the current one are of that.
    #[inline(always)]
    fn renew(&mut self, epoch: Epoch, bytes: u64) {
        self.counts.take(epoch, bytes);
        self.in_now += bytes;
    }

    /// Touches bytes in order, as long as they are on the stack and, where they are old, `old` says yes to an epoch and a number of bytes. Whether it did all.
    pub fn touch_runs(&mut self, address: u64, len: u64, mut old: impl FnMut(&mut Self, Epoch, u64) -> bool) -> bool {
        pieces(address, len).all(|(number, range)| match self.page(number) {
            Some(page) => self.touch_runs_in(page, range, &mut old),
            None => false,
        })
    }

    /// The same for places of `len` bytes that are `stride` apart, in order. `old` is told of all neighbours of an epoch together.
    pub fn touch_places(
        &mut self,
        address: u64,
        stride: i64,
        len: u64,
        places: u64,
        mut old: impl FnMut(&mut Self, Epoch, u64),
    ) -> bool {
        // Bytes whose epochs are written already, but not yet counted.
        let (mut epoch, mut bytes) = (self.now, 0);
        let mut place = 0;
        while place < places {
            let at = address.wrapping_add_signed(stride.wrapping_mul(place as i64));
            let (before, alike) = self.renew_places(at, stride, len, places - place);
            if alike > 0 && before == epoch {
                bytes += alike * len;
                place += alike;
                continue;
            }
            self.count(epoch, bytes, &mut old);
            (epoch, bytes) = (before, alike * len);
            place += alike;
            if alike == 0 {
                let is_done = self.touch_runs(at, len, |recency, epoch, bytes| {
                    old(recency, epoch, bytes);
                    true
                });
                if !is_done {
                    return false;
                }
                place += 1;
            }
        }
        self.count(epoch, bytes, &mut old);
        true
    }

    /// The epoch of the first place and how many places from there on, within a page, are all of it; none if that is not so of the
    /// first. They are of the current epoch from now on, but not counted.
    fn renew_places(&mut self, address: u64, stride: i64, len: u64, places: u64) -> (Epoch, u64) {
        let offset = (address % PAGE as u64) as usize;
        let Some(page) = self.page(address / PAGE as u64) else { return (self.now, 0) };
        let (page, now) = (&mut self.pages[page as usize][..PAGE], self.now);
        let epoch = page[offset];
        let alike = match len {
            _ if epoch < BOTTOM => 0,
            1 => renew_alike::<1>(page, offset, stride, places, now),
            2 => renew_alike::<2>(page, offset, stride, places, now),
            4 => renew_alike::<4>(page, offset, stride, places, now),
            8 => renew_alike::<8>(page, offset, stride, places, now),
            16 => renew_alike::<16>(page, offset, stride, places, now),
            _ => 0,
        };
        (epoch, alike)
    }

    /// Counts bytes of this epoch as of the current one.
    fn count(&mut self, epoch: Epoch, bytes: u64, old: &mut impl FnMut(&mut Self, Epoch, u64)) {
        if bytes == 0 || epoch == self.now {
            return;
        }
        if epoch < self.old {
            old(self, epoch, bytes);
        }
        self.renew(epoch, bytes);
    }

    fn touch_runs_in(
        &mut self,
        page: u32,
        range: Range<usize>,
        old: &mut impl FnMut(&mut Self, Epoch, u64) -> bool,
    ) -> bool {
        let (page, mut at) = (page as usize, range.start);
        while at < range.end {
            let epochs = &self.pages[page][at..range.end];
            let (epoch, run) = (epochs[0], run_of(epochs));
            if epoch < self.old && (epoch < BOTTOM || !old(self, epoch, run as u64)) {
                return false;
            }
            if epoch != self.now {
                self.pages[page][at..at + run].fill(self.now);
                self.renew(epoch, run as u64);
            }
            at += run;
        }
        true
    }

    /// Touches bytes, whatever they were before.
    #[inline]
    pub fn touch(&mut self, address: u64, len: u64) {
        let Some((page, offset, before)) = self.epoch_of(address, len) else { return self.set(address, len, self.now) };
        if before == self.now {
            return;
        }
        self.renew_together(page, offset, len as usize);
        if before >= BOTTOM {
            return self.renew(before, len);
        }
        self.footprint += if before == UNTOUCHED { len } else { 0 };
        self.in_now += len;
        self.live += len;
        self.peak_live = self.peak_live.max(self.live);
    }

    /// The epoch of up to [`TOGETHER`] bytes of one page, with the page and the place in it, if they are all of one.
    #[inline(always)]
    fn epoch_of(&mut self, address: u64, len: u64) -> Option<(u32, usize, Epoch)> {
        let offset = (address % PAGE as u64) as usize;
        if len == 0 || len > TOGETHER as u64 || offset + len as usize > PAGE {
            return None;
        }
        let page = self.page(address / PAGE as u64)?;
        let epochs = read_together(&self.pages[page as usize], offset);
        let epoch = epochs as Epoch;
        ((epochs ^ spread(epoch)) & MASKS[len as usize] == 0).then_some((page, offset, epoch))
    }

    /// Bytes that are not on the stack enter below everything.
    pub fn insert_bottom(&mut self, address: u64, len: u64) {
        let mut gone = Vec::new();
        let mut at = address;
        self.each_run(address, len, |last, run| {
            if last == Last::Gone {
                gone.push((at, run));
            }
            at += run;
        });
        for (address, len) in gone {
            self.set(address, len, BOTTOM);
        }
    }

    fn set(&mut self, address: u64, len: u64, epoch: Epoch) {
        for (number, range) in pieces(address, len) {
            let page = self.page_made(number) as usize;
            let mut at = range.start;
            while at < range.end {
                let run = run_of(&self.pages[page][at..range.end]);
                let before = std::mem::replace(&mut self.pages[page][at], epoch);
                self.pages[page][at..at + run].fill(epoch);
                if before == UNTOUCHED {
                    self.footprint += run as u64;
                }
                self.take(before, run as u64);
                at += run;
            }
            self.add(epoch, range.len() as u64);
            self.live += range.len() as u64;
        }
        self.peak_live = self.peak_live.max(self.live);
    }

    #[inline(always)]
    fn add(&mut self, epoch: Epoch, bytes: u64) {
        if epoch == self.now {
            self.in_now += bytes;
        } else {
            self.counts.add(epoch, bytes);
        }
    }

    /// Bytes of an epoch are no longer of it.
    fn take(&mut self, epoch: Epoch, bytes: u64) {
        if epoch < BOTTOM {
            return;
        }
        self.live -= bytes;
        if epoch == self.now {
            self.in_now -= bytes;
        } else {
            self.counts.take(epoch, bytes);
        }
    }

    /// Tells runs of bytes of which the same is known, in order of addresses.
    pub fn each_run(&mut self, address: u64, len: u64, mut tell: impl FnMut(Last, u64)) {
        if let Some((_, _, epoch)) = self.epoch_of(address, len) {
            return tell(self.last(epoch), len);
        }
        for (number, range) in pieces(address, len) {
            let Some(page) = self.page(number) else {
                tell(Last::Gone, range.len() as u64);
                continue;
            };
            let mut rest = &self.pages[page as usize][range];
            while !rest.is_empty() {
                let (epoch, run) = (rest[0], run_of(rest));
                tell(self.last(epoch), run as u64);
                rest = &rest[run..];
            }
        }
    }

    fn last(&self, epoch: Epoch) -> Last {
        match epoch {
            UNTOUCHED | DEAD => Last::Gone,
            now if now == self.now => Last::Now,
            old if old < self.old => Last::Old(old),
            then => Last::Then(then),
        }
    }

    /// Bytes of later epochs than this one, and of this one.
    #[must_use]
    pub fn above(&self, epoch: Epoch) -> (u64, u64) {
        if epoch == self.now {
            (0, self.in_now)
        } else {
            (self.counts.later(epoch) + self.in_now, self.counts.of(epoch))
        }
    }

    /// The bytes leave the stack.
    pub fn remove(&mut self, address: u64, len: u64) {
        if len / PAGE as u64 <= self.index.len() as u64 {
            for (number, range) in pieces(address, len) {
                if let Some(page) = self.page(number) {
                    self.remove_in(page, range);
                }
            }
            return;
        }
        // Of a mapping that is larger than everything that was touched, only what there is.
        let end = address.saturating_add(len);
        let pages: Vec<(u64, u32)> = self.index.iter().map(|(number, page)| (*number, *page)).collect();
        for (number, page) in pages {
            let start = number * PAGE as u64;
            let from = address.clamp(start, start + PAGE as u64) - start;
            let to = end.clamp(start, start + PAGE as u64) - start;
            self.remove_in(page, from as usize..to as usize);
        }
    }

    fn remove_in(&mut self, page: u32, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let run = run_of(&self.pages[page as usize][at..range.end]);
            let epoch = self.pages[page as usize][at];
            if epoch >= BOTTOM {
                self.pages[page as usize][at..at + run].fill(DEAD);
                self.take(epoch, run as u64);
            }
            at += run;
        }
    }

    /// The bytes at `from` move to `to` with their epochs, as memmove would take them; what was at `to` dies, and where they were
    /// is as if it had never been touched.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let mut moved = Vec::new();
        let mut at = 0;
        for (number, range) in pieces(from, len) {
            let bytes = range.len() as u64;
            if let Some(page) = self.page(number) {
                moved.push((at, self.pages[page as usize][range.clone()].to_vec()));
                self.remove_in(page, range.clone());
                let (_, epochs) = &moved[moved.len() - 1];
                for (place, _) in range.zip(epochs).filter(|(_, epoch)| **epoch >= BOTTOM) {
                    self.pages[page as usize][place] = UNTOUCHED;
                }
            }
            at += bytes;
        }
        self.remove(to, len);
        for (at, epochs) in moved {
            let mut done = 0;
            for (number, range) in pieces(to + at, epochs.len() as u64) {
                let page = self.page_made(number) as usize;
                for (place, epoch) in range.clone().zip(&epochs[done..]).filter(|(_, epoch)| **epoch >= BOTTOM) {
                    self.pages[page][place] = *epoch;
                    self.add(*epoch, 1);
                    self.live += 1;
                }
                done += range.len();
            }
        }
    }

    /// The current epoch.
    #[must_use]
    pub fn now(&self) -> Epoch {
        self.now
    }

    /// A new epoch starts at this time; those that began `age` ago are old.
    pub fn advance(&mut self, clock: u64, age: u64) {
        // An epoch in which nothing was touched can be used again.
        if self.in_now > 0 {
            self.counts.add(self.now, std::mem::take(&mut self.in_now));
            if self.now == Epoch::MAX {
                self.merge_epochs();
            }
            self.now += 1;
        }
        self.young.push_back((clock, self.now));
        while let Some((_, epoch)) = self.young.pop_front_if(|(began, _)| *began + age <= clock) {
            self.old = epoch;
        }
    }

    /// Gives the epochs new numbers, fewer than before.
    #[cold]
    fn merge_epochs(&mut self) {
        // From the newest on: how many groups, counted from the newest, an epoch is behind.
        let old = std::mem::take(&mut self.counts);
        let old = old.each();
        let mut group_of = vec![0u16; old.len()];
        let (mut group, mut in_group, mut newer) = (0u16, 0u64, 0u64);
        for epoch in (usize::from(BOTTOM) + 1..old.len()).rev() {
            let bytes = old[epoch];
            if in_group > 0 && in_group + bytes > newer / FINENESS && group < Epoch::MAX / 2 {
                group += 1;
                newer += in_group;
                in_group = 0;
            }
            in_group += bytes;
            group_of[epoch] = group;
        }
        let oldest = BOTTOM + 1;
        let renamed = |epoch: usize| {
            if epoch <= usize::from(BOTTOM) { epoch as Epoch } else { oldest + (group - group_of[epoch]) }
        };
        let names: Vec<Epoch> = (0..old.len()).map(renamed).collect();
        for page in &mut self.pages {
            page.iter_mut().for_each(|epoch| *epoch = names[usize::from(*epoch)]);
        }
        names.iter().zip(old).for_each(|(name, bytes)| self.counts.add(*name, *bytes));
        self.now = oldest + group;
        self.old = names[usize::from(self.old)];
        self.young.iter_mut().for_each(|(_, epoch)| *epoch = names[usize::from(*epoch)]);
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let index = self.index.capacity() * size_of::<(u64, u32)>();
        (self.pages.len() * size_of::<Page>() + index + self.counts.heap_bytes()) as u64
    }
}
