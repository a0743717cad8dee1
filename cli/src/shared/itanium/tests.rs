//! Names beside those of `c++filt` (GNU binutils 2.40).
//!
//! `corpus.txt` has symbols of libstdc++ 12, {fmt} 9 and Boost 1.74, as gcc 12 and clang 19 compile their headers in
//! C++20: the symbol, what `c++filt` says, and, where ours is another, ours. These are
//!
//! * what `c++filt` leaves as it is: template parameters that say their kind (`Tk`, `Tn`) and constraints (`Q`);
//! * references to template parameters that a name repeats from a function in it, which `c++filt` takes for those of
//!   the inner function (`std::__addressof<L>(L&)`, where L is a lambda of another template).
//!
//! Besides, `c++filt` leaves traces of packs that are empty: `f<A<B>>` for `f<A<B> >`, and `f<A, , B>`.

use super::demangle;

const CORPUS: &str = include_str!("corpus.txt");

/// Symbols, and those of which ours is another name: which `c++filt` leaves, and which it reads in another way.
const COUNTS: (usize, [usize; 2]) = (2_706, [60, 30]);

/// Without what empty packs leave.
fn spelled(name: &str) -> String {
    name.replace("> >", ">>").replace("> >", ">>").replace(", , ", ", ")
}

#[test]
fn names_are_those_of_the_usual_tool() {
    let mut others = [0, 0];
    let mut wrong = Vec::new();
    for line in CORPUS.lines() {
        let mut parts = line.split('\t');
        let (symbol, theirs, ours) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
        let name = demangle(symbol, true).unwrap_or_else(|| symbol.into());
        if spelled(&name) != spelled(ours.unwrap_or(theirs)) {
            wrong.push(format!("{symbol}\n  {}\n  {name}", ours.unwrap_or(theirs)));
        }
        if ours.is_some() {
            others[usize::from(theirs != symbol)] += 1;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} names, as\n{}",
        wrong.len(),
        wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n")
    );
    assert_eq!((CORPUS.lines().count(), others), COUNTS, "what the corpus has");
}

#[test]
fn results_are_left_out_of_names_of_functions() {
    for (symbol, with, without) in [
        (
            "_Z3addIiiEDTplfp_fp0_ET_T0_",
            "decltype ({parm#1}+{parm#2}) add<int, int>(int, int)",
            "add<int, int>(int, int)",
        ),
        ("_Z1fIiEPFvcET_", "void (*f<int>(int))(char)", "f<int>(int)"),
        ("_ZN1AC1IiEET_", "A::A<int>(int)", "A::A<int>(int)"),
        ("_ZN1AcvT_IiEEv", "A::operator int<int>()", "A::operator int<int>()"),
        (
            "_ZZ1fIiEiT_ENKUlvE_clEv",
            "f<int>(int)::{lambda()#1}::operator()() const",
            "f<int>(int)::{lambda()#1}::operator()() const",
        ),
    ] {
        assert_eq!(demangle(symbol, true).as_deref(), Some(with), "{symbol}");
        assert_eq!(demangle(symbol, false).as_deref(), Some(without), "{symbol}");
    }
}

#[test]
fn pieces_and_copies_say_what_they_are() {
    assert_eq!(demangle("_ZN2ns1fEi.part.1.cold", true).as_deref(), Some("ns::f(int) [clone .part.1] [clone .cold]"));
    assert_eq!(demangle("_Z1fv.123", true).as_deref(), Some("f() [clone .123]"));
    assert_eq!(demangle("_Z1fv.", true), None);
}

/// Names that somebody has made up, to keep a reader busy or to have its stack end.
#[test]
fn made_up_names_end() {
    let deep = |open: &str, close: &str, n: usize| format!("_Z1f{}i{}", open.repeat(n), close.repeat(n));
    // Functions of two pointers to the one before.
    let doubling = |n: usize| {
        let pairs: String = (0..n).map(|at| format!("PF{0}{0}E", substitution(2 * at))).collect();
        format!("_Z1fPi{pairs}")
    };
    let made = [
        deep("P", "", 100_000),
        deep("P", "", 150),
        deep("1AI", "E", 60),
        nested(400),
        deep("1AI", "E", 100_000),
        deep("DTsr", "1aE", 10_000),
        deep("XsrN1AIX", "EE1bE", 10_000),
        format!("_ZN{}E", "1AIiE".repeat(100_000)),
        format!("_ZN1A{}C1Ev", "B1b".repeat(100_000)),
        format!("_Z{}v", "Z1fv".repeat(10_000)),
        doubling(60),
        "_Z1fIJiiEEvDpT_".into(),
        "_Z1fIT_EvT_".into(),
        "_Z99999999999999999999f".into(),
        "_Z5fünv".into(),
    ];
    for symbol in made {
        let length = demangle(&symbol, true).map_or(0, |name| name.len());
        assert!(length <= 1 << 18, "{length}");
    }
}

/// Each type has the one before it as its argument.
fn nested(n: usize) -> String {
    let types: String =
        (0..n).map(|at| format!("P{}", if at == 0 { "i".into() } else { substitution(at - 1) })).collect();
    format!("_Z1f{types}")
}

fn substitution(number: usize) -> String {
    let digits = |n: usize| [n / 36, n % 36].map(|digit| char::from_digit(digit as u32, 36).unwrap_or('0'));
    match number {
        0 => "S_".into(),
        n => format!("S{}_", digits(n - 1).iter().collect::<String>().to_ascii_uppercase()),
    }
}
