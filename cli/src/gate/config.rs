//! `dmdprof.toml`: cases to run and limits to hold.
//!
//! Takes its text, gives a [`Config`]; refuses, with file, line and advice, what it does not know. Relative paths are
//! meant from the file's directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

use super::ceilings::{Ceiling, Ceilings, OfMetric, bound};
use super::key::PrefixRule;
use super::limits::{ByMetric, Limit, Limits, Rule};
use super::metric::Metric;
use super::pattern::Pattern;
use crate::cores;
use crate::shared::settings;
use crate::shared::toml_text::{Document, Fields, TextError, in_order};

const ADVICE: &str = "see docs/gate.md, or `dmdprof check --help` for an example";
/// Where baselines are, unless told otherwise.
pub const BASELINES: &str = "dmdprof";

type Result<T> = std::result::Result<T, TextError>;

/// Everything in the file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Directory of the baselines.
    pub baselines: Option<PathBuf>,
    pub path_prefix_map: Vec<PrefixRule>,
    /// Builds a checkout, from the file's directory; empty if nothing is to be built.
    pub build: Vec<String>,
    pub history: History,
    pub limits: Limits,
    pub cases: Vec<Case>,
}

/// Where checks are remembered.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// A file, a directory, `branch:NAME` or `notes:NAME`.
    pub place: Option<String>,
    /// The address of a commit, with `{commit}` in it.
    pub link: Option<String>,
}

/// One program to run.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub name: String,
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub dir: Option<PathBuf>,
    pub stdin: Option<PathBuf>,
    /// Files that the run reads, besides those that the command names.
    pub inputs: Vec<PathBuf>,
    /// Name or path of its baseline, if that is not the case's name.
    pub baseline: Option<String>,
    pub roi: Option<String>,
    pub model: Option<String>,
    pub liveness: Option<String>,
    /// Machines whose cores follow, as `--cycles` takes them.
    pub cycles: Option<String>,
    /// Hazards are counted.
    pub hazards: bool,
    /// With cycles: the program without hooks.
    pub native: Option<PathBuf>,
    /// Further limits, which win over those of the file.
    pub limits: Limits,
}

/// Reads the file's text; `path` is for messages.
///
/// # Errors
/// Everything in the module's description.
pub fn from_text(path: &Path, text: &str) -> Result<Config> {
    let document = Document { path, text, advice: ADVICE };
    let table = document.parse()?;
    let fields = Fields::new(document, &table, "the configuration");
    let mut config = Config {
        baselines: fields.optional("baselines").map(|v| document.string(v)).transpose()?.map(PathBuf::from),
        limits: Limits::default(),
        ..Config::default()
    };
    if let Some(value) = fields.optional("path_prefix_map") {
        for (rule, text) in document.array(value)?.into_iter().map(|v| (v, document.string(v))) {
            config.path_prefix_map.push(text?.parse().map_err(|e: String| document.error(rule.span(), e))?);
        }
    }
    if let Some(value) = fields.optional("build") {
        config.build = command(document, value)?;
    }
    if let Some(value) = fields.optional("history") {
        config.history = history(document, value)?;
    }
    if let Some(value) = fields.optional("report") {
        settings::columns_of(document, value)?;
    }
    if let Some(value) = fields.optional("limits") {
        config.limits.extend(limits(document, value)?);
    }
    if let Some(value) = fields.optional("ceilings") {
        config.limits.ceilings = ceilings(document, value)?;
    }
    if let Some(value) = fields.optional("case") {
        for value in document.array(value)? {
            let case = case(document, value)?;
            if config.cases.iter().any(|other| other.name == case.name) {
                return Err(document.error(value.span(), format!("there are two cases {:?}", case.name)));
            }
            config.cases.push(case);
        }
    }
    fields.finish()?;
    Ok(config)
}

fn case(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Case> {
    let fields = Fields::new(document, document.table(value)?, "[[case]]");
    let text = |key| fields.optional(key).map(|v| document.string(v)).transpose();
    let name_value = fields.required("name")?;
    let name = document.string(name_value)?;
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(
            document.error(name_value.span(), "a name of a case is the name of a file: not empty, without slashes")
        );
    }
    let mut case = Case {
        name,
        command: command(document, fields.required("command")?)?,
        env: fields.optional("env").map_or_else(|| Ok(BTreeMap::new()), |v| env(document, v))?,
        dir: text("dir")?.map(PathBuf::from),
        stdin: text("stdin")?.map(PathBuf::from),
        inputs: fields.optional("inputs").map_or_else(|| Ok(Vec::new()), |v| paths(document, v))?,
        baseline: text("baseline")?,
        roi: text("roi")?,
        model: text("model")?,
        liveness: text("liveness")?,
        cycles: fields.optional("cycles").map_or(Ok(None), |v| cycles(document, v))?,
        hazards: fields.optional("hazards").map_or(Ok(false), |v| flag(document, v))?,
        native: text("native")?.map(PathBuf::from),
        limits: fields.optional("limits").map_or_else(|| Ok(Limits::none()), |v| limits(document, v))?,
    };
    if let Some(value) = fields.optional("ceilings") {
        case.limits.ceilings = ceilings(document, value)?;
    }
    if let Some(value) = fields.optional("native").filter(|_| case.cycles.is_none()) {
        let message = "native is the program without hooks that cycles are of; add cycles = true, or remove it";
        return Err(document.error(value.span(), message));
    }
    fields.finish()?;
    Ok(case)
}

fn flag(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<bool> {
    match value.get_ref() {
        DeValue::Boolean(is_so) => Ok(*is_so),
        _ => Err(document.error(value.span(), "expected true or false")),
    }
}

/// Whether a core follows, or which.
fn cycles(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Option<String>> {
    let names = match value.get_ref() {
        DeValue::Boolean(false) => return Ok(None),
        DeValue::Boolean(true) => cores::REFERENCE_CORE.to_owned(),
        DeValue::String(names) => names.to_string(),
        _ => return Err(document.error(value.span(), "cycles is true, false, or the name of a machine")),
    };
    cores::parse(&names).map(|_| Some(names)).map_err(|why| document.error(value.span(), why))
}

fn history(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<History> {
    let fields = Fields::new(document, document.table(value)?, "[history]");
    let text = |key| fields.optional(key).map(|v| document.string(v)).transpose();
    let history = History { place: text("place")?, link: text("link")? };
    fields.finish()?;
    Ok(history)
}

/// A list of words, or a text that is split at spaces.
fn command(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
    let words = match value.get_ref() {
        DeValue::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        DeValue::Array(words) => words.iter().map(|w| document.string(w)).collect::<Result<Vec<_>>>()?,
        _ => return Err(document.error(value.span(), "expected a command: a list of words, or a text")),
    };
    if words.is_empty() { Err(document.error(value.span(), "the command is empty")) } else { Ok(words) }
}

fn env(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>> {
    let table = document.table(value)?;
    table.iter().map(|(name, value)| Ok((name.get_ref().to_string(), document.string(value)?))).collect()
}

fn paths(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<PathBuf>> {
    Ok(document.strings(value)?.into_iter().map(PathBuf::from).collect())
}

/// Metrics of the program and of every function; `total` for the program alone; `functions` for patterns.
fn limits(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Limits> {
    let mut limits = Limits::none();
    for (key, value) in in_order(document.table(value)?) {
        match key.get_ref().as_ref() {
            "total" => {
                for (key, value) in in_order(document.table(value)?) {
                    let (metric, limit) = one(document, key, value)?;
                    limits.total.insert(metric, limit);
                }
            }
            "functions" => {
                for (pattern, value) in in_order(document.table(value)?) {
                    limits.rules.push(rule(document, pattern, value)?);
                }
            }
            _ => {
                let (metric, limit) = one(document, key, value)?;
                limits.total.entry(metric).or_insert(limit);
                limits.each.insert(metric, limit);
            }
        }
    }
    Ok(limits)
}

/// Metrics of the program; `functions` for patterns.
fn ceilings(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Ceilings> {
    let mut ceilings = Ceilings::default();
    for (key, value) in in_order(document.table(value)?) {
        if key.get_ref() != "functions" {
            let metric = metric(document, key)?;
            if !metric.of_program() {
                let message = format!("the program has no {metric} of its own; put it under [ceilings.functions]");
                return Err(document.error(key.span(), message));
            }
            ceilings.total.insert(metric, ceiling(document, metric, value)?);
            continue;
        }
        for (pattern, value) in in_order(document.table(value)?) {
            let mut of_functions = OfMetric::new();
            for (key, value) in in_order(document.table(value)?) {
                let metric = metric_of_functions(document, key, "[ceilings]")?;
                of_functions.insert(metric, ceiling(document, metric, value)?);
            }
            let pattern = Pattern::new(pattern.get_ref()).map_err(|e| document.error(pattern.span(), e))?;
            ceilings.rules.push((pattern, of_functions));
        }
    }
    Ok(ceilings)
}

/// A number, which is hard, or a table of a soft and a hard one.
fn ceiling(document: Document<'_>, metric: Metric, value: &Spanned<DeValue<'_>>) -> Result<Ceiling> {
    let number = |value: &Spanned<DeValue<'_>>| {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(n) => n.to_string(),
            DeValue::Float(n) => n.to_string(),
            _ => String::new(),
        };
        bound(metric, &text).map_err(|e| document.error(value.span(), e))
    };
    let DeValue::Table(table) = value.get_ref() else {
        return Ok(Ceiling { soft: None, hard: Some(number(value)?) });
    };
    let fields = Fields::new(document, table, "a ceiling");
    let of = |key| fields.optional(key).map(number).transpose();
    let ceiling = Ceiling { soft: of("soft")?, hard: of("hard")? };
    fields.finish()?;
    if ceiling == Ceiling::default() {
        return Err(document.error(value.span(), "a ceiling has soft, hard or both"));
    }
    Ok(ceiling)
}

type Name<'a> = Spanned<std::borrow::Cow<'a, str>>;

fn rule(document: Document<'_>, pattern: &Name<'_>, value: &Spanned<DeValue<'_>>) -> Result<Rule> {
    let mut limits = ByMetric::new();
    for (key, value) in in_order(document.table(value)?) {
        metric_of_functions(document, key, "[limits]")?;
        let (metric, limit) = one(document, key, value)?;
        limits.insert(metric, limit);
    }
    let pattern = Pattern::new(pattern.get_ref()).map_err(|e| document.error(pattern.span(), e))?;
    Ok(Rule { pattern, limits })
}

fn metric(document: Document<'_>, key: &Name<'_>) -> Result<Metric> {
    key.get_ref().parse::<Metric>().map_err(|e| document.error(key.span(), e))
}

fn metric_of_functions(document: Document<'_>, key: &Name<'_>, instead: &str) -> Result<Metric> {
    let metric = metric(document, key)?;
    if metric.of_functions() {
        return Ok(metric);
    }
    Err(document.error(key.span(), format!("functions have no {metric} of their own; put it under {instead}")))
}

fn one(document: Document<'_>, key: &Name<'_>, value: &Spanned<DeValue<'_>>) -> Result<(Metric, Limit)> {
    let metric = metric(document, key)?;
    let limit = match value.get_ref() {
        DeValue::String(text) => Limit::from_text(metric, text),
        DeValue::Integer(n) => Limit::from_text(metric, &n.to_string()),
        _ => Err("a limit is a text such as \"0.5%\" or \"off\", or a whole number".into()),
    };
    Ok((metric, limit.map_err(|e| document.error(value.span(), e))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::key::Key;

    const GOOD: &str = r#"
baselines = "ci/baselines"
path_prefix_map = ["/build=."]

[limits]
cost = "0.5%"
"Q(32KiB)" = 4096
total.cost = "1%"

[limits.functions]
"zeta*" = { cost = "5%" }
"alpha*" = { cost = "off" }
"*" = { read = "2%" }

[[case]]
name = "small"
command = "./prog --size 10"
env = { SEED = "1" }
roi = "solve*"

[[case]]
name = "large"
command = ["./prog", "a file"]
limits = { cost = 1_000, footprint = "0%" }
"#;

    fn refuse(text: &str) -> String {
        from_text(Path::new("dmdprof.toml"), text).expect_err("bad").to_string()
    }

    #[test]
    fn everything_is_read_in_order() {
        let config = from_text(Path::new("dmdprof.toml"), GOOD).unwrap();
        assert_eq!(config.cases[0].command, ["./prog", "--size", "10"]);
        assert_eq!(config.cases[1].command, ["./prog", "a file"]);
        assert_eq!(config.cases[0].roi.as_deref(), Some("solve*"));
        let patterns: Vec<String> = config.limits.rules.iter().map(|r| r.pattern.to_string()).collect();
        assert_eq!(patterns, ["zeta*", "alpha*", "*"]);
        assert_eq!(config.limits.total[&Metric::COST].to_string(), "1%");
        assert_eq!(config.limits.each[&Metric::COST].to_string(), "0.5%");
        assert_eq!(config.limits.total[&Metric::Traffic(32 << 10)], Limit::Absolute(4096));
        let mut large = config.limits.clone();
        large.extend(config.cases[1].limits.clone());
        assert_eq!(large.for_key(&Key::default())[&Metric::COST], Limit::Absolute(1000));
        assert_eq!(large.total[&Metric::COST], Limit::Absolute(1000));
        assert_eq!(large.total[&Metric::FOOTPRINT], Limit::EXACT);
    }

    #[test]
    fn ceilings_and_what_builds() {
        let text = r#"
build = ["make", "CC=dmdprof cc"]
[history]
place = "branch:numbers"
link = "https://example.org/{commit}"
[ceilings]
cost = 2e8
peak_live = { soft = "800 MiB", hard = "1 GiB" }
[ceilings.functions]
"parse_*" = { calls = 10 }
[[case]]
name = "small"
command = "./prog"
ceilings = { "fills(32KiB)" = "40 MiB", cost = { soft = 1 } }
"#;
        let config = from_text(Path::new("dmdprof.toml"), text).unwrap();
        assert_eq!(config.build, ["make", "CC=dmdprof cc"]);
        assert_eq!(config.history.place.as_deref(), Some("branch:numbers"));
        let mut all = config.limits.ceilings.clone();
        all.extend(config.cases[0].limits.ceilings.clone());
        assert_eq!(all.total[&Metric::COST], Ceiling { soft: Some(1), hard: Some(200_000_000) });
        assert_eq!(all.total[&Metric::PEAK_LIVE], Ceiling { soft: Some(800 << 20), hard: Some(1 << 30) });
        assert_eq!(all.total[&Metric::Fills(32 << 10)].hard, Some(40 << 20));
        assert_eq!(all.rules[0].1[&Metric::CALLS].hard, Some(10));
        let messages = [
            refuse("[ceilings]\ncost = \"many\""),
            refuse("[ceilings]\ncost = {}"),
            refuse("[ceilings]\ncalls = 1"),
            refuse("[ceilings]\ncost = { hart = 1 }"),
            refuse("[ceilings.functions]\n\"f\" = { peak_live = 1 }"),
            refuse("build = []"),
            refuse("[history]\nplaces = \"x\""),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn an_empty_file_has_the_default_limits() {
        let config = from_text(Path::new("dmdprof.toml"), "").unwrap();
        assert!(config.cases.is_empty());
        assert_eq!(config.limits.total, ByMetric::from([(Metric::COST, Limit::EXACT)]));
    }

    #[test]
    fn mistakes_have_lines() {
        let messages = [
            refuse("[limit]\ncost = \"1%\""),
            refuse("[limits]\ncosts = \"1%\""),
            refuse("[limits]\ncost = 1.5"),
            refuse("[limits]\ncost = \"one\""),
            refuse("[limits]\n\"Q(33KiB)\" = \"1%\""),
            refuse("[limits.functions]\n\"f\" = { peak_live = 1 }"),
            refuse("[[case]]\ncommand = \"x\""),
            refuse("[[case]]\nname = \"a/b\"\ncommand = \"x\""),
            refuse("[[case]]\nname = \"a\"\ncommand = []"),
            refuse("[[case]]\nname = \"a\"\ncommand = \"x\"\n[[case]]\nname = \"a\"\ncommand = \"y\""),
            refuse("[[case]]\nname = \"a\"\ncommand = \"x\"\ncolour = 1"),
            refuse("[[case]]\nname = \"a\"\ncommand = \"x\"\ncycles = \"zen44\""),
            refuse("[[case]]\nname = \"a\"\ncommand = \"x\"\nnative = \"x\""),
            refuse("path_prefix_map = [\"x\"]"),
            refuse("[limits\ncost = 1"),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }
}
