//! Decides, for one instruction, what it does to memory and which operations it performs. Changes nothing.
//!
//! Takes an instruction, gives an [`Effect`] and an operation count; what cannot be hooked is refused with a named
//! [`SkipReason`].

use dmdprof_abi::{COPY_BLOCK, FloatType, ItemKind, OpClass, item_flag};

use crate::{
    calls::{self, Model, When},
    llvm::ir::{AttributeKind, Layout, ModuleHandle, Opcode, Type, TypeKind, Value},
    skip::SkipReason,
    synchronise,
};

/// Bytes of an access: known now, or a value of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length<'m> {
    Fixed(u64),
    Dynamic(Value<'m>),
}

/// One access as the planner needs it.
#[derive(Clone, Copy, Debug)]
pub struct Access<'m> {
    pub kind: ItemKind,
    pub flags: u8,
    /// Base pointer; a vector of pointers for gather and scatter.
    pub address: Value<'m>,
    /// Added to `address`.
    pub offset: i64,
    /// Of one lane for masked kinds.
    pub length: Length<'m>,
    /// Mask, or source of a copy.
    pub second: Option<Value<'m>>,
    pub lanes: u16,
}

#[derive(Debug)]
pub enum Effect<'m> {
    /// Touches no memory, or only through other instructions.
    Nothing,
    Accesses(Vec<Access<'m>>),
    Skip(SkipReason),
    /// A call that may run hooks of its own or is modelled: ends the segment.
    Call(CallEffect<'m>),
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
    pub layout: Layout<'m>,
    pub attributes: Attributes,
}

impl<'m> Classifier<'m> {
    #[must_use]
    pub fn of(module: ModuleHandle<'m>) -> Self {
        Self { layout: Layout::of(module), attributes: Attributes::new() }
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
            Opcode::CallBr => Effect::Skip(SkipReason::InlineAssembly),
            Opcode::Call | Opcode::Invoke => self.call(instruction),
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
            Ok(size) => Effect::Accesses(vec![Access {
                kind,
                flags,
                address,
                offset: 0,
                length: Length::Fixed(size),
                second: None,
                lanes: 0,
            }]),
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
            let constraints = call.asm_constraints();
            let touches = constraints.contains("~{memory}") || constraints.contains('*');
            return if touches { Effect::Skip(SkipReason::InlineAssembly) } else { Effect::Nothing };
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

    fn byval_reads(&self, call: Value<'m>) -> Vec<Access<'m>> {
        let mut reads = Vec::new();
        for index in 0..call.arguments() {
            if let Some(ty) = call.byval_argument(index, self.attributes.byval) {
                reads.extend(blocks(ItemKind::Load, call.operand(index), self.layout.store_size(ty)));
            }
        }
        reads
    }

    fn intrinsic(&self, call: Value<'m>, callee: Value<'m>, name: &str) -> Effect<'m> {
        let one = |access| Effect::Accesses(vec![access]);
        let base =
            |kind, address, length| Access { kind, flags: 0, address, offset: 0, length, second: None, lanes: 0 };
        let rest = &name["llvm.".len()..];
        if rest.starts_with("memcpy") || rest.starts_with("memmove") {
            if let Err(reason) = self.addressable(&[call.operand(0), call.operand(1)]) {
                return Effect::Skip(reason);
            }
            let copy = base(ItemKind::Copy, call.operand(0), length_of(call.operand(2)));
            return one(Access { second: Some(call.operand(1)), ..copy });
        }
        if rest.starts_with("memset.") {
            if let Err(reason) = self.addressable(&[call.operand(0)]) {
                return Effect::Skip(reason);
            }
            return one(base(ItemKind::Fill, call.operand(0), length_of(call.operand(2))));
        }
        if rest.starts_with("lifetime.end") {
            // Newer LLVM passes only the pointer, older ones a size before it.
            let slot = call.operand(call.arguments() - 1);
            return self
                .slot_size(slot)
                .map_or(Effect::Nothing, |size| one(base(ItemKind::Kill, slot, Length::Fixed(size))));
        }
        if let Some(effect) = self.masked(call, rest) {
            return effect;
        }
        if rest.starts_with("vp.") {
            return Effect::Skip(SkipReason::VectorPredication);
        }
        if rest.starts_with("va_start") || rest.starts_with("va_copy") {
            return Effect::Skip(SkipReason::VariableArguments);
        }
        if is_target_intrinsic(rest) && self.may_access_memory(callee) {
            return Effect::Skip(SkipReason::TargetIntrinsic);
        }
        Effect::Nothing
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
        let (kind, address, data, mask) = if rest.starts_with("masked.load") {
            (ItemKind::MaskedLoad, call.operand(0), call.ty(), mask_of_load())
        } else if rest.starts_with("masked.store") {
            (ItemKind::MaskedStore, call.operand(1), call.operand(0).ty(), mask_of_store())
        } else if rest.starts_with("masked.gather") {
            (ItemKind::Gather, call.operand(0), call.ty(), mask_of_load())
        } else if rest.starts_with("masked.scatter") {
            (ItemKind::Scatter, call.operand(1), call.operand(0).ty(), mask_of_store())
        } else if rest.starts_with("masked.expandload") {
            (ItemKind::ExpandLoad, call.operand(0), call.ty(), call.operand(1))
        } else if rest.starts_with("masked.compressstore") {
            (ItemKind::CompressStore, call.operand(1), call.operand(0).ty(), call.operand(2))
        } else {
            return None;
        };
        let Some((element, lanes)) = data.vector() else { return Some(Effect::Skip(SkipReason::ScalableVector)) };
        if lanes > 64 {
            return Some(Effect::Skip(SkipReason::WideMask));
        }
        Some(match self.check(address, element) {
            Err(reason) => Effect::Skip(reason),
            Ok(size) => Effect::Accesses(vec![Access {
                kind,
                flags: 0,
                address,
                offset: 0,
                length: Length::Fixed(size),
                second: Some(mask),
                lanes: lanes as u16,
            }]),
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

fn is_target_intrinsic(rest: &str) -> bool {
    ["x86.", "aarch64.", "arm."].iter().any(|prefix| rest.starts_with(prefix))
}

fn length_of<'m>(length: Value<'m>) -> Length<'m> {
    match length.as_signed_constant().and_then(|n| u64::try_from(n).ok()) {
        Some(fixed) if fixed <= u64::from(u32::MAX) => Length::Fixed(fixed),
        _ => Length::Dynamic(length),
    }
}

/// A copy that the calling convention makes, in blocks as any other copy.
#[must_use]
pub fn blocks<'m>(kind: ItemKind, address: Value<'m>, size: u64) -> Vec<Access<'m>> {
    let block = |start: u64| Access {
        kind,
        flags: 0,
        address,
        offset: start as i64,
        length: Length::Fixed((size - start).min(COPY_BLOCK)),
        second: None,
        lanes: 0,
    };
    (0..size).step_by(COPY_BLOCK as usize).map(block).collect()
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
