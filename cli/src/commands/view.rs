//! `dmdprof view`: a profile as one page for the browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;

use super::profile::{ProfileArg, read_with_clock};
use crate::profile;
use crate::view::Content;
use crate::view::page_file::{PageArgs, check_output, write_page};

/// Write the profile as one page for the browser
///
/// Traffic curve, flame graph, functions, source, and whatever else was measured. The page is one file that needs no
/// server and no network. It holds the profile's numbers and, unless --sources says otherwise, the text of the sources:
/// whoever gets it can read them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ViewArgs {
    #[command(flatten)]
    pub profile: ProfileArg,

    /// Where to write the page
    #[arg(short, long, value_name = "FILE", default_value = "dmdprof.html")]
    pub output: PathBuf,

    /// Open it in the browser (xdg-open, or $BROWSER)
    #[arg(long)]
    pub open: bool,

    /// An earlier profile, or a baseline of `dmdprof check`, to compare with
    #[arg(long, value_name = "PROFILE")]
    pub before: Option<PathBuf>,

    /// What `dmdprof motion` wrote of the same program, for the loops
    #[arg(long, value_name = "FILE")]
    pub motion: Option<PathBuf>,

    /// What `dmdprof ir` or `run --window` listed, for the walk on the stack
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,

    #[command(flatten)]
    pub page: PageArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof view --open                          the last run
  dmdprof view solver.data -o solver.html      to be sent to somebody
  dmdprof view --sources none -o page.html     without the text of the sources
  dmdprof view --before old.data new.data      what changed
  dmdprof run --flows --objects ./app && dmdprof view     with everything that there is to see";

/// Writes the page and says where it is.
///
/// # Errors
/// A profile or another file that cannot be read, a page that cannot be written, a browser that cannot be started.
pub fn command(args: &ViewArgs) -> anyhow::Result<()> {
    check_output(&args.output)?;
    let profile = read_with_clock(args.profile.path())?;
    let compared = args.before.as_deref().map(|before| super::diff::sides(before, args.profile.path())).transpose()?;
    let earlier = args.before.as_deref().filter(|before| !super::diff::is_baseline(before));
    let before = earlier.map(profile::read).transpose()?;
    let diff = compared.as_ref().map(super::diff::Sides::json).transpose()?;
    let motion = args.motion.as_deref().map(super::motion::document_of).transpose()?;
    let name = |path: &Path| path.display().to_string();
    let content = Content {
        profile: Some(&profile),
        before: before.as_ref(),
        against: compared.as_ref().map(super::diff::Sides::against),
        names: [args.before.as_deref().map_or_else(String::new, name), name(args.profile.path())],
        diff,
        motion,
        listing: args.events.as_deref().map(listing).transpose()?,
    };
    write_page(&args.output, &content, &args.page.options(None)?)?;
    if args.open { open(&args.output) } else { Ok(()) }
}

/// Events that a page can walk; beyond them it would be hours.
const MOST_LISTING: u64 = 64 << 20;

fn listing(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("cannot read the events in {}", path.display());
    let size = std::fs::metadata(path).with_context(failed)?.len();
    if size > MOST_LISTING {
        bail!("{} has {size} bytes of events, which nobody watches; list a smaller kernel", path.display());
    }
    let text = std::fs::read_to_string(path).with_context(failed)?;
    if !text.lines().any(|line| line.starts_with("region ") || line.starts_with("window ")) {
        bail!(
            "{} is no listing of events; one is made by: dmdprof ir --places -o {} PROGRAM, or dmdprof run --window N",
            path.display(),
            path.display()
        );
    }
    Ok(text)
}

/// How long a browser, or what looks for one, may take to find that it cannot start.
const PATIENCE: Duration = Duration::from_secs(3);

/// Starts what the user's system opens pages with. A browser that stays open is not waited for.
fn open(path: &Path) -> anyhow::Result<()> {
    let browser = std::env::var_os("BROWSER").filter(|name| !name.is_empty()).unwrap_or_else(|| "xdg-open".into());
    let page = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let advice = format!("set BROWSER to a browser, or open {} yourself", path.display());
    let mut child = Command::new(&browser)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}; {advice}", browser.display()))?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match child.try_wait().context("cannot ask whether the browser runs")? {
            Some(status) if !status.success() => {
                bail!("{} could not open the page ({status}); {advice}", browser.display())
            }
            Some(_) => break,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    Ok(())
}
