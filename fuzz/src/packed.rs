//! Blocks of slices and indexes, taken apart and put together again, so that damage gets behind their checksums.
//!
//! Takes files as they are; gives contents, each behind its length, and blocks as files have them. Refuses nothing: of
//! what is cut off, what there is.

/// Magic number and version.
pub const HEAD: usize = 12;
/// What an index says of its trace: checksum of its first bytes, and length.
pub const IDENTITY: usize = 12;
/// Bytes of a trace that are in its checksum.
const FIRST: usize = 1 << 16;

/// A block with this content.
#[must_use]
pub fn sealed(content: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(content, 1).unwrap_or_default();
    let mut block = (packed.len() as u64).to_le_bytes().to_vec();
    block.extend((content.len() as u64).to_le_bytes());
    block.extend(crc32fast::hash(&packed).to_le_bytes());
    block.extend(packed);
    block
}

/// The contents of a file's blocks.
///
/// # Errors
/// Where one does not decompress.
pub fn opened(mut blocks: &[u8]) -> std::io::Result<Vec<Vec<u8>>> {
    let mut contents = Vec::new();
    while let Some((len, rest)) = blocks.split_first_chunk::<8>() {
        let (block, others) = rest.split_at((12 + u64::from_le_bytes(*len) as usize).min(rest.len()));
        contents.push(zstd::decode_all(block.get(12..).unwrap_or_default())?);
        blocks = others;
    }
    Ok(contents)
}

/// A content behind its length.
pub fn content(bytes: &[u8]) -> impl Iterator<Item = u8> {
    (bytes.len() as u32).to_le_bytes().into_iter().chain(bytes.iter().copied())
}

/// Contents that are behind their lengths.
pub fn contents(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (content, others) = rest.split_at((u32::from_le_bytes(*len) as usize).min(rest.len()));
        bytes = others;
        Some(content)
    })
}

/// What an index of a trace says of it, in bytes.
#[must_use]
pub fn identity_of(trace: &[u8]) -> Vec<u8> {
    let first = crc32fast::hash(&trace[..trace.len().min(FIRST)]);
    [&first.to_le_bytes()[..], &(trace.len() as u64).to_le_bytes()].concat()
}

/// The same as numbers.
#[must_use]
pub fn identity(bytes: [u8; IDENTITY]) -> (u32, u64) {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
    (number(&bytes[..4]) as u32, number(&bytes[4..]))
}
