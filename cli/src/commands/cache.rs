//! `dmdprof cache`: what is kept between builds, and how to be rid of it.

use std::path::Path;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::print::ToArgs;
use crate::{
    driver::object_cache::{Cache, Contents},
    shared::human,
};

/// Show or empty the cache of instrumented objects
///
/// Objects of Rust crates and of the standard library are kept by the content of everything that they are made from, so
/// that a build makes only what has changed. DMDPROF_CACHE_DIR names another directory, DMDPROF_CACHE_SIZE another
/// limit (500M, 4G).
#[derive(Args, Debug)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: Option<Action>,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub format: Format,

    #[command(flatten)]
    pub to: ToArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A line for people
    #[default]
    Text,
    /// Exact bytes: directory, limit, what is kept, what was removed
    Json,
}

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    directory: &'a Path,
    limit: u64,
    objects: u64,
    bytes: u64,
    removed_objects: u64,
    removed_bytes: u64,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Action {
    /// Remove all objects
    Clean,
}

/// Runs the command.
///
/// # Errors
/// When there is no cache directory, or it cannot be read or emptied.
pub fn command(args: &CacheArgs) -> anyhow::Result<()> {
    let cache = Cache::of_user()?.context(
        "there is no place for a cache: none of DMDPROF_CACHE_DIR, XDG_CACHE_HOME and HOME is set to an absolute path",
    )?;
    let directory = cache.directory();
    let said = |what: &str, contents: Contents| {
        let objects = human::plural(contents.objects, "object");
        format!("{what}{objects}, {}", human::bytes(contents.bytes.into()))
    };
    let removed = args.action.map(|Action::Clean| clean(&cache, &directory)).transpose()?;
    let contents = cache.contents().with_context(|| format!("cannot read {}", directory.display()))?;
    let text = if args.format == Format::Json {
        let answer = Answer {
            version: 1,
            directory: &directory,
            limit: cache.limit(),
            objects: contents.objects,
            bytes: contents.bytes,
            removed_objects: removed.map_or(0, |removed| removed.objects),
            removed_bytes: removed.map_or(0, |removed| removed.bytes),
        };
        serde_json::to_string_pretty(&answer)?
    } else if let Some(removed) = removed {
        format!("{}: {}", directory.display(), said("removed ", removed))
    } else {
        let limit = human::bytes(cache.limit().into());
        format!("{}: {} (limit {limit})", directory.display(), said("", contents))
    };
    args.to.write(|out| writeln!(out, "{text}"))
}

fn clean(cache: &Cache, directory: &Path) -> anyhow::Result<Contents> {
    let waiting = || eprintln!("dmdprof: waiting for a build to end");
    cache.clean(waiting).with_context(|| format!("cannot empty {}", directory.display()))
}
