//! The page as a file: what the person says about it, and writing it.
//!
//! Takes content and a path, says where the page is. Refuses directories and machines that there are not.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;

use super::{Content, Options, Sources};
use crate::{
    machine::{
        Machine,
        find::{LOCAL, Places},
    },
    shared::output_file,
};

/// A processor with three levels of caches, all of them measured.
const DEFAULT_MACHINE: &str = "skx-6148-core";

/// What goes into a page.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArgs {
    /// What of the sources goes into the page
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub sources: Sources,

    /// Also look for sources below DIR, and show those that the compiler saw there; may be repeated
    #[arg(long, value_name = "DIR")]
    pub source_dir: Vec<PathBuf>,

    /// The machine that is chosen when the page opens; all machines of `dmdprof machine list` are in it
    #[arg(short, long, value_name = "NAME")]
    pub machine: Option<String>,
}

impl PageArgs {
    /// What `view` needs to know; `panel` is the one that is open first.
    ///
    /// # Errors
    /// A machine that does not exist.
    pub fn options(&self, panel: Option<&'static str>) -> anyhow::Result<Options> {
        let places = Places::from_env();
        let listing = places.all();
        let mut machines: Vec<Machine> = listing.machines.into_iter().map(|found| found.machine).collect();
        let has = |machines: &[Machine], name: &str| machines.iter().any(|machine| machine.name == name);
        let machine = match &self.machine {
            Some(wanted) => {
                let found = places.find(wanted)?.machine;
                let name = found.name.clone();
                if !has(&machines, &name) {
                    machines.push(found);
                }
                name
            }
            None if has(&machines, LOCAL) => LOCAL.into(),
            None => DEFAULT_MACHINE.into(),
        };
        Ok(Options {
            sources: self.sources,
            directories: self.source_dir.clone(),
            machines,
            machine: Some(machine),
            panel,
        })
    }
}

/// Whether a page could be written there: better to hear it before a run.
///
/// # Errors
/// Why not.
pub fn check_output(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!(
            "cannot write the page to {}: it is a directory; name a file in it, as in {}",
            path.display(),
            path.join("dmdprof.html").display()
        );
    }
    output_file::check(path).with_context(|| format!("cannot write the page to {}", path.display()))
}

/// Writes a page and says so.
///
/// # Errors
/// Those of writing.
pub fn write_page(path: &Path, content: &Content, options: &Options) -> anyhow::Result<()> {
    check_output(path)?;
    let failed = || format!("cannot write the page to {}", path.display());
    let mut out = BufWriter::new(output_file::create(path).with_context(failed)?);
    super::write(content, options, &mut out).and_then(|()| out.flush()).with_context(failed)?;
    eprintln!("dmdprof: wrote {}", path.display());
    Ok(())
}
