//! How much of what was touched between two uses is never read again, and who leaves it.

use std::collections::{BTreeMap, HashMap};

use super::{pairs::Pair, places::Places};
use crate::profile::model::ObjectPattern;

/// How much of what lines touch is never read again.
pub struct Idle {
    /// By line and group of objects: (bytes never read again, bytes touched).
    lines: HashMap<usize, BTreeMap<usize, (u64, u64)>>,
}

/// Bytes of one group of objects that were touched between, and how many of them nobody reads again.
#[derive(Default)]
struct Stretch {
    /// By the line that touched most: several lines that go over an object touch the same bytes.
    distinct: f64,
    dead: f64,
    /// The line that leaves most, and how much.
    last: Option<(f64, usize)>,
}

impl Idle {
    pub fn from_places(places: &Places) -> Self {
        let mut lines: HashMap<usize, BTreeMap<usize, (u64, u64)>> = HashMap::new();
        let mut add = |site, object, (idle, touched): (u64, u64)| {
            let groups = lines.entry(places.line(site)).or_default();
            let sums = groups.entry(places.groups.of_object(object)).or_default();
            *sums = (sums.0 + idle, sums.1 + touched);
        };
        for used in &places.objects.uses {
            add(used.site, used.object, (0, used.read + used.written));
        }
        for ObjectPattern { object, site, pattern } in &places.objects.patterns {
            add(*site, *object, (pattern.unread + pattern.last_read, 0));
        }
        Self { lines }
    }

    /// Part of the bytes between the touches of a pair that is never read again, as far as it is known who touched
    /// them, and the line that leaves most of it. Bytes count once per group of objects, however many lines touch them.
    pub fn between(&self, pair: &Pair) -> Option<(f64, usize)> {
        let mut stretches: BTreeMap<usize, Stretch> = BTreeMap::new();
        for (line, bytes) in &pair.between {
            let Some(groups) = self.lines.get(line) else { continue };
            let all: u64 = groups.values().map(|(_, touched)| touched).sum();
            for (group, (idle, touched)) in groups.iter().filter(|(_, (_, touched))| *touched > 0) {
                let here = *bytes as f64 * *touched as f64 / all as f64;
                let dead = (*idle as f64 / *touched as f64 * here).min(here);
                let stretch = stretches.entry(*group).or_default();
                stretch.distinct = stretch.distinct.max(here);
                if pair.key.object != Some(*group) || *line != pair.key.line {
                    stretch.dead += dead;
                    stretch.last = stretch.last.filter(|(most, _)| *most >= dead).or(Some((dead, *line)));
                }
            }
        }
        let distinct: f64 = stretches.values().map(|s| s.distinct).sum();
        let dead: f64 = stretches.values().map(|s| s.dead.min(s.distinct)).sum();
        let lasts = stretches.values().filter_map(|s| s.last);
        let (most, line) = lasts.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        (most > 0.0 && distinct > 0.0).then(|| (dead / distinct, line))
    }
}
