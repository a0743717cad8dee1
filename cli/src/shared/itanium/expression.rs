//! Reads the operators of names, and the expressions that types and arguments contain.

use super::parse::Parser;
use super::tree::{Id, Node};

/// How an operator stands to what it is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unary,
    /// In front or behind.
    Step,
    Binary,
    Type,
    Cast,
    Other,
}

/// Code, text and kind of each operator.
const OPERATORS: [(&str, &str, Kind); 67] = {
    use Kind::{Binary, Cast, Other, Step, Type, Unary};
    [
        ("aN", "&=", Binary),
        ("aS", "=", Binary),
        ("aa", "&&", Binary),
        ("ad", "&", Unary),
        ("an", "&", Binary),
        ("at", "alignof ", Type),
        ("aw", "co_await ", Unary),
        ("az", "alignof ", Unary),
        ("cc", "const_cast", Cast),
        ("cl", "()", Other),
        ("cm", ",", Binary),
        ("co", "~", Unary),
        ("dV", "/=", Binary),
        ("dX", "[...]=", Other),
        ("da", "delete[] ", Unary),
        ("dc", "dynamic_cast", Cast),
        ("de", "*", Unary),
        ("di", "=", Other),
        ("dl", "delete ", Unary),
        ("ds", ".*", Binary),
        ("dt", ".", Other),
        ("dv", "/", Binary),
        ("dx", "]=", Other),
        ("eO", "^=", Binary),
        ("eo", "^", Binary),
        ("eq", "==", Binary),
        ("ge", ">=", Binary),
        ("gs", "::", Other),
        ("gt", ">", Binary),
        ("ix", "[]", Other),
        ("lS", "<<=", Binary),
        ("le", "<=", Binary),
        ("ls", "<<", Binary),
        ("lt", "<", Binary),
        ("mI", "-=", Binary),
        ("mL", "*=", Binary),
        ("mi", "-", Binary),
        ("ml", "*", Binary),
        ("mm", "--", Step),
        ("na", "new[]", Other),
        ("ne", "!=", Binary),
        ("ng", "-", Unary),
        ("nt", "!", Unary),
        ("nw", "new", Other),
        ("oR", "|=", Binary),
        ("oo", "||", Binary),
        ("or", "|", Binary),
        ("pL", "+=", Binary),
        ("pl", "+", Binary),
        ("pm", "->*", Binary),
        ("pp", "++", Step),
        ("ps", "+", Unary),
        ("pt", "->", Other),
        ("qu", "?", Other),
        ("rM", "%=", Binary),
        ("rS", ">>=", Binary),
        ("rc", "reinterpret_cast", Cast),
        ("rm", "%", Binary),
        ("rs", ">>", Binary),
        ("sc", "static_cast", Cast),
        ("ss", "<=>", Binary),
        ("st", "sizeof ", Type),
        ("sz", "sizeof ", Unary),
        ("te", "typeid ", Unary),
        ("ti", "typeid ", Type),
        ("tw", "throw ", Unary),
        ("nx", "noexcept", Other),
    ]
};

impl Parser<'_> {
    fn operator(&mut self) -> Option<(&'static str, &'static str, Kind)> {
        OPERATORS.into_iter().find(|(code, ..)| self.take(code))
    }

    /// `operator+`, `operator int`, `operator"" _km`.
    pub(super) fn operator_name(&mut self) -> Option<Id> {
        if self.take("cv") {
            let to = self.conversion(false)?;
            return Some(self.add(Node::Conversion(to)));
        }
        if self.take("li") {
            let name = self.unqualified(None)?;
            return Some(self.add(Node::LiteralOperator(name)));
        }
        // A vendor's, with the number of its operands.
        if self.peek() == b'v' {
            self.rest = self.rest.get(2..)?;
            let name = self.unqualified(None)?;
            return Some(self.add(Node::Conversion(name)));
        }
        let (_, text, _) = self.operator()?;
        Some(self.add(Node::Operator(text)))
    }

    pub(super) fn expression(&mut self) -> Option<Id> {
        self.deeper(Self::any_expression)
    }

    fn expressions(&mut self, end: &str) -> Option<Vec<Id>> {
        let mut list = Vec::new();
        while !self.take(end) {
            list.push(self.expression()?);
        }
        Some(list)
    }

    /// A name that may have template arguments.
    fn named(&mut self) -> Option<Id> {
        let id = self.unqualified(None)?;
        self.with_arguments(id)
    }

    fn with_arguments(&mut self, id: Id) -> Option<Id> {
        if self.peek() != b'I' {
            return Some(id);
        }
        let arguments = self.arguments(false)?;
        Some(self.add(Node::Template(id, arguments)))
    }

    fn any_expression(&mut self) -> Option<Id> {
        match self.peek() {
            b'L' => return self.primary(),
            b'T' => return self.parameter(),
            b'0'..=b'9' => return self.named(),
            b'f' if self.rest.starts_with("fp") || self.rest.starts_with("fL") => return self.argument_of_function(),
            b'f' => return self.fold(),
            _ => {}
        }
        if self.take("on") {
            let id = self.operator_name()?;
            return self.with_arguments(id);
        }
        if self.take("sr") {
            return self.resolved();
        }
        if self.take("sp") {
            let id = self.expression()?;
            return Some(self.add(Node::Expansion(id)));
        }
        if self.take("sZ") {
            let id = self.expression()?;
            return Some(self.add(Node::SizeOfPack(id)));
        }
        if self.take("sP") {
            let mut list = Vec::new();
            while !self.take("E") {
                list.push(self.argument()?);
            }
            return Some(self.add(Node::SizeOfArguments(list)));
        }
        if self.take("il") {
            let list = self.expressions("E")?;
            return Some(self.add(Node::List(None, list)));
        }
        if self.take("tl") {
            let of = self.type_()?;
            let list = self.expressions("E")?;
            return Some(self.add(Node::List(Some(of), list)));
        }
        if self.take("tr") {
            return Some(self.text("throw"));
        }
        if self.take("rq") || self.take("rQ") {
            return self.requirements();
        }
        if self.take("u") {
            let id = self.unqualified(None)?;
            let mut list = Vec::new();
            while !self.take("E") {
                list.push(self.argument()?);
            }
            return Some(self.add(Node::Call(id, list)));
        }
        if self.take("cv") {
            let to = self.conversion(true)?;
            let list = if self.take("_") { self.expressions("E")? } else { vec![self.expression()?] };
            return Some(self.add(Node::Cast(to, list)));
        }
        let (code, text, kind) = self.operator()?;
        match kind {
            Kind::Type => {
                let id = self.type_()?;
                Some(self.add(Node::Unary(text, id)))
            }
            Kind::Unary => {
                let id = self.expression()?;
                Some(self.add(Node::Unary(text, id)))
            }
            Kind::Step => {
                let is_in_front = self.take("_");
                let id = self.expression()?;
                Some(self.add(if is_in_front { Node::Unary(text, id) } else { Node::Postfix(text, id) }))
            }
            Kind::Binary => {
                let (left, right) = (self.expression()?, self.expression()?);
                Some(self.add(Node::Binary(text, left, right)))
            }
            Kind::Cast => {
                let (to, id) = (self.type_()?, self.expression()?);
                Some(self.add(Node::NamedCast(text, to, id)))
            }
            Kind::Other => self.other(code, text),
        }
    }

    fn other(&mut self, code: &str, text: &'static str) -> Option<Id> {
        let node = match code {
            "cl" => {
                let function = self.expression()?;
                Node::Call(function, self.expressions("E")?)
            }
            "ix" => Node::Index(self.expression()?, self.expression()?),
            "qu" => Node::Conditional(self.expression()?, self.expression()?, self.expression()?),
            "nx" => Node::Unary(text, self.expression()?),
            "dt" | "pt" => {
                let of = self.expression()?;
                let member = if self.take("sr") { self.resolved()? } else { self.named()? };
                Node::Binary(text, of, member)
            }
            "di" => {
                let member = self.unqualified(None)?;
                Node::Designated(".", member, self.expression()?)
            }
            "dx" => {
                let index = self.expression()?;
                Node::Designated("[", index, self.expression()?)
            }
            "gs" => {
                if self.take("nw") || self.take("na") {
                    self.new_object(true)?
                } else if self.take("dl") {
                    Node::Unary("::delete ", self.expression()?)
                } else {
                    Node::Around("::", self.expression()?, "")
                }
            }
            "nw" | "na" => self.new_object(false)?,
            _ => return None,
        };
        Some(self.add(node))
    }

    fn new_object(&mut self, global: bool) -> Option<Node> {
        let placement = self.expressions("_")?;
        let of = self.type_()?;
        let (mut initial, mut braced) = (None, None);
        if self.take("pi") {
            initial = Some(self.expressions("E")?);
        } else if self.rest.starts_with("il") {
            braced = Some(self.expression()?);
        } else {
            self.take("E").then_some(())?;
        }
        Some(Node::New { global, placement, of, initial, braced })
    }

    /// Behind `sr`: a type and a name in it.
    fn resolved(&mut self) -> Option<Id> {
        // Compilers have written this in several ways.
        self.any(&[Self::qualified, Self::of_type, Self::of_std, Self::of_levels])
    }

    fn of_type(&mut self) -> Option<Id> {
        let of = self.type_()?;
        self.member(of)
    }

    fn of_std(&mut self) -> Option<Id> {
        self.take("St").then_some(())?;
        let std = self.text("std");
        self.member(std)
    }

    fn of_levels(&mut self) -> Option<Id> {
        self.take("N").then_some(())?;
        let mut so_far = self.type_()?;
        while !self.take("E") {
            let name = self.named()?;
            so_far = self.add(Node::Nested(so_far, name));
        }
        self.member(so_far)
    }

    fn member(&mut self, of: Id) -> Option<Id> {
        let name = if self.take("on") { self.operator_name()? } else { self.unqualified(Some(of))? };
        let id = self.add(Node::Nested(of, name));
        self.with_arguments(id)
    }

    /// `A::B::c` with an end behind `B`.
    fn qualified(&mut self) -> Option<Id> {
        self.peek().is_ascii_digit().then_some(())?;
        let mut so_far = self.named()?;
        while !self.take("E") {
            self.peek().is_ascii_digit().then_some(())?;
            let name = self.named()?;
            so_far = self.add(Node::Nested(so_far, name));
        }
        self.member(so_far)
    }

    fn argument_of_function(&mut self) -> Option<Id> {
        if self.take("fpT") {
            return Some(self.text("this"));
        }
        if self.take("fL") {
            let end = self.rest.find('p')?;
            self.rest = &self.rest[end + 1..];
        } else {
            self.rest = &self.rest[2..];
        }
        let _of_the_parameter = self.take("r") | self.take("V") | self.take("K");
        let number = self.sequence()? + 1;
        Some(self.add(Node::Argument(number)))
    }

    fn fold(&mut self) -> Option<Id> {
        let kind = self.rest.chars().nth(1).filter(|kind| matches!(kind, 'l' | 'r' | 'L' | 'R'))?;
        self.rest = &self.rest[2..];
        let (_, text, _) = self.operator()?;
        let first = self.expression()?;
        let second = if matches!(kind, 'L' | 'R') { Some(self.expression()?) } else { None };
        Some(self.add(Node::Fold(kind, text, first, second)))
    }

    fn requirements(&mut self) -> Option<Id> {
        let (mut parameters, mut list) = (Vec::new(), Vec::new());
        // Parameters are there in one of the two forms, and end with `_`.
        while self.peek() != b'X' && self.peek() != b'T' && self.peek() != b'Q' && !self.take("_") {
            parameters.push(self.type_()?);
        }
        while !self.take("E") {
            if self.take("X") {
                let mut id = self.expression()?;
                let is_noexcept = self.take("N");
                if self.take("R") {
                    let constraint = self.type_()?;
                    id = self.add(Node::Constrained(id, constraint));
                }
                list.push(if is_noexcept { self.add(Node::Around("", id, " noexcept")) } else { id });
            } else if self.take("T") {
                let id = self.type_()?;
                list.push(self.add(Node::Around("typename ", id, "")));
            } else {
                self.take("Q").then_some(())?;
                let id = self.expression()?;
                list.push(self.add(Node::Around("requires ", id, "")));
            }
        }
        Some(self.add(Node::Requires(parameters, list)))
    }

    /// A literal, or the name of a function or variable.
    pub(super) fn primary(&mut self) -> Option<Id> {
        self.take("L").then_some(())?;
        if self.take("_Z") || self.take("Z") {
            let id = self.encoding()?;
            self.take("E").then_some(())?;
            return Some(id);
        }
        let of = self.type_()?;
        let end = self.rest.find('E')?;
        let value = &self.rest[..end];
        let value = value.strip_prefix('n').map_or_else(|| value.to_owned(), |rest| format!("-{rest}"));
        self.rest = &self.rest[end + 1..];
        Some(self.add(Node::Value(of, value)))
    }
}
