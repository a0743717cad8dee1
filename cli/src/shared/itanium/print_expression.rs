//! Writes the expressions in types and arguments.

use super::print::Printer;
use super::tree::{Id, Literals, Node};

impl Printer<'_> {
    /// An operand: in brackets, unless it is a name.
    pub(super) fn sub(&mut self, id: Id) {
        let is_simple = matches!(
            self.node(id),
            Node::Text(_) | Node::Nested(..) | Node::List(..) | Node::Argument(_) | Node::Standard(..)
        );
        if is_simple {
            self.whole(id);
        } else {
            self.bracketed(|p| p.whole(id));
        }
    }

    fn bracketed(&mut self, write: impl FnOnce(&mut Self)) {
        self.put("(");
        write(self);
        self.put(")");
    }

    pub(super) fn expression(&mut self, id: Id) {
        match self.node(id) {
            Node::Unary(text, operand) => {
                let operand = match self.node(*operand) {
                    // The address of a function is that of its name.
                    Node::Encoding(name, ..) if *text == "&" && matches!(self.node(*name), Node::Nested(..)) => *name,
                    _ => *operand,
                };
                self.put(text);
                if matches!(*text, "sizeof " | "noexcept") {
                    self.bracketed(|p| p.whole(operand));
                } else {
                    self.sub(operand);
                }
            }
            Node::Postfix(text, operand) => {
                self.sub(*operand);
                self.put(text);
            }
            Node::Binary(text, left, right) => {
                let write = |p: &mut Self| {
                    p.sub(*left);
                    p.put(text);
                    p.sub(*right);
                };
                // So that it does not look like the end of arguments.
                if *text == ">" { self.bracketed(write) } else { write(self) }
            }
            Node::Index(of, index) => {
                self.sub(*of);
                self.put("[");
                self.whole(*index);
                self.put("]");
            }
            Node::Call(function, arguments) => {
                let name = match self.node(*function) {
                    Node::Encoding(name, ..) => *name,
                    _ => *function,
                };
                self.sub(name);
                self.bracketed(|p| p.list(arguments));
            }
            Node::Conditional(condition, yes, no) => {
                self.sub(*condition);
                self.put("?");
                self.sub(*yes);
                self.put(" : ");
                self.sub(*no);
            }
            Node::Cast(to, list) => {
                self.bracketed(|p| p.whole(*to));
                match &list[..] {
                    [one] => self.sub(*one),
                    _ => self.bracketed(|p| p.list(list)),
                }
            }
            Node::NamedCast(text, to, operand) => {
                self.put(text);
                self.put("<");
                self.whole(*to);
                self.put(">");
                self.bracketed(|p| p.whole(*operand));
            }
            Node::New { global, placement, of, initial, braced } => {
                self.put(if *global { "::new " } else { "new " });
                if !placement.is_empty() {
                    self.bracketed(|p| p.list(placement));
                    self.put(" ");
                }
                self.whole(*of);
                if let Some(initial) = initial {
                    self.bracketed(|p| p.list(initial));
                }
                braced.iter().for_each(|id| self.whole(*id));
            }
            Node::List(of, list) => {
                of.iter().for_each(|of| self.whole(*of));
                self.put("{");
                self.list(list);
                self.put("}");
            }
            Node::Designated(open, member, value) => {
                self.put(open);
                self.whole(*member);
                self.put(if *open == "[" { "]=" } else { "=" });
                self.whole(*value);
            }
            Node::Fold(kind, text, first, second) => self.fold(*kind, text, *first, *second),
            Node::SizeOfPack(id) => match self.pack(*id, 0) {
                Some(length) => self.put(&length.to_string()),
                None => {
                    self.put("sizeof...");
                    self.sub(*id);
                }
            },
            Node::SizeOfArguments(list) => {
                let length = |id: &Id| match self.node(*id) {
                    Node::Expansion(id) => self.pack(*id, 0).unwrap_or(0),
                    Node::Pack(parts) => parts.len(),
                    _ => 1,
                };
                let length: usize = list.iter().map(length).sum();
                self.put(&length.to_string());
            }
            Node::Argument(number) => self.put(&format!("{{parm#{number}}}")),
            Node::Value(of, value) => self.value(*of, value),
            Node::Requires(parameters, list) => {
                self.put("requires");
                if !parameters.is_empty() {
                    self.put(" ");
                    self.bracketed(|p| p.parameters(parameters));
                }
                self.put(" {");
                for id in list {
                    self.put(" ");
                    self.whole(*id);
                    self.put(";");
                }
                self.put(" }");
            }
            _ => self.failed = true,
        }
    }

    fn fold(&mut self, kind: char, text: &str, first: Id, second: Option<Id>) {
        let outer = self.part.take();
        self.put("(");
        match (kind, second) {
            ('l', _) => {
                self.put("...");
                self.put(text);
                self.sub(first);
            }
            ('r', _) => {
                self.sub(first);
                self.put(text);
                self.put("...");
            }
            (_, Some(second)) => {
                self.sub(first);
                self.put(text);
                self.put("...");
                self.put(text);
                self.sub(second);
            }
            _ => self.failed = true,
        }
        self.put(")");
        self.part = outer;
    }

    fn value(&mut self, of: Id, value: &str) {
        match self.node(of) {
            Node::Builtin(_, Literals::Suffix(suffix)) => {
                self.put(value);
                self.put(suffix);
            }
            Node::Builtin(_, Literals::Bool) if matches!(value, "0" | "1") => {
                self.put(if value == "1" { "true" } else { "false" });
            }
            Node::Builtin(_, Literals::Float) => {
                self.bracketed(|p| p.whole(of));
                self.put("[");
                self.put(value);
                self.put("]");
            }
            _ => {
                self.bracketed(|p| p.whole(of));
                self.put(value);
            }
        }
    }
}
