//! `dmdprof mcp`: the tools of assistants on standard input and output.

use std::io;

use anyhow::Context;
use clap::Args;

use crate::mcp::{serve, tools::Tools};

/// Serve assistants: profile, why, annotate, check and diff as tools
///
/// Serve assistants by the Model Context Protocol on standard input and output, in the current directory, until the
/// input ends: profile, why, annotate, check and diff as tools, with the schemas of their JSON, and nothing else. A
/// program that an assistant has profiled runs with your rights.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct McpArgs {}

const EXAMPLES: &str = "\
Examples:
  dmdprof mcp                          what an assistant's configuration names, as in
  {\"mcpServers\": {\"dmdprof\": {\"command\": \"dmdprof\", \"args\": [\"mcp\"]}}}
  echo '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}' | dmdprof mcp";

/// Serves.
///
/// # Errors
/// Those of the streams.
pub fn command(_: &McpArgs) -> anyhow::Result<()> {
    let own = std::env::current_exe().context("cannot find dmdprof's own executable")?;
    match serve(&Tools::new(own), io::stdin().lock(), io::stdout().lock()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
