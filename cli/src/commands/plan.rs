//! `dmdprof plan`: scenario files, and one question on a line.
//!
//! The questions' arguments are made from their descriptions ([`crate::plan::input`]), so that a subcommand and a
//! scenario file ask for the same.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, bail};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::estimate::{MachineArgs, PlotArgs};
use super::print::PrintArgs;
use crate::document::{Document, Format};
use crate::estimate::workload::Work;
use crate::plan::defaults::Library;
use crate::plan::input::Input;
use crate::plan::output::{self, Show};
use crate::plan::question::Question;
use crate::plan::run::{self, Query};
use crate::plan::{questions, scenario};

const ABOUT: &str = "Plan fleets, queues, checkpoints, money, carbon and years";
const LONG: &str = "Plan with measured profiles: fleets, queues, checkpoints, money, carbon, years

One question on the command line, or a scenario file with several. What is measured (time estimate, bytes, peak live bytes, work) feeds \
published formulas; every assumption is printed and can be set. Any input may be a list (1,2,4) or a range (1..1024, 1..1024 by x2, 1..10 by 1, \
1..10 in 5): the answer is then a table of all combinations, its best point, and the frontiers of time against money and carbon.";
const EXAMPLES: &str = "\
Examples:
  dmdprof plan examples/plan/stencil.toml
  dmdprof plan scaling --time '10 s' --message '1 GB' --link '50 GB/s' --plot
  dmdprof plan checkpoint --profile solver.data --mtbf '50000 h' --storage '1 GB/s' --devices 1,100,10000
  dmdprof plan queue --arrivals '8 /s' --service '100 ms' --explain
  dmdprof plan cost --profile job.data --machine h100-sxm --runs '100000 /year' --grid norway,france,us --tornado
  dmdprof plan scaling --help           what a question asks for, and what is taken if nothing is said";

/// Rows of points for people, if nobody says how many.
const TABLE_TOP: u32 = 20;

/// What was typed.
#[derive(Debug, Clone)]
pub struct PlanArgs(ArgMatches);

impl FromArgMatches for PlanArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(PlanArgs(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for PlanArgs {
    fn augment_args(command: Command) -> Command {
        let scenario = Arg::new("scenario")
            .value_name("SCENARIO")
            .value_parser(value_parser!(PathBuf))
            .help("A file with questions and their inputs (docs/plan.md)");
        let command = command
            .after_help(EXAMPLES)
            .arg(scenario)
            .args_conflicts_with_subcommands(true)
            .arg_required_else_help(true)
            .subcommand_help_heading("Questions")
            .subcommand_value_name("QUESTION");
        let command = showing(command).about(ABOUT).long_about(LONG);
        questions::ALL.into_iter().fold(command, |command, question| command.subcommand(subcommand(question)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// How to print, and what besides the figures. Shared options bring a description of their own, so the command's has to
/// be given afterwards.
fn showing(command: Command) -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let command = PlotArgs::augment_args(PrintArgs::augment_args(command));
    command
        .arg(flag("explain", "Print the formula of every figure, with the numbers put in, and its source"))
        .arg(flag("tornado", "Print how the best figure moves with each input at half and at double"))
        .arg(
            Arg::new("y")
                .long("y")
                .value_name("FIGURE[,FIGURE...]")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Figures to draw with --plot and --svg [default: the one that decides which point is best]"),
        )
        .arg(
            Arg::new("top")
                .long("top")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Show at most so many points [default: 20 in tables, all elsewhere]"),
        )
}

fn subcommand(question: &'static Question) -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let command = Command::new(question.name).after_help(question.examples);
    let command = question
        .inputs
        .iter()
        .flat_map(|group| group.iter())
        .fold(command, |command, input| command.arg(argument(input)));
    let command = command
        .next_help_heading("Profiles and machines")
        .arg(
            text("profile", "FILE[,FILE...]", "Profiles; with several, one point each")
                .short('p')
                .value_delimiter(',')
                .action(ArgAction::Append),
        )
        .arg(text("function", "NAME", "Only this function or region, with all that it calls"))
        .arg(
            text("count", "OPS", "Which operations are the work [default: flops; in the values model ops]")
                .value_parser(value_parser!(Work)),
        );
    let command = MachineArgs::augment_args(command).next_help_heading("Output");
    showing(command).about(question.about).long_about(format!("{}\n\n{}", question.about, question.more))
}

fn argument(input: &Input) -> Arg {
    let mut help = input.help.to_owned();
    if let Some(default) = input.default_text() {
        help += &format!(" [default: {default}]");
    }
    Arg::new(input.key).long(input.key).value_name("VALUE").allow_hyphen_values(true).help(help)
}

/// Asks and prints.
///
/// # Errors
/// Whatever cannot be read, is not known, or has no answer.
pub fn command(args: &PlanArgs) -> anyhow::Result<()> {
    let (asks, matches) = asked(&args.0)?;
    let print = PrintArgs::from_arg_matches(matches)?;
    let plot = PlotArgs::from_arg_matches(matches)?;
    let show = showed(matches, print.form.format);
    let mut whole: Option<Document> = None;
    let mut answers = Vec::new();
    let many = asks.len() > 1;
    for mut ask in asks {
        ask.tornado |= matches.get_flag("tornado");
        let found = if many { run::ask(&ask).with_context(|| ask.question.name)? } else { run::ask(&ask)? };
        let mut document = output::document(&ask, &found, &show);
        if plot.plot || plot.svg.is_some() {
            draw(&ask, &found, &show, &plot, &print, many, &mut document)?;
        }
        if print.form.format == Format::Table {
            // One after the other, each with its own notes.
            answers.push(document);
            continue;
        }
        whole = Some(match whole {
            None => prefixed(document, &ask, many),
            Some(mut all) => {
                let next = prefixed(document, &ask, many);
                all.sheets.extend(next.sheets);
                all.notes.extend(next.notes);
                all
            }
        });
    }
    answers.extend(whole);
    print.print_all(&answers)
}

/// Sheets of several questions are told apart by the question.
fn prefixed(mut document: Document, ask: &Query, many: bool) -> Document {
    if many {
        for sheet in &mut document.sheets {
            sheet.key = format!("{}.{}", ask.question.name, sheet.key);
        }
    }
    document
}

fn draw(
    ask: &Query,
    found: &run::PlanResult,
    show: &Show,
    plot: &PlotArgs,
    print: &PrintArgs,
    many: bool,
    document: &mut Document,
) -> anyhow::Result<()> {
    // Of several questions those without a curve are left out.
    if many && found.axes.is_empty() {
        return Ok(());
    }
    let charts = output::charts(ask, found, show)?;
    let names: Vec<String> =
        charts.iter().map(|(key, _)| if many { format!("{}-{key}", ask.question.name) } else { key.clone() }).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let charts: Vec<_> = charts.iter().map(|(_, chart)| chart.clone()).collect();
    plot.draw_named(&charts, &names, many, print.look(), document)
}

fn showed(matches: &ArgMatches, format: Format) -> Show {
    let top = matches.get_one::<u32>("top").copied().or((format == Format::Table).then_some(TABLE_TOP));
    Show {
        explain: matches.get_flag("explain"),
        top: top.map(|n| n as usize),
        y: matches.get_many::<String>("y").into_iter().flatten().cloned().collect(),
        format,
    }
}

/// What is asked, and the arguments that say how to print.
fn asked(matches: &ArgMatches) -> anyhow::Result<(Vec<Query>, &ArgMatches)> {
    if let Some((name, of_question)) = matches.subcommand() {
        let question = questions::ALL.into_iter().find(|question| question.name == name);
        return Ok((vec![of_line(question.expect("clap knows the same ones"), of_question)?], of_question));
    }
    match matches.get_one::<PathBuf>("scenario") {
        Some(path) => Ok((scenario::read(path)?, matches)),
        None => bail!("name a scenario file or a question; `dmdprof plan --help` lists them"),
    }
}

fn of_line(question: &'static Question, matches: &ArgMatches) -> anyhow::Result<Query> {
    let machine = MachineArgs::from_arg_matches(matches)?;
    let given: BTreeMap<&'static str, String> = question
        .specs()
        .iter()
        .filter_map(|spec| Some((spec.key, matches.get_one::<String>(spec.key)?.clone())))
        .collect();
    Ok(Query {
        question,
        title: String::new(),
        profiles: matches.get_many::<String>("profile").into_iter().flatten().cloned().collect(),
        function: matches.get_one::<String>("function").cloned(),
        machines: machine.named()?,
        choice: machine.choice(),
        work: matches.get_one::<Work>("count").copied(),
        given,
        library: Rc::new(Library::default()),
        tornado: false,
    })
}

#[cfg(test)]
pub mod line {
    //! For tests: what a line would ask.

    use super::*;

    /// # Errors
    /// What the parser or the question refuses.
    pub fn parse(words: &[&str]) -> anyhow::Result<Query> {
        let command = PlanArgs::augment_args(Command::new("plan"));
        let matches = command.try_get_matches_from(std::iter::once("plan").chain(words.iter().copied()))?;
        let (mut asks, of_question) = asked(&matches)?;
        let mut ask = asks.remove(0);
        ask.tornado |= of_question.get_flag("tornado");
        Ok(ask)
    }
}
