//! Site areas: what a plugin writes is read, and any words at all are refused without harm. Instructions of x86-64 have
//! the class that their bytes say.

use std::path::Path;

use proptest::prelude::*;

use super::Files;
use crate::{
    abi::{
        NONE,
        emulated::{AREA_START, Shape, address, entry, head, segment},
    },
    sites::SiteTable,
};

#[path = "../../emulator/x86.rs"]
mod x86;

use x86::Class;

/// A file that is not there, and a segment of it with two items.
fn area() -> Vec<u64> {
    let path = *b"/no/such";
    let module = [head(entry::MODULE, 6), 0x1000, 0x1000, 0x9000, 8, u64::from_le_bytes(path)];
    let shape = Shape { kind: segment::BLOCK, flags: segment::ENTER, words: 3, items: 2 };
    let first = address(7, AREA_START as u64);
    let load = [0x1234, Shape::item(segment::LOAD, 0, 1, 0), 8];
    let store = [0x1238, Shape::item(segment::STORE, 0, 2, 0), 16];
    let block = [&[head(entry::SEGMENT, 10), first, 0x1200, shape.word()][..], &load, &store].concat();
    [&module[..], &block].concat()
}

#[test]
fn what_a_plugin_writes_is_read() {
    let (mut files, words, low) = (Files::default(), area(), address(7, AREA_START as u64));
    files.learn(low, &words);
    let batch = files.batch(low, &words);
    assert!(batch.begins && batch.files == ["such"]);
    let table = SiteTable::from_batch(&batch, Path::new("test")).expect("a good batch");
    let number = table.segment_at(6 * 8).expect("behind the module");
    let found = &table.segments[number as usize];
    assert_eq!((found.flags, found.words), (segment::ENTER, 3));
    let sizes: Vec<_> = table.items.iter().map(|item| (item.kind, item.word, item.size, item.frame)).collect();
    assert_eq!(sizes, [(segment::LOAD, 1, 8, NONE), (segment::STORE, 2, 16, NONE)]);
    assert_eq!(table.strings[table.functions[0].name as usize], "such+0x200", "by file and offset");
    assert_eq!(table.parted, [(low, 0x1200)]);
    assert_eq!(table.segment_at(0), None, "a module is no segment");
}

proptest! {
    /// Words that were changed, cut off, or are any at all.
    #[test]
    fn any_words_are_taken_or_refused(
        at in 0usize..16,
        with in prop_oneof![any::<u64>(), 0u64..64, (0u64..64).prop_map(|words| words << 32 | 2)],
        len in 0usize..17,
        noise in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..4], 0..8),
    ) {
        let mut words = area();
        words[at] = with;
        words.truncate(len);
        words.extend(noise);
        let (mut files, low) = (Files::default(), address(0, AREA_START as u64));
        files.learn(low, &words);
        let _ = SiteTable::from_batch(&files.batch(low, &words), Path::new("test"));
    }
}

#[test]
fn instructions_have_the_class_that_their_bytes_say() {
    let cases: [(&[u8], Class); 16] = [
        (&[0x48, 0x8b, 0x07], Class::Plain),
        (&[0xe8, 0, 0, 0, 0], Class::Call),
        (&[0xff, 0x10], Class::Call),
        (&[0x41, 0xff, 0x14, 0xc4], Class::Call),
        (&[0xff, 0x30], Class::Plain),
        (&[0xff, 0x20], Class::Plain),
        (&[0xc3], Class::Return),
        (&[0xf2, 0xc3], Class::Return),
        (&[0xf3, 0x48, 0xa5], Class::Repeated),
        (&[0x48, 0xa5], Class::Plain),
        (&[0xf3, 0x0f, 0x6f, 0x06], Class::Parts),
        (&[0x66, 0x0f, 0x7f, 0x07], Class::Parts),
        (&[0xc5, 0xfe, 0x6f, 0x06], Class::Parts),
        (&[0x0f, 0xb6, 0x07], Class::Plain),
        (&[0x0f, 0x84, 0, 0, 0, 0], Class::Plain),
        (&[], Class::Plain),
    ];
    for (bytes, class) in cases {
        assert_eq!(x86::class(bytes), class, "{bytes:x?}");
    }
}
