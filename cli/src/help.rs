//! `dmdprof --help`: the commands in groups, in the order in which a newcomer meets them.
//!
//! Takes the parser's command, gives it with another template. The names and their descriptions are the parser's own;
//! what is stated here is only which group a command is in. A command without a group would be missing from the help,
//! and a test fails then.

use std::fmt::Write;

use clap::Command;

const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "cargo", "record", "import", "replay", "slice", "merge", "motion", "time"]),
    ("Look", &["report", "view", "annotate", "why", "waste", "ir", "export"]),
    ("Compare and gate", &["diff", "check", "bisect", "history", "rank"]),
    ("Model", &["roofline", "curve", "balance", "fuse", "place", "plan", "machine"]),
    ("Build", &["cc", "c++", "build", "instrument"]),
    ("Maintain", &["doctor", "cache", "mcp", "completions", "help"]),
];

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
    command.help_template(template)
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
