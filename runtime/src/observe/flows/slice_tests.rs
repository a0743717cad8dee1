//! Flows of runs that are cut into slices at random places, by their definition.

use proptest::prelude::*;

use super::{
    Flows, Followed,
    tests::{Measured, Op, any_op, any_run, by_definition, by_key},
};
use crate::{
    analysis::{
        pipeline::{Pipeline, detached::Detached},
        shards::whole::Whole,
    },
    engine::{Access, Kind},
    observe::beside::Observers,
    tests::random::cases,
};

impl Measured {
    /// Flows are followed.
    fn new(start: impl FnOnce(&mut Pipeline)) -> Self {
        let mut measured = Self::default();
        measured.pipeline.start_flows(Flows::default());
        start(&mut measured.pipeline);
        measured
    }
}

/// The first piece is done as one; those that follow are slices, each done by one of two parts in each pass.
fn in_slices(pieces: &[&[Op]]) -> Followed {
    let mut before = Measured::new(|_| ());
    pieces[0].iter().for_each(|op| before.does(op));
    let Detached { engine_slot, flows, .. } = before.with(|pipeline, files| pipeline.lend(files));
    let mut flows: Flows = *flows.expect("flows were started");
    let mut whole = Whole::new(engine_slot, Observers::default(), false);
    let mut first_pass = [(); 2].map(|()| Measured::new(Pipeline::start_first_pass));
    let mut second_pass = [(); 2].map(|()| Measured::new(Pipeline::start_slices));
    for (number, ops) in pieces[1..].iter().enumerate() {
        let part = &mut first_pass[number % 3 % 2];
        ops.iter().for_each(|op| part.does(op));
        let touched = part.with(|pipeline, files| pipeline.end_first_pass(files)).expect("flows were started");
        let states = flows.resolve(&touched);

        let number = number % 2;
        let part = &mut second_pass[number];
        part.pipeline.sinks.flows.as_mut().expect("flows were started").begin_slice(&states);
        ops.iter().for_each(|op| part.does(op));
        let mut boundaries = part.with(|pipeline, files| pipeline.end_slice(files));
        whole.resolve(&mut boundaries, number, part.cells.len());
    }
    for (part, found) in second_pass.iter_mut().zip(whole.found) {
        let mut own = part.pipeline.sinks.flows.take().expect("flows were started");
        own.counters().add(found.flows);
        flows.others.extend(own.finish().flows);
    }
    flows.finish()
}

/// The pieces between places.
fn cut<'a>(ops: &'a [Op], cuts: &[usize]) -> Vec<&'a [Op]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (ops.len() + 1)).collect();
    places.sort_unstable();
    let ends = places.iter().copied().chain([ops.len()]);
    std::iter::once(0).chain(places.iter().copied()).zip(ends).map(|(start, end)| &ops[start..end]).collect()
}

/// Now and then, all bytes around end at once, or are moved far away.
fn any_slice_op() -> impl Strategy<Value = Op> {
    let end = Access { addr: 3000, len: 20_000, kind: Kind::Remove };
    prop_oneof![
        40 => any_op(),
        1 => Just(Op::Access(end, None, 0, true)),
        1 => prop::sample::select(vec![(3000, 90_000), (90_000, 3000)])
            .prop_map(|(from, to)| Op::Relocate(from, to, 20_000)),
    ]
}

proptest! {
    #![proptest_config(cases(128))]
    #[test]
    fn flows_in_slices_are_those_of_the_definition(
        ops in prop::collection::vec(any_slice_op(), 1..400),
        cuts in prop::collection::vec(0usize..400, 0..8),
    ) {
        prop_assert_eq!(by_key(in_slices(&cut(&ops, &cuts))), by_definition(&ops));
    }

    #[test]
    fn flows_of_runs_in_slices_are_those_of_the_definition(
        ops in prop::collection::vec(
            prop_oneof![2 => any_slice_op(), 1 => any_run(20, &[1, 1, 1, 0, -1, 2, 7], 60)], 1..30),
        cuts in prop::collection::vec(0usize..30, 0..8),
    ) {
        prop_assert_eq!(by_key(in_slices(&cut(&ops, &cuts))), by_definition(&ops));
    }
}
