//! How commands print: the format, the width, how many rows, and where to. The same options for every command with a
//! table.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;

use crate::{
    document::{Document, Format, Look},
    shared::{
        output_file,
        terminal::{FILE_WIDTH, Terminal},
    },
};

pub use crate::shared::terminal::WidthArgs;

/// Rows of tables for people, if nobody says how many.
const TABLE_TOP: usize = 20;

/// What a table looks like.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FormArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    #[command(flatten)]
    pub width: WidthArgs,
}

/// How many rows a table has.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct TopArgs {
    /// Show at most so many rows [default: 20 in tables, all elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
}

/// Where what is printed goes.
#[derive(Args, Clone, Debug, Default)]
pub struct ToArgs {
    /// Write it to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How to print, and where to.
#[derive(Args, Clone, Debug, Default)]
pub struct PrintArgs {
    #[command(flatten)]
    pub form: FormArgs,

    #[command(flatten)]
    pub to: ToArgs,
}

/// How to print, where to, and how much.
#[derive(Args, Clone, Debug, Default)]
pub struct LookArgs {
    #[command(flatten)]
    pub print: PrintArgs,

    #[command(flatten)]
    pub top: TopArgs,
}

impl FormArgs {
    /// For standard output.
    #[must_use]
    pub fn look(&self) -> Look {
        let look = Look::stdout(self.format, self.width.full_names);
        Look { width: look.width.map(|width| self.width.width.map_or(width, usize::from)), ..look }
    }
}

impl TopArgs {
    /// Rows to show in a format.
    #[must_use]
    pub fn rows(&self, format: Format) -> Option<usize> {
        self.top.map(|n| n as usize).or((format == Format::Table).then_some(TABLE_TOP))
    }
}

impl ToArgs {
    /// Has `write` write to standard output or the file. A reader of standard output that has seen enough (`| head`) is
    /// no error.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        let Some(path) = &self.output else { return to_stdout(write) };
        let failed = || format!("cannot write {}", path.display());
        let mut out = BufWriter::new(output_file::create(path).with_context(failed)?);
        write(&mut out).and_then(|()| out.flush()).with_context(failed)
    }

    /// What it is written to: a file is no terminal.
    #[must_use]
    pub fn terminal(&self) -> Terminal {
        if self.output.is_some() { Terminal::default() } else { Terminal::stdout() }
    }

    /// Colours are for terminals only, and a file has the width of files.
    #[must_use]
    pub fn look(&self, form: &FormArgs) -> Look {
        let look = form.look();
        let wide = usize::from(form.width.width.unwrap_or(FILE_WIDTH));
        match &self.output {
            None => look,
            Some(_) => Look { width: look.width.map(|_| wide), color: false, ..look },
        }
    }
}

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

impl PrintArgs {
    #[must_use]
    pub fn look(&self) -> Look {
        self.to.look(&self.form)
    }

    /// Prints one document.
    ///
    /// # Errors
    /// Those of writing.
    pub fn print(&self, document: &Document) -> anyhow::Result<()> {
        self.print_all(std::slice::from_ref(document))
    }

    /// Prints documents, one after the other, with an empty line between them.
    ///
    /// # Errors
    /// Those of writing.
    pub fn print_all(&self, documents: &[Document]) -> anyhow::Result<()> {
        let look = self.look();
        self.to.write(|mut out| {
            for (number, document) in documents.iter().enumerate() {
                if number > 0 {
                    writeln!(out)?;
                }
                document.write(look, &mut out)?;
            }
            Ok(())
        })
    }
}

impl LookArgs {
    /// Rows to show.
    #[must_use]
    pub fn top(&self) -> Option<usize> {
        self.top.rows(self.print.form.format)
    }

    /// # Errors
    /// Those of writing.
    pub fn print(&self, document: &Document) -> anyhow::Result<()> {
        self.print.print(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Column, Sheet, Value};

    fn document(name: &str) -> Document {
        let mut sheet = Sheet::new("rows", "", vec![Column::new("name", ["", "name"], 0)]);
        sheet.row([Value::Name(name.into())]);
        Document { kind: "rows", sheets: vec![sheet], ..Document::default() }
    }

    #[test]
    fn a_file_gets_all_documents_in_the_width_that_was_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        let long = "solve::".repeat(30);
        let print = |width: WidthArgs| {
            let form = FormArgs { format: Format::Table, width };
            let args = PrintArgs { form, to: ToArgs { output: Some(path.clone()) } };
            args.print_all(&[document(&long), document("short")]).expect("it can be written");
            std::fs::read_to_string(&path).expect("text")
        };
        let narrow = print(WidthArgs { width: Some(60), full_names: false });
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        assert!(narrow.contains("\n\n") && narrow.contains("short"), "{narrow}");
        let usual = print(WidthArgs::default());
        assert!(usual.lines().any(|line| line.chars().count() > 60) && !usual.contains(&long), "{usual}");
        assert!(print(WidthArgs { width: Some(60), full_names: true }).contains(&long));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let to = ToArgs { output: Some("/no/such/folder/out.txt".into()) };
        let error = to.write(|out| writeln!(out)).expect_err("there is no such folder");
        assert!(format!("{error:#}").contains("/no/such/folder/out.txt"), "{error:#}");
    }
}
