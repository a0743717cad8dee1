//! On a program in which three functions allocate through a wrapper, and one reads a variable.

use dmdprof_runtime::histogram::bucket_of;

use super::{groups::Groups, waste};
use crate::{
    document::{Value, schema},
    profile::{
        Profile,
        model::{
            AccessKind, DataObject, DataObjects, Histogram, LineCounts, ObjectId, ObjectKind, ObjectPattern, ObjectUse,
            Pattern,
        },
        sample::{Builder, object},
        validate::validate,
    },
    report::ReportOptions,
};

fn profile() -> Profile {
    let mut b = Builder::new(&["prog"]);
    let main = b.function("main", Some("a.c"), 50);
    let wrapper = b.function("xmalloc", Some("a.c"), 1);
    let call = b.position(wrapper, 3, None);
    let malloc = b.site(wrapper, Some(call), AccessKind::Call, 0);
    let outer = b.context(Builder::ROOT, main, 1);
    let mut list = Vec::new();
    let mut uses = Vec::new();
    let mut patterns = Vec::new();
    for (number, name) in ["red", "green", "blue"].into_iter().enumerate() {
        let f = b.function(name, Some("a.c"), 10 * (number as u32 + 1));
        let position = b.position(f, 10 * (number as u32 + 1) + 1, None);
        let site = b.site(f, Some(position), AccessKind::Load, 8);
        let context = b.context(outer, f, 1);
        let inner = b.context(context, wrapper, 1);
        b.cell(context, site, &[(100 << number, 800)], &[], 0);
        list.push(DataObject { site: Some(malloc), context: Some(inner), ..object(ObjectKind::Heap) });
        uses.push((ObjectId(number as u32), site));
        patterns.push(ObjectPattern {
            object: ObjectId(number as u32),
            site,
            pattern: Pattern {
                reads: 100,
                stride: 64,
                strided: 99,
                lines: 100,
                used: 800,
                last_read: 800,
                ..Pattern::default()
            },
        });
    }
    b.finish(|p| {
        let of_site = |site| p.cells.iter().find(|cell| cell.site == site).unwrap();
        let uses = uses.iter().map(|(object, site)| {
            let cell = of_site(*site);
            ObjectUse { object: *object, site: *site, read: cell.read, counts: cell.counts.clone() }
        });
        p.objects = Some(DataObjects { list, uses: uses.collect(), patterns });
    })
}

#[test]
fn a_wrapper_of_the_allocator_names_nothing() {
    let profile = profile();
    validate(&profile).unwrap();
    let names =
        |contexts| Groups::from_profile(&profile, contexts).list.into_iter().map(|g| g.name).collect::<Vec<_>>();
    assert_eq!(names(false), ["red < main", "green < main", "blue < main"]);
    assert_eq!(names(true)[0], "xmalloc < red < main");
}

#[test]
fn documents_follow_the_schema_and_add_up() {
    let profile = profile();
    let document = super::report::document(&profile, &ReportOptions::default()).unwrap();
    assert_eq!(schema::errors(&document), Vec::<String>::new());
    assert_eq!(document.sheets[0].rows.len(), 4);
    let waste = waste::document(&profile, waste::Options::default()).unwrap();
    assert_eq!(schema::errors(&waste), Vec::<String>::new());
    let without = Profile { objects: None, ..profile };
    let error = super::report::document(&without, &ReportOptions::default()).unwrap_err().to_string();
    assert!(error.contains("dmdprof run --objects"), "{error}");
}

/// Each object is read by one site, whose lines are then the object's.
fn with_lines() -> Profile {
    let mut profile = profile();
    let moved = |lines: u64| LineCounts {
        loads: Histogram::from_depths(vec![(bucket_of(600), lines)]),
        write_backs: Histogram::from_depths(vec![(bucket_of(20_000), lines / 2)]),
        first_loads: 1,
        ..LineCounts::default()
    };
    profile.line_sizes = vec![64];
    for (number, used) in (1..).zip(&mut profile.objects.as_mut().expect("it has objects").uses) {
        let cell = profile.cells.iter_mut().find(|cell| cell.site == used.site).expect("it did something");
        cell.lines = Some([moved(1000 * number)].into());
        used.lines.clone_from(&cell.lines);
    }
    profile
}

#[test]
fn lines_of_objects_are_shown_at_two_capacities() {
    let profile = with_lines();
    validate(&profile).unwrap();
    let document = super::report::document(&profile, &ReportOptions::default()).unwrap();
    assert_eq!(schema::errors(&document), Vec::<String>::new());
    let sheet = &document.sheets[0];
    let column = |key: &str| sheet.columns.iter().position(|column| column.key == key).unwrap();
    let of = |row: usize, key: &str| sheet.rows[row][column(key)].value.clone();
    let bytes = |lines: u128| Value::Bytes(lines * 64);
    // The last object costs most: 3,000 lines are loaded into 512 of them, and 1,500 are written back from 16,384.
    assert_eq!((of(0, "fetched_32kib"), of(0, "written_back_32kib")), (bytes(3001), bytes(1500)));
    assert_eq!((of(0, "fetched_1mib"), of(0, "written_back_1mib")), (bytes(1), bytes(1500)));
    assert_eq!((of(0, "line_use_32kib"), of(0, "line_use_1mib")), (Value::Share(0.0), Value::Empty));
    assert_eq!((of(3, "fetched_32kib"), of(3, "written_back_32kib")), (bytes(6003), bytes(3000)));
}

#[test]
fn lines_of_objects_that_contradict_the_cells_are_refused() {
    let refused = |change: &dyn Fn(&mut [LineCounts])| {
        let mut profile = with_lines();
        let uses = &mut profile.objects.as_mut().expect("it has objects").uses;
        uses[0].lines.iter_mut().for_each(|lines| change(lines));
        validate(&profile).unwrap_err().to_string()
    };
    assert!(refused(&|lines| lines[0].first_loads += 1).contains("more than cells moved"));
    assert!(refused(&|lines| lines[0].first_loads -= 1).contains("less than cells moved"));
    let without = Profile { line_sizes: Vec::new(), ..with_lines() };
    assert!(validate(&without).unwrap_err().to_string().contains("lines of 1 sizes, and 0 were measured"));
}

#[test]
fn objects_that_contradict_the_cells_are_refused() {
    let refused = |change: &dyn Fn(&mut DataObjects)| {
        let mut profile = profile();
        change(profile.objects.as_mut().unwrap());
        validate(&profile).unwrap_err().to_string()
    };
    assert!(refused(&|o| o.uses[0].cost += 1).contains("is more than its cells did"));
    assert!(refused(&|o| o.uses[0].cost -= 1).contains("is less than its cells did"));
    assert!(refused(&|o| o.uses.swap(0, 1)).contains("out of order"));
    assert!(refused(&|o| o.uses[0].object = ObjectId(9)).contains("the object of use 0 is 9"));
    assert!(refused(&|o| o.patterns[1].pattern.used = 1 << 40).contains("used more of lines"));
}
