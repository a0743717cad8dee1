//! What a slice of a ring asked of the stack before it and what it knows, as operations for the sweep.
//!
//! What comes next for a byte before a slice is the first thing that the slice did to it, and that is what the slice
//! asked. A backward sweep over what slices asked therefore has the bits of the whole ring wherever a slice begins.
//! What a slice knows are the bytes whose future it may depend on, as declared inputs: the sweep marks which ranges of
//! these are needed. With them, the slice can be swept on its own.
//!
//! Takes a boundary, gives operations in the temporary file. Refuses a file that cannot be written.

use std::{io, sync::Arc};

use crate::{
    engine::{Access, AccessTag, Between, Boundary, MissRequest, Next, Stream},
    observe::liveness::sweep::MOST_STREAMS,
    oplog::{Op, OpLog, Recorded, Spool},
    pieces::together,
};

/// Asks that are written down together.
const AT_A_TIME: usize = 1024;

/// Known bytes so close to each other are one range with what is between them, whose future is then known for nothing.
const CLOSE: u64 = 256;

/// What a slice asked.
///
/// # Errors
/// When the temporary file cannot be written.
pub fn asked(boundary: &Boundary, spool: &Arc<Spool>) -> io::Result<Recorded> {
    let mut log = OpLog::new(spool.clone());
    for next in boundary.each() {
        match next {
            Next::Asks(asks) => {
                for asks in asks.chunks(AT_A_TIME) {
                    let accesses: Vec<Access> = asks.iter().map(access).collect();
                    let labels = &[AccessTag::UNCOUNTED; AT_A_TIME][..asks.len()];
                    log.op(Op::accesses(&accesses, labels));
                }
            }
            // No byte is asked for twice in a loop, so it is of no matter which is first.
            Next::Loop(asked, asks, strides) => {
                for (asks, strides) in asks.chunks(MOST_STREAMS).zip(strides.chunks(MOST_STREAMS)) {
                    let streams: Vec<Stream> =
                        asks.iter().zip(strides).map(|(ask, stride)| stream(ask, *stride)).collect();
                    let labels = &[AccessTag::UNCOUNTED; MOST_STREAMS][..streams.len()];
                    log.op(Op::run(&streams, labels, asked.iterations));
                }
            }
            Next::Between(Between::Relocate { from, to, len }) => log.op(Op::Move { from, to, len }),
            Next::Between(Between::Output { addr, len }) => log.op(Op::Output { addr, len }),
            Next::Between(Between::Left { .. } | Between::Arrived { .. } | Between::Input { .. }) => {}
        }
    }
    log.finish()
}

/// What a slice knows: the bytes on its stack, and others that it moved or declared.
///
/// # Errors
/// As `asked`.
pub fn known(boundary: &Boundary, spool: &Arc<Spool>) -> io::Result<Recorded> {
    let mut log = OpLog::new(spool.clone());
    known_ranges(boundary).into_iter().for_each(|(addr, len)| log.op(Op::Input { addr, len }));
    log.finish()
}

fn access(ask: &MissRequest) -> Access {
    Access { addr: ask.addr, len: ask.len, kind: ask.kind }
}

fn stream(ask: &MissRequest, stride: i64) -> Stream {
    Stream { addr: ask.addr, stride, len: ask.len, kind: ask.kind }
}

/// Ranges that have all known bytes; they may overlap, and have others between these.
fn known_ranges(boundary: &Boundary) -> Vec<(u64, u64)> {
    let others = boundary.between.iter().filter_map(|&(_, what)| match what {
        Between::Relocate { to, len, .. } => Some((to, len)),
        Between::Input { addr, len, .. } | Between::Output { addr, len } => Some((addr, len)),
        Between::Left { .. } | Between::Arrived { .. } => None,
    });
    together(boundary.left_ranges().chain(others), CLOSE)
}
