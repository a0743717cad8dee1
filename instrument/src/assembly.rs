//! What inline assembly does to memory, as far as its text and its operands tell.
//!
//! Takes a call of inline assembly, gives the accesses of its memory operands and whether its text accesses more than
//! those. Text that names no address but by memory operands, and has no instruction with an address of its own,
//! accesses nothing else, whatever it declares: barriers have an empty text or `mfence`. Symbols as addresses
//! (`mov counter, %eax`) are taken for registers.

use dmdprof_abi::ItemKind;

use crate::{
    access::{Access, blocks},
    llvm::ir::{AttributeKind, Layout, Value},
};

/// What is known of one call.
pub struct Assembly<'m> {
    /// Of its memory operands: all that are read, then all that are written.
    pub accesses: Vec<Access<'m>>,
    /// It accesses what nothing tells of.
    pub more: bool,
}

impl<'m> Assembly<'m> {
    #[must_use]
    pub fn from_call(call: Value<'m>, layout: Layout<'m>) -> Self {
        let text = call.asm_text();
        let (mut reads, mut writes, mut more) = (Vec::new(), Vec::new(), false);
        let mut argument = 0;
        let mut only_declared = false;
        for (number, constraint) in call.asm_constraints().split(',').enumerate() {
            let is_output = constraint.starts_with(['=', '+']);
            let is_memory = constraint.contains('*');
            if constraint.starts_with(['~', '!']) || (is_output && !is_memory) {
                continue;
            }
            let operand = argument;
            argument += 1;
            if !is_memory || operand >= call.arguments() {
                continue;
            }
            // Code that is told where to look in a register declares so what it finds there.
            only_declared |= !mentions(&text, number);
            let ty = call.argument_type(operand, AttributeKind::named("elementtype"));
            let size = ty.filter(|ty| ty.is_sized() && !ty.contains_scalable()).map_or(0, |ty| layout.store_size(ty));
            let address = call.operand(operand);
            if size == 0 || size > u64::from(u32::MAX) || address.ty().address_space() != 0 {
                more = true;
            } else if is_output {
                writes.extend(blocks(ItemKind::Store, address, size));
            } else {
                reads.extend(blocks(ItemKind::Load, address, size));
            }
        }
        reads.extend(writes);
        Self { accesses: reads, more: more || (!only_declared && has_own_address(&text)) }
    }
}

/// Whether the text has an operand: `$1`, `${1:k}`.
fn mentions(text: &str, operand: usize) -> bool {
    // A literal dollar is written twice.
    let text = text.replace("$$", "");
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches('{');
        rest[..digits(rest)].parse() == Ok(operand)
    })
}

/// Instructions that access memory without an operand that says so.
const IMPLICIT: [&str; 26] = [
    "push",
    "pushq",
    "pushl",
    "pushw",
    "pushf",
    "pushfq",
    "pop",
    "popq",
    "popl",
    "popw",
    "popf",
    "popfq",
    "call",
    "callq",
    "ret",
    "retq",
    "enter",
    "leave",
    "xlat",
    "xlatb",
    "syscall",
    "sysenter",
    "int",
    "maskmovq",
    "maskmovdqu",
    "vmaskmovdqu",
];
/// String instructions without the letter at their end, which says the size of what they access.
const STRINGS: [&str; 7] = ["movs", "cmps", "stos", "lods", "scas", "ins", "outs"];
/// Data that may be instructions.
const ENCODED: [&str; 12] =
    [".byte", ".2byte", ".4byte", ".8byte", ".short", ".word", ".value", ".long", ".int", ".quad", ".insn", ".macro"];
/// Instructions that have an address and do not go there.
const NO_ACCESS: [&str; 4] = ["lea", "nop", "prefetch", "clflush"];
const PREFIXES: [&str; 10] = ["rep", "repe", "repz", "repne", "repnz", "lock", "notrack", "data16", "addr32", "bnd"];

/// Whether some instruction has an address that is no operand of the call.
fn has_own_address(text: &str) -> bool {
    // `$(` and `$)` enclose, and `$|` separates, what is written in one syntax and in the other.
    let text = text.replace("$(", " ").replace("$|", " ; ").replace("$)", " ");
    let text = without_comments(&text);
    let mut in_code = true;
    text.split(['\n', ';']).any(|statement| {
        let mut words = statement.split_whitespace().skip_while(|word| word.ends_with(':')).peekable();
        while words.next_if(|word| PREFIXES.contains(word)).is_some() {}
        let Some(mnemonic) = words.next() else { return false };
        match mnemonic {
            ".pushsection" | ".section" => in_code = false,
            ".popsection" | ".previous" | ".text" => in_code = true,
            _ => {}
        }
        let rest: Vec<&str> = words.collect();
        in_code && accesses(mnemonic, &rest.join(" "))
    })
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn accesses(mnemonic: &str, operands: &str) -> bool {
    let mnemonic = mnemonic.to_ascii_lowercase();
    if mnemonic.starts_with('.') {
        return ENCODED.contains(&mnemonic.as_str());
    }
    if NO_ACCESS.iter().any(|name| mnemonic.starts_with(name)) {
        return false;
    }
    let is_string = |name: &str| {
        let size = mnemonic.strip_prefix(name);
        size.is_some_and(|size| operands.is_empty() && matches!(size, "" | "b" | "w" | "l" | "d" | "q"))
    };
    let has_address = operands.contains(['(', '[']) || operands.contains("fs:") || operands.contains("gs:");
    has_address || IMPLICIT.contains(&mnemonic.as_str()) || STRINGS.into_iter().any(is_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_and_registers_have_no_address() {
        for text in [
            "",
            "mfence",
            "pause\n\tlfence",
            "rep; nop",
            "addl $1, $0",
            "mov $0, rbx; cpuid; xchg rbx, $0",
            "leaq 8($1,$2), $0",
            "movsd %xmm0, %xmm1",
            "popcnt $1, $0",
            "prefetcht0 ($0)",
            "lock cmpxchgl $2, $0",
            "990: nop\n.pushsection .note, \"a\"\n.8byte 990b\n.popsection",
            "xgetbv # reads (nothing)",
            "$(movl $1, $0$|mov $0, $1$)",
        ] {
            assert!(!has_own_address(text), "{text:?}");
        }
    }

    #[test]
    fn addresses_in_registers_and_instructions_that_have_their_own() {
        for text in [
            "movq ($1), $0",
            "mov $0, [$1 + 8]",
            "1: vmovups ($1,$2,4), %ymm0\njne 1b",
            "rep movsb",
            "rep; stosq",
            "cld\nrep\n\tmovsl",
            "movq %fs:0, $0",
            "pushfq; pop $0",
            "syscall",
            "call foo",
            ".byte 0x0f, 0x01",
            "LODSB",
        ] {
            assert!(has_own_address(text), "{text:?}");
        }
    }

    #[test]
    fn operands_by_number() {
        assert!(mentions("movl $1, ${0:k}", 0) && mentions("movl $1, ${0:k}", 1));
        assert!(!mentions("movl $$1, $10", 0) && mentions("movl $2, $10", 10));
    }
}
