//! Cures for lines that are moved in vain: interchange, pack, align, stream stores.
//!
//! Takes a pair with what its reader's lines were used for. Stores need fills and write-backs of lines, which only some
//! profiles have.

use std::collections::BTreeMap;

use dmdprof_runtime::observe::patterns::LINE;

use super::{
    cure::{Cure, DEEP, POOR_USE},
    fields,
    pairs::{Pair, Touch},
    words::Words,
};
use crate::{
    profile::model::{Field, FieldId},
    report::{INTERCHANGE, lines::SHOWN},
    shared::human,
};

/// Lines fetched per element, where one would do, from which its place matters.
const SPLIT: f64 = 1.25;
/// A memory beyond which stores are better not kept: like a third level of caches.
const FAR: u64 = SHOWN[2];
/// Part of a pair's bytes that must lie beyond it.
const MOST: f64 = 0.5;
/// Bytes written per byte of lines that stores fetch, where each line is written whole and once.
const WHOLE: std::ops::RangeInclusive<f64> = 0.9..=1.3;

/// At most one of those about the reader's lines, then that about the toucher's stores.
pub fn find_cures(words: &Words, pair: &Pair) -> Vec<Cure> {
    let align = align(words, pair);
    let better = align.as_ref().map_or(1.0, |(_, lines_per_element)| *lines_per_element);
    let own = lines(words, pair, better).or_else(|| align.map(|(cure, _)| cure)).or_else(|| fitting(words, pair));
    own.into_iter().chain(stream(words, pair)).collect()
}

/// `better`: so many times what is used of each line would be, were elements aligned.
fn lines(words: &Words, pair: &Pair, better: f64) -> Option<Cure> {
    let lines = &pair.lines;
    let used = lines.utilisation().filter(|used| *used * better <= POOR_USE)?;
    let part = human::share(used);
    let promise = 1.0 - used;
    let strided = lines.stride != 0 && lines.strided * 2 >= lines.reads;
    let [inner, outer] = pair.inner_loops();
    // One loop alone has no other order.
    let has_order = inner.is_none() || outer.is_some();
    // Without a step, other bytes than the time before are met by chance: another order of loops is not at hand.
    if strided && lines.renewed * 4 >= lines.lines {
        let step = human::grouped(lines.stride.unsigned_abs().into());
        let because = format!(
            "steps of {step} bytes: {part} of each line is used before it leaves, and the rest is fetched again later{}",
            words.two_loops([outer, inner])
        );
        return has_order.then_some(Cure { name: INTERCHANGE, because, promise });
    }
    let fields = fields::describe(words.places, pair).map_or(String::new(), |fields| format!(" ({fields})"));
    let because = if strided {
        format!(
            "{part} of each line is used, the same part each time, in steps of {} bytes: keep what is read together in an array of its own{fields}",
            human::grouped(lines.stride.unsigned_abs().into())
        )
    } else {
        format!(
            "{part} of each line is used, in no order: keep the elements in an array, in the order in which they are read{fields}"
        )
    };
    Some(Cure { name: "pack", because, promise })
}

/// Steps from line to line that use the lines whole: as many lines as one pass of the inner loop takes still fit into
/// fast memory, if nothing else is there and its sets are used evenly.
fn fitting(words: &Words, pair: &Pair) -> Option<Cure> {
    let lines = &pair.lines;
    let used = lines.utilisation().filter(|used| *used > POOR_USE)?;
    let far = lines.stride.unsigned_abs() >= LINE && lines.strided * 2 >= lines.reads;
    let [inner, outer] = pair.inner_loops();
    (far && outer.is_some() && pair.deep() >= DEEP).then(|| Cure {
        name: INTERCHANGE,
        because: format!(
            "the inner loop steps {} bytes, from line to line; its lines are used ({}) only because they stay until the next pass{}",
            human::grouped(lines.stride.unsigned_abs().into()),
            human::share(used),
            words.two_loops([outer, inner])
        ),
        promise: 0.5 * pair.deep(),
    })
}

/// Elements whose fields would lie in one line, and lie in more; and in how many.
fn align(words: &Words, pair: &Pair) -> Option<(Cure, f64)> {
    let places = words.places;
    let group = pair.key.object?;
    let mut reads: BTreeMap<FieldId, u64> = BTreeMap::new();
    let mut lines = 0;
    for pattern in &places.objects.patterns {
        let own =
            places.function(pattern.site) == pair.key.function && places.groups.of_object(pattern.object) == group;
        if own && pattern.reads > 0 {
            *reads.entry(*places.field_of.get(&pattern.site)?).or_default() += pattern.reads;
            lines += pattern.lines;
        }
    }
    let field = |id: &FieldId| -> &Field { &places.profile.known.fields[id.index()] };
    let first = field(reads.keys().next()?);
    if reads.keys().any(|id| (field(id).type_name, field(id).type_size) != (first.type_name, first.type_size)) {
        return None;
    }
    let begin = reads.keys().map(|id| field(id).offset).min()?;
    let end = reads.keys().map(|id| field(id).offset + field(id).size).max()?;
    // Each element that was met was met in each of its fields at most so often.
    let elements = *reads.values().max()?;
    let split = lines as f64 / elements as f64;
    let (line, size) = (LINE as u32, first.type_size);
    let one_would_do = begin / line == (end.max(begin + 1) - 1) / line;
    if !one_would_do || split <= SPLIT {
        return None;
    }
    let multiple = size.next_power_of_two().min(line);
    let padded = size.next_multiple_of(multiple);
    let padding = if padded == size { String::new() } else { format!(", padded to {padded}") };
    let name = places.profile.strings[first.type_name.index()].as_str();
    let because = format!(
        "an element is met in {split:.2} lines where one would do: let elements of {name} ({size} bytes{padding}) begin at multiples of {multiple} \
         bytes, as with alignas and aligned_alloc"
    );
    Some((Cure { name: "align", because, promise: 1.0 - 1.0 / split }, split))
}

/// Lines that stores fetch only to write them whole, and that leave a cache of the last level before anybody reads
/// them.
fn stream(words: &Words, pair: &Pair) -> Option<Cure> {
    let places = words.places;
    let Touch::Written { line, .. } = pair.key.touch else { return None };
    let size = u64::from(places.profile.line_size()?);
    let far = pair.depths.traffic(FAR) as f64 / pair.bytes.max(1) as f64;
    if far < MOST {
        return None;
    }
    let own = || places.profile.cells.iter().filter(|cell| places.line(cell.site) == line);
    let fetched: u64 = own()
        .flat_map(|cell| cell.lines.as_ref()?.first())
        .map(|moved| (crate::report::depths::Depths::new(&moved.stores).beyond(FAR / size) + moved.first_stores) * size)
        .sum();
    let written: u64 = own().map(|cell| cell.written).sum();
    let whole = fetched > 0 && WHOLE.contains(&(written as f64 / fetched as f64));
    whole.then(|| Cure {
        name: "stream stores",
        because: format!(
            "stores at {} fetch {} in lines that they then write whole, and {} of it is read only after it has left {}: stores past the caches \
             (non-temporal) do not fetch",
            words.line(line),
            human::bytes(fetched.into()),
            human::share(far),
            human::bytes(FAR.into())
        ),
        // Of three moves of each line, the first.
        promise: far / 3.0,
    })
}
