//! What the instrumentation says about each kind of instruction, read back from the object it wrote.
//!
//! Each test is a few lines of IR and the text form of the descriptors they must give: one line per segment, one per
//! item.

use std::fmt::Write;

use dmdprof_instrument::{Append, Error, Model, Request, instrument_file};
use dmdprof_runtime::{
    abi::{Item, NONE, SegmentKind, item_flag, segment_flag},
    sites::{Segment, SiteTable},
};

const HEADER: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n\
    target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n";

fn instrument(ir: &str) -> Result<SiteTable, Error> {
    instrument_with(ir, true, Append::InPlace)
}

fn instrument_with(ir: &str, loop_records: bool, append: Append) -> Result<SiteTable, Error> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
    std::fs::write(&input, format!("{HEADER}{ir}")).expect("writable");
    let request = Request {
        input: &input,
        object: &object,
        model: Model::Memory,
        loop_records,
        append,
        opt_level: 2,
        function_sections: false,
        flags: "",
        dump_ir: None,
    };
    instrument_file(&request)?;
    Ok(SiteTable::read(&object).expect("the object has readable descriptors"))
}

fn describe(ir: &str) -> String {
    let table = instrument(ir).expect("valid IR");
    let mut out = String::new();
    for segment in &table.segments {
        out += &describe_segment(&table, segment);
    }
    for (reason, count) in &table.skips {
        writeln!(out, "skipped {count}: {}", table.strings[*reason as usize]).expect("to a string");
    }
    out
}

fn describe_segment(table: &SiteTable, segment: &Segment) -> String {
    let mut out = String::new();
    let function = &table.strings[table.functions[segment.function as usize].name as usize];
    let kind = ["block", "loop", "call site"][segment.kind as usize];
    write!(out, "{function}: {kind}, {} words", segment.words).expect("to a string");
    let names = [
        (segment_flag::ENTER, "enter"),
        (segment_flag::EXIT, "exit"),
        (segment_flag::LANDING, "landing"),
        (segment_flag::COOKIE, "cookie"),
    ];
    for (flag, name) in names {
        if segment.flags & flag != 0 {
            write!(out, ", {name}").expect("to a string");
        }
    }
    if segment.callee != NONE {
        write!(out, ", calls {}", table.strings[segment.callee as usize]).expect("to a string");
    }
    out += "\n";
    for item in &table.items[segment.items.start as usize..segment.items.end as usize] {
        writeln!(out, "  {}", describe_item(item)).expect("to a string");
    }
    for slot in &table.slots[segment.slots.start as usize..segment.slots.end as usize] {
        let text = |index: u32| table.strings.get(index as usize).map_or("(unnamed)", String::as_str);
        let (name, function, line) = (text(slot.name), text(slot.function), slot.line);
        writeln!(out, "  slot {} at word {}+{}: {name} of {function}, line {line}", slot.size, slot.word, slot.offset)
            .expect("to a string");
    }
    for ops in &table.ops[segment.ops.start as usize..segment.ops.end as usize] {
        let classes = ["fadd", "fmul", "fma", "fdiv", "special", "int", "compare"];
        let counts: Vec<String> =
            classes.iter().zip(ops.ops).filter(|(_, n)| *n > 0).map(|(c, n)| format!("{n} {c}")).collect();
        writeln!(out, "  ops: {}", counts.join(", ")).expect("to a string");
    }
    out
}

fn describe_item(item: &Item) -> String {
    let kinds = [
        "",
        "load",
        "store",
        "update",
        "masked load",
        "masked store",
        "gather",
        "scatter",
        "expand load",
        "compress store",
        "copy",
        "fill",
        "kill",
    ];
    let kind = kinds[item.kind as usize];
    let length = if item.flags & item_flag::DYNAMIC != 0 { "dynamic".into() } else { item.size.to_string() };
    let mut out = format!("{kind} {length} at word {}{:+}", item.word, item.offset);
    if item.flags & item_flag::STRIDE_WORD != 0 {
        write!(out, " stride word {}", item.word2).expect("to a string");
    } else if item.stride != 0 {
        write!(out, " stride {:+}", item.stride).expect("to a string");
    }
    if item.word2 != 0 && item.flags & item_flag::STRIDE_WORD == 0 {
        write!(out, ", word2 {}", item.word2).expect("to a string");
    }
    if item.lanes != 0 {
        write!(out, ", lanes {}", item.lanes).expect("to a string");
    }
    for (flag, name) in [(item_flag::ATOMIC, "atomic"), (item_flag::VOLATILE, "volatile")] {
        if item.flags & flag != 0 {
            write!(out, ", {name}").expect("to a string");
        }
    }
    out
}

#[test]
fn scalars_share_a_word_per_base_and_carry_offsets() {
    insta::assert_snapshot!(describe(
        "define double @f(ptr %p, ptr %q, i64 %i) {
           %a = load double, ptr %p
           %p1 = getelementptr inbounds double, ptr %p, i64 2
           %b = load double, ptr %p1
           %x = getelementptr inbounds double, ptr %q, i64 %i
           %c = load double, ptr %x
           %i1 = add nuw nsw i64 %i, 1
           %y = getelementptr inbounds double, ptr %q, i64 %i1
           %s = fadd double %a, %b
           store double %s, ptr %y
           ret double %c
         }"
    ), @r"
    f: block, 3 words, enter, exit
      load 8 at word 1+0
      load 8 at word 1+16
      load 8 at word 2+0
      store 8 at word 2+8
      ops: 1 fadd, 1 int
    ");
}

#[test]
fn vectors_of_any_width_are_one_access() {
    insta::assert_snapshot!(describe(
        "define void @f(ptr %p) {
           %a = load <8 x double>, ptr %p
           %b = load <16 x double>, ptr %p
           %s = fmul <8 x double> %a, %a
           store <8 x double> %s, ptr %p
           ret void
         }"
    ), @r"
    f: block, 2 words, enter, exit
      load 64 at word 1+0
      load 128 at word 1+0
      store 64 at word 1+0
      ops: 8 fmul
    ");
}

#[test]
fn masked_gathered_and_packed_accesses() {
    insta::assert_snapshot!(describe(
        "declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
         declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)
         declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)
         declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, i32, <4 x i1>)
         declare <4 x float> @llvm.masked.expandload.v4f32(ptr, <4 x i1>, <4 x float>)
         declare void @llvm.masked.compressstore.v4f32(<4 x float>, ptr, <4 x i1>)
         define void @f(ptr %p, <4 x ptr> %v, <4 x i1> %m) {
           %a = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x float> poison)
           call void @llvm.masked.store.v4f32.p0(<4 x float> %a, ptr %p, i32 4, <4 x i1> %m)
           %b = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %v, i32 4, <4 x i1> %m, <4 x float> poison)
           call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %b, <4 x ptr> %v, i32 4, <4 x i1> %m)
           %c = call <4 x float> @llvm.masked.expandload.v4f32(ptr %p, <4 x i1> %m, <4 x float> poison)
           call void @llvm.masked.compressstore.v4f32(<4 x float> %c, ptr %p, <4 x i1> %m)
           ret void
         }"
    ), @r"
    f: block, 11 words, enter, exit
      masked load 4 at word 1+0, word2 2, lanes 4
      masked store 4 at word 1+0, word2 2, lanes 4
      gather 4 at word 3+0, word2 2, lanes 4
      scatter 4 at word 7+0, word2 2, lanes 4
      expand load 4 at word 1+0, word2 2, lanes 4
      compress store 4 at word 1+0, word2 2, lanes 4
    ");
}

/// Masks are the signs of lanes or the bits of a number; a gather has a word per lane for which there is an index.
#[test]
fn vector_accesses_of_the_processor() {
    insta::assert_snapshot!(describe(
        "declare <16 x i8> @llvm.x86.sse3.ldu.dq(ptr)
         declare <8 x i32> @llvm.x86.avx2.maskload.d.256(ptr, <8 x i32>)
         declare void @llvm.x86.avx.maskstore.pd(ptr, <2 x i64>, <2 x double>)
         declare void @llvm.x86.sse2.maskmov.dqu(<16 x i8>, <16 x i8>, ptr)
         declare <4 x float> @llvm.x86.avx2.gather.q.ps(<4 x float>, ptr, <2 x i64>, <4 x float>, i8)
         declare <8 x double> @llvm.x86.avx512.mask.gather.dpd.512(<8 x double>, ptr, <8 x i32>, <8 x i1>, i32)
         declare <4 x i32> @llvm.x86.avx512.gather3div4.si(<4 x i32>, ptr, <2 x i64>, i8, i32)
         declare void @llvm.x86.avx512.scatter.dpi.512(ptr, i16, <16 x i32>, <16 x i32>, i32)
         declare void @llvm.x86.avx512.mask.scatterdiv2.df(ptr, <2 x i1>, <2 x i64>, <2 x double>, i32)
         declare void @llvm.x86.avx512.mask.pmovus.dw.mem.256(ptr, <8 x i32>, i8)
         define void @f(ptr %p, <16 x i8> %b, <8 x i32> %i, <2 x i64> %l, <4 x float> %s, <2 x double> %d,
                        <8 x double> %e, <8 x i1> %m, <2 x i1> %n, <4 x i32> %j, <16 x i32> %w)
                        \"target-features\"=\"+avx512f,+avx512vl\" {
           %r0 = call <16 x i8> @llvm.x86.sse3.ldu.dq(ptr %p)
           %r1 = call <8 x i32> @llvm.x86.avx2.maskload.d.256(ptr %p, <8 x i32> %i)
           call void @llvm.x86.avx.maskstore.pd(ptr %p, <2 x i64> %l, <2 x double> %d)
           call void @llvm.x86.sse2.maskmov.dqu(<16 x i8> %r0, <16 x i8> %b, ptr %p)
           %r2 = call <4 x float> @llvm.x86.avx2.gather.q.ps(<4 x float> %s, ptr %p, <2 x i64> %l, <4 x float> %s, i8 4)
           %r3 = call <8 x double> @llvm.x86.avx512.mask.gather.dpd.512(<8 x double> %e, ptr %p, <8 x i32> %i, <8 x i1> %m, i32 8)
           %r4 = call <4 x i32> @llvm.x86.avx512.gather3div4.si(<4 x i32> %j, ptr %p, <2 x i64> %l, i8 3, i32 4)
           call void @llvm.x86.avx512.scatter.dpi.512(ptr %p, i16 -1, <16 x i32> %w, <16 x i32> %w, i32 4)
           call void @llvm.x86.avx512.mask.scatterdiv2.df(ptr %p, <2 x i1> %n, <2 x i64> %l, <2 x double> %d, i32 8)
           call void @llvm.x86.avx512.mask.pmovus.dw.mem.256(ptr %p, <8 x i32> %i, i8 85)
           ret void
         }"
    ), @r"
    f: block, 41 words, enter, exit
      load 16 at word 1+0
      masked load 4 at word 1+0, word2 2, lanes 8
      masked store 8 at word 1+0, word2 3, lanes 2
      masked store 1 at word 1+0, word2 4, lanes 16
      gather 4 at word 5+0, word2 7, lanes 2
      gather 8 at word 8+0, word2 16, lanes 8
      gather 4 at word 17+0, word2 19, lanes 2
      scatter 4 at word 20+0, word2 36, lanes 16
      scatter 8 at word 37+0, word2 39, lanes 2
      masked store 2 at word 1+0, word2 40, lanes 8
    ");
}

/// Whole accesses; those that touch no byte of the program.
#[test]
fn other_accesses_of_the_processor() {
    insta::assert_snapshot!(describe(
        "declare { i8, <2 x i64> } @llvm.x86.aesenc128kl(<2 x i64>, ptr)
         declare { i8, <2 x i64> } @llvm.x86.aesdec256kl(<2 x i64>, ptr)
         declare void @llvm.x86.sse.ldmxcsr(ptr)
         declare void @llvm.x86.sse.stmxcsr(ptr)
         declare void @llvm.x86.fxsave(ptr)
         declare void @llvm.x86.directstore64(ptr, i64)
         declare void @llvm.x86.movdir64b(ptr, ptr)
         declare i32 @llvm.x86.cmpccxadd32(ptr, i32, i32, i32)
         declare void @llvm.x86.sse2.clflush(ptr)
         declare void @llvm.x86.sse2.mfence()
         declare i64 @llvm.x86.rdtsc()
         define void @f(ptr %p, ptr %q, <2 x i64> %d) \"target-features\"=\"+kl,+movdiri,+movdir64b,+cmpccxadd,+fxsr\" {
           %r0 = call { i8, <2 x i64> } @llvm.x86.aesenc128kl(<2 x i64> %d, ptr %p)
           %r1 = call { i8, <2 x i64> } @llvm.x86.aesdec256kl(<2 x i64> %d, ptr %p)
           call void @llvm.x86.sse.ldmxcsr(ptr %p)
           call void @llvm.x86.sse.stmxcsr(ptr %p)
           call void @llvm.x86.directstore64(ptr %p, i64 1)
           call void @llvm.x86.movdir64b(ptr %p, ptr %q)
           %r2 = call i32 @llvm.x86.cmpccxadd32(ptr %p, i32 1, i32 2, i32 3)
           call void @llvm.x86.sse2.clflush(ptr %p)
           call void @llvm.x86.sse2.mfence()
           %r3 = call i64 @llvm.x86.rdtsc()
           ret void
         }"
    ), @r"
    f: block, 3 words, enter, exit
      load 48 at word 1+0
      load 64 at word 1+0
      load 4 at word 1+0
      store 4 at word 1+0
      store 8 at word 1+0
      copy 64 at word 1+0, word2 2
      update 4 at word 1+0
    ");
}

/// Memory operands are accesses, whatever the text; an address in a register leads where nobody knows.
#[test]
fn inline_assembly_by_its_operands() {
    insta::assert_snapshot!(describe(
        "define void @f(ptr %p, ptr %q, i64 %n) {
           call void asm sideeffect \"movl $1, $0\", \"=*m,r\"(ptr elementtype(i32) %p, i32 1)
           call void asm sideeffect \"incl $0\", \"=*m,*m,~{memory}\"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
           call void asm sideeffect \"\", \"*m\"(ptr elementtype([100 x i8]) %q)
           call void asm sideeffect \"\", \"r,~{memory}\"(ptr %q)
           call void asm sideeffect \"mfence\", \"~{memory}\"()
           %a = call i64 asm \"leaq 8($1), $0\", \"=r,r\"(ptr %q)
           %b = call i64 asm \"movq ($1), $0\", \"=r,r\"(i64 %n)
           call void asm sideeffect \"rep stosb\", \"{di},{cx}\"(ptr %q, i64 %n)
           call void asm sideeffect inteldialect \"mov rax, [$1]; mov $0, eax\", \"=*m,r\"(ptr elementtype(i32) %p, ptr %q)
           ret void
         }"
    ), @r"
    f: block, 3 words, enter, calls inline assembly
      store 4 at word 1+0
      load 4 at word 1+0
      store 4 at word 1+0
      load 64 at word 2+0
      load 36 at word 2+64
    f: block, 1 words, calls inline assembly
    f: block, 2 words, calls inline assembly
      store 4 at word 1+0
    f: block, 1 words, exit
    skipped 3: inline assembly
    ");
}

/// Named with the bytes of what it gives or takes, where its type tells; not if it is given no address.
#[test]
fn intrinsics_that_are_not_understood_have_names() {
    insta::assert_snapshot!(describe(
        "declare <4 x float> @llvm.vp.load.v4f32.p0(ptr, <4 x i1>, i32)
         declare void @llvm.vp.store.v4f32.p0(<4 x float>, ptr, <4 x i1>, i32)
         declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
         declare i64 @llvm.readcyclecounter()
         define void @f(ptr %p, <4 x i1> %m) {
           %a = load i32, ptr %p
           %v = call <4 x float> @llvm.vp.load.v4f32.p0(ptr %p, <4 x i1> %m, i32 4)
           call void @llvm.vp.store.v4f32.p0(<4 x float> %v, ptr %p, <4 x i1> %m, i32 4)
           call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)
           %c = call i64 @llvm.readcyclecounter()
           ret void
         }"
    ), @r"
    f: block, 2 words, enter, calls llvm.vp.load.v4f32.p0 (16 bytes)
      load 4 at word 1+0
    f: block, 1 words, calls llvm.vp.store.v4f32.p0 (16 bytes)
    f: block, 1 words, exit
    skipped 2: intrinsic that is not understood
    ");
}

#[test]
fn atomics_are_a_load_then_a_store() {
    insta::assert_snapshot!(describe(
        "define void @f(ptr %p) {
           %a = atomicrmw add ptr %p, i32 1 monotonic
           %b = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic
           %c = load atomic i32, ptr %p monotonic, align 4
           store volatile i32 %c, ptr %p
           ret void
         }"
    ), @r"
    f: block, 2 words, enter, exit
      update 4 at word 1+0, atomic
      update 4 at word 1+0, atomic
      load 4 at word 1+0, atomic
      store 4 at word 1+0, volatile
      ops: 1 int
    ");
}

/// What is released comes before it, what acquires it after: the access of the first is in the record before the hook,
/// that of the second in the record after it.
#[test]
fn atomics_that_order_threads_have_hooks() {
    insta::assert_snapshot!(describe(
        "define void @f(ptr %p) {
           store atomic i32 1, ptr %p release, align 4
           %c = load atomic i32, ptr %p acquire, align 4
           %b = cmpxchg ptr %p, i32 0, i32 1 seq_cst seq_cst
           ret void
         }"
    ), @r"
    f: block, 2 words, enter
      store 4 at word 1+0, atomic
    f: call site, 1 words
      load dynamic at word 0+0
    f: call site, 1 words
      load dynamic at word 0+0
    f: block, 2 words
      load 4 at word 1+0, atomic
    f: call site, 1 words
      load dynamic at word 0+0
    f: call site, 1 words
      load dynamic at word 0+0
    f: block, 2 words, exit
      update 4 at word 1+0, atomic
    ");
}

#[test]
fn memory_intrinsics_by_static_and_dynamic_length() {
    insta::assert_snapshot!(describe(
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
         declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
         define void @f(ptr %p, ptr %q, i64 %n) {
           %p8 = getelementptr i8, ptr %p, i64 8
           call void @llvm.memcpy.p0.p0.i64(ptr %p8, ptr %q, i64 100, i1 false)
           call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
           call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
           call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 32, i1 false)
           ret void
         }"
    ), @r"
    f: block, 4 words, enter, exit
      copy 100 at word 1+8, word2 2
      copy dynamic at word 1+0, word2 2, lanes 3
      fill dynamic at word 1+0, word2 3
      fill 32 at word 1+0
    ");
}

/// Of a table of strings: an entry is 4 bytes, at the distance that is known when it runs only.
#[test]
fn entries_of_relative_tables_are_loads() {
    insta::assert_snapshot!(describe(
        "declare ptr @llvm.load.relative.i64(ptr, i64)
         define ptr @f(ptr %table, i64 %distance) {
           %entry = call ptr @llvm.load.relative.i64(ptr %table, i64 %distance)
           ret ptr %entry
         }"
    ), @r"
    f: block, 3 words, enter, exit
      gather 4 at word 1+0, word2 2, lanes 1
    ");
}

#[test]
fn stack_slots_die_at_their_scope_end_or_at_the_return() {
    insta::assert_snapshot!(describe(
        "declare void @llvm.lifetime.start.p0(i64, ptr)
         declare void @llvm.lifetime.end.p0(i64, ptr)
         declare void @g(ptr)
         define void @f(ptr byval([100 x i8]) %big) {
           %a = alloca [4 x i32]
           %b = alloca i64
           call void @llvm.lifetime.start.p0(i64 16, ptr %a)
           call void @g(ptr %a)
           call void @llvm.lifetime.end.p0(i64 16, ptr %a)
           call void @g(ptr %b)
           ret void
         }"
    ), @r"
    f: block, 4 words, enter, calls g
      store 64 at word 1+0
      store 36 at word 1+64
      slot 100 at word 1+0: (unnamed) of f, line 0
      slot 8 at word 2+0: (unnamed) of f, line 0
      slot 16 at word 3+0: (unnamed) of f, line 0
    f: block, 2 words, calls g
      kill 16 at word 1+0
    f: block, 3 words, exit
      kill 8 at word 1+0
      kill 100 at word 2+0
    ");
}

#[test]
fn stack_slots_are_named_by_debug_information() {
    insta::assert_snapshot!(describe(
        "define void @f() !dbg !5 {
           %x = alloca i32
             #dbg_declare(ptr %x, !8, !DIExpression(), !10)
           store i32 1, ptr %x, !dbg !10
           ret void, !dbg !10
         }
         !llvm.dbg.cu = !{!0}
         !llvm.module.flags = !{!2}
         !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
         !1 = !DIFile(filename: \"a.c\", directory: \"/src\")
         !2 = !{i32 2, !\"Debug Info Version\", i32 3}
         !5 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 3, type: !6, unit: !0, spFlags: DISPFlagDefinition)
         !6 = !DISubroutineType(types: !7)
         !7 = !{null}
         !8 = !DILocalVariable(name: \"x\", scope: !5, file: !1, line: 4, type: !9)
         !9 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)
         !10 = !DILocation(line: 4, scope: !5)"
    ), @r"
    f: block, 2 words, enter, exit
      store 4 at word 1+0
      kill 4 at word 1+0
      slot 4 at word 1+0: x of f, line 4
    ");
}

#[test]
fn calls_end_segments_and_are_named_when_external() {
    insta::assert_snapshot!(describe(
        "declare i32 @unseen(i32)
         declare ptr @malloc(i64)
         declare void @free(ptr)
         declare double @sin(double)
         define internal i32 @own(ptr %p) {
           %a = load i32, ptr %p
           ret i32 %a
         }
         define void @f(i32 %n) {
           %p = call ptr @malloc(i64 64)
           %x = call i32 @own(ptr %p)
           %y = call i32 @unseen(i32 %x)
           %z = call double @sin(double 1.0)
           call void @free(ptr %p)
           ret void
         }"
    ), @r"
    own: block, 2 words, enter, exit
      load 4 at word 1+0
    f: block, 1 words, enter
    f: call site, 1 words
      load dynamic at word 0+0
    f: block, 1 words, calls unseen
    f: block, 1 words, calls sin
      ops: 1 special
    f: call site, 1 words
      load dynamic at word 0+0
    f: block, 1 words, exit
    ");
}

#[test]
fn unwinding_and_setjmp_make_landings() {
    insta::assert_snapshot!(describe(
        "declare i32 @__gxx_personality_v0(...)
         declare void @may_throw()
         declare i32 @setjmp(ptr) returns_twice
         define void @f(ptr %env) personality ptr @__gxx_personality_v0 {
           %r = call i32 @setjmp(ptr %env) returns_twice
           invoke void @may_throw() to label %ok unwind label %bad
         ok:
           ret void
         bad:
           %l = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %l
         }"
    ), @r"
    f: block, 2 words, enter, cookie, calls setjmp
    f: block, 2 words, landing, calls may_throw
    f: block, 1 words, exit
    f: block, 2 words, exit, landing
    ");
}

#[test]
fn tail_calls_that_must_stay_end_the_frame_before_the_call() {
    insta::assert_snapshot!(describe(
        "declare i32 @g(i32)
         define i32 @f(i32 %x) {
           %y = musttail call i32 @g(i32 %x)
           ret i32 %y
         }"
    ), @r"
    f: block, 1 words, enter, exit, calls g
    ");
}

#[test]
fn what_cannot_be_hooked_is_counted_by_reason() {
    insta::assert_snapshot!(describe(
        "declare void @llvm.va_start.p0(ptr)
         declare void @llvm.x86.xsave(ptr, i32, i32)
         define void @naked_one() naked {
           call void asm sideeffect \"ret\", \"\"()
           unreachable
         }
         define void @f(ptr %p, ptr addrspace(257) %s, ...) \"target-features\"=\"+xsave\" {
           call void asm sideeffect \"incl ($0)\", \"r,~{memory}\"(ptr %p)
           %a = load i32, ptr addrspace(257) %s
           call void @llvm.x86.xsave(ptr %p, i32 0, i32 0)
           call void @llvm.va_start.p0(ptr %p)
           ret void
         }"
    ), @r"
    f: block, 1 words, enter, calls inline assembly
    f: block, 1 words, calls llvm.x86.xsave
    f: block, 1 words, exit
    skipped 1: naked function
    skipped 1: inline assembly
    skipped 1: address space other than 0
    skipped 1: intrinsic that is not understood
    skipped 1: variable arguments intrinsic
    ");
}

#[test]
fn operations_by_class_and_lane() {
    insta::assert_snapshot!(describe(
        "declare double @llvm.fma.f64(double, double, double)
         declare <4 x float> @llvm.sqrt.v4f32(<4 x float>)
         declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
         declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
         define double @f(double %a, <4 x float> %v, <8 x i32> %w, i32 %i) {
           %m = call double @llvm.fma.f64(double %a, double %a, double %a)
           %d = fdiv double %m, %a
           %s = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %v)
           %r = call float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %s)
           %t = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %w)
           %u = xor i32 %t, %i
           %c = icmp slt i32 %u, %i
           ret double %d
         }"
    ), @r"
    f: block, 1 words, enter, exit
      ops: 4 fadd, 1 fma, 1 fdiv, 4 special, 8 int, 1 compare
    ");
}

/// `for (i = 0; i < n; i++) c[2 * i + 1] = a[i] + b[i * m]`, with a second way out of `exit`.
const AFFINE: &str = "define void @f(ptr %a, ptr %b, ptr %c, i64 %n, i64 %m) {
    entry:
      %none = icmp slt i64 %n, 1
      br i1 %none, label %exit, label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %pa = getelementptr inbounds double, ptr %a, i64 %i
      %x = load double, ptr %pa
      %im = mul nsw i64 %i, %m
      %pb = getelementptr inbounds double, ptr %b, i64 %im
      %y = load double, ptr %pb
      %s = fadd double %x, %y
      %twice = shl i64 %i, 1
      %odd = or disjoint i64 %twice, 1
      %pc = getelementptr inbounds double, ptr %c, i64 %odd
      store double %s, ptr %pc
      %next = add nuw nsw i64 %i, 1
      %done = icmp eq i64 %next, %n
      br i1 %done, label %exit, label %loop
    exit:
      ret void
    }";

#[test]
fn a_loop_of_one_block_is_one_record() {
    insta::assert_snapshot!(describe(AFFINE), @r"
    f: block, 1 words, enter
      ops: 1 compare
    f: loop, 6 words
      load 8 at word 2+0 stride +8
      load 8 at word 3+0 stride word 5
      store 8 at word 4+0 stride +16
      ops: 1 fadd, 4 int, 1 compare
    f: block, 1 words, exit
    ");
}

#[test]
fn loops_that_are_not_sums_keep_a_record_per_iteration() {
    // An index from memory, and a counter that may wrap.
    insta::assert_snapshot!(describe(
        "define void @f(ptr %a, ptr %b, i8 %k) {
         entry:
           br label %gather
         gather:
           %p = phi ptr [ %a, %entry ], [ %pn, %gather ]
           %index = load i64, ptr %p
           %q = getelementptr i32, ptr %b, i64 %index
           store i32 0, ptr %q
           %pn = getelementptr i64, ptr %p, i64 1
           %more = icmp ne i64 %index, 0
           br i1 %more, label %gather, label %wrap
         wrap:
           %i = phi i8 [ 0, %gather ], [ %in, %wrap ]
           %wide = zext i8 %i to i64
           %r = getelementptr i8, ptr %b, i64 %wide
           %v = load i8, ptr %r
           %in = add i8 %i, 3
           %again = icmp ne i8 %v, %k
           br i1 %again, label %wrap, label %out
         out:
           ret void
         }"
    ), @r"
    f: block, 1 words, enter
    f: block, 3 words
      load 8 at word 1+0
      store 4 at word 2+0
      ops: 1 compare
    f: block, 2 words
      load 1 at word 1+0
      ops: 1 int, 1 compare
    f: block, 1 words, exit
    ");
}

#[test]
fn a_loop_counts_its_iterations_even_without_a_counter() {
    // A list walk would not be affine; waiting for a flag is, at a step of nothing.
    insta::assert_snapshot!(describe(
        "define void @f(ptr %p) {
         entry:
           br label %wait
         wait:
           %v = load atomic i32, ptr %p monotonic, align 4
           %still = icmp eq i32 %v, 0
           br i1 %still, label %wait, label %out
         out:
           ret void
         }"
    ), @r"
    f: block, 1 words, enter
    f: loop, 3 words
      load 4 at word 2+0, atomic
      ops: 1 compare
    f: block, 1 words, exit
    ");
}

#[test]
fn loop_records_can_be_switched_off() {
    let with = |loop_records| {
        let table = instrument_with(AFFINE, loop_records, Append::InPlace).expect("valid IR");
        table.segments.iter().map(|segment| segment.kind).collect::<Vec<_>>()
    };
    assert!(with(true).contains(&(SegmentKind::Loop as u8)));
    assert!(!with(false).contains(&(SegmentKind::Loop as u8)));
}

#[test]
fn records_by_call_are_described_as_those_in_place() {
    let with = |append| {
        let table = instrument_with(AFFINE, true, append).expect("valid IR");
        table.segments.iter().map(|segment| describe_segment(&table, segment)).collect::<String>()
    };
    assert_eq!(with(Append::ByCall), with(Append::InPlace));
}

#[test]
fn garbage_and_foreign_targets_are_refused_with_a_reason() {
    let message = instrument("this is not IR").expect_err("not IR").to_string();
    assert!(message.contains("is not bitcode that LLVM"), "{message}");

    let directory = tempfile::tempdir().expect("a temporary directory");
    let input = directory.path().join("arm.ll");
    std::fs::write(&input, "target triple = \"aarch64-unknown-linux-gnu\"\ndefine void @f() { ret void }\n")
        .expect("writable");
    let object = directory.path().join("arm.o");
    let request = Request {
        input: &input,
        object: &object,
        model: Model::Memory,
        loop_records: true,
        append: Append::InPlace,
        opt_level: 2,
        function_sections: false,
        flags: "",
        dump_ir: None,
    };
    let message = instrument_file(&request).expect_err("a foreign target").to_string();
    assert!(message.contains("only x86_64 Linux is supported"), "{message}");
    assert!(!object.exists(), "a refusal leaves no object");
}

#[test]
fn bad_inline_assembly_is_an_error_and_no_exit() {
    let message = instrument("define void @f() { call void asm sideeffect \"bogus\", \"\"() ret void }")
        .expect_err("bad assembly");
    assert!(message.to_string().contains("the code generator refuses"), "{message}");
}

/// The IR of a function before and after, as it is dumped.
fn dumped(function: &str) -> (String, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, dumps) = (directory.path().join("k.ll"), directory.path().join("dumps"));
    std::fs::write(&input, format!("{HEADER}{function}\n")).expect("writable");
    let request = Request {
        input: &input,
        object: &directory.path().join("k.o"),
        model: Model::Memory,
        loop_records: true,
        append: Append::InPlace,
        opt_level: 2,
        function_sections: false,
        flags: "",
        dump_ir: Some(&dumps),
    };
    instrument_file(&request).expect("valid IR");
    let read = |name: &str| std::fs::read_to_string(dumps.join(name)).expect("dumped");
    (read("k.before.ll"), read("k.after.ll"))
}

#[test]
fn ir_is_dumped_before_and_after() {
    let (before, after) = dumped("define void @f(ptr %p) { store i32 1, ptr %p ret void }");
    assert!(!before.contains("__dmdprof"));
    assert!(after.contains("__dmdprof_v5_ring__link_with_dmdprof_cc"));
}

#[test]
fn the_object_names_its_compiler() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
    let body = "define i32 @f(ptr %p) #0 {\n  %x = load i32, ptr %p\n  ret i32 %x\n}\nattributes #0 = { \"target-cpu\"=\"skylake\" }\n\
                !llvm.ident = !{!0}\n!0 = !{!\"clang version 99\"}\n";
    std::fs::write(&input, format!("{HEADER}{body}")).expect("writable");
    let comment = |flags: &str| {
        let request = Request {
            input: &input,
            object: &object,
            model: Model::Memory,
            loop_records: true,
            append: Append::InPlace,
            opt_level: 2,
            function_sections: false,
            flags,
            dump_ir: None,
        };
        dmdprof_instrument::instrument_file(&request).expect("instrumented");
        String::from_utf8_lossy(&std::fs::read(&object).expect("an object")).into_owned()
    };
    assert!(comment("").contains("dmdprof: clang version 99 -O2 for skylake\0"));
    assert!(comment("-Os -ffast-math").contains("dmdprof: clang version 99 -Os -ffast-math for skylake\0"));
}

/// LLVM would complain about them on standard error, which build systems take for a refused option.
#[test]
fn features_that_llvm_has_forgotten_are_dropped() {
    let features = "+avx2,-avx512er,+3dnow,-prefetchwt1,+sse4.2";
    let (_, text) = dumped(&format!(
        "define void @f(ptr %p) \"target-features\"=\"{features}\" {{ store i32 1, ptr %p ret void }}"
    ));
    assert!(text.contains("\"target-features\"=\"+avx2,+sse4.2\""), "{text}");
}
