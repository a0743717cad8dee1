//! Source positions with their inlined-at chains, as a tree that shares common prefixes.
//!
//! Takes debug locations of one function, gives indices into a [`FrameTable`]; without debug information every index is
//! [`NONE`](dmdprof_abi::NONE) and costs fall to the linked function.

use std::collections::HashMap;

use dmdprof_abi::{Frame, NONE};

use crate::{
    llvm::{
        debug_record::DebugRecord,
        ir::{Metadata, Nodes, Value},
    },
    source_path::SourcePaths,
    types::Types,
};

/// Strings of one blob, each stored once.
#[derive(Default)]
pub struct StringTable {
    pub strings: Vec<String>,
    index: HashMap<String, u32>,
}

impl StringTable {
    pub fn intern(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        let new = self.strings.len() as u32;
        self.strings.push(text.to_owned());
        self.index.insert(text.to_owned(), new);
        new
    }
}

/// What the module's debug information says about a source function; the same for all functions it is inlined into.
#[derive(Clone)]
pub struct Subprogram {
    name: String,
    file: Option<String>,
    line: u32,
}

/// What the module's debug information says about a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<'m> {
    pub name: String,
    /// The source function that declares it, by its debug node and its linkage name.
    pub subprogram: Option<Metadata<'m>>,
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: u32,
}

/// Look-ups that are worth sharing between the functions of a module.
pub struct DebugInfo<'m> {
    nodes: Nodes<'m>,
    subprograms: HashMap<Metadata<'m>, Option<Subprogram>>,
    scopes: HashMap<Metadata<'m>, (Option<Metadata<'m>>, Option<String>)>,
    /// By expression. There are few, and LLVM takes long to write one as text.
    forms: HashMap<Metadata<'m>, Form>,
    pub types: Types<'m>,
    globals: HashMap<Value<'m>, Option<Metadata<'m>>>,
    paths: SourcePaths,
}

/// What a debug record's expression says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It is what the record is about.
    Plain,
    /// It is the bytes of the variable from this one on.
    Part(u64),
    /// It is, or leads to, an address at which the variable lies.
    Address,
    Other,
}

impl Form {
    /// Reads a record with its expression as text.
    fn from_record(record: &str) -> Self {
        const PART: &str = "!DIExpression(DW_OP_LLVM_fragment, ";
        if record.contains("DW_OP_deref") {
            return Self::Address;
        }
        if record.contains("!DIExpression()") {
            return Self::Plain;
        }
        let start =
            record.split_once(PART).and_then(|(_, rest)| rest.split(',').next()).and_then(|bits| bits.parse().ok());
        start.map_or(Self::Other, |bits: u64| Self::Part(bits / 8))
    }
}

impl<'m> DebugInfo<'m> {
    #[must_use]
    pub fn new(nodes: Nodes<'m>) -> Self {
        Self {
            nodes,
            subprograms: HashMap::new(),
            scopes: HashMap::new(),
            forms: HashMap::new(),
            types: Types::new(nodes),
            globals: HashMap::new(),
            paths: SourcePaths::default(),
        }
    }

    /// Name, file and line of a subprogram's definition.
    pub fn subprogram(&mut self, subprogram: Metadata<'m>) -> Option<Subprogram> {
        let (nodes, paths) = (self.nodes, &mut self.paths);
        self.subprograms
            .entry(subprogram)
            .or_insert_with(|| {
                Some(Subprogram {
                    name: nodes.subprogram_name(subprogram)?,
                    file: subprogram.scope_file().map(|name| paths.path_of(name)),
                    line: subprogram.subprogram_line(),
                })
            })
            .clone()
    }

    /// What a record says of its value.
    pub fn form(&mut self, record: DebugRecord<'m>) -> Form {
        let Some(expression) = record.expression() else { return Form::Other };
        *self.forms.entry(expression).or_insert_with(|| Form::from_record(&record.text()))
    }

    /// Type of a variable.
    pub fn variable_type(&self, variable: Metadata<'m>) -> Option<Metadata<'m>> {
        self.nodes.variable_type(variable)
    }

    /// Type of a global variable.
    pub fn global_type(&mut self, global: Value<'m>) -> Option<Metadata<'m>> {
        let nodes = self.nodes;
        *self.globals.entry(global).or_insert_with(|| nodes.global_type(global))
    }

    /// Name and place of a variable.
    pub fn variable(&mut self, variable: Metadata<'m>) -> Option<Variable<'m>> {
        let name = self.nodes.variable_name(variable)?;
        let (subprogram, _) = variable.variable_scope().map_or((None, None), |s| self.scope(s));
        let function = subprogram.and_then(|s| self.subprogram(s)).map(|s| s.name);
        let file = variable.variable_file().map(|name| self.paths.path_of(name));
        Some(Variable { name, subprogram, function, file, line: variable.variable_line() })
    }

    fn scope(&mut self, scope: Metadata<'m>) -> (Option<Metadata<'m>>, Option<String>) {
        let (nodes, paths) = (self.nodes, &mut self.paths);
        self.scopes
            .entry(scope)
            .or_insert_with(|| (nodes.enclosing_subprogram(scope), scope.scope_file().map(|name| paths.path_of(name))))
            .clone()
    }
}

impl Subprogram {
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

/// Frames of one function.
#[derive(Default)]
pub struct FrameTable<'m> {
    pub frames: Vec<Frame>,
    by_location: HashMap<Metadata<'m>, u32>,
    by_content: HashMap<[u32; 7], u32>,
}

impl<'m> FrameTable<'m> {
    /// Index of a location's frame. `symbol` names the function that holds the instruction: positions that are not
    /// inlined belong to it even if the debug information spells its name differently.
    pub fn intern(
        &mut self,
        location: Option<Metadata<'m>>,
        symbol: &str,
        debug: &mut DebugInfo<'m>,
        strings: &mut StringTable,
    ) -> u32 {
        let Some(location) = location else { return NONE };
        if let Some(&known) = self.by_location.get(&location) {
            return known;
        }
        let parent = self.intern(location.inlined_at(), symbol, debug, strings);
        let (subprogram, file) = location.scope().map_or((None, None), |s| debug.scope(s));
        let subprogram = subprogram.and_then(|s| debug.subprogram(s));
        let name = match &subprogram {
            Some(sub) if parent != NONE => strings.intern(&sub.name),
            _ => strings.intern(symbol),
        };
        let file = file.map_or(NONE, |f| strings.intern(&f));
        let decl_file = subprogram.as_ref().and_then(Subprogram::file).map_or(NONE, |f| strings.intern(f));
        let decl_line = subprogram.as_ref().map_or(0, Subprogram::line);
        let frame = Frame {
            parent,
            function: name,
            file,
            line: location.line(),
            column: location.column(),
            decl_file,
            decl_line,
        };
        let key = [parent, name, file, frame.line, frame.column, decl_file, decl_line];
        let index = *self.by_content.entry(key).or_insert_with(|| {
            self.frames.push(frame);
            self.frames.len() as u32 - 1
        });
        self.by_location.insert(location, index);
        index
    }
}
