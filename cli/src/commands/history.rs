//! `dmdprof history`: numbers by commit, and the commits that moved them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use super::print::PrintArgs;
use crate::document::{Column, Document, Sheet, Value};
use crate::gate::history::{self, Entry, Series, past, store::HistoryStore};
use crate::gate::metric::Metric;
use crate::gate::output::history::{Template, page};
use crate::gate::output::words;
use crate::gate::pattern::Pattern;
use crate::gate::project::Project;
use crate::git::{Git, day};
use crate::shared::{human, output_file};
use crate::view::page_file;

/// Show numbers by commit, and the commits that moved them
///
/// Reads the history that `dmdprof check --history` keeps, or with --from-git the baselines that are committed: git has
/// their past already. Numbers are exact, so every difference is a step, and nothing else is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct HistoryArgs {
    /// Where the history is: a file (.jsonl), a directory, branch:NAME or notes:NAME [default: that of dmdprof.toml]
    #[arg(value_name = "PLACE", conflicts_with = "from_git")]
    pub place: Option<String>,

    /// Read the baselines of every commit instead; nothing is run
    #[arg(long)]
    pub from_git: bool,

    /// With --from-git: up to this revision
    #[arg(long, value_name = "REV", default_value = "HEAD", requires = "from_git")]
    pub until: String,

    /// Only cases whose names match
    #[arg(long, value_name = "GLOB")]
    pub case: Option<String>,

    /// A number: cost, 'traffic(32KiB)', peak_live, ...; may be repeated [default: cost; on the page all that moved]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<Metric>,

    /// Print every commit, not only steps
    #[arg(long)]
    pub every: bool,

    /// Also draw one page for the browser, with a curve per case and number
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Make commits of the page links, as in https://example.org/commit/{commit} [default: that of dmdprof.toml]
    #[arg(long, value_name = "ADDRESS")]
    pub link: Option<Template>,

    /// The configuration [default: dmdprof.toml here or in a directory above]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub print: PrintArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof history --from-git                           steps of the committed baselines
  dmdprof history --from-git --html history.html --link 'https://github.com/me/it/commit/{commit}'
  dmdprof check --history branch:numbers               keep each check that does not fail on a branch
  dmdprof history branch:numbers --metric cost --metric 'traffic(32KiB)'
  dmdprof history --every --format csv > numbers.csv   the history of dmdprof.toml

dmdprof.toml:
  [history]
  place = \"branch:numbers\"
  link = \"https://github.com/me/it/commit/{commit}\"";

/// Prints, and draws the page.
///
/// # Errors
/// When there is no history, or the page cannot be written.
pub fn command(args: &HistoryArgs) -> anyhow::Result<()> {
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    let project = Project::read(args.config.as_deref())?;
    let (mut entries, notes) = read(args, &project)?;
    let wanted = args.case.as_deref().map(Pattern::new).transpose().map_err(anyhow::Error::msg)?;
    entries.retain(|entry| wanted.as_ref().is_none_or(|wanted| wanted.matches_text(&entry.case)));
    if entries.is_empty() {
        let case = args.case.as_ref().map_or_else(String::new, |case| format!(" of {case}"));
        bail!(
            "the history{case} is empty; `dmdprof check --history PLACE` adds to it, --from-git reads committed baselines"
        );
    }
    let metrics = if args.metrics.is_empty() { vec![Metric::COST] } else { args.metrics.clone() };
    let shown = history::series(&entries, &metrics);
    if shown.is_empty() {
        bail!("the history has no {}", metrics.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    }
    let sheets = shown.iter().map(|series| sheet(series, args.every)).collect();
    args.print.print(&Document { kind: "history", sheets, notes: notes.clone(), ..Document::default() })?;
    let Some(path) = &args.html else { return Ok(()) };
    let link = match (&args.link, &project.config.history.link) {
        (Some(link), _) => Some(link.clone()),
        (None, Some(text)) => Some(text.parse().map_err(anyhow::Error::msg)?),
        (None, None) => None,
    };
    let drawn = drawn(args, &entries);
    output_file::write(path, page(&drawn, link.as_ref(), &notes))
        .with_context(|| format!("cannot write the page to {}", path.display()))?;
    eprintln!("dmdprof: wrote {}", path.display());
    Ok(())
}

/// What the page has: what was asked for, else the cost and everything that moved.
fn drawn<'e>(args: &HistoryArgs, entries: &'e [Entry]) -> Vec<Series<'e>> {
    if !args.metrics.is_empty() {
        return history::series(entries, &args.metrics);
    }
    let mut all = history::series(entries, &history::metrics(entries));
    all.retain(|series| series.metric == Metric::COST || !series.steps().is_empty());
    all
}

fn read(args: &HistoryArgs, project: &Project) -> anyhow::Result<(Vec<Entry>, Vec<String>)> {
    let git = Git::around(&project.home);
    if args.from_git {
        let git = git?;
        let baselines = project.baselines();
        let root = git.root().canonicalize().context("the repository is not there")?;
        let real = project.home.canonicalize().context("the project is not there")?;
        let inside = real.join(baselines.strip_prefix(&project.home).unwrap_or(&baselines));
        let directory = inside.strip_prefix(&root).ok().and_then(|path| path.to_str());
        let directory = directory.with_context(|| format!("{} is not in the repository", baselines.display()))?;
        let until = git.commit(&args.until)?;
        let past = past::read(&git, &until, directory)?;
        if past.entries.is_empty() {
            bail!("no commit up to {} has a baseline in {directory}", until.short());
        }
        return Ok((past.entries, past.notes));
    }
    let place = match (&args.place, &project.config.history.place) {
        (Some(text), _) => HistoryStore::of_user(text, &project.here),
        (None, Some(text)) => HistoryStore::of_project(text, &project.home)?,
        (None, None) => bail!(
            "which history? name it (a file, a directory, branch:NAME, notes:NAME), write [history] into dmdprof.toml, or give \
             --from-git for committed baselines"
        ),
    };
    let mut entries = history::from_text(&place.to_string(), &place.read(git.ok().as_ref())?)?;
    if matches!(place, HistoryStore::Notes(_)) {
        // Git keeps notes by the names of their commits.
        entries.sort_by(|a, b| a.date.cmp(&b.date));
    }
    Ok((entries, Vec::new()))
}

fn sheet(series: &Series<'_>, every: bool) -> Sheet {
    let metric = series.metric;
    let columns = vec![
        Column::new("commit", ["", "commit"], 0),
        Column::new("date", ["", "date"], 1),
        Column::new("number", ["", &metric.title()], 0),
        Column::new("change", ["", "change"], 0),
        Column::new("function", ["moved most", "(by ByteDMD)"], 1),
        Column::new("subject", ["", "subject"], 2),
    ];
    let steps = series.steps();
    let count = human::plural(steps.len() as u64, "step");
    let commits = human::plural(series.points.len() as u64, "commit");
    let title = format!("{}: {}, {commits}, {count}", series.case, metric.title());
    let mut sheet = Sheet::new(format!("{} {metric}", series.case), title, columns);
    for (at, (entry, n)) in series.points.iter().enumerate() {
        let step = steps.iter().find(|step| step.at == at);
        if step.is_none() && at > 0 && !every {
            continue;
        }
        let function = step.and_then(|step| step.function);
        let otherwise = if step.is_some_and(|step| step.made_otherwise) { " (made in another way)" } else { "" };
        let change = step.map(|step| {
            let by = crate::gate::compare::difference(step.before, step.after);
            let text = format!(
                "{} {}",
                words::change(metric, step.before, step.after),
                words::percent(step.before, step.after)
            );
            Value::Shown(by as f64, text)
        });
        sheet.row([
            Value::Text(entry.name()),
            Value::Text(day(&entry.date).into()),
            words::value(metric, *n),
            change.unwrap_or(Value::Empty),
            Value::or_empty(function, |(name, ..)| Value::Name(name.into())),
            Value::Name(format!("{}{otherwise}", entry.subject)),
        ]);
    }
    sheet
}
