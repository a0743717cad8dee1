//! The file format of speedscope: one profile of weighted stacks per metric, over shared frames.
//!
//! Takes stacks, gives JSON by speedscope's published schema (`file-format-schema.json` of its package). A frame is a
//! function at a line. Weights are exact integers; the viewer itself rounds above 2^53.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::columns::title;
use super::stacks::{Frame, Stacks};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'s> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<'s>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'s> {
    frames: Vec<SharedFrame<'s>>,
}

#[derive(Serialize)]
struct SharedFrame<'s> {
    name: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u128,
    end_value: u128,
    samples: Vec<Vec<usize>>,
    weights: Vec<u128>,
}

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let mut frames: Vec<SharedFrame> = Vec::new();
    let mut by_frame: HashMap<Frame, usize> = HashMap::new();
    let mut index = |frame: &Frame| {
        // Whether the next frame was inlined changes nothing here.
        let key = Frame { inlines_next: false, ..*frame };
        *by_frame.entry(key).or_insert_with(|| {
            let line = stacks.line(frame);
            let name = stacks.functions[frame.function].name.as_str();
            frames.push(SharedFrame { name, file: stacks.file(frame), line: (line > 0).then_some(line) });
            frames.len() - 1
        })
    };
    let samples: Vec<Vec<usize>> =
        stacks.list.iter().map(|stack| stack.frames.iter().map(&mut index).collect()).collect();
    let profiles = (0..stacks.metrics.len()).map(|metric| sampled(stacks, metric, &samples)).collect();
    let file = File {
        schema: SCHEMA,
        name: title(stacks.profile),
        exporter: format!("dmdprof {}", stacks.profile.meta.tool_version),
        active_profile_index: 0,
        shared: Shared { frames },
        profiles,
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

fn sampled(stacks: &Stacks, metric: usize, samples: &[Vec<usize>]) -> Sampled {
    let counted = || stacks.list.iter().zip(samples).filter(|(stack, _)| stack.values[metric] > 0);
    let kind = stacks.metrics[metric];
    Sampled {
        kind: "sampled",
        name: kind.title(),
        unit: if kind.is_bytes() { "bytes" } else { "none" },
        start_value: 0,
        end_value: stacks.totals[metric],
        samples: counted().map(|(_, sample)| sample.clone()).collect(),
        weights: counted().map(|(stack, _)| stack.values[metric]).collect(),
    }
}
