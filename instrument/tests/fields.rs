//! What descriptors say about fields and loops of accesses, read back from the object that the instrumentation wrote.

use dmdprof_instrument::{Append, Model, Request, instrument_file};
use dmdprof_runtime::{
    abi::{ItemKind, NONE},
    sites::SiteTable,
};

/// `struct body { double at[3]; struct { int id, kind; } tag; struct body *next; };` in a loop over an array of them,
/// inside a loop that goes around it, and one that walks a list.
const BODY: &str = r#"
target triple = "x86_64-unknown-linux-gnu"
@all = global [8 x { [3 x double], { i32, i32 }, ptr }] zeroinitializer, !dbg !60
@all.1 = global ptr null, !dbg !62
declare void @called(ptr)
define void @f(ptr %p, i64 %n) !dbg !5 {
entry:
    #dbg_value(ptr %p, !30, !DIExpression(), !40)
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %kind.p = getelementptr { [3 x double], { i32, i32 }, ptr }, ptr %p, i64 %j, i32 1, i32 1
  %kind = load i32, ptr %kind.p
  %at.p = getelementptr { [3 x double], { i32, i32 }, ptr }, ptr %p, i64 %j, i32 0, i64 %i
  store double 0.0, ptr %at.p
  %both = getelementptr i8, ptr %p, i64 24
  store i64 0, ptr %both
  %g = getelementptr [8 x { [3 x double], { i32, i32 }, ptr }], ptr @all, i64 0, i64 %j, i32 2
  store ptr null, ptr %g
  store ptr null, ptr @all.1
  %odd = getelementptr i8, ptr %p, i64 %j
  store i8 0, ptr %odd
  %j.next = add i64 %j, 1
  %more = icmp ult i64 %j.next, %n
  br i1 %more, label %inner, label %latch
latch:
  call void @called(ptr %p)
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %n
  br i1 %again, label %outer, label %list
list:
  %b = phi ptr [ %p, %latch ], [ %next, %list ]
  %next.p = getelementptr i8, ptr %b, i64 32
  %next = load ptr, ptr %next.p
  %end = icmp eq ptr %next, null
  br i1 %end, label %done, label %list
done:
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug, globals: !{!60})
!1 = !DIFile(filename: "f.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, unit: !0, type: !6, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !{})
!10 = !DICompositeType(tag: DW_TAG_structure_type, name: "body", file: !1, size: 320, elements: !{!11, !12, !13})
!11 = !DIDerivedType(tag: DW_TAG_member, name: "at", scope: !10, baseType: !14, size: 192)
!12 = !DIDerivedType(tag: DW_TAG_member, name: "tag", scope: !10, baseType: !17, size: 64, offset: 192)
!13 = !DIDerivedType(tag: DW_TAG_member, name: "next", scope: !10, baseType: !20, size: 64, offset: 256)
!14 = !DICompositeType(tag: DW_TAG_array_type, baseType: !15, size: 192, elements: !{!16})
!15 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!16 = !DISubrange(count: 3)
!17 = distinct !DICompositeType(tag: DW_TAG_structure_type, file: !1, size: 64, elements: !{!18, !19})
!18 = !DIDerivedType(tag: DW_TAG_member, name: "id", scope: !17, baseType: !22, size: 32)
!19 = !DIDerivedType(tag: DW_TAG_member, name: "kind", scope: !17, baseType: !22, size: 32, offset: 32)
!20 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64)
!21 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !10)
!22 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!30 = !DILocalVariable(name: "p", arg: 1, scope: !5, file: !1, line: 1, type: !20)
!40 = !DILocation(line: 1, column: 1, scope: !5)
!50 = !DICompositeType(tag: DW_TAG_array_type, baseType: !10, size: 2560, elements: !{!51})
!51 = !DISubrange(count: 8)
!60 = !DIGlobalVariableExpression(var: !61, expr: !DIExpression())
!62 = !DIGlobalVariableExpression(var: !61, expr: !DIExpression(DW_OP_LLVM_fragment, 256, 64))
!61 = distinct !DIGlobalVariable(name: "all", scope: !0, file: !1, line: 2, type: !50, isLocal: false, isDefinition: true)
"#;

fn table() -> SiteTable {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
    std::fs::write(&input, BODY).expect("writable");
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
    instrument_file(&request).expect("valid IR");
    SiteTable::read(&object).expect("the object has readable descriptors")
}

/// Of each load and store: `TYPE.FIELD offset+size`, the loop around it, the one in which its address stays the same,
/// and whether the address depends on data.
fn accesses(table: &SiteTable) -> Vec<(String, Option<u32>, Option<u32>, bool)> {
    let is = |index: u32| (index != NONE).then_some(index);
    let mut found = Vec::new();
    for (number, segment) in (0..).zip(&table.segments) {
        let items = &table.items[segment.items.start as usize..segment.items.end as usize];
        for (index, item) in (0..).zip(items) {
            if ![ItemKind::Load, ItemKind::Store].iter().any(|kind| *kind as u8 == item.kind) {
                continue;
            }
            let note = table.notes.get(&(number, index));
            let (field, same) = note.map_or((NONE, NONE), |note| (note.field, note.same));
            let is_irregular = note.is_some_and(|note| note.is_irregular == 1);
            let text = |string: u32| &table.strings[string as usize];
            let field = is(field).map(|at| &table.fields[at as usize]).map_or("?".to_owned(), |f| {
                format!("{}({}) {} {}+{}", text(f.type_name), f.type_size, text(f.name), f.offset, f.size)
            });
            found.push((field, is(segment.around), is(same), is_irregular));
        }
    }
    found
}

#[test]
fn accesses_name_their_fields_and_loops() {
    let table = table();
    let parents: Vec<u32> = table.loops.iter().map(|l| l.parent).collect();
    let inner = parents.iter().position(|parent| *parent != NONE).expect("a loop in a loop") as u32;
    let outer = parents[inner as usize];
    let list = (0..3).find(|l| ![inner, outer].contains(l)).expect("three loops");
    let at = |field: &str, around, same| (field.to_owned(), Some(around), same, around == list);
    let expected = [
        // The address is the same for each i.
        at("body(40) tag.kind 28+4", inner, Some(outer)),
        // It depends on both.
        at("body(40) at[] 0+24", inner, None),
        // It depends on none.
        at("body(40) tag.id..kind 24+8", inner, Some(inner)),
        at("body(40) next 32+8", inner, Some(outer)),
        // A variable that was a part of another one.
        at("?", inner, Some(inner)),
        // No step of an array of bodies.
        at("?", inner, Some(outer)),
        at("body(40) next 32+8", list, None),
    ];
    assert_eq!(accesses(&table), expected);
}

#[test]
fn calls_name_the_loop_around_them() {
    let table = table();
    let calls: Vec<(&str, u32)> =
        table.calls.iter().map(|(_, call)| (table.strings[call.callee as usize].as_str(), call.around)).collect();
    let outer = table.loops.iter().find(|l| l.parent != NONE).expect("a loop in a loop").parent;
    assert_eq!(calls, [("called", outer)]);
}
