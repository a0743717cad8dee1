//! What people and machines read: tables, Markdown, JSON, CSV, and what CI systems want.

pub mod check;
pub mod diff;
mod layout;
pub mod machine;
pub mod words;
