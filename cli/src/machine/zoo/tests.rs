//! The shipped files against the figures of their sources, typed a second time.

use std::collections::BTreeMap;

use super::super::text::{figures, to_toml};
use super::*;
use crate::machine::{OpType, model::Confidence};

mod recent;

const KI: f64 = 1024.0;
const MI: f64 = KI * KI;
const GI: f64 = MI * KI;

type Rows = &'static [(&'static str, f64)];

/// Everything that the sources state, in SI units.
const TABLE: &[(&str, Rows)] = &[
    (
        "ane-h13",
        &[("peak.fp16", 3.25e12), ("memory.bandwidth", 9.0e9), ("dispatch.floor", 0.23e-3), ("efficiency", 1.0)],
    ),
    (
        "ane-h13-t220",
        &[("peak.fp16", 3.25e12), ("memory.bandwidth", 9.0e9), ("dispatch.floor", 0.22e-3), ("efficiency", 1.0)],
    ),
    (
        "ane-h17s",
        &[("peak.fp16", 8.9e12), ("memory.bandwidth", 57e9), ("dispatch.floor", 0.11e-3), ("efficiency", 1.0)],
    ),
    (
        "place-engine",
        &[
            ("peak.any", 0.8e12),
            ("memory.bandwidth", 50e9),
            ("placement.launch", 5e-5),
            ("placement.transfer_in", 9e-5),
        ],
    ),
    (
        "place-gpu",
        &[
            ("peak.any", 0.12e12),
            ("memory.bandwidth", 40e9),
            ("placement.launch", 1e-4),
            ("placement.transfer_in", 23e-5),
        ],
    ),
    (
        "place-cpu",
        &[
            ("peak.any", 0.02e12),
            ("memory.bandwidth", 10e9),
            ("placement.launch", 1e-4),
            ("placement.transfer_in", 23e-5),
        ],
    ),
    (
        "fermi-c2050",
        &[
            ("peak.fp32", 1.03e12),
            ("memory.bandwidth", 144e9),
            ("memory.latency", 347.8e-9),
            ("memory.transfer", 128.0),
            ("fast_memory", 2.7e6),
            ("cores", 448.0),
            ("growth.peak", 1.7),
            ("growth.bandwidth", 2.8),
            ("growth.latency", 10.5),
            ("growth.transfer", 10.2),
            ("growth.fast_memory", 2.0),
            ("growth.cores", 1.87),
        ],
    ),
    (
        "fermi-2020-projection",
        &[
            ("peak.fp32", 59e12),
            ("memory.bandwidth", 1.7e12),
            ("memory.latency", 179.7e-9),
            ("memory.transfer", 256.0),
            ("fast_memory", 83e6),
            ("cores", 18000.0),
        ],
    ),
    (
        "v100",
        &[
            ("peak.fp16", 125e12),
            ("peak.fp32", 15.7e12),
            ("memory.bandwidth", 900e9),
            ("memory.capacity", 32.0 * GI),
            ("level.L2.capacity", 6e6),
            ("level.L2.bandwidth", 900e9),
            ("fast_memory", 80.0 * 384.0 * KI),
            ("dispatch.floor", 20e-6),
            ("efficiency", 0.5),
        ],
    ),
    (
        "a100-80",
        &[
            ("peak.fp16", 312e12),
            ("peak.tf32", 156e12),
            ("peak.fp32", 19.5e12),
            ("peak.int8", 624e12),
            ("memory.bandwidth", 2039e9),
            ("memory.capacity", 80.0 * GI),
            ("level.L2.capacity", 40e6),
            ("level.L2.bandwidth", 2039e9),
            ("fast_memory", 108.0 * 448.0 * KI),
            ("cores", 6912.0),
            ("dispatch.floor", 15e-6),
            ("efficiency", 0.5),
            ("power.max", 400.0),
            ("price", 15000.0),
        ],
    ),
    (
        "h100-sxm",
        &[
            ("peak.fp16", 989e12),
            ("peak.fp8", 1979e12),
            ("peak.int8", 1979e12),
            ("peak.tf32", 494e12),
            ("peak.fp32", 67e12),
            ("memory.bandwidth", 3.35e12),
            ("memory.capacity", 80.0 * GI),
            ("level.L2.capacity", 50e6),
            ("level.L2.bandwidth", 3.35e12),
            ("fast_memory", 132.0 * 484.0 * KI),
            ("dispatch.floor", 10e-6),
            ("efficiency", 0.5),
            ("power.max", 700.0),
            ("price", 30000.0),
            ("energy.fp32", 3.7e-12),
            ("energy.fp16", 1.1e-12),
            ("energy.int8", 0.2e-12),
            ("energy.any", 4.6e-12),
            ("level.L2.energy", 5e-12),
            ("memory.energy", 160e-12),
        ],
    ),
    (
        "h200",
        &[
            ("peak.fp16", 989e12),
            ("peak.fp8", 1979e12),
            ("peak.int8", 1979e12),
            ("peak.tf32", 494e12),
            ("peak.fp32", 67e12),
            ("memory.bandwidth", 4.8e12),
            ("memory.capacity", 141e9),
            ("level.L2.capacity", 50e6),
            ("dispatch.floor", 10e-6),
            ("efficiency", 0.5),
            ("power.max", 700.0),
            ("price", 35000.0),
        ],
    ),
    (
        "b200",
        &[
            ("peak.fp16", 2250e12),
            ("peak.fp8", 4500e12),
            ("peak.fp4", 9000e12),
            ("peak.int4", 9000e12),
            ("memory.bandwidth", 8e12),
            ("memory.capacity", 192.0 * GI),
            ("dispatch.floor", 8e-6),
            ("efficiency", 0.5),
            ("power.max", 1000.0),
            ("price", 40000.0),
        ],
    ),
    (
        "mi300x",
        &[
            ("peak.fp16", 1307e12),
            ("peak.fp8", 2614e12),
            ("peak.int8", 2614e12),
            ("peak.fp32", 163.4e12),
            ("memory.bandwidth", 5.3e12),
            ("memory.capacity", 192.0 * GI),
            ("level.L2.capacity", 32.0 * MI),
            ("level.L3.capacity", 256.0 * MI),
            ("level.L3.bandwidth", 5.3e12),
            ("fast_memory", 304.0 * 608.0 * KI),
            ("dispatch.floor", 12e-6),
            ("efficiency", 0.5),
            ("power.max", 750.0),
            ("price", 15000.0),
        ],
    ),
    (
        "dgx-spark",
        &[
            ("peak.fp16", 125e12),
            ("peak.fp8", 250e12),
            ("peak.fp4", 500e12),
            ("memory.bandwidth", 273e9),
            ("memory.capacity", 128e9),
            ("dispatch.floor", 10e-6),
            ("efficiency", 0.5),
        ],
    ),
    (
        "tpu-v4",
        &[
            ("peak.bf16", 275e12),
            ("memory.bandwidth", 1200e9),
            ("memory.capacity", 32.0 * GI),
            ("dispatch.floor", 40e-6),
            ("efficiency", 0.5),
            ("power.max", 200.0),
        ],
    ),
    (
        "tpu-v5e",
        &[("peak.bf16", 197e12), ("peak.int8", 393e12), ("memory.bandwidth", 819e9), ("memory.capacity", 16e9)],
    ),
    (
        "tpu-v5p",
        &[
            ("peak.bf16", 459e12),
            ("peak.int8", 918e12),
            ("memory.bandwidth", 2.76e12),
            ("memory.capacity", 95.0 * GI),
            ("level.VMEM.capacity", 128.0 * MI),
            ("dispatch.floor", 40e-6),
            ("efficiency", 0.5),
            ("power.max", 300.0),
        ],
    ),
    (
        "tpu-v6e",
        &[
            ("peak.bf16", 918e12),
            ("memory.bandwidth", 1638e9),
            ("memory.capacity", 32.0 * GI),
            ("dispatch.floor", 40e-6),
            ("efficiency", 0.5),
        ],
    ),
    (
        "m3-max",
        &[
            ("peak.any", 14.2e12),
            ("memory.bandwidth", 400e9),
            ("memory.capacity", 128e9),
            ("dispatch.floor", 50e-6),
            ("efficiency", 0.5),
            ("power.max", 100.0),
        ],
    ),
    (
        "ref-cpu",
        &[
            ("peak.fp32", 1e12),
            ("memory.bandwidth", 50e9),
            ("memory.capacity", 64.0 * GI),
            ("dispatch.floor", 100e-6),
            ("efficiency", 0.5),
        ],
    ),
    (
        "toy3",
        &[
            ("peak.any", 2e9),
            ("efficiency", 1.0),
            ("level.level0.capacity", 64.0),
            ("level.level0.bandwidth", 16e9),
            ("level.level0.energy", 0.1e-12),
            ("level.level1.capacity", 512.0),
            ("level.level1.bandwidth", 8e9),
            ("level.level1.energy", 1e-12),
            ("level.level2.capacity", 2048.0),
            ("level.level2.bandwidth", 2e9),
            ("level.level2.energy", 5e-12),
            ("memory.bandwidth", 2e9),
            ("memory.energy", 160e-12),
            ("dispatch.floor", 0.0),
            ("energy.any", 1e-12),
        ],
    ),
];

/// A processor: cores, fp64 op/s, capacities, and bandwidths of L2, L3 and memory, of the socket and of one core.
struct Processor {
    name: &'static str,
    cores: f64,
    peak: f64,
    capacities: [f64; 3],
    l3_of_core: f64,
    socket: [f64; 3],
    core: [f64; 3],
}

const PROCESSORS: [Processor; 6] = [
    Processor {
        name: "snb-e5-2680",
        cores: 8.0,
        peak: 172.8e9,
        capacities: [32.0 * KI, 256.0 * KI, 20.0 * MI],
        l3_of_core: 20.0 * MI,
        socket: [245e9, 187e9, 43.77e9],
        core: [31.46e9, 23.47e9, 12.30e9],
    },
    Processor {
        name: "hsw-e5-2695v3",
        cores: 14.0,
        peak: 515.2e9,
        capacities: [32.0 * KI, 256.0 * KI, 35.0 * MI],
        l3_of_core: 35.0 * MI,
        socket: [644e9, 284e9, 61.82e9],
        core: [57.94e9, 23.09e9, 8.93e9],
    },
    Processor {
        name: "skx-6148",
        cores: 20.0,
        peak: 1536e9,
        capacities: [32.0 * KI, MI, 27.5 * MI],
        l3_of_core: 27.5 * MI,
        socket: [2257e9, 1440e9, 117.82e9],
        core: [110.92e9, 24.42e9, 14.32e9],
    },
    Processor {
        name: "clx-6248",
        cores: 20.0,
        peak: 1600e9,
        capacities: [32.0 * KI, MI, 28.0 * MI],
        l3_of_core: 14.0 * MI,
        socket: [2407e9, 1514e9, 125.17e9],
        core: [111.02e9, 23.93e9, 12.96e9],
    },
    Processor {
        name: "zen1-7451",
        cores: 24.0,
        peak: 441.6e9,
        capacities: [32.0 * KI, 512.0 * KI, 64.0 * MI],
        l3_of_core: 8.0 * MI,
        socket: [1502e9, 1002e9, 148.50e9],
        core: [70.99e9, 50.16e9, 21.58e9],
    },
    Processor {
        name: "zen2-7452",
        cores: 32.0,
        peak: 1203.2e9,
        capacities: [32.0 * KI, 512.0 * KI, 128.0 * MI],
        l3_of_core: 16.0 * MI,
        socket: [2384e9, 1396e9, 143.46e9],
        core: [74.64e9, 54.10e9, 21.77e9],
    },
];

fn named(name: &str) -> Machine {
    machine(name).unwrap_or_else(|| panic!("{name} is not shipped"))
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

#[test]
fn every_figure_of_the_sources_is_there() {
    for (name, rows) in TABLE {
        let machine = named(name);
        let stated: BTreeMap<String, f64> =
            figures(&machine).into_iter().map(|(f, figure, _)| (f, figure.value)).collect();
        for (field, value) in *rows {
            let found = stated.get(*field).copied();
            assert!(found.is_some_and(|f| close(f, *value, 1e-12)), "{name}: {field} is {found:?}, not {value}");
        }
    }
}

#[test]
fn levels_of_processors_are_filled_by_the_next_level() {
    for p in &PROCESSORS {
        let one = format!("{}-core", p.name);
        let core_capacities = [p.capacities[0], p.capacities[1], p.l3_of_core];
        for (name, cores, peak, capacities, fills) in
            [(p.name, p.cores, p.peak, p.capacities, p.socket), (&one, 1.0, p.peak / p.cores, core_capacities, p.core)]
        {
            let machine = named(name);
            assert!(close(machine.peak[&OpType::Fp64].value, peak, 1e-12), "{name}");
            assert_eq!(machine.cores.as_ref().map(|c| c.value), Some(cores), "{name}");
            assert_eq!(machine.floor.as_ref().map(|f| f.value), Some(0.0), "{name}");
            let found: Vec<(f64, Option<f64>)> =
                machine.levels.iter().map(|l| (l.capacity.value, l.bandwidth.as_ref().map(|b| b.value))).collect();
            let expected: Vec<(f64, Option<f64>)> = capacities.into_iter().zip(fills.map(Some)).collect();
            assert_eq!(found, expected, "{name}");
            assert_eq!(machine.levels.iter().map(|l| l.per_core).collect::<Vec<_>>(), [true, true, false], "{name}");
            assert_eq!(machine.memory.bandwidth.as_ref().map(|b| b.value), Some(fills[2]), "{name}");
        }
    }
}

#[test]
fn ridge_points() {
    let golden = [
        ("ane-h13", 361.11),
        ("ane-h17s", 156.14),
        ("place-engine", 16.0),
        ("place-gpu", 3.0),
        ("place-cpu", 2.0),
        ("fermi-c2050", 7.1528),
        ("a100-80", 153.02),
        ("h100-sxm", 295.22),
        ("h200", 206.04),
        ("b200", 281.25),
        ("mi300x", 246.60),
        ("dgx-spark", 457.88),
        ("tpu-v4", 229.17),
        ("tpu-v5e", 240.54),
        ("tpu-v5p", 166.30),
        ("tpu-v6e", 560.44),
        ("ref-cpu", 20.0),
        ("skx-6148", 13.037),
        ("zen2-7452", 8.387),
    ];
    for (name, ridge) in golden {
        let machine = named(name);
        let bandwidth = machine.memory.bandwidth.as_ref().expect("the bandwidth is stated").value;
        let found = machine.peak[&machine.default_type].value / bandwidth;
        // As many digits as are printed.
        assert!(close(found, ridge, 5e-5), "{name}: {found}, not {ridge}");
    }
}

#[test]
fn shipped_files_are_all_here_without_warnings_and_survive_rewriting() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines");
    let mut files: Vec<String> = std::fs::read_dir(directory)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, names().collect::<Vec<_>>());
    for (name, text) in FILES {
        let path = format!("{name}.toml");
        let parsed = from_text(Path::new(&path), text, Origin::Shipped).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(parsed.warnings, [], "{name}");
        let again = from_text(Path::new(&path), &to_toml(&parsed.machine), Origin::Shipped);
        assert_eq!(again.map(|again| again.machine), Ok(parsed.machine), "{name}");
    }
}

#[test]
fn what_is_known_only_by_heart_says_so() {
    let recalled = [
        ("tpu-v4", "fast_memory"),
        ("tpu-v5e", "fast_memory"),
        ("a100-80", "level.L2.capacity"),
        ("h200", "level.L2.capacity"),
    ];
    for (name, field) in recalled {
        let machine = named(name);
        let all = figures(&machine);
        let (_, figure, _) = all.iter().find(|(f, _, _)| f == field).expect("stated");
        assert_eq!(figure.confidence, Confidence::Recalled, "{name}: {field}");
    }
    assert_eq!(named("m3-max").peak[&OpType::Generic].confidence, Confidence::Estimated);
    let growth = named("fermi-c2050").growth.expect("the growth table");
    assert_eq!(growth.year, 2010.0);
}
