//! What is counted, and where: per (calling context, site) a cell.
//!
//! Takes depths and lengths, gives histograms and prices. Knows nothing of who finds them.

pub mod caches;
pub mod cell;
pub mod depths;
pub mod keys;
pub mod least;
pub mod lines;
pub mod many;
pub mod reach;
pub mod row;
pub mod sampled;

/// Adds the counts of another cell of the same sizes, levels or capacities.
pub fn merge_each<T: Clone>(mine: &mut Option<Box<[T]>>, more: Option<&[T]>, merge: impl Fn(&mut T, &T)) {
    match (mine, more) {
        (Some(mine), Some(more)) => mine.iter_mut().zip(more).for_each(|(mine, more)| merge(mine, more)),
        (mine @ None, Some(more)) => *mine = Some(more.into()),
        (_, None) => {}
    }
}
