//! Data objects of a profile: what they are and what sites did to them; what is known of sites without running them.

use dmdprof_runtime::{counts::pairs::PairCounts, observe::patterns::Pattern};
use serde::{Deserialize, Serialize};

use super::{
    cells::ObjectUse,
    ids::{ContextId, FieldId, FunctionId, LoopId, ObjectId, PositionId, SiteId, StringId},
};

/// Data objects and what was done to them. Of each site, the reads, writes and costs of its uses add up to those of its
/// cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataObjects {
    /// Those that were accessed, sorted by content.
    pub list: Vec<DataObject>,
    /// Sorted by (object, site).
    pub uses: Vec<ObjectUse>,
    /// How sites used objects; empty unless flows were measured too. Sorted by (object, site).
    pub patterns: Vec<ObjectPattern>,
}

/// What is known of sites without running them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteMetadata {
    /// Fields that sites access, sorted by names.
    pub fields: Vec<Field>,
    /// Loops around sites and calls, parents first.
    pub loops: Vec<SourceLoop>,
    /// Which loops of a function call which others, of functions that did; sorted.
    pub calls: Vec<LoopCall>,
    /// What is known of sites, by site.
    pub notes: Vec<SiteNote>,
}

/// A field of a type, or a scalar that is no field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Field {
    /// The structure, or the scalar's type.
    pub type_name: StringId,
    /// Bytes of that type.
    pub type_size: u32,
    /// Path, or `first..last` of several fields that are accessed at once; empty for scalars.
    pub name: StringId,
    /// Bytes from the start of the type.
    pub offset: u32,
    /// Bytes of the field.
    pub size: u32,
}

/// A natural loop of a linked function with debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLoop {
    /// The linked function that it is part of.
    pub function: FunctionId,
    /// Where it begins.
    pub position: Option<PositionId>,
    /// The loop around it in the same function.
    pub parent: Option<LoopId>,
}

/// A direct call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoopCall {
    /// Linked function with the call.
    pub caller: FunctionId,
    /// Function that it names.
    pub callee: FunctionId,
    /// The innermost loop of the caller that the call is in.
    pub around: Option<LoopId>,
}

/// What is known of a site without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteNote {
    /// The static access.
    pub site: SiteId,
    /// The field that it goes to.
    pub field: Option<FieldId>,
    /// The innermost loop that it is in.
    pub around: Option<LoopId>,
    /// The innermost loop in whose iterations it accesses the same bytes.
    pub same: Option<LoopId>,
}

/// Lines that one site brought in from far, after one site had brought them in; in all contexts. Who brings a line in:
/// [`dmdprof_runtime::observe::lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePair {
    /// Who had brought the lines in before; `None`: what does not count.
    pub before: Option<SiteId>,
    /// Who brings them in.
    pub site: SiteId,
    /// How many.
    pub counts: PairCounts,
}

/// How one site used one object. Fast memory and its lines: [`dmdprof_runtime::observe::patterns`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectPattern {
    /// What was used.
    pub object: ObjectId,
    /// Who used it.
    pub site: SiteId,
    /// How.
    pub pattern: Pattern,
}

impl std::ops::Deref for ObjectPattern {
    type Target = Pattern;

    fn deref(&self) -> &Pattern {
        &self.pattern
    }
}

/// What an object is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// Memory of which no object is known.
    Unknown,
    /// Blocks that one call in one calling context allocated.
    Heap,
    /// Mappings by one call in one calling context, of one file.
    Mapping,
    /// A global or static variable.
    Static,
    /// Data without a symbol, by section.
    Section,
    /// A variable on the stack, of all activations.
    Stack,
}

/// Memory that a program would call by one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataObject {
    /// How its memory came to be.
    pub kind: ObjectKind,
    /// Variable (linked symbol or source name), section, or path of the mapped file.
    pub name: Option<StringId>,
    /// File name of the program or library that a static or a section is of.
    pub module: Option<StringId>,
    /// Linkage name of the source function that declares a variable on the stack.
    pub function: Option<StringId>,
    /// File of the declaration of a variable on the stack, if known.
    pub file: Option<StringId>,
    /// Line of that declaration; 0 if it is not known.
    pub line: u32,
    /// The call that allocates.
    pub site: Option<SiteId>,
    /// The calling context of that call; `None`: any, or nothing is allocated.
    pub context: Option<ContextId>,
    /// Blocks, mappings or activations that began.
    pub times: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Most bytes at once. Of variables on the stack, whose ends are not followed one by one: an upper bound.
    pub peak: u64,
    /// Bytes read of each 64th of its blocks of 4 KiB and more, by accesses that begin there; empty if it has no such
    /// block.
    pub parts: Vec<u64>,
}
