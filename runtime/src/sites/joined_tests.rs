//! Code is joined if everything that the analysis says of it is the same, wherever it is mapped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Batch, BatchFrame, BatchFunction, BatchInstruction, BatchItem, BatchSegment, Same, SiteTable, joined::Joined,
};
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

/// Tables of batches in their order, each with what is new in it behind it; the numbers of those of batches.
fn joined(batches: &[Batch]) -> (Vec<(PathBuf, Arc<SiteTable>)>, Vec<usize>) {
    let (mut all, mut tables, mut numbers) = (Joined::default(), Vec::new(), Vec::new());
    for batch in batches {
        let mut table = SiteTable::from_batch(batch, Path::new("test")).expect("a good batch");
        let rest = all.join(&mut table, &tables);
        numbers.push(tables.len());
        tables.push((PathBuf::new(), Arc::new(table)));
        tables.extend(rest.map(|rest| (PathBuf::new(), Arc::new(rest))));
    }
    (tables, numbers)
}

fn is_spare(tables: &[(PathBuf, Arc<SiteTable>)], number: usize) -> bool {
    tables[number].1.is_spare(number as u32)
}

#[test]
fn the_same_code_of_two_processes_is_one() {
    let (tables, numbers) = joined(&[batch(8, 0x5000_1040, |_| ()), batch(16, 0x7000_1040, |_| ())]);
    assert_eq!((tables.len(), numbers), (3, vec![0, 2]), "the first process brings code");
    for table in [0, 1, 2] {
        let Same { segments, functions } = tables[table].1.same.clone().expect("joined");
        assert_eq!((segments, functions), (vec![(1, 0)], vec![(1, 0)]), "of table {table}");
        assert_eq!(is_spare(&tables, table), table != 1);
    }
    let accesses = [0, 1, 2].map(|id: usize| tables[id].1.functions[0].accesses);
    assert_eq!(accesses, [0, 2, 0], "each access of the code is one");
}

#[test]
fn a_table_of_new_code_has_all_of_it_and_nothing_else() {
    let more = |batch: &mut Batch| {
        let new = BatchFrame { parent: 0, function: 2, file: 1, line: 9, column: 1, declared_in: NONE, declared_at: 0 };
        batch.frames.push(new);
        let mut segment = batch.segments[0].clone();
        segment.offset = 16;
        segment.items[1].frame = 1;
        batch.segments.push(segment);
    };
    let (tables, _) = joined(&[batch(8, 0x5000_1040, |_| ()), batch(16, 0x7000_1040, more)]);
    let same = tables[2].1.same.as_ref().expect("joined");
    assert_eq!((&same.segments[..], &same.functions[..]), (&[(1, 0), (3, 0)][..], &[(1, 0)][..]));
    let rest = &tables[3].1;
    assert_eq!(
        (rest.segments.len(), rest.items.len(), rest.same.as_ref().expect("joined").functions[0]),
        (1, 2, (1, 0))
    );
    let text = |string: u32| rest.strings[string as usize].as_str();
    let inner = rest.frames[rest.items[1].frame as usize];
    let outer = rest.frames[inner.parent as usize];
    assert_eq!((text(inner.function), inner.line, text(outer.function), outer.line), ("other", 9, "sum", 7));
    assert_eq!((text(rest.functions[0].name), text(rest.functions[0].file)), ("sum", "sum.c"));
    assert_eq!(rest.addresses, [0x7000_1044, 0x7000_1048]);
}

#[test]
fn other_code_is_not_the_same() {
    const START: u64 = 0x7000_1040;
    type Change = (&'static str, fn(&mut Batch));
    let changes: [Change; 6] = [
        ("another name", |batch| batch.functions[0].name = 2),
        ("another first line", |batch| batch.functions[0].line = 6),
        ("another size", |batch| batch.segments[0].items[1].bytes = 4),
        ("another place in the function", |batch| batch.segments[0].items[1].address += 1),
        ("another line", |batch| batch.frames[0].line = 8),
        ("a place that is not known", |batch| batch.segments[0].items[0].frame = NONE),
    ];
    for (what, change) in changes {
        let (tables, _) = joined(&[batch(8, 0x5000_1040, change), batch(16, START, |_| ()), batch(8, START, change)]);
        let same = |id: usize| tables[id].1.same.as_ref().expect("joined").segments[0];
        assert_eq!([same(0), same(2), same(4)], [(1, 0), (3, 0), (1, 0)], "{what}");
    }
    let (elsewhere, _) = joined(&[batch(8, 0x5000_1040, |_| ()), batch(16, 0x7000_1080, |_| ())]);
    assert_eq!(elsewhere.len(), 4, "another place in a page");
}

#[test]
fn what_cannot_be_the_same_stays_with_its_process() {
    let generated = batch(0, 0x5000_1040, |_| ());
    let (tables, _) = joined(&[generated.clone(), generated]);
    assert!(!is_spare(&tables, 0) && !is_spare(&tables, 1), "generated code");
    let instructions = |batch: &mut Batch| {
        batch.segments[0].code.push(BatchInstruction { address: 0x5000_1040, frame: NONE, bytes: vec![0x90] });
    };
    let (tables, numbers) = joined(&[batch(8, 0x5000_1040, instructions), batch(8, 0x5000_1040, instructions)]);
    assert!(numbers.into_iter().all(|number| !is_spare(&tables, number)), "instructions");
}
