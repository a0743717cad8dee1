//! Helpers of the end-to-end tests.

#![forbid(unsafe_code)]

pub mod truth;
