//! What a call is in the values model, by its callee.

use dmdprof_abi::steps::ValueOp;

use super::operations;
use crate::{
    access::{Access, Moved},
    calls::Model,
    classify::{Classifier, Effect, model_of_call, touches_nothing},
    llvm::ir::{TypeKind, Value},
};

/// What a call is in the values model.
pub(super) enum CallKind<'m> {
    /// No value goes in or out.
    Nothing,
    /// The first argument, unchanged.
    Pass,
    Op(ValueOp),
    Fma,
    /// Lanes of the last argument combined in order, starting from the first argument if there are two.
    Reduce(ValueOp),
    Copy,
    Fill,
    /// An intrinsic that loads or stores a vector, lanes of it or another value.
    Access(Access<'m>),
    /// A library call that the hooks report by its meaning.
    Modelled(Model),
    /// Code that may follow values itself, or may not: known when it runs. The name, if there is one.
    Call(Option<String>),
}

pub(super) fn arguments<'m>(call: Value<'m>) -> Vec<Value<'m>> {
    (0..call.arguments()).map(|i| call.operand(i)).filter(|a| a.ty().kind() != TypeKind::Metadata).collect()
}

pub(super) fn call_kind<'m>(call: Value<'m>, classifier: &Classifier<'m>) -> CallKind<'m> {
    let callee = call.callee();
    if callee.is_inline_asm() {
        return CallKind::Call(Some("inline assembly".into()));
    }
    if let Some(name) = callee.intrinsic_name() {
        return intrinsic_kind(call, callee, &name, classifier);
    }
    if !callee.is_function() {
        return CallKind::Call(None);
    }
    let name = callee.name();
    if !callee.is_declaration() {
        return CallKind::Call(Some(name));
    }
    if let Some(op) = operations::of_function(&name) {
        return CallKind::Op(op);
    }
    if let "fma" | "fmaf" | "fmal" = name.as_str() {
        return CallKind::Fma;
    }
    match model_of_call(call, &name) {
        Some(model) => CallKind::Modelled(model),
        None => CallKind::Call(Some(name)),
    }
}

fn intrinsic_kind<'m>(call: Value<'m>, callee: Value<'m>, name: &str, classifier: &Classifier<'m>) -> CallKind<'m> {
    let rest = &name["llvm.".len()..];
    if rest.starts_with("memcpy") || rest.starts_with("memmove") {
        return CallKind::Copy;
    }
    if rest.starts_with("memset.") {
        return CallKind::Fill;
    }
    if let "fma" | "fmuladd" = rest.split('.').next().unwrap_or(rest) {
        return CallKind::Fma;
    }
    if let Some(op) = rest.strip_prefix("vector.reduce.").and_then(operations::of_reduction) {
        return CallKind::Reduce(op);
    }
    if let Some(op) = operations::of_intrinsic(rest) {
        return CallKind::Op(op);
    }
    const PASSED: [&str; 6] =
        ["expect", "launder.invariant", "strip.invariant", "ptr.annotation", "annotation", "arithmetic.fence"];
    if PASSED.iter().any(|p| rest.starts_with(p)) {
        return CallKind::Pass;
    }
    if touches_nothing(rest) || ["va_", "eh."].iter().any(|start| rest.starts_with(start)) {
        return CallKind::Nothing;
    }
    if let Some(access) = followed(call, classifier) {
        return CallKind::Access(access);
    }
    if classifier.may_access_memory(callee) {
        CallKind::Call(Some(name.to_owned()))
    } else {
        CallKind::Op(ValueOp::Special)
    }
}

/// The access of an intrinsic that moves bytes as they are; `None` for what cannot be followed.
fn followed<'m>(call: Value<'m>, classifier: &Classifier<'m>) -> Option<Access<'m>> {
    let Effect::Accesses(accesses) = classifier.effect(call) else { return None };
    let [access] = accesses[..] else { return None };
    let ty = match access.moved {
        Moved::Nothing => return None,
        Moved::Result { .. } => call.ty(),
        Moved::Operand(data) => data.ty(),
    };
    // Lanes of the access are those of the value, not parts of them.
    (access.mask.is_none() || ty.lanes() >= u32::from(access.lanes)).then_some(access)
}

/// Whether an invoke's normal destination has to tell what the call returned, so that it must be a block of its own.
#[must_use]
pub fn needs_own_destination<'m>(invoke: Value<'m>, classifier: &Classifier<'m>) -> bool {
    !matches!(call_kind(invoke, classifier), CallKind::Nothing)
}

/// Functions of libstdc++ that find or rearrange nodes, and neither look at what is in them nor move it.
pub(super) fn touches_links_only(symbol: &str) -> bool {
    const NODES: [&str; 5] = [
        "_ZSt18_Rb_tree_increment",
        "_ZSt18_Rb_tree_decrement",
        "_ZSt29_Rb_tree_insert_and_rebalance",
        "_ZSt28_Rb_tree_rebalance_for_erase",
        "_ZNSt8__detail15_List_node_base",
    ];
    NODES.iter().any(|known| symbol.starts_with(known))
}
