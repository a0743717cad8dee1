//! Instructions of imported accesses as sites of an emulated program.
//!
//! Takes instructions with what they do, gives the address of a site for each, and the sites that are new as a batch
//! for the trace. A site is a segment of one word, the address of the access.

use std::{collections::HashMap, os::unix::ffi::OsStrExt, path::PathBuf};

use super::line::{LineError, What};
use crate::{
    abi::{
        MAX_RINGS,
        emulated::{self, AREA_BYTES, AREA_START, SEGMENT_WORDS, Shape, address, entry, head, segment},
    },
    emulated::Files,
    hash::FastHash,
    sites::Batch,
};

/// A file with code that the accesses are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// What was added to the addresses in the file.
    pub bias: u64,
}

/// Words of each record.
pub const WORDS: usize = 2;

/// Where an access is filed.
#[derive(Clone, Copy)]
pub struct Site {
    pub address: u64,
    pub function: u32,
}

struct Function {
    /// Address of its module's entry, and its first instruction.
    identity: (u64, u64),
    /// Address of the segment that ends it, once there is one.
    end: Option<u64>,
}

#[derive(Default)]
pub struct Sites {
    files: Files,
    /// Addresses of the entries of the programs.
    modules: Vec<u64>,
    /// By instruction, and by bytes and kind.
    known: HashMap<(u64, u32), Site, FastHash>,
    functions: Vec<Function>,
    function_numbers: HashMap<(u64, u64), u32>,
    /// The area that is being filled, the bytes that it has, and those that are told.
    area: u32,
    filled: usize,
    told: usize,
    news: Vec<u64>,
    /// Batches that are not asked for yet.
    ready: Vec<Batch>,
}

impl Sites {
    pub fn new(programs: &[Program]) -> Self {
        // Not at the start, where a program begins that was started.
        let mut sites =
            Self { files: Files::imported(), filled: AREA_START + 8, told: AREA_START + 8, ..Self::default() };
        for Program { path, bias } in programs {
            let mut words = vec![0];
            words.extend(emulated::module(*bias, 0, u64::MAX, path.as_os_str().as_bytes()));
            words[0] = head(entry::MODULE, words.len());
            let low = address(sites.area, sites.filled as u64);
            sites.files.learn(low, &words);
            sites.modules.push(low);
            sites.filled += words.len() * 8;
            sites.news.append(&mut words);
        }
        sites
    }

    /// The site of an instruction that accesses so many bytes.
    #[inline]
    pub fn site(&mut self, instruction: u64, what: What, bytes: u32) -> Result<Site, LineError> {
        let key = (instruction, bytes << 2 | what as u32);
        if let Some(site) = self.known.get(&key) {
            return Ok(*site);
        }
        let function = self.function(instruction);
        let item = |kind| [instruction, Shape::item(kind, 0, 1, 0), bytes.into()];
        let site = Site {
            address: match what {
                What::Read => self.segment(function, 0, &[item(segment::LOAD)]),
                What::Write => self.segment(function, 0, &[item(segment::STORE)]),
                What::Modify => self.segment(function, 0, &[item(segment::LOAD), item(segment::STORE)]),
            }?,
            function,
        };
        self.known.insert(key, site);
        Ok(site)
    }

    /// The segment that ends a function.
    pub fn end(&mut self, function: u32) -> Result<u64, LineError> {
        if let Some(end) = self.functions[function as usize].end {
            return Ok(end);
        }
        let end = self.segment(function, segment::EXIT, &[])?;
        self.functions[function as usize].end = Some(end);
        Ok(end)
    }

    /// Sites that have come since the last time.
    pub fn take_batches(&mut self) -> Vec<Batch> {
        self.make_ready();
        std::mem::take(&mut self.ready)
    }

    fn make_ready(&mut self) {
        if !self.news.is_empty() {
            self.ready.push(self.files.batch(address(self.area, self.told as u64), &self.news));
            self.news.clear();
        }
        self.told = self.filled;
    }

    /// The function that an instruction is in: that of the first program that has one there.
    fn function(&mut self, instruction: u64) -> u32 {
        let of = |module: &u64| Some((*module, self.files.function_start(*module, instruction)?));
        let identity = self.modules.iter().find_map(of).unwrap_or((0, instruction));
        let next = self.functions.len() as u32;
        let number = *self.function_numbers.entry(identity).or_insert(next);
        if number == next {
            self.functions.push(Function { identity, end: None });
        }
        number
    }

    fn segment(&mut self, function: u32, flags: u8, items: &[[u64; 3]]) -> Result<u64, LineError> {
        let words = SEGMENT_WORDS + items.as_flattened().len();
        if self.filled + words * 8 > AREA_BYTES {
            self.next_area()?;
        }
        let (module, start) = self.functions[function as usize].identity;
        let shape = Shape { kind: segment::BLOCK, flags, words: WORDS as u16, items: items.len() as u16 };
        let place = address(self.area, self.filled as u64);
        self.news.push(head(entry::SEGMENT, words));
        self.news.extend(emulated::segment(module, start, shape, items));
        self.filled += words * 8;
        Ok(place)
    }

    fn next_area(&mut self) -> Result<(), LineError> {
        if self.area as usize + 1 == MAX_RINGS {
            return Err(LineError::Sites);
        }
        self.make_ready();
        self.area += 1;
        (self.filled, self.told) = (AREA_START + 8, AREA_START + 8);
        Ok(())
    }
}
