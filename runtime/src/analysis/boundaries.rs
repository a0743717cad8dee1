//! What a part of a run needs of all that was before it.

use serde::{Deserialize, Serialize};

use crate::{
    engine::Boundary,
    observe::{beside::Parts, flows::AskedFlows},
};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Boundaries {
    pub bytes: Boundary,
    /// Of those who observe beside the engine.
    pub beside: Parts,
    /// If flows are followed; see `bytes`. Files have none.
    #[serde(skip)]
    pub flows: Option<AskedFlows>,
}
