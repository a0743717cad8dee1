//! Cycles of lines that access nothing, by the loop that they are in.
//!
//! A statement may load on one line and compute on the next, and then the loads' own line says little of what they wait
//! for. Takes the places of a profile and its rows by line; gives, by the place where an innermost loop begins, the
//! cycles of lines without accesses between there and its last access, or close behind it. Lines of no such loop are
//! left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::places::{Places, place};
use crate::{
    profile::model::{CycleCounts, SiteId},
    report::Row,
};

/// Lines behind a loop's last access that are still its own, unless another access comes before.
const BEHIND: u32 = 3;

/// A loop's lines: where it begins, and the last with an access.
struct Extent<'a> {
    begins: &'a str,
    first: u32,
    last: u32,
}

/// By the place where the loop begins.
pub fn cycles_by_loop(places: &Places, rows: &[Row]) -> HashMap<String, CycleCounts> {
    let at: Vec<String> = rows.iter().map(place).collect();
    let accessed: BTreeSet<(&str, u32)> =
        rows.iter().zip(&at).filter(|(row, _)| !row.sites.is_empty()).filter_map(|(_, at)| parts(at)).collect();
    let loops = last_accesses(places);
    let mut by_file: BTreeMap<&str, Vec<Extent>> = BTreeMap::new();
    for (begins, last) in &loops {
        if let Some((file, first)) = parts(begins) {
            by_file.entry(file).or_default().push(Extent { begins, first, last: *last });
        }
    }
    let mut found: HashMap<String, CycleCounts> = HashMap::new();
    for (row, at) in rows.iter().zip(&at).filter(|(row, _)| row.sites.is_empty() && row.own.cycles.total() > 0) {
        let Some((file, line)) = parts(at) else { continue };
        let is_in = |own: &&Extent| {
            let is_behind = line > own.last;
            let is_apart = || accessed.range((file, own.last + 1)..(file, line)).next().is_some();
            own.first <= line && !(is_behind && (line > own.last + BEHIND || is_apart()))
        };
        let own = by_file.get(file).into_iter().flatten().filter(is_in).max_by_key(|own| own.first);
        if let Some(own) = own {
            found.entry(own.begins.to_owned()).or_default().add(&row.own.cycles);
        }
    }
    found
}

/// Where the innermost loop around a site begins.
pub fn begins(places: &Places, site: SiteId) -> Option<String> {
    places.loops.place(*places.loops.around(site).first()?)
}

/// By the place where an innermost loop begins: the last line of its file in which it accesses something.
fn last_accesses(places: &Places) -> BTreeMap<String, u32> {
    let mut last = BTreeMap::new();
    for (site, line) in (0..).map(SiteId).zip(&places.line_of) {
        let Some(begins) = begins(places, site) else { continue };
        let (Some((file, first)), Some((own, line))) = (parts(&begins), parts(&places.lines[*line])) else { continue };
        if file == own && first <= line {
            let last = last.entry(begins).or_insert(line);
            *last = line.max(*last);
        }
    }
    last
}

/// `FILE:LINE`.
fn parts(at: &str) -> Option<(&str, u32)> {
    let (file, line) = at.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}
