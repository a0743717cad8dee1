//! What can be asked, one file each: the inputs, and how the models answer.

mod checkpoint;
mod chips;
mod cost;
mod energy;
mod experts;
mod fusion;
mod machines;
mod network;
mod pipeline;
mod queue;
mod room;
mod scaling;
mod serving;
mod shelf_life;
mod training;

use super::question::Question;

/// In the order of help.
pub const ALL: [&Question; 14] = [
    &scaling::QUESTION,
    &pipeline::QUESTION,
    &experts::QUESTION,
    &training::QUESTION,
    &network::QUESTION,
    &serving::QUESTION,
    &queue::QUESTION,
    &checkpoint::QUESTION,
    &energy::QUESTION,
    &cost::QUESTION,
    &shelf_life::QUESTION,
    &chips::QUESTION,
    &fusion::QUESTION,
    &machines::QUESTION,
];
