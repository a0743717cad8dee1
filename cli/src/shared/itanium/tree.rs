//! What a mangled name says, as nodes that name each other by number.

/// Number of a node.
pub type Id = usize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    pub constant: bool,
    pub volatile: bool,
    pub restrict: bool,
    /// Of functions: `&`, `&&`.
    pub reference: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub result: Option<Id>,
    pub parameters: Vec<Id>,
    pub qualifiers: Qualifiers,
    /// ` noexcept` and the like.
    pub behind: Option<Exception>,
}

#[derive(Clone, Debug)]
pub enum Exception {
    Noexcept,
    NoexceptIf(Id),
    Throws(Vec<Id>),
}

#[derive(Clone, Debug)]
pub enum Node {
    Text(String),
    /// A builtin type, with how its literals are written.
    Builtin(&'static str, Literals),
    /// One of the abbreviations of the standard library: with all arguments, and what its constructors are called.
    Standard(&'static str, &'static str),
    Nested(Id, Id),
    /// What is inside of a function, and the function.
    Local(Id, Id),
    Template(Id, Vec<Id>),
    Pack(Vec<Id>),
    /// Of the template around, by its number; in signatures of lambdas their own, of any type.
    Parameter(usize),
    Constructor(Id),
    Destructor(Id),
    Operator(&'static str),
    Conversion(Id),
    LiteralOperator(Id),
    Tagged(Id, String),
    Lambda {
        head: Vec<Id>,
        parameters: Vec<Id>,
        number: usize,
    },
    /// A parameter that a lambda's head declares: what kind, and its name.
    Declared(&'static str, Option<Id>, String),
    /// What is written before and behind.
    Around(&'static str, Id, &'static str),
    /// The variables of a structured binding.
    Binding(Vec<Id>),
    /// One after the other.
    Row(Vec<Id>),
    InModule(Id, String),
    /// `construction vtable for A-in-B`
    InClass(Id, Id),
    Qualified(Id, Qualifiers),
    Vendor(Id, String),
    Pointer(Id),
    Reference(Id, &'static str),
    Member(Id, Id),
    Array(Option<Id>, Id),
    Vector(Option<Id>, Id),
    Function(Function),
    /// A function with its name and the number of its template arguments.
    Encoding(Id, Function, usize),
    Expansion(Id),
    Constrained(Id, Id),

    Unary(&'static str, Id),
    Postfix(&'static str, Id),
    Binary(&'static str, Id, Id),
    Index(Id, Id),
    Call(Id, Vec<Id>),
    Conditional(Id, Id, Id),
    Cast(Id, Vec<Id>),
    NamedCast(&'static str, Id, Id),
    New {
        global: bool,
        placement: Vec<Id>,
        of: Id,
        initial: Option<Vec<Id>>,
        braced: Option<Id>,
    },
    List(Option<Id>, Vec<Id>),
    Designated(&'static str, Id, Id),
    Fold(char, &'static str, Id, Option<Id>),
    SizeOfPack(Id),
    SizeOfArguments(Vec<Id>),
    Argument(usize),
    Value(Id, String),
    Requires(Vec<Id>, Vec<Id>),
}

/// How values of a builtin type are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literals {
    Cast,
    Bool,
    Float,
    Suffix(&'static str),
}
