//! Flows: of each byte read, who wrote it last and who touched it last.

use std::collections::BTreeMap;

use super::{ReadTotals, Stack};
use crate::{
    engine::oracle,
    tests::{
        history::{Access, Happening, Object, Path, Site},
        program::SegmentName,
    },
};

/// A static access, whatever its calling context.
pub type AccessSite = (SegmentName, u32);

/// From where to where bytes went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Nothing: nobody did.
    pub writer: Option<AccessSite>,
    pub toucher: Option<AccessSite>,
    pub reader: AccessSite,
    /// Those of the toucher and of the reader, if calling contexts are measured.
    pub contexts: Option<(Option<Path>, Path)>,
    /// If objects are measured.
    pub object: Option<Object>,
}

fn place(site: &Site) -> AccessSite {
    (site.segment, site.item)
}

/// What was found of each flow, in its calling contexts or not; `of` gives the object that an access goes to, if that
/// is to be told apart.
#[must_use]
pub fn flows(
    history: &[Happening],
    hints: bool,
    with_contexts: bool,
    mut of: impl FnMut(&Happening) -> Option<Object>,
) -> BTreeMap<Flow, ReadTotals> {
    let (mut stack, mut found) = (Stack::new(hints), BTreeMap::<Flow, ReadTotals>::new());
    // Of bytes that somebody touched: the writer, if there is one, and the toucher.
    let mut states: BTreeMap<u64, (Option<AccessSite>, &Site)> = BTreeMap::new();
    for happening in history {
        let depths = stack.follow(happening);
        let object = of(happening);
        match happening {
            // Code without hooks leaves no trace but what it wrote over.
            Happening::Load(Access { site: None, .. }) => {}
            Happening::Load(load @ Access { site: Some(site), .. }) => {
                let reader = place(site);
                for (byte, depth) in load.bytes().zip(depths) {
                    let state = states.get(&byte).copied();
                    let (writer, toucher) = (state.and_then(|state| state.0), state.map(|state| state.1));
                    if load.counts {
                        let contexts = (toucher.map(|toucher| toucher.context.clone()), site.context.clone());
                        let contexts = with_contexts.then_some(contexts);
                        let toucher = toucher.map(place);
                        let flow = Flow { writer, toucher, reader, contexts, object: object.clone() };
                        // First touches have no writer, which says as much.
                        found.entry(flow).or_default().byte(oracle::ByteDepth { cold: false, ..depth });
                    }
                    states.insert(byte, (writer, site));
                }
            }
            Happening::Store(store) => match &store.site {
                Some(site) => states.extend(store.bytes().map(|byte| (byte, (Some(place(site)), site)))),
                None => states.retain(|byte, _| !store.bytes().contains(byte)),
            },
            &Happening::Dies { address, len } if hints => {
                states.retain(|byte, _| !(address..address + len).contains(byte));
            }
            &Happening::Input { address, len } => states.retain(|byte, _| !(address..address + len).contains(byte)),
            &Happening::Moves { from, to, len } => {
                let moved: Vec<_> = (0..len).map(|at| (to + at, states.remove(&(from + at)))).collect();
                for (byte, state) in moved {
                    states.remove(&byte);
                    states.extend(state.map(|state| (byte, state)));
                }
            }
            _ => {}
        }
    }
    found
}
