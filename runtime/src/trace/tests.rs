//! Traces cut at every byte, damaged at every byte, and whole ones.

use std::{io, sync::Arc};

use super::{format::*, *};
use crate::ring::Module;

/// A small trace with everything in it, the blocks that it holds, and where each ends.
fn small() -> (Vec<u8>, Vec<Block>) {
    let file = tempfile::tempfile().expect("a temporary file");
    let start = Start { tool_version: "1".into(), command: vec!["./a".into(), "x y".into()] };
    let writer = Arc::new(TraceWriter::new(file.try_clone().expect("a second handle"), &start).expect("a thread"));
    let module = Module { process: 7, bias: 1 << 40, low: 5, high: 6, path: "/no/such/file".into() };
    let ring = |process| Ring { process, tid: 8, kind: 1, parent: Some(3), ancestors: vec![2, 1] };
    let (mut first, mut second) = (writer.ring(0, &ring(7)), writer.ring(5, &ring(9)));
    writer.add_module(&module);
    writer.add_module(&module);
    let regular: Vec<u64> = (0..200).flat_map(|i| [0x1000, i * 8]).collect();
    let odd: Vec<u64> = vec![0xd101_0000_0000_0000, 0x1000, 3, 9 << 60, 1, 2, 3];
    first.chunk(&regular, |_| Some(2));
    second.chunk(&odd, |word| (word == 0x1000).then_some(2));
    first.chunk(&odd, |_| None);
    first.chunk(&[], |_| None);
    // Given up, not finished: there is no more than what it wrote.
    drop(second);
    first.finish(Some(3));
    let end = End { code: None, signal: Some(9), refused: 2, unreadable: vec!["a ring".into()] };
    writer.finish(&end).expect("room for the trace");
    let mut bytes = Vec::new();
    std::io::Seek::seek(&mut &file, std::io::SeekFrom::Start(0)).expect("a file can be read again");
    std::io::Read::read_to_end(&mut &file, &mut bytes).expect("a file can be read again");
    assert_eq!(bytes.len() as u64, writer.bytes());
    let module =
        TraceModule { process: 7, bias: 1 << 40, low: 5, high: 6, path: b"/no/such/file".to_vec(), identity: None };
    let blocks = vec![
        Block::Ring(0, ring(7)),
        Block::Ring(5, ring(9)),
        Block::Module(module),
        Block::Words(5, odd.clone()),
        // Words wait until there are enough of them for a block, or no more.
        Block::Words(0, regular),
        Block::Words(0, odd),
        Block::RingEnd(0, Some(3)),
        Block::End(end),
    ];
    (bytes, blocks)
}

/// All blocks, and how it ended.
fn read(bytes: &[u8]) -> (Vec<Block>, Result<(), TraceError>) {
    let mut blocks = Vec::new();
    let mut reader = match TraceReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (blocks, Err(error)),
    };
    loop {
        match reader.next_block() {
            Ok(Some(block)) => blocks.push(block),
            Ok(None) => return (blocks, Ok(())),
            Err(error) => return (blocks, Err(error)),
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let (bytes, expected) = small();
    let (blocks, result) = read(&bytes);
    result.expect("a whole trace");
    assert_eq!(blocks, expected);
    assert_eq!(TraceReader::new(&bytes[..]).expect("a trace").start().command, ["./a", "x y"]);
}

#[test]
fn cut_anywhere_it_is_good_up_to_there_and_says_so() {
    let (bytes, expected) = small();
    let mut most = 0;
    for len in 0..bytes.len() {
        let (blocks, result) = read(&bytes[..len]);
        match result {
            Err(TraceError::Cut { at }) => assert!(at <= len as u64),
            Err(TraceError::NotATrace) if len == 0 => {}
            other => panic!("cut at {len}: {other:?}"),
        }
        assert_eq!(blocks, expected[..blocks.len()], "cut at {len}");
        assert!(blocks.len() >= most, "cut at {len}: fewer blocks than in less of the file");
        most = blocks.len();
    }
    assert_eq!(most, expected.len() - 1);
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let (bytes, expected) = small();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let (blocks, result) = read(&damaged);
            assert!(
                matches!(result, Err(TraceError::Damaged { .. } | TraceError::NotATrace)),
                "byte {at} bit {bit}: {result:?}"
            );
            assert_eq!(blocks, expected[..blocks.len()], "byte {at} bit {bit}");
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(read(&longer).1, Err(TraceError::Damaged { .. })));
    let mut newer = bytes;
    newer[8] = 99;
    let sum = crc32fast::hash(&newer[..12]);
    newer[12..16].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(read(&newer).1, Err(TraceError::Version { found: 99 })));
}

#[test]
fn more_than_can_wait_is_compressed_elsewhere_and_stays_in_order() {
    let file = tempfile::tempfile().expect("a temporary file");
    let start = Start { tool_version: String::new(), command: Vec::new() };
    let writer = Arc::new(TraceWriter::new(file.try_clone().expect("a second handle"), &start).expect("a thread"));
    let mut recorder = writer.ring(0, &Ring { process: 1, tid: 1, kind: 1, parent: None, ancestors: Vec::new() });
    let chunk = |number: u64| -> Vec<u64> {
        let operand = |at: u64| (number * 8192 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 60);
        (0..CHUNK_WORDS as u64 / 2).flat_map(|at| [0x4000 + at % 3 * 16, operand(at)]).collect()
    };
    let chunks = 60 * ENOUGH_WORDS as u64 / CHUNK_WORDS as u64 + 1;
    (0..chunks).for_each(|number| recorder.chunk(&chunk(number), |_| Some(2)));
    recorder.finish(Some(3));
    writer.finish(&End::default()).expect("room for the trace");
    std::io::Seek::seek(&mut &file, std::io::SeekFrom::Start(0)).expect("a file can be read again");
    let mut reader = TraceReader::new(io::BufReader::new(file)).expect("a trace");
    assert!(matches!(reader.next_block(), Ok(Some(Block::Ring(0, _)))));
    for number in 0..chunks {
        let Ok(Some(Block::Words(0, words))) = reader.next_block() else { panic!("no chunk {number}") };
        assert!(words == chunk(number), "chunk {number}");
    }
    assert!(matches!(reader.next_block(), Ok(Some(Block::RingEnd(0, Some(3))))));
}

#[test]
fn a_full_disk_is_told_at_the_end() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux");
    let writer = TraceWriter::new(full, &Start { tool_version: String::new(), command: Vec::new() }).expect("a thread");
    let error = writer.finish(&End::default()).expect_err("no room");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
