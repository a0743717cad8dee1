//! What can be asked, one file each: the inputs, and how the models answer.

mod checkpoint;
mod chips;
mod cost;
mod energy;
mod experts;
mod fusion;
mod pipeline;
mod queue;
mod scaling;
mod serving;
mod shelf_life;

use super::question::Question;

/// In the order of help.
pub const ALL: [&Question; 11] = [
    &scaling::QUESTION,
    &pipeline::QUESTION,
    &experts::QUESTION,
    &serving::QUESTION,
    &queue::QUESTION,
    &checkpoint::QUESTION,
    &energy::QUESTION,
    &cost::QUESTION,
    &shelf_life::QUESTION,
    &chips::QUESTION,
    &fusion::QUESTION,
];
