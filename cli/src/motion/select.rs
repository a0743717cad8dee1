//! Which loops a word names.

use anyhow::bail;

use super::{
    convert::short,
    model::{Level, Motion},
};

/// `j at kernel.c:12`, or what is known of that.
#[must_use]
pub fn label(level: &Level) -> String {
    match (&level.variable, &level.place) {
        (Some(variable), Some(place)) => format!("{variable} at {}", short(place)),
        (None, Some(place)) => short(place),
        (_, None) => format!("of {}", level.function),
    }
}

/// Numbers of the loops that a word names: by number (`#3`), variable (`j`), line (`12`), place (`kernel.c:12`) or
/// function.
///
/// # Errors
/// There is none of that name; says which there are.
pub fn select(motion: &Motion, word: &str) -> anyhow::Result<Vec<u32>> {
    let named = |(number, level): (usize, &Level)| is_named(number, level, word).then_some(number as u32);
    let found: Vec<u32> = motion.levels.iter().enumerate().filter_map(named).collect();
    if found.is_empty() {
        let loops = motion.levels.iter().enumerate().take(20);
        let list: Vec<String> = loops.map(|(n, l)| format!("#{} {} in {}", n + 1, label(l), l.function)).collect();
        let more = motion.levels.len().saturating_sub(list.len());
        let more = if more > 0 { format!("\n  ({more} more)") } else { String::new() };
        bail!(
            "no loop is called {word}; a loop is named by its number, variable, line, place or function. There are:\n  {}{more}",
            list.join("\n  ")
        );
    }
    Ok(found)
}

fn is_named(number: usize, level: &Level, word: &str) -> bool {
    let at_place = level.place.as_ref().is_some_and(|place| {
        let full = format!("{}:{}", place.file, place.line);
        word == place.line.to_string() || full == word || full.ends_with(&format!("/{word}"))
    });
    let in_function = level.function == word || level.function.ends_with(&format!("::{word}"));
    word == format!("#{}", number + 1) || level.variable.as_deref() == Some(word) || at_place || in_function
}
