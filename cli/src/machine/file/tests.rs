//! Machine files: what is read, and what is refused with which words.

use super::*;
use crate::machine::model::Sharers;

const GOOD: &str = r#"
schema = 1
name = "m"
title = "A machine"
confidence = "datasheet"
source = "vendor"
notes = ["one", "two"]
default_type = "fp32"
efficiency = { value = 0.5, confidence = "convention", source = "usual" }
cores = 8
fast_memory = "2.7 MB"
price = "30000 USD"

[peak]
fp64 = "100 Gop/s"
fp32 = { value = "200 Gop/s", source = "twice fp64" }

[[level]]
name = "L1"
capacity = "32 KiB"
bandwidth = "245 GB/s"
energy = "1 pJ/B"
per_core = true
line = "128 B"
write = "through"

[[level]]
name = "L2"
capacity = "256 KiB"
confidence = "measured"
bandwidth = "50 GB/s"
shared_by = { value = 4, confidence = "datasheet" }

[memory]
bandwidth = "50 GB/s"
latency = "80 ns"
transfer = "64 B"
energy = "160 pJ/B"

[dispatch]
floor = "0 s"

[energy]
any = "4.6 pJ/op"

[power]
max = "700 W"

[growth]
year = 2010
peak = "1.7 years"
"#;

fn parse(text: &str) -> Result<Parsed, Problems> {
    from_text(Path::new("m.toml"), text, Origin::Shipped)
}

#[test]
fn all_fields_are_read_in_si_units_with_their_provenance() {
    let Parsed { machine, warnings } = parse(GOOD).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((machine.default_type, machine.peak.len()), (OpType::Fp32, 2));
    let fp32 = &machine.peak[&OpType::Fp32];
    assert_eq!((fp32.value, fp32.confidence, fp32.source.as_str()), (2e11, Confidence::Datasheet, "twice fp64"));
    let l2 = &machine.levels[1];
    assert_eq!((l2.capacity.value, l2.capacity.confidence, l2.per_core), (262_144.0, Confidence::Measured, false));
    assert_eq!((machine.levels[0].sharers(), l2.sharers(), l2.parts(machine.cores.as_ref())), (1.0, 4.0, 2));
    assert_eq!(machine.levels[0].energy.as_ref().map(|e| e.value), Some(1e-12));
    let lines = machine.levels.iter().map(|level| (level.line.as_ref().map(|line| line.value), level.write));
    assert_eq!(lines.collect::<Vec<_>>(), [(Some(128.0), Some(WritePolicy::Through)), (None, None)]);
    assert!(machine.efficiency.as_ref().is_some_and(|e| e.value == 0.5 && e.confidence.is_guess()));
    assert_eq!(machine.growth.as_ref().map(|g| (g.year, g.peak.as_ref().map(|p| p.value))), Some((2010.0, Some(1.7))));
    assert_eq!(machine.floor.as_ref().map(|f| f.value), Some(0.0));
    assert_eq!(machine.op_energy_of(OpType::Fp16, "energy").map(|e| e.value), Ok(4.6e-12));
    assert_eq!(
        (machine.peak[&OpType::Fp32].value, machine.memory.bandwidth.as_ref().map(|b| b.value)),
        (200e9, Some(50e9))
    );
    let missing = machine.need(&machine.setup, "dispatch.setup", "the three-stage model").expect_err("not stated");
    assert_eq!(
        missing.to_string(),
        "the three-stage model needs dispatch.setup, which machine m does not state; add it to a copy: dmdprof machine show m --toml > my.toml"
    );
}

#[test]
fn what_is_written_reads_back_as_the_same_machine() {
    let machine = parse(GOOD).unwrap().machine;
    let again = parse(&super::super::text::to_toml(&machine)).unwrap().machine;
    assert_eq!(again, machine);
    assert_eq!(again.content_hash(), machine.content_hash());
    let moved = Machine { origin: Origin::File("elsewhere/m.toml".into()), ..machine.clone() };
    assert_eq!(moved.content_hash(), machine.content_hash());
    let mut other = machine.clone();
    other.memory.latency = None;
    assert_ne!(other.content_hash(), machine.content_hash());
}

#[test]
fn mistakes_have_line_field_and_advice() {
    let mistakes = [
        ("schema = 1\n", ""),
        ("schema = 1", "schema = 2"),
        ("name = \"m\"", "name = \"a/b\""),
        ("title = \"A machine\"", "title = 3"),
        ("confidence = \"datasheet\"\n", ""),
        ("confidence = \"datasheet\"", "confidence = \"sure\""),
        ("cores = 8", "cores = 0"),
        ("source = \"vendor\"\n", ""),
        ("default_type = \"fp32\"\n", ""),
        ("default_type = \"fp32\"", "default_type = \"int8\""),
        ("efficiency = { value = 0.5", "efficiency = { value = 1.5"),
        ("cores = 8", "cores = 8.5"),
        ("cores = 8", "cores = \"8\""),
        ("fp64 = \"100 Gop/s\"", "fp63 = \"100 Gop/s\""),
        ("fp64 = \"100 Gop/s\"", "fp64 = 1e11"),
        ("[peak]\nfp64 = \"100 Gop/s\"\nfp32 = { value = \"200 Gop/s\", source = \"twice fp64\" }", "[peak]"),
        ("value = \"200 Gop/s\", ", ""),
        ("capacity = \"256 KiB\"", "capacity = \"32 KiB\""),
        ("capacity = \"256 KiB\"", "capacity = \"256 KiB/s\""),
        ("name = \"L2\"", "name = \"L1\""),
        ("name = \"L2\"\n", ""),
        ("per_core = true", "per_core = 1"),
        ("per_core = true", "per_core = true\nshared_by = 2"),
        ("per_core = true", "per_core = true\nshared_by = \"all\""),
        ("shared_by = { value = 4", "shared_by = { value = 0"),
        ("shared_by = { value = 4", "shared_by = { value = 1.5"),
        ("shared_by = { value = 4, confidence = \"datasheet\" }", "shared_by = \"most\""),
        ("line = \"128 B\"", "line = \"96 B\""),
        ("line = \"128 B\"", "line = \"128 B\"\nways = 7"),
        ("line = \"128 B\"", "line = \"128 B\"\nways = 1.5"),
        ("write = \"through\"", "write = \"around\""),
        ("latency = \"80 ns\"", "latency = \"-80 ns\""),
        ("latency = \"80 ns\"", "latncy = \"80 ns\""),
        ("[power]", "[colour]"),
        ("year = 2010", "year = \"2010\""),
        ("[memory]", "[memory"),
        ("notes = [\"one\", \"two\"]", "notes = \"one\""),
    ];
    let messages = mistakes.map(|(good, bad)| {
        assert!(GOOD.contains(good), "{good}");
        parse(&GOOD.replacen(good, bad, 1)).expect_err(bad).to_string()
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn one_core_alone_is_said_in_two_ways_and_threads_take_as_few_parts_as_have_room() {
    let by_one = parse(&GOOD.replace("per_core = true", "shared_by = 1")).unwrap().machine;
    assert!(by_one.levels[0].per_core);
    let machine = parse(GOOD).unwrap().machine;
    let (l1, l2, cores) = (&machine.levels[0], &machine.levels[1], machine.cores.as_ref());
    // Two parts of 128 KiB, for four cores each.
    let of = |threads| (l1.capacity_for(threads, cores), l2.capacity_for(threads, cores));
    assert_eq!([1, 4, 5, 100].map(of), [128, 128, 256, 256].map(|kib| (32 << 10, kib << 10)));
    assert_eq!(l2.capacity_for(1, None), 256 << 10, "how many parts there are is not known");
    let all = parse(&GOOD.replace("shared_by = { value = 4, confidence = \"datasheet\" }", "shared_by = \"all\""));
    let l2 = &all.as_ref().unwrap().machine.levels[1];
    assert_eq!((l2.shared_by.as_ref(), l2.capacity_for(1, cores)), (Some(&Sharers::All), 256 << 10));
}

#[test]
fn the_example_of_the_documentation_is_right() {
    let docs = include_str!("../../../../docs/machines.md");
    let (_, after) = docs.split_once("## Example\n").expect("an example");
    let lines = after.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    let text: Vec<&str> = lines.map(str::trim_start).collect();
    let parsed = from_text(Path::new("my-server.toml"), &text.join("\n"), Origin::Shipped).unwrap();
    assert_eq!((parsed.machine.levels.len(), parsed.warnings), (2, vec![]));
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_lines() {
    let text = GOOD.replace("latency = \"80 ns\"", "latency = 80").replace("name = \"m\"", "nam = \"m\"");
    let Problems(problems) = parse(&text).expect_err("three mistakes");
    let fields: Vec<&str> = problems.iter().map(|p| p.field.as_str()).collect();
    assert_eq!(fields, ["name", "nam", "memory.latency"]);
}

#[test]
fn what_looks_odd_is_a_warning() {
    let text = GOOD
        .replace("\"245 GB/s\"", "\"24.5 GB/s\"")
        .replace("per_core = true", "shared_by = \"all\"")
        .replace("[memory]\nbandwidth = \"50 GB/s\"", "[memory]\nbandwidth = \"51 GB/s\"");
    let parsed = from_text(Path::new("other.toml"), &text, Origin::Shipped).unwrap();
    let warnings: Vec<String> = parsed.warnings.iter().map(Problem::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"));
}
