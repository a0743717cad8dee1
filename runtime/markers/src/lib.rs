//! Markers for programs that are profiled with dmdprof.
//!
//! ```
//! let matrix = vec![1.0f64; 64];
//! dmdprof_markers::input(&matrix); // an input of the computation
//! dmdprof_markers::begin(c"sum"); // from here on, accesses belong to the region "sum"
//! let sum: f64 = matrix.iter().sum();
//! dmdprof_markers::output(std::slice::from_ref(&sum)); // a result: alive to the end of the region
//! dmdprof_markers::end(c"sum"); // regions nest
//! # assert_eq!(sum, 64.0);
//! ```
//!
//! In a build by `dmdprof cargo` (which sets `--cfg dmdprof`) the calls become records. In every other build they are
//! empty inline functions, so that they may stay in the source.

#![no_std]

use core::ffi::CStr;

#[cfg(dmdprof)]
mod hooks {
    use core::ffi::{c_char, c_void};

    unsafe extern "C" {
        pub fn dmdprof_begin(name: *const c_char);
        pub fn dmdprof_end(name: *const c_char);
        pub fn dmdprof_input(start: *const c_void, bytes: usize);
        pub fn dmdprof_output(start: *const c_void, bytes: usize);
    }
}

/// The region `name` begins. More than 1024 bytes of the name are cut off.
#[inline(always)]
pub fn begin(name: &CStr) {
    #[cfg(dmdprof)]
    // SAFETY: the hooks read the string and keep nothing.
    unsafe {
        hooks::dmdprof_begin(name.as_ptr());
    }
    #[cfg(not(dmdprof))]
    let _ = name;
}

/// The region `name` ends.
#[inline(always)]
pub fn end(name: &CStr) {
    #[cfg(dmdprof)]
    // SAFETY: the hooks read the string and keep nothing.
    unsafe {
        hooks::dmdprof_end(name.as_ptr());
    }
    #[cfg(not(dmdprof))]
    let _ = name;
}

/// The bytes of `data` are an input of the computation; inputs are ordered by these calls.
#[inline(always)]
pub fn input<T>(data: &[T]) {
    #[cfg(dmdprof)]
    // SAFETY: the hooks take note of the range and do not read it.
    unsafe {
        hooks::dmdprof_input(data.as_ptr().cast(), size_of_val(data));
    }
    #[cfg(not(dmdprof))]
    let _ = data;
}

/// The bytes of `data` are a result of the computation: alive until the open region ends.
#[inline(always)]
pub fn output<T>(data: &[T]) {
    #[cfg(dmdprof)]
    // SAFETY: the hooks take note of the range and do not read it.
    unsafe {
        hooks::dmdprof_output(data.as_ptr().cast(), size_of_val(data));
    }
    #[cfg(not(dmdprof))]
    let _ = data;
}

/// Runs `body` as the region `name`.
///
/// ```
/// let sum = dmdprof_markers::region(c"sum", || (1..=4).sum::<u32>());
/// # assert_eq!(sum, 10);
/// ```
#[inline(always)]
pub fn region<R>(name: &CStr, body: impl FnOnce() -> R) -> R {
    let _region = Region::new(name);
    body()
}

/// A region that ends with its scope, however that is left.
///
/// ```
/// fn assemble() {
///     let _region = dmdprof_markers::Region::new(c"assemble");
///     // ...
/// }
/// # assemble();
/// ```
#[derive(Debug)]
#[must_use = "the region ends when this is dropped"]
pub struct Region<'a>(&'a CStr);

impl<'a> Region<'a> {
    #[inline(always)]
    pub fn new(name: &'a CStr) -> Self {
        begin(name);
        Self(name)
    }
}

impl Drop for Region<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        end(self.0);
    }
}
