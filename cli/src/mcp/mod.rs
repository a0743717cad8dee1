//! A server for assistants: the Model Context Protocol over standard input and output.
//!
//! Takes a request per line (JSON-RPC 2.0), gives an answer per line. Offers the tools of [`tools`] and nothing else:
//! no files, no prompts, no shell. Own code, as the kept crates for the protocol bring a runtime for asynchronous
//! programs along: what is needed here are four methods. Refuses, with the protocol's numbers, what is no request.

pub mod tools;

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use self::tools::Tools;

/// Versions of the protocol of which what is used here is the same; the newest first.
const VERSIONS: [&str; 2] = ["2025-06-18", "2025-03-26"];
/// The longest request; more would be no request for these tools.
const LONGEST: u64 = 1 << 20;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// Answers until the input ends.
///
/// # Errors
/// Those of the streams.
pub fn serve(tools: &Tools, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if read as u64 == LONGEST && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
        }
        if let Some(answer) = answer(tools, &line) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}

/// `None` to what wants no answer.
fn answer(tools: &Tools, line: &[u8]) -> Option<Value> {
    let failed = |id: &Value, code: i32, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    let Ok(request) = serde_json::from_slice::<Value>(line) else {
        return Some(failed(&Value::Null, PARSE_ERROR, "not JSON: one request per line, of at most 1 MiB"));
    };
    let id = request.get("id").cloned();
    let Some(method) = request.get("method").and_then(Value::as_str) else {
        // Answers to what was never asked have no method either.
        return Some(failed(&id.unwrap_or_default(), INVALID_REQUEST, "a request has a method"));
    };
    // Without an id it is a notification.
    let id = id?;
    let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
    let result = match method {
        "initialize" => Ok(hello(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools.list()})),
        "tools/call" => tools.call(&params).map_err(|message| (INVALID_PARAMS, message)),
        other => Err((
            NO_METHOD,
            format!("there is no method {other:?} here; there are initialize, ping, tools/list and tools/call"),
        )),
    };
    Some(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => failed(&id, code, &message),
    })
}

fn hello(params: &Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.iter().find(|version| Some(**version) == wanted).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "dmdprof", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Exact data movement of programs built with dmdprof. profile a program first; why and annotate explain the last profile, diff compares the last two, check holds cases of dmdprof.toml to their baselines. Numbers repeat to the bit, so one run decides.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(input: &str) -> Vec<Value> {
        let tools = Tools::new("/bin/false".into());
        let mut output = Vec::new();
        serve(&tools, input.as_bytes(), &mut output).expect("to memory");
        let text = String::from_utf8(output).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn requests_are_answered_and_notifications_are_not() {
        let answers = talk(concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#,
            "\n\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#,
            "\nno JSON\n[]\n",
            r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
        ));
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
        let names: Vec<&str> = answers[1]["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!((names, &answers[1]["id"]), (vec!["profile", "why", "annotate", "check", "diff"], &json!("a")));
        let codes: Vec<&Value> = answers[2..5].iter().map(|answer| &answer["error"]["code"]).collect();
        assert_eq!(codes, [&json!(NO_METHOD), &json!(PARSE_ERROR), &json!(INVALID_REQUEST)]);
        assert_eq!((answers.len(), &answers[5]["result"]), (6, &json!({})));
    }

    #[test]
    fn a_line_without_end_is_no_request() {
        let long = format!("{}\n{}\n", "x".repeat(3 << 20), r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
        let answers = talk(&long);
        assert_eq!(
            (answers.len(), &answers[0]["error"]["code"], &answers[1]["id"]),
            (2, &json!(PARSE_ERROR), &json!(3))
        );
    }
}
