//! What a report adds up, on small profiles.

use proptest::prelude::*;

use super::*;
use crate::profile::model::{AccessKind, ContextId};
use crate::profile::sample::{self, Builder};

const GROUPINGS: [Grouping; 4] =
    [Grouping::Functions, Grouping::Symbols, Grouping::Lines(Inlined::All), Grouping::Lines(Inlined::Linked)];

fn row<'a>(analysis: &'a Analysis, name: &str) -> &'a Row {
    analysis.rows.iter().find(|r| r.name().starts_with(name)).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn inlined_code_goes_to_the_function_that_contains_the_line() {
    let profile = sample::small();
    let by_source = Analysis::new(&profile, Grouping::Functions);
    assert_eq!(row(&by_source, "linalg::Matrix::at").own.read, 144_640_008);
    assert_eq!(row(&by_source, "linalg::Matrix::at").calls, Calls { linked: None, inlined: true });
    assert_eq!(row(&by_source, "linalg::multiply").own.read, 960_000);
    assert_eq!(row(&by_source, "linalg::multiply").own.flops(), 48_000_000);
    let by_symbol = Analysis::new(&profile, Grouping::Symbols);
    assert_eq!(row(&by_symbol, "linalg::multiply").own.read, 145_600_000);
    assert_eq!(row(&by_symbol, "linalg::multiply").calls, Calls { linked: Some(3), inlined: false });
    let by_line = Analysis::new(&profile, Grouping::Lines(Inlined::All));
    assert!(by_line.rows.iter().any(|r| r.line == 21 && r.own.read == 144_640_008));
    let outer = Analysis::new(&profile, Grouping::Lines(Inlined::Linked));
    assert!(outer.rows.iter().any(|r| r.line == 17 && r.own.read == 144_640_000));
}

#[test]
fn inclusive_counts_recursion_once_and_main_has_all() {
    let profile = sample::small();
    let analysis = Analysis::with_inclusive(&profile, Grouping::Functions);
    let sort = row(&analysis, "util::quicksort");
    assert_eq!(sort.calls.linked, Some(7));
    assert_eq!(sort.inclusive.as_ref().unwrap(), &sort.own);
    assert_eq!(row(&analysis, "main").inclusive.as_ref().unwrap(), &analysis.total);
    // `at` calls nothing and is inlined twice: inclusive = exclusive. `multiply` includes what was inlined into it.
    assert_eq!(
        row(&analysis, "linalg::Matrix::at").inclusive.as_ref().unwrap().cost,
        row(&analysis, "linalg::Matrix::at").own.cost
    );
    assert_eq!(row(&analysis, "linalg::multiply").inclusive.as_ref().unwrap().read, 145_600_000);
}

#[test]
fn a_function_inlined_into_itself_counts_once() {
    let mut b = Builder::new(&["p"]);
    let f = b.function("f", Some("a.c"), 1);
    let outer = b.position(f, 2, None);
    let inner = b.position(f, 3, Some(outer));
    let site = b.site(f, Some(inner), AccessKind::Load, 8);
    let context = b.context(Builder::ROOT, f, 1);
    let again = b.context(context, f, 1);
    b.cell(context, site, &[(8, 8)], &[], 0).cell(again, site, &[(8, 8)], &[], 0);
    let profile = b.finish(|_| ());
    let analysis = Analysis::with_inclusive(&profile, Grouping::Functions);
    assert_eq!(analysis.rows.len(), 1);
    assert_eq!(analysis.rows[0].inclusive.as_ref().unwrap().read, 16);
    assert_eq!(analysis.rows[0].calls, Calls { linked: Some(2), inlined: true });
}

#[test]
fn instances_that_look_the_same_share_a_row() {
    let mut b = Builder::new(&["p"]);
    for symbol in ["_ZN3lib3run17h0123456789abcdefE", "_ZN3lib3run17hfedcba9876543210E"] {
        let f = b.function(symbol, Some("lib.rs"), 1);
        b.context(Builder::ROOT, f, 1);
    }
    let other = b.function("_ZN3lib3run17h0000000000000000E", Some("other.rs"), 1);
    b.context(Builder::ROOT, other, 1);
    let profile = b.finish(|_| ());
    let analysis = Analysis::new(&profile, Grouping::Functions);
    assert_eq!(analysis.rows.iter().map(|r| r.symbols.len()).collect::<Vec<_>>(), [2, 1]);
}

/// Inclusive numbers by the definition: for every cell and row, is the row's function on the path?
fn inclusive_cost_by_definition(profile: &Profile, wanted: &Row) -> u128 {
    let is_wanted = |f: FunctionId| {
        let f = &profile.functions[f.index()];
        let text = |id: Option<StringId>| id.map(|id| profile.strings[id.index()].clone());
        names::demangle(&profile.strings[f.symbol.index()]) == wanted.name()
            && text(f.file) == wanted.file
            && f.line == wanted.line
    };
    let mut cost = 0;
    for cell in &profile.cells {
        let site = &profile.sites[cell.site.index()];
        let mut functions = vec![site.function];
        let mut position = site.position;
        while let Some(p) = position {
            functions.push(profile.positions[p.index()].function);
            position = profile.positions[p.index()].inlined_at;
        }
        let mut context: Option<ContextId> = Some(cell.context);
        while let Some(c) = context {
            functions.extend(profile.contexts[c.index()].function);
            context = profile.contexts[c.index()].parent;
        }
        if functions.into_iter().any(is_wanted) {
            cost += cell.cost;
        }
    }
    cost
}

proptest! {
    #[test]
    fn exclusive_numbers_add_up_to_the_totals(profile in sample::any_profile()) {
        for grouping in GROUPINGS {
            let analysis = Analysis::new(&profile, grouping);
            let mut sum = Sums::default();
            for row in &analysis.rows {
                sum.merge(&row.own);
            }
            prop_assert_eq!(&sum, &analysis.total);
            let t = &profile.totals;
            prop_assert_eq!((sum.read, sum.written, sum.cold, sum.cost), (t.read, t.written, t.cold, t.cost));
            prop_assert_eq!(sum.depths.total(), t.read);
            let (least, most) = sum.depths.cost_bounds();
            prop_assert!(least <= t.cost && t.cost <= most);
        }
    }

    #[test]
    fn inclusive_numbers_follow_the_definition(profile in sample::any_profile()) {
        let analysis = Analysis::with_inclusive(&profile, Grouping::Functions);
        for row in &analysis.rows {
            let inclusive = row.inclusive.as_ref().unwrap();
            prop_assert_eq!(inclusive.cost, inclusive_cost_by_definition(&profile, row));
            prop_assert!(inclusive.cost >= row.own.cost && inclusive.cost <= analysis.total.cost);
            prop_assert_eq!(inclusive.depths.total(), inclusive.read);
        }
    }
}
