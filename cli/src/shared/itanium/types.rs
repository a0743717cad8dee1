//! Reads types, and the arguments of templates.

use super::parse::Parser;
use super::tree::{Exception, Function, Id, Literals, Node, Qualifiers};

impl Parser<'_> {
    pub(super) fn parameter(&mut self) -> Option<Id> {
        self.expect("T")?;
        if self.take("L") {
            self.sequence()?;
        }
        let index = self.sequence()?;
        Some(self.add(Node::Parameter(index)))
    }

    pub(super) fn decltype(&mut self) -> Option<Id> {
        (self.take("Dt") || self.take("DT")).then_some(())?;
        let id = self.expression()?;
        self.expect("E")?;
        Some(self.add(Node::Around("decltype (", id, ")")))
    }

    pub(super) fn arguments(&mut self, is_encoding: bool) -> Option<Vec<Id>> {
        self.expect("I")?;
        let mut arguments = Vec::new();
        while !self.take("E") {
            // A constraint of the template.
            if self.take("Q") {
                self.expression()?;
                continue;
            }
            arguments.push(self.argument()?);
        }
        if is_encoding && self.in_lambda == 0 {
            self.tree.scopes[self.scope].clone_from(&arguments);
        }
        Some(arguments)
    }

    pub(super) fn argument(&mut self) -> Option<Id> {
        self.deeper(|p| match p.peek() {
            b'L' => p.primary(),
            b'X' => {
                p.rest = &p.rest[1..];
                let id = p.expression()?;
                p.expect("E")?;
                Some(id)
            }
            b'J' => {
                p.rest = &p.rest[1..];
                let mut pack = Vec::new();
                while !p.take("E") {
                    pack.push(p.argument()?);
                }
                Some(p.add(Node::Pack(pack)))
            }
            b'T' if matches!(p.rest.as_bytes().get(1), Some(b'y' | b'n' | b't' | b'p' | b'k')) => {
                if p.take("Tk") {
                    p.name(false)?;
                } else {
                    p.declared(0)?;
                }
                p.argument()
            }
            _ => p.type_(),
        })
    }

    pub(super) fn type_(&mut self) -> Option<Id> {
        self.deeper(Self::any_type)
    }

    fn any_type(&mut self) -> Option<Id> {
        if let Some((node, length)) = builtin(self.rest) {
            self.rest = &self.rest[length..];
            return Some(self.add(node));
        }
        let id = match self.peek() {
            b'r' | b'V' | b'K' => {
                let qualifiers = self.qualifiers();
                // Of functions they are the object's, and part of the type.
                let is_function =
                    self.peek() == b'F' || ["Do", "DO", "Dw", "Dx"].iter().any(|d| self.rest.starts_with(d));
                if is_function {
                    let id = if self.peek() == b'F' { self.function(None)? } else { self.type_of_d()? };
                    if let Node::Function(function) = &mut self.tree.nodes[id] {
                        function.qualifiers = Qualifiers { reference: function.qualifiers.reference, ..qualifiers };
                    }
                    id
                } else {
                    let inner = self.type_()?;
                    self.add(Node::Qualified(inner, qualifiers))
                }
            }
            b'P' => {
                self.rest = &self.rest[1..];
                let inner = self.type_()?;
                self.add(Node::Pointer(inner))
            }
            b'R' | b'O' => {
                let kind = self.reference()?;
                let inner = self.type_()?;
                self.add(Node::Reference(inner, kind))
            }
            b'C' | b'G' => {
                let words = if self.take("C") { " _Complex" } else { self.expect("G").map(|()| " _Imaginary")? };
                let inner = self.type_()?;
                self.add(Node::Around("", inner, words))
            }
            b'F' => self.function(None)?,
            b'A' => {
                self.rest = &self.rest[1..];
                let size = self.dimension()?;
                let inner = self.type_()?;
                self.add(Node::Array(size, inner))
            }
            b'M' => {
                self.rest = &self.rest[1..];
                let class = self.type_()?;
                let inner = self.type_()?;
                self.add(Node::Member(class, inner))
            }
            b'T' if matches!(self.rest.as_bytes().get(1), Some(b's' | b'u' | b'e')) => {
                self.rest = &self.rest[2..];
                self.name(false)?.id
            }
            b'T' => {
                let id = self.parameter()?;
                if self.peek() == b'I' && !self.in_conversion {
                    self.candidate(id);
                    let arguments = self.arguments(false)?;
                    self.add(Node::Template(id, arguments))
                } else {
                    id
                }
            }
            b'S' if !self.rest.starts_with("St") => {
                let id = self.substitution()?;
                if self.peek() != b'I' || self.in_conversion {
                    return Some(id);
                }
                let arguments = self.arguments(false)?;
                self.add(Node::Template(id, arguments))
            }
            b'D' => self.type_of_d()?,
            b'U' => {
                self.rest = &self.rest[1..];
                let mut name = self.source_text()?;
                let arguments = if self.peek() == b'I' { Some(self.arguments(false)?) } else { None };
                if arguments.is_some() {
                    name.push_str("<>");
                }
                let inner = self.type_()?;
                self.add(Node::Vendor(inner, name))
            }
            b'u' => {
                self.rest = &self.rest[1..];
                let id = self.source()?;
                if self.peek() == b'I' {
                    let arguments = self.arguments(false)?;
                    self.add(Node::Template(id, arguments))
                } else {
                    id
                }
            }
            _ => self.name(false)?.id,
        };
        Some(self.candidate(id))
    }

    fn type_of_d(&mut self) -> Option<Id> {
        match self.rest.as_bytes().get(1)? {
            b't' | b'T' => self.decltype(),
            b'p' => {
                self.rest = &self.rest[2..];
                let inner = self.type_()?;
                Some(self.add(Node::Expansion(inner)))
            }
            b'o' | b'O' | b'w' | b'x' => {
                let behind = if self.take("Do") {
                    Some(Exception::Noexcept)
                } else if self.take("DO") {
                    let condition = self.expression()?;
                    self.expect("E")?;
                    Some(Exception::NoexceptIf(condition))
                } else if self.take("Dw") {
                    Some(Exception::Throws(self.types_to_end()?))
                } else {
                    self.take("Dx");
                    None
                };
                self.function(behind)
            }
            b'v' => {
                self.rest = &self.rest[2..];
                let size = self.dimension()?;
                let inner = self.type_()?;
                Some(self.add(Node::Vector(size, inner)))
            }
            b'B' | b'U' => {
                let words = if self.take("DB") {
                    "signed _BitInt("
                } else {
                    self.expect("DU").map(|()| "unsigned _BitInt(")?
                };
                let size = self.dimension()??;
                Some(self.add(Node::Around(words, size, ")")))
            }
            _ => None,
        }
    }

    /// A number or an expression, up to `_`.
    fn dimension(&mut self) -> Option<Option<Id>> {
        if self.take("_") {
            return Some(None);
        }
        let id = if self.peek().is_ascii_digit() {
            let digits = self.digits();
            self.text(digits)
        } else {
            self.expression()?
        };
        self.expect("_")?;
        Some(Some(id))
    }

    fn function(&mut self, behind: Option<Exception>) -> Option<Id> {
        self.take("Dx");
        self.expect("F")?;
        self.take("Y");
        let result = Some(self.type_()?);
        let (mut parameters, mut qualifiers) = (Vec::new(), Qualifiers::default());
        while !self.take("E") {
            if self.rest.starts_with("RE") || self.rest.starts_with("OE") {
                qualifiers.reference = self.reference();
                continue;
            }
            parameters.push(self.type_()?);
        }
        Some(self.add(Node::Function(Function { result, parameters, qualifiers, behind })))
    }

    /// The type of a conversion. In a name, the arguments of the template that the conversion is follow.
    pub(super) fn conversion(&mut self, is_expression: bool) -> Option<Id> {
        let outer = std::mem::replace(&mut self.in_conversion, !is_expression);
        let id = self.type_();
        self.in_conversion = outer;
        id
    }
}

fn builtin(rest: &str) -> Option<(Node, usize)> {
    use Literals::{Bool, Cast, Float, Suffix};
    let node = |name, literals| Some((Node::Builtin(name, literals), 1));
    match rest.as_bytes().first()? {
        b'v' => node("void", Cast),
        b'w' => node("wchar_t", Cast),
        b'b' => node("bool", Bool),
        b'c' => node("char", Cast),
        b'a' => node("signed char", Cast),
        b'h' => node("unsigned char", Cast),
        b's' => node("short", Cast),
        b't' => node("unsigned short", Cast),
        b'i' => node("int", Suffix("")),
        b'j' => node("unsigned int", Suffix("u")),
        b'l' => node("long", Suffix("l")),
        b'm' => node("unsigned long", Suffix("ul")),
        b'x' => node("long long", Suffix("ll")),
        b'y' => node("unsigned long long", Suffix("ull")),
        b'n' => node("__int128", Cast),
        b'o' => node("unsigned __int128", Cast),
        b'f' => node("float", Float),
        b'd' => node("double", Float),
        b'e' => node("long double", Float),
        b'g' => node("__float128", Float),
        b'z' => node("...", Cast),
        b'D' => {
            let two = |name, literals| Some((Node::Builtin(name, literals), 2));
            match rest.as_bytes().get(1)? {
                b'd' => two("decimal64", Cast),
                b'e' => two("decimal128", Cast),
                b'f' => two("decimal32", Cast),
                b'h' => two("_Float16", Float),
                b'i' => two("char32_t", Cast),
                b's' => two("char16_t", Cast),
                b'u' => two("char8_t", Cast),
                b'a' => two("auto", Cast),
                b'c' => two("decltype(auto)", Cast),
                b'n' => two("decltype(nullptr)", Cast),
                b'F' => {
                    let known = [
                        ("DF16b", "std::bfloat16_t"),
                        ("DF16_", "_Float16"),
                        ("DF32_", "_Float32"),
                        ("DF64_", "_Float64"),
                        ("DF128_", "_Float128"),
                        ("DF32x", "_Float32x"),
                        ("DF64x", "_Float64x"),
                    ];
                    let (code, name) = known.into_iter().find(|(code, _)| rest.starts_with(code))?;
                    Some((Node::Builtin(name, Float), code.len()))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
