//! `dmdprof manual`: the help of every command as files, for those who make packages and for the documentation's site.
//!
//! Takes a directory, writes a manual page per command (`dmdprof-run.1`) or one Markdown file per command; refuses a
//! directory that cannot be written. Hidden, because users have `--help`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Command;

/// Write the help of every command into files
#[derive(clap::Args, Debug)]
pub struct ManualArgs {
    /// Directory for the files; made if it is not there
    directory: PathBuf,
    #[arg(long = "as", value_enum, default_value_t = Form::Man)]
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Pages for man(1)
    Man,
    /// One Markdown file, `commands.md`
    Markdown,
}

/// Writes the files.
///
/// # Errors
/// When the directory cannot be written.
pub fn command(args: &ManualArgs, root: Command) -> anyhow::Result<()> {
    let directory = &args.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let commands = shown(root);
    match args.form {
        Form::Man => commands.iter().try_for_each(|(name, command)| man(directory, name, command)),
        Form::Markdown => {
            let text: String = commands.into_iter().map(|(name, command)| markdown(&name, command)).collect();
            write(&directory.join("commands.md"), format!("# Commands\n{text}").as_bytes())
        }
    }
}

/// Every command that users are shown, with its full name, the program itself first.
fn shown(mut root: Command) -> Vec<(String, Command)> {
    root.build();
    let mut found = Vec::new();
    let mut next = vec![("dmdprof".to_owned(), root)];
    while let Some((name, command)) = next.pop() {
        let inner = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        let mut inner: Vec<_> = inner.map(|sub| (format!("{name} {}", sub.get_name()), sub.clone())).collect();
        inner.reverse();
        next.extend(inner);
        found.push((name, command));
    }
    found
}

fn man(directory: &Path, name: &str, command: &Command) -> anyhow::Result<()> {
    let title = name.replace(' ', "-");
    let command = command.clone().display_name(title.clone()).bin_name(name);
    let mut page = Vec::new();
    clap_mangen::Man::new(command).title(&title).date("").manual("dmdprof").render(&mut page)?;
    write(&directory.join(format!("{title}.1")), &page)
}

fn markdown(name: &str, command: Command) -> String {
    let help = command.bin_name(name).term_width(100).render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("\n## {name}\n\n```text\n{help}```\n")
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_has_a_page_and_a_section() {
        let directory = tempfile::tempdir().unwrap();
        for form in [Form::Man, Form::Markdown] {
            command(&ManualArgs { directory: directory.path().into(), form }, Cli::command()).unwrap();
        }
        let page = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(page("dmdprof-machine-calibrate.1").contains("dmdprof machine calibrate"));
        let reference = page("commands.md");
        for name in ["dmdprof", "dmdprof run", "dmdprof plan scaling", "dmdprof c++"] {
            assert!(reference.contains(&format!("\n## {name}\n")), "{name}");
        }
        assert!(!reference.contains("\n## dmdprof manual\n"), "hidden commands are not shown");
    }
}
