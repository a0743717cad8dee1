//! What the instrumentation for the values model says about each kind of instruction: one line per segment, one per
//! step.

use std::fmt::Write;

use dmdprof_instrument::{Append, Model, Request, instrument_file};
use dmdprof_runtime::{
    abi::Item,
    sites::SiteTable,
    steps::{Registers, StepKind, ValueOp, accessed_register},
};

const HEADER: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n\
    target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n";

fn describe(ir: &str) -> String {
    let (text, has_values) = read(ir);
    assert!(has_values);
    text
}

/// The steps of all functions, and whether there are any.
fn read(ir: &str) -> (String, bool) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
    std::fs::write(&input, format!("{HEADER}{ir}")).expect("writable");
    let request = Request {
        input: &input,
        object: &object,
        model: Model::Values,
        loop_records: true,
        append: Append::InPlace,
        opt_level: 2,
        function_sections: false,
        flags: "",
        dump_ir: None,
    };
    instrument_file(&request).expect("valid IR");
    let table = SiteTable::read(&object).expect("the object has readable descriptors");
    let mut out = String::new();
    for segment in &table.segments {
        let function = &table.functions[segment.function as usize];
        let name = &table.strings[function.name as usize];
        let callee = table.strings.get(segment.callee as usize).map_or(String::new(), |c| format!(", calls {c}"));
        writeln!(out, "{name}: {} words, {} registers{callee}", segment.words, function.registers).expect("a string");
        for item in &table.items[segment.items.start as usize..segment.items.end as usize] {
            writeln!(out, "  {}", describe_step(item)).expect("a string");
        }
    }
    for (reason, count) in &table.skips {
        writeln!(out, "skipped {count}: {}", table.strings[*reason as usize]).expect("a string");
    }
    (out, table.has_values())
}

fn describe_step(item: &Item) -> String {
    let Some(kind) = StepKind::from_number(item.kind) else { return format!("item {}", item.kind) };
    let address = format!("word {} + {}, {} bytes", item.word, item.offset, item.size);
    match kind {
        StepKind::Load => format!("r{} = load {address}", accessed_register(item)),
        StepKind::Store => format!("store {address} = r{}", accessed_register(item)),
        StepKind::BytesArgument | StepKind::BytesParameter => format!("{kind:?} {}: {address}", item.lanes),
        _ => {
            let Registers { dst, a, b, c } = Registers::from_item(item);
            let op = ValueOp::from_number(item.flags).filter(|_| matches!(kind, StepKind::Op | StepKind::Fma));
            let op = op.map_or(String::new(), |op| format!(" {}", op.name()));
            format!(
                "{kind:?}{op} r{dst} <- r{a} r{b} r{c}, word {}, lanes {}, size {}",
                item.word, item.lanes, item.size
            )
        }
    }
}

/// Counters and what is made of constants have no steps; the accumulator's phi tells by which edge control came.
#[test]
fn a_loop_follows_its_accumulator_and_not_its_counter() {
    insta::assert_snapshot!(describe(
        "define double @sum(ptr %p) {
         entry:
           br label %loop
         loop:
           %i = phi i64 [ 0, %entry ], [ %next, %loop ]
           %s = phi double [ 0.0, %entry ], [ %t, %loop ]
           %q = getelementptr double, ptr %p, i64 %i
           %x = load double, ptr %q
           %t = fadd double %s, %x
           %next = add i64 %i, 1
           %go = icmp ult i64 %next, 10
           br i1 %go, label %loop, label %done
         done:
           ret double %t
         }"
    ), @r#"
    sum: 1 words, 6 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
    sum: 3 words, 6 registers
      PhiMove r2 <- r0 r0 r0, word 1, lanes 0, size 0
      PhiMove r2 <- r5 r0 r0, word 1, lanes 1, size 0
      Move r3 <- r1 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r3 r0 r0, word 0, lanes 0, size 0
      r4 = load word 2 + 0, 8 bytes
      Op add r5 <- r2 r4 r0, word 0, lanes 1, size 8
    sum: 1 words, 6 registers
      Return r0 <- r5 r0 r0, word 0, lanes 0, size 0
    "#);
}

#[test]
fn variables_are_moved_into_registers_first() {
    insta::assert_snapshot!(describe(
        "define i32 @twice(i32 %x) {
           %slot = alloca i32
           store i32 %x, ptr %slot
           %a = load i32, ptr %slot
           %b = load i32, ptr %slot
           %c = mul i32 %a, %b
           ret i32 %c
         }"
    ), @r#"
    twice: 1 words, 3 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Op mul r2 <- r1 r1 r0, word 0, lanes 1, size 4
      Return r0 <- r2 r0 r0, word 0, lanes 0, size 0
    "#);
}

#[test]
fn conditions_indices_and_addresses_are_reads_without_a_result() {
    insta::assert_snapshot!(describe(
        "define i32 @pick(ptr %p, i32 %i, i1 %c) {
           %w = sext i32 %i to i64
           %q = getelementptr i32, ptr %p, i64 %w
           %x = load i32, ptr %q
           %y = select i1 %c, i32 %x, i32 7
           br i1 %c, label %a, label %b
         a:
           ret i32 %y
         b:
           ret i32 0
         }"
    ), @r#"
    pick: 3 words, 7 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Parameter r2 <- r0 r0 r0, word 0, lanes 1, size 0
      Parameter r3 <- r0 r0 r0, word 0, lanes 2, size 0
      Move r4 <- r2 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r4 r0 r0, word 0, lanes 0, size 0
      Move r5 <- r1 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r5 r0 r0, word 0, lanes 0, size 0
      r6 = load word 1 + 0, 4 bytes
      Escape r0 <- r3 r0 r0, word 0, lanes 0, size 0
      Select r7 <- r6 r0 r0, word 2, lanes 0, size 0
      Escape r0 <- r3 r0 r0, word 0, lanes 0, size 0
    pick: 1 words, 7 registers
      Return r0 <- r7 r0 r0, word 0, lanes 0, size 0
    pick: 1 words, 7 registers
      Return r0 <- r0 r0 r0, word 0, lanes 0, size 0
    "#);
}

#[test]
fn calls_hand_over_arguments_and_take_results() {
    insta::assert_snapshot!(describe(
        "declare double @unknown(double, ...)
         declare double @fmax(double, double)
         declare {i64, i64} @ldiv(i64, i64)
         define i64 @f(double %x, i64 %n) {
           %y = call double (double, ...) @unknown(double 1.0, double %x)
           %z = call double @fmax(double %y, double %x)
           %d = call {i64, i64} @ldiv(i64 %n, i64 3)
           %r = extractvalue {i64, i64} %d, 1
           %w = fptosi double %z to i64
           %s = add i64 %r, %w
           ret i64 %s
         }"
    ), @r#"
    f: 1 words, 10 registers, calls unknown
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Parameter r2 <- r0 r0 r0, word 0, lanes 1, size 0
      Argument r0 <- r1 r0 r0, word 0, lanes 1, size 0
      Call r0 <- r0 r0 r0, word 0, lanes 0, size 0
    f: 1 words, 10 registers
      Returned r0 <- r0 r0 r0, word 0, lanes 0, size 0
      Result r3 <- r0 r0 r0, word 0, lanes 0, size 0
      Op max r4 <- r3 r1 r0, word 0, lanes 1, size 8
      Op divmod r5 <- r2 r0 r0, word 0, lanes 2, size 8
      Move r7 <- r6 r0 r0, word 0, lanes 0, size 0
      Convert r8 <- r4 r0 r0, word 0, lanes 1, size 8
      Op add r9 <- r7 r8 r0, word 0, lanes 1, size 8
      Return r0 <- r9 r0 r0, word 0, lanes 0, size 0
    "#);
}

#[test]
fn vectors_are_as_many_values_as_they_have_lanes() {
    insta::assert_snapshot!(describe(
        "define <2 x float> @f(<2 x float> %a, ptr %p) {
           %b = load <2 x float>, ptr %p
           %c = fmul <2 x float> %a, %b
           %d = shufflevector <2 x float> %c, <2 x float> %a, <2 x i32> <i32 1, i32 2>
           %e = call <2 x float> @llvm.fmuladd.v2f32(<2 x float> %d, <2 x float> %a, <2 x float> zeroinitializer)
           ret <2 x float> %e
         }
         declare <2 x float> @llvm.fmuladd.v2f32(<2 x float>, <2 x float>, <2 x float>)"
    ), @r#"
    f: 2 words, 14 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Parameter r2 <- r0 r0 r0, word 0, lanes 1, size 0
      Parameter r3 <- r0 r0 r0, word 0, lanes 2, size 0
      Escape r0 <- r3 r0 r0, word 0, lanes 0, size 0
      r4 = load word 1 + 0, 4 bytes
      r5 = load word 1 + 4, 4 bytes
      Op mul r6 <- r1 r4 r0, word 0, lanes 1, size 4
      Op mul r7 <- r2 r5 r0, word 0, lanes 1, size 4
      Move r8 <- r7 r0 r0, word 0, lanes 0, size 0
      Move r9 <- r1 r0 r0, word 0, lanes 0, size 0
      Fma fma r10 <- r8 r1 r0, word 0, lanes 1, size 4
      Op mul r12 <- r8 r1 r0, word 0, lanes 1, size 4
      Op add r10 <- r12 r0 r0, word 0, lanes 1, size 4
      Fma fma r11 <- r9 r2 r0, word 0, lanes 1, size 4
      Op mul r13 <- r9 r2 r0, word 0, lanes 1, size 4
      Op add r11 <- r13 r0 r0, word 0, lanes 1, size 4
      Return r0 <- r10 r0 r0, word 0, lanes 0, size 0
      Return r0 <- r11 r0 r0, word 0, lanes 1, size 0
    "#);
}

#[test]
fn what_is_not_followed_is_counted() {
    insta::assert_snapshot!(describe(
        "define i32 @f(ptr %p, i32 %old, i32 %new) {
           %r = cmpxchg ptr %p, i32 %old, i32 %new seq_cst seq_cst
           %v = extractvalue {i32, i1} %r, 0
           %wide = load [100 x i32], ptr %p
           store [100 x i32] %wide, ptr %p
           ret i32 %v
         }"
    ), @r#"
    f: 2 words, 6 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Parameter r2 <- r0 r0 r0, word 0, lanes 1, size 0
      Parameter r3 <- r0 r0 r0, word 0, lanes 2, size 0
      Escape r0 <- r1 r0 r0, word 0, lanes 0, size 0
      r4 = load word 1 + 0, 4 bytes
      Op eq r5 <- r4 r2 r0, word 0, lanes 1, size 1
      store word 1 + 0, 4 bytes = r0
      Move r6 <- r4 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r1 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r1 r0 r0, word 0, lanes 0, size 0
      store word 1 + 0, 400 bytes = r0
      Return r0 <- r6 r0 r0, word 0, lanes 0, size 0
    skipped 2: vector or structure of more than 64 values, not followed
    skipped 1: value stored by a compare-and-swap, not followed
    "#);
}

/// Moves of phis are steps, and one segment has room for 65,535.
#[test]
fn a_function_too_large_for_its_descriptors_has_no_hooks_and_says_so() {
    const CASES: usize = 300;
    let cases: String = (0..CASES).map(|i| format!("i32 {i}, label %case{i} ")).collect();
    let mut ir = format!(
        "define double @f(ptr %p, i32 %n) {{\n  %v = load double, ptr %p\n  switch i32 %n, label %case0 [ {cases} ]\n"
    );
    for i in 0..CASES {
        writeln!(ir, "case{i}:\n  br label %join").expect("a string");
    }
    let edges: Vec<String> = (0..CASES).map(|i| format!("[ %v, %case{i} ]")).collect();
    ir += "join:\n";
    for i in 0..CASES {
        writeln!(ir, "  %phi{i} = phi double {}", edges.join(", ")).expect("a string");
    }
    ir += "  ret double %phi0\n}\n";
    assert_eq!(read(&ir), ("skipped 1: function too large for its descriptors\n".into(), false));
}

/// A lane that takes part is loaded or stored, at its own address; which ones do, and where, is looked at.
#[test]
fn lanes_are_loaded_and_stored_one_by_one() {
    insta::assert_snapshot!(describe(
        "declare <2 x double> @llvm.x86.avx2.gather.q.pd(<2 x double>, ptr, <2 x i64>, <2 x double>, i8)
         declare void @llvm.x86.avx.maskstore.pd(ptr, <2 x i64>, <2 x double>)
         declare <16 x i8> @llvm.x86.sse3.ldu.dq(ptr)
         define <2 x double> @f(ptr %p, <2 x i64> %i, <2 x double> %m) \"target-features\"=\"+avx2\" {
           %g = call <2 x double> @llvm.x86.avx2.gather.q.pd(<2 x double> zeroinitializer, ptr %p, <2 x i64> %i, <2 x double> %m, i8 8)
           call void @llvm.x86.avx.maskstore.pd(ptr %p, <2 x i64> %i, <2 x double> %g)
           ret <2 x double> %g
         }"
    ), @r"
    f: 6 words, 11 registers
      Parameter r1 <- r0 r0 r0, word 0, lanes 0, size 0
      Parameter r2 <- r0 r0 r0, word 0, lanes 1, size 0
      Parameter r3 <- r0 r0 r0, word 0, lanes 2, size 0
      Parameter r4 <- r0 r0 r0, word 0, lanes 3, size 0
      Parameter r5 <- r0 r0 r0, word 0, lanes 4, size 0
      Escape r0 <- r4 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r5 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r1 r0 r0, word 0, lanes 0, size 0
      Select r8 <- r2 r0 r0, word 1, lanes 0, size 0
      Escape r0 <- r8 r0 r0, word 0, lanes 0, size 0
      Select r9 <- r3 r0 r0, word 1, lanes 1, size 0
      Escape r0 <- r9 r0 r0, word 0, lanes 0, size 0
      r10 = load word 2 + 0, 8 bytes
      Select r6 <- r10 r0 r0, word 1, lanes 0, size 0
      r11 = load word 3 + 0, 8 bytes
      Select r7 <- r11 r0 r0, word 1, lanes 1, size 0
      Escape r0 <- r2 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r3 r0 r0, word 0, lanes 0, size 0
      Escape r0 <- r1 r0 r0, word 0, lanes 0, size 0
      store word 4 + 0, 8 bytes = r6
      store word 5 + 0, 8 bytes = r7
      Return r0 <- r6 r0 r0, word 0, lanes 0, size 0
      Return r0 <- r7 r0 r0, word 0, lanes 1, size 0
    ");
}
