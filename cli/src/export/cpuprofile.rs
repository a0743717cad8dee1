//! The CPU profile of Chrome's developer tools and of VS Code, which shows one without an extension: numbers at the
//! lines of the source, a table and a flame graph.
//!
//! Takes stacks of one metric, gives JSON by the type `Profiler.Profile` of the DevTools protocol. A node is a function
//! at a line, below its caller. The format knows time only, so a microsecond stands for one unit: a line of 2,500 bytes
//! is shown as 2.5 ms. Numbers above 2^53 in total, which readers cannot hold, are written in units of a power of
//! 1,000.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::columns::{Scale, uri};
use super::stacks::{Frame, Stacks};

/// The largest number up to which JavaScript knows each integer.
const LARGEST: u128 = 1 << 53;

/// The number of the root; nodes are numbered in the order in which they are written, as VS Code's reader relies on.
const ROOT: usize = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'s> {
    nodes: Vec<Node<'s>>,
    start_time: u64,
    end_time: u64,
    samples: Vec<usize>,
    time_deltas: Vec<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'s> {
    id: usize,
    call_frame: CallFrame<'s>,
    hit_count: u64,
    children: Vec<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'s> {
    function_name: &'s str,
    script_id: &'static str,
    url: String,
    /// From 0; -1 if it is not known.
    line_number: i64,
    column_number: i64,
}

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let scale = Scale::within(stacks.totals[0], LARGEST);
    let mut tree = Tree::new();
    for stack in stacks.list.iter().filter(|stack| stack.values[0] > 0) {
        let leaf = stack.frames.iter().fold(ROOT, |parent, frame| tree.child(parent, frame, stacks));
        tree.spend(leaf, scale.apply(stack.values[0]));
    }
    serde_json::to_writer(&mut *out, &tree.profile)?;
    writeln!(out)
}

struct Tree<'s> {
    profile: Profile<'s>,
    known: HashMap<(usize, Frame), usize>,
}

impl<'s> Tree<'s> {
    fn new() -> Self {
        let call_frame = CallFrame {
            function_name: "(root)",
            script_id: "0",
            url: String::new(),
            line_number: -1,
            column_number: -1,
        };
        let root = Node { id: ROOT, call_frame, hit_count: 0, children: Vec::new() };
        let profile =
            Profile { nodes: vec![root], start_time: 0, end_time: 0, samples: Vec::new(), time_deltas: Vec::new() };
        Tree { profile, known: HashMap::new() }
    }

    /// The node of a frame below its caller's.
    fn child(&mut self, parent: usize, frame: &Frame, stacks: &'s Stacks) -> usize {
        // Whether the next frame was inlined changes nothing here.
        let frame = Frame { inlines_next: false, ..*frame };
        let nodes = &mut self.profile.nodes;
        *self.known.entry((parent, frame)).or_insert_with(|| {
            let id = nodes.len() + 1;
            let call_frame = CallFrame {
                function_name: &stacks.functions[frame.function].name,
                script_id: "0",
                url: stacks.file(&frame).map_or_else(String::new, uri),
                line_number: i64::from(stacks.line(&frame)) - 1,
                column_number: 0,
            };
            nodes.push(Node { id, call_frame, hit_count: 0, children: Vec::new() });
            nodes[parent - 1].children.push(id);
            id
        })
    }

    /// Readers disagree on whether a delta of time belongs to the sample before it or after it, so each node has three
    /// samples in a row, and the delta is at the one in the middle.
    fn spend(&mut self, node: usize, value: u64) {
        self.profile.nodes[node - 1].hit_count += 3;
        self.profile.samples.extend([node; 3]);
        self.profile.time_deltas.extend([0, value, 0]);
        self.profile.end_time += value;
    }
}
