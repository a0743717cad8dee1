//! Times of programs without hooks, for `dmdprof time`: [`stopwatch`] runs and measures, [`sheet`] says what came out.

pub mod sheet;
pub mod stopwatch;
