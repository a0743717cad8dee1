//! `dmdprof view`: a profile as one page that needs nothing but a browser.
//!
//! Takes a profile, if wanted a second one to compare it with, and documents of other commands; gives an HTML file that
//! holds the page's code, its style and all data. [`tree`] puts cells together by calling context and line, [`pack`]
//! makes compact columns of them, [`machines`] and [`sources`] add what else the page shows, [`html`] writes the file.
//! What the page computes (traffic, times) it computes by the formulas of the commands. Refuses nothing: names and
//! sources are data in the file, and the page shows them as text only.

mod clock;
mod cycles;
mod html;
mod machines;
pub mod matched;
mod objects;
mod pack;
pub mod page_file;
mod sources;
mod text;
mod tree;

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::annotate::Finder;
use crate::document::Document;
use crate::machine::Machine;
use crate::profile::{self, Profile};
use crate::report::{Opening, ReportOptions};
use crate::sharing;
use crate::why;

pub use sources::Sources;

/// What goes into a page besides profiles.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub sources: Sources,
    /// Where sources may be, besides where the compiler saw them.
    pub directories: Vec<PathBuf>,
    /// Those of which times are estimated.
    pub machines: Vec<Machine>,
    /// The one that is chosen at first, by name.
    pub machine: Option<String>,
    /// The panel that is open at first.
    pub panel: Option<&'static str>,
}

/// What a page is about. At least one of the parts is there.
#[derive(Default)]
pub struct Content<'p> {
    pub profile: Option<&'p Profile>,
    /// An earlier run to compare with.
    pub before: Option<&'p Profile>,
    /// Names of the two runs.
    pub names: [String; 2],
    /// How the profile differs from the earlier run, or from a baseline if there is none.
    pub against: Option<matched::Against<'p>>,
    /// JSON of `dmdprof diff`.
    pub diff: Option<String>,
    /// Of `dmdprof motion`.
    pub motion: Option<Document>,
    /// Text of `dmdprof ir`, or of `run --window`.
    pub listing: Option<String>,
}

/// What the page reads first.
#[derive(Serialize)]
struct Header<'a> {
    /// Of the layout of the data.
    version: u32,
    tool: &'static str,
    names: &'a [String; 2],
    panel: Option<&'static str>,
    profile: Option<tree::Described>,
    /// What `dmdprof report` opens with.
    opening: Option<Opening>,
    before: Option<tree::Described>,
    matched: Option<matched::Described>,
    machines: Vec<machines::Described>,
    machine: Option<String>,
    sources: Vec<sources::Embedded>,
    sources_mode: Sources,
    why: Option<&'a Document>,
    /// What it says of each pair.
    why_words: &'a [String],
    objects: Option<objects::Described>,
    motion: Option<&'a Document>,
    /// Of `dmdprof report --sharing`.
    sharing: Option<Document>,
    diff: Option<&'a str>,
    listing: Option<&'a str>,
    columns: Vec<pack::PackedColumn>,
}

/// Pairs on a page: beyond them, each is a negligible part.
const MOST_PAIRS: usize = 300;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(content: &Content, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let mut pack = pack::Pack::default();
    let named = content.profile.map(profile::for_people);
    let profile = named.as_deref();
    let described = profile.map(|profile| tree::describe(profile, "after", &mut pack));
    let before = content.before.map(profile::for_people);
    let before = before.map(|profile| tree::describe(&profile, "before", &mut pack));
    let finder = Finder::new(&options.directories);
    let mut shelf = sources::Shelf::new(&finder, options.sources);
    let mut sources = match (content.profile, &described) {
        (Some(profile), Some(described)) => shelf.of_profile(profile, described),
        _ => Vec::new(),
    };
    if let Some(listing) = &content.listing {
        sources.extend(shelf.of_listing(listing, described.as_ref().map_or(&[], |described| &described.files)));
    }
    let earlier = side(content.before, before.as_ref());
    let compared = side(content.profile, described.as_ref()).zip(content.against);
    let matched = compared.map(|(run, against)| matched::describe(run, earlier, against));
    let why = profile.and_then(pairs);
    let (columns, bytes) = pack.finish();
    let header = Header {
        version: 4,
        tool: env!("CARGO_PKG_VERSION"),
        names: &content.names,
        panel: options.panel,
        machines: content.profile.map_or_else(Vec::new, |profile| machines::describe_all(profile, &options.machines)),
        machine: options.machine.clone(),
        profile: described,
        opening: profile.map(|profile| Opening::from_profile(profile, why::tries(profile))).transpose()?,
        before,
        matched,
        sources,
        sources_mode: options.sources,
        why: why.as_ref(),
        why_words: why.as_ref().map_or(&[], |why| &why.paragraphs),
        objects: profile.and_then(objects::describe),
        motion: content.motion.as_ref(),
        sharing: profile.and_then(shared),
        diff: content.diff.as_deref(),
        listing: content.listing.as_deref(),
        columns,
    };
    html::write(&serde_json::to_vec(&header)?, &bytes, out)
}

fn side<'a>(profile: Option<&'a Profile>, described: Option<&'a tree::Described>) -> Option<matched::Side<'a>> {
    profile.zip(described).map(|(profile, described)| (profile, &described.ids[..]))
}

/// What threads did to each other, if that was measured.
fn shared(profile: &Profile) -> Option<Document> {
    profile.sharing.as_ref()?.met.as_ref()?;
    sharing::document(profile, &ReportOptions { top: Some(MOST_PAIRS), ..ReportOptions::default() }).ok()
}

/// Reuse pairs, if they were measured.
fn pairs(profile: &Profile) -> Option<Document> {
    if profile.flows.is_none() || profile.objects.is_none() {
        return None;
    }
    why::document(profile, &why::Options { top: Some(MOST_PAIRS), variables: true, ..why::Options::default() }).ok()
}
