//! All who observe a run beside the engine: here each kind is named once.
//!
//! Takes what happens in a ring, or parts of it that others have observed; files what was counted with the cells.
//! Refuses parts that are not of the same observers.

use serde::{Deserialize, Serialize};

use super::{caches::Caches, hazards::Hazards, lines::Lines, observer::Observer};
use crate::{
    counts::{cell::CellCounters, pairs::CellPairs},
    decode::block::CellNumber,
    oplog::Ops,
};

macro_rules! observers {
    ($($kind:ident: $observer:ty),+) => {
        /// Those of one ring.
        #[derive(Default)]
        pub struct Observers {
            $(pub $kind: Vec<$observer>),+
        }

        /// What they ask of the run before a part, and leave.
        #[derive(Debug, Default, Serialize, Deserialize)]
        pub struct Parts {
            $(pub $kind: Vec<<$observer as Observer>::Part>),+
        }

        impl Observers {
            /// Whether nobody observes.
            #[inline(always)]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$kind.is_empty())&&+
            }

            /// Tells all of everything, where there are so many cells.
            pub fn follow(&mut self, ops: &Ops, cells: usize) {
                $(for observer in &mut self.$kind {
                    observer.set_known(cells);
                    ops.each_store(|op| observer.op(op));
                })+
            }

            /// Memory held, in bytes.
            #[must_use]
            pub fn heap_bytes(&self) -> u64 {
                0 $(+ self.$kind.iter().map(Observer::heap_bytes).sum::<u64>())+
            }

            /// File what they counted, but for what is of pairs of cells; nobody observes from then on.
            #[must_use]
            pub fn finish(&mut self, cells: &mut [CellCounters]) -> CellPairs {
                let mut pairs = CellPairs::default();
                $(let all = std::mem::take(&mut self.$kind);
                let count = all.len();
                for (observer, number) in all.into_iter().zip(0..) {
                    pairs.add(observer.finish(cells, (number, count)), |cell| cell);
                })+
                pairs
            }

            /// From now on observe parts of a run.
            pub fn start_parts(&mut self) {
                $(self.$kind.iter_mut().for_each(Observer::start_parts);)+
            }

            /// Ends a part of a run; the next one begins.
            pub fn cut(&mut self) -> Parts {
                Parts { $($kind: self.$kind.iter_mut().map(Observer::cut).collect()),+ }
            }

            /// Those who have observed a part and go on behind it.
            #[must_use]
            pub fn continuing(parts: &Parts) -> Self {
                Self { $($kind: parts.$kind.iter().map(Observer::continuing).collect()),+ }
            }

            /// Go on behind a part, whose cells have other numbers here.
            pub fn resolve(&mut self, parts: &Parts, mut number: impl FnMut(CellNumber) -> CellNumber) {
                $(for (observer, part) in self.$kind.iter_mut().zip(&parts.$kind) {
                    observer.resolve(part, &mut number);
                })+
            }

            /// Whether parts are of the same observers.
            #[must_use]
            pub fn fit(&self, parts: &Parts) -> bool {
                $(self.$kind.len() == parts.$kind.len()
                    && self.$kind.iter().zip(&parts.$kind).all(|(observer, part)| observer.fits(part)))&&+
            }
        }

        impl Parts {
            /// Whether they can be of a run of which so many cells are known.
            #[must_use]
            pub fn are_sound(&self, cells: usize) -> bool {
                $(self.$kind.iter().all(|part| <$observer>::is_sound(part, cells)))&&+
            }
        }
    };
}

observers!(lines: Lines, caches: Caches, hazards: Hazards);
