//! Puts records behind gates, in programs that can be sampled.
//!
//! Takes what a segment asks ([`Gate`]) with the words of its record, and emits a call that is inlined: it takes the
//! segment's loads and stores off the thread's time, counts the execution, looks up the points, and has the record
//! written where one of them is marked or a change is due. All that lies at fixed distances from the thread's ring
//! pointer. What is seldom done is in functions of their own, which leave general registers alone.

use std::{collections::HashMap, mem::offset_of};

use dmdprof_abi::{RING_BYTES, RingHeader, RingSample, sample, symbol};

use crate::{
    gate::{Advance, Gate, Look, Point, Span, Varying},
    llvm::ir::{Block, Builder, ModuleHandle, Type, Value},
};

/// Bytes from a ring's header to its marks and counters.
const MARKS: u64 = (RING_BYTES + offset_of!(RingSample, marks)) as u64;
const COUNTERS: u64 = (RING_BYTES + offset_of!(RingSample, counters)) as u64;
const LEFT: u64 = offset_of!(RingHeader, left) as u64;
const CONTEXTS: u64 = offset_of!(RingHeader, contexts) as u64;
const NEXT: u64 = offset_of!(RingHeader, next) as u64;
const LIMIT: u64 = offset_of!(RingHeader, limit) as u64;
const _: () = assert!(offset_of!(RingHeader, cursor) == 0);

/// A record: its words without descriptor and time, and whether the last of them comes behind the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    words: usize,
    cookie: bool,
}

/// How much is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LookForm {
    Always,
    Points(usize),
    Spans(usize),
}

impl LookForm {
    fn from_look(look: &Look) -> Self {
        match look {
            Look::Always => Self::Always,
            Look::Points(points) => Self::Points(points.len()),
            Look::Spans(spans) => Self::Spans(spans.len()),
        }
    }

    /// Parameters of a gate that say what is looked up.
    fn parameters(self) -> usize {
        match self {
            Self::Always => 0,
            Self::Points(points) => points,
            // The first and the last iteration's place, and bytes.
            Self::Spans(spans) => 3 * spans,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Always => "always".into(),
            Self::Points(points) => points.to_string(),
            Self::Spans(spans) => format!("spans_{spans}"),
        }
    }
}

/// Lines of a stream that are looked up one by one; longer ones have a record in any case.
const MOST_LINES: u64 = 128;

/// The sort of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    shape: Shape,
    look: LookForm,
    /// It takes time.
    timed: bool,
    /// It is written down if calling contexts are wanted.
    is_border: bool,
}

/// A record that is due.
pub struct Due<'a, 'm> {
    pub descriptor: Value<'m>,
    /// Without descriptor and time.
    pub words: &'a [Value<'m>],
    /// The last word is a cookie.
    pub cookie: bool,
    /// Number of the segment's counter in the object.
    pub counter: u64,
    /// Of a loop: how many iterations it had.
    pub iterations: Option<Value<'m>>,
}

/// What gates of one module share.
pub struct Gated<'m> {
    module: ModuleHandle<'m>,
    ring: Value<'m>,
    /// Where the object's counters begin.
    pub counters: Value<'m>,
    gates: HashMap<Form, (Type<'m>, Value<'m>)>,
    notes: HashMap<Shape, (Type<'m>, Value<'m>)>,
    /// What looks up all lines of a stream.
    span: Option<(Type<'m>, Value<'m>)>,
}

impl<'m> Gated<'m> {
    #[must_use]
    pub fn new(module: ModuleHandle<'m>) -> Self {
        Self {
            module,
            ring: module.thread_local_pointer(symbol::RING),
            counters: module.variable("__dmdprof_counters"),
            gates: HashMap::new(),
            notes: HashMap::new(),
            span: None,
        }
    }

    fn constant(&self, number: u64) -> Value<'m> {
        self.module.constant(64, number)
    }

    /// Emits the gate of a record where the builder is.
    pub fn record(&mut self, builder: &Builder<'m>, gate: &Gate, due: &Due<'_, 'm>) {
        let once = self.constant(1);
        let executions = due.iterations.unwrap_or(once);
        let mut accesses = self.constant(gate.accesses);
        for varying in &gate.varying {
            accesses = builder.add(accesses, self.varying(builder, varying, due.words));
        }
        if let Some(iterations) = due.iterations {
            accesses = builder.multiply(accesses, iterations);
        }
        let form = Form {
            shape: Shape { words: due.words.len(), cookie: due.cookie },
            look: LookForm::from_look(&gate.look),
            timed: gate.accesses > 0 || !gate.varying.is_empty(),
            is_border: gate.is_border && gate.look != Look::Always,
        };
        let (ty, function) = self.gate(form);
        let counter = self.constant(COUNTERS + 8 * due.counter);
        let mut arguments = vec![due.descriptor, accesses, counter, executions];
        match &gate.look {
            Look::Always => {}
            Look::Points(points) => arguments.extend(points.iter().map(|Point { word, offset }| {
                builder.add(due.words[usize::from(*word) - 1], self.constant(*offset as u64))
            })),
            Look::Spans(spans) => spans.iter().for_each(|span| {
                arguments.extend(self.span_of(builder, span, due.words, executions));
            }),
        }
        arguments.extend(due.words);
        let _ = builder.call(ty, function, &arguments);
    }

    /// Where a stream was in the first and the last iteration, and its bytes in each.
    fn span_of(
        &self,
        builder: &Builder<'m>,
        span: &Span,
        words: &[Value<'m>],
        iterations: Value<'m>,
    ) -> [Value<'m>; 3] {
        let word = |number: u16| words[usize::from(number) - 1];
        let advance = match span.advance {
            Advance::Bytes(bytes) => self.constant(bytes as u64),
            Advance::Word(number) => word(number),
        };
        let end = builder.add(word(span.word), self.constant(span.offset as u64));
        let first = builder.subtract(end, builder.multiply(advance, iterations));
        [first, builder.subtract(end, advance), self.constant(span.bytes)]
    }

    /// The loads and stores of an item that depend on the record.
    fn varying(&self, builder: &Builder<'m>, varying: &Varying, words: &[Value<'m>]) -> Value<'m> {
        let word = |number: u16| words[usize::from(number) - 1];
        let lanes_of = |mask: u16, lanes: u16| {
            let all = if lanes >= 64 { u64::MAX } else { (1 << lanes) - 1 };
            builder.and(word(mask), self.constant(all))
        };
        match *varying {
            Varying::Lanes { mask, lanes } => self.ones(builder, lanes_of(mask, lanes)),
            Varying::Runs { mask, lanes } => {
                // A run begins at a lane whose neighbour below is not active.
                let lanes = lanes_of(mask, lanes);
                let above = builder.shift_left(lanes, self.constant(1));
                let within = builder.and(lanes, above);
                builder.subtract(self.ones(builder, lanes), self.ones(builder, within))
            }
            Varying::Any { mask, lanes } => {
                let none = builder.bit_word(builder.equal(lanes_of(mask, lanes), self.constant(0)));
                builder.subtract(self.constant(1), none)
            }
            Varying::Blocks { bytes, times } => {
                let shift = self.constant(u64::from(sample::LINE.trailing_zeros()));
                let rounded = builder.add(word(bytes), self.constant(sample::LINE - 1));
                builder.multiply(builder.shift_right(rounded, shift), self.constant(times))
            }
        }
    }

    fn ones(&self, builder: &Builder<'m>, word: Value<'m>) -> Value<'m> {
        let i64_type = self.module.int_type(64);
        let ty = self.module.function_type(i64_type, &[i64_type]);
        builder.call(ty, self.module.declare("llvm.ctpop.i64", ty), &[word])
    }

    fn gate(&mut self, form: Form) -> (Type<'m>, Value<'m>) {
        if let Some(&known) = self.gates.get(&form) {
            return known;
        }
        let note = self.note(form.shape);
        if matches!(form.look, LookForm::Spans(_)) && self.span.is_none() {
            self.span = Some(self.make_span());
        }
        let made = self.make_gate(form, note);
        self.gates.insert(form, made);
        made
    }

    fn make_gate(&self, form: Form, (note_type, note): (Type<'m>, Value<'m>)) -> (Type<'m>, Value<'m>) {
        let m = self.module;
        let (i64_type, pointer) = (m.int_type(64), m.pointer_type());
        let looked_up = form.look.parameters();
        let mut parameters = vec![pointer];
        parameters.extend(std::iter::repeat_n(i64_type, 3 + looked_up + form.shape.words));
        let ty = m.function_type(m.void_type(), &parameters);
        let name = form.look.name();
        let suffix = if form.timed { "" } else { "_timeless" };
        let cookie = if form.shape.cookie { "_cookie" } else { "" };
        let border = if form.is_border { "_border" } else { "" };
        let function =
            m.add_function(&format!("__dmdprof_gate_{name}_{}{cookie}{border}{suffix}", form.shape.words), ty);
        function.set_internal();
        m.attribute(function, "alwaysinline");
        m.attribute(function, "nounwind");
        let values = function.parameters();
        let [descriptor, accesses, counter, executions] = values[..4] else { unreachable!("there are four") };
        let (looked_up, words) = values[4..].split_at(looked_up);
        let block = |name| m.append_block(function, name);
        let (entry, late, late_count, on_time) = (block("entry"), block("late"), block("late_count"), block("on_time"));
        let (record, done) = (block("record"), block("done"));
        let builder = m.builder();

        builder.at_end(entry);
        let ring = builder.load(pointer, self.ring);
        let left_pointer = builder.offset(ring, LEFT);
        let mut left = builder.load(i64_type, left_pointer);
        if form.timed {
            left = builder.subtract(left, accesses);
            builder.store(left, left_pointer);
        }
        builder.branch_if(builder.is_negative(left), late, on_time);

        builder.at_end(late);
        let ready_type = m.function_type(pointer, &[i64_type]);
        let ready = self.cold(symbol::SAMPLE_READY, ready_type);
        let now = builder.call_preserving_most(ready_type, ready, &[accesses]);
        builder.branch_if(builder.equal(builder.word(now), self.constant(0)), done, late_count);
        builder.at_end(late_count);
        self.count(&builder, now, counter, executions);
        builder.branch(record);

        builder.at_end(on_time);
        self.count(&builder, ring, counter, executions);
        if form.is_border {
            let wanted = builder.load(i64_type, builder.offset(ring, CONTEXTS));
            let next = self.module.append_block(function, "next");
            builder.branch_if(builder.equal(wanted, self.constant(0)), next, record);
            builder.at_end(next);
        }
        self.look_up(&builder, function, (ring, form.look), looked_up, (record, done));

        builder.at_end(record);
        let mut arguments = vec![descriptor, accesses];
        arguments.extend(words);
        let _ = builder.call_preserving_most(note_type, note, &arguments);
        builder.branch(done);
        builder.at_end(done);
        builder.return_void();
        (ty, function)
    }

    /// Goes to the record if something that is looked up is marked.
    fn look_up(
        &self,
        builder: &Builder<'m>,
        function: Value<'m>,
        (ring, look): (Value<'m>, LookForm),
        looked_up: &[Value<'m>],
        (record, done): (Block<'m>, Block<'m>),
    ) {
        let each = match look {
            LookForm::Always => return builder.branch(record),
            LookForm::Points(_) => 1,
            LookForm::Spans(_) => 3,
        };
        for part in looked_up.chunks(each) {
            let mark = match (part, self.span) {
                (&[point], _) => self.mark(builder, ring, self.line(builder, point)),
                (&[first, last, bytes], Some((ty, span))) => {
                    builder.call_preserving_most(ty, span, &[ring, first, last, bytes])
                }
                _ => unreachable!("what looks up a span was made with the first gate that has one"),
            };
            let next = self.module.append_block(function, "next");
            builder.branch_if(builder.equal(mark, self.module.constant(8, 0)), next, record);
            builder.at_end(next);
        }
        builder.branch(done);
    }

    /// The line of an address.
    fn line(&self, builder: &Builder<'m>, address: Value<'m>) -> Value<'m> {
        builder.shift_right(address, self.constant(u64::from(sample::LINE.trailing_zeros())))
    }

    /// The mark of a line.
    fn mark(&self, builder: &Builder<'m>, ring: Value<'m>, line: Value<'m>) -> Value<'m> {
        let hash = builder.multiply(line, self.constant(sample::HASH));
        let bucket = builder.shift_right(hash, self.constant(u64::from(sample::BUCKET_SHIFT)));
        builder.load(self.module.int_type(8), builder.offset(builder.offset_by(ring, bucket), MARKS))
    }

    /// `i8 span(ptr ring, i64 first, i64 last, i64 bytes)`: whether a line of a stream is marked that has so many bytes
    /// at its first and its last place, or it has too many lines.
    fn make_span(&self) -> (Type<'m>, Value<'m>) {
        let m = self.module;
        let (i64_type, byte, pointer) = (m.int_type(64), m.int_type(8), m.pointer_type());
        let ty = m.function_type(byte, &[pointer, i64_type, i64_type, i64_type]);
        let function = m.add_function("__dmdprof_span", ty);
        function.set_internal();
        function.preserve_most();
        for attribute in ["noinline", "nounwind"] {
            m.attribute(function, attribute);
        }
        let [ring, first, last, bytes] = function.parameters()[..] else { unreachable!("there are four") };
        let block = |name| m.append_block(function, name);
        let (entry, down, up, start, each, further, yes, no) = (
            block("entry"),
            block("down"),
            block("up"),
            block("start"),
            block("each"),
            block("further"),
            block("yes"),
            block("no"),
        );
        let builder = m.builder();
        builder.at_end(entry);
        builder.branch_if(builder.greater(first, last), down, up);
        builder.at_end(down);
        builder.branch(start);
        builder.at_end(up);
        builder.branch(start);
        builder.at_end(start);
        let low = builder.phi(i64_type, &[(last, down), (first, up)]);
        let high = builder.phi(i64_type, &[(first, down), (last, up)]);
        let end = builder.add(high, builder.subtract(bytes, self.constant(1)));
        let (low, high) = (self.line(&builder, low), self.line(&builder, end));
        let lines = builder.subtract(high, low);
        builder.branch_if(builder.greater(lines, self.constant(MOST_LINES)), yes, each);
        builder.at_end(each);
        let line = builder.phi(i64_type, &[(low, start)]);
        let mark = self.mark(&builder, ring, line);
        builder.branch_if(builder.equal(mark, m.constant(8, 0)), further, yes);
        builder.at_end(further);
        let next = builder.add(line, self.constant(1));
        builder.add_incoming(line, next, further);
        builder.branch_if(builder.greater(next, high), no, each);
        builder.at_end(yes);
        builder.return_value(m.constant(8, 1));
        builder.at_end(no);
        builder.return_value(m.constant(8, 0));
        (ty, function)
    }

    fn count(&self, builder: &Builder<'m>, ring: Value<'m>, counter: Value<'m>, executions: Value<'m>) {
        let i64_type = self.module.int_type(64);
        let first = builder.load(i64_type, self.counters);
        let place = builder.offset_by(builder.offset_by(ring, first), counter);
        let sum = builder.add(builder.load(i64_type, place), executions);
        builder.store(sum, place);
    }

    /// A function of the hooks that is seldom called.
    fn cold(&self, name: &str, ty: Type<'m>) -> Value<'m> {
        let function = self.module.declare(name, ty);
        function.preserve_most();
        for attribute in ["cold", "nounwind", "nonlazybind"] {
            self.module.attribute(function, attribute);
        }
        function
    }

    fn note(&mut self, shape: Shape) -> (Type<'m>, Value<'m>) {
        if let Some(&known) = self.notes.get(&shape) {
            return known;
        }
        let made = self.make_note(shape);
        self.notes.insert(shape, made);
        made
    }

    /// `void note(ptr descriptor, i64 accesses, i64 words...)`: writes the record, whose accesses are off the time
    /// already.
    fn make_note(&self, shape: Shape) -> (Type<'m>, Value<'m>) {
        let m = self.module;
        let (i64_type, pointer) = (m.int_type(64), m.pointer_type());
        let mut parameters = vec![pointer];
        parameters.extend(std::iter::repeat_n(i64_type, 1 + shape.words));
        let ty = m.function_type(m.void_type(), &parameters);
        let cookie = if shape.cookie { "_cookie" } else { "" };
        let function = m.add_function(&format!("__dmdprof_note_{}{cookie}", shape.words), ty);
        function.set_internal();
        function.preserve_most();
        for attribute in ["noinline", "cold", "nounwind"] {
            m.attribute(function, attribute);
        }
        let bytes = (shape.words as u64 + 2) * 8;
        let values = function.parameters();
        let block = |name| m.append_block(function, name);
        let (entry, full, append, tick, done) =
            (block("check"), block("full"), block("append"), block("tick"), block("done"));
        let builder = m.builder();

        builder.at_end(entry);
        let ring = builder.load(pointer, self.ring);
        let cursor = builder.load(pointer, ring);
        let limit = builder.load(pointer, builder.offset(ring, LIMIT));
        builder.branch_if(builder.greater(builder.offset(cursor, bytes), limit), full, append);

        builder.at_end(full);
        let reserve_type = m.function_type(pointer, &[i64_type]);
        let reserve = self.cold(symbol::RESERVE, reserve_type);
        let new_cursor = builder.call_preserving_most(reserve_type, reserve, &[self.constant(bytes)]);
        let new_ring = builder.load(pointer, self.ring);
        builder.branch(append);

        builder.at_end(append);
        let ring = builder.phi(pointer, &[(ring, entry), (new_ring, full)]);
        let cursor = builder.phi(pointer, &[(cursor, entry), (new_cursor, full)]);
        let left = builder.load(i64_type, builder.offset(ring, LEFT));
        let next = builder.load(i64_type, builder.offset(ring, NEXT));
        let time = builder.subtract(builder.subtract(next, left), values[1]);
        let mut words = vec![values[0]];
        words.extend(&values[2..]);
        let at = words.len() - usize::from(shape.cookie);
        words.insert(at, time);
        for (index, word) in words.into_iter().enumerate() {
            builder.store(word, builder.offset(cursor, index as u64 * 8));
        }
        builder.store_release(builder.offset(cursor, bytes), ring);
        builder.branch_if(builder.is_negative(left), tick, done);

        builder.at_end(tick);
        let tick_type = m.function_type(m.void_type(), &[]);
        let _ = builder.call_preserving_most(tick_type, self.cold(symbol::SAMPLE_TICK, tick_type), &[]);
        builder.branch(done);
        builder.at_end(done);
        builder.return_void();
        (ty, function)
    }
}
