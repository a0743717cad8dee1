//! Natural loops of one function: LLVM's C interface has neither predecessors nor dominators nor loops.
//!
//! Takes a function, gives its [`Loops`]: which loop each block is in, how loops nest, where each is in the source. A
//! loop is what LLVM calls one: all blocks from which control comes back to a header that dominates them, back edges to
//! one header together. Cycles that can be entered in several places (irreducible ones) are none.

use std::collections::{HashMap, HashSet};

use crate::llvm::ir::{Block, Metadata, Opcode, Value};

/// What depends on more than this many values is taken to change.
const MOST_VALUES: usize = 200;

/// One loop.
#[derive(Clone, Debug)]
pub struct Loop<'m> {
    pub header: Block<'m>,
    /// The loop around it.
    pub parent: Option<u32>,
    /// Where it begins in the source, if the debug information says so.
    pub location: Option<Metadata<'m>>,
}

/// The loops of a function.
#[derive(Default)]
pub struct Loops<'m> {
    /// Outer loops come before those inside them.
    pub loops: Vec<Loop<'m>>,
    innermost: HashMap<Block<'m>, u32>,
    /// Blocks to which control can come by leaving a loop.
    exits: HashSet<Block<'m>>,
}

impl<'m> Loops<'m> {
    #[must_use]
    pub fn find(function: Value<'m>) -> Self {
        let graph = Graph::from_function(function);
        let shape = find(&graph.successors);
        let placed = |found: &FoundLoop| {
            let into = graph.predecessors[found.header].iter();
            let latches = into.filter(|b| shape.dominators.dominates(found.header, **b)).map(|b| graph.blocks[*b]);
            let header = graph.blocks[found.header];
            Loop { header, parent: found.parent, location: location(latches, header) }
        };
        let loops = shape.loops.iter().map(placed);
        let innermost = shape.innermost.iter().enumerate().filter_map(|(b, l)| Some((graph.blocks[b], (*l)?)));
        let is_exit = |block: &usize| graph.predecessors[*block].iter().any(|from| shape.leaves(*from, *block));
        let exits = (0..graph.blocks.len()).filter(is_exit).map(|block| graph.blocks[block]);
        Self { loops: loops.collect(), innermost: innermost.collect(), exits: exits.collect() }
    }

    /// The innermost loop that a block is in.
    #[must_use]
    pub fn around(&self, block: Block<'m>) -> Option<u32> {
        self.innermost.get(&block).copied()
    }

    /// Loops around a block, the innermost first.
    fn chain(&self, block: Block<'m>) -> impl Iterator<Item = u32> {
        std::iter::successors(self.around(block), |number| self.loops[*number as usize].parent)
    }

    /// The innermost loop around a block in whose iterations a value is the same there: what it is computed from does
    /// not change from one to the next, as far as loops count. What lies in memory is taken to stay.
    #[must_use]
    pub fn same(&self, value: Value<'m>, block: Block<'m>) -> Option<u32> {
        self.chain(block).find(|number| !self.varies(value, *number))
    }

    /// Whether a value depends on how far a loop has come.
    fn varies(&self, value: Value<'m>, number: u32) -> bool {
        let header = self.loops[number as usize].header;
        let (mut seen, mut work) = (HashSet::new(), vec![value]);
        while let Some(at) = work.pop() {
            if !at.is_instruction() || !seen.insert(at) {
                continue;
            }
            let block = at.block();
            if !self.chain(block).any(|around| around == number) {
                continue;
            }
            match at.opcode() {
                Opcode::Phi if block == header => return true,
                Opcode::Phi => work.extend(at.incoming().into_iter().map(|(from, _)| from)),
                Opcode::Call | Opcode::Invoke => return true,
                _ => work.extend((0..at.operands()).map(|i| at.operand(i))),
            }
            if seen.len() > MOST_VALUES {
                return true;
            }
        }
        false
    }

    /// Whether an address depends on data that the innermost loop around a block loads: on a number from a place that
    /// changes with the loop, or on what it loaded an iteration before. A pointer from such a place is none of these:
    /// rows of a table of rows are as regular as the table.
    #[must_use]
    pub fn is_irregular(&self, address: Value<'m>, block: Block<'m>) -> bool {
        let Some(number) = self.around(block) else { return false };
        let header = self.loops[number as usize].header;
        let (mut seen, mut work) = (HashSet::new(), vec![(address, false)]);
        while let Some((at, is_carried)) = work.pop() {
            let is_inside = || self.chain(at.block()).any(|around| around == number);
            if !at.is_instruction() || !seen.insert((at, is_carried)) || !is_inside() {
                continue;
            }
            match at.opcode() {
                Opcode::Load if is_carried || !at.ty().is_pointer() => {
                    if self.varies(at.operand(0), number) {
                        return true;
                    }
                }
                Opcode::Phi => {
                    let is_carried = is_carried || at.block() == header;
                    work.extend(at.incoming().into_iter().map(|(from, _)| (from, is_carried)));
                }
                Opcode::Call | Opcode::Invoke => {}
                _ => work.extend((0..at.operands()).map(|i| (at.operand(i), is_carried))),
            }
            if seen.len() > MOST_VALUES {
                return true;
            }
        }
        false
    }

    /// Whether control can come to this block by leaving a loop.
    #[must_use]
    pub fn is_exit(&self, block: Block<'m>) -> bool {
        self.exits.contains(&block)
    }

    /// Whether control begins an iteration of this loop by coming to this block.
    #[must_use]
    pub fn is_header(&self, number: u32, block: Block<'m>) -> bool {
        self.loops[number as usize].header == block
    }
}

/// What the front end noted at a back edge (`llvm.loop`: clang, at every optimisation level), or where the back edge's
/// own branch is, or the first thing with a line that the header or a latch does.
fn location<'m>(latches: impl Iterator<Item = Block<'m>>, header: Block<'m>) -> Option<Metadata<'m>> {
    let latches: Vec<Block> = latches.collect();
    let ends: Vec<Value> = latches.iter().filter_map(|latch| latch.terminator()).collect();
    let has_line = |location: &Metadata<'m>| location.line() > 0;
    let noted = ends.iter().find_map(|end| end.loop_start());
    let branch = || ends.iter().filter_map(|end| end.debug_location()).find(has_line);
    let inside = || {
        let blocks = std::iter::once(header).chain(latches.iter().copied());
        blocks.flat_map(Block::instructions).filter_map(Value::debug_location).find(has_line)
    };
    noted.or_else(branch).or_else(inside)
}

/// A function as numbers; its entry is 0.
struct Graph<'m> {
    blocks: Vec<Block<'m>>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl<'m> Graph<'m> {
    fn from_function(function: Value<'m>) -> Self {
        let blocks = function.blocks();
        let number: HashMap<Block, usize> = blocks.iter().enumerate().map(|(i, b)| (*b, i)).collect();
        let edges = |b: &Block<'m>| b.successors().iter().map(|to| number[to]).collect();
        let successors: Vec<Vec<usize>> = blocks.iter().map(edges).collect();
        let predecessors = reversed(&successors);
        Self { blocks, successors, predecessors }
    }
}

fn reversed(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut back = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        targets.iter().for_each(|to| back[*to].push(from));
    }
    back
}

/// Loops of a graph of blocks.
struct Shape {
    loops: Vec<FoundLoop>,
    innermost: Vec<Option<u32>>,
    dominators: Dominators,
}

struct FoundLoop {
    header: usize,
    parent: Option<u32>,
}

impl Shape {
    /// Whether an edge leaves a loop.
    fn leaves(&self, from: usize, to: usize) -> bool {
        let Some(left) = self.innermost[from] else { return false };
        let mut around = self.innermost[to];
        while around.is_some_and(|outer| outer != left) {
            around = around.and_then(|outer| self.loops[outer as usize].parent);
        }
        around.is_none()
    }
}

/// Finds the loops of a graph whose entry is node 0.
fn find(successors: &[Vec<usize>]) -> Shape {
    let predecessors = reversed(successors);
    let dominators = Dominators::from_edges(successors, &predecessors);
    let mut loops: Vec<FoundLoop> = Vec::new();
    let mut innermost: Vec<Option<u32>> = vec![None; successors.len()];
    // Inner headers come first in this order, so that each walk steps over the loops that are already known.
    for &header in dominators.order.iter().rev() {
        let mut work: Vec<usize> =
            predecessors[header].iter().copied().filter(|b| dominators.dominates(header, *b)).collect();
        if work.is_empty() {
            continue;
        }
        let number = loops.len() as u32;
        loops.push(FoundLoop { header, parent: None });
        while let Some(block) = work.pop() {
            let Some(known) = innermost[block] else {
                innermost[block] = Some(number);
                if block != header {
                    work.extend(predecessors[block].iter().filter(|p| dominators.is_reached(**p)));
                }
                continue;
            };
            let mut outermost = known;
            while let Some(parent) = loops[outermost as usize].parent {
                outermost = parent;
            }
            if outermost != number {
                loops[outermost as usize].parent = Some(number);
                let inner_header = loops[outermost as usize].header;
                work.extend(predecessors[inner_header].iter().filter(|p| dominators.is_reached(**p)));
            }
        }
        innermost[header] = Some(number);
    }
    // Outer loops first.
    let last = loops.len() as u32;
    let renumbered = |n: u32| last - 1 - n;
    loops.reverse();
    loops.iter_mut().for_each(|found| found.parent = found.parent.map(renumbered));
    innermost.iter_mut().for_each(|l| *l = l.map(renumbered));
    Shape { loops, innermost, dominators }
}

/// Immediate dominators, after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
struct Dominators {
    /// Reached nodes in reverse postorder.
    order: Vec<usize>,
    /// Position in `order`; `None` for what the entry does not reach.
    place: Vec<Option<usize>>,
    /// By position in `order`.
    immediate: Vec<usize>,
}

impl Dominators {
    fn from_edges(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Self {
        let order = reverse_postorder(successors);
        let mut place = vec![None; successors.len()];
        order.iter().enumerate().for_each(|(at, node)| place[*node] = Some(at));
        const UNKNOWN: usize = usize::MAX;
        let mut immediate = vec![UNKNOWN; order.len()];
        if let Some(entry) = immediate.first_mut() {
            *entry = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..order.len() {
                let known =
                    predecessors[order[at]].iter().filter_map(|p| place[*p]).filter(|p| immediate[*p] != UNKNOWN);
                let new = known.reduce(|a, b| meet(&immediate, a, b)).unwrap_or(UNKNOWN);
                changed |= immediate[at] != new;
                immediate[at] = new;
            }
        }
        Self { order, place, immediate }
    }

    fn is_reached(&self, node: usize) -> bool {
        self.place[node].is_some()
    }

    /// Whether every way from the entry to `node` leads through `by`.
    fn dominates(&self, by: usize, node: usize) -> bool {
        let (Some(by), Some(mut at)) = (self.place[by], self.place[node]) else { return false };
        while at > by {
            at = self.immediate[at];
        }
        at == by
    }
}

/// The nearest node that dominates both.
fn meet(immediate: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = immediate[a];
        } else {
            b = immediate[b];
        }
    }
    a
}

fn reverse_postorder(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    // Node and the successor to look at next; recursion could be as deep as the function is long.
    let mut stack: Vec<(usize, usize)> = Vec::new();
    if !successors.is_empty() {
        seen[0] = true;
        stack.push((0, 0));
    }
    while let Some((node, next)) = stack.last_mut() {
        let Some(&to) = successors[*node].get(*next) else {
            order.push(*node);
            stack.pop();
            continue;
        };
        *next += 1;
        if !std::mem::replace(&mut seen[to], true) {
            stack.push((to, 0));
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers with the numbers of the loops around, and of each block the innermost loop.
    type Found = (Vec<(usize, Option<u32>)>, Vec<Option<u32>>);

    fn loops_of(edges: &[&[usize]]) -> Found {
        let shape = find(&edges.iter().map(|to| to.to_vec()).collect::<Vec<_>>());
        (shape.loops.iter().map(|l| (l.header, l.parent)).collect(), shape.innermost)
    }

    #[test]
    fn a_nest_of_three_with_a_sibling() {
        // 0 -> 1 (i) -> 2 (j) -> 3 (k, one block) -> 4 (j's latch) -> 5 (second loop in i) -> 6 (i's latch) -> 7
        let edges: [&[usize]; 8] = [&[1], &[2], &[3], &[3, 4], &[2, 5], &[5, 6], &[1, 7], &[]];
        let (loops, of) = loops_of(&edges);
        let number = |header| loops.iter().position(|l| l.0 == header).map(|n| n as u32);
        assert_eq!(loops.len(), 4);
        assert_eq!(loops[number(1).unwrap() as usize].1, None);
        assert_eq!(loops[number(2).unwrap() as usize].1, number(1));
        assert_eq!(loops[number(3).unwrap() as usize].1, number(2));
        assert_eq!(loops[number(5).unwrap() as usize].1, number(1));
        let expected = [None, number(1), number(2), number(3), number(2), number(5), number(1), None];
        assert_eq!(of, expected);
        let leaving = |from, to| find(&edges.iter().map(|to| to.to_vec()).collect::<Vec<_>>()).leaves(from, to);
        let edges_out: Vec<(usize, usize)> = (0..edges.len())
            .flat_map(|from| edges[from].iter().map(move |to| (from, *to)))
            .filter(|(from, to)| leaving(*from, *to))
            .collect();
        assert_eq!(edges_out, [(3, 4), (4, 5), (5, 6), (6, 7)]);
        assert!(loops.iter().enumerate().all(|(n, l)| l.1.is_none_or(|p| (p as usize) < n)), "outer loops come first");
    }

    #[test]
    fn back_edges_to_one_header_are_one_loop() {
        let (loops, of) = loops_of(&[&[1], &[2, 3], &[1], &[1, 4], &[]]);
        assert_eq!(loops, [(1, None)]);
        assert_eq!(of, [None, Some(0), Some(0), Some(0), None]);
    }

    #[test]
    fn a_cycle_with_two_entries_is_no_loop() {
        let (loops, of) = loops_of(&[&[1, 2], &[2], &[1, 3], &[]]);
        assert_eq!(loops, []);
        assert_eq!(of, [None; 4]);
    }

    #[test]
    fn code_that_is_never_reached_is_in_no_loop() {
        let (loops, of) = loops_of(&[&[1], &[1, 2], &[], &[1, 3]]);
        assert_eq!(loops, [(1, None)]);
        assert_eq!(of, [None, Some(0), None, None]);
    }

    #[test]
    fn a_loop_that_never_ends_is_one() {
        let (loops, _) = loops_of(&[&[1], &[2], &[1]]);
        assert_eq!(loops, [(1, None)]);
    }
}
