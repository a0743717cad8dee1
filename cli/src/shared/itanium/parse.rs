//! Reads names.
//!
//! Takes the text behind `_Z`, gives a [`Tree`]. Refuses what does not follow the grammar, and what is nested deeper or
//! has more parts than any name.

use super::tree::{Function, Id, Node, Qualifiers};

/// Nesting that names of programs are far from, and that a thread's stack bears.
const DEEPEST: usize = 192;
/// Parts of a name; each way of reading an ambiguous one counts.
const MOST: usize = 1 << 16;

/// The nodes of a name.
#[derive(Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    /// Template arguments, by encoding.
    pub scopes: Vec<Vec<Id>>,
}

pub struct Parser<'t> {
    pub(super) rest: &'t str,
    pub tree: Tree,
    substitutions: Vec<Id>,
    pub(super) scope: usize,
    /// In how many signatures of lambdas.
    pub(super) in_lambda: usize,
    /// A type of a conversion: arguments that follow are not its own.
    pub(super) in_conversion: bool,
    depth: usize,
}

/// A name, and what its encoding needs to know of it.
pub(super) struct Named {
    pub id: Id,
    qualifiers: Qualifiers,
    has_result: bool,
}

impl Named {
    fn plain(id: Id, has_result: bool) -> Self {
        Named { id, qualifiers: Qualifiers::default(), has_result }
    }
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Self {
        let tree = Tree { nodes: Vec::new(), scopes: vec![Vec::new()] };
        Self { rest: text, tree, substitutions: Vec::new(), scope: 0, in_lambda: 0, in_conversion: false, depth: 0 }
    }

    pub(super) fn add(&mut self, node: Node) -> Id {
        self.tree.nodes.push(node);
        self.tree.nodes.len() - 1
    }

    pub(super) fn text(&mut self, text: &str) -> Id {
        self.add(Node::Text(text.into()))
    }

    pub(super) fn candidate(&mut self, id: Id) -> Id {
        self.substitutions.push(id);
        id
    }

    pub(super) fn peek(&self) -> u8 {
        self.rest.as_bytes().first().copied().unwrap_or(0)
    }

    pub(super) fn take(&mut self, start: &str) -> bool {
        let found = self.rest.strip_prefix(start);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// What the first of several ways to read on gives that leads somewhere.
    pub(super) fn any<T>(&mut self, ways: &[fn(&mut Self) -> Option<T>]) -> Option<T> {
        let (rest, known) = (self.rest, self.substitutions.len());
        let state = (self.scope, self.in_lambda, self.in_conversion);
        for way in ways {
            if let Some(read) = way(self) {
                return Some(read);
            }
            self.rest = rest;
            self.substitutions.truncate(known);
            (self.scope, self.in_lambda, self.in_conversion) = state;
        }
        None
    }

    pub(super) fn expect(&mut self, start: &str) -> Option<()> {
        self.take(start).then_some(())
    }

    /// Refuses what is nested too deep.
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST || self.tree.nodes.len() > MOST {
            return None;
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn digits(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    /// `_`, `0_`, `1_` as 0, 1, 2.
    pub(super) fn sequence(&mut self) -> Option<usize> {
        if self.take("_") {
            return Some(0);
        }
        let number = self.digits().parse::<usize>().ok()?.checked_add(1)?;
        self.expect("_")?;
        Some(number)
    }

    /// The whole name.
    pub fn encoding(&mut self) -> Option<Id> {
        self.deeper(|p| match p.peek() {
            b'T' | b'G' => p.special(),
            _ => p.function_or_data(),
        })
    }

    fn is_end(&self) -> bool {
        matches!(self.peek(), 0 | b'E' | b'.')
    }

    fn function_or_data(&mut self) -> Option<Id> {
        let outer = self.scope;
        self.tree.scopes.push(Vec::new());
        self.scope = self.tree.scopes.len() - 1;
        let named = self.name(true)?;
        if self.is_end() {
            self.scope = outer;
            return Some(named.id);
        }
        let result = if named.has_result { Some(self.type_()?) } else { None };
        let mut parameters = Vec::new();
        while !self.is_end() && self.peek() != b'Q' {
            parameters.push(self.type_()?);
        }
        let function = Function { result, parameters, qualifiers: named.qualifiers, behind: None };
        let mut id = self.add(Node::Encoding(named.id, function, self.scope));
        if self.take("Q") {
            let constraint = self.expression()?;
            id = self.add(Node::Constrained(id, constraint));
        }
        self.scope = outer;
        Some(id)
    }

    fn special(&mut self) -> Option<Id> {
        type Read<'t> = fn(&mut Parser<'t>) -> Option<Id>;
        let name: Read = |p| p.name(false).map(|named| named.id);
        let of_what: [(&str, &'static str, Read); 16] = [
            ("TV", "vtable for ", Self::type_),
            ("TT", "VTT for ", Self::type_),
            ("TI", "typeinfo for ", Self::type_),
            ("TS", "typeinfo name for ", Self::type_),
            ("TF", "typeinfo fn for ", Self::type_),
            ("TA", "template parameter object for ", Self::argument),
            ("TH", "TLS init function for ", name),
            ("TW", "TLS wrapper function for ", name),
            ("GV", "guard variable for ", name),
            ("Th", "non-virtual thunk to ", |p| p.thunk(1)),
            ("Tv", "virtual thunk to ", |p| p.thunk(2)),
            ("Tch", "covariant return thunk to ", |p| p.covariant(1)),
            ("Tcv", "covariant return thunk to ", |p| p.covariant(2)),
            ("GTt", "transaction clone for ", Self::encoding),
            ("GTn", "non-transaction clone for ", Self::encoding),
            ("GA", "hidden alias for ", Self::encoding),
        ];
        if let Some((_, words, read)) = of_what.into_iter().find(|(code, ..)| self.take(code)) {
            let id = read(self)?;
            return Some(self.add(Node::Around(words, id, "")));
        }
        if self.take("TC") {
            let derived = self.type_()?;
            self.offsets(1)?;
            let base = self.type_()?;
            return Some(self.add(Node::InClass(base, derived)));
        }
        self.expect("GR")?;
        let id = name(self)?;
        let number = self.sequence().unwrap_or(0);
        let words = self.text(&format!("reference temporary #{number} for "));
        Some(self.add(Node::Row(vec![words, id])))
    }

    /// Numbers that may be negative, and are of no use.
    fn offsets(&mut self, n: usize) -> Option<()> {
        for _ in 0..n {
            self.take("n");
            (!self.digits().is_empty()).then_some(())?;
            self.expect("_")?;
        }
        Some(())
    }

    fn thunk(&mut self, offsets: usize) -> Option<Id> {
        self.offsets(offsets)?;
        self.encoding()
    }

    fn covariant(&mut self, offsets: usize) -> Option<Id> {
        self.offsets(offsets)?;
        if self.take("h") { self.thunk(1) } else { self.expect("v").and_then(|()| self.thunk(2)) }
    }

    /// `is_encoding`: template arguments are those that the parameters of functions refer to.
    pub(super) fn name(&mut self, is_encoding: bool) -> Option<Named> {
        self.deeper(|p| match p.peek() {
            b'N' => p.nested(is_encoding),
            b'Z' => p.local(is_encoding),
            _ => p.unscoped(is_encoding),
        })
    }

    fn unscoped(&mut self, is_encoding: bool) -> Option<Named> {
        let is_substitution = self.peek() == b'S' && !self.rest.starts_with("St");
        let id = if is_substitution {
            self.substitution()?
        } else {
            let in_std = self.take("St");
            let id = self.unqualified(None)?;
            if in_std { self.in_std(id) } else { id }
        };
        if self.peek() != b'I' {
            return Some(Named::plain(id, false));
        }
        if !is_substitution {
            self.candidate(id);
        }
        let has_result = !self.is_special_member(id);
        let arguments = self.arguments(is_encoding)?;
        let id = self.add(Node::Template(id, arguments));
        Some(Named::plain(id, has_result))
    }

    fn in_std(&mut self, id: Id) -> Id {
        let std = self.text("std");
        self.add(Node::Nested(std, id))
    }

    /// Constructors, destructors and conversions: these have no result.
    fn is_special_member(&self, id: Id) -> bool {
        match &self.tree.nodes[id] {
            Node::Constructor(_) | Node::Destructor(_) | Node::Conversion(_) => true,
            Node::Nested(_, name) | Node::Tagged(name, _) | Node::Local(_, name) => self.is_special_member(*name),
            _ => false,
        }
    }

    pub(super) fn qualifiers(&mut self) -> Qualifiers {
        let mut qualifiers = Qualifiers::default();
        loop {
            match self.peek() {
                b'r' => qualifiers.restrict = true,
                b'V' => qualifiers.volatile = true,
                b'K' => qualifiers.constant = true,
                _ => return qualifiers,
            }
            self.rest = &self.rest[1..];
        }
    }

    pub(super) fn reference(&mut self) -> Option<&'static str> {
        if self.take("R") {
            Some("&")
        } else if self.take("O") {
            Some("&&")
        } else {
            None
        }
    }

    fn nested(&mut self, is_encoding: bool) -> Option<Named> {
        self.expect("N")?;
        // An explicit object parameter.
        self.take("H");
        let mut qualifiers = self.qualifiers();
        qualifiers.reference = self.reference();
        let (mut so_far, mut has_result): (Option<Id>, bool) = (None, false);
        let mut parts = 0..DEEPEST;
        while !self.take("E") {
            parts.next()?;
            let (mut is_candidate, mut ends_with_arguments) = (true, false);
            let next = match self.peek() {
                b'S' if self.rest.starts_with("St") && so_far.is_none() => {
                    self.rest = &self.rest[2..];
                    is_candidate = false;
                    self.text("std")
                }
                b'S' if so_far.is_none() => {
                    is_candidate = false;
                    self.substitution()?
                }
                b'T' if so_far.is_none() => self.parameter()?,
                b'D' if so_far.is_none() && matches!(self.rest.as_bytes().get(1), Some(b't' | b'T')) => {
                    self.decltype()?
                }
                b'I' => {
                    let of = so_far?;
                    ends_with_arguments = !self.is_special_member(of);
                    let arguments = self.arguments(is_encoding)?;
                    self.add(Node::Template(of, arguments))
                }
                // The scope of an initial value.
                b'M' if so_far.is_some() => {
                    self.rest = &self.rest[1..];
                    continue;
                }
                _ => {
                    let name = self.unqualified(so_far)?;
                    match so_far {
                        Some(outer) => self.add(Node::Nested(outer, name)),
                        None => name,
                    }
                }
            };
            has_result = ends_with_arguments;
            if is_candidate && self.peek() != b'E' {
                self.candidate(next);
            }
            so_far = Some(next);
        }
        Some(Named { id: so_far?, qualifiers, has_result })
    }

    fn local(&mut self, is_encoding: bool) -> Option<Named> {
        self.expect("Z")?;
        let function = self.encoding()?;
        self.expect("E")?;
        if self.take("s") {
            self.discriminator();
            let literal = self.text("string literal");
            let id = self.add(Node::Local(function, literal));
            return Some(Named::plain(id, false));
        }
        if self.take("d") {
            // Of a default argument, counted from the last.
            let number = self.sequence()? + 1;
            let scope = self.text(&format!("{{default arg#{number}}}"));
            let named = self.name(is_encoding)?;
            let inner = self.add(Node::Nested(scope, named.id));
            return Some(Named { id: self.add(Node::Local(function, inner)), ..named });
        }
        let named = self.name(is_encoding)?;
        self.discriminator();
        Some(Named { id: self.add(Node::Local(function, named.id)), ..named })
    }

    fn discriminator(&mut self) {
        let before = self.rest;
        let is_one = if self.take("__") {
            let has_digits = !self.digits().is_empty();
            has_digits && self.take("_")
        } else {
            self.take("_") && !self.digits().is_empty()
        };
        if !is_one {
            self.rest = before;
        }
    }

    /// `outer`: what it is in, by which constructors are called.
    pub(super) fn unqualified(&mut self, outer: Option<Id>) -> Option<Id> {
        let mut module = None;
        while self.take("W") {
            let is_partition = self.take("P");
            let part = self.source_text()?;
            module = Some(match module {
                None if is_partition => format!(":{part}"),
                None => part,
                Some(all) => format!("{all}{}{part}", if is_partition { ':' } else { '.' }),
            });
        }
        self.take("F");
        self.take("L");
        let mut id = match self.peek() {
            b'0'..=b'9' => self.source()?,
            b'U' if self.take("Ut") => {
                let number = self.sequence()? + 1;
                let id = self.text(&format!("{{unnamed type#{number}}}"));
                self.candidate(id)
            }
            b'U' if self.take("Ul") => self.lambda()?,
            b'C' => {
                self.rest = &self.rest[1..];
                let inherits = self.take("I");
                matches!(self.peek(), b'1'..=b'5').then(|| self.rest = &self.rest[1..])?;
                let of = if inherits { self.type_()? } else { outer? };
                self.add(Node::Constructor(of))
            }
            b'D' if self.take("DC") => {
                let mut names = Vec::new();
                while !self.take("E") {
                    names.push(self.source()?);
                }
                self.add(Node::Binding(names))
            }
            b'D' => {
                self.rest = &self.rest[1..];
                matches!(self.peek(), b'0'..=b'5').then(|| self.rest = &self.rest[1..])?;
                self.add(Node::Destructor(outer?))
            }
            _ => self.operator_name()?,
        };
        if let Some(module) = module {
            id = self.add(Node::InModule(id, module));
        }
        let mut tags = 0..DEEPEST;
        while self.take("B") {
            tags.next()?;
            let tag = self.source_text()?;
            id = self.add(Node::Tagged(id, tag));
        }
        Some(id)
    }

    pub(super) fn source_text(&mut self) -> Option<String> {
        let length: usize = self.digits().parse().ok()?;
        let name = self.rest.get(..length).filter(|name| !name.is_empty())?;
        self.rest = &self.rest[length..];
        let is_anonymous = name
            .strip_prefix("_GLOBAL_")
            .is_some_and(|rest| rest.starts_with(['_', '.', '$']) && rest[1..].starts_with('N'));
        Some(if is_anonymous { "(anonymous namespace)".into() } else { name.into() })
    }

    pub(super) fn source(&mut self) -> Option<Id> {
        let name = self.source_text()?;
        Some(self.text(&name))
    }

    fn lambda(&mut self) -> Option<Id> {
        self.in_lambda += 1;
        let mut head = Vec::new();
        while self.peek() == b'T' && matches!(self.rest.as_bytes().get(1), Some(b'y' | b'n' | b't' | b'p')) {
            let number = head.len();
            head.push(self.declared(number)?);
        }
        let parameters = self.types_to_end();
        self.in_lambda -= 1;
        let (parameters, number) = (parameters?, self.sequence()? + 1);
        Some(self.add(Node::Lambda { head, parameters, number }))
    }

    /// A parameter of a template that a head declares.
    pub(super) fn declared(&mut self, number: usize) -> Option<Id> {
        let is_pack = self.take("Tp");
        let kind = if self.take("Ty") {
            (if is_pack { "typename..." } else { "typename" }, None, "T")
        } else if self.take("Tn") {
            let of = self.type_()?;
            (if is_pack { "..." } else { "" }, Some(of), "N")
        } else {
            self.expect("Tt")?;
            while !self.take("E") {
                self.declared(0)?;
            }
            ("template<typename> class", None, "TT")
        };
        Some(self.add(Node::Declared(kind.0, kind.1, format!("${}{number}", kind.2))))
    }

    pub(super) fn types_to_end(&mut self) -> Option<Vec<Id>> {
        let mut types = Vec::new();
        while !self.take("E") {
            types.push(self.type_()?);
        }
        Some(types)
    }

    pub(super) fn substitution(&mut self) -> Option<Id> {
        const STRING: &str = "std::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        let standard = [
            ("Sa", "std::allocator", "allocator"),
            ("Sb", "std::basic_string", "basic_string"),
            ("Ss", STRING, "basic_string"),
            ("Si", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"),
            ("So", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"),
            ("Sd", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"),
        ];
        if let Some((_, whole, class)) = standard.into_iter().find(|(code, ..)| self.take(code)) {
            let mut id = self.add(Node::Standard(whole, class));
            if self.take("B") {
                let tag = self.source_text()?;
                id = self.add(Node::Tagged(id, tag));
                self.candidate(id);
            }
            return Some(id);
        }
        self.expect("S")?;
        let number = if self.take("_") {
            0
        } else {
            let end = self.rest.find('_')?;
            let is_digit = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
            let digits = &self.rest[..end];
            digits.bytes().all(is_digit).then_some(())?;
            self.rest = &self.rest[end + 1..];
            usize::from_str_radix(digits, 36).ok()?.checked_add(1)?
        };
        self.substitutions.get(number).copied()
    }
}
