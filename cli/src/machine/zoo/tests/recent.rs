//! The machines of 2026: figures of their sources, typed a second time, and that none is without one.

use super::*;

const TI: f64 = GI * KI;

/// Peak of the default type, bandwidth and capacity of memory, as the sources have them.
const ACCELERATORS: &[(&str, f64, f64, Option<f64>)] = &[
    ("t4", 65e12, 320e9, Some(16.0 * GI)),
    ("gb200", 162e15 / 72.0, 576e12 / 72.0, Some(13.5 * TI / 72.0)),
    ("jetson-agx-orin", 43e12, 204e9, Some(64.0 * GI)),
    ("jetson-orin-nx", 100e12 / 4.0, 102e9, Some(16.0 * GI)),
    ("jetson-orin-nano", 40e12 / 4.0, 68e9, Some(8.0 * GI)),
    ("mi250x", 383e12, 3.2e12, Some(128.0 * GI)),
    ("gaudi2", 432e12, 2.45e12, Some(96.0 * GI)),
    ("gaudi3", 1835e12, 3.7e12, Some(128.0 * GI)),
    ("trainium2", 667e12, 2.9e12, Some(96.0 * GI)),
    ("groq-lpu", 188e12, 80e12, Some(230.0 * MI)),
    ("cerebras-cs3", 125e15, 21e15, Some(44.0 * GI)),
    ("tpu-v1", 65_536.0 * 2.0 * 700e6, 34e9, Some(8.0 * GI)),
    ("tpu-v2", 2.0 * 128.0 * 128.0 * 2.0 * 700e6, 700e9, Some(16.0 * GI)),
    ("tpu-v3", 4.0 * 128.0 * 128.0 * 2.0 * 940e6, 900e9, Some(32.0 * GI)),
    ("iphone-15-pro", 35e12, 51.2e9, Some(8.0 * GI)),
    ("pixel-8", 15e12, 60e9, Some(8.0 * GI)),
    ("snapdragon-8-gen3", 45e12, 77e9, Some(12.0 * GI)),
    ("stm32f407", 168e6, 4.0 * 168e6, Some(192.0 * KI)),
    ("esp32-s3", 500e6, 80e6, Some(4.0 * MI)),
    ("nrf52840", 64e6, 64e6, Some(MI)),
    ("himax-we1", 200e6, 100e6, Some(2.0 * MI)),
    ("ane-h13-chain", 12e12, 85e9, None),
    ("ane-h13-matmul", 4.8e12, 51e9, None),
    ("ane-h13-conv", 1.8e12, 24e9, None),
    ("ane-h17s-matmul", 10_191e9, 24.1e9, None),
    ("ane-h17s-conv", 18_771e9, 24.1e9, None),
    ("m5-gpu", 30_862e9, 229.7e9, None),
    ("m5-cpu", 1898e9, 130.4e9, None),
];

/// Name, cores, clock, op/cycle, bandwidth of memory; capacity and ways of L1, L2 and of a core's part of L3; parts.
type Server = (&'static str, f64, f64, f64, Option<f64>, [(f64, f64); 3], f64);

const SERVERS: &[Server] = &[
    ("zen3-7763", 64.0, 2.45e9, 16.0, Some(204.8e9), [(32.0 * KI, 8.0), (512.0 * KI, 8.0), (32.0 * MI, 16.0)], 8.0),
    ("zen4-9654", 96.0, 2.4e9, 16.0, Some(460.8e9), [(32.0 * KI, 8.0), (MI, 8.0), (32.0 * MI, 16.0)], 12.0),
    ("zen5-9655", 96.0, 2.6e9, 32.0, Some(576e9), [(48.0 * KI, 12.0), (MI, 16.0), (32.0 * MI, 16.0)], 12.0),
    ("icx-8380", 40.0, 2.3e9, 32.0, Some(204.8e9), [(48.0 * KI, 12.0), (1.25 * MI, 20.0), (60.0 * MI, 12.0)], 1.0),
    ("spr-8480", 56.0, 2e9, 32.0, Some(307.2e9), [(48.0 * KI, 12.0), (2.0 * MI, 16.0), (105.0 * MI, 15.0)], 1.0),
    ("emr-8570", 56.0, 2.1e9, 32.0, Some(358.4e9), [(48.0 * KI, 12.0), (2.0 * MI, 16.0), (300.0 * MI, 20.0)], 1.0),
    ("gnr-6980p", 128.0, 2e9, 32.0, Some(614.4e9), [(48.0 * KI, 12.0), (2.0 * MI, 16.0), (504.0 * MI, 16.0)], 1.0),
    ("neoverse-v1-graviton3", 64.0, 2.6e9, 16.0, None, [(64.0 * KI, 0.0), (MI, 0.0), (32.0 * MI, 0.0)], 1.0),
    (
        "neoverse-v2-graviton4",
        96.0,
        2.8e9,
        16.0,
        Some(465.6e9),
        [(64.0 * KI, 0.0), (2.0 * MI, 0.0), (36.0 * MI, 0.0)],
        1.0,
    ),
];

fn value(figure: Option<&crate::machine::Figure>) -> Option<f64> {
    figure.map(|figure| figure.value)
}

#[test]
fn accelerators_and_small_devices() {
    for (name, peak, bandwidth, capacity) in ACCELERATORS {
        let machine = named(name);
        // Two of the peaks are printed with two or three digits.
        assert!(close(machine.peak[&machine.default_type].value, *peak, 5e-3), "{name}");
        assert_eq!(value(machine.memory.bandwidth.as_ref()), Some(*bandwidth), "{name}");
        assert_eq!(value(machine.memory.capacity.as_ref()), *capacity, "{name}");
    }
    for (name, working_set) in [("ane-h13-chain", 2e6), ("ane-h17s-matmul", 4.72e6), ("tpu-v1", 24.0 * MI)] {
        let machine = named(name);
        assert_eq!(machine.levels[0].capacity.value, working_set, "{name}");
        assert_eq!(value(machine.levels[0].bandwidth.as_ref()), value(machine.memory.bandwidth.as_ref()), "{name}");
    }
}

#[test]
fn servers_as_core_and_socket() {
    for (name, cores, clock, each, bandwidth, levels, parts) in SERVERS {
        let (socket, core) = (named(name), named(&format!("{name}-core")));
        assert_eq!(value(socket.cores.as_ref()), Some(*cores), "{name}");
        assert!(close(socket.peak[&OpType::Fp64].value, cores * clock * each, 1e-12), "{name}");
        assert!(close(core.peak[&OpType::Fp64].value, clock * each, 1e-12), "{name}");
        assert_eq!(value(socket.memory.bandwidth.as_ref()), *bandwidth, "{name}");
        for (number, (capacity, ways)) in levels.iter().enumerate() {
            let (of_socket, of_core) = (&socket.levels[number], &core.levels[number]);
            assert_eq!(of_core.capacity.value, *capacity, "{name}");
            let all = if number == 2 { capacity * parts } else { *capacity };
            assert_eq!(of_socket.capacity.value, all, "{name}");
            assert_eq!(of_core.per_core, number < 2, "{name}");
            assert_eq!(value(of_core.ways.as_ref()).unwrap_or(0.0), *ways, "{name}");
        }
    }
    let core = named("neoverse-v2-graviton4-core");
    let fills: Vec<f64> = core.levels.iter().filter_map(|level| value(level.bandwidth.as_ref())).collect();
    assert_eq!(fills, [94.98e9, 79.63e9, 37e9]);
    assert_eq!(value(core.memory.latency.as_ref()), Some(114.6e-9));
}

/// What is not a vendor's, nor measured, is marked.
#[test]
fn figures_of_third_parties_are_guesses() {
    let guesses = [
        ("gnr-6980p", "memory.bandwidth"),
        ("zen5-9655", "peak.fp64"),
        ("pixel-8", "peak.any"),
        ("trainium2", "power.max"),
        ("jetson-orin-nx", "peak.int8"),
    ];
    for (name, field) in guesses {
        let machine = named(name);
        let all = figures(&machine);
        let (_, figure, _) = all.iter().find(|(f, _, _)| f == field).expect("stated");
        assert!(figure.confidence.is_guess(), "{name}: {field}");
    }
}

/// A line without the source that it states.
fn without_source(line: &str) -> String {
    match line.split_once(", source = \"") {
        Some((before, after)) => format!("{before}{}\n", after.split_once('"').map_or("", |(_, rest)| rest)),
        None if line.starts_with("source = ") => String::new(),
        None => format!("{line}\n"),
    }
}

/// Each file with its sources taken away: what rested on them is found.
#[test]
fn a_figure_without_a_source_is_found_in_every_shipped_file() {
    for (name, text) in FILES {
        let path = format!("{name}.toml");
        let found = |text: &str| match from_text(Path::new(&path), text, Origin::Shipped) {
            Err(problems) => problems.to_string().contains("states no source"),
            Ok(_) => false,
        };
        assert!(found(&text.lines().map(without_source).collect::<String>()), "{name}");
    }
}
