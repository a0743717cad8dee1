//! Code is joined if everything that the analysis says of it is the same, wherever it is mapped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Batch, BatchFrame, BatchFunction, BatchInstruction, BatchItem, BatchSegment, SiteTable, joined::Joined};
use crate::abi::{
    NONE,
    emulated::{Shape, segment},
};

/// A function of two loads that is mapped somewhere; a change of it.
fn batch(module: u64, start: u64, change: impl FnOnce(&mut Batch)) -> Batch {
    let item = |offset: u64| BatchItem {
        address: start + offset,
        frame: 0,
        what: Shape::item(segment::LOAD, 0, 1, 0),
        bytes: 8,
    };
    let shape = Shape { kind: segment::BLOCK, flags: 0, words: 2, items: 2 };
    let mut batch = Batch {
        bytes: 64,
        strings: ["sum", "sum.c", "other"].map(str::to_owned).to_vec(),
        frames: vec![BatchFrame {
            parent: NONE,
            function: 0,
            file: 1,
            line: 7,
            column: 3,
            declared_in: 1,
            declared_at: 5,
        }],
        functions: vec![BatchFunction { identity: (module, start), name: 0, file: 1, line: 5 }],
        segments: vec![BatchSegment {
            offset: 0,
            shape: shape.word(),
            function: 0,
            items: vec![item(4), item(8)],
            code: Vec::new(),
        }],
        ..Batch::default()
    };
    change(&mut batch);
    batch
}

/// Tables of batches in their order.
fn joined(batches: &[Batch]) -> Vec<(PathBuf, Arc<SiteTable>)> {
    let (mut all, mut tables) = (Joined::default(), Vec::new());
    for batch in batches {
        let mut table = SiteTable::from_batch(batch, Path::new("test")).expect("a good batch");
        all.join(&mut table, &tables);
        tables.push((PathBuf::new(), Arc::new(table)));
    }
    tables
}

#[test]
fn the_same_code_of_two_processes_is_one() {
    let tables = joined(&[batch(8, 0x5000_1040, |_| ()), batch(16, 0x7000_1040, |_| ())]);
    let [first, second] = [0, 1].map(|id: usize| tables[id].1.same.clone().expect("joined"));
    assert_eq!((first.segments, first.functions), (vec![(0, 0)], vec![(0, 0)]));
    assert_eq!((second.segments, second.functions), (vec![(0, 0)], vec![(0, 0)]));
    assert!(!tables[0].1.is_spare(0) && tables[1].1.is_spare(1));
    let accesses = [0, 1].map(|id: usize| tables[id].1.functions[0].accesses);
    assert_eq!(accesses, [2, 0], "each access of the code is one");
}

#[test]
fn other_code_is_not() {
    const START: u64 = 0x7000_1040;
    type Change = (&'static str, fn(&mut Batch));
    let changes: [Change; 7] = [
        ("another name", |batch| batch.functions[0].name = 2),
        ("another first line", |batch| batch.functions[0].line = 6),
        ("another size", |batch| batch.segments[0].items[1].bytes = 4),
        ("another place in the function", |batch| batch.segments[0].items[1].address += 1),
        ("another line", |batch| batch.frames[0].line = 8),
        ("a place that is not known", |batch| batch.segments[0].items[0].frame = NONE),
        ("instructions, whose cycles are by process", |batch| {
            let instruction = BatchInstruction { address: START, frame: NONE, bytes: vec![0x90] };
            batch.segments[0].code.push(instruction);
        }),
    ];
    for (what, change) in changes {
        let tables = joined(&[batch(8, 0x5000_1040, change), batch(16, START, |_| ()), batch(8, START, change)]);
        let same = tables[1].1.same.as_ref().expect("joined");
        assert_eq!(same.segments, [(1, 0)], "{what}");
        assert!(!tables[1].1.is_spare(1), "{what}");
    }
    let elsewhere = joined(&[batch(8, 0x5000_1040, |_| ()), batch(16, 0x7000_1080, |_| ())]);
    assert!(!elsewhere[1].1.is_spare(1), "another place in a page");
    let generated = joined(&[batch(0, 0x5000_1040, |_| ()), batch(0, 0x5000_1040, |_| ())]);
    assert!(!generated[1].1.is_spare(1), "generated code, of which nobody knows whether it is the same");
}
