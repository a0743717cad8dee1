//! What older LLVMs lack of the C interface of the newest, made from what they have.
//!
//! Takes the name of a function and the version of the library, gives the function to use in its place; nothing where
//! the library's own will do. Each stand-in has the signature of the function that it stands in for.

use std::{
    cell::Cell,
    ffi::{CStr, CString, c_char, c_uint},
    sync::{
        Mutex,
        atomic::{AtomicPtr, Ordering},
    },
};

use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMTailCallKind, core::*, ir_reader::LLVMParseIRInContext, prelude::*,
    support::LLVMParseCommandLineOptions,
};

use super::{kinds::Opcode, raw};

type Address = *const ();

/// The function to use for `name` instead of the library's `own`.
pub fn stand_in(name: &str, major: u32, own: Option<Address>) -> Option<Address> {
    if name == "LLVMGetTypeKind" && major < NO_MMX_SINCE {
        GET_TYPE_KIND.store(own?.cast_mut(), Ordering::Relaxed);
        return Some(get_type_kind as Address);
    }
    if own.is_some() {
        return None;
    }
    Some(match name {
        // The same but for who owns the buffer afterwards, and the one caller gives it away.
        "LLVMParseIRInContext2" => LLVMParseIRInContext as Address,
        "LLVMPointerTypeInContext" => pointer_type as Address,
        "LLVMConstArray2" => const_array as Address,
        "LLVMConstStringInContext2" => const_string as Address,
        "LLVMGetArrayLength2" => array_length as Address,
        "LLVMGetNamedFunctionWithLength" => named_function as Address,
        "LLVMGetInlineAsmAsmString" => asm_text as Address,
        "LLVMGetInlineAsmConstraintString" => asm_constraints as Address,
        "LLVMGetTailCallKind" => tail_call_kind as Address,
        "LLVMGetDINodeTag" => node_tag as Address,
        "LLVMIsAtomic" => is_atomic as Address,
        // The flag came with the function.
        "LLVMGetIsDisjoint" => no_flag as Address,
        // There are no records, so nothing to be in front of.
        "LLVMPositionBuilderBeforeInstrAndDbgRecords" => LLVMPositionBuilderBefore as Address,
        _ => return None,
    })
}

/// To be called when all functions are in place, before any other.
pub fn set_up(major: u32) {
    // Only the first versions with pointers that have no element type must be told to make such of older bitcode.
    if major <= 16 {
        let words = [c"dmdprof".as_ptr(), c"-opaque-pointers".as_ptr()];
        // SAFETY: two C strings that live for ever, as many as said.
        unsafe { LLVMParseCommandLineOptions(2, words.as_ptr(), std::ptr::null()) };
    }
}

/// Text that LLVM made for us.
fn taken(text: *mut c_char) -> String {
    // SAFETY: LLVM returned a C string that we must dispose of; it is copied first.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    unsafe { LLVMDisposeMessage(text) };
    copy
}

unsafe extern "C" fn pointer_type(context: LLVMContextRef, address_space: c_uint) -> LLVMTypeRef {
    // SAFETY: the caller's context.
    unsafe { LLVMPointerType(LLVMInt8TypeInContext(context), address_space) }
}

unsafe extern "C" fn const_array(element: LLVMTypeRef, values: *mut LLVMValueRef, length: u64) -> LLVMValueRef {
    // SAFETY: as many values as the caller says.
    unsafe { LLVMConstArray(element, values, length.try_into().expect("fewer values than 2^32")) }
}

unsafe extern "C" fn const_string(
    context: LLVMContextRef,
    text: *const c_char,
    length: usize,
    no_end: LLVMBool,
) -> LLVMValueRef {
    let length = length.try_into().expect("shorter than 4 GiB");
    // SAFETY: as many bytes as the caller says.
    unsafe { LLVMConstStringInContext(context, text, length, no_end) }
}

/// The older function drops the upper half.
unsafe extern "C" fn array_length(array: LLVMTypeRef) -> u64 {
    // SAFETY: the caller's type.
    let text = taken(unsafe { LLVMPrintTypeToString(array) });
    let length = text.strip_prefix('[').and_then(|rest| rest.split(' ').next()?.parse().ok());
    length.expect("an array is written as [N x T]")
}

unsafe extern "C" fn named_function(module: LLVMModuleRef, name: *const c_char, length: usize) -> LLVMValueRef {
    // SAFETY: as many bytes as the caller says.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length) };
    let name = CString::new(name).expect("symbol names have no NUL");
    // SAFETY: the caller's module, and a C string.
    unsafe { LLVMGetNamedFunction(module, name.as_ptr()) }
}

/// Of what is quoted, the text is the last but one.
unsafe extern "C" fn asm_text(assembly: LLVMValueRef, length: *mut usize) -> *const c_char {
    // SAFETY: the caller's value and place.
    unsafe { quoted(assembly, 1, length) }
}

/// The constraints are the last of what is quoted.
unsafe extern "C" fn asm_constraints(assembly: LLVMValueRef, length: *mut usize) -> *const c_char {
    // SAFETY: the caller's value and place.
    unsafe { quoted(assembly, 0, length) }
}

/// What is quoted in the text of inline assembly, counted from the end. Quotes in it are written as `\22`.
unsafe fn quoted(assembly: LLVMValueRef, from_end: usize, length: *mut usize) -> *const c_char {
    // As many as there are different ones in the program, kept because the callers' strings live as long as the module.
    static KEPT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    // SAFETY: the caller's value.
    let text = taken(unsafe { LLVMPrintValueToString(assembly) });
    let found = unescaped(text.rsplit('"').nth(1 + 2 * from_end).unwrap_or_default());
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = kept.iter().copied().find(|known| *known == found);
    let known = known.unwrap_or_else(|| {
        let new: &'static str = Box::leak(found.into());
        kept.push(new);
        new
    });
    // SAFETY: the caller's place for the length.
    unsafe { *length = known.len() };
    known.as_ptr().cast()
}

/// LLVM writes what is not printable, quotes and backslashes as a backslash and two hexadecimal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte.into());
                out += &part[2..];
            }
            None => out += part,
        }
    }
    out
}

/// The older functions tell `tail` and `musttail` from nothing, not from each other. Only what stands before a return
/// can be `musttail`.
unsafe extern "C" fn tail_call_kind(call: LLVMValueRef) -> LLVMTailCallKind {
    // SAFETY: the caller's instruction.
    if unsafe { LLVMIsTailCall(call) } == 0 {
        return LLVMTailCallKind::LLVMTailCallKindNone;
    }
    // SAFETY: as above; a call is not the last instruction of its block.
    let mut next = unsafe { LLVMGetNextInstruction(call) };
    // SAFETY: as above.
    while !next.is_null() && Opcode::from_number(unsafe { raw::LLVMGetInstructionOpcode(next) }) == Opcode::BitCast {
        // SAFETY: as above.
        next = unsafe { LLVMGetNextInstruction(next) };
    }
    // SAFETY: as above.
    if next.is_null() || Opcode::from_number(unsafe { raw::LLVMGetInstructionOpcode(next) }) != Opcode::Ret {
        return LLVMTailCallKind::LLVMTailCallKindTail;
    }
    // SAFETY: as above.
    let text = taken(unsafe { LLVMPrintValueToString(call) });
    let text = text.trim_start();
    // After `%result = `, if there is one.
    let text = text.strip_prefix('%').and_then(|rest| rest.split_once(" = ")).map_or(text, |(_, rest)| rest);
    if text.starts_with("musttail ") {
        LLVMTailCallKind::LLVMTailCallKindMustTail
    } else {
        LLVMTailCallKind::LLVMTailCallKindTail
    }
}

/// Of a debug node that has a tag. It is written first; basic types leave the usual one out.
unsafe extern "C" fn node_tag(node: LLVMMetadataRef) -> u16 {
    // SAFETY: the caller's node, of the context that `read_nodes_of` was told of.
    let text = taken(unsafe { LLVMPrintValueToString(LLVMMetadataAsValue(CONTEXT.get(), node)) });
    let tag = text.split_once('(').and_then(|(_, rest)| rest.strip_prefix("tag: DW_TAG_"));
    let tag = tag.map(|rest| rest.split([',', ')']).next().unwrap_or_default());
    tag.map_or(BASE_TYPE, |name| TAGS.iter().find(|(known, _)| *known == name).map_or(OTHER_TAG, |(_, tag)| *tag))
}

thread_local! {
    /// Of the nodes that are read in this thread: no function tells it of a node.
    static CONTEXT: Cell<LLVMContextRef> = const { Cell::new(std::ptr::null_mut()) };
}

/// To be called before debug nodes of a context are asked for their tags.
pub fn read_nodes_of(context: LLVMContextRef) {
    CONTEXT.set(context);
}

const BASE_TYPE: u16 = 0x24;
/// A tag that nobody asks for.
const OTHER_TAG: u16 = 0xffff;
const TAGS: [(&str, u16); 15] = [
    ("array_type", 0x01),
    ("class_type", 0x02),
    ("enumeration_type", 0x04),
    ("member", 0x0d),
    ("pointer_type", 0x0f),
    ("reference_type", 0x10),
    ("structure_type", 0x13),
    ("typedef", 0x16),
    ("union_type", 0x17),
    ("inheritance", 0x1c),
    ("const_type", 0x26),
    ("volatile_type", 0x35),
    ("restrict_type", 0x37),
    ("rvalue_reference_type", 0x42),
    ("atomic_type", 0x47),
];

unsafe extern "C" fn is_atomic(instruction: LLVMValueRef) -> LLVMBool {
    // SAFETY: the caller's instruction.
    match Opcode::from_number(unsafe { raw::LLVMGetInstructionOpcode(instruction) }) {
        Opcode::AtomicRMW | Opcode::AtomicCmpXchg | Opcode::Fence => 1,
        Opcode::Load | Opcode::Store => {
            // SAFETY: loads and stores have an ordering.
            let ordering = unsafe { raw::LLVMGetOrdering(instruction) };
            LLVMBool::from(ordering != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic as c_uint)
        }
        _ => 0,
    }
}

unsafe extern "C" fn no_flag(_: LLVMValueRef) -> LLVMBool {
    0
}

/// The first version without a type of its own for MMX registers, whose number the bindings have no name for.
const NO_MMX_SINCE: u32 = 20;
const MMX: c_uint = 15;
/// Of another kind of register that is as opaque.
const AMX: c_uint = 19;
static GET_TYPE_KIND: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" fn get_type_kind(of: LLVMTypeRef) -> c_uint {
    type GetTypeKind = unsafe extern "C" fn(LLVMTypeRef) -> c_uint;
    // SAFETY: the library's own function, put there before this one came into use.
    let own = unsafe { std::mem::transmute::<*mut (), GetTypeKind>(GET_TYPE_KIND.load(Ordering::Relaxed)) };
    // SAFETY: the caller's type.
    match unsafe { own(of) } {
        MMX => AMX,
        kind => kind,
    }
}
