//! A history as one page that needs nothing else: a curve per case and number, the steps, and a table of them.
//!
//! Takes series, gives HTML without scripts: drawings are inline SVG, and tooltips are titles. Commits are links if
//! there is a template of an address. Nothing of a history becomes markup: all text is escaped, and only addresses of
//! the web are links.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::words;
use crate::gate::history::{Entry, Series, Step};
use crate::gate::metric::Metric;
use crate::git::day;
use crate::shared::{human, printable};

const STYLE: &str = include_str!("history.css");
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 150.0;
/// Commits of more steps would lie over each other; they are in the table and in tooltips.
const NAMED: usize = 10;
/// Room for the labels of the axis, and above and below the curve.
const LEFT: f64 = 96.0;
const EDGE: f64 = 18.0;

/// The address of a commit, with `{commit}` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl std::str::FromStr for Template {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_web = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
        if is_web && text.contains("{commit}") {
            return Ok(Template(text.into()));
        }
        Err(format!("{text:?} is no address of commits: expected https://... with {{commit}} in it"))
    }
}

fn escaped(text: &str) -> String {
    let printable = printable::name(text);
    printable.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page of all series.
#[must_use]
pub fn page(series: &[Series<'_>], link: Option<&Template>, notes: &[String]) -> String {
    let policy = format!("default-src 'none'; style-src 'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE)));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>dmdprof history</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Data movement by commit</h1>\n"
    );
    let mut case = None;
    for one in series {
        if case != Some(one.case) {
            case = Some(one.case);
            writeln!(out, "<h2>{}</h2>", escaped(one.case)).expect("to a string");
        }
        section(one, link, &mut out);
    }
    for note in notes {
        writeln!(out, "<p class=\"note\">{}</p>", escaped(note)).expect("to a string");
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn section(series: &Series<'_>, link: Option<&Template>, out: &mut String) {
    let metric = series.metric;
    let steps = series.steps();
    let last = series.points.last().map_or(0, |(_, n)| *n);
    let count = series.points.len();
    let (commits, moved) = (human::plural(count as u64, "commit"), human::plural(steps.len() as u64, "step"));
    let text = format!("{}, {commits}, {moved}", words::amount(metric, last));
    writeln!(out, "<section>\n<h3>{} <span>{}</span></h3>", escaped(&metric.title()), escaped(&text))
        .expect("to a string");
    curve(series, &steps, link, out);
    if !steps.is_empty() {
        out.push_str(
            "<table>\n<tr><th>commit<th>date<th class=\"n\">before<th class=\"n\">after<th class=\"n\">change<th>function that moved most<th>subject</tr>\n",
        );
        for step in &steps {
            row(metric, step, link, out);
        }
        out.push_str("</table>\n");
    }
    out.push_str("</section>\n");
}

fn row(metric: Metric, step: &Step<'_>, link: Option<&Template>, out: &mut String) {
    let (before, after) = words::amounts(metric, step.before, step.after);
    let cells = [before, after, words::percent(step.before, step.after)]
        .map(|text| format!("<td class=\"n\">{}", escaped(&text)));
    let function = step
        .function
        .map_or_else(String::new, |(name, was, is)| format!("{name} ({})", words::change(Metric::COST, was, is)));
    let date = day(&step.entry.date);
    let otherwise = if step.made_otherwise { " <em>(made in another way)</em>" } else { "" };
    writeln!(
        out,
        "<tr class=\"{}\"><td>{}<td>{}{}<td>{}<td>{}{otherwise}</tr>",
        direction(metric, step),
        commit(step.entry, link),
        escaped(date),
        cells.concat(),
        escaped(&function),
        escaped(&step.entry.subject)
    )
    .expect("to a string");
}

fn direction(metric: Metric, step: &Step<'_>) -> &'static str {
    if (step.after > step.before) == metric.more_is_better() { "better" } else { "worse" }
}

fn commit(entry: &Entry, link: Option<&Template>) -> String {
    let name = escaped(&entry.name());
    let is_commit = entry.commit.len() >= 40 && entry.commit.bytes().all(|b| b.is_ascii_hexdigit());
    match link.filter(|_| is_commit) {
        Some(Template(text)) => format!("<a href=\"{}\">{name}</a>", escaped(&text.replace("{commit}", &entry.commit))),
        None => name,
    }
}

/// Where a point is.
struct Frame {
    count: usize,
    low: f64,
    high: f64,
}

impl Frame {
    fn x(&self, at: usize) -> f64 {
        LEFT + (WIDTH - LEFT - EDGE) * (at as f64 + 0.5) / self.count as f64
    }

    fn y(&self, n: u128) -> f64 {
        let span = self.high - self.low;
        let share = if span > 0.0 { (n as f64 - self.low) / span } else { 0.5 };
        EDGE + (HEIGHT - 2.0 * EDGE) * (1.0 - share)
    }
}

/// A line that is level between steps: a number stays until a commit moves it.
fn curve(series: &Series<'_>, steps: &[Step<'_>], link: Option<&Template>, out: &mut String) {
    let numbers = || series.points.iter().map(|(_, n)| *n);
    let (low, high) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
    let frame = Frame { count: series.points.len(), low: low as f64, high: high as f64 };
    writeln!(out, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">").expect("to a string");
    for n in if low == high { vec![low] } else { vec![low, high] } {
        let (y, label) = (frame.y(n), escaped(&words::amount(series.metric, n)));
        writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\">{label}</text>",
            WIDTH - EDGE,
            LEFT - 8.0,
            y + 4.0
        )
        .expect("to a string");
    }
    let mut path = format!("M{LEFT} {:.1}", frame.y(series.points.first().map_or(0, |(_, n)| *n)));
    for step in steps {
        write!(path, "H{:.1}V{:.1}", frame.x(step.at), frame.y(step.after)).expect("to a string");
    }
    write!(path, "H{}", WIDTH - EDGE).expect("to a string");
    writeln!(out, "<path d=\"{path}\"/>").expect("to a string");
    for (at, (entry, n)) in series.points.iter().enumerate() {
        let step = steps.iter().find(|step| step.at == at);
        let change = step.map_or_else(String::new, |step| format!(" ({})", words::percent(step.before, step.after)));
        let title = format!("{} {}: {}{change}", entry.name(), entry.subject, words::amount(series.metric, *n));
        let (class, radius) = step.map_or(("same", 2.0), |step| (direction(series.metric, step), 5.0));
        let (x, y) = (frame.x(at), frame.y(*n));
        let dot = format!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            escaped(&title)
        );
        if class != "same" && steps.len() <= NAMED {
            // Above the higher level, so that the curve does not run through it.
            let top = frame.y(step.map_or(*n, |step| step.before.max(step.after))) - 6.0;
            let name = escaped(entry.name().get(..7).unwrap_or_default());
            writeln!(out, "<text class=\"name\" x=\"{x:.1}\" y=\"{top:.1}\">{name}</text>").expect("to a string");
        }
        let opened = commit(entry, link);
        match opened.split_once('>').filter(|_| opened.starts_with("<a ")) {
            Some((anchor, _)) => writeln!(out, "{anchor}>{dot}</a>"),
            None => writeln!(out, "{dot}"),
        }
        .expect("to a string");
    }
    out.push_str("</svg>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::history::series;

    fn entry(commit: &str, cost: u128, subject: &str) -> Entry {
        let numbers = [("cost".to_owned(), cost)].into();
        Entry {
            commit: commit.repeat(40),
            case: "a<b".into(),
            numbers,
            subject: subject.into(),
            date: "2026-01-02T".into(),
            ..Entry::default()
        }
    }

    #[test]
    fn nothing_of_a_history_is_markup_and_commits_are_links() {
        let entries = [entry("a", 10, "x"), entry("b", 12, "<script>alert(1)</script>"), entry("c", 12, "\"&")];
        let all = series(&entries, &[Metric::COST]);
        let link = "https://example.org/commit/{commit}".parse().unwrap();
        let page = page(&all, Some(&link), &["a <note>".into()]);
        assert!(
            !page.contains("<script") && page.contains("&lt;script&gt;") && page.contains("<h2>a&lt;b</h2>"),
            "{page}"
        );
        assert_eq!(page.matches(&format!("href=\"https://example.org/commit/{}\"", "b".repeat(40))).count(), 2);
        assert_eq!((page.matches("class=\"worse\"").count(), page.matches("<circle").count()), (2, 3));
        assert!(page.contains("+20.0%") && page.contains("a &lt;note&gt;"));
        for bad in ["javascript:{commit}", "https://example.org/", "{commit}"] {
            assert!(bad.parse::<Template>().is_err(), "{bad}");
        }
    }
}
