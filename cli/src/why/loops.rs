//! The loop that encloses both ends of a reuse: in which iterations come and go between the last touch of bytes and
//! their read.
//!
//! Takes a flow, gives the innermost loop that is known to enclose both ends. Three cases:
//!
//! | ends | loop |
//! |---|---|
//! | one access | the innermost loop in whose iterations its address is the same, so that it comes back to the bytes in the next iteration |
//! | two accesses of one linked function | the innermost loop around both that can carry the reuse |
//! | else, or if there is none | up the calling contexts: where they meet, the innermost loop around all calls that lead to one end and to the other |
//!
//! Where as much as the whole object goes by between the ends, a loop that advances both cannot carry the reuse.
//!
//! Without `--flow-contexts` the contexts are those in which each end costs most. Nothing is said where the ends are in
//! one activation and no loop of it is around both.

use std::collections::{BTreeMap, HashMap};

use crate::{
    objects::loops::place,
    profile::{
        Profile,
        model::{ContextId, Flow, FunctionId, LoopId, SiteId, SiteNote},
    },
};

pub struct Loops<'p> {
    profile: &'p Profile,
    notes: HashMap<SiteId, &'p SiteNote>,
    /// By caller and callee: the innermost loop around all calls, if there is one.
    calls: HashMap<(FunctionId, FunctionId), Option<LoopId>>,
    /// By site: the context in which it costs most.
    hottest: HashMap<SiteId, ContextId>,
}

impl<'p> Loops<'p> {
    pub fn from_profile(profile: &'p Profile) -> Self {
        let notes = profile.known.notes.iter().map(|note| (note.site, note)).collect();
        let mut loops = Self { profile, notes, calls: HashMap::new(), hottest: hottest(profile) };
        for call in &profile.known.calls {
            let key = (call.caller, call.callee);
            let around = match loops.calls.get(&key) {
                Some(known) => loops.common(*known, call.around),
                None => call.around,
            };
            loops.calls.insert(key, around);
        }
        loops
    }

    /// The loops around a site, the innermost first.
    pub fn around(&self, site: SiteId) -> Vec<LoopId> {
        self.chain(self.notes.get(&site).and_then(|note| note.around)).collect()
    }

    /// The innermost loop in whose iterations a site accesses the same bytes.
    pub fn same(&self, site: SiteId) -> Option<LoopId> {
        self.notes.get(&site).and_then(|note| note.same)
    }

    /// The loop around both ends of a reuse whose contexts are not known.
    pub fn both(&self, toucher: SiteId, reader: SiteId) -> Option<LoopId> {
        self.between((toucher, None), (reader, None), false)
    }

    /// Whether a site is in a loop, at any level.
    pub fn is_in(&self, site: SiteId, at: LoopId) -> bool {
        self.chain(self.notes.get(&site).and_then(|note| note.around)).any(|around| around == at)
    }

    /// `FILE:LINE` of where a loop begins; of one in library code that was inlined, where that was called from.
    pub fn place(&self, at: LoopId) -> Option<String> {
        place(self.profile, at)
    }

    /// The linked function that a loop is in.
    pub fn function(&self, at: LoopId) -> FunctionId {
        self.profile.known.loops[at.index()].function
    }

    /// Line and column of where a loop begins in the source of its linked function, if it is not inlined there.
    pub fn begins_in_function(&self, at: LoopId) -> Option<(u32, u32)> {
        let position = &self.profile.positions[self.profile.known.loops[at.index()].position?.index()];
        (position.inlined_at.is_none() && position.line > 0).then_some((position.line, position.column))
    }

    /// Line and column of where a loop begins, 0 if they are not known.
    pub fn begins(&self, at: LoopId) -> (u32, u32) {
        let position = self.profile.known.loops[at.index()].position.map(|id| &self.profile.positions[id.index()]);
        position.map_or((0, 0), |position| (position.line, position.column))
    }

    /// The loop around both ends of a flow. `whole`: at least as much as the object has goes by between them.
    pub fn enclosing(&self, flow: &Flow, whole: bool) -> Option<LoopId> {
        self.between((flow.toucher?, flow.toucher_context), (flow.reader, flow.reader_context), whole)
    }

    fn between(
        &self,
        (toucher, toucher_context): (SiteId, Option<ContextId>),
        (reader, reader_context): (SiteId, Option<ContextId>),
        whole: bool,
    ) -> Option<LoopId> {
        let function = |site: SiteId| self.profile.sites[site.index()].function;
        let around = |site: SiteId| self.notes.get(&site).and_then(|note| note.around);
        if function(toucher) == function(reader) {
            let found = if toucher == reader {
                self.same(toucher)
            } else {
                let common = self.common(around(toucher), around(reader));
                // A loop that both ends advance in comes by each byte once and is over before it comes by again.
                self.chain(common).find(|at| !whole || self.repeats(toucher, *at) || self.repeats(reader, *at))
            };
            if found.is_some() {
                return found;
            }
        }
        let reader_context = reader_context.or_else(|| self.hottest.get(&reader).copied())?;
        let toucher_context = toucher_context.or_else(|| self.hottest.get(&toucher).copied())?;
        self.above((toucher, toucher_context), (reader, reader_context))
    }

    /// Whether a site is at the same address in each iteration of a loop, but for what loops inside it do.
    fn repeats(&self, site: SiteId, at: LoopId) -> bool {
        self.same(site).is_some_and(|same| self.chain(Some(same)).any(|outer| outer == at))
    }

    /// The loop around both ends in the functions that lead to them.
    fn above(&self, toucher: (SiteId, ContextId), reader: (SiteId, ContextId)) -> Option<LoopId> {
        let (from, to) = (self.path(toucher.1), self.path(reader.1));
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let leading = |path: &[ContextId], site: SiteId, at: usize| match path.get(at) {
            None => self.notes.get(&site).and_then(|note| note.around),
            Some(below) => self.call(path[at - 1], *below),
        };
        for meeting in (1..=shared).rev() {
            let ends_here = meeting == from.len() && meeting == to.len();
            let loops = (leading(&from, toucher.0, meeting), leading(&to, reader.0, meeting));
            // Two ends in one function were looked at already.
            let found = if ends_here { None } else { self.common(loops.0, loops.1) };
            if found.is_some() {
                return found;
            }
            // In its one activation no loop is around both.
            if self.profile.contexts[to[meeting - 1].index()].calls <= 1 {
                return None;
            }
        }
        None
    }

    /// The innermost loop around all calls of one context's function to another's.
    fn call(&self, caller: ContextId, callee: ContextId) -> Option<LoopId> {
        let function = |context: ContextId| self.profile.contexts[context.index()].function;
        self.calls.get(&(function(caller)?, function(callee)?)).copied().flatten()
    }

    /// From the thread's start to a context.
    fn path(&self, context: ContextId) -> Vec<ContextId> {
        let parent = |at: &ContextId| self.profile.contexts[at.index()].parent;
        let mut path: Vec<ContextId> = std::iter::successors(Some(context), parent).collect();
        path.reverse();
        path
    }

    fn chain(&self, start: Option<LoopId>) -> impl Iterator<Item = LoopId> {
        std::iter::successors(start, |at| self.profile.known.loops[at.index()].parent)
    }

    fn common(&self, a: Option<LoopId>, b: Option<LoopId>) -> Option<LoopId> {
        self.chain(a).find(|outer| self.chain(b).any(|other| other == *outer))
    }
}

fn hottest(profile: &Profile) -> HashMap<SiteId, ContextId> {
    let mut most: BTreeMap<SiteId, ((u128, u64), ContextId)> = BTreeMap::new();
    for cell in &profile.cells {
        let weight = (cell.cost, cell.executions);
        let known = most.entry(cell.site).or_insert((weight, cell.context));
        if weight > known.0 {
            *known = (weight, cell.context);
        }
    }
    most.into_iter().map(|(site, (_, context))| (site, context)).collect()
}
