//! The file in which a program saved the bytes of its declared outputs.
//!
//! Takes a path, gives the outputs in the order in which the program declared them. A record is the number of bytes as
//! 8 bytes, low first, then the bytes. Refuses a file that ends inside a record.
//!
//! The outputs `abc`, nothing and `d`, as in the tests below:
//! `03 00 00 00 00 00 00 00 | 61 62 63 | 00 00 00 00 00 00 00 00 | 01 00 00 00 00 00 00 00 | 64`.

use std::{fs, io, path::Path};

/// Reads all outputs.
///
/// # Errors
/// What the system says, or that the file ends inside a record.
pub fn read(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    records(&fs::read(path)?)
}

fn records(mut rest: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut outputs = Vec::new();
    while !rest.is_empty() {
        let (output, after) = record(rest).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        outputs.push(output.to_vec());
        rest = after;
    }
    Ok(outputs)
}

/// The first record's bytes, and what follows it.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_in_order_and_a_cut_one_is_an_error() {
        let file = [&3u64.to_le_bytes()[..], b"abc", &0u64.to_le_bytes(), &1u64.to_le_bytes(), b"d"].concat();
        assert_eq!(records(&file).expect("whole records"), [&b"abc"[..], b"", b"d"]);
        assert_eq!(records(&[]).expect("no records"), [[0u8; 0]; 0]);
        for cut in [1, 8, 10, 12, 20, 27] {
            assert!(records(&file[..cut]).is_err(), "{cut} bytes");
        }
        assert!(records(&u64::MAX.to_le_bytes()).is_err());
    }
}
