//! What people and machines read: tables, Markdown, JSON, CSV, and what CI systems want.

pub mod diff;
mod layout;
mod words;
