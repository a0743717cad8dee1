//! Measured times, as a person or `dmdprof time` writes them: CSV with the columns `name` and `seconds`.
//!
//! `name` is a function or region as the reports name it, or `(program)`; lines that begin with `#` are comments.
//! Refuses other columns, times that are not positive, names twice. Whether names exist is checked against what is
//! estimated.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::workload::{did_you_mean, short};

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    pub name: String,
    pub seconds: f64,
}

/// Times in seconds by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(BTreeMap<String, f64>);

impl Times {
    /// # Errors
    /// What is wrong, with file and line.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read times from {}", path.display()))?;
        Times::parse(&text).with_context(|| format!("{} is not a file of times", path.display()))
    }

    /// # Errors
    /// What is wrong, with its line.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        // Line by line, as a reader of the whole would not count comments.
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
        let mut records = lines.map(|(line, number)| (record(line), number));
        let columns = records.next().and_then(|(record, _)| record.ok()).unwrap_or_default();
        if columns.iter().ne(["name", "seconds"]) {
            let found = columns.iter().collect::<Vec<_>>().join(",");
            bail!("expected the columns name,seconds, found {found:?}");
        }
        let mut times = BTreeMap::new();
        for (record, line) in records {
            let time = record.and_then(|record| record.deserialize::<Time>(None));
            let time = time.with_context(|| format!("line {line}: expected a name and seconds"))?;
            if !(time.seconds > 0.0 && time.seconds.is_finite()) {
                bail!("line {line}: the time of {} must be positive, is {}", time.name, time.seconds);
            }
            if times.insert(time.name.clone(), time.seconds).is_some() {
                bail!("line {line}: {} is there twice", time.name);
            }
        }
        if times.is_empty() {
            bail!("there are no times in it");
        }
        Ok(Times(times))
    }

    /// The time of a name, as it is or without parameters.
    #[must_use]
    pub fn time_of(&self, name: &str) -> Option<f64> {
        self.0.get(name).or_else(|| self.0.get(short(name))).copied()
    }

    /// # Errors
    /// Times of names that are not among these; `whole` is what the names are of, as in `in the profile`.
    pub fn check<'a>(&self, whole: &str, names: impl Iterator<Item = &'a str> + Clone) -> anyhow::Result<()> {
        let known = |wanted: &str| names.clone().any(|name| name == wanted || short(name) == wanted);
        if let Some(wanted) = self.0.keys().find(|wanted| !known(wanted)) {
            bail!("there is a time for {wanted}, which is not {whole}{}", did_you_mean(wanted, names));
        }
        Ok(())
    }
}

fn record(line: &str) -> csv::Result<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(line.as_bytes());
    let mut record = csv::StringRecord::new();
    reader.read_record(&mut record)?;
    Ok(record)
}

/// A file of times that [`Times::parse`] reads, with comments at its top.
///
/// # Errors
/// None that memory would not have.
pub fn to_csv(times: &[Time], comments: &[String]) -> anyhow::Result<String> {
    let mut text: Vec<u8> = Vec::new();
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        io::Write::write_all(&mut text, format!("# {line}\n").as_bytes())?;
    }
    let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(text);
    for time in times {
        writer.serialize(time)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = |text: &str| format!("{:#}", Times::parse(text).unwrap_err());
        assert_eq!(error("function,time\n"), "expected the columns name,seconds, found \"function,time\"");
        assert_eq!(error("name,seconds\nf,1\ng,-1\n"), "line 3: the time of g must be positive, is -1");
        assert_eq!(error("name,seconds\nf,1\n# x\nf,2\n"), "line 4: f is there twice");
        assert!(error("name,seconds\nf,fast\n").starts_with("line 2: expected a name and seconds"));
        assert_eq!(error("name,seconds\n"), "there are no times in it");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let time = |name: &str, seconds| Time { name: name.into(), seconds };
        let times = [time("./a", 0.25), time("#odd, \"name\"", 1e-9)];
        let text = to_csv(&times, &["two\nlines".into()]).unwrap();
        assert!(text.starts_with("# two\n# lines\nname,seconds\n./a,0.25\n"), "{text}");
        let read = Times::parse(&text).unwrap();
        assert_eq!(times.map(|t| read.time_of(&t.name)), [Some(0.25), Some(1e-9)]);
    }

    #[test]
    fn names_are_those_of_reports_with_or_without_parameters() {
        let times = Times::parse("name,seconds\n\"f(int, int)\", 1.5\ng,2e-3\n").unwrap();
        assert_eq!(
            (times.time_of("f(int, int)"), times.time_of("g(double)"), times.time_of("h")),
            (Some(1.5), Some(2e-3), None)
        );
        assert!(times.check("in the profile", ["f(int, int)", "g(double)"].into_iter()).is_ok());
        let error = times.check("in the profile", ["f(int, int)", "gg"].into_iter()).unwrap_err().to_string();
        assert_eq!(error, "there is a time for g, which is not in the profile; did you mean gg?");
    }
}
