//! Reads a trace.
//!
//! Takes any source of bytes, gives blocks in the order of the file with their words decoded. A file that ends within a
//! block, or without its last block, was cut off there; anything else that is not as it was written is damage.

use std::{
    collections::HashMap,
    io::{self, Read, Seek, SeekFrom},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zstd::bulk::Decompressor;

use super::{
    format::{
        BLOCK_HEADER, CHUNK_WORDS, End, FILE_HEADER, MAGIC, MOST_BYTES, MOST_WORDS, Ring, Start, TraceError,
        TraceModule, VERSION, kind,
    },
    words::Decoder,
};
use crate::sites::{Batch, GeneratedCode};

/// Something that a trace says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A module was loaded.
    Module(TraceModule),
    /// Sites of an emulated program.
    Sites(Batch),
    /// Names of code that a program has made, behind all its sites.
    Generated(GeneratedCode),
    /// A ring of that number began.
    Ring(u32, Ring),
    /// What a ring carried, a chunk at a time.
    Words(u32, Vec<u64>),
    /// A ring ended.
    RingEnd(u32, Option<u32>),
    /// The run ended.
    End(End),
}

/// Where a reader is between two blocks, and all that it knows there: another one can go on with that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Midway {
    /// Where the next block begins.
    pub at: u64,
    /// Its number.
    blocks: u32,
    /// By number.
    rings: Vec<(u32, Decoder)>,
}

impl Midway {
    /// Whether a reader can have been there; to be asked of what was read from a file.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.rings.iter().all(|(_, decoder)| decoder.is_sound())
    }
}

/// Reads a trace, a block at a time.
pub struct TraceReader<R> {
    source: R,
    /// Bytes read.
    at: u64,
    blocks: u32,
    start: Start,
    rings: HashMap<u32, Decoder>,
    /// The block of words at hand.
    words: Option<Words>,
    unpacker: Decompressor<'static>,
    ended: bool,
}

/// A block of words of which some chunks are still to be given back.
struct Words {
    /// Where it is in the file.
    at: u64,
    ring: u32,
    bytes: Vec<u8>,
    /// Bytes of it that were given back.
    done: usize,
    /// Words that are left.
    left: usize,
}

/// The fields of a block's header.
struct Header {
    kind: u32,
    ring: u32,
    words: usize,
    bytes: usize,
    checksum: u32,
}

impl<R: Read> TraceReader<R> {
    /// Reads what a trace begins with.
    ///
    /// # Errors
    /// [`TraceError`]; a file that is cut off before the command is known is of no use at all.
    pub fn new(source: R) -> Result<Self, TraceError> {
        let start = Start { tool_version: String::new(), command: Vec::new() };
        let (rings, unpacker) = (HashMap::new(), Decompressor::new()?);
        let mut reader = Self { source, at: 0, blocks: 0, start, rings, words: None, unpacker, ended: false };
        let header = reader.read::<FILE_HEADER>()?;
        let header = match header {
            Ok(header) => header,
            Err(part) if MAGIC.starts_with(&part[..part.len().min(8)]) && !part.is_empty() => {
                return Err(TraceError::Cut { at: 0 });
            }
            Err(_) => return Err(TraceError::NotATrace),
        };
        if header[..8] != MAGIC {
            return Err(TraceError::NotATrace);
        }
        if crc32fast::hash(&header[..12]) != u32_at(&header, 12) {
            return Err(TraceError::Damaged { at: 0, what: "the checksum of the first bytes does not fit them" });
        }
        let found = u32_at(&header, 8);
        if found != VERSION {
            return Err(TraceError::Version { found });
        }
        let at = reader.at;
        let (header, payload) = reader.block()?.ok_or(TraceError::Cut { at })?;
        if header.kind != kind::START {
            return Err(TraceError::Damaged { at, what: "the first block is not the start" });
        }
        reader.start = decoded(&payload, at)?;
        Ok(reader)
    }

    /// What was run.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Where in the file the block begins that is next, or whose next chunk is.
    #[must_use]
    pub fn block_offset(&self) -> u64 {
        self.words.as_ref().map_or(self.at, |words| words.at)
    }

    /// Where it is, and what it knows; nothing within a block.
    #[must_use]
    pub fn midway(&self) -> Option<Midway> {
        if self.words.is_some() {
            return None;
        }
        let mut rings: Vec<(u32, Decoder)> = self.rings.iter().map(|(&ring, words)| (ring, words.clone())).collect();
        rings.sort_unstable_by_key(|ring| ring.0);
        Some(Midway { at: self.at, blocks: self.blocks, rings })
    }

    /// The next block, or the next chunk of a block of words; `None` after the last.
    ///
    /// # Errors
    /// [`TraceError`]. After [`TraceError::Cut`], everything before is good.
    pub fn next_block(&mut self) -> Result<Option<Block>, TraceError> {
        if let Some(words) = self.words.take() {
            return self.next_chunk(words).map(Some);
        }
        let at = self.at;
        if self.ended {
            return match self.read::<1>()? {
                Ok(_) => Err(TraceError::Damaged { at, what: "there is something after the end" }),
                Err(_) => Ok(None),
            };
        }
        let Some((header, payload)) = self.block()? else { return Err(TraceError::Cut { at }) };
        let block = match header.kind {
            kind::MODULE => Block::Module(decoded(&payload, at)?),
            kind::SITES => Block::Sites(decoded(&payload, at)?),
            kind::GENERATED => Block::Generated(decoded(&payload, at)?),
            kind::RING => {
                self.rings.insert(header.ring, Decoder::default());
                Block::Ring(header.ring, decoded(&payload, at)?)
            }
            kind::WORDS => self.words(&header, &payload, at)?,
            kind::RING_END => {
                self.rings.remove(&header.ring);
                // Empty in older traces.
                let forks = if payload.is_empty() { None } else { decoded(&payload, at)? };
                Block::RingEnd(header.ring, forks)
            }
            kind::END => {
                self.ended = true;
                Block::End(decoded(&payload, at)?)
            }
            _ => return Err(TraceError::Damaged { at, what: "a block of an unknown kind" }),
        };
        Ok(Some(block))
    }

    /// The first chunk of a block of words.
    fn words(&mut self, header: &Header, payload: &[u8], at: u64) -> Result<Block, TraceError> {
        let damaged = |what| TraceError::Damaged { at, what };
        if header.words > MOST_WORDS {
            return Err(damaged("more words than a block may hold"));
        }
        let bytes = self.unpacker.decompress(payload, MOST_BYTES);
        let bytes = bytes.map_err(|_| damaged("words that do not decompress"))?;
        self.next_chunk(Words { at, ring: header.ring, bytes, done: 0, left: header.words })
    }

    /// The next chunk of a block.
    fn next_chunk(&mut self, mut block: Words) -> Result<Block, TraceError> {
        let at = block.at;
        let damaged = |what| TraceError::Damaged { at, what };
        let decoder = self.rings.get_mut(&block.ring).ok_or(damaged("words of a ring that is not there"))?;
        let mut rest = &block.bytes[block.done..];
        let words = decoder.chunk(&mut rest, block.left.min(CHUNK_WORDS)).filter(|words| !words.is_empty());
        let words = words.ok_or(damaged("words that do not decode"))?;
        block.done = block.bytes.len() - rest.len();
        block.left -= words.len();
        if (block.left == 0) != rest.is_empty() {
            return Err(damaged("words that are not as many as they should be"));
        }
        let ring = block.ring;
        self.words = (block.left > 0).then_some(block);
        Ok(Block::Words(ring, words))
    }

    /// A block's header and content; `None` if the file ends before the block does.
    fn block(&mut self) -> Result<Option<(Header, Vec<u8>)>, TraceError> {
        let at = self.at;
        let Ok(bytes) = self.read::<BLOCK_HEADER>()? else { return Ok(None) };
        let damaged = |what| Err(TraceError::Damaged { at, what });
        if crc32fast::hash(&bytes[..24]) != u32_at(&bytes, 24) {
            return damaged("the checksum of a block's header does not fit it");
        }
        if u32_at(&bytes, 4) != self.blocks {
            return damaged("a block is missing or out of place");
        }
        self.blocks += 1;
        let field = |at: usize| u32_at(&bytes, at);
        let (words, bytes) = (field(12) as usize, field(16) as usize);
        let header = Header { kind: field(0), ring: field(8), words, bytes, checksum: field(20) };
        if header.bytes > MOST_BYTES {
            return damaged("a block is longer than any can be");
        }
        let mut payload = Vec::new();
        (&mut self.source).take(header.bytes as u64).read_to_end(&mut payload)?;
        if payload.len() < header.bytes {
            return Ok(None);
        }
        self.at += payload.len() as u64;
        if crc32fast::hash(&payload) != header.checksum {
            return damaged("the checksum of a block does not fit it");
        }
        Ok(Some((header, payload)))
    }

    /// So many bytes, or those that are there.
    fn read<const N: usize>(&mut self) -> io::Result<Result<[u8; N], Vec<u8>>> {
        let mut bytes = Vec::with_capacity(N);
        (&mut self.source).take(N as u64).read_to_end(&mut bytes)?;
        Ok(match <[u8; N]>::try_from(bytes) {
            Ok(bytes) => {
                self.at += N as u64;
                Ok(bytes)
            }
            Err(part) => Err(part),
        })
    }
}

impl<R: Read + Seek> TraceReader<R> {
    /// Goes on where another reader of the trace was. The next block is refused as damaged if it is not the one that
    /// was next there.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn go_on(&mut self, midway: Midway) -> io::Result<()> {
        let Midway { at, blocks, rings } = midway;
        self.source.seek(SeekFrom::Start(at))?;
        (self.at, self.blocks, self.rings) = (at, blocks, rings.into_iter().collect());
        (self.words, self.ended) = (None, false);
        Ok(())
    }
}

fn decoded<T: DeserializeOwned>(payload: &[u8], at: u64) -> Result<T, TraceError> {
    match postcard::take_from_bytes(payload) {
        Ok((what, [])) => Ok(what),
        _ => Err(TraceError::Damaged { at, what: "a block that does not decode" }),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
