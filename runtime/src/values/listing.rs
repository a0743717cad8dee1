//! Event listings: every push, read and instruction of a small kernel, as text.
//!
//! Values are called `v1`, `v2`, ... in the order in which they come onto the stack. Depths are those of a value's
//! bytes: `depth 4`, or `depth 9-16` for one of eight bytes. With places, a line ends with ` at FILE:LINE`, the code
//! that the event is of; inputs have none.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

use super::{price::PriceSink, stack::ValueStack};
use crate::{pricing::run_cost, sites::SiteTable, steps::ValueOp};

/// Names the line that a frame of a table counts for, as in `dot.c:12`.
pub type PlaceOf = dyn Fn(&SiteTable, u32) -> Option<String> + Send + Sync;

/// Where listings go.
pub struct Listing {
    out: Mutex<Out>,
    /// Show the stack after every event.
    pub stack: bool,
    /// Show where each event is from.
    pub place: Option<Box<PlaceOf>>,
}

struct Out {
    to: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Listing {
    /// Writes to `to`; with `stack` also what lies on the stack of values.
    #[must_use]
    pub fn new(to: Box<dyn Write + Send>, stack: bool, place: Option<Box<PlaceOf>>) -> Self {
        Self { out: Mutex::new(Out { to, failed: None }), stack, place }
    }

    fn line(&self, text: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.failed.is_none()
            && let Err(error) = writeln!(out.to, "{text}")
        {
            out.failed = Some(error);
        }
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// The first error that writing met.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match out.failed.take() {
            Some(error) => Err(error),
            None => out.to.flush(),
        }
    }
}

/// Lists one region while another sink files it.
pub struct Lister<'a, S> {
    listing: &'a Listing,
    inner: &'a mut S,
    /// By cell: ` at FILE:LINE`, or nothing.
    places: Vec<String>,
    /// Of the instruction at hand.
    cell: Option<u32>,
    names: HashMap<u32, usize>,
    cost: u128,
    reads: u64,
}

impl<'a, S> Lister<'a, S> {
    /// Lists the reads of a region, on their way to `inner`.
    pub fn start(listing: &'a Listing, region: &str, places: Vec<String>, inner: &'a mut S) -> Self {
        listing.line(&format!("region {region}"));
        Self { listing, inner, places, cell: None, names: HashMap::new(), cost: 0, reads: 0 }
    }

    /// The last line.
    pub fn finish(self) {
        self.listing.line(&format!("total {} ({} reads)", self.cost, self.reads));
    }

    fn place(&self) -> &str {
        self.cell.and_then(|cell| self.places.get(cell as usize)).map_or("", String::as_str)
    }

    /// Inputs of unknown order are named when they are first read.
    fn name(&mut self, value: u32) -> usize {
        let next = self.names.len() + 1;
        *self.names.entry(value).or_insert(next)
    }

    fn show_stack(&mut self, stack: &ValueStack) {
        if self.listing.stack {
            let names: Vec<String> = stack.top_down().map(|v| format!("v{}", self.names[&v])).collect();
            let names = if names.is_empty() { "(empty)".into() } else { names.join(" ") };
            self.listing.line(&format!("  stack, top first: {names}"));
        }
    }
}

fn depth(above: u64, size: u64) -> String {
    if size == 1 { format!("{}", above + 1) } else { format!("{}-{}", above + 1, above + size) }
}

impl<S: PriceSink> PriceSink for Lister<'_, S> {
    fn push(&mut self, value: u32, stack: &ValueStack) {
        let name = self.name(value);
        self.listing.line(&format!("push v{name}{}", self.place()));
        self.show_stack(stack);
        self.inner.push(value, stack);
    }

    fn read(&mut self, cell: u32, value: u32, above: u64, size: u64) {
        let name = self.name(value);
        let cost = run_cost(above, size);
        self.cost += cost;
        self.reads += 1;
        self.cell = Some(cell);
        self.listing.line(&format!("read v{name} depth {} cost {cost}{}", depth(above, size), self.place()));
        self.inner.read(cell, value, above, size);
    }

    fn done(&mut self, cell: u32, op: u8, reads: &[(u32, u64)], stack: &ValueStack) {
        self.cell = Some(cell);
        if let Some(op) = ValueOp::from_number(op) {
            let mut cost = 0;
            let operands: Vec<String> = reads
                .iter()
                .map(|&(value, above)| {
                    cost += run_cost(above, stack.size(value));
                    format!("v{}@{}", self.names[&value], depth(above, stack.size(value)))
                })
                .collect();
            self.listing.line(&format!("instr {} reads {} cost {cost}{}", op.name(), operands.join(" "), self.place()));
        }
        self.show_stack(stack);
        self.inner.done(cell, op, reads, stack);
    }
}
