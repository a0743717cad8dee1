//! `dmdprof --help`: the commands in groups, in the order in which a newcomer meets them; and of commands with many
//! options those that are used most, the rest under `--help-all`.
//!
//! Takes the parser's command, gives it with another template. The names and their descriptions are the parser's own;
//! what is stated here is only which group a command or an option is in, and which options are on the first screen. A
//! command without a group would be missing from the help, and a test fails then.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "cargo", "record", "import", "replay", "slice", "merge", "motion", "time"]),
    ("Look", &["report", "view", "annotate", "why", "waste", "ir", "export"]),
    ("Compare and gate", &["diff", "check", "bisect", "history", "rank"]),
    ("Model", &["roofline", "curve", "balance", "fuse", "place", "plan", "machine"]),
    ("Build", &["cc", "c++", "build", "instrument"]),
    ("Maintain", &["doctor", "cache", "mcp", "completions", "help"]),
];

/// Options by what they are about, under `--help-all`; the others are where their command has them.
const OPTION_GROUPS: [(&str, &[&str]); 5] = [
    ("What is on the stack", &["model", "liveness", "bytes_per_element", "fma", "inputs", "roi"]),
    (
        "Lines, caches and cycles",
        &["lines_only", "line_size", "no_lines", "cache", "hazards", "cycles", "optimum", "clock", "no_twin"],
    ),
    (
        "What else is measured",
        &["flows", "flow_contexts", "window", "sequence", "objects", "sharing", "sharing_line", "save_outputs"],
    ),
    ("Threads", &["threads", "turn", "levels", "workers"]),
    (
        "How the program is built and runs",
        &["opt", "no_std", "dump_ir", "native", "binary", "no_binary", "deterministic"],
    ),
];

/// What most measurements begin with.
const MEASURE: [&str; 8] = ["lines_only", "cycles", "clock", "cache", "objects", "flows", "roi", "threads"];

/// Commands with more options than a screen has lines, and those that are on the first one.
const LONG: [(&str, &[&str]); 6] = [
    ("run", &["output", "quiet", "html", "sample", "native", "binary", "top", "lines", "format"]),
    ("cargo", &["output", "quiet", "html", "sample", "deterministic", "top", "lines", "format"]),
    (
        "check",
        &[
            "baseline",
            "save_baseline",
            "accept",
            "against",
            "strict",
            "twice",
            "jobs",
            "limits",
            "ceilings",
            "case",
            "config",
            "markdown",
            "format",
        ],
    ),
    ("replay", &["output", "quiet", "html", "top", "lines", "format"]),
    ("slice", &["part", "output", "index"]),
    ("rank", &["machine", "opt", "stdin", "tolerance", "times", "cycles", "no_cycles", "format"]),
];
/// Examples on a first screen, of those that fit a line of 100 columns.
const EXAMPLES: usize = 4;

/// Columns before a description.
const INDENT: usize = 15;

/// The command with its subcommands in groups.
#[must_use]
pub fn grouped(command: Command) -> Command {
    let styles = command.get_styles().clone();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut listing = String::new();
    for (group, names) in GROUPS {
        write!(listing, "\n\n{header}{group}:{header:#}").expect("to a string");
        for name in names {
            let about = about(&command, name);
            write!(listing, "\n  {literal}{name:<width$}{literal:#}{about}", width = INDENT - 2).expect("to a string");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{listing}\n\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    // The template would take braces for its own; none of the descriptions has any.
    let command = command.help_template(template);
    LONG.into_iter().fold(command, |command, (name, shown)| command.mut_subcommand(name, |sub| on_a_screen(sub, shown)))
}

/// The command with only these options in `--help`, besides those of every measurement, and all in `--help-all`.
fn on_a_screen(command: Command, shown: &[&str]) -> Command {
    let name = command.get_name().to_owned();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let few = examples.lines().filter(|line| line.starts_with("  dmdprof ") && line.len() <= 100).take(EXAMPLES);
    let few = format!("Examples:\n{}\n\nAll options: dmdprof {name} --help-all", few.collect::<Vec<_>>().join("\n"));
    let is_measuring = ["run", "cargo", "replay"].contains(&&*name);
    let option = |arg: Arg| {
        let id = arg.get_id().as_str().to_owned();
        let is_shown = shown.contains(&&*id) || is_measuring && MEASURE.contains(&&*id) || arg.is_positional();
        let group = OPTION_GROUPS.iter().find(|(_, ids)| ids.contains(&&*id));
        let arg = match group {
            Some((group, _)) => arg.help_heading(*group),
            None => arg,
        };
        let arg = if arg.is_positional() { arg.help_heading(None) } else { arg };
        arg.hide_short_help(!is_shown)
    };
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let all = Arg::new("help_all").long("help-all").action(ArgAction::HelpLong);
    command
        .mut_args(option)
        .disable_help_flag(true)
        .next_help_heading(None)
        .arg(help.help("Print the options that are used most"))
        .arg(all.help("Print all options, by group"))
        .after_help(few)
        .after_long_help(examples)
}

fn about(command: &Command, name: &str) -> String {
    match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        // The parser adds this one itself, later.
        None => "Print the help of a command".into(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn each_command_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned());
        let mut shown: Vec<String> = shown.chain(["help".to_owned()]).collect();
        let mut listed: Vec<String> =
            GROUPS.iter().flat_map(|(_, names)| *names).map(|name| (*name).to_owned()).collect();
        shown.sort();
        listed.sort();
        assert_eq!(listed, shown);
    }

    #[test]
    fn long_commands_fit_a_screen_and_have_the_rest_behind_it() {
        let mut command = grouped(Cli::command()).term_width(100);
        command.build();
        for (name, shown) in LONG {
            let sub = command.find_subcommand_mut(name).expect("a command");
            let (short, long) = (sub.render_help().to_string(), sub.render_long_help().to_string());
            assert!(short.lines().count() <= 60, "{name}: {} lines\n{short}", short.lines().count());
            assert!(short.contains("--help-all") && short.contains("Examples:"), "{short}");
            for id in shown {
                assert!(sub.get_arguments().any(|arg| arg.get_id() == id), "{name} has no {id}");
            }
            let all = sub.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
            let missing: Vec<&str> = all.filter(|option| !long.contains(&format!("--{option}"))).collect();
            assert_eq!(missing, Vec::<&str>::new(), "{name}");
        }
        let known = |id: &str| {
            LONG.iter().any(|(name, _)| {
                command.find_subcommand(name).is_some_and(|sub| sub.get_arguments().any(|arg| arg.get_id() == id))
            })
        };
        let ids = OPTION_GROUPS.iter().flat_map(|(_, ids)| *ids).chain(&MEASURE);
        assert_eq!(ids.filter(|id| **id != "clock" && !known(id)).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn descriptions_fit_a_line_of_80_columns() {
        let help = grouped(Cli::command()).render_help().to_string();
        let listed = help.lines().skip_while(|line| *line != "Measure:").take_while(|line| *line != "Options:");
        let long: Vec<&str> = listed.filter(|line| line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new());
        assert!(
            help.contains("  plan         Plan fleets"),
            "options shared by commands bring descriptions of their own:\n{help}"
        );
        assert!(help.contains("Compare and gate:") && help.contains("Examples:"), "{help}");
    }
}
