//! What a part of a run needs of all that was before it.

use crate::{
    engine::Frontier,
    observe::{flows::AskedFlows, lines::LineFrontier},
};

#[derive(Default)]
pub struct Frontiers {
    pub bytes: Frontier,
    /// By size of lines.
    pub lines: Vec<LineFrontier>,
    /// If flows are followed; see `bytes`.
    pub flows: Option<AskedFlows>,
}
