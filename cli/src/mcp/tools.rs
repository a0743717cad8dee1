//! The tools that assistants have, and what each of them runs.
//!
//! Takes a name with arguments, checks them against what the tool knows, runs this dmdprof with a fixed subcommand, and
//! gives its JSON. No argument is taken for an option, and no tool has options that others do not see here. What the
//! command says on standard error is the message of a failure.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::shared::signals::{self, Kind};

/// A tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    /// Its arguments.
    input: fn() -> Value,
    /// The schema of what it gives.
    output: &'static str,
    /// Whether the files of the project stay as they are.
    reads_only: bool,
    words: fn(&Arguments<'_>) -> Result<Vec<Run>, String>,
    /// Exit codes with an answer.
    codes: &'static [i32],
}

/// Words of one dmdprof; the last one's output is the answer.
type Run = Vec<OsString>;

const REPORT: &str = include_str!("report-schema.json");
const ESTIMATE: &str = include_str!("estimate-schema.json");
const CHECK: &str = include_str!("check-schema.json");
const DIFF: &str = include_str!("diff-schema.json");

const TOOLS: [Tool; 5] = [
    Tool {
        name: "profile",
        description: "Run a program that was built with hooks (dmdprof cc, dmdprof cargo build), or a source file (.c, .cpp, .rs), and report \
                      where its data movement goes: exact cost, bytes read and depths by function. The profile is kept for why, annotate and \
                      diff.",
        input: || {
            json!({
                "command": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "the program and its arguments"},
                "top": top("functions"),
            })
        },
        output: REPORT,
        reads_only: false,
        words: |arguments| {
            let command = arguments.list("command")?.ok_or("profile needs a command")?;
            let mut run: Run = vec!["run".into(), "--quiet".into(), "--flows".into(), "--objects".into(), "--".into()];
            run.extend(command.into_iter().map(OsString::from));
            let report = with_top(vec!["report".into(), "--format=json".into()], arguments)?;
            Ok(vec![run, report])
        },
        codes: &[0],
    },
    Tool {
        name: "why",
        description: "Say who touched the bytes last that the last profile read from far away, and which cures the counts support.",
        input: || {
            json!({
                "of": {"type": "string", "description": "only reads of this function, line (FILE:LINE) or object"},
                "top": top("pairs"),
            })
        },
        output: ESTIMATE,
        reads_only: true,
        words: |arguments| {
            let mut words = with_top(vec!["why".into(), "--format=json".into()], arguments)?;
            words.extend(arguments.after_options("of")?);
            Ok(vec![words])
        },
        codes: &[0],
    },
    Tool {
        name: "annotate",
        description: "Give the cost of each source line of the last profile.",
        input: || json!({"file": {"type": "string", "description": "only this source file"}}),
        output: ESTIMATE,
        reads_only: true,
        words: |arguments| {
            let mut words: Run = vec!["annotate".into(), "--format=json".into()];
            words.extend(arguments.after_options("file")?);
            Ok(vec![words])
        },
        codes: &[0],
    },
    Tool {
        name: "check",
        description: "Run the cases of dmdprof.toml and compare them with their committed baselines, or with another revision. Nothing is \
                      accepted or saved.",
        input: || {
            json!({
                "case": {"type": "string", "description": "only cases whose names match (* is wild)"},
                "against": {"type": "string", "description": "a revision to compare with; a person must have run check --against --trust before"},
            })
        },
        output: CHECK,
        reads_only: true,
        words: |arguments| {
            let mut words: Run = vec!["check".into(), "--format=json".into()];
            for name in ["case", "against"] {
                words.extend(arguments.text(name)?.map(|value| format!("--{name}={value}").into()));
            }
            Ok(vec![words])
        },
        codes: &[0, 1, 3],
    },
    Tool {
        name: "diff",
        description: "Compare two profiles or baselines and say why costs changed; without names the last two profiles.",
        input: || {
            json!({
                "before": {"type": "string", "description": "a profile or a baseline (.toml)"},
                "after": {"type": "string", "description": "likewise; needs before"},
                "top": top("functions"),
            })
        },
        output: DIFF,
        reads_only: true,
        words: |arguments| {
            let mut words = with_top(vec!["diff".into(), "--format=json".into()], arguments)?;
            match (arguments.text("before")?, arguments.text("after")?) {
                (Some(before), Some(after)) => words.extend(["--".into(), before.into(), after.into()]),
                (None, None) => {}
                _ => return Err("diff has before and after, or neither".into()),
            }
            Ok(vec![words])
        },
        codes: &[0],
    },
];

fn top(what: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": format!("at most so many {what}")})
}

fn with_top(mut words: Run, arguments: &Arguments<'_>) -> Result<Run, String> {
    words.extend(arguments.number("top")?.map(|n| format!("--top={n}").into()));
    Ok(words)
}

/// What a tool was called with.
struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    fn text(&self, name: &str) -> Result<Option<&str>, String> {
        let given = self.0.get(name).map(|value| value.as_str().ok_or_else(|| format!("{name} is a text")));
        given.transpose()
    }

    fn number(&self, name: &str) -> Result<Option<u32>, String> {
        let of = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        self.0.get(name).map(|value| of(value).ok_or_else(|| format!("{name} is a whole number above 0"))).transpose()
    }

    fn list(&self, name: &str) -> Result<Option<Vec<&str>>, String> {
        let words = |value: &'_ Value| {
            value
                .as_array()
                .and_then(|all| all.iter().map(|word| word.as_str().map(str::len)).collect::<Option<Vec<_>>>())
        };
        let Some(value) = self.0.get(name) else { return Ok(None) };
        if words(value).is_none_or(|words| words.is_empty()) {
            return Err(format!("{name} is a list of texts, and not empty"));
        }
        Ok(value.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()))
    }

    /// A word that is no option, whatever it is.
    fn after_options(&self, name: &str) -> Result<Vec<OsString>, String> {
        Ok(self.text(name)?.map_or_else(Vec::new, |value| vec!["--".into(), value.into()]))
    }
}

/// All tools, and the program that they run.
pub struct Tools {
    own: PathBuf,
}

impl Tools {
    #[must_use]
    pub fn new(own: PathBuf) -> Self {
        Tools { own }
    }

    /// What the protocol says of each.
    #[must_use]
    pub fn list(&self) -> Vec<Value> {
        let one = |tool: &Tool| {
            let required: &[&str] = if tool.name == "profile" { &["command"] } else { &[] };
            let input = json!({"type": "object", "properties": (tool.input)(), "required": required, "additionalProperties": false});
            let output: Value = serde_json::from_str(tool.output).unwrap_or_default();
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": input,
                "outputSchema": output,
                "annotations": {"readOnlyHint": tool.reads_only, "openWorldHint": false},
            })
        };
        TOOLS.iter().map(one).collect()
    }

    /// The result of a call.
    ///
    /// # Errors
    /// When there is no such tool, or it has no such arguments.
    pub fn call(&self, params: &Value) -> Result<Value, String> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let names = || TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
        let tool = TOOLS
            .iter()
            .find(|tool| tool.name == name)
            .ok_or_else(|| format!("there is no tool {name:?}; there are {}", names()))?;
        let nothing = Map::new();
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => &nothing,
            Some(value) => value.as_object().ok_or("arguments are an object")?,
        };
        let known = (tool.input)();
        if let Some(unknown) = arguments.keys().find(|key| known.get(key.as_str()).is_none()) {
            return Err(format!("{name} has no argument {unknown:?}"));
        }
        let runs = (tool.words)(&Arguments(arguments))?;
        Ok(self
            .all(&runs, tool.codes)
            .unwrap_or_else(|message| json!({"content": [{"type": "text", "text": message}], "isError": true})))
    }

    fn all(&self, runs: &[Run], codes: &[i32]) -> Result<Value, String> {
        let mut last = String::new();
        for (number, words) in runs.iter().enumerate() {
            let is_last = number + 1 == runs.len();
            last = self.run(words, if is_last { codes } else { &[] })?;
        }
        let structured: Value =
            serde_json::from_str(&last).map_err(|error| format!("dmdprof gave no JSON: {error}"))?;
        Ok(json!({"content": [{"type": "text", "text": last}], "structuredContent": structured, "isError": false}))
    }

    /// What a dmdprof printed. Without codes any is fine as long as dmdprof itself has nothing to say: it is the
    /// program's.
    fn run(&self, words: &[OsString], codes: &[i32]) -> Result<String, String> {
        let mut command = Command::new(&self.own);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = signals::output(&mut command, Kind::Own);
        let (output, _watched) = run.map_err(|error| format!("cannot start dmdprof: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = said.lines().any(|line| {
            line.starts_with("dmdprof: ") && !line.starts_with("dmdprof: note") && !line.starts_with("dmdprof: warning")
        });
        let code = output.status.code().unwrap_or(-1);
        let failed = if codes.is_empty() { refused } else { !codes.contains(&code) || output.stdout.is_empty() };
        if failed {
            return Err(format!("{}\n{said}", output.status).trim().to_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, arguments: Value) -> Result<Vec<Run>, String> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).expect("a tool");
        (tool.words)(&Arguments(arguments.as_object().expect("an object")))
    }

    #[test]
    fn no_argument_is_an_option() {
        let why = words("why", json!({"of": "--output=x", "top": 3})).unwrap();
        assert_eq!(why, [["why", "--format=json", "--top=3", "--", "--output=x"].map(OsString::from).to_vec()]);
        let check = words("check", json!({"case": "--accept"})).unwrap();
        assert_eq!(check[0].last(), Some(&"--case=--accept".into()));
        let profile = words("profile", json!({"command": ["--version"]})).unwrap();
        assert_eq!(profile[0][4..], ["--".into(), OsString::from("--version")]);
        for (name, arguments) in [
            ("profile", json!({})),
            ("profile", json!({"command": []})),
            ("profile", json!({"command": ["a", 1]})),
            ("why", json!({"top": 0})),
            ("why", json!({"of": 1})),
            ("diff", json!({"before": "a"})),
        ] {
            assert!(words(name, arguments.clone()).is_err(), "{name} {arguments}");
        }
    }

    #[test]
    fn tools_have_the_schemas_that_there_are() {
        let tools = Tools::new("/bin/false".into()).list();
        assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"), "{tools:#?}");
        for (tool, file) in tools.iter().zip(["report", "estimate", "estimate", "check", "diff"]) {
            let path = format!("{}/../docs/{file}-schema.json", env!("CARGO_MANIFEST_DIR"));
            let documented: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            assert_eq!(tool["outputSchema"], documented, "{file}");
        }
    }

    #[test]
    fn only_these_tools_and_arguments() {
        let tools = Tools::new("/bin/false".into());
        assert!(tools.call(&json!({"name": "run"})).unwrap_err().contains("there are profile, why"));
        assert!(
            tools.call(&json!({"name": "check", "arguments": {"accept": "x"}})).unwrap_err().contains("no argument")
        );
        assert_eq!(tools.call(&json!({"name": "check"})).unwrap()["isError"], true);
    }
}
