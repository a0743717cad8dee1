//! Rows for the labels of vertical marks, so that no label covers another or the way of another down to its mark.
//!
//! Takes the extents of the labels (each over its own mark), gives a row for each, 0 the lowest.

/// From the first to the last column (or unit of length) that a label takes, gap included.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Where the mark is.
    pub mark: f64,
    pub start: f64,
    pub end: f64,
}

pub(super) fn rows(spans: &[Span]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // From the right: a label that reaches to the right over the next mark has to be above that one's label.
    order.sort_by(|&a, &b| spans[b].mark.total_cmp(&spans[a].mark));
    let mut rows = vec![0; spans.len()];
    for (done, &i) in order.iter().enumerate() {
        let meets = |j: usize| spans[i].start < spans[j].end && spans[j].start < spans[i].end;
        rows[i] = order[..done].iter().filter(|&&j| meets(j)).map(|&j| rows[j] + 1).max().unwrap_or(0);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_meet_are_stacked_and_others_share_a_row() {
        let span = |mark: f64| Span { mark, start: mark, end: mark + 10.0 };
        assert_eq!(rows(&[span(0.0), span(5.0), span(8.0), span(40.0)]), [2, 1, 0, 0]);
        assert_eq!(rows(&[span(3.0), span(3.0)]), [0, 1]);
        assert!(rows(&[]).is_empty());
    }
}
