//! What results are added up by: functions, sites, flows and objects in the numbers of the measurement.

use crate::decode::context::ContextNumber;

/// A function: (table, number in the table).
pub type FunctionKey = (u32, u32);
/// A static access: (table, number of its segment in the table, item of the segment).
pub type SiteKey = (u32, u32, u32);

/// From where to where bytes went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// Wrote the bytes last; `None`: nothing did.
    pub writer: Option<SiteKey>,
    /// Read or wrote the bytes last; `None`: nothing did.
    pub toucher: Option<SiteKey>,
    /// Who read.
    pub reader: SiteKey,
    /// Calling contexts of the toucher and of the reader, if they were measured.
    pub contexts: Option<(Option<ContextNumber>, ContextNumber)>,
    /// What the bytes are part of; `None` if objects were not measured.
    pub object: Option<ObjectKey>,
}

impl FlowKey {
    pub(crate) fn with_contexts(self, nodes: &[ContextNumber]) -> Self {
        let contexts = moved_contexts(self.contexts, nodes);
        Self { object: self.object.map(|object| object.with_contexts(nodes)), contexts, ..self }
    }
}

pub(crate) type FlowContexts = Option<(Option<ContextNumber>, ContextNumber)>;

pub(crate) fn moved_contexts(contexts: FlowContexts, nodes: &[ContextNumber]) -> FlowContexts {
    contexts.map(|(toucher, reader)| (toucher.map(|node| nodes[node.index()]), nodes[reader.index()]))
}

/// A data object, in the numbers of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKey {
    /// Memory of which no object is known.
    Unknown,
    /// Blocks by calling context (0: any) and call site (table, segment) of the allocation.
    Block {
        /// Calling context of the allocation; 0: any.
        context: ContextNumber,
        /// Table and segment of the call of the allocator.
        site: Option<(u32, u32)>,
    },
    /// A mapping that the program asked the kernel for.
    Mapping {
        /// Calling context of the call; 0: any.
        context: ContextNumber,
        /// Table and segment of the call.
        site: Option<(u32, u32)>,
        /// Name of the mapped file.
        file: Option<String>,
    },
    /// Table and number in its `data`.
    Datum {
        /// Number of the table.
        table: u32,
        /// Number in the table's `data`.
        datum: u32,
    },
    /// Table and number in its `slots`.
    Slot {
        /// Number of the table.
        table: u32,
        /// Number in the table's `slots`.
        slot: u32,
    },
}

impl ObjectKey {
    /// Puts another number of a context in the place of its own.
    pub(crate) fn with_contexts(self, nodes: &[ContextNumber]) -> Self {
        match self {
            Self::Block { context, site } => Self::Block { context: nodes[context.index()], site },
            Self::Mapping { context, site, file } => Self::Mapping { context: nodes[context.index()], site, file },
            other => other,
        }
    }
}
