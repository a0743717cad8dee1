//! What a part of a run needs of all that was before it.

use crate::{engine::Frontier, observe::lines::LineFrontier};

#[derive(Default)]
pub struct Frontiers {
    pub bytes: Frontier,
    /// By size of lines.
    pub lines: Vec<LineFrontier>,
}
