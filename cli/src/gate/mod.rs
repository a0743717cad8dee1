//! The gate: what changed between two runs, whether that is allowed, and why it happened.
//!
//! Data goes one way: a profile or a [`baseline`] becomes a [`summary`], two of them a [`compare::Comparison`], that
//! and [`limits`] a [`verdict`], and [`output`] writes it. [`estimated`] brings in what is known of a sample. Only
//! [`runner`] and [`revision`] start programs, the latter those of other revisions once [`trust`] lets it. Formats and
//! rules: `docs/gate.md`.

pub mod baseline;
pub mod bisect;
pub mod ceilings;
pub mod check;
pub mod compare;
pub mod config;
pub mod estimated;
pub mod history;
pub mod key;
pub mod limits;
pub mod metric;
pub mod output;
pub mod pattern;
pub mod project;
pub mod provenance;
pub mod revision;
pub mod runner;
pub mod source;
pub mod summary;
pub mod trust;
pub mod twice;
pub mod verdict;
pub mod why;
