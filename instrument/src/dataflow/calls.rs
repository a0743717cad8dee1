//! Calls: what goes into them and comes back.
//!
//! Takes a call, gives the steps for it, or ends the segment by it.

use dmdprof_abi::{
    Call, Item, ItemKind, NONE, item_flag, segment_flag,
    steps::{Registers, StepKind, ValueOp},
};

use super::{
    Planner, arithmetic,
    call_kind::{CallKind, arguments, call_kind, touches_links_only},
    lanes,
    steps::{Fields, Steps},
};
use crate::{
    address::{Shape, decompose},
    calls::touches_no_memory,
    function_plan::Word,
    llvm::ir::{Linkage, Opcode, TypeKind, Value},
};

/// Arguments of a call that are looked at for pointers.
const MAX_POINTERS: u32 = 64;

impl<'m> Planner<'_, 'm> {
    /// Plans a call; whether it ended the block.
    pub(super) fn call(&mut self, i: Value<'m>, frame: u32) -> bool {
        match call_kind(i, self.classifier) {
            CallKind::Nothing => {}
            CallKind::Pass => self.steps.pass(i, i.operand(0), frame),
            CallKind::Op(op) if op == ValueOp::DivMod || i.ty().kind() == TypeKind::Struct => {
                arithmetic::two_results(&mut self.steps, i, op, frame);
            }
            CallKind::Op(op) => arithmetic::operation(&mut self.steps, i, op, &arguments(i), frame),
            CallKind::Fma => arithmetic::fma(&mut self.steps, i, frame),
            CallKind::Reduce(op) => arithmetic::reduce(&mut self.steps, i, op, frame),
            CallKind::Copy => copy(&mut self.steps, i, frame),
            CallKind::Fill => fill(&mut self.steps, i, frame),
            CallKind::Access(access) => lanes::vector_access(&mut self.steps, i, &access, frame),
            CallKind::Modelled(model) => {
                if model.call == Call::Formatted {
                    // What is formatted is looked at.
                    (i.called_type().parameter_count()..i.arguments())
                        .for_each(|n| self.steps.escape(i.operand(n), frame));
                }
                self.steps.out.close(i, 0, NONE);
                self.steps.out.call_hook(i, model, frame);
                return i.opcode() == Opcode::Invoke;
            }
            CallKind::Call(name) => {
                self.opaque_call(i, name.as_deref(), frame);
                return i.opcode() == Opcode::Invoke;
            }
        }
        false
    }

    /// A call whose code may follow values itself: hands over the arguments' identities and takes the results'.
    fn opaque_call(&mut self, i: Value<'m>, name: Option<&str>, frame: u32) {
        let mut hands_over = self.steps.file.has(i);
        let fixed = i.called_type().parameter_count();
        let mut index = 0u16;
        for number in 0..i.arguments() {
            let argument = i.operand(number);
            if let Some(ty) = i.argument_type(number, self.classifier.attributes.byval) {
                let fields = Fields { lanes: index, size: self.steps.size_of(ty), ..Fields::default() };
                self.steps.push_access(StepKind::BytesArgument, argument, 0, 0, fields, frame);
                hands_over = true;
            }
            for slot in 0..self.steps.slot_count(argument.ty()) {
                let a = self.steps.file.id(argument, slot);
                if a != 0 {
                    let flags = u8::from(number >= fixed);
                    let fields = Fields { flags, lanes: index, ..Fields::default() };
                    self.steps.push(StepKind::Argument, Registers { a, ..Registers::default() }, fields, frame);
                    hands_over = true;
                }
                index = index.saturating_add(1);
            }
        }
        hands_over |= self.pointer_arguments(i, name, frame);
        if hands_over {
            self.steps.push(StepKind::Call, Registers::default(), Fields::default(), frame);
        }
        let exits = if i.is_must_tail() { segment_flag::EXIT } else { 0 };
        let callee = name.map_or(NONE, |n| self.steps.out.plan.strings.intern(n));
        self.steps.out.close(i, exits, callee);
        if i.call_has_attribute(self.classifier.attributes.returns_twice) {
            self.steps.out.plan.landings.push(i);
            self.steps.out.open.flags |= segment_flag::LANDING;
        }
        if i.opcode() == Opcode::Call && hands_over && exits == 0 {
            self.returned(i);
        }
    }

    /// Tells which memory code outside of this module is shown, in case that it follows no values; whether there is
    /// any.
    fn pointer_arguments(&mut self, call: Value<'m>, name: Option<&str>, frame: u32) -> bool {
        let callee = call.callee();
        let is_elsewhere = || callee.is_declaration() || callee.linkage() == Linkage::AvailableExternally;
        let may_lack_hooks = !callee.is_function() || is_elsewhere();
        if !may_lack_hooks || name.is_some_and(|n| touches_no_memory(n) || touches_links_only(n)) {
            return false;
        }
        let mut any = false;
        for number in 0..call.arguments().min(MAX_POINTERS) {
            let argument = call.operand(number);
            let ty = argument.ty();
            let is_address = ty.is_pointer() && ty.address_space() == 0 && ty.vector().is_none();
            let is_copy = call.argument_type(number, self.classifier.attributes.byval).is_some();
            let (Shape { root, .. }, offset) = decompose(self.steps.out.layout, argument);
            if !is_address || is_copy || root.is_null_pointer() || root.is_constant_variable() || root.is_function() {
                continue;
            }
            let size = self.classifier.slot_size(root).and_then(|size| size.checked_sub(u64::try_from(offset).ok()?));
            let size = size.map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX));
            self.steps.push_access(
                StepKind::PointerArgument,
                argument,
                0,
                0,
                Fields { size, ..Fields::default() },
                frame,
            );
            any = true;
        }
        any
    }

    /// What is known right after a call.
    pub(super) fn returned(&mut self, call: Value<'m>) {
        if !matches!(call_kind(call, self.classifier), CallKind::Call(_)) {
            return;
        }
        self.steps.push(StepKind::Returned, Registers::default(), Fields::default(), NONE);
        for slot in 0..self.steps.slot_count(call.ty()) {
            let dst = self.steps.file.id(call, slot);
            let fields = Fields { lanes: slot as u16, ..Fields::default() };
            if dst != 0 {
                self.steps.push(StepKind::Result, Registers { dst, ..Registers::default() }, fields, NONE);
            }
        }
    }
}

fn copy<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (to, from, length) = (i.operand(0), i.operand(1), i.operand(2));
    steps.escape(length, frame);
    let (word, offset) = steps.out.address(to);
    let word2 = steps.out.word(Word::Value(from));
    let (size, lanes, flags) = match fixed(length) {
        Some(size) => (size, 0, 0),
        None => (0, steps.out.word(Word::Value(length)), item_flag::DYNAMIC),
    };
    let kind = ItemKind::Copy as u8;
    steps.out.open.push(Item { kind, flags, word, word2, lanes, size, frame, offset, ..Item::default() });
}

fn fill<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (to, length) = (i.operand(0), i.operand(2));
    steps.escape(length, frame);
    let (word, offset) = steps.out.address(to);
    let (size, word2, flags) = match fixed(length) {
        Some(size) => (size, 0, 0),
        None => (0, steps.out.word(Word::Value(length)), item_flag::DYNAMIC),
    };
    let kind = ItemKind::Fill as u8;
    steps.out.open.push(Item { kind, flags, word, word2, size, frame, offset, ..Item::default() });
}

fn fixed(length: Value<'_>) -> Option<u32> {
    length.as_signed_constant().and_then(|n| u32::try_from(n).ok())
}
