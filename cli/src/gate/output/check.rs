//! `dmdprof check` for people: what got worse or better, and why; as text, and as Markdown for pull requests.

use std::io::{self, Write};

use super::diff::escape;
use super::layout::{Column, Look, columns};
use super::words;
use crate::gate::check::{Checked, Compared, Ending, Severity};
use crate::gate::key::Key;
use crate::gate::metric::Metric;
use crate::gate::summary::Summary;
use crate::gate::verdict::{Finding, Status};
use crate::shared::human;
use crate::shared::printable;

/// All results, and how they are judged.
pub struct Results<'a> {
    pub checked: &'a [Checked],
    /// Better is a failure too.
    pub strict: bool,
    pub width: Option<usize>,
    pub color: bool,
}

/// Functions whose causes the text tells, per case.
const EXPLAINED: usize = 5;
/// Rows per case in the text, and before the fold in Markdown.
const ROWS: usize = 10;
/// GitHub shows a summary of at most 1 MiB.
const MARKDOWN_LIMIT: usize = (1 << 20) - (1 << 16);

impl Results<'_> {
    /// Whether a case fails.
    #[must_use]
    pub fn fails(&self, checked: &Checked) -> bool {
        match checked.severity() {
            Severity::Fine => false,
            Severity::Stale => self.strict,
            Severity::Regression | Severity::CouldNotRun => true,
        }
    }

    /// 0 fine, 1 could not run, 3 worse.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self.checked.iter().map(Checked::severity).max() {
            None | Some(Severity::CouldNotRun) => 1,
            Some(Severity::Regression) => 3,
            Some(Severity::Stale) if self.strict => 3,
            Some(Severity::Stale | Severity::Fine) => 0,
        }
    }

    /// One word per case.
    #[must_use]
    pub fn word(&self, checked: &Checked) -> &'static str {
        match (checked.severity(), &checked.ending) {
            (_, Ending::Saved(_)) => "saved",
            (Severity::Fine, Ending::Compared(compared)) if compared.accepted => "accepted",
            (Severity::Fine, _) => "ok",
            (Severity::Stale, _) if self.strict => "FAILED",
            (Severity::Stale, Ending::Compared(c)) if c.verdict.with(Status::Better).next().is_some() => "better",
            (Severity::Stale, _) => "out of date",
            (Severity::Regression, _) => "FAILED",
            (Severity::CouldNotRun, _) => "ERROR",
        }
    }

    /// The text on standard output.
    pub fn text(&self, out: &mut impl Write) -> io::Result<()> {
        for (i, checked) in self.checked.iter().enumerate() {
            if i > 0 && (self.is_long(checked) || self.is_long(&self.checked[i - 1])) {
                writeln!(out)?;
            }
            let line = format!("{}: {}{}", checked.name, self.word(checked), headline(checked));
            writeln!(out, "{}", printable::name(&line))?;
            match &checked.ending {
                Ending::Compared(compared) => self.compared(compared, out)?,
                Ending::Unlike(unlike) => writeln!(out, "  {}", indented(&unlike.to_string()))?,
                Ending::Error(error) => writeln!(out, "  {}", indented(&format!("{error:#}")))?,
                Ending::Saved(_) | Ending::Certified => {}
            }
        }
        self.advice(out)
    }

    fn is_long(&self, checked: &Checked) -> bool {
        !matches!(self.word(checked), "ok" | "saved")
    }

    fn compared(&self, compared: &Compared, out: &mut impl Write) -> io::Result<()> {
        let verdict = &compared.verdict;
        for defect in &verdict.defects {
            writeln!(out, "  {}", printable::name(defect))?;
        }
        for note in &verdict.notes {
            writeln!(out, "  {}", printable::name(note))?;
        }
        let rows = noticed(compared);
        if !rows.is_empty() {
            let header = [
                Column::Text(""),
                Column::Text("metric"),
                Column::Number("before"),
                Column::Number("after"),
                Column::Number("change"),
                Column::Number(""),
                Column::Number("limit"),
                Column::Text("function"),
                Column::Text("where"),
            ];
            let shown = rows.iter().take(ROWS).map(|f| row(f, &compared.comparison.whole[1]));
            let look =
                Look { width: self.width, go: &["before", "limit"], instead: "--format json", color: self.color };
            columns(&header, shown.collect(), look, out)?;
            if rows.len() > ROWS {
                writeln!(out, "  ({} more; see --format json)", rows.len() - ROWS)?;
            }
        }
        for appearance in verdict.appearances.iter().take(ROWS) {
            let line = format!("{}: {}", appearance.key.name, words::fate(&appearance.key, &appearance.fate));
            writeln!(out, "  {}", printable::name(&line))?;
        }
        if verdict.appearances.len() > ROWS {
            writeln!(out, "  ({} more came, went or were renamed)", verdict.appearances.len() - ROWS)?;
        }
        let explained = verdict.causes.iter().filter(|(_, causes)| !causes.is_empty());
        for (i, (key, causes)) in explained.take(EXPLAINED).enumerate() {
            if i == 0 {
                writeln!(out, "  why")?;
            }
            writeln!(out, "    {}", printable::name(&key.name))?;
            for cause in causes {
                writeln!(out, "      {}", printable::name(&cause.text))?;
            }
        }
        Ok(())
    }

    fn advice(&self, out: &mut impl Write) -> io::Result<()> {
        // What is beyond a ceiling only stays so with another baseline.
        let is_of_baseline = |compared: &Compared| {
            let verdict = &compared.verdict;
            let changed = verdict.findings.iter().any(|f| matches!(f.status, Status::Worse | Status::Better));
            compared.acceptable && (changed || !verdict.defects.is_empty() || !verdict.appearances.is_empty())
        };
        let of = |c: &&Checked| matches!(&c.ending, Ending::Compared(compared) if is_of_baseline(compared));
        let compared = self.checked.iter().filter(of);
        let why = match compared.map(Checked::severity).max() {
            Some(Severity::Regression) => "If that is intended",
            Some(Severity::Stale) => "To bring the baseline up to date",
            _ => return Ok(()),
        };
        writeln!(out, "\n{why}: the same command with --accept, and commit the baseline.")
    }

    /// Less than 1 MiB.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out =
            String::from("### Data movement (dmdprof)\n\n| case | | ByteDMD | change | |\n|---|---|--:|--:|--:|\n");
        for checked in self.checked {
            let [after, change, percent] = cost(checked);
            let (name, word) = (escape(&checked.name), self.word(checked));
            out.push_str(&format!("| {name} | {word} | {after} | {change} | {percent} |\n"));
        }
        let mut left_out = 0;
        for checked in self.checked {
            let part = self.markdown_of(checked);
            if out.len() + part.len() > MARKDOWN_LIMIT {
                left_out += 1;
            } else {
                out.push_str(&part);
            }
        }
        if left_out > 0 {
            out.push_str(&format!("\nThe details of {left_out} cases did not fit; see the job's log.\n"));
        }
        out
    }

    fn markdown_of(&self, checked: &Checked) -> String {
        let name = escape(&checked.name);
        match &checked.ending {
            Ending::Compared(compared) => {
                let rows = noticed(compared);
                let verdict = &compared.verdict;
                let says_nothing = verdict.defects.is_empty() && verdict.notes.is_empty();
                if rows.is_empty() && says_nothing && verdict.appearances.is_empty() {
                    return String::new();
                }
                let mut out = format!("\n#### {name}\n");
                for defect in verdict.defects.iter().chain(&verdict.notes) {
                    out.push_str(&format!("\n{}\n", escape(defect)));
                }
                out.push_str(&markdown_table(&rows[..rows.len().min(ROWS)], compared));
                out.push_str(&fold(&rows, compared));
                out
            }
            Ending::Unlike(unlike) => format!("\n#### {name}\n\n{}", fenced(&unlike.to_string())),
            Ending::Error(error) => format!("\n#### {name}\n\n{}", fenced(&format!("{error:#}"))),
            Ending::Saved(_) | Ending::Certified => String::new(),
        }
    }
}

/// Lines of a message below a heading.
fn indented(message: &str) -> String {
    printable::lines(message).replace('\n', "\n  ")
}

/// A message as it is, which cannot end the fence.
fn fenced(message: &str) -> String {
    format!("```\n{}\n```\n", printable::lines(message).replace("```", "` ` `"))
}

/// The numbers in one line.
fn headline(checked: &Checked) -> String {
    let certified = if checked.certified { ", runs agree to the bit" } else { "" };
    let of = |summary: &Summary, change: &str| {
        let functions = human::plural(summary.functions.len() as u64, "function");
        let exit = match summary.provenance.exit.as_str() {
            "0" => String::new(),
            code => format!(", the program exited with {code}"),
        };
        format!(": ByteDMD {}{change}, {functions}{certified}{exit}", human::grouped(summary.total.of(Metric::COST)))
    };
    match &checked.ending {
        Ending::Compared(compared) => {
            let (before, after) = compared.comparison.total(Metric::COST).unwrap_or_default();
            let percent = words::percent(before, after);
            of(&compared.comparison.whole[1], &if percent.is_empty() { percent } else { format!(" ({percent})") })
        }
        Ending::Saved(summary) => match &checked.baseline {
            Some(path) => format!("{} in {}", of(summary, ""), path.display()),
            None => of(summary, ""),
        },
        Ending::Certified => certified.into(),
        Ending::Unlike(_) | Ending::Error(_) => String::new(),
    }
}

/// Those beyond ceilings first, then worse and better ones; each the program first, then functions by their change.
#[must_use]
pub fn noticed(compared: &Compared) -> Vec<&Finding> {
    let order = [Status::Above, Status::Worse, Status::Better, Status::Warned];
    order.into_iter().flat_map(|status| compared.verdict.with(status)).collect()
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Above => "above",
        Status::Worse => "worse",
        Status::Warned => "warning",
        Status::Better => "better",
        Status::Allowed => "allowed",
        Status::Same => "same",
    }
}

fn row(finding: &Finding, after: &Summary) -> Vec<String> {
    let Finding { metric, before, after: now, limit, .. } = finding;
    let (name, place) = match &finding.function {
        None => ("(program)".into(), String::new()),
        Some(key) => (key.name.clone(), place(key, after)),
    };
    let (was, is) = words::amounts(*metric, *before, *now);
    let change = words::change(*metric, *before, *now);
    let percent = words::percent(*before, *now);
    let status = status(finding.status).into();
    vec![status, metric.title(), was, is, change, percent, words::limit(*metric, *limit), name, place]
}

/// Where a function is now; only its file if it is gone.
fn place(key: &Key, after: &Summary) -> String {
    let line = after.functions.get(key).and_then(|f| f.place).map_or(0, |p| p.line);
    match (key.file.as_str(), line) {
        ("", _) => "?".into(),
        (file, 0) => file.into(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// Cost now, its change, and that in percent.
fn cost(checked: &Checked) -> [String; 3] {
    match &checked.ending {
        Ending::Compared(compared) => {
            let (before, after) = compared.comparison.total(Metric::COST).unwrap_or_default();
            [human::grouped(after), words::change(Metric::COST, before, after), words::percent(before, after)]
        }
        Ending::Saved(summary) => [human::grouped(summary.total.of(Metric::COST)), String::new(), String::new()],
        Ending::Certified | Ending::Unlike(_) | Ending::Error(_) => Default::default(),
    }
}

fn markdown_table(rows: &[&Finding], compared: &Compared) -> String {
    let mut out = String::from("\n| | metric | before | after | change | | limit | function | where | why |\n");
    out.push_str("|---|---|--:|--:|--:|--:|--:|---|---|---|\n");
    for finding in rows {
        let causes = finding.function.as_ref().map_or(&[][..], |key| compared.verdict.causes_of(key));
        let why = causes.first().map_or("", |c| c.text.as_str());
        let cells: Vec<String> = row(finding, &compared.comparison.whole[1]).iter().map(|cell| escape(cell)).collect();
        out.push_str(&format!("| {} | {} |\n", cells.join(" | "), escape(why)));
    }
    out
}

/// Everything else, behind a line to click on.
fn fold(rows: &[&Finding], compared: &Compared) -> String {
    let verdict = &compared.verdict;
    if rows.len() <= ROWS && verdict.appearances.is_empty() && verdict.causes.iter().all(|(_, c)| c.len() < 2) {
        return String::new();
    }
    let mut out = String::from("\n<details><summary>details</summary>\n");
    if rows.len() > ROWS {
        out.push_str(&markdown_table(&rows[ROWS..], compared));
    }
    out.push('\n');
    for appearance in &verdict.appearances {
        let fate = words::fate(&appearance.key, &appearance.fate);
        out.push_str(&format!("- {}: {}\n", escape(&appearance.key.name), escape(&fate)));
    }
    for (key, causes) in &verdict.causes {
        let causes: Vec<&str> = causes.iter().map(|c| c.text.as_str()).collect();
        out.push_str(&format!("- {}: {}\n", escape(&key.name), escape(&causes.join("; "))));
    }
    out.push_str("\n</details>\n");
    out
}
