//! Data objects of a measurement as the profile has them: named, and in an order that depends on nothing but the
//! content.
//!
//! What cannot be told apart by name is one object: a variable of a function that was inlined into several, and the
//! call site of an allocation that several modules contain.

use std::{cmp::Reverse, collections::BTreeMap, path::Path};

use dmdprof_runtime::{
    abi::NONE,
    analysis::{FlowKey, MergedFlow, MergedObjects, ObjectKey},
    counts::{cell::CellCounters, sampled::SampleCounts},
    decode::context::ContextNumber,
    objects::Life,
    observe::patterns::Pattern,
};

use super::{Builder, Contexts, Measured, RunSite, Sites, text};
use crate::profile::model::{
    CellCounts, ContextId, DataObject, DataObjects, Flow, Histogram, MAX_BETWEEN, ObjectId, ObjectKind, ObjectPattern,
    ObjectUse, SiteId, counts_of,
};

/// What an object is, in the order of the profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'a> {
    kind: ObjectKind,
    name: Option<&'a str>,
    module: Option<&'a str>,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: u32,
    site: Option<SiteId>,
    context: Option<ContextId>,
    /// Tells variables of one name apart.
    datum: u32,
}

impl Identity<'_> {
    fn new(kind: ObjectKind) -> Self {
        Self {
            kind,
            name: None,
            module: None,
            function: None,
            file: None,
            line: 0,
            site: None,
            context: None,
            datum: 0,
        }
    }
}

impl<'a> Measured<'a> {
    /// Call sites of the allocations of objects, and sites that use them.
    pub(super) fn object_sites(&self) -> impl Iterator<Item = RunSite> {
        let keys = self.run.objects.iter().flat_map(|objects| objects.lives.keys());
        let patterns = self.run.objects.iter().flat_map(|objects| objects.patterns.keys().map(|(_, site)| *site));
        let allocations = keys.filter_map(|key| match key {
            ObjectKey::Block { site, .. } | ObjectKey::Mapping { site, .. } => site.map(|(table, s)| (table, s, 0)),
            _ => None,
        });
        allocations.chain(patterns)
    }
}

impl<'a> Builder<'a> {
    /// The objects; none if they were not measured.
    pub(super) fn objects(&mut self, sites: &Sites, contexts: &Contexts) -> Named<'a> {
        let Some(measured): Option<&'a MergedObjects> = self.measured.run.objects.as_ref() else {
            return Named::default();
        };
        let mut found: BTreeMap<Identity<'a>, (Life, Vec<u64>)> = BTreeMap::new();
        for (key, life) in &measured.lives {
            let (all, parts) = found.entry(self.identity(key, sites, contexts)).or_default();
            all.times += life.times;
            all.bytes += life.bytes;
            all.peak += life.peak;
            if let Some(more) = measured.parts.get(key).filter(|more| more.iter().any(|bytes| *bytes > 0)) {
                parts.resize(more.len(), 0);
                parts.iter_mut().zip(more.iter()).for_each(|(all, more)| *all += more);
            }
        }
        let ids: BTreeMap<Identity<'a>, ObjectId> =
            found.keys().enumerate().map(|(i, key)| (key.clone(), ObjectId(i as u32))).collect();
        let id = |key: &'a ObjectKey| ids.get(&self.identity(key, sites, contexts)).copied();
        let mut uses: BTreeMap<(ObjectId, SiteId), CellCounters> = BTreeMap::new();
        for ((key, site), counters) in &measured.uses {
            let object = id(key).expect("what was used has a life");
            uses.entry((object, sites.ids[site])).or_default().merge(&mut counters.clone());
        }
        let mut patterns: BTreeMap<(ObjectId, SiteId), Pattern> = BTreeMap::new();
        for ((key, site), pattern) in &measured.patterns {
            // Outside a region of interest nothing was counted.
            if let Some(object) = id(key) {
                patterns.entry((object, sites.ids[site])).or_default().merge(pattern);
            }
        }
        let in_sample =
            |(key, found): (&(ObjectId, SiteId), &CellCounters)| Some((*key, (**found.sampled.as_ref()?).clone()));
        let sampled = uses.iter().filter_map(in_sample).collect();
        let list = found.into_iter().map(|(identity, (life, parts))| self.object(&identity, life, parts)).collect();
        let objects = DataObjects {
            list,
            uses: uses.into_iter().map(object_use).collect(),
            patterns: patterns.into_iter().map(object_pattern).collect(),
        };
        Named { objects, sampled, ids }
    }

    pub(super) fn flows(
        &self,
        measured: &'a BTreeMap<FlowKey, MergedFlow>,
        named: &Named<'a>,
        sites: &Sites,
        contexts: &Contexts,
    ) -> Vec<Flow> {
        type Key = (Option<SiteId>, Option<SiteId>, SiteId, Option<ObjectId>, Option<ContextId>, Option<ContextId>);
        let mut merged: BTreeMap<Key, MergedFlow> = BTreeMap::new();
        let id = |site: RunSite| sites.ids[&site];
        for (key, flow) in measured {
            let object = key.object.as_ref().and_then(|object| named.ids.get(&self.identity(object, sites, contexts)));
            let context = |context: ContextNumber| contexts.id_of[context.index()];
            let toucher_context = key.contexts.and_then(|(toucher, _)| toucher).map(context);
            let reader_context = key.contexts.map(|(_, reader)| context(reader));
            let sites = (key.writer.map(id), key.toucher.map(id), id(key.reader));
            let at = (sites.0, sites.1, sites.2, object.copied(), toucher_context, reader_context);
            merged.entry(at).or_default().merge(flow.clone());
        }
        let flow = |((writer, toucher, reader, object, toucher_context, reader_context), merged): (Key, MergedFlow)| {
            let mut between: Vec<(SiteId, u64)> =
                merged.between.largest.into_iter().map(|(site, n)| (id(site), n)).collect();
            between.sort_by_key(|(site, bytes)| (Reverse(*bytes), *site));
            between.truncate(MAX_BETWEEN);
            Flow {
                writer,
                toucher,
                reader,
                object,
                bytes: merged.found.depths.iter().map(|(_, n)| n).sum(),
                cost: merged.found.cost,
                histogram: Histogram::below(&merged.found.depths, merged.found.below_holes.as_deref()),
                toucher_context,
                reader_context,
                between_all: merged.between.all,
                between,
            }
        };
        merged.into_iter().map(flow).collect()
    }

    fn identity(&self, key: &'a ObjectKey, sites: &Sites, contexts: &Contexts) -> Identity<'a> {
        let site_of = |site: Option<(u32, u32)>| site.map(|(table, segment)| sites.ids[&(table, segment, 0)]);
        // Context 0 stands for any: more objects than are kept apart.
        let context_of =
            |context: ContextNumber| (context != ContextNumber::ROOT).then(|| contexts.id_of[context.index()]);
        match key {
            ObjectKey::Unknown => Identity::new(ObjectKind::Unknown),
            ObjectKey::Block { context, site } => {
                Identity { site: site_of(*site), context: context_of(*context), ..Identity::new(ObjectKind::Heap) }
            }
            ObjectKey::Mapping { context, site, file } => Identity {
                name: file.as_deref(),
                site: site_of(*site),
                context: context_of(*context),
                ..Identity::new(ObjectKind::Mapping)
            },
            ObjectKey::Datum { table, datum } => {
                let (path, table) = &self.measured.run.tables[*table as usize];
                let at = &table.data[*datum as usize];
                let kind = if at.is_section { ObjectKind::Section } else { ObjectKind::Static };
                let module = path.file_name().and_then(|name| Path::new(name).to_str());
                Identity { name: Some(&at.name), module, datum: *datum, ..Identity::new(kind) }
            }
            ObjectKey::Slot { table, slot } => {
                let table = self.measured.table(*table);
                let slot = &table.slots[*slot as usize];
                Identity {
                    name: text(table, slot.name),
                    function: text(table, slot.function),
                    file: text(table, slot.file),
                    line: if slot.name == NONE { 0 } else { slot.line },
                    ..Identity::new(ObjectKind::Stack)
                }
            }
        }
    }

    fn object(&mut self, identity: &Identity<'a>, life: Life, parts: Vec<u64>) -> DataObject {
        let mut string = |text: Option<&'a str>| text.map(|text| self.strings.id(text));
        DataObject {
            kind: identity.kind,
            name: string(identity.name),
            module: string(identity.module),
            function: string(identity.function),
            file: string(identity.file),
            line: identity.line,
            site: identity.site,
            context: identity.context,
            times: life.times,
            bytes: life.bytes,
            peak: life.peak,
            parts,
        }
    }
}

/// The objects of a profile, and their numbers.
#[derive(Default)]
pub(super) struct Named<'a> {
    pub objects: DataObjects,
    /// What a sample has of them.
    pub sampled: BTreeMap<(ObjectId, SiteId), SampleCounts>,
    ids: BTreeMap<Identity<'a>, ObjectId>,
}

fn object_use(((object, site), found): ((ObjectId, SiteId), CellCounters)) -> ObjectUse {
    // The rest is known of cells only.
    let CellCounts { written, cold, cost, depths, lines, .. } = counts_of(&found);
    let counts = CellCounts { written, cold, cost, depths, lines, ..CellCounts::default() };
    ObjectUse { object, site, read: counts.depths.total(), counts }
}

fn object_pattern(((object, site), pattern): ((ObjectId, SiteId), Pattern)) -> ObjectPattern {
    ObjectPattern { object, site, pattern }
}
