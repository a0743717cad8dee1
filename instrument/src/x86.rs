//! What the intrinsics of x86 processors do to memory.
//!
//! Takes a call of one, gives its accesses; none for those that touch no byte of the program. What is not in the table
//! is not understood. LLVM turns the intrinsics that have an equivalent (`movntdqa`, `vpcompress` to memory, ...) into
//! loads, stores and intrinsics of its own when it reads bitcode; those that it leaves are here, by the names of all
//! versions.

use dmdprof_abi::ItemKind;

use crate::{
    access::{Access, Length, Moved, blocks},
    lanes::{Mask, Places},
    llvm::ir::{Layout, TypeKind, Value},
};

/// How many bytes.
#[derive(Clone, Copy)]
enum Bytes {
    Result,
    Operand(u32),
    Fixed(u64),
}

/// What an intrinsic does. Numbers are those of operands.
#[derive(Clone, Copy)]
enum Does {
    /// Nothing to the program's bytes: caches, timers, shadow stacks.
    Nothing,
    /// Gives the bytes at an address.
    Gives(u32),
    Load(u32, Bytes),
    Store(u32, Bytes),
    Update(u32, Bytes),
    Copy {
        to: u32,
        from: u32,
        bytes: u64,
    },
    /// (address, mask of signs): lanes of the result.
    MaskedLoad,
    /// (address, mask of signs, data).
    MaskedStore,
    /// (data, mask of signs, address): bytes.
    MaskedMove,
    /// (address, data, mask of bits): lanes narrowed to so many bytes.
    Narrowed(u64),
    /// (otherwise, base, index, mask, scale).
    Gather,
    /// (base, mask, index, data, scale).
    Scatter,
}

/// By the start of the name without `llvm.x86.`; the first that fits counts.
const TABLE: [(&str, Does); 73] = {
    use Bytes::{Fixed, Operand, Result};
    use Does::*;
    [
        ("sse3.ldu.dq", Gives(0)),
        ("avx.ldu.dq.", Gives(0)),
        ("sse41.movntdqa", Gives(0)),
        ("avx2.movntdqa", Gives(0)),
        ("avx512.movntdqa", Gives(0)),
        ("movrs", Gives(0)),
        ("avx10.vmovrs", Gives(0)),
        ("avx.maskload.", MaskedLoad),
        ("avx2.maskload.", MaskedLoad),
        ("avx.maskstore.", MaskedStore),
        ("avx2.maskstore.", MaskedStore),
        ("sse2.maskmov.dqu", MaskedMove),
        ("mmx.maskmovq", MaskedMove),
        ("avx2.gather.", Gather),
        ("avx512.gatherpf.", Nothing),
        ("avx512.gather", Gather),
        ("avx512.mask.gather", Gather),
        ("avx512.scatterpf.", Nothing),
        ("avx512.scatter", Scatter),
        ("avx512.mask.scatter", Scatter),
        ("avx512.mask.pmov.qb.mem.", Narrowed(1)),
        ("avx512.mask.pmov.db.mem.", Narrowed(1)),
        ("avx512.mask.pmov.wb.mem.", Narrowed(1)),
        ("avx512.mask.pmov.qw.mem.", Narrowed(2)),
        ("avx512.mask.pmov.dw.mem.", Narrowed(2)),
        ("avx512.mask.pmov.qd.mem.", Narrowed(4)),
        ("avx512.mask.pmovs.qb.mem.", Narrowed(1)),
        ("avx512.mask.pmovs.db.mem.", Narrowed(1)),
        ("avx512.mask.pmovs.wb.mem.", Narrowed(1)),
        ("avx512.mask.pmovs.qw.mem.", Narrowed(2)),
        ("avx512.mask.pmovs.dw.mem.", Narrowed(2)),
        ("avx512.mask.pmovs.qd.mem.", Narrowed(4)),
        ("avx512.mask.pmovus.qb.mem.", Narrowed(1)),
        ("avx512.mask.pmovus.db.mem.", Narrowed(1)),
        ("avx512.mask.pmovus.wb.mem.", Narrowed(1)),
        ("avx512.mask.pmovus.qw.mem.", Narrowed(2)),
        ("avx512.mask.pmovus.dw.mem.", Narrowed(2)),
        ("avx512.mask.pmovus.qd.mem.", Narrowed(4)),
        ("vbcstne", Load(0, Fixed(2))),
        ("vcvtnee", Load(0, Result)),
        ("vcvtneo", Load(0, Result)),
        // A handle of a key is larger than the key.
        ("aesenc128kl", Load(1, Fixed(48))),
        ("aesdec128kl", Load(1, Fixed(48))),
        ("aesenc256kl", Load(1, Fixed(64))),
        ("aesdec256kl", Load(1, Fixed(64))),
        ("aesencwide128kl", Load(0, Fixed(48))),
        ("aesdecwide128kl", Load(0, Fixed(48))),
        ("aesencwide256kl", Load(0, Fixed(64))),
        ("aesdecwide256kl", Load(0, Fixed(64))),
        ("sse.ldmxcsr", Load(0, Fixed(4))),
        ("sse.stmxcsr", Store(0, Fixed(4))),
        ("fxsave", Store(0, Fixed(512))),
        ("fxrstor", Load(0, Fixed(512))),
        ("ldtilecfg", Load(0, Fixed(64))),
        ("sttilecfg", Store(0, Fixed(64))),
        ("directstore", Store(0, Operand(1))),
        ("mmx.movnt.dq", Store(0, Operand(1))),
        ("movdir64b", Copy { to: 0, from: 1, bytes: 64 }),
        // What it writes to is a device.
        ("enqcmd", Load(1, Fixed(64))),
        ("invpcid", Load(1, Fixed(16))),
        ("aadd", Update(0, Operand(1))),
        ("aand", Update(0, Operand(1))),
        ("aor", Update(0, Operand(1))),
        ("axor", Update(0, Operand(1))),
        ("cmpccxadd", Update(0, Operand(1))),
        ("atomic.bt", Update(0, Result)),
        ("atomic.", Update(0, Operand(1))),
        ("sse2.clflush", Nothing),
        ("clflushopt", Nothing),
        ("clwb", Nothing),
        ("cldemote", Nothing),
        ("prefetchrs", Nothing),
        ("sse3.monitor", Nothing),
    ]
};

/// The accesses of a call; `None` if the intrinsic is not understood.
#[must_use]
pub fn accesses<'m>(call: Value<'m>, name: &str, layout: Layout<'m>) -> Option<Vec<Access<'m>>> {
    let (_, does) = TABLE.iter().find(|(start, _)| name.starts_with(start))?;
    let operand = |number: u32| (number < call.arguments()).then(|| call.operand(number));
    let size = |bytes: Bytes| match bytes {
        Bytes::Fixed(size) => Some(size),
        Bytes::Result => Some(layout.store_size(call.ty())),
        Bytes::Operand(number) => Some(layout.store_size(operand(number)?.ty())),
    };
    let plain = |kind, address: u32, bytes| Some(blocks(kind, operand(address)?, size(bytes)?));
    match *does {
        Does::Nothing => Some(Vec::new()),
        Does::Gives(address) => {
            let length = Length::Fixed(size(Bytes::Result)?);
            let moved = Moved::Result { otherwise: None };
            Some(vec![Access { moved, ..Access::new(ItemKind::Load, operand(address)?, length) }])
        }
        Does::Load(address, bytes) => plain(ItemKind::Load, address, bytes),
        Does::Store(address, bytes) => plain(ItemKind::Store, address, bytes),
        Does::Update(address, bytes) => plain(ItemKind::Update, address, bytes),
        Does::Copy { to, from, bytes } => {
            let copy = Access::new(ItemKind::Copy, operand(to)?, Length::Fixed(bytes));
            Some(vec![Access { source: Some(operand(from)?), ..copy }])
        }
        _ => vector(call, *does, layout).map(|access| vec![access]),
    }
}

/// The access of an intrinsic with lanes.
fn vector<'m>(call: Value<'m>, does: Does, layout: Layout<'m>) -> Option<Access<'m>> {
    let operand = |number: u32| (number < call.arguments()).then(|| call.operand(number));
    let sides = |value: Value<'m>| value.ty().vector();
    let signs = |number: u32, lanes: u32| operand(number).map(|mask| Mask::Signs(mask, lanes));
    let (kind, address, size, lanes, mask, moved, places) = match does {
        Does::MaskedLoad => {
            let (element, lanes) = call.ty().vector()?;
            let moved = Moved::Result { otherwise: None };
            (ItemKind::MaskedLoad, operand(0)?, layout.store_size(element), lanes, signs(1, lanes)?, moved, None)
        }
        Does::MaskedStore => {
            let data = operand(2)?;
            let (element, lanes) = sides(data)?;
            let size = layout.store_size(element);
            (ItemKind::MaskedStore, operand(0)?, size, lanes, signs(1, lanes)?, Moved::Operand(data), None)
        }
        Does::MaskedMove => {
            let data = operand(0)?;
            let lanes = u32::try_from(layout.store_size(data.ty())).ok()?;
            (ItemKind::MaskedStore, operand(2)?, 1, lanes, signs(1, lanes)?, Moved::Operand(data), None)
        }
        Does::Narrowed(size) => {
            let (_, lanes) = sides(operand(1)?)?;
            (ItemKind::MaskedStore, operand(0)?, size, lanes, Mask::Bits(operand(2)?), Moved::Nothing, None)
        }
        Does::Gather => {
            let (element, data_lanes) = call.ty().vector()?;
            let (index, mask) = (operand(2)?, operand(3)?);
            let lanes = data_lanes.min(sides(index)?.1);
            let size = layout.store_size(element);
            let places = indexed(operand(1)?, index, operand(4)?)?;
            let moved = Moved::Result { otherwise: operand(0) };
            (ItemKind::Gather, operand(1)?, size, lanes, mask_of(mask), moved, Some(places))
        }
        Does::Scatter => {
            let (mask, index, data) = (operand(1)?, operand(2)?, operand(3)?);
            let (element, data_lanes) = sides(data)?;
            let lanes = data_lanes.min(sides(index)?.1);
            let size = layout.store_size(element);
            let places = indexed(operand(0)?, index, operand(4)?)?;
            (ItemKind::Scatter, operand(0)?, size, lanes, mask_of(mask), Moved::Operand(data), Some(places))
        }
        _ => return None,
    };
    let lanes = u16::try_from(lanes).ok().filter(|lanes| *lanes <= 64)?;
    let access = Access::new(kind, address, Length::Fixed(size));
    Some(Access { mask: Some(mask), places, lanes, moved, ..access })
}

fn indexed<'m>(base: Value<'m>, index: Value<'m>, scale: Value<'m>) -> Option<Places<'m>> {
    Some(Places::Indexed { base, index, scale: scale.as_signed_constant()? })
}

/// AVX2 has a vector of signs, as many as lanes of the result; AVX-512 has bits.
fn mask_of(mask: Value<'_>) -> Mask<'_> {
    match mask.ty().vector() {
        Some((element, lanes)) if element.int_width() != Some(1) => Mask::Signs(mask, lanes),
        _ => Mask::Bits(mask),
    }
}

/// Whether a call is given an address.
#[must_use]
pub fn has_address(call: Value<'_>) -> bool {
    (0..call.arguments()).any(|number| call.operand(number).ty().scalar().kind() == TypeKind::Pointer)
}
