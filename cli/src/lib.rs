//! What the person sees: commands, the profile file and reports.

pub mod profile;
pub mod report;
