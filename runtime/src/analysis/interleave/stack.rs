//! One stack, and those who follow its accesses.
//!
//! Takes accesses in order, each with its cell; files what they found. Spares the engine those to the very bytes of the
//! access before, which change nothing: a load finds them on the top.

use crate::{
    analysis::{fast_paths::FastPaths, pipeline::Pipeline},
    engine::{Access, AccessTag, Kind},
    observe::{attribution::Files, lines::Lines},
    oplog::Op,
};

/// A stack of bytes, and one of lines of each size.
pub struct Stack {
    pub engine: Pipeline,
    /// Address and length of what was accessed last; no length if that is not known.
    top: (u64, u32),
    skips: bool,
}

impl Stack {
    /// An empty one.
    #[must_use]
    pub fn new(ways: &FastPaths, line_sizes: &[u32]) -> Self {
        let mut engine = Pipeline::new(ways);
        engine.beside.lines.extend(line_sizes.iter().map(|bytes| Lines::new(*bytes)));
        Self { engine, top: (0, 0), skips: ways.skips }
    }

    /// Does an operation.
    pub fn op(&mut self, op: Op<'_>, files: &mut Files<'_>) {
        if let Op::Accesses { accesses, labels } = op {
            accesses.iter().zip(labels).for_each(|(access, label)| self.access(*access, *label, files));
        } else {
            self.top = (0, 0);
            self.engine.op(op, files);
        }
    }

    #[inline]
    pub fn access(&mut self, access: Access, label: AccessTag, files: &mut Files<'_>) {
        let is_plain = matches!(access.kind, Kind::Load | Kind::Store) && access.len > 0;
        if is_plain && self.skips && self.top == (access.addr, access.len) {
            return self.again(access, label, files);
        }
        self.top = if is_plain { (access.addr, access.len) } else { (0, 0) };
        self.engine.push(access, label, files);
    }

    /// An access to bytes that are on the top of the stack.
    #[inline]
    fn again(&mut self, access: Access, label: AccessTag, files: &mut Files<'_>) {
        if access.kind == Kind::Store {
            self.engine.store_again(label);
        } else if let Some(cell) = files.cells.get_mut(label.cell().index()) {
            cell.read(0, access.len.into());
        }
    }

    /// Has everything done that waits. An access to the same bytes is then like any other.
    pub fn flush(&mut self, files: &mut Files<'_>) {
        self.top = (0, 0);
        self.engine.flush(files);
    }
}
