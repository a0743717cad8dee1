//! Decides, for one instruction, what it does to memory and which operations it performs. Changes nothing.
//!
//! Takes an instruction, gives an [`Effect`] and an operation count; what cannot be hooked is refused with a named
//! [`SkipReason`].

use dmdprof_abi::{FloatType, ItemKind, OpClass, item_flag};

use crate::{
    access::{Access, Length, Moved, blocks},
    assembly::Assembly,
    calls::{self, Model, When},
    lanes::{Mask, Places},
    llvm::ir::{AttributeKind, Layout, ModuleHandle, Opcode, Type, TypeKind, Value},
    skip::SkipReason,
    synchronise, x86,
};

#[derive(Debug)]
pub enum Effect<'m> {
    /// Touches no memory, or only through other instructions.
    Nothing,
    Accesses(Vec<Access<'m>>),
    Skip(SkipReason),
    Unseen(Unseen<'m>),
    /// A call that may run hooks of its own or is modelled: ends the segment.
    Call(CallEffect<'m>),
}

/// Touches memory in a way that is not understood. Its executions are counted under a name: it ends the segment as a
/// call of code without hooks does.
#[derive(Debug)]
pub struct Unseen<'m> {
    /// What it does besides.
    pub accesses: Vec<Access<'m>>,
    pub reason: SkipReason,
    pub name: String,
}

#[derive(Debug)]
pub struct CallEffect<'m> {
    pub model: Option<Model>,
    /// Name, if the callee is a function that this module only declares.
    pub external: Option<String>,
    pub returns_twice: bool,
    /// Copies that the calling convention makes of `byval` arguments.
    pub argument_reads: Vec<Access<'m>>,
}

/// Attribute numbers that classification asks for.
pub struct Attributes {
    pub byval: AttributeKind,
    pub memory: AttributeKind,
    pub returns_twice: AttributeKind,
    pub naked: AttributeKind,
}

impl Attributes {
    #[must_use]
    pub fn new() -> Self {
        Self {
            byval: AttributeKind::named("byval"),
            memory: AttributeKind::named("memory"),
            returns_twice: AttributeKind::named("returns_twice"),
            naked: AttributeKind::named("naked"),
        }
    }
}

impl Default for Attributes {
    fn default() -> Self {
        Self::new()
    }
}

pub struct Classifier<'m> {
    module: ModuleHandle<'m>,
    pub layout: Layout<'m>,
    pub attributes: Attributes,
}

impl<'m> Classifier<'m> {
    #[must_use]
    pub fn for_module(module: ModuleHandle<'m>) -> Self {
        Self { module, layout: Layout::for_module(module), attributes: Attributes::new() }
    }

    #[must_use]
    pub fn effect(&self, instruction: Value<'m>) -> Effect<'m> {
        match instruction.opcode() {
            Opcode::Load => self.plain(instruction, ItemKind::Load, instruction.operand(0), instruction.ty()),
            Opcode::Store => {
                self.plain(instruction, ItemKind::Store, instruction.operand(1), instruction.operand(0).ty())
            }
            Opcode::AtomicRMW | Opcode::AtomicCmpXchg => {
                self.plain(instruction, ItemKind::Update, instruction.operand(0), instruction.operand(1).ty())
            }
            Opcode::VAArg => Effect::Skip(SkipReason::VariableArguments),
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => self.call(instruction),
            _ => Effect::Nothing,
        }
    }

    fn plain(&self, instruction: Value<'m>, kind: ItemKind, address: Value<'m>, ty: Type<'m>) -> Effect<'m> {
        let mut flags = 0;
        if instruction.is_atomic() {
            flags |= item_flag::ATOMIC;
        }
        if instruction.opcode() != Opcode::AtomicCmpXchg && instruction.is_volatile() {
            flags |= item_flag::VOLATILE;
        }
        match self.check(address, ty) {
            Err(reason) => Effect::Skip(reason),
            Ok(0) => Effect::Nothing,
            Ok(size) => {
                let access = Access::new(kind, address, Length::Fixed(size));
                Effect::Accesses(vec![Access { flags, ..access }])
            }
        }
    }

    /// Size of an access of `ty` through `address`, or why it cannot be hooked.
    fn check(&self, address: Value<'m>, ty: Type<'m>) -> Result<u64, SkipReason> {
        let pointer = address.ty().scalar();
        if pointer.is_pointer() && pointer.address_space() != 0 {
            return Err(SkipReason::AddressSpace);
        }
        if ty.contains_scalable() || !ty.is_sized() {
            return Err(SkipReason::ScalableVector);
        }
        let size = self.layout.store_size(ty);
        if size > u64::from(u32::MAX) { Err(SkipReason::HugeAccess) } else { Ok(size) }
    }

    fn call(&self, call: Value<'m>) -> Effect<'m> {
        let callee = call.callee();
        if callee.is_inline_asm() {
            return self.assembly(call);
        }
        if let Some(name) = callee.intrinsic_name() {
            return self.intrinsic(call, callee, &name);
        }
        let external = (callee.is_function() && callee.is_declaration()).then(|| callee.name());
        let model = external.as_deref().and_then(|name| model_of_call(call, name));
        Effect::Call(CallEffect {
            model,
            external,
            returns_twice: call.call_has_attribute(self.attributes.returns_twice),
            argument_reads: self.byval_reads(call),
        })
    }

    fn assembly(&self, call: Value<'m>) -> Effect<'m> {
        let Assembly { accesses, more } = Assembly::from_call(call, self.layout);
        if more {
            let reason = SkipReason::InlineAssembly;
            return Effect::Unseen(Unseen { accesses, reason, name: reason.name().to_owned() });
        }
        if accesses.is_empty() { Effect::Nothing } else { Effect::Accesses(accesses) }
    }

    fn byval_reads(&self, call: Value<'m>) -> Vec<Access<'m>> {
        let mut reads = Vec::new();
        for index in 0..call.arguments() {
            if let Some(ty) = call.argument_type(index, self.attributes.byval) {
                reads.extend(blocks(ItemKind::Load, call.operand(index), self.layout.store_size(ty)));
            }
        }
        reads
    }

    fn intrinsic(&self, call: Value<'m>, callee: Value<'m>, name: &str) -> Effect<'m> {
        let one = |access| Effect::Accesses(vec![access]);
        let rest = &name["llvm.".len()..];
        if rest.starts_with("memcpy") || rest.starts_with("memmove") {
            if let Err(reason) = self.addressable(&[call.operand(0), call.operand(1)]) {
                return Effect::Skip(reason);
            }
            let copy = Access::new(ItemKind::Copy, call.operand(0), length_of(call.operand(2)));
            return one(Access { source: Some(call.operand(1)), ..copy });
        }
        if rest.starts_with("memset.") {
            if let Err(reason) = self.addressable(&[call.operand(0)]) {
                return Effect::Skip(reason);
            }
            return one(Access::new(ItemKind::Fill, call.operand(0), length_of(call.operand(2))));
        }
        if rest.starts_with("lifetime.end") {
            // Newer LLVM passes only the pointer, older ones a size before it.
            let slot = call.operand(call.arguments() - 1);
            return self
                .slot_size(slot)
                .map_or(Effect::Nothing, |size| one(Access::new(ItemKind::Kill, slot, Length::Fixed(size))));
        }
        if let Some(effect) = self.masked(call, rest) {
            return effect;
        }
        if rest.starts_with("va_start") || rest.starts_with("va_copy") {
            return Effect::Skip(SkipReason::VariableArguments);
        }
        if rest.starts_with("load.relative.") {
            return self.distance(call);
        }
        let of_processor = rest.strip_prefix("x86.").and_then(|name| x86::accesses(call, name, self.layout));
        if let Some(accesses) = of_processor {
            return if accesses.is_empty() { Effect::Nothing } else { Effect::Accesses(accesses) };
        }
        if touches_nothing(rest) || !x86::has_address(call) || !self.may_access_memory(callee) {
            return Effect::Nothing;
        }
        let name = match self.bytes_by_type(call) {
            Some(bytes) => format!("{name} ({bytes} bytes)"),
            None => name.to_owned(),
        };
        Effect::Unseen(Unseen { accesses: Vec::new(), reason: SkipReason::Intrinsic, name })
    }

    /// An entry of a table of distances, which tables of strings and labels become: 4 bytes at a distance from its
    /// start.
    fn distance(&self, call: Value<'m>) -> Effect<'m> {
        if let Err(reason) = self.addressable(&[call.operand(0)]) {
            return Effect::Skip(reason);
        }
        let places = Places::Apart { base: call.operand(0), distance: call.operand(1) };
        let mask = Mask::Bits(self.module.constant(64, 1));
        let entry = Access::new(ItemKind::Gather, call.operand(0), Length::Fixed(4));
        Effect::Accesses(vec![Access { places: Some(places), mask: Some(mask), lanes: 1, ..entry }])
    }

    /// What an intrinsic moves, as far as its type tells: the vector that it gives or is given.
    fn bytes_by_type(&self, call: Value<'m>) -> Option<u64> {
        let operands = (0..call.arguments()).map(|number| call.operand(number).ty());
        let is_scalar = |ty: Type<'m>| !ty.is_pointer() && ty.int_width() != Some(1);
        let is_data = |ty: &Type<'m>| ty.vector().is_some_and(|(element, _)| is_scalar(element));
        let data = if call.ty().kind() == TypeKind::Void { operands.rev().find(is_data) } else { Some(call.ty()) };
        data.filter(is_data).map(|ty| self.layout.store_size(ty))
    }

    fn addressable(&self, pointers: &[Value<'m>]) -> Result<(), SkipReason> {
        if pointers.iter().any(|p| p.ty().is_pointer() && p.ty().address_space() != 0) {
            return Err(SkipReason::AddressSpace);
        }
        Ok(())
    }

    /// Bytes of a stack slot of fixed size.
    #[must_use]
    pub fn slot_size(&self, slot: Value<'m>) -> Option<u64> {
        if !slot.is_instruction() || slot.opcode() != Opcode::Alloca {
            return None;
        }
        let count = u64::try_from(slot.operand(0).as_signed_constant()?).ok()?;
        let ty = slot.allocated_type();
        if ty.contains_scalable() || !ty.is_sized() {
            return None;
        }
        let size = self.layout.alloc_size(ty).checked_mul(count)?;
        (size > 0 && size <= u64::from(u32::MAX)).then_some(size)
    }

    /// Masked, gathered and packed vector accesses.
    fn masked(&self, call: Value<'m>, rest: &str) -> Option<Effect<'m>> {
        // The alignment argument of these intrinsics became an attribute in newer LLVM, so the mask's place depends on
        // the count.
        let mask_of_store = || call.operand(call.arguments() - 1);
        let mask_of_load = || call.operand(call.arguments() - 2);
        let otherwise = || Some(call.operand(call.arguments() - 1));
        let (kind, address, data, mask, moved) = if rest.starts_with("masked.load") {
            let moved = Moved::Result { otherwise: otherwise() };
            (ItemKind::MaskedLoad, call.operand(0), call.ty(), mask_of_load(), moved)
        } else if rest.starts_with("masked.store") {
            let data = call.operand(0);
            (ItemKind::MaskedStore, call.operand(1), data.ty(), mask_of_store(), Moved::Operand(data))
        } else if rest.starts_with("masked.gather") {
            let moved = Moved::Result { otherwise: otherwise() };
            (ItemKind::Gather, call.operand(0), call.ty(), mask_of_load(), moved)
        } else if rest.starts_with("masked.scatter") {
            let data = call.operand(0);
            (ItemKind::Scatter, call.operand(1), data.ty(), mask_of_store(), Moved::Operand(data))
        } else if rest.starts_with("masked.expandload") {
            let moved = Moved::Result { otherwise: otherwise() };
            (ItemKind::ExpandLoad, call.operand(0), call.ty(), call.operand(1), moved)
        } else if rest.starts_with("masked.compressstore") {
            let data = call.operand(0);
            (ItemKind::CompressStore, call.operand(1), data.ty(), call.operand(2), Moved::Operand(data))
        } else {
            return None;
        };
        let Some((element, lanes)) = data.vector() else { return Some(Effect::Skip(SkipReason::ScalableVector)) };
        if lanes > 64 {
            return Some(Effect::Skip(SkipReason::WideMask));
        }
        Some(match self.check(address, element) {
            Err(reason) => Effect::Skip(reason),
            Ok(size) => {
                let is_spread = matches!(kind, ItemKind::Gather | ItemKind::Scatter);
                let (mask, places) = (Some(Mask::Bits(mask)), is_spread.then_some(Places::Pointers(address)));
                let access = Access::new(kind, address, Length::Fixed(size));
                Effect::Accesses(vec![Access { mask, places, lanes: lanes as u16, moved, ..access }])
            }
        })
    }

    /// Whether a `memory(...)` attribute leaves room for accesses through arguments or to other memory.
    pub fn may_access_memory(&self, function: Value<'m>) -> bool {
        // Two bits (read, write) per location: arguments, inaccessible, errno, other.
        const VISIBLE: u64 = 0b11 | 0b11 << 6;
        if self.attributes.memory.is_known() {
            return function.attribute_value(self.attributes.memory).is_none_or(|effects| effects & VISIBLE != 0);
        }
        // Before there was that attribute, there was one for each case.
        !["readnone", "inaccessiblememonly"].iter().any(|name| {
            let kind = AttributeKind::named(name);
            kind.is_known() && function.has_attribute(kind)
        })
    }
}

/// The meaning of a call to the external function of this name, if the call has the arguments and the result for it.
#[must_use]
pub fn model_of_call(call: Value<'_>, name: &str) -> Option<Model> {
    let has_result = call.ty().kind() != TypeKind::Void;
    calls::model_of(name).filter(|m| call.arguments() >= m.arguments_needed() && (has_result || !m.needs_result()))
}

/// Intrinsics that are given addresses and touch no byte there, by the start of their names without `llvm.`.
#[must_use]
pub fn touches_nothing(rest: &str) -> bool {
    const NOTHING: [&str; 23] = [
        "dbg.",
        "lifetime.",
        "assume",
        "invariant.",
        "launder.invariant",
        "strip.invariant",
        "experimental.noalias",
        "va_end",
        "stack",
        "prefetch",
        "eh.typeid",
        "eh.return",
        "eh.unwind",
        "eh.recoverfp",
        "local",
        "objectsize",
        "is.constant",
        "threadlocal",
        "donothing",
        "fake.use",
        "var.annotation",
        "ptr.annotation",
        "clear_cache",
    ];
    NOTHING.iter().any(|start| rest.starts_with(start))
}

fn length_of<'m>(length: Value<'m>) -> Length<'m> {
    match length.as_signed_constant().and_then(|n| u64::try_from(n).ok()) {
        Some(fixed) if fixed <= u64::from(u32::MAX) => Length::Fixed(fixed),
        _ => Length::Dynamic(length),
    }
}

/// Whether the hook of this call needs the call's result.
#[must_use]
pub fn needs_hook_after(effect: &CallEffect<'_>) -> bool {
    let waits = |name: &String| synchronise::models_of(name).iter().any(|m| m.when == When::After);
    effect.returns_twice
        || effect.model.is_some_and(|m| m.when == When::After)
        || effect.external.as_ref().is_some_and(waits)
}

/// Class and number of the operations an instruction performs; vectors count once per lane.
#[must_use]
pub fn operations(instruction: Value<'_>) -> Option<(OpClass, u32)> {
    let lanes = || instruction.ty().lanes();
    match instruction.opcode() {
        Opcode::FAdd | Opcode::FSub => Some((OpClass::FpAdd, lanes())),
        Opcode::FMul => Some((OpClass::FpMul, lanes())),
        Opcode::FDiv | Opcode::FRem => Some((OpClass::FpDiv, lanes())),
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::UDiv
        | Opcode::SDiv
        | Opcode::URem
        | Opcode::SRem
        | Opcode::Shl
        | Opcode::LShr
        | Opcode::AShr
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor => Some((OpClass::Int, lanes())),
        Opcode::ICmp | Opcode::FCmp => Some((OpClass::Compare, instruction.operand(0).ty().lanes())),
        Opcode::AtomicRMW => Some((OpClass::Int, 1)),
        Opcode::Call | Opcode::Invoke => call_operations(instruction),
        _ => None,
    }
}

/// Type of the operands of floating-point operations of a class.
#[must_use]
pub fn float_type(instruction: Value<'_>, class: OpClass) -> Option<FloatType> {
    if matches!(class, OpClass::Int | OpClass::Compare) {
        return None;
    }
    let result = instruction.ty();
    // Some functions give a structure or an integer.
    let ty = if result.is_floating() { result } else { instruction.operand(0).ty() };
    ty.is_floating().then(|| match ty.scalar().kind() {
        TypeKind::BFloat => FloatType::Bf16,
        TypeKind::Half => FloatType::Fp16,
        TypeKind::Float => FloatType::Fp32,
        _ => FloatType::Fp64,
    })
}

fn call_operations(call: Value<'_>) -> Option<(OpClass, u32)> {
    let callee = call.callee();
    let Some(name) = callee.intrinsic_name() else {
        return (callee.is_function() && callee.is_declaration() && calls::is_math_function(&callee.name()))
            .then_some((OpClass::FpSpecial, 1));
    };
    let lanes = call.ty().lanes();
    let rest = &name["llvm.".len()..];
    let stem = rest.split('.').next().unwrap_or(rest);
    let class = match stem {
        "fma" | "fmuladd" => OpClass::FpFma,
        "sqrt" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "atan2" | "sinh" | "cosh" | "tanh" | "sincos"
        | "pow" | "powi" | "exp" | "exp2" | "exp10" | "log" | "log2" | "log10" => OpClass::FpSpecial,
        "minnum" | "maxnum" | "minimum" | "maximum" | "minimumnum" | "maximumnum" | "smin" | "smax" | "umin"
        | "umax" | "scmp" | "ucmp" => OpClass::Compare,
        "ctpop" | "ctlz" | "cttz" | "bswap" | "bitreverse" | "fshl" | "fshr" | "abs" | "sadd" | "uadd" | "ssub"
        | "usub" | "smul" | "umul" | "sshl" | "ushl" => OpClass::Int,
        "vector" if rest.starts_with("vector.reduce.") => return reduction(call, rest),
        _ => return None,
    };
    Some((class, lanes))
}

/// A reduction of n lanes is n - 1 operations; the ordered floating-point ones take a start value and so perform n.
fn reduction(call: Value<'_>, rest: &str) -> Option<(OpClass, u32)> {
    let operation = rest["vector.reduce.".len()..].split('.').next()?;
    let (class, vector) = match operation {
        "fadd" => (OpClass::FpAdd, 1),
        "fmul" => (OpClass::FpMul, 1),
        "add" | "mul" | "and" | "or" | "xor" => (OpClass::Int, 0),
        _ => (OpClass::Compare, 0),
    };
    let lanes = call.operand(vector).ty().lanes();
    Some((class, lanes - 1 + vector))
}
