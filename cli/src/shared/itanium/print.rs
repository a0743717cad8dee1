//! Writes a tree as C++ has it, in the words of `c++filt`.
//!
//! Types stand on both sides of what they are the type of: each node has a left and a right part. Refuses text that is
//! longer than any name: packs and repeated parts can make it so.

use std::cell::Cell;

use super::parse::Tree;
use super::tree::{Exception, Function, Id, Node, Qualifiers};

/// Characters of a name that anybody reads.
const LONGEST: usize = 1 << 18;
/// Nodes within each other: what is repeated may be nested deeper than what was read.
const DEEPEST: usize = 512;
/// Nodes that are looked at for packs: what is repeated is looked at again each time.
const MOST: usize = 1 << 20;

pub struct Printer<'t> {
    tree: &'t Tree,
    out: String,
    /// Which part of a pack is meant, where one is expanded.
    pub(super) part: Option<usize>,
    /// In a signature of a lambda, packs are not known.
    in_lambda: bool,
    /// Result types of encodings are written: but for that of a function that something is in.
    with_results: bool,
    is_scope: bool,
    /// Whose template arguments parameters stand for: the innermost function's last.
    scopes: Vec<usize>,
    depth: usize,
    pub(super) failed: bool,
    /// Nodes that were looked at for packs.
    searched: Cell<usize>,
}

/// The text of a tree. `with_results`: with the type that a function template gives.
pub fn text(tree: &Tree, root: Id, with_results: bool) -> Option<String> {
    let mut printer = Printer {
        tree,
        out: String::new(),
        part: None,
        in_lambda: false,
        with_results,
        is_scope: false,
        scopes: Vec::new(),
        depth: 0,
        failed: false,
        searched: Cell::new(0),
    };
    printer.whole(root);
    (!printer.failed).then_some(printer.out)
}

impl<'t> Printer<'t> {
    pub(super) fn node(&self, id: Id) -> &'t Node {
        &self.tree.nodes[id]
    }

    pub(super) fn put(&mut self, text: &str) {
        self.failed |= self.out.len() + text.len() > LONGEST;
        if !self.failed {
            self.out.push_str(text);
        }
    }

    /// What a template parameter stands for, and a pack where one of its parts is meant.
    fn resolved(&self, id: Id) -> Id {
        let mut id = id;
        for _ in 0..DEEPEST {
            id = match self.node(id) {
                Node::Parameter(index) => match self.argument(*index) {
                    Some(argument) => argument,
                    None => return id,
                },
                _ => return id,
            };
        }
        id
    }

    pub(super) fn whole(&mut self, id: Id) {
        self.left(id);
        self.right(id);
    }

    pub(super) fn list(&mut self, list: &[Id]) {
        let mut is_first = true;
        for id in list {
            let before = self.out.len();
            if !is_first {
                self.put(", ");
            }
            let start = self.out.len();
            self.whole(*id);
            // An empty pack is nothing, so there is nothing to part.
            if self.out.len() == start {
                self.out.truncate(before);
            } else {
                is_first = false;
            }
        }
    }

    fn arguments(&mut self, list: &[Id]) {
        if self.out.ends_with('<') {
            self.put(" ");
        }
        self.put("<");
        self.list(list);
        // `> >` as before C++11.
        self.put(if self.out.ends_with('>') { " >" } else { ">" });
    }

    fn left(&mut self, id: Id) {
        if self.depth == DEEPEST || self.failed {
            self.failed = true;
            return;
        }
        self.depth += 1;
        self.any_left(id);
        self.depth -= 1;
    }

    fn any_left(&mut self, id: Id) {
        match self.node(id) {
            Node::Text(text) => self.put(text),
            Node::Builtin(text, _) | Node::Standard(text, _) => self.put(text),
            Node::Nested(outer, name) => {
                self.whole(*outer);
                self.put("::");
                self.whole(*name);
            }
            Node::Local(function, name) => {
                let outer = std::mem::replace(&mut self.is_scope, true);
                self.whole(*function);
                self.is_scope = outer;
                self.put("::");
                self.whole(*name);
            }
            Node::Template(name, arguments) => {
                self.whole(*name);
                self.arguments(arguments);
            }
            Node::Pack(parts) => self.list(parts),
            Node::Parameter(index) if self.in_lambda => self.put(&format!("auto:{}", index + 1)),
            Node::Parameter(index) => self.in_argument(*index, Self::left),
            Node::Constructor(of) => self.base(*of),
            Node::Destructor(of) => {
                self.put("~");
                self.base(*of);
            }
            Node::Operator(text) => {
                self.put("operator");
                if text.starts_with(|c: char| c.is_ascii_lowercase()) {
                    self.put(" ");
                }
                self.put(text.trim_end());
            }
            Node::Conversion(to) => {
                self.put("operator ");
                self.whole(*to);
            }
            Node::LiteralOperator(name) => {
                self.put("operator\"\" ");
                self.whole(*name);
            }
            Node::Tagged(name, tag) => {
                self.whole(*name);
                self.put("[abi:");
                self.put(tag);
                self.put("]");
            }
            Node::Lambda { head, parameters, number } => {
                self.put("{lambda");
                let outer = std::mem::replace(&mut self.in_lambda, true);
                if !head.is_empty() {
                    self.arguments(head);
                }
                self.put("(");
                self.parameters(parameters);
                self.in_lambda = outer;
                self.put(&format!(")#{number}}}"));
            }
            Node::Declared(kind, of, name) => {
                self.put(kind);
                if let Some(of) = of {
                    self.whole(*of);
                }
                self.put(" ");
                self.put(name);
            }
            Node::Around(before, id, behind) => {
                self.put(before);
                self.whole(*id);
                self.put(behind);
            }
            Node::Row(list) => list.iter().for_each(|id| self.whole(*id)),
            Node::Binding(names) => {
                self.put("[");
                self.list(names);
                self.put("]");
            }
            Node::InModule(id, module) => {
                self.whole(*id);
                self.put("@");
                self.put(module);
            }
            Node::InClass(base, derived) => {
                self.put("construction vtable for ");
                self.whole(*base);
                self.put("-in-");
                self.whole(*derived);
            }
            Node::Qualified(inner, qualifiers) => {
                self.left(*inner);
                self.qualifiers(*qualifiers, self.node(self.resolved(*inner)));
            }
            Node::Vendor(inner, name) => {
                self.left(*inner);
                self.put(" ");
                self.put(name);
            }
            Node::Pointer(inner) => self.opened(*inner, "*"),
            Node::Reference(inner, kind) => {
                let (inner, kind) = self.collapsed(*inner, kind);
                self.opened(inner, kind);
            }
            Node::Member(class, inner) => {
                self.left(*inner);
                self.open(*inner, true);
                self.whole(*class);
                self.put("::*");
            }
            Node::Array(_, inner) => self.left(*inner),
            Node::Vector(size, inner) => {
                self.left(*inner);
                self.put(" __vector(");
                size.iter().for_each(|size| self.whole(*size));
                self.put(")");
            }
            Node::Function(function) => {
                function.result.iter().for_each(|result| self.left(*result));
                self.put(" ");
            }
            Node::Encoding(name, function, scope) => {
                self.scopes.push(*scope);
                self.encoding(*name, function);
                self.scopes.pop();
            }
            Node::Expansion(id) => self.expansion(*id),
            Node::Constrained(id, constraint) => {
                self.whole(*id);
                self.put(" requires ");
                self.whole(*constraint);
            }
            _ => self.expression(id),
        }
    }

    /// What a template parameter stands for; of a pack that is expanded, its part.
    fn argument(&self, index: usize) -> Option<Id> {
        let argument = self.whole_argument(index)?;
        match (self.node(argument), self.part) {
            (Node::Pack(parts), Some(part)) => parts.get(part).copied(),
            _ => Some(argument),
        }
    }

    fn whole_argument(&self, index: usize) -> Option<Id> {
        let scope = self.scopes.last().filter(|_| !self.in_lambda)?;
        self.tree.scopes[*scope].get(index).copied()
    }

    /// Writes what a template parameter stands for, in which parameters are those of the function around.
    fn in_argument(&mut self, index: usize, write: impl FnOnce(&mut Self, Id)) {
        let (Some(argument), Some(scope)) = (self.argument(index), self.scopes.pop()) else {
            self.failed = true;
            return;
        };
        let part = self.part.take();
        write(self, argument);
        self.part = part;
        self.scopes.push(scope);
    }

    fn right(&mut self, id: Id) {
        if self.depth == DEEPEST || self.failed {
            self.failed = true;
            return;
        }
        self.depth += 1;
        match self.node(id) {
            Node::Parameter(_) if self.in_lambda => {}
            Node::Parameter(index) => self.in_argument(*index, Self::right),
            Node::Qualified(inner, _) | Node::Vendor(inner, _) => self.right(*inner),
            Node::Pointer(inner) => self.closed(*inner),
            Node::Reference(inner, kind) => {
                let (inner, _) = self.collapsed(*inner, kind);
                self.closed(inner);
            }
            Node::Member(_, inner) => {
                if self.is_array(*inner) || self.is_function(*inner) {
                    self.put(")");
                }
                self.right(*inner);
            }
            Node::Array(size, inner) => {
                // Behind another dimension there is no space.
                if !self.out.ends_with(']') {
                    self.put(" ");
                }
                self.put("[");
                size.iter().for_each(|size| self.whole(*size));
                self.put("]");
                self.right(*inner);
            }
            Node::Function(function) => {
                self.behind(function);
                function.result.iter().for_each(|result| self.right(*result));
            }
            _ => {}
        }
        self.depth -= 1;
    }

    fn is_array(&self, id: Id) -> bool {
        match self.node(self.resolved(id)) {
            Node::Array(..) => true,
            Node::Qualified(inner, _) => self.is_array(*inner),
            _ => false,
        }
    }

    /// Whether a type ends behind what is of the type.
    fn has_right(&self, id: Id) -> bool {
        match self.node(self.resolved(id)) {
            Node::Pointer(inner) | Node::Reference(inner, _) | Node::Member(_, inner) | Node::Qualified(inner, _) => {
                self.is_function(*inner) || self.is_array(*inner) || self.has_right(*inner)
            }
            _ => false,
        }
    }

    fn is_function(&self, id: Id) -> bool {
        matches!(self.node(self.resolved(id)), Node::Function(_))
    }

    /// The left part of what is pointed to, and the mark of the pointer.
    fn opened(&mut self, inner: Id, mark: &str) {
        self.left(inner);
        self.open(inner, false);
        self.put(mark);
    }

    fn open(&mut self, inner: Id, is_member: bool) {
        if self.is_array(inner) {
            self.put(" (");
        } else if self.is_function(inner) {
            self.put("(");
        } else if is_member {
            self.put(" ");
        }
    }

    fn closed(&mut self, inner: Id) {
        if self.is_array(inner) || self.is_function(inner) {
            self.put(")");
        }
        self.right(inner);
    }

    /// A reference to a reference is one, of values only if both are.
    fn collapsed(&self, inner: Id, kind: &'static str) -> (Id, &'static str) {
        let (mut inner, mut kind) = (inner, kind);
        for _ in 0..DEEPEST {
            match self.node(self.resolved(inner)) {
                Node::Reference(next, other) => {
                    kind = if *other == "&" { "&" } else { kind };
                    inner = *next;
                }
                _ => break,
            }
        }
        (inner, kind)
    }

    fn qualifiers(&mut self, qualifiers: Qualifiers, of: &Node) {
        // Those that the type has already are not said twice.
        let has = if let Node::Qualified(_, has) = of { *has } else { Qualifiers::default() };
        for (is, was, text) in [
            (qualifiers.constant, has.constant, " const"),
            (qualifiers.volatile, has.volatile, " volatile"),
            (qualifiers.restrict, has.restrict, " restrict"),
        ] {
            if is && !was {
                self.put(text);
            }
        }
        if let Some(reference) = qualifiers.reference {
            self.put(" ");
            self.put(reference);
        }
    }

    /// `(void)` is no parameter.
    pub(super) fn parameters(&mut self, parameters: &[Id]) {
        match parameters {
            [one] if matches!(self.node(*one), Node::Builtin("void", _)) => {}
            _ => self.list(parameters),
        }
    }

    fn behind(&mut self, function: &Function) {
        self.put("(");
        self.parameters(&function.parameters);
        self.put(")");
        self.qualifiers(function.qualifiers, &Node::Pack(Vec::new()));
        match &function.behind {
            None => {}
            Some(Exception::Noexcept) => self.put(" noexcept"),
            Some(Exception::NoexceptIf(condition)) => {
                self.put(" noexcept(");
                self.whole(*condition);
                self.put(")");
            }
            Some(Exception::Throws(types)) => {
                self.put(" throw(");
                self.list(types);
                self.put(")");
            }
        }
    }

    fn encoding(&mut self, name: Id, function: &Function) {
        let is_scope = std::mem::take(&mut self.is_scope);
        let result = function.result.filter(|_| self.with_results && !is_scope);
        if let Some(result) = result {
            self.left(result);
            // Within its brackets there is no space.
            if !self.has_right(result) {
                self.put(" ");
            }
        }
        self.whole(name);
        self.behind(function);
        result.iter().for_each(|result| self.right(*result));
        self.is_scope = is_scope;
    }

    /// What constructors of a class are called: its name without where it is, arguments and tags.
    fn base(&mut self, id: Id) {
        let mut id = id;
        while let Node::Nested(_, name) | Node::Local(_, name) | Node::Template(name, _) | Node::Tagged(name, _) =
            self.node(id)
        {
            id = *name;
        }
        match self.node(id) {
            Node::Standard(_, class) => self.put(class),
            Node::Parameter(index) => self.in_argument(*index, Self::base),
            _ => self.whole(id),
        }
    }

    /// The pattern of an expansion once for each part of the pack in it.
    fn expansion(&mut self, id: Id) {
        let pack = if self.in_lambda { None } else { self.pack(id, 0) };
        let Some(length) = pack else {
            self.sub(id);
            self.put("...");
            return;
        };
        let outer = self.part;
        let mut is_first = true;
        for part in 0..length {
            self.part = Some(part);
            if !is_first {
                self.put(", ");
            }
            is_first = false;
            self.whole(id);
        }
        self.part = outer;
    }

    /// Length of the first pack in a pattern.
    pub(super) fn pack(&self, id: Id, depth: usize) -> Option<usize> {
        self.searched.set(self.searched.get() + 1);
        if depth > DEEPEST || self.searched.get() > MOST {
            return None;
        }
        let find = |id: &Id| self.pack(*id, depth + 1);
        let any = |list: &[Id]| list.iter().find_map(find);
        match self.node(id) {
            Node::Parameter(index) => match self.node(self.whole_argument(*index)?) {
                Node::Pack(parts) => Some(parts.len()),
                _ => None,
            },
            Node::Expansion(_) | Node::Lambda { .. } | Node::Text(_) | Node::Builtin(..) | Node::Standard(..) => None,
            Node::Nested(a, b)
            | Node::Local(a, b)
            | Node::Member(a, b)
            | Node::InClass(a, b)
            | Node::Constrained(a, b)
            | Node::Binary(_, a, b)
            | Node::Index(a, b)
            | Node::NamedCast(_, a, b)
            | Node::Designated(_, a, b) => find(a).or_else(|| find(b)),
            Node::Template(a, list) | Node::Call(a, list) | Node::Cast(a, list) => find(a).or_else(|| any(list)),
            Node::List(a, list) => a.as_ref().and_then(find).or_else(|| any(list)),
            Node::Pack(list) | Node::Binding(list) | Node::Row(list) | Node::SizeOfArguments(list) => any(list),
            Node::Function(f) => f.result.as_ref().and_then(find).or_else(|| any(&f.parameters)),
            Node::Encoding(name, f, _) => {
                find(name).or_else(|| f.result.as_ref().and_then(find)).or_else(|| any(&f.parameters))
            }
            Node::Array(a, b) | Node::Vector(a, b) => a.as_ref().and_then(find).or_else(|| find(b)),
            Node::Conditional(a, b, c) => find(a).or_else(|| find(b)).or_else(|| find(c)),
            Node::Fold(_, _, a, b) => find(a).or_else(|| b.as_ref().and_then(find)),
            Node::New { placement, of, initial, .. } => {
                any(placement).or_else(|| find(of)).or_else(|| initial.as_ref().and_then(|list| any(list)))
            }
            Node::Requires(a, b) => any(a).or_else(|| any(b)),
            Node::Constructor(a)
            | Node::Destructor(a)
            | Node::Conversion(a)
            | Node::LiteralOperator(a)
            | Node::Tagged(a, _)
            | Node::Around(_, a, _)
            | Node::InModule(a, _)
            | Node::Qualified(a, _)
            | Node::Vendor(a, _)
            | Node::Pointer(a)
            | Node::Reference(a, _)
            | Node::Unary(_, a)
            | Node::Postfix(_, a)
            | Node::SizeOfPack(a)
            | Node::Value(a, _) => find(a),
            Node::Operator(_) | Node::Declared(..) | Node::Argument(_) => None,
        }
    }
}
