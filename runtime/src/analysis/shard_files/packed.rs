//! Blocks of a file that say one thing each: length, length before compression, checksum, and content.
//!
//! Takes and gives whatever serde knows. Refuses blocks that are not as they were written.
//!
//! ```text
//!   0 | length | length before | CRC-32 |     8, 8 and 4 bytes, little-endian
//!  20 | content: zstd of postcard       |     the sum is that of these bytes
//! ```
//!
//! Whose index one is, of a trace of 347 bytes:
//!
//! ```text
//!   10 00 00 00 00 00 00 00 | 07 00 00 00 00 00 00 00 | 8e fa c5 ad   16 bytes, unpacked 7
//!   28 b5 2f fd ...         8d e2 f6 91 0f | db 02 in zstd: 0xf23db10d and 347
//! ```

use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::{Serialize, de::DeserializeOwned};

/// Of most of what is in such blocks, this is as small as higher ones make it.
const LEVEL: i32 = 3;
/// Bytes before the content.
const HEAD: usize = 20;

/// Why a block cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// What the system refused.
    Io(io::Error),
    /// It is not as it was written.
    Damaged(&'static str),
}

const CUT: Unreadable = Unreadable::Damaged("it ends too early");

/// Writes a block.
pub fn write(to: &mut dyn Write, what: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(what).map_err(io::Error::other)?;
    let packed = zstd::bulk::compress(&bytes, LEVEL)?;
    to.write_all(&(packed.len() as u64).to_le_bytes())?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&crc32fast::hash(&packed).to_le_bytes())?;
    to.write_all(&packed)
}

/// What is before a block's content.
struct Head {
    len: u64,
    unpacked: u64,
    checksum: u32,
}

impl Head {
    fn read(from: &mut dyn Read) -> Result<Self, Unreadable> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head).map_err(|_| CUT)?;
        let number = |at: usize, len: usize| head[at..at + len].iter().rev().fold(0, |all, &b| all << 8 | u64::from(b));
        Ok(Self { len: number(0, 8), unpacked: number(8, 8), checksum: number(16, 4) as u32 })
    }
}

/// Goes on behind a block.
pub fn skip(from: &mut (impl Read + Seek)) -> Result<(), Unreadable> {
    let Head { len, .. } = Head::read(from)?;
    let len = i64::try_from(len).map_err(|_| CUT)?;
    from.seek(SeekFrom::Current(len)).map(drop).map_err(Unreadable::Io)
}

/// Reads a block.
pub fn read<T: DeserializeOwned>(from: &mut dyn Read) -> Result<T, Unreadable> {
    let Head { len, unpacked, checksum } = Head::read(from)?;
    let mut packed = Vec::new();
    from.take(len).read_to_end(&mut packed).map_err(Unreadable::Io)?;
    if packed.len() as u64 != len {
        return Err(CUT);
    }
    if crc32fast::hash(&packed) != checksum {
        return Err(Unreadable::Damaged("a checksum does not fit"));
    }
    // The length has no checksum: no memory is taken for what is not there.
    let mut bytes = Vec::new();
    let mut unpack = |packed| zstd::Decoder::with_buffer(packed)?.take(unpacked).read_to_end(&mut bytes);
    if unpack(&packed[..]).is_err() || bytes.len() as u64 != unpacked {
        return Err(Unreadable::Damaged("a block that does not decompress"));
    }
    match postcard::take_from_bytes(&bytes) {
        Ok((what, [])) => Ok(what),
        _ => Err(Unreadable::Damaged("a block that does not decode")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    type What = (u32, Vec<String>);

    fn what() -> What {
        (7, vec!["one".into(), "two".into()])
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &what()).expect("room");
        bytes
    }

    fn damage<T>(read: Result<T, Unreadable>) -> &'static str {
        match read {
            Err(Unreadable::Damaged(what)) => what,
            _ => panic!("it is damaged"),
        }
    }

    #[test]
    fn blocks_are_read_one_behind_the_other_or_passed_over() {
        let mut bytes = written();
        write(&mut bytes, &5u8).expect("room");
        let mut from = Cursor::new(&bytes);
        assert_eq!(read::<What>(&mut from).expect("the first"), what());
        assert_eq!(read::<u8>(&mut from).expect("the second"), 5);
        assert_eq!(from.position(), bytes.len() as u64);
        from.set_position(0);
        skip(&mut from).expect("the first");
        assert_eq!(read::<u8>(&mut from).expect("the second"), 5);
    }

    #[test]
    fn a_block_with_any_other_byte_is_refused() {
        let bytes = written();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert!(read::<What>(&mut &other[..]).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_block_that_is_cut_off_is_refused() {
        let bytes = written();
        for len in 0..bytes.len() {
            assert_eq!(damage(read::<What>(&mut &bytes[..len])), "it ends too early", "{len} bytes");
        }
        assert_eq!(damage(skip(&mut Cursor::new(&bytes[..HEAD - 1]))), "it ends too early");
        let mut endless = bytes;
        endless[7] = 0xff;
        assert_eq!(damage(skip(&mut Cursor::new(&endless))), "it ends too early", "of more bytes than a file can have");
    }

    #[test]
    fn a_block_with_another_length_or_another_content_is_refused() {
        let with_length = |unpacked: u64| {
            let mut bytes = written();
            bytes[8..16].copy_from_slice(&unpacked.to_le_bytes());
            bytes
        };
        let len = u64::from(written()[8]);
        for unpacked in [len + 1, 1 << 50] {
            assert_eq!(damage(read::<What>(&mut &with_length(unpacked)[..])), "a block that does not decompress");
        }
        for unpacked in [0, len - 1] {
            assert_eq!(damage(read::<What>(&mut &with_length(unpacked)[..])), "a block that does not decode");
        }
        assert_eq!(read::<What>(&mut &with_length(len)[..]).expect("as it was"), what());
        assert_eq!(damage(read::<u32>(&mut &written()[..])), "a block that does not decode", "some of it is left");
        assert_eq!(
            damage(read::<(What, u8)>(&mut &written()[..])),
            "a block that does not decode",
            "there is too little"
        );
    }
}
