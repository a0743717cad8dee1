//! What memories of lines, and caches of sets and ways, move: below the totals of a report.

use std::io::{self, Write};

use comfy_table::Attribute;

use crate::profile::Profile;
use crate::report::analysis::Sums;
use crate::report::caches::{self, LevelMoved};
use crate::report::lines::{self, Moved};
use crate::report::style::{Style, bytes, left, plain_table, print, right};
use crate::shared::human;

/// What caches of sets and ways move, and how much of it is because lines share sets.
pub fn by_level(levels: &[LevelMoved], style: &Style, out: &mut impl Write) -> io::Result<()> {
    let mut table = plain_table(style);
    let titles = ["size", "ways", "line", "fetched", "by loads", "written back", "without sets", "conflicts", "share"];
    let header = [left("cache")].into_iter().chain(titles.map(right));
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for (moved, name) in levels.iter().zip(caches::NAMES) {
        let level = &moved.level;
        let numbers = [
            bytes(level.bytes),
            format!("{}{}", level.ways, if level.plru { " plru" } else { "" }),
            bytes(level.line.into()),
            bytes(moved.fetched),
            bytes(moved.loaded),
            bytes(moved.written_back),
            bytes(moved.ideal.fetched),
            bytes(moved.conflicts()),
            human::percent(moved.conflicts().into(), moved.fetched.into()),
        ];
        table.add_row([left(name)].into_iter().chain(numbers.iter().map(|text| right(text))).collect::<Vec<_>>());
    }
    writeln!(out, "\n  in caches of sets and ways, beside what a memory of that size without sets fetches:")?;
    print(&table, "  ", out)?;
    let Some((moved, name)) = levels.iter().zip(caches::NAMES).find(|(moved, _)| moved.is_crowded()) else {
        return Ok(());
    };
    let share = human::percent(moved.conflicts().into(), moved.fetched.into());
    writeln!(
        out,
        "  {share} of what {name} fetches is conflicts: lines of one set push each other out. Rows whose length is a power of two often do \
         that; padding them by a line, or copying blocks, helps then."
    )
}

/// What memories of lines move.
pub fn moved(profile: &Profile, sums: &Sums, size: u32, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let mut table = plain_table(style);
    let read = Some("bytes read").filter(|_| profile.meta.has_bytes());
    let titles = ["memory", "fetched", "first touch", "written back"].into_iter().chain(read);
    let header = titles.chain(["in order", "at a step"]).map(right);
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)));
    let all = lines::SHOWN.map(|capacity| Moved::from_sums(sums.lines(), size, capacity));
    for moved in all {
        let read = read.map(|_| sums.depths.traffic(moved.capacity));
        let cells = [moved.capacity, moved.fetched, moved.first, moved.written_back].into_iter().chain(read).map(bytes);
        let loaded = |part: u64| human::percent(part.into(), moved.loaded.into());
        let last = [moved.in_order, moved.at_step].map(loaded);
        table.add_row(cells.chain(last).map(|text| right(&text)).collect::<Vec<_>>());
    }
    writeln!(
        out,
        "\n  in lines of {size} B, by memories that are empty at first and write back what is dirty at the end:"
    )?;
    print(&table, "  ", out)?;
    writeln!(
        out,
        "  in order, at a step: of what loads fetch, lines that follow others of a page at a constant distance; prefetchers see them coming"
    )
}
