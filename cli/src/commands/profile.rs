//! Which profile a command reads: the same option for all of them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::clock;
use crate::profile::{self, DEFAULT_FILE, Profile, file::MAGIC};
use crate::shared::quantity::parse_small_size;

/// Of commands whose first word is something else.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileOption {
    /// The profile [default: dmdprof.data]
    #[arg(short, long, value_name = "PROFILE")]
    profile: Option<PathBuf>,
}

/// Of commands that can do without the option's name.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileArg {
    #[command(flatten)]
    option: ProfileOption,

    /// The profile, as with --profile
    #[arg(value_name = "PROFILE", conflicts_with = "profile")]
    file: Option<PathBuf>,
}

/// Of commands that go by one size of lines.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LinesArg {
    /// Go by lines of N bytes, if several sizes were measured [default: the first that was]
    #[arg(long, value_name = "N", value_parser = parse_small_size)]
    pub line_size: Option<u32>,
}

/// A profile with the clock beside it, if that is its own.
///
/// # Errors
/// When the profile cannot be read.
pub fn read_with_clock(path: &Path) -> anyhow::Result<Profile> {
    let mut profile = profile::read(path)?;
    clock::file::add(&mut profile, path);
    Ok(profile)
}

impl LinesArg {
    /// # Errors
    /// When the profile does not have the lines that were chosen.
    pub fn choose(self, profile: &mut Profile) -> anyhow::Result<()> {
        self.line_size.map_or(Ok(()), |size| profile.choose_lines(size)).map_err(anyhow::Error::msg)
    }
}

impl ProfileOption {
    /// # Errors
    /// When the word before it is a profile: then it was meant here.
    pub fn check_subject(&self, subject: Option<&str>) -> anyhow::Result<()> {
        let is_profile = |path: &&str| {
            let mut head = [0; MAGIC.len()];
            File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC
        };
        match subject.filter(is_profile) {
            Some(path) => bail!("{path} is a profile; this command reads one with -p, as in: -p {path}"),
            None => Ok(()),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.profile.as_deref().unwrap_or(Path::new(DEFAULT_FILE))
    }
}

impl ProfileArg {
    #[must_use]
    pub fn path(&self) -> &Path {
        self.named().unwrap_or(Path::new(DEFAULT_FILE))
    }

    /// The one that was named.
    #[must_use]
    pub fn named(&self) -> Option<&Path> {
        self.file.as_deref().or(self.option.profile.as_deref())
    }
}
