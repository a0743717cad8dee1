//! Puts hooks into a static library that rustc has made for programs in other languages.
//!
//! Takes the archive, in which are the objects of the crate and of all libraries that it uses, the standard library
//! among them; leaves it with instrumented objects in their place, and with the hooks, for linkers that do not know
//! dmdprof. There is no link in which this could happen. The crate's own bitcode is beside the archive, that of
//! libraries in their objects. Refuses a crate whose objects have no bitcode.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    Toolbox,
    object_cache::Cache,
    rlib::{self, Kind, Member, Purpose},
    rust_link::{self, Job, Link, Settings},
};

/// The member that has the hooks. A program that has them already does not take it.
const HOOKS: &str = "dmdprof-hooks.o";

/// Gives the names of what has no hooks.
///
/// # Errors
/// When the archive cannot be read or written, or an object of the crate has no bitcode.
pub fn put_hooks(archive: &Path, settings: Settings, tools: &Toolbox) -> anyhow::Result<Vec<String>> {
    let content = fs::read(archive).with_context(|| format!("cannot read {}", archive.display()))?;
    let members = rlib::members(archive, &content)?;
    if members.iter().any(|member| member.name == HOOKS) {
        return Ok(Vec::new());
    }
    let place = |member: &Member| archive.with_file_name(&member.name);
    let beside: Vec<Option<Vec<u8>>> =
        members.iter().map(|member| rust_link::bitcode_beside(&place(member))).collect::<anyhow::Result<_>>()?;
    let cache = Cache::of_user()?;
    let link = Link::new(tools, settings, cache.as_ref())?;
    let mut jobs = Vec::new();
    let mut without_hooks = Vec::new();
    let mut replaced = Vec::new();
    for (member, beside) in members.iter().zip(&beside) {
        let origin = Origin::from_member(archive, &member.name);
        let bitcode = match (&member.kind, beside) {
            (Kind::Bitcode(bitcode), _) => Some(*bitcode),
            (_, Some(bitcode)) => Some(bitcode.as_slice()),
            (Kind::WithoutBitcode, None) if origin == Origin::Crate => {
                bail!(
                    "{}({}): rustc left no bitcode for this object, so it cannot carry hooks",
                    archive.display(),
                    member.name
                )
            }
            _ => None,
        };
        let wanted = bitcode.filter(|_| !(origin == Origin::Standard && link.settings.no_std));
        if wanted.is_none()
            && (bitcode.is_some() || member.kind == Kind::WithoutBitcode || member.is_code_without_hooks())
        {
            without_hooks.push(member.name.clone());
        }
        let opt_level = if origin == Origin::Standard { 3 } else { link.settings.opt_level };
        replaced.push(wanted.map(|bitcode| {
            jobs.push(Job { name: member.name.clone(), bitcode, opt_level });
            jobs.len() - 1
        }));
    }
    let objects: Vec<PathBuf> = link.make(&jobs)?;
    let hooks = Member::new(HOOKS, tools.hooks_object);
    let mut all: Vec<(&Member, Option<&Path>)> =
        members.iter().zip(&replaced).map(|(member, job)| (member, job.map(|job| objects[job].as_path()))).collect();
    all.push((&hooks, None));
    let made = link.scratch.file("library.a");
    rlib::write(&made, &all, Purpose::Keep)?;
    fs::copy(&made, archive).with_context(|| format!("cannot write {}", archive.display()))?;
    members.iter().for_each(|member| rust_link::remove_bitcode_beside(&place(member)));
    Ok(without_hooks)
}

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Crate,
    Dependency,
    Standard,
}

impl Origin {
    /// Members keep the name of their library: `std-<hash>.std.<hash>-cgu.0.rcgu.o` is of `libstd-<hash>.rlib`, and
    /// libraries that Cargo built are beside the archive.
    fn from_member(archive: &Path, member: &str) -> Self {
        let own = archive.file_stem().unwrap_or_default().to_string_lossy();
        let library = member.split('.').next().unwrap_or_default();
        if own.strip_prefix("lib") == Some(library) {
            Self::Crate
        } else if archive.with_file_name(format!("lib{library}.rlib")).is_file() {
            Self::Dependency
        } else {
            Self::Standard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_known_by_their_librarys_name() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("liba-1.a");
        fs::write(directory.path().join("libb-2.rlib"), "").unwrap();
        assert_eq!(Origin::from_member(&archive, "a-1.a.99-cgu.0.rcgu.o"), Origin::Crate);
        assert_eq!(Origin::from_member(&archive, "b-2.b.99-cgu.0.rcgu.o"), Origin::Dependency);
        assert_eq!(Origin::from_member(&archive, "std-3.std.99-cgu.0.rcgu.o"), Origin::Standard);
    }
}
