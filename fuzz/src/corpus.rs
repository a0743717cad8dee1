//! Seeds: files of a directory, and how they are made from a real run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_runtime::sites::SiteTable;
use dmdprof_runtime::trace::{Block, TraceReader};
use object::{Object, ObjectSection};

use crate::packed;

/// Seeds in the order of their names; at least one.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn read(directory: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.sort();
    if paths.is_empty() {
        bail!("{} has no seeds", directory.display());
    }
    paths.iter().map(|path| fs::read(path).with_context(|| format!("cannot read {}", path.display()))).collect()
}

/// A small program with hooks, and what dmdprof made of it. Keep it small: the corpus is part of the repository.
#[derive(Args)]
pub struct Sources {
    /// Name of the seeds
    #[arg(long)]
    name: String,
    /// The program
    #[arg(long)]
    program: PathBuf,
    /// `dmdprof record` of it
    #[arg(long)]
    trace: PathBuf,
    /// `dmdprof run` of it
    #[arg(long)]
    profile: Option<PathBuf>,
    /// `dmdprof replay --sample=1/2` of its trace
    #[arg(long)]
    estimate: Option<PathBuf>,
    /// `dmdprof motion` of it
    #[arg(long)]
    motion: Option<PathBuf>,
    /// `dmdprof slice` of its trace, all parts in order, which then gives no other seeds
    #[arg(long, num_args = 1..)]
    slices: Vec<PathBuf>,
    /// `dmdprof slice --index` of its trace, which then gives no other seeds
    #[arg(long)]
    index: Option<PathBuf>,
    #[arg(long, default_value = "fuzz/corpus")]
    corpus: PathBuf,
}

/// Words of a ring's beginning are enough to meet each kind of record.
const MOST_WORDS: usize = 1500;
/// Bytes before the compressed content.
const PROFILE_HEADER: usize = 32;
const MOTION_HEADER: usize = 12;

impl Sources {
    /// # Errors
    /// When something cannot be read or written.
    pub fn write(&self) -> anyhow::Result<()> {
        let trace = fs::read(&self.trace)?;
        if let Some(index) = &self.index {
            return self.index_seeds(&trace, &fs::read(index)?);
        }
        if !self.slices.is_empty() {
            return self.slice_seeds();
        }
        let section = section(&self.program)?;
        self.seed("descriptors", &section)?;
        self.seed("trace", &trace)?;
        let (bias, rings) = rings(&trace)?;
        for (ring, words) in rings {
            let mut bytes = (section.len() as u32).to_le_bytes().to_vec();
            bytes.extend_from_slice(&section);
            let moved = self.relocated(&words, bias)?;
            moved.iter().take(MOST_WORDS).for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            let name = format!("{}-{ring}", self.name);
            self.write_seed("ring", &name, &bytes)?;
        }
        for (target, file, header) in [
            ("profile", &self.profile, PROFILE_HEADER),
            ("estimate", &self.estimate, PROFILE_HEADER),
            ("motion", &self.motion, MOTION_HEADER),
        ] {
            let Some(file) = file else { continue };
            let bytes = fs::read(file)?;
            self.seed(target, &bytes)?;
            let content = zstd::decode_all(bytes.get(header..).unwrap_or_default())?;
            self.seed(&format!("{target}-content"), &content)?;
        }
        Ok(())
    }

    fn slice_seeds(&self) -> anyhow::Result<()> {
        let mut contents = Vec::new();
        for (slice, number) in self.slices.iter().zip(1..) {
            let bytes = fs::read(slice)?;
            self.write_seed("slice", &format!("{}-{number}", self.name), &bytes)?;
            let blocks = packed::opened(bytes.get(packed::HEAD..).unwrap_or_default())?;
            contents.extend(packed::content(blocks.get(1).context("a slice has two blocks")?));
        }
        self.seed("slice-content", &contents)
    }

    fn index_seeds(&self, trace: &[u8], index: &[u8]) -> anyhow::Result<()> {
        let (head, blocks) = index.split_at_checked(packed::HEAD).context("an index has a head")?;
        let start = [&packed::identity_of(trace), head].concat();
        self.seed("index", &[&start, blocks].concat())?;
        let contents: Vec<u8> = packed::opened(blocks)?.iter().flat_map(|block| packed::content(block)).collect();
        self.seed("index-content", &[start, contents].concat())
    }

    /// Words that name descriptors, as if those lay where the target puts them.
    fn relocated(&self, words: &[u64], bias: u64) -> anyhow::Result<Vec<u64>> {
        let table = SiteTable::read(&self.program)?;
        let low = bias.wrapping_add(table.section_address);
        // Events have their kind and length above the address.
        const ADDRESS: u64 = (1 << 48) - 1;
        let moved = |word: u64| {
            let offset = (word & ADDRESS).wrapping_sub(low);
            let known = table.segment_at(offset).is_some();
            if known { word & !ADDRESS | (crate::targets::LOW + offset) } else { word }
        };
        Ok(words.iter().copied().map(moved).collect())
    }

    fn seed(&self, target: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.write_seed(target, &self.name, bytes)
    }

    fn write_seed(&self, target: &str, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let directory = self.corpus.join(target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(name), bytes)?;
        println!("{target}/{name}: {} bytes", bytes.len());
        Ok(())
    }
}

fn section(program: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = fs::read(program)?;
    let file = object::File::parse(bytes.as_slice())?;
    let section = file.section_by_name(dmdprof_runtime::abi::SECTION).context("the program has no hooks")?;
    Ok(section.data()?.to_vec())
}

/// Where the program was in memory, and words by ring.
fn rings(trace: &[u8]) -> anyhow::Result<(u64, BTreeMap<u32, Vec<u64>>)> {
    let mut reader = TraceReader::new(trace)?;
    let mut bias = None;
    let mut rings: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    while let Some(block) = reader.next_block()? {
        match block {
            Block::Module(module) => bias = bias.or(Some(module.bias)),
            Block::Words(ring, words) => rings.entry(ring).or_default().extend(words),
            _ => {}
        }
    }
    Ok((bias.context("a trace without programs")?, rings))
}
