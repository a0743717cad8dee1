//! What every reader of a [`Profile`] may rely on: indices point at something, trees have no cycles, lists are sorted,
//! and the parts add up to the totals.
//!
//! A profile that passes can be walked and summed without a bounds check, an endless loop or an overflow: every sum of
//! `u64` counts over distinct cells is at most a `u64` of [`Profile::totals`].

mod cells;
mod check;

use dmdprof_runtime::{objects::PARTS, observe::patterns::LINE};

pub use self::check::Invalid;
use self::check::{Check, ensure, histogram_total, in_range};
use super::model::{
    CycleCounts, CyclePlace, DataObjects, Flow, FunctionId, Liveness, LoopId, MAX_SEQUENCE, PairCounts, PositionId,
    Profile, SharingDetails, SiteId, StringId, Unit,
};

struct Tables<'a>(&'a Profile);

impl Tables<'_> {
    fn string(&self, id: Option<StringId>, what: impl FnOnce() -> String) -> Check {
        id.map_or(Ok(()), |id| in_range(id.index(), self.0.strings.len(), what, "strings"))
    }
    fn function(&self, id: FunctionId, what: impl FnOnce() -> String) -> Check {
        in_range(id.index(), self.0.functions.len(), what, "functions")
    }
    fn position(&self, id: Option<PositionId>, what: impl FnOnce() -> String) -> Check {
        id.map_or(Ok(()), |id| in_range(id.index(), self.0.positions.len(), what, "positions"))
    }
}

/// Checks everything in the module's description.
pub fn validate(profile: &Profile) -> Result<(), Invalid> {
    let tables = Tables(profile);
    for (i, f) in profile.functions.iter().enumerate() {
        tables.string(Some(f.symbol), || format!("the name of function {i}"))?;
        tables.string(f.file, || format!("the file of function {i}"))?;
    }
    for (i, p) in profile.positions.iter().enumerate() {
        tables.function(p.function, || format!("the function of position {i}"))?;
        tables.string(p.file, || format!("the file of position {i}"))?;
        tables.position(p.inlined_at, || format!("the caller of position {i}"))?;
    }
    inline_chains_end(profile)?;
    for (i, s) in profile.sites.iter().enumerate() {
        tables.function(s.function, || format!("the function of site {i}"))?;
        tables.position(s.position, || format!("the position of site {i}"))?;
    }
    for (i, b) in profile.blocks.iter().enumerate() {
        tables.function(b.function, || format!("the function of block {i}"))?;
        for (position, _) in &b.ops {
            tables.position(*position, || format!("a position of block {i}"))?;
        }
    }
    for (i, c) in profile.contexts.iter().enumerate() {
        if let Some(parent) = c.parent {
            ensure(parent.index() < i, || format!("context {i} comes before its parent {}", parent.0))?;
        }
        if let Some(function) = c.function {
            tables.function(function, || format!("the function of context {i}"))?;
        }
    }
    for (i, s) in profile.sources.iter().enumerate() {
        tables.string(Some(s.path), || format!("the path of source file {i}"))?;
    }
    cells::cells(profile)?;
    block_counts(profile)?;
    regions(profile)?;
    shared(profile)?;
    known_of_sites(profile)?;
    line_pairs(profile)?;
    if let Some(flows) = &profile.flows {
        all_flows(profile, flows)?;
    }
    if let Some(objects) = &profile.objects {
        data_objects(profile, objects)?;
    }
    thread_starts(profile, &tables)?;
    cycles(profile, &tables)?;
    sequences(profile)
}

fn cycles(profile: &Profile, tables: &Tables) -> Check {
    let Some(cycles) = &profile.cycles else { return Ok(()) };
    ensure(!cycles.cores.is_empty(), || "cycles are of no core".into())?;
    let place = |place: &CyclePlace| (place.function, place.position);
    let is_sorted = cycles.places.windows(2).all(|pair| place(&pair[0]) < place(&pair[1]));
    ensure(is_sorted, || "places with cycles are not sorted".into())?;
    for (i, place) in cycles.places.iter().enumerate() {
        tables.function(place.function, || format!("the function of place {i} with cycles"))?;
        tables.position(place.position, || format!("the position of place {i} with cycles"))?;
    }
    let counts = |place: &CyclePlace| {
        let CycleCounts { instructions, mispredicted, cycles, deviations } = place.counts;
        let deviations = deviations.into_iter().map(i64::unsigned_abs);
        cycles.into_iter().chain([instructions, mispredicted]).chain(deviations).map(u128::from).sum::<u128>()
    };
    let all: u128 = cycles.places.iter().map(counts).sum();
    ensure(i64::try_from(all).is_ok(), || "cycles add up to more than there can be".into())
}

/// Threads that met have numbers, and lines change hands for nothing only if they do.
fn shared(profile: &Profile) -> Result<(), Invalid> {
    let Some(met) = profile.sharing.as_ref().and_then(|sharing| sharing.met.as_ref()) else {
        return ensure(profile.sharing_details.is_none(), || {
            "there are details of sharing that was not measured".into()
        });
    };
    let known = |thread: u32| (thread as usize) < met.threads.len();
    ensure(met.moved.iter().all(|moved| known(moved.writer) && known(moved.reader)), || {
        format!("a thread that met others is none of {}", met.threads.len())
    })?;
    ensure(met.lines.iter().all(|line| line.false_changes <= line.changes && line.lines > 0), || {
        "lines change hands for nothing more often than at all".into()
    })?;
    let Some(SharingDetails { written, handed }) = &profile.sharing_details else { return Ok(()) };
    ensure(written.len() == met.lines.len() && written.iter().flatten().all(|part| known(part.thread)), || {
        "what threads wrote is not of the lines that they share".into()
    })?;
    ensure(written.iter().flatten().flat_map(|part| &part.ranges).all(|(from, to)| from < to), || {
        "a range of bytes that threads wrote is empty".into()
    })?;
    ensure(handed.is_empty() || handed.len() == met.threads.len(), || {
        format!("first touches are of {} threads, and there were {}", handed.len(), met.threads.len())
    })
}

fn thread_starts(profile: &Profile, tables: &Tables) -> Check {
    let (starts, threads) = (profile.thread_starts.len(), profile.threads.len());
    ensure(starts == 0 || starts == threads, || format!("{starts} functions began {threads} threads"))?;
    for (i, start) in profile.thread_starts.iter().enumerate() {
        start.map_or(Ok(()), |id| tables.function(id, || format!("the function that began thread {i}")))?;
    }
    Ok(())
}

/// Each position is walked at most twice: chains that were seen to end are not walked again.
fn inline_chains_end(profile: &Profile) -> Check {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnThisWalk,
        Ends,
    }
    let mut seen = vec![Seen::No; profile.positions.len()];
    let mut walk = Vec::new();
    for start in 0..seen.len() {
        let mut at = Some(start);
        while let Some(i) = at {
            match seen[i] {
                Seen::Ends => break,
                Seen::OnThisWalk => return Err(Invalid(format!("position {i} is inlined into itself"))),
                Seen::No => {
                    seen[i] = Seen::OnThisWalk;
                    walk.push(i);
                    at = profile.positions[i].inlined_at.map(PositionId::index);
                }
            }
        }
        for i in walk.drain(..) {
            seen[i] = Seen::Ends;
        }
    }
    Ok(())
}

fn regions(profile: &Profile) -> Check {
    for pair in profile.regions.windows(2) {
        ensure(pair[0].name < pair[1].name, || format!("region {} is out of order", pair[1].name))?;
    }
    for region in &profile.regions {
        let bytes = histogram_total(&region.depths, || format!("the histogram of region {}", region.name))?;
        ensure(bytes == u128::from(region.bytes_read), || {
            format!("region {} read {}, but its histogram holds {bytes}", region.name, region.bytes_read)
        })?;
    }
    Ok(())
}

fn all_flows(profile: &Profile, flows: &[Flow]) -> Check {
    let meta = &profile.meta;
    let measurable = meta.values.is_none() && meta.liveness != Liveness::Exact && meta.unit == Unit::Byte;
    ensure(measurable, || "there are flows, but they are only measured of bytes without exact liveness".into())?;
    let keys = |i: usize| {
        let flow = &flows[i];
        (flow.writer, flow.toucher, flow.reader, flow.object, flow.toucher_context, flow.reader_context)
    };
    let objects = profile.objects.as_ref().map_or(0, |objects| objects.list.len());
    // Of each site: bytes and cost of its cells, less those of its flows.
    let mut left = vec![(0u128, 0u128); profile.sites.len()];
    for cell in &profile.cells {
        let site = &mut left[cell.site.index()];
        *site = (site.0 + u128::from(cell.read), site.1 + cell.cost);
    }
    for (i, flow) in flows.iter().enumerate() {
        let site = |id: SiteId, role: &str| {
            in_range(id.index(), profile.sites.len(), || format!("the {role} of flow {i}"), "sites")
        };
        flow.writer.map_or(Ok(()), |id| site(id, "writer"))?;
        flow.toucher.map_or(Ok(()), |id| site(id, "toucher"))?;
        site(flow.reader, "reader")?;
        for context in [flow.toucher_context, flow.reader_context].into_iter().flatten() {
            in_range(context.index(), profile.contexts.len(), || format!("a context of flow {i}"), "calling contexts")?;
        }
        flow.between.iter().try_for_each(|(id, _)| site(*id, "site between"))?;
        let between: u128 = flow.between.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
        ensure(between <= u128::from(flow.between_all), || {
            format!(
                "sites touched {between} bytes between the touches of flow {i}, but all together {}",
                flow.between_all
            )
        })?;
        flow.object
            .map_or(Ok(()), |id| in_range(id.index(), objects, || format!("the object of flow {i}"), "objects"))?;
        ensure(flow.writer.is_none() || flow.toucher.is_some(), || format!("flow {i} was written but not touched"))?;
        ensure(i == 0 || keys(i - 1) < keys(i), || format!("flow {i} is out of order"))?;
        let bytes = histogram_total(&flow.histogram, || format!("the histogram of flow {i}"))?;
        ensure(flow.bytes > 0 && bytes == u128::from(flow.bytes), || {
            format!("flow {i} has {} bytes, but its histogram holds {bytes}", flow.bytes)
        })?;
        let (read, cost) = &mut left[flow.reader.index()];
        let more = || Invalid(format!("the flows of site {} are more than its cells", flow.reader.0));
        *read = read.checked_sub(bytes).ok_or_else(more)?;
        *cost = cost.checked_sub(flow.cost).ok_or_else(more)?;
    }
    match left.iter().position(|rest| *rest != (0, 0)) {
        None => Ok(()),
        Some(site) => Err(Invalid(format!("the flows of site {site} are less than its cells"))),
    }
}

fn data_objects(profile: &Profile, objects: &DataObjects) -> Check {
    let tables = Tables(profile);
    ensure(profile.meta.values.is_none(), || "there are data objects, but values have no addresses".into())?;
    for (i, object) in objects.list.iter().enumerate() {
        ensure(matches!(object.parts.len(), 0 | PARTS), || format!("object {i} has {} parts", object.parts.len()))?;
        for string in [object.name, object.module, object.function, object.file] {
            tables.string(string, || format!("a name of object {i}"))?;
        }
        let site = object.site.map_or(0, SiteId::index);
        in_range(site, profile.sites.len().max(1), || format!("the site of object {i}"), "sites")?;
        let context = object.context.map_or(0, |context| context.index());
        in_range(context, profile.contexts.len().max(1), || format!("the context of object {i}"), "calling contexts")?;
    }
    cells::lines_of_objects(profile, objects)?;
    // Of each site: what its cells did, less what its uses did.
    let mut left = vec![(0u128, 0u128, 0u128, 0u128); profile.sites.len()];
    for cell in &profile.cells {
        let site = &mut left[cell.site.index()];
        let (read, written, cold) = (u128::from(cell.read), u128::from(cell.written), u128::from(cell.cold));
        *site = (site.0 + read, site.1 + written, site.2 + cold, site.3 + cell.cost);
    }
    for (i, used) in objects.uses.iter().enumerate() {
        in_range(used.object.index(), objects.list.len(), || format!("the object of use {i}"), "objects")?;
        in_range(used.site.index(), profile.sites.len(), || format!("the site of use {i}"), "sites")?;
        let before = i.checked_sub(1).map(|j| (objects.uses[j].object, objects.uses[j].site));
        ensure(before < Some((used.object, used.site)), || format!("use {i} is out of order"))?;
        let bytes = histogram_total(&used.depths, || format!("the histogram of use {i}"))?;
        ensure(bytes == u128::from(used.read), || {
            format!("use {i} read {}, but its histogram holds {bytes}", used.read)
        })?;
        let site = &mut left[used.site.index()];
        let less = |site: (u128, u128, u128, u128)| {
            Some((
                site.0.checked_sub(bytes)?,
                site.1.checked_sub(used.written.into())?,
                site.2.checked_sub(used.cold.into())?,
                site.3.checked_sub(used.cost)?,
            ))
        };
        *site = less(*site)
            .ok_or_else(|| Invalid(format!("what site {} did to objects is more than its cells did", used.site.0)))?;
    }
    for (i, pattern) in objects.patterns.iter().enumerate() {
        in_range(pattern.object.index(), objects.list.len(), || format!("the object of pattern {i}"), "objects")?;
        in_range(pattern.site.index(), profile.sites.len(), || format!("the site of pattern {i}"), "sites")?;
        let before = i.checked_sub(1).map(|j| (objects.patterns[j].object, objects.patterns[j].site));
        ensure(before < Some((pattern.object, pattern.site)), || format!("pattern {i} is out of order"))?;
        let used = pattern.lines.checked_mul(LINE).is_some_and(|bytes| pattern.used <= bytes);
        ensure(used && pattern.renewed <= pattern.lines, || format!("pattern {i} used more of lines than there was"))?;
    }
    match left.iter().position(|rest| *rest != (0, 0, 0, 0)) {
        None => Ok(()),
        Some(site) => Err(Invalid(format!("what site {site} did to objects is less than its cells did"))),
    }
}

/// Fields and loops, and which sites are in them.
fn known_of_sites(profile: &Profile) -> Check {
    let known = &profile.known;
    let tables = Tables(profile);
    for (i, field) in known.fields.iter().enumerate() {
        tables.string(Some(field.type_name), || format!("the type of field {i}"))?;
        tables.string(Some(field.name), || format!("the name of field {i}"))?;
    }
    for (i, at) in known.loops.iter().enumerate() {
        tables.function(at.function, || format!("the function of loop {i}"))?;
        tables.position(at.position, || format!("the position of loop {i}"))?;
        let parent = at.parent.is_none_or(|parent| parent.index() < i);
        ensure(parent, || format!("loop {i} comes before the loop around it"))?;
    }
    let is_loop = |at: Option<LoopId>, what: &str, i: usize| {
        at.map_or(Ok(()), |at| in_range(at.index(), known.loops.len(), || format!("a loop of {what} {i}"), "loops"))
    };
    for (i, call) in known.calls.iter().enumerate() {
        tables.function(call.caller, || format!("the caller of call {i}"))?;
        tables.function(call.callee, || format!("the callee of call {i}"))?;
        is_loop(call.around, "call", i)?;
        ensure(i == 0 || known.calls[i - 1] < *call, || format!("call {i} is out of order"))?;
    }
    for (i, note) in known.notes.iter().enumerate() {
        in_range(note.site.index(), profile.sites.len(), || format!("the site of note {i}"), "sites")?;
        ensure(i == 0 || known.notes[i - 1].site < note.site, || format!("note {i} is out of order"))?;
        is_loop(note.around, "note", i)?;
        is_loop(note.same, "note", i)?;
        let field = note.field.map_or(0, |field| field.index());
        in_range(field, known.fields.len().max(1), || format!("the field of note {i}"), "fields")?;
    }
    for (i, site) in profile.irregular.iter().enumerate() {
        in_range(site.index(), profile.sites.len(), || format!("irregular site {i}"), "sites")?;
        ensure(i == 0 || profile.irregular[i - 1] < *site, || format!("irregular site {i} is out of order"))?;
    }
    Ok(())
}

/// Lines from far, by who brought them in.
fn line_pairs(profile: &Profile) -> Check {
    ensure(profile.pairs.is_empty() || !profile.line_sizes.is_empty(), || "there are pairs, but no lines".into())?;
    let key = |i: usize| (profile.pairs[i].before, profile.pairs[i].site);
    for (i, pair) in profile.pairs.iter().enumerate() {
        for site in pair.before.into_iter().chain([pair.site]) {
            in_range(site.index(), profile.sites.len(), || format!("a site of pair {i}"), "sites")?;
        }
        ensure(i == 0 || key(i - 1) < key(i), || format!("pair {i} is out of order"))?;
        let PairCounts { lines, far } = pair.counts;
        ensure(lines > 0 && far <= lines, || format!("pair {i} has {lines} lines, and {far} from further away"))?;
    }
    Ok(())
}

fn sequences(profile: &Profile) -> Check {
    let tables = Tables(profile);
    for (i, sequence) in profile.sequences.iter().enumerate() {
        tables.function(sequence.function, || format!("the function of sequence {i}"))?;
        ensure(sequence.calls.len() <= MAX_SEQUENCE, || format!("sequence {i} has {} entries", sequence.calls.len()))?;
        for (at, (callee, times)) in sequence.calls.iter().enumerate() {
            tables.function(*callee, || format!("callee {at} of sequence {i}"))?;
            ensure(*times > 0, || format!("callee {at} of sequence {i} is called 0 times"))?;
        }
        let joined = sequence.calls.windows(2).all(|pair| pair[0].0 != pair[1].0);
        ensure(joined, || format!("sequence {i} has the same callee twice in a row"))?;
    }
    let key = |i: usize| {
        let sequence = &profile.sequences[i];
        (sequence.function, &sequence.calls, sequence.omitted)
    };
    for i in 1..profile.sequences.len() {
        ensure(key(i - 1) <= key(i), || format!("sequence {i} is out of order"))?;
    }
    Ok(())
}

fn block_counts(profile: &Profile) -> Check {
    for (i, count) in profile.block_counts.iter().enumerate() {
        let context = || format!("the context of block count {i}");
        in_range(count.context.index(), profile.contexts.len(), context, "calling contexts")?;
        in_range(count.block.index(), profile.blocks.len(), || format!("the block of block count {i}"), "blocks")?;
        if let Some(before) = i.checked_sub(1).map(|j| &profile.block_counts[j]) {
            let sorted = (before.context, before.block) < (count.context, count.block);
            ensure(sorted, || format!("block count {i} is out of order"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
