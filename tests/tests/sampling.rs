//! Sampled runs: exact where they say so, and as good as they say where they estimate.

use dmdprof_tests::profiled::{Run, SampleErrors};
use dmdprof_tests::programs::{self, Compiler};
use dmdprof_tests::tool::{describe, dmdprof, scratch};

#[test]
fn counts_are_exact_and_costs_are_near() {
    for program in [programs::bench("matmul"), programs::bench("hash"), programs::lua()] {
        let directory = scratch();
        let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).args(&program.args);
        let exact = run.go().report;
        let sampled = run.clone().options(["--sample", "1/50"]).go();
        for field in ["accesses", "read", "written", "cold", "peak_live", "footprint"] {
            assert_eq!(exact.total(field), sampled.report.total(field), "{field} of {}", program.name);
        }
        let off = SampleErrors::of(&exact, &sampled.report);
        assert!(off.total.0.abs() < 2.0 && off.worst.0.abs() < 5.0, "{}: {off:?}", program.name);
        assert!(off.total.0.abs() < off.total.1 && off.total.1 < 10.0, "{}: {off:?}", program.name);
        let shown = dmdprof().arg("report").arg(&sampled.profile).output().expect("dmdprof starts");
        let text = String::from_utf8_lossy(&shown.stdout);
        assert!(text.contains("SAMPLED 1/50") && text.contains("off by"), "{}", describe(&shown));
        let again = run.clone().options(["--sample", "1/50"]).go().report;
        assert_eq!(
            again.total("cost"),
            sampled.report.total("cost"),
            "{}: the same run, the same estimate",
            program.name
        );
    }
}

#[test]
fn short_programs_are_exact_and_objects_are_told_apart() {
    let program = programs::case("offsets");
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).options(["--objects"]);
    let (exact, sampled) = (run.go().report, run.clone().options(["--sample", "1/10"]).go().report);
    assert_eq!(exact.total("read"), sampled.total("read"));
    let off = (sampled.total("cost") as f64 / exact.total("cost") as f64 - 1.0).abs();
    assert!(off < 0.03, "{off}");
}

#[test]
fn sampled_runs_are_not_for_gates() {
    let program = programs::case("layout");
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).options(["--sample", "1/100"]).go();
    let refused = dmdprof().arg("diff").arg(&run.profile).arg(&run.profile).output().expect("dmdprof starts");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("without --sample"), "{}", describe(&refused));
}
