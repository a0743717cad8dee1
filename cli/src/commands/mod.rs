//! The commands, one file each. They parse nothing themselves and hold no logic that another command could want.

pub mod instrument;
pub mod record;
pub mod replay;
pub mod run;
