use super::*;
use crate::profile::model::{Outcome, Unit};
use crate::profile::sample;

fn text(profile: &Profile, options: &ReportOptions) -> String {
    let mut out = Vec::new();
    render(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain() -> ReportOptions {
    ReportOptions::default()
}

#[test]
fn table() {
    insta::assert_snapshot!(text(&sample::small(), &plain()));
}
