use super::line::{Access, Line, LineError, What, parse};

fn access(address: u64, bytes: u32, what: What, instruction: Option<u64>, thread: u64) -> Result<Line, LineError> {
    Ok(Line::Access(Access { address, bytes, what, instruction, thread }))
}

#[test]
fn both_forms_are_read() {
    assert_eq!(parse(b"R 0x10 8 0x401136 2\n"), access(16, 8, What::Read, Some(0x0040_1136), 2));
    assert_eq!(parse(b"\tW 16 1\r\n"), access(16, 1, What::Write, Some(0), 0));
    assert_eq!(parse(b"M 16 4096 - 7 # both"), access(16, 4096, What::Modify, Some(0), 7));
    assert_eq!(parse(b" L 1ffe,8"), access(0x1ffe, 8, What::Read, None, 0));
    assert_eq!(parse(b" S 1ffe,8"), access(0x1ffe, 8, What::Write, None, 0));
    assert_eq!(parse(b" M 1ffe,8"), access(0x1ffe, 8, What::Modify, None, 0));
    assert_eq!(parse(b"I  0401136,3"), Ok(Line::Instruction(0x0040_1136)));
    for nothing in ["", "\n", "  ", "# R 1 1", "==12== Lackey", "--12-- warning"] {
        assert_eq!(parse(nothing.as_bytes()), Ok(Line::Nothing), "{nothing:?}");
    }
    assert_eq!(parse(b"R 0xfffffffffff8 8"), access(0xffff_ffff_fff8, 8, What::Read, Some(0), 0));
}

#[test]
fn what_is_written_is_read() {
    for text in ["R 0x10 8 0x401136 2\n", "W 0xfffffffff000 4096 - 0\n", "M 0x0 1 0x1 65535\n"] {
        let Ok(Line::Access(access)) = parse(text.as_bytes()) else { panic!("{text}") };
        let mut written = Vec::new();
        access.write(&mut written).expect("memory");
        assert_eq!(String::from_utf8(written).expect("text"), text);
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (text, part) in [
        ("X 1 1", "expected R, W or M"),
        ("hello", "expected R, W or M"),
        ("X 1,1", "expected R, W or M"),
        ("R", "the address is missing"),
        ("R 1", "the size is missing"),
        ("R z 1", "the address is no number: \"z\""),
        ("R 0x 1", "the address is no number"),
        ("R 99999999999999999999 1", "the address is no number"),
        ("R 1 -1", "the size is no number"),
        ("R 1 0", "an access of 0 bytes"),
        ("R 1 4097", "an access of 4097 bytes"),
        ("R 0xfffffffffff9 8", "ends above 2^48"),
        ("R 0xffffffffffffffff 8", "ends above 2^48"),
        ("R 1 1 z", "the instruction is no number"),
        ("R 1 1 1 z", "the thread is no number"),
        ("R 1 1 1 1 1", "is too much"),
        (" L 1ffe,x", "the size is no number"),
        (" L 1ffe,8 8", "is too much"),
    ] {
        let error = parse(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}
