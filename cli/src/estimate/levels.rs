//! `roofline`: from which stack the traffic of each level is, where threads share one.

use super::line::Line;
use super::view::{View, link_name};
use crate::document::{Cell, Column, Sheet, Value};

/// The table of a machine; nothing where each thread has but a stack of its own.
#[must_use]
pub fn sheet(view: &View, program: &Line) -> Option<Sheet> {
    if !view.stacks.shared {
        return None;
    }
    let columns = vec![
        Column::new("level", ["", "level"], 0),
        Column::new("capacity", ["", "capacity"], 0),
        Column::new("shared_by", ["", "shared by"], 0),
        Column::new("stack", ["traffic of", "stack"], 0),
        Column::new("threads", ["threads", "on it"], 0),
        Column::new("link", ["", "link"], 1),
        Column::new("traffic", ["traffic of", "the program"], 0),
        Column::new("seconds", ["", "time"], 0),
    ];
    let title = format!("{}: levels, and whose stack each goes by", view.machine.name);
    let mut sheet = Sheet::new(format!("{}.levels", view.machine.name), title, columns);
    for (number, link) in view.links.iter().enumerate() {
        let word = view.stacks.word(link.stack);
        let threads = if word == "own" { 1 } else { view.stacks.most };
        let cells: Vec<Cell> = vec![
            Value::Text(link.level.clone()).into(),
            Value::Bytes(link.link.capacity.into()).guessed(link.guess),
            link.sharers.clone().into(),
            Value::Text(word.into()).into(),
            Value::Count(threads.into()).into(),
            Value::Text(link_name(view, number)).into(),
            Value::Bytes(program.traffic[number] as u128).into(),
            Value::Seconds(program.estimate.links[number]).guessed(link.guess),
        ];
        sheet.row(cells);
    }
    Some(sheet)
}
