//! What descriptors say about loops, read back from the object that the instrumentation wrote.

use dmdprof_instrument::{Append, Model, Request, instrument_file};
use dmdprof_runtime::{
    abi::{ItemKind, segment_flag},
    motion::loops::{LoopNumber, ModuleLoops, SegmentLoop, SourceLoop},
    sites::SiteTable,
};

const HEADER: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n";

/// `for (i = 0; i < n; i++) { for (j = 0; j < n; j++) a[j] = 0; called(); }`, loops that test at the end, with the
/// places that clang notes.
const NEST: &str = r#"
declare void @called()
define void @f(ptr %a, i64 %n) !dbg !5 {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %p = getelementptr double, ptr %a, i64 %j
  store double 0.0, ptr %p
  %j.next = add i64 %j, 1
  %more = icmp ult i64 %j.next, %n
  br i1 %more, label %inner, label %latch, !llvm.loop !7
latch:
  call void @called()
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %n
  br i1 %again, label %outer, label %done, !llvm.loop !9
done:
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "nest.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, unit: !0, type: !6)
!6 = !DISubroutineType(types: !{})
!7 = distinct !{!7, !8}
!8 = !DILocation(line: 3, column: 5, scope: !5)
!9 = distinct !{!9, !10}
!10 = !DILocation(line: 2, column: 3, scope: !5)
"#;

fn table(model: Model) -> SiteTable {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
    std::fs::write(&input, format!("{HEADER}{NEST}")).expect("writable");
    let request = Request {
        input: &input,
        object: &object,
        model,
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

#[test]
fn each_segment_names_its_loop_and_headers_begin_iterations() {
    let table = table(Model::Loops);
    assert!(table.has_loops());
    let found = ModuleLoops::from_sites(&table);
    let [outer, inner] = [0, 1].map(|number| Some(LoopNumber::new(number)));
    let line = |l: &SourceLoop| (l.parent, table.frames[l.frame as usize].line);
    let lines: Vec<(Option<LoopNumber>, u32)> = found.loops.iter().map(line).collect();
    assert_eq!(lines, [(None, 2), (outer, 3)], "the outer loop, then the one inside it");
    let stores = |at: usize| {
        let items = &table.items[table.segments[at].items.start as usize..table.segments[at].items.end as usize];
        items.iter().any(|item| item.kind == ItemKind::Store as u8)
    };
    let place = |number, iteration| SegmentLoop { number, iteration };
    let stored: Vec<SegmentLoop> =
        (0..table.segments.len()).filter(|at| stores(*at)).map(|at| found.segments[at]).collect();
    assert_eq!(stored, [place(inner, true)], "a loop of one block");
    let headers = found.segments.iter().filter(|s| **s == place(outer, true)).count();
    assert_eq!(headers, 1, "the outer header has a record although nothing happens in it");
    assert!(found.segments.contains(&place(outer, false)), "the outer latch");
    let last = table.segments.iter().position(|s| s.flags & segment_flag::EXIT != 0).expect("a return");
    assert_eq!(found.segments[last], place(None, false));
}

#[test]
fn loops_are_not_marked_unless_asked_for() {
    let table = table(Model::Memory);
    assert!(!table.has_loops());
    assert!(table.items.iter().all(|item| item.kind != ItemKind::Loop as u8));
}
