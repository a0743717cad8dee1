//! The sweep and the walk against the definition: a list of values, and the whole future looked up at every step.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::tests::random::cases;

use super::{
    labels::FIRST_VALUE,
    log::Log,
    options::InputPlaces,
    price::{self, PriceSink, Values},
    recorder::Recorder,
    stack::ValueStack,
};
use crate::{hash::FastHash, pricing::run_cost, steps::ValueOp};

/// One event of a random region. Operands are picked from the values that exist by then.
#[derive(Clone, Debug)]
enum Step {
    Input { lazy: bool, size: u8, declaration: u32, address: u64 },
    Instruction { picks: Vec<u16>, sizes: Vec<u8> },
    Escape { pick: u16 },
    Keep { picks: Vec<u16> },
}

fn size() -> impl Strategy<Value = u8> {
    prop_oneof![Just(1), Just(2), Just(4), Just(8), Just(16), Just(32)]
}

fn step() -> impl Strategy<Value = Step> {
    let picks = |max| proptest::collection::vec(any::<u16>(), 1..max);
    prop_oneof![
        2 => (any::<bool>(), size(), 0u32..3, 0u64..1000)
            .prop_map(|(lazy, size, declaration, address)| Step::Input { lazy, size, declaration, address }),
        6 => (picks(4), proptest::collection::vec(size(), 1..3))
            .prop_map(|(picks, sizes)| Step::Instruction { picks, sizes }),
        1 => any::<u16>().prop_map(|pick| Step::Escape { pick }),
        1 => picks(3).prop_map(|picks| Step::Keep { picks }),
    ]
}

/// An event with its operands resolved.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Reads { operands: Vec<u32>, results: Vec<u32> },
    Keep(Vec<u32>),
}

/// What happened on the way.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    reads: Vec<(u32, u64, u64)>,
    pushes: Vec<u32>,
    peak: u64,
}

impl PriceSink for Trace {
    fn push(&mut self, value: u32, _stack: &ValueStack) {
        self.pushes.push(value);
    }
    fn read(&mut self, _cell: u32, value: u32, above: u64, size: u64) {
        self.reads.push((value, above, size));
    }
    fn done(&mut self, _cell: u32, _op: u8, _reads: &[(u32, u64)], _stack: &ValueStack) {}
}

struct Region {
    recorder: Recorder,
    events: Vec<Event>,
    sizes: Vec<u64>,
}

fn recorded(steps: &[Step], log_memory: usize) -> Region {
    let mut region = Region { recorder: Recorder::new(Some(log_memory)), events: Vec::new(), sizes: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        let Region { recorder, events, sizes } = &mut region;
        let count = sizes.len();
        let pick = |p: u16| u32::from(p) % count as u32;
        if count == 0 && !matches!(step, Step::Input { .. }) {
            continue;
        }
        match step {
            Step::Input { lazy: is_lazy, size, declaration, address } => {
                // Addresses within a declaration differ.
                let address = address * 10_000 + number as u64;
                recorder.input(*declaration, address, *size, *is_lazy).expect("room");
                sizes.push(u64::from(*size));
            }
            Step::Instruction { picks, sizes: results } => {
                let operands: Vec<u32> = picks.iter().map(|p| pick(*p)).collect();
                let numbers: Vec<u32> = operands.iter().map(|v| v + FIRST_VALUE).collect();
                recorder.instruction(0, ValueOp::Add, &numbers, results).expect("room");
                let results: Vec<u32> = results
                    .iter()
                    .map(|s| {
                        sizes.push(u64::from(*s));
                        sizes.len() as u32 - 1
                    })
                    .collect();
                events.push(Event::Reads { operands, results });
            }
            Step::Escape { pick: p } => {
                recorder.escape(0, pick(*p) + FIRST_VALUE);
                events.push(Event::Reads { operands: vec![pick(*p)], results: Vec::new() });
            }
            Step::Keep { picks } => {
                let kept: Vec<u32> = picks.iter().map(|p| pick(*p)).collect();
                let numbers: Vec<u32> = kept.iter().map(|v| v + FIRST_VALUE).collect();
                numbers.iter().for_each(|value| _ = recorder.output(*value, 0));
                events.push(Event::Keep(kept));
            }
        }
    }
    region
}

/// Bytes nearer than each input, by its value, where each has a place of its own: here as if nothing lay between them.
fn places(region: &Region) -> HashMap<u32, u64, FastHash> {
    let mut inputs = region.recorder.inputs.clone();
    inputs.sort_by_key(|i| (i.declaration, i.address));
    let ahead = |at: usize| inputs[..at].iter().map(|i| u64::from(i.size)).sum();
    inputs.iter().enumerate().map(|(at, input)| (input.value, ahead(at))).collect()
}

/// The definition.
fn by_definition(region: &Region, inputs_at: InputPlaces) -> Trace {
    let mut outputs: Vec<u32> = Vec::new();
    for event in &region.events {
        if let Event::Keep(kept) = event {
            kept.iter().for_each(|value| outputs.extend((!outputs.contains(value)).then_some(*value)));
        }
    }
    let needed_after = |value: u32, index: usize| {
        let reads = |event: &Event| matches!(event, Event::Reads { operands, .. } if operands.contains(&value));
        outputs.contains(&value) || region.events[index..].iter().any(reads)
    };
    let mut trace = Trace::default();
    // Topmost last.
    let mut list: Vec<u32> = Vec::new();
    let mut inputs = region.recorder.inputs.clone();
    inputs.sort_by_key(|i| (std::cmp::Reverse(i.declaration), i.address));
    let (starting, mut places) = match inputs_at {
        InputPlaces::Stack => (inputs, HashMap::default()),
        InputPlaces::Fixed => (Vec::new(), places(region)),
    };
    for value in starting.iter().map(|i| i.value - FIRST_VALUE).filter(|v| needed_after(*v, 0)) {
        list.push(value);
        trace.pushes.push(value);
    }
    let height = |list: &[u32]| list.iter().map(|v| region.sizes[*v as usize]).sum::<u64>();
    trace.peak = height(&list);
    for (index, event) in region.events.iter().enumerate() {
        let Event::Reads { operands, results } = event else { continue };
        let mut cold: Vec<u32> = Vec::new();
        for value in operands {
            let above = match list.iter().position(|v| v == value) {
                Some(at) => height(&list[at + 1..]),
                None if places.contains_key(&(value + FIRST_VALUE)) => places[&(value + FIRST_VALUE)],
                None => {
                    let at = cold.iter().position(|v| v == value).unwrap_or_else(|| {
                        cold.push(*value);
                        cold.len() - 1
                    });
                    height(&list) + height(&cold[..at])
                }
            };
            trace.reads.push((*value, above, region.sizes[*value as usize]));
        }
        let mut distinct = operands.clone();
        distinct.sort_by_key(|v| operands.iter().position(|o| o == v));
        distinct.dedup();
        for value in distinct {
            places.remove(&(value + FIRST_VALUE));
            list.retain(|v| *v != value);
            list.push(value);
        }
        list.retain(|v| !operands.contains(v) || needed_after(*v, index + 1));
        for result in results.iter().filter(|r| needed_after(**r, index + 1)) {
            list.push(*result);
            trace.pushes.push(*result);
        }
        trace.peak = trace.peak.max(height(&list));
    }
    if inputs_at == InputPlaces::Fixed {
        for value in outputs {
            let above = match list.iter().position(|v| *v == value) {
                Some(at) => height(&list[at + 1..]),
                None => places.get(&(value + FIRST_VALUE)).copied().unwrap_or_else(|| height(&list)),
            };
            trace.reads.push((value, above, region.sizes[value as usize]));
        }
    }
    trace
}

fn priced(region: &mut Region, inputs_at: InputPlaces) -> (Trace, u64) {
    let places = (inputs_at == InputPlaces::Fixed).then(|| places(region));
    let recorder = &mut region.recorder;
    let next = recorder.next();
    let mut values = Values {
        next,
        depths: &recorder.depths,
        inputs: &mut recorder.inputs,
        outputs: &recorder.outputs,
        places,
        one_size: None,
        deepest: recorder.deepest,
    };
    let mut trace = Trace::default();
    let mut chain = 0;
    let priced = price::price(&mut recorder.log, &mut values, &mut trace, |_| chain += 1).expect("readable");
    trace.peak = priced.peak_live;
    (trace, chain)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn prices_are_those_of_the_definition(
        steps in proptest::collection::vec(step(), 1..120),
        spills in any::<bool>(),
        inputs_at in prop_oneof![Just(InputPlaces::Stack), Just(InputPlaces::Fixed)],
    ) {
        let mut region = recorded(&steps, if spills { 0 } else { usize::MAX });
        let expected = by_definition(&region, inputs_at);
        let longest = region.recorder.depths.iter().max().copied().unwrap_or(0);
        let (found, chain) = priced(&mut region, inputs_at);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(chain, u64::from(longest));
    }
}

/// The README's first example: (a + b) + c.
#[test]
fn the_published_sum_of_three() {
    let mut recorder = Recorder::new(None);
    let [a, b, c] = [0, 1, 2].map(|n| recorder.input(n, 0, 1, false).expect("room"));
    let t = recorder.instruction(0, ValueOp::FpAdd, &[a, b], &[1]).expect("room");
    let r = recorder.instruction(0, ValueOp::FpAdd, &[t, c], &[1]).expect("room");
    recorder.output(r, 0);
    let mut region = Region { recorder, events: Vec::new(), sizes: Vec::new() };
    let (trace, span) = priced(&mut region, InputPlaces::Stack);
    let cost: u128 = trace.reads.iter().map(|(_, above, size)| run_cost(*above, *size)).sum();
    assert_eq!((cost, span, trace.peak), (6, 2, 3));
}

#[test]
fn a_log_of_no_events_costs_nothing() {
    let mut region = Region { recorder: Recorder::new(None), events: Vec::new(), sizes: Vec::new() };
    assert_eq!(priced(&mut region, InputPlaces::Stack), (Trace::default(), 0));
    region.recorder.log = Log::new(0);
    region.recorder.clear();
    assert_eq!(priced(&mut region, InputPlaces::Fixed).1, 0);
}
