//! Types of debug information: which field of a type lies at an offset.
//!
//! Takes the debug node of a type, an offset in bytes, the steps that an address makes through arrays, and the bytes of
//! an access; gives the [`Spot`] there. Refuses what does not fit: an address whose steps are not those of the type's
//! arrays, an access beyond its end.

use std::{collections::HashMap, rc::Rc};

use crate::llvm::ir::{Metadata, Nodes};

/// DWARF tags, as in the standard's section 7.5.3.
mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const CLASS: u16 = 0x02;
    pub const MEMBER: u16 = 0x0d;
    pub const POINTER: u16 = 0x0f;
    pub const REFERENCE: u16 = 0x10;
    pub const STRUCTURE: u16 = 0x13;
    pub const TYPEDEF: u16 = 0x16;
    pub const UNION: u16 = 0x17;
    pub const INHERITANCE: u16 = 0x1c;
    pub const CONST: u16 = 0x26;
    pub const VOLATILE: u16 = 0x35;
    pub const RESTRICT: u16 = 0x37;
    pub const RVALUE_REFERENCE: u16 = 0x42;
    pub const ATOMIC: u16 = 0x47;
}

/// Names and qualifiers of one type, bounded against malformed cyclic metadata.
const MOST_NAMES: usize = 1000;
/// Types inside types are followed this far.
const DEEP: usize = 16;

/// What an access goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot<'m> {
    /// The outermost structure that is an element or a variable of its own; without one, the scalar type.
    pub type_name: String,
    /// Bytes of that type.
    pub type_size: u64,
    /// `position.x`, `history[]`; the first and the last of several fields; empty for scalars.
    pub field: String,
    /// Of the field, or of the access if it covers several, in the type.
    pub offset: u64,
    pub size: u64,
    /// The field's own type; `None` if the access covers several.
    pub leaf: Option<Metadata<'m>>,
}

#[derive(Clone, Debug)]
enum Shape<'m> {
    /// Numbers, pointers, enumerations.
    Scalar,
    Array(Metadata<'m>),
    Fields(Rc<[Member<'m>]>),
    Pointer(Option<Metadata<'m>>),
    Unknown,
}

#[derive(Clone, Debug)]
struct Member<'m> {
    name: String,
    /// In bits: fields may be parts of a byte.
    start: u64,
    bits: u64,
    ty: Metadata<'m>,
}

#[derive(Clone, Debug)]
struct Type<'m> {
    name: String,
    size: u64,
    shape: Shape<'m>,
}

/// Types of one module.
pub struct Types<'m> {
    nodes: Nodes<'m>,
    known: HashMap<Metadata<'m>, Rc<Type<'m>>>,
}

impl<'m> Types<'m> {
    #[must_use]
    pub fn new(nodes: Nodes<'m>) -> Self {
        Self { nodes, known: HashMap::new() }
    }

    /// What lies `offset` bytes from an address at which one or several values of a type lie in a row.
    pub fn spot(&mut self, ty: Metadata<'m>, offset: i64, steps: &[i64], size: u64) -> Option<Spot<'m>> {
        let mut steps = steps.to_vec();
        let mut at = self.get(ty);
        let mut of = ty;
        let mut offset = inside(offset, at.size, &mut steps)?;
        for _ in 0..DEEP {
            let Shape::Array(element) = at.shape else { break };
            (of, at) = (element, self.get(element));
            offset = inside(offset as i64, at.size, &mut steps)?;
        }
        let spot = |field: String, offset, size, leaf| Spot {
            type_name: at.name.clone(),
            type_size: at.size,
            field,
            offset,
            size,
            leaf,
        };
        match &at.shape {
            // Vectors cover several elements.
            Shape::Scalar | Shape::Pointer(_) => (steps.is_empty() && offset == 0)
                .then(|| spot(String::new(), 0, at.size, (size == at.size).then_some(of))),
            Shape::Fields(_) if offset + size > at.size => {
                steps.is_empty().then(|| spot("(several)".into(), 0, at.size, None))
            }
            Shape::Fields(_) => {
                let (path, found, bytes, leaf) = self.field(Rc::clone(&at), offset, &mut steps, size)?;
                steps.is_empty().then(|| spot(path, found, bytes, leaf))
            }
            _ => None,
        }
    }

    /// What a pointer of this type points to. A structure that begins with a pointer at `offset` is one: slices,
    /// iterators, boxes.
    pub fn pointee(&mut self, ty: Metadata<'m>, offset: u64) -> Option<Metadata<'m>> {
        let (mut at, mut offset) = (self.get(ty), offset);
        for _ in 0..DEEP {
            match &at.shape {
                Shape::Pointer(to) => return to.map(|to| self.unqualified(to)),
                Shape::Fields(members) => {
                    let holds = |m: &&Member| m.start / 8 <= offset && offset < (m.start + m.bits) / 8;
                    let mut inside = members.iter().filter(holds);
                    let (Some(member), None) = (inside.next(), inside.next()) else { return None };
                    offset -= member.start / 8;
                    at = self.get(member.ty);
                }
                _ => return None,
            }
        }
        None
    }

    /// A type without its `const` and the like.
    fn unqualified(&self, ty: Metadata<'m>) -> Metadata<'m> {
        let is_qualifier =
            |ty: &Metadata<'m>| matches!(ty.tag(), tag::CONST | tag::VOLATILE | tag::RESTRICT | tag::ATOMIC);
        let base = |ty: &Metadata<'m>| is_qualifier(ty).then(|| self.nodes.base_type(*ty)).flatten();
        std::iter::successors(Some(ty), base).take(MOST_NAMES).last().unwrap_or(ty)
    }

    /// Bytes of a value; 0 if that is not known.
    pub fn size(&mut self, ty: Metadata<'m>) -> u64 {
        self.get(ty).size
    }

    /// Whether it is a structure, or an array of some.
    pub fn has_fields(&mut self, ty: Metadata<'m>) -> bool {
        let mut at = self.get(ty);
        while let Shape::Array(element) = at.shape {
            at = self.get(element);
        }
        matches!(at.shape, Shape::Fields(_))
    }

    /// Path, offset, bytes and type of what an access covers.
    fn field(
        &mut self,
        of: Rc<Type<'m>>,
        offset: u64,
        steps: &mut Vec<i64>,
        size: u64,
    ) -> Option<(String, u64, u64, Option<Metadata<'m>>)> {
        let (mut at, mut within, mut start) = (of, offset, 0);
        let mut path = String::new();
        let mut leaf = None;
        for _ in 0..DEEP {
            match &at.shape {
                Shape::Fields(members) => {
                    let (low, high) = (within * 8, (within + size) * 8);
                    let covered: Vec<&Member> =
                        members.iter().filter(|m| m.start < high && low < m.start + m.bits).collect();
                    let [one] = covered[..] else {
                        let several = join(&path, &several(&covered)?);
                        return Some((several, offset, size, None));
                    };
                    if one.start > low || high > one.start + one.bits {
                        // More than the field: a part of it, or padding, is read with it.
                        return Some((join(&path, &one.name), offset, size, None));
                    }
                    path = join(&path, &one.name);
                    (within, start) = (within - one.start / 8, start + one.start / 8);
                    leaf = Some(one.ty);
                    at = self.get(one.ty);
                }
                Shape::Array(element) => {
                    let inner = self.get(*element);
                    let array = at.size;
                    path += "[]";
                    within = inside(within as i64, inner.size, steps)?;
                    leaf = Some(*element);
                    if !matches!(inner.shape, Shape::Fields(_) | Shape::Array(_)) {
                        return Some((path, start, array, (within == 0 && size == inner.size).then_some(*element)));
                    }
                    at = inner;
                }
                Shape::Scalar | Shape::Pointer(_) | Shape::Unknown => {
                    return Some((path, start, at.size, leaf.filter(|_| within == 0 && size == at.size)));
                }
            }
        }
        None
    }

    fn get(&mut self, ty: Metadata<'m>) -> Rc<Type<'m>> {
        if let Some(known) = self.known.get(&ty) {
            return Rc::clone(known);
        }
        let made = Rc::new(self.make(ty));
        self.known.insert(ty, Rc::clone(&made));
        made
    }

    fn make(&mut self, ty: Metadata<'m>) -> Type<'m> {
        let (mut at, mut alias) = (ty, String::new());
        for _ in 0..MOST_NAMES {
            if !matches!(at.tag(), tag::TYPEDEF | tag::CONST | tag::VOLATILE | tag::RESTRICT | tag::ATOMIC) {
                break;
            }
            if at.tag() == tag::TYPEDEF && alias.is_empty() {
                alias = at.type_name();
            }
            let Some(base) = self.nodes.base_type(at) else { break };
            at = base;
        }
        let shape = match at.tag() {
            0 => Shape::Unknown,
            tag::ARRAY => self.nodes.base_type(at).map_or(Shape::Unknown, Shape::Array),
            tag::STRUCTURE | tag::CLASS | tag::UNION => Shape::Fields(self.members(at)),
            tag::POINTER | tag::REFERENCE | tag::RVALUE_REFERENCE => Shape::Pointer(self.nodes.base_type(at)),
            _ => Shape::Scalar,
        };
        if matches!(shape, Shape::Unknown) {
            return Type { name: alias, size: 0, shape };
        }
        let name = match (at.type_name(), &shape) {
            (name, _) if !name.is_empty() => name,
            (_, Shape::Pointer(to)) if alias.is_empty() => {
                let to = to.map(|to| self.unqualified(to)).filter(|to| to.tag() != 0).map(|to| to.type_name());
                format!("{} *", to.filter(|name| !name.is_empty()).unwrap_or_else(|| "void".into()))
            }
            _ => alias,
        };
        Type { name, size: at.type_bits() / 8, shape }
    }

    fn members(&self, composite: Metadata<'m>) -> Rc<[Member<'m>]> {
        let is_member =
            |node: &Metadata<'m>| matches!(node.tag(), tag::MEMBER | tag::INHERITANCE) && node.type_bits() > 0;
        let member = |node: Metadata<'m>| {
            let ty = self.nodes.base_type(node)?;
            Some(Member { name: node.type_name(), start: node.offset_bits(), bits: node.type_bits(), ty })
        };
        let mut members: Vec<Member> =
            self.nodes.elements(composite).into_iter().filter(is_member).filter_map(member).collect();
        members.sort_by_key(|m| m.start);
        members.into()
    }
}

/// An offset in one of many values of this size in a row. Steps over whole values lead to the same place in another
/// one, and are done with.
fn inside(offset: i64, size: u64, steps: &mut Vec<i64>) -> Option<u64> {
    let size = i64::try_from(size).ok().filter(|size| *size > 0)?;
    steps.retain(|step| step % size != 0);
    Some(offset.rem_euclid(size) as u64)
}

/// Names of base classes and of anonymous members are empty.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() || name.is_empty() { format!("{path}{name}") } else { format!("{path}.{name}") }
}

/// `first..last` of fields in a row; `a|b` of those of a union.
fn several(covered: &[&Member<'_>]) -> Option<String> {
    let (first, last) = (covered.first()?, covered.last()?);
    if last.start < first.start + first.bits {
        return Some(covered.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join("|"));
    }
    Some(format!("{}..{}", first.name, last.name))
}
