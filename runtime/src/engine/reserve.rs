//! A long array of zeros, of which only what is written takes memory.
//!
//! Takes a number of elements, which may grow; gives them as a slice. New elements are zero, old ones stay. Refuses (by
//! a panic with [`AllocationFailure`], which says what to do) what the system has no addresses for. It is address space
//! that is reserved, without a claim on memory.

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut, Range},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    slice,
};

use memmap2::{Advice, MmapMut, MmapOptions, RemapOptions};

/// What a panic carries if it is no mistake of dmdprof: what the system would not give, and what can be done about it.
/// An analysis ends with it on whatever thread it finds out, and whoever waits for it can tell it from other panics.
#[derive(Debug)]
pub struct AllocationFailure(pub String);

impl AllocationFailure {
    /// Does some work; mistakes in it stay panics. What was in the middle of a change when the system refused something
    /// must not be used as if nothing had happened.
    ///
    /// # Errors
    /// What the system refused.
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Self>() {
            Ok(refused) => *refused,
            Err(mistake) => resume_unwind(mistake),
        })
    }
}

/// A value in memory of its own, as `Box::new` gives it, but where the system has none the analysis ends with
/// [`AllocationFailure`] and not the process.
pub fn boxed<T>(value: T) -> Box<T> {
    let mut room = Vec::new();
    if let Err(error) = room.try_reserve_exact(1) {
        std::panic::panic_any(AllocationFailure(format!(
            "cannot allocate {} KiB for the analysis: {error}; if memory is limited here (`ulimit -v`), raise the limit",
            size_of::<T>().div_ceil(1 << 10)
        )));
    }
    room.push(value);
    // SAFETY: a slice of one element lies in memory as the element does, and was allocated alike.
    unsafe { Box::from_raw(Box::into_raw(room.into_boxed_slice()).cast()) }
}

/// What may be made of zeros.
///
/// # Safety
///
/// All bit patterns, zeros among them, are values of the type, its alignment is at most that of a page of memory, and
/// nothing needs to be dropped.
pub unsafe trait Zeros: Copy + 'static {}

// SAFETY: a number.
unsafe impl Zeros for u32 {}
// SAFETY: a number.
unsafe impl Zeros for u64 {}

pub struct Reserve<T> {
    map: MmapMut,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Zeros> Reserve<T> {
    /// So many zeros.
    pub fn new(len: usize) -> Self {
        let mut options = MmapOptions::new();
        let map = options.len(Self::bytes(len)).no_reserve_swap().map_anon();
        let map = map.unwrap_or_else(|error| Self::refused(len, &error));
        // A large page for each element that is used alone would be too much. Where the system has none, there is
        // nothing to refuse.
        let _ = map.advise(Advice::NoHugePage);
        Reserve { map, len, elements: PhantomData }
    }

    /// As many elements as that, if there are fewer.
    pub fn grow(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        let bytes = Self::bytes(len);
        if bytes > self.map.len() {
            // Addresses are cheap and moving is not, but where they are few, what is needed will do.
            let grown = self.remap(bytes.next_power_of_two()).or_else(|_| self.remap(bytes));
            grown.unwrap_or_else(|error| Self::refused(len, &error));
        }
        self.len = len;
    }

    fn remap(&mut self, bytes: usize) -> std::io::Result<()> {
        // SAFETY: nothing points into the map, as that would borrow it.
        unsafe { self.map.remap(bytes, RemapOptions::new().may_move(true)) }
    }

    /// Says that all of some elements will be written, so that their memory can be had at once and not piece by piece.
    pub fn populate(&self, elements: Range<usize>) {
        let (start, end) = (elements.start * size_of::<T>(), elements.end * size_of::<T>());
        // A system that cannot do this gives the memory when it is written to.
        let _ = self.map.advise_range(Advice::PopulateWrite, start, end - start);
    }

    fn bytes(len: usize) -> usize {
        len.max(1).checked_mul(size_of::<T>()).expect("more than there are addresses")
    }

    #[cold]
    fn refused<R>(len: usize, error: &std::io::Error) -> R {
        std::panic::panic_any(AllocationFailure(format!(
            "cannot reserve {} MiB of addresses for the analysis: {error}; if addresses are limited here (`ulimit -v`), raise the limit",
            Self::bytes(len) >> 20
        )))
    }
}

impl<T: Zeros> Deref for Reserve<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the map has at least so many elements, begins at a page, and what is in it are zeros or elements that
        // were written.
        unsafe { slice::from_raw_parts(self.map.as_ptr().cast(), self.len) }
    }
}

impl<T: Zeros> DerefMut for Reserve<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow of the map is exclusive.
        unsafe { slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_with_what_is_in_it_and_zeros_behind() {
        let mut reserve = Reserve::<u64>::new(10);
        reserve[9] = 7;
        reserve.grow(1 << 24);
        assert_eq!((reserve.len(), reserve[9], reserve[10], reserve[(1 << 24) - 1]), (1 << 24, 7, 0, 0));
        reserve.grow(3);
        assert_eq!(reserve.len(), 1 << 24);
    }

    #[test]
    fn what_the_system_has_no_addresses_for_is_refused() {
        let refused = AllocationFailure::catch(|| Reserve::<u64>::new(1 << 55)).map(|_| ()).expect_err("too much");
        assert!(refused.0.contains("ulimit -v"), "{}", refused.0);
    }

    #[test]
    fn a_value_that_is_boxed_is_what_it_was_and_goes_once() {
        let value = std::rc::Rc::new(7);
        let boxed = boxed((value.clone(), [3u8; 100]));
        assert_eq!((*boxed.0, boxed.1[99], std::rc::Rc::strong_count(&value)), (7, 3, 2));
        drop(boxed);
        assert_eq!(std::rc::Rc::strong_count(&value), 1);
    }
}
