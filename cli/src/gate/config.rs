//! `dmdprof.toml`: cases to run and limits to hold.
//!
//! Takes its text, gives a [`Config`]; refuses, with file, line and advice, what it does not know. Relative paths are
//! meant from the file's directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

use super::key::PrefixRule;
use super::limits::{ByMetric, Limit, Limits, Pattern, Rule};
use super::metric::Metric;
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
    pub limits: Limits,
    pub cases: Vec<Case>,
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
    if let Some(value) = fields.optional("limits") {
        config.limits.extend(limits(document, value)?);
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
    let case = Case {
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
        limits: fields.optional("limits").map_or_else(|| Ok(Limits::none()), |v| limits(document, v))?,
    };
    fields.finish()?;
    Ok(case)
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

type Name<'a> = Spanned<std::borrow::Cow<'a, str>>;

fn rule(document: Document<'_>, pattern: &Name<'_>, value: &Spanned<DeValue<'_>>) -> Result<Rule> {
    let mut limits = ByMetric::new();
    for (key, value) in in_order(document.table(value)?) {
        let (metric, limit) = one(document, key, value)?;
        if !metric.of_functions() {
            return Err(
                document.error(key.span(), format!("functions have no {metric} of their own; put it under [limits]"))
            );
        }
        limits.insert(metric, limit);
    }
    let pattern = Pattern::new(pattern.get_ref()).map_err(|e| document.error(pattern.span(), e))?;
    Ok(Rule { pattern, limits })
}

fn one(document: Document<'_>, key: &Name<'_>, value: &Spanned<DeValue<'_>>) -> Result<(Metric, Limit)> {
    let metric = key.get_ref().parse::<Metric>().map_err(|e| document.error(key.span(), e))?;
    let limit = match value.get_ref() {
        DeValue::String(text) => Limit::of(metric, text),
        DeValue::Integer(n) => Limit::of(metric, &n.to_string()),
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
        assert_eq!(config.limits.total[&Metric::Cost].to_string(), "1%");
        assert_eq!(config.limits.each[&Metric::Cost].to_string(), "0.5%");
        assert_eq!(config.limits.total[&Metric::Traffic(32 << 10)], Limit::Absolute(4096));
        let mut large = config.limits.clone();
        large.extend(config.cases[1].limits.clone());
        assert_eq!(large.of(&Key::default())[&Metric::Cost], Limit::Absolute(1000));
        assert_eq!(large.total[&Metric::Cost], Limit::Absolute(1000));
        assert_eq!(large.total[&Metric::Footprint], Limit::EXACT);
    }

    #[test]
    fn an_empty_file_has_the_default_limits() {
        let config = from_text(Path::new("dmdprof.toml"), "").unwrap();
        assert!(config.cases.is_empty());
        assert_eq!(config.limits.total, ByMetric::from([(Metric::Cost, Limit::EXACT)]));
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
            refuse("path_prefix_map = [\"x\"]"),
            refuse("[limits\ncost = 1"),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }
}
