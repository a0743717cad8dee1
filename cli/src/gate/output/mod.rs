//! What people and machines read: tables, Markdown, JSON, CSV, and what CI systems want.

pub mod check;
pub mod diff;
pub mod history;
mod layout;
pub mod machine;
#[cfg(test)]
mod tests;
pub mod words;
