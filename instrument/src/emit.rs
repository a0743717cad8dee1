//! Puts the planned hooks into a function.
//!
//! A record is appended by a small internal function per number of words. For [`Append::InPlace`] it is marked
//! `alwaysinline`, because LLVM's C interface cannot split blocks: the space check's branch comes with the inlined
//! body, and the caller runs the `always-inline` pass. For [`Append::ByCall`] it is called, in a way that leaves
//! general registers alone.

use std::collections::HashMap;

use dmdprof_abi::symbol;

use crate::{
    address::gep_parts,
    affine::{Counter, SelfLoop, Step},
    calls::Operand,
    function_plan::{Anchor, CallHook, FunctionPlan, PlannedLoop, Segment, Word},
    gate::Gate,
    gated::{Due, Gated},
    llvm::ir::{Block, Builder, Edge, Layout, ModuleHandle, Opcode, Type, Value},
    request::Append,
};

/// Declarations and helpers that the hooks of one module share.
pub struct Emitter<'m> {
    module: ModuleHandle<'m>,
    builder: Builder<'m>,
    layout: Layout<'m>,
    append: Append,
    appenders: HashMap<(usize, Append), (Type<'m>, Value<'m>)>,
    /// Of a program that can be sampled.
    gated: Option<Gated<'m>>,
}

/// What the counters of an object are known by.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub name: u64,
    /// So many segments have a counter.
    pub counters: u64,
}

/// A call hands over six arguments in registers, the first of which is the descriptor.
const WORDS_IN_REGISTERS: usize = 5;

impl<'m> Emitter<'m> {
    #[must_use]
    pub fn new(module: ModuleHandle<'m>, layout: Layout<'m>, append: Append, sampled: bool) -> Self {
        let gated = sampled.then(|| Gated::new(module));
        Self { module, builder: module.builder(), layout, append, appenders: HashMap::new(), gated }
    }

    /// Emits the hooks of one function, whose descriptors are in `blob` at `offsets`, and whose counters, if there are
    /// some, begin with a number.
    pub fn function(&mut self, plan: &FunctionPlan<'m>, blob: Value<'m>, offsets: &[u64], first_counter: u64) {
        // What is emitted before the same instruction stays in the order of emission, so that order is the order of
        // events: news of the previous call first, then the record of the segment, then the next call's hook.
        for &landing in &plan.landings {
            self.landed(landing);
        }
        let (after, before): (Vec<_>, Vec<_>) =
            plan.call_hooks.iter().partition(|hook| matches!(hook.anchor, Anchor::After(_)));
        for hook in after {
            self.call_hook(hook, self.module.address_in(blob, offsets[hook.segment]));
        }
        // Where a loop ends, its record comes before that of what follows, wherever the two blocks stand.
        let is_loop = |((segment, _), _): &((&Segment, &u64), u64)| segment.looped.is_some();
        let (loops, blocks): (Vec<_>, Vec<_>) =
            plan.segments.iter().zip(offsets).zip(first_counter..).partition(is_loop);
        for ((segment, &offset), counter) in loops.into_iter().chain(blocks) {
            if let Some(before) = segment.before {
                let descriptor = self.module.address_in(blob, offset);
                self.record(segment, before, descriptor, counter);
            }
        }
        for hook in before {
            self.call_hook(hook, self.module.address_in(blob, offsets[hook.segment]));
        }
    }

    fn record(&mut self, segment: &Segment<'m>, before: Value<'m>, descriptor: Value<'m>, counter: u64) {
        let own_counter = match &segment.looped {
            Some(PlannedLoop { looped, counter: Counter::Own, .. }) => Some(self.add_counter(*looped)),
            _ => None,
        };
        self.builder.before(before);
        // Records belong to no source line: a debugger steps over them, and inlining them needs no call location.
        let mut words = Vec::with_capacity(segment.words.len() + 1);
        for word in &segment.words {
            let value = match *word {
                Word::Value(value) => self.builder.word(value),
                Word::Lane(places, lane) => places.word(lane, &self.builder, self.module),
                Word::LaneIf(places, mask, lane) => places.word_if(mask, lane, &self.builder, self.module),
                Word::Mask(mask) => mask.word(&self.builder),
                Word::Cookie => self.cookie(),
                Word::Predecessor(block) => self.predecessor(block, before),
                Word::Count => own_counter.unwrap_or_else(|| self.distance(planned_loop(segment))),
                Word::Next(address) => self.next(planned_loop(segment).looped, address),
                Word::Step(number) => self.step(&planned_loop(segment).steps[usize::from(number)]),
                // Whoever writes the record knows it.
                Word::Clock => continue,
            };
            words.push(value);
        }
        let Some(gated) = &mut self.gated else { return self.append(descriptor, &words) };
        let due = Due {
            descriptor,
            words: &words,
            cookie: segment.words.last() == Some(&Word::Cookie),
            counter,
            iterations: segment.looped.as_ref().map(|_| words[0]),
        };
        gated.record(&self.builder, &Gate::for_segment(segment), &due);
    }

    /// Emits a record where the builder is.
    fn append(&mut self, descriptor: Value<'m>, words: &[Value<'m>]) {
        let append = if words.len() > WORDS_IN_REGISTERS { Append::InPlace } else { self.append };
        let (ty, appender) = self.appender(words.len(), append);
        let mut arguments = vec![descriptor];
        arguments.extend(words);
        match append {
            Append::InPlace => self.builder.call(ty, appender, &arguments),
            Append::ByCall => self.builder.call_preserving_most(ty, appender, &arguments),
        };
    }

    /// Counts the iterations of a loop; gives their number, for use behind the loop.
    fn add_counter(&self, looped: SelfLoop<'m>) -> Value<'m> {
        let (i64_type, zero) = (self.module.int_type(64), self.module.constant(64, 0));
        let outside = looped.block.predecessor_blocks().into_iter().filter(|from| *from != looped.block);
        let outside: Vec<(Value, Block)> = outside.map(|from| (zero, from)).collect();
        self.builder.at_start(looped.block);
        let counter = self.builder.phi(i64_type, &outside);
        self.builder.before(looped.block.terminator().expect("every block ends in a terminator"));
        let next = self.builder.add(counter, self.module.constant(64, 1));
        self.builder.add_incoming(counter, next, looped.block);
        next
    }

    /// The number of iterations, from how far a counter of the loop has come.
    fn distance(&self, planned: &PlannedLoop<'m>) -> Value<'m> {
        let Counter::Distance { phi, start, step } = planned.counter else { unreachable!("the loop has no counter") };
        let next = planned.looped.next(phi).expect("a loop's phi has a next value");
        let (end, start) = (self.builder.word(next), self.builder.word(start));
        let far = if step > 0 { self.builder.subtract(end, start) } else { self.builder.subtract(start, end) };
        self.builder.divide_unsigned(far, self.module.constant(64, step.unsigned_abs()))
    }

    /// What a value of a loop would be in the iteration after the last.
    fn next(&self, looped: SelfLoop<'m>, value: Value<'m>) -> Value<'m> {
        if !value.is_instruction() || value.block() != looped.block {
            return self.builder.word(value);
        }
        let again = |operand: u32| self.next(looped, value.operand(operand));
        let constant = |number: i64| self.module.constant(64, number as u64);
        match value.opcode() {
            Opcode::Phi => self.builder.word(looped.next(value).expect("a loop's phi has a next value")),
            // An `or` that is a sum in the loop need not be one behind it.
            Opcode::Add | Opcode::Or => self.builder.add(again(0), again(1)),
            Opcode::Sub => self.builder.subtract(again(0), again(1)),
            Opcode::Mul => self.builder.multiply(again(0), again(1)),
            Opcode::Shl => self.builder.shift_left(again(0), again(1)),
            Opcode::GetElementPtr => {
                let (terms, offset) = gep_parts(self.layout, value).expect("steps were found");
                let mut sum = again(0);
                for (index, scale) in terms {
                    let index = self.next(looped, index);
                    sum = self.builder.add(sum, self.builder.multiply(index, constant(scale)));
                }
                self.builder.add(sum, constant(offset))
            }
            _ => again(0),
        }
    }

    fn step(&self, step: &Step<'m>) -> Value<'m> {
        let constant = |number: i64| self.module.constant(64, number as u64);
        let mut sum = constant(step.constant);
        for &(value, factor) in &step.terms {
            sum = self.builder.add(sum, self.builder.multiply(value, constant(factor)));
        }
        sum
    }

    /// The frame address of the running function: the same whenever control is in this activation, however it got
    /// there.
    fn cookie(&self) -> Value<'m> {
        let ty = self.module.function_type(self.module.pointer_type(), &[self.module.int_type(32)]);
        let frame_address = self.module.declare("llvm.frameaddress.p0", ty);
        let pointer = self.builder.call(ty, frame_address, &[self.module.constant(32, 0)]);
        self.builder.word(pointer)
    }

    /// Which of the edges that the block's first phi lists was taken. `back_to` is where emission goes on.
    fn predecessor(&self, block: Block<'m>, back_to: Value<'m>) -> Value<'m> {
        let first = block.instructions().first().copied().expect("every block ends in a terminator");
        let mut edges: Vec<(Value, Block)> = Vec::new();
        for (number, (_, from)) in first.incoming().into_iter().enumerate() {
            // Several edges from one block must agree.
            let known = edges.iter().find(|(_, block)| *block == from).map(|(number, _)| *number);
            edges.push((known.unwrap_or_else(|| self.module.constant(64, number as u64)), from));
        }
        self.builder.before(first);
        let number = self.builder.phi(self.module.int_type(64), &edges);
        self.builder.before(back_to);
        number
    }

    /// Positions after a call: at the next instruction, or at the head of an invoke's normal destination.
    fn position_after(&self, call: Value<'m>) {
        let block = if call.opcode() == Opcode::Invoke { call.normal_destination() } else { call.block() };
        let instructions = block.instructions();
        let next = if call.opcode() == Opcode::Invoke {
            instructions.into_iter().find(|i| i.opcode() != Opcode::Phi)
        } else {
            let here = instructions.iter().position(|i| *i == call).expect("a call is in its own block");
            instructions.get(here + 1).copied()
        };
        self.builder.before(next.expect("every block ends in a terminator"));
        self.builder.debug_location(call.debug_location());
    }

    fn landed(&self, call: Value<'m>) {
        self.position_after(call);
        let ty = self.module.function_type(self.module.void_type(), &[]);
        let hook = self.module.declare(symbol::LANDED, ty);
        self.builder.call(ty, hook, &[]);
    }

    fn call_hook(&self, hook: &CallHook<'m>, site: Value<'m>) {
        let i64_type = self.module.int_type(64);
        let ty = self.module.function_type(
            self.module.void_type(),
            &[self.module.pointer_type(), i64_type, i64_type, i64_type, i64_type, i64_type],
        );
        let target = self.module.declare(symbol::CALL, ty);
        match hook.anchor {
            Anchor::Before(call) => self.builder.before(call),
            Anchor::After(call) => self.position_after(call),
        }
        let mut arguments = vec![site, self.module.constant(64, hook.call as u64)];
        for operand in hook.operands {
            arguments.push(match *operand {
                Operand::Argument(i) => self.builder.word(hook.instruction.operand(u32::from(i))),
                Operand::Signed(i) => self.builder.signed_word(hook.instruction.operand(u32::from(i))),
                Operand::Result => self.builder.word(hook.instruction),
                Operand::SignedResult => self.builder.signed_word(hook.instruction),
                Operand::Constant(number) => self.module.constant(64, number),
            });
        }
        arguments.resize(6, self.module.constant(64, 0));
        self.builder.call(ty, target, &arguments);
    }

    /// `void append(ptr descriptor, i64 words...)`: one space check, the stores, then the cursor with release order.
    fn appender(&mut self, words: usize, append: Append) -> (Type<'m>, Value<'m>) {
        if let Some(&known) = self.appenders.get(&(words, append)) {
            return known;
        }
        let made = self.make_appender(words, append);
        self.appenders.insert((words, append), made);
        made
    }

    fn make_appender(&self, words: usize, append: Append) -> (Type<'m>, Value<'m>) {
        let m = self.module;
        let mut parameters = vec![m.pointer_type()];
        parameters.extend(std::iter::repeat_n(m.int_type(64), words));
        let ty = m.function_type(m.void_type(), &parameters);
        let name = match append {
            Append::InPlace => "append",
            Append::ByCall => "call_append",
        };
        let function = m.add_function(&format!("__dmdprof_{name}_{words}"), ty);
        function.set_internal();
        match append {
            Append::InPlace => m.attribute(function, "alwaysinline"),
            Append::ByCall => {
                m.attribute(function, "noinline");
                function.preserve_most();
            }
        }
        m.attribute(function, "nounwind");
        let ring_variable = m.thread_local_pointer(symbol::RING);
        let bytes = (words as u64 + 1) * 8;

        let builder = m.builder();
        let entry = m.append_block(function, "check");
        let slow = m.append_block(function, "full");
        let fast = m.append_block(function, "append");

        builder.at_end(entry);
        let ring = builder.load(m.pointer_type(), ring_variable);
        let cursor = builder.load(m.pointer_type(), ring);
        let limit = builder.load(m.pointer_type(), builder.offset(ring, 8));
        let end = builder.offset(cursor, bytes);
        builder.branch_if(builder.greater(end, limit), slow, fast);

        builder.at_end(slow);
        let reserve_type = m.function_type(m.pointer_type(), &[m.int_type(64)]);
        let reserve = m.declare(symbol::RESERVE, reserve_type);
        reserve.preserve_most();
        for attribute in ["cold", "nounwind", "nonlazybind"] {
            m.attribute(reserve, attribute);
        }
        let new_cursor = builder.call_preserving_most(reserve_type, reserve, &[m.constant(64, bytes)]);
        let new_ring = builder.load(m.pointer_type(), ring_variable);
        builder.branch(fast);

        builder.at_end(fast);
        let ring = builder.phi(m.pointer_type(), &[(ring, entry), (new_ring, slow)]);
        let cursor = builder.phi(m.pointer_type(), &[(cursor, entry), (new_cursor, slow)]);
        for (index, word) in function.parameters().into_iter().enumerate() {
            builder.store(word, builder.offset(cursor, index as u64 * 8));
        }
        builder.store_release(builder.offset(cursor, bytes), ring);
        builder.return_void();
        (ty, function)
    }

    /// A constructor that tells the hooks about this module before any other code of it runs.
    pub fn constructor(&self, unit: Unit) -> Vec<Value<'m>> {
        let m = self.module;
        let ty = m.function_type(m.void_type(), &[]);
        let constructor = m.add_function("__dmdprof_module_loaded", ty);
        constructor.set_internal();
        let entry = m.append_block(constructor, "entry");
        let builder = m.builder();
        builder.at_end(entry);
        let hook_type = m.function_type(m.void_type(), &[m.pointer_type()]);
        let hook = m.declare(symbol::MODULE, hook_type);
        builder.call(hook_type, hook, &[constructor]);
        if let Some(gated) = &self.gated {
            let i64_type = m.int_type(64);
            let hook_type = m.function_type(m.void_type(), &[i64_type, i64_type, m.pointer_type()]);
            let hook = m.declare(symbol::SAMPLE_UNIT, hook_type);
            let arguments = [m.constant(64, unit.name), m.constant(64, unit.counters), gated.counters];
            builder.call(hook_type, hook, &arguments);
        }
        builder.return_void();
        vec![m.pointer_in_section("__dmdprof_constructor", constructor, ".init_array.00000")]
    }
}

fn planned_loop<'s, 'm>(segment: &'s Segment<'m>) -> &'s PlannedLoop<'m> {
    segment.looped.as_ref().expect("only loop segments have such words")
}

/// The edges by which control leaves loops of one block, unless nothing else leads to the same place. What is emitted
/// on such an edge runs when the loop ends and only then.
pub fn loop_exits<'m>(function: Value<'m>, wanted: impl Fn(Block<'m>) -> bool) -> Vec<Edge<'m>> {
    let loops = function.blocks().into_iter().filter_map(SelfLoop::from_block);
    let exits = loops.filter(|looped| looped.exit.predecessors() > 1 && wanted(looped.block));
    exits.map(|looped| (looped.block, looped.exit)).collect()
}

/// The edges by which invokes return whose hook must run after them, unless nothing else leads to the same place.
pub fn normal_edges<'m>(function: Value<'m>, needs_own: impl Fn(Value<'m>) -> bool) -> Vec<Edge<'m>> {
    let edge = |block: Block<'m>| {
        let invoke = block.terminator().filter(|t| t.opcode() == Opcode::Invoke)?;
        let destination = invoke.normal_destination();
        (needs_own(invoke) && destination.predecessors() > 1).then_some((block, destination))
    };
    function.blocks().into_iter().filter_map(edge).collect()
}
