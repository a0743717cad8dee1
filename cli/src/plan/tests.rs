//! Whole questions, asked as on the command line: published figures, formulas that say what they compute, limits, and
//! bad input.

use std::path::Path;

use super::defaults::Loaded;
use super::output::{self, Show};
use super::run::{self, PlanResult};
use super::{scenario, unit::Unit, value::Figure};
use crate::commands::plan::line;
use crate::document::{Format, Look, schema};
use crate::estimate::roofline;
use crate::estimate::view::{Choice, View};
use crate::estimate::workload::Work;
use crate::machine::find::Places;
use crate::profile::sample;

mod recent;

/// Asks a line; words are split at blanks, `_` in a word is a blank.
fn ask(text: &str) -> anyhow::Result<PlanResult> {
    let words: Vec<String> = text.split_whitespace().map(|word| word.replace('_', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run::ask(&line::parse(&words)?)
}

#[track_caller]
fn figure(found: &PlanResult, key: &str) -> f64 {
    let number = found.answer.get(key).unwrap_or_else(|| panic!("no {key}: {:?}", found.answer.notes));
    number.value
}

#[track_caller]
fn close(actual: f64, expected: f64, relative: f64) {
    let same = actual == expected || (actual - expected).abs() <= relative * expected.abs();
    assert!(same, "{actual} is not {expected}");
}

/// A line, figures and their published values with the digits that are printed.
const GOLDEN: &[(&str, &[(&str, f64)])] = &[
    // 11.2
    (
        "scaling --time 1_s --communication 0.1_s --tensor 0.1_s --bubble 0.05_s --devices 256 --regime weak",
        &[("efficiency", 0.8), ("effective", 204.8)],
    ),
    // 11.3
    ("scaling --time 1_s --message 1_GB --devices 8 --link 50_GB/s --latency 500_ns", &[("exchange", 0.035007)]),
    ("scaling --time 1_s --message 140_GB --devices 256 --link 50_GB/s --latency 5_us", &[("exchange", 5.580675)]),
    ("scaling --time 1_s --message 140_GB --devices 256 --link 12.5_GB/s --latency 10_us", &[("exchange", 22.3176)]),
    ("scaling --time 1_s --message 1_MB --devices 1024 --link 50_GB/s --latency 5_us", &[("exchange", 0.01026996094)]),
    (
        "scaling --time 1_s --message 1_GB --devices 8 --link 50_GB/s --latency 500_ns --collective tree",
        &[("exchange", 0.120003)],
    ),
    (
        "scaling --time 1_s --message 1_GB --devices 8 --link 50_GB/s --latency 500_ns --collective all-to-all",
        &[("exchange", 0.0175035)],
    ),
    (
        "scaling --time 1_s --message 8_GB --devices 32 --link 25_GB/s --latency 5_us --collective hierarchical-full \
         --node-devices 8 --node-link 300_GB/s --node-latency 500_ns",
        &[("exchange", 0.5733773333)],
    ),
    // 11.4
    ("pipeline --devices 4 --batches 8", &[("bubble", 0.2727272727), ("lost_share", 0.375), ("least_batches", 57.0)]),
    (
        "pipeline --devices 4 --batches 8 --schedule interleaved --chunks 4",
        &[("bubble", 0.0857142857), ("lost_share", 0.09375)],
    ),
    (
        "pipeline --devices 4 --batches 16 --busy 3463.9_ms",
        &[("bubble", 0.1578947368), ("lost_share", 0.1875), ("lost", 0.64948125), ("lost_mlsysim", 0.546931578947)],
    ),
    ("pipeline --devices 4 --batches 57", &[("bubble", 0.05), ("lost_share", 0.0526315789)]),
    ("pipeline --devices 4 --batches 56", &[("bubble", 0.0508474576), ("lost_share", 0.0535714286)]),
    (
        "pipeline --devices 4 --batches 29 --schedule interleaved --chunks 2",
        &[("bubble", 0.0491803279), ("lost_share", 0.0517241379), ("least_batches", 29.0)],
    ),
    ("pipeline --devices 8 --batches 133", &[("bubble", 0.05), ("lost_share", 0.0526315789), ("least_batches", 133.0)]),
    ("pipeline --devices 1 --batches 3 --schedule interleaved --chunks 2", &[("bubble", 0.0), ("lost_share", 0.0)]),
    // 11.5
    ("experts --devices 256 --tensor 8 --pipeline 4", &[("copies", 8.0)]),
    // 11.6
    (
        "serving --parameters 70e9 --model 140_GB --layers 80 --hidden 8192 --tokens 4096 --batch 32 --peak 989_Top/s --eta 0.5 \
         --bandwidth 3.35_TB/s",
        &[("state", 343_597_383_680.0), ("first_token", 37.108351871), ("each_token", 0.144357427964)],
    ),
    (
        "serving --parameters 70e9 --model 140_GB --layers 80 --hidden 1024 --tokens 4096 --batch 32 --peak 989_Top/s --eta 0.5 \
         --bandwidth 3.35_TB/s",
        &[("state", 42_949_672_960.0), ("each_token", 0.054611842627)],
    ),
    (
        "serving --parameters 8.03e9 --model 16.06_GB --layers 32 --hidden 4096 --tokens 2048 --machine h100-sxm --eta 0.5",
        &[("state", 1_073_741_824.0), ("first_token", 0.066523407482), ("first_token_later", 0.07097037)],
    ),
    (
        "serving --parameters 8.03e9 --model 16.06_GB --layers 32 --hidden 1024 --tokens 2048 --peak 989_Top/s --eta 0.5 \
         --bandwidth 3.35_TB/s",
        &[
            ("state", 268_435_456.0),
            ("first_token", 0.066513407482),
            ("each_token", 0.004874159838),
            ("each_token_later", 0.005194159838),
        ],
    ),
    // 11.7, 11.8
    (
        "cost --time 24_h --devices 256 --power 700_W --price 30000_USD --pue 1.12 --grid us",
        &[
            ("it_energy", 4300.8 * 3.6e6),
            ("energy", 4816.896 * 3.6e6),
            ("carbon", 2_066_448.384),
            ("carbon_no_pue", 1_845_043.2),
            ("cost_capital", 7013.698630137),
            ("cost_energy", 578.02752),
            ("cost", 7591.726150137),
        ],
    ),
    (
        "cost --time 24_h --devices 256 --power 700_W --price 30000_USD --pue 1.12 --grid us --maintenance 5_%",
        &[("cost", 8643.780944658), ("cost_maintenance", 1052.054794521)],
    ),
    // 11.9
    (
        "checkpoint --mtbf 10000_h --devices 1000 --save 60_s --time 24_h",
        &[("mtbf_all", 36_000.0), ("young", 2078.460969), ("daly", 2038.653419), ("failure", 0.9092820467)],
    ),
    ("checkpoint --mtbf 10000_h --devices 1000 --save 60_s --rule young", &[("waste", 0.05773502692)]),
    ("checkpoint --mtbf 10000_h --devices 1000 --save 60_s --interval 1000_s", &[("waste", 0.0738888889)]),
    ("checkpoint --mtbf 10000_h --devices 1000 --save 60_s --interval 4000_s", &[("waste", 0.0705555556)]),
    ("checkpoint --mtbf 50000_h --devices 1 --save 60_s", &[("young", 146_969.384567)]),
    ("checkpoint --mtbf 50000_h --devices 256 --save 60_s", &[("mtbf_all", 195.3125 * 3600.0)]),
    (
        "checkpoint --parts 4_x_10000_h_+_2_x_50000_h_+_2_x_20000_h --devices 1 --save 60_s",
        &[("mtbf_all", 1851.851852 * 3600.0)],
    ),
    (
        "checkpoint --mtbf 10_h --devices 1 --state 140_GB --storage 100_GB/s",
        &[("save", 1.4), ("young", 317.490157328)],
    ),
    // 12
    (
        "energy --work 1e12_op --traffic 1_TB --rate 515_Gop/s --bandwidth 144_GB/s --op-energy 25_pJ/op --byte-energy 360_pJ/B",
        &[
            ("time", 6.944444444),
            ("energy", 385.0),
            ("time_balance", 3.576388889),
            ("energy_balance", 14.4),
            ("race_to_halt", 0.0),
        ],
    ),
    (
        "energy --work 1e12_op --traffic 1_TB --rate 515_Gop/s --bandwidth 144_GB/s --op-energy 25_pJ/op --byte-energy 360_pJ/B \
         --constant 122_W",
        &[("energy", 1232.222222), ("race_to_halt", 1.0)],
    ),
    (
        "energy --work 1e12_op --traffic 100_GB --rate 515_Gop/s --bandwidth 144_GB/s --op-energy 25_pJ/op --byte-energy 360_pJ/B \
         --constant 122_W",
        &[("time", 1.941747573), ("energy", 297.893204)],
    ),
    (
        "energy --work 1e12_op --traffic 10_GB --rate 515_Gop/s --bandwidth 144_GB/s --op-energy 25_pJ/op --byte-energy 360_pJ/B \
         --constant 122_W",
        &[("energy", 265.493204)],
    ),
    // 3
    (
        "chips --machine ane-h13 --target h17s --clock 2.36_GHz --share 0.84",
        &[
            ("bandwidth_scaled", 36e9),
            ("floor_scaled", 0.13936440678e-3),
            ("rate_scaled", 18.0218181818e12),
            ("bandwidth_by_clock", 14.853146853e9),
        ],
    ),
    // 4
    (
        "fusion --machine ane-h13 --regions 102760448_op,_933888_B,_401408_B;102760448_op,_933888_B,_401408_B;102760448_op,_933888_B,_0_B",
        &[("unfused", 1001.296e-6), ("fused", 362.892444e-6), ("speedup", 2.759208728), ("one_floor", 541.296e-6)],
    ),
    // 9
    (
        "shelf-life --machine fermi-c2050",
        &[
            ("balance", 7.1527778),
            ("balance_word", 28.611111),
            ("right", 38.816188),
            ("crossing", 2011.7712),
            ("crossing_printed", 2019.8203),
            ("crossing_sqrt2", 2013.7835),
            ("crossing_printed_sqrt2", 2021.8326),
        ],
    ),
    ("shelf-life --machine fermi-c2050 --kernel sorting", &[("right", 10.557173)]),
    // M/M/1 at load 0.8: 5 services in the system.
    (
        "queue --arrivals 8_/s --service 100_ms",
        &[("load", 0.8), ("wait", 0.4), ("time", 0.5), ("inside", 4.0), ("tail", std::f64::consts::LN_10)],
    ),
    ("queue --arrivals 8_/s --service 100_ms --services fixed", &[("wait", 0.2), ("time", 0.3)]),
];

/// All lines with published figures.
fn goldens() -> impl Iterator<Item = &'static (&'static str, &'static [(&'static str, f64)])> {
    GOLDEN.iter().chain(recent::GOLDEN)
}

#[test]
fn published_figures_through_the_command_line() {
    for (text, figures) in goldens() {
        let found = ask(text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
        for (key, expected) in *figures {
            // Eight digits are printed of most, four decimals of crossings.
            close(figure(&found, key), *expected, 3e-8);
        }
    }
}

/// Numbers, names of functions, operators: enough of arithmetic to check what `--explain` prints.
struct Arithmetic<'t> {
    rest: &'t str,
}

impl Arithmetic<'_> {
    fn value(text: &str) -> f64 {
        let mut reader = Arithmetic { rest: text };
        let value = reader.sum();
        assert!(reader.rest.trim().is_empty(), "what is {:?} in {text}?", reader.rest);
        value
    }

    fn eat(&mut self, symbol: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        loop {
            match () {
                () if self.eat("+") => value += self.product(),
                () if self.eat("-") => value -= self.product(),
                () => return value,
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut value = self.power();
        loop {
            match () {
                () if self.eat("*") => value *= self.power(),
                () if self.eat("/") => value /= self.power(),
                () => return value,
            }
        }
    }

    fn power(&mut self) -> f64 {
        let base = self.atom();
        if self.eat("^") { base.powf(self.atom()) } else { base }
    }

    fn atom(&mut self) -> f64 {
        if self.eat("(") {
            let value = self.sum();
            assert!(self.eat(")"));
            return value;
        }
        let end = |text: &str, of: fn(char) -> bool| text.find(|c| !of(c)).unwrap_or(text.len());
        let name = &self.rest[..end(self.rest, |c| c.is_ascii_alphanumeric())];
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name != "inf" {
            self.rest = &self.rest[name.len()..];
            assert!(self.eat("("), "{name} is no number");
            let first = self.sum();
            let second = self.eat(",").then(|| self.sum());
            assert!(self.eat(")"));
            return match (name, second) {
                ("sqrt", None) => first.sqrt(),
                ("log2", None) => first.log2(),
                ("ln", None) => first.ln(),
                ("exp", None) => first.exp(),
                ("ceil", None) => first.ceil(),
                ("floor", None) => first.floor(),
                ("max", Some(second)) => first.max(second),
                ("min", Some(second)) => first.min(second),
                _ => panic!("{name} is unknown"),
            };
        }
        let digits = &self.rest[..end(self.rest, |c| c.is_ascii_alphanumeric() || c == '.')];
        self.rest = &self.rest[digits.len()..];
        digits.parse().unwrap_or_else(|_| panic!("{digits:?} is no number"))
    }
}

/// The formula with exact numbers put in gives the figure: what is printed is what was computed.
fn agrees(figure: &Figure) {
    let text = figure.put_in(|number| format!("({:?})", number.value).replace("e-", "E").replace('E', "/1e"));
    let text = text.replace("e+", "e");
    let value = Arithmetic::value(&text);
    let both_infinite = value.is_infinite() && figure.number.value.is_infinite();
    assert!(
        both_infinite || (value - figure.number.value).abs() <= 1e-9 * figure.number.value.abs().max(1e-300),
        "{}: {} = {text} = {value}, not {}",
        figure.key,
        figure.formula,
        figure.number.value
    );
}

#[test]
fn explained_formulas_give_the_figures() {
    let more = [
        "scaling --time 10_s --serial 5_% --overlap 0.3 --message 1_GB --shrink 0.5 --exchanges 3 --devices 64 --link 1_GB/s --machine h100-sxm",
        "scaling --time 10_s --message 8_GB --devices 32 --link 25_GB/s --collective hierarchical --node-devices 8 --node-link 300_GB/s",
        "scaling --time 10_s --message 8_GB --devices 6 --link 25_GB/s --collective tree",
        "scaling --time 10_s --message 8_GB --devices 6 --link 25_GB/s --collective all-gather --regime weak",
        "scaling --time 10_s --message 8_GB --devices 6 --link 25_GB/s --collective point-to-point",
        "pipeline --devices 4 --batches 16 --schedule zero-bubble --weights 0.5 --busy 1_s --state 8_GB --activation 1_MB --machine h100-sxm",
        "experts --devices 64 --expert 8 --tokens 4096 --token 8_KiB --each 2 --layers 32 --link 50_GB/s",
        "serving --machine h100-sxm --parameters 8e9 --model 16_GB --layers 32 --hidden 1024 --tokens 2048 --batch 8 --arrivals 5_/s",
        "serving --machine h100-sxm --parameters 8e9 --model 16_GB --state-per-token 1_kB --tokens 64 --arrivals 5_/s --level 8_s",
        "queue --arrivals 30_/s --service 100_ms --servers 4 --level 1_s --machine h100-sxm",
        "checkpoint --mtbf infinite --save 60_s --devices 10 --time 1_h --machine h100-sxm",
        "checkpoint --mtbf 50_h --devices 3000 --save 60_s --time 1_h --restart 90_s",
        "cost --machine h100-sxm --time 3_h --runs 1000_/year --movement 0.5 --embodied 150_kg --wue 1.8_l/kWh --others 5_USD/day",
        "chips --machine ane-h17s --units 4 --clock 1_GHz --work 1_Gop --bytes 1_MB",
    ];
    for text in goldens().map(|(text, _)| *text).chain(more) {
        let found = ask(text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
        found.answer.figures.iter().filter(|f| f.is_formula).for_each(agrees);
    }
}

#[test]
fn limits() {
    let one = ask("scaling --time 10_s --message 1_GB --link 1_GB/s --devices 1").unwrap();
    assert_eq!((figure(&one, "time"), figure(&one, "efficiency")), (10.0, 1.0));
    let perfect = ask("scaling --time 10_s --message 0_B --latency 0_s --link 1_GB/s --devices 1000").unwrap();
    assert_eq!(figure(&perfect, "efficiency"), 1.0);
    let never = ask("checkpoint --mtbf infinite --save 60_s --devices 1000").unwrap();
    assert_eq!((figure(&never, "goodput"), figure(&never, "daly")), (1.0, f64::INFINITY));
    assert!(never.answer.notes.iter().any(|note| note.contains("no checkpoints")));
}

/// Asks about the sample profile, which is called p.
fn ask_of_sample(text: &str) -> anyhow::Result<PlanResult> {
    let words: Vec<String> = text.split_whitespace().map(|word| word.replace('_', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ask = line::parse(&words)?;
    ask.library.add(Path::new("p"), "p", sample::small());
    run::ask(&ask)
}

#[test]
fn one_device_takes_what_the_profile_is_estimated_to_take() {
    let machine = Places::from_env().find("toy3").unwrap().machine;
    let loaded = Loaded::new("p".into(), sample::small());
    let view = View::new(&machine, Choice::default().of_program(&loaded.profile)).unwrap();
    let line = roofline::line(&view, &loaded.workloads.program, Work::Flops).unwrap();
    let line_text = "scaling --profile p --machine toy3 --devices 1 --message peak_live --link 1_GB/s";
    let found = ask_of_sample(line_text).unwrap();
    assert_eq!(figure(&found, "time"), line.estimate.total);
    assert_eq!(figure(&found, "message_each"), loaded.profile.totals.peak_live as f64);
    let saved = ask_of_sample("checkpoint --profile p --mtbf 1_h --storage 1_GB/s --devices 1").unwrap();
    assert_eq!(figure(&saved, "save"), loaded.profile.totals.peak_live as f64 / 1e9);
}

#[test]
fn a_profile_without_a_measurement_says_which_option_brings_it() {
    let lines = [
        "scaling --profile p --machine toy3 --devices 2 --message object_halo --link 1_GB/s",
        "scaling --profile p --machine toy3 --devices 2 --message 1_B --link 1_GB/s --function solv",
        "fusion --profile p --machine toy3 --functions main",
        "pipeline --profile p --machine toy3 --devices 2 --batches 2 --stages sequence",
        "checkpoint --mtbf 1_h --storage 1_GB/s --devices 1",
    ];
    let messages =
        lines.map(|text| format!("{text}\n  {:#}", ask_of_sample(text).err().unwrap_or_else(|| panic!("{text}"))));
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn bad_input_says_what_to_do() {
    let lines = [
        "queue --arrivals 10_/s --service 100_ms",
        "queue --arrivals 10 --service 100_ms",
        "queue --arrivals 5_/s --service 100_GB",
        "queue --arrivals 5_/s",
        "scaling --time 1_s --message -1_GB --link 1_GB/s --devices 8",
        "scaling --time 1_s --message object_halo --link 1_GB/s --devices 8",
        "scaling --time 1_s --link 1_GB/s --devices 8",
        "scaling --time 1_s --message 1_B --link 1_GB/s --devices 1..10000000_by_1",
        "scaling --time 1_s --message 1_B --link 1_GB/s --devices 10 --collective hierarchical --node-devices 4 --node-link 1_GB/s",
        "pipeline --devices 4 --batches 8 --chunks 2",
        "experts --devices 256 --tensor 8 --pipeline 4 --expert 16",
        "checkpoint --mtbf 1_h --parts 4_x_1_h --save 1_s --devices 1",
        "chips --machine ane-h13 --target h13 --units 8 --clock 1_GHz",
        "chips --machine ane-h13 --target h11 --clock 1_GHz",
        "cost --time 1_h",
        "cost --time 1_h --machine toy3",
        "serving --tokens 64 --machine h100-sxm --step 64=a.data",
        "fusion --machine ane-h13",
    ];
    let messages = lines.map(|text| format!("{text}\n  {:#}", ask(text).err().unwrap_or_else(|| panic!("{text}"))));
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn sweeps_have_a_best_point_and_frontiers() {
    let line = "scaling --time 1_h --message 10_GB --link 10_GB/s --exchanges 100 --devices 1..1024_by_x2 --power 500_W \
                --price 10000_USD --latency 5_us,1_ms --tornado";
    let found = ask(line).unwrap();
    assert_eq!((found.axes.len(), found.rows.len()), (2, 22));
    let (time, cost) = (found.heading("time").unwrap(), found.heading("cost").unwrap());
    let least = found.rows.iter().map(|row| row.values[time]).fold(f64::INFINITY, f64::min);
    assert_eq!(found.rows[found.best].values[time], least);
    assert_eq!(found.frontiers.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["cost", "carbon"]);
    let frontier = &found.frontiers[0].1;
    for row in &found.rows {
        let beaten = frontier.iter().any(|f| {
            found.rows[*f].values[time] <= row.values[time] && found.rows[*f].values[cost] <= row.values[cost]
        });
        assert!(beaten);
    }
    let sizes: Vec<f64> =
        found.swings.iter().filter_map(|s| Some((s.double.as_ref().ok()? / least).ln().abs())).collect();
    assert!(!sizes.is_empty());
}

#[test]
fn points_without_an_answer_are_told_and_the_others_kept() {
    let found = ask("queue --arrivals 2..12_/s_by_2_/s --service 100_ms").unwrap();
    assert_eq!(found.rows.iter().filter(|row| row.refused.is_some()).count(), 2);
    let text = print("queue --arrivals 2..12_/s_by_2_/s --service 100_ms", Format::Table);
    assert!(text.contains("2 of 6 points have no answer; the first: the load must be below 1"), "{text}");
}

fn print(text: &str, format: Format) -> String {
    let words: Vec<String> = text.split_whitespace().map(|word| word.replace('_', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ask = line::parse(&words).unwrap();
    let found = run::ask(&ask).unwrap();
    let show = Show { explain: true, top: Some(8), y: Vec::new(), format };
    let document = output::document(&ask, &found, &show);
    let mut out = Vec::new();
    document.write(Look { format, width: Some(120), color: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn answers_for_people() {
    let one = print("queue --arrivals 8_/s --service 100_ms", Format::Table);
    let many = print("checkpoint --mtbf 50000_h --state 140_GB --storage 100_GB/s --tornado", Format::Table);
    insta::assert_snapshot!(format!("{one}\n---\n{many}"));
}

#[test]
fn json_follows_the_schema() {
    for text in goldens().map(|(text, _)| *text).chain(["scaling --time 1_s --message 1_MB --link 1_GB/s --tornado"]) {
        let words: Vec<String> = text.split_whitespace().map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ask = line::parse(&words).unwrap();
        let found = run::ask(&ask).unwrap();
        let show = Show { explain: true, format: Format::Json, ..Show::default() };
        assert_eq!(schema::errors(&output::document(&ask, &found, &show)), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn curves_are_drawn_over_the_first_axis_of_numbers() {
    let ask_of = |text: &str| line::parse(&text.split_whitespace().collect::<Vec<_>>()).unwrap();
    let ask = ask_of("pipeline --devices 4 --batches 1..64 --schedule plain,zero-bubble");
    let found = run::ask(&ask).unwrap();
    let charts = output::charts(&ask, &found, &Show::default()).unwrap();
    assert_eq!((charts.len(), charts[0].1.lines.len()), (1, 2));
    let none = ask_of("pipeline --devices 4 --batches 8");
    let found = run::ask(&none).unwrap();
    assert!(output::charts(&none, &found, &Show::default()).is_err());
    let wrong = Show { y: vec!["buble".into()], ..Show::default() };
    let found = run::ask(&ask).unwrap();
    let error = output::charts(&ask, &found, &wrong).unwrap_err().to_string();
    assert!(error.contains("did you mean bubble"), "{error}");
}

fn scenario(text: &str) -> Result<Vec<PlanResult>, String> {
    let places = Places::from_env();
    let asks = scenario::from_text(Path::new("plan.toml"), text, &places).map_err(|error| format!("{error:#}"))?;
    asks.iter().map(run::ask).collect::<anyhow::Result<_>>().map_err(|error| format!("{error:#}"))
}

#[test]
fn scenarios_ask_several_questions() {
    let text = r#"
        schema = 1
        title = "two"
        [common]
        grid = "france"
        time = "24 h"
        [[ask]]
        question = "cost"
        devices = 256
        power = "700 W"
        [[ask]]
        question = "checkpoint"
        mtbf = "10000 h"
        devices = [10, 1000]
        save = "60 s"
    "#;
    let found = scenario(text).unwrap();
    assert_eq!(found.len(), 2);
    close(figure(&found[0], "carbon_no_pue"), 4300.8 * 50.0, 1e-12);
    assert_eq!(found[1].rows.len(), 2);
}

#[test]
fn mistakes_in_scenarios_are_told_with_their_line() {
    let good = "schema = 1\n[[ask]]\nquestion = \"queue\"\narrivals = \"5 /s\"\nservice = \"100 ms\"\n";
    assert!(scenario(good).is_ok());
    let bad = [
        good.replace("arrivals", "arivals"),
        good.replace("\"queue\"", "\"que\""),
        good.replace("schema = 1", "schema = 2"),
        good.replace("schema = 1\n", ""),
        good.replace("question = \"queue\"\n", ""),
        good.replace("\"5 /s\"", "5"),
        good.replace("\"5 /s\"", "{ a = 1 }"),
        good.replace("[[ask]]", "[common]\nlattency = \"1 s\"\n[[ask]]"),
        good.replace("[[ask]]", "[ask]"),
        format!("{good}profile = \"none.data\"\n").replace("schema = 1", "schema = 1\nmade-by = \"make profiles\""),
    ];
    let messages: Vec<String> =
        bad.iter().map(|text| scenario(text).err().unwrap_or_else(|| panic!("{text}"))).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn every_assumption_has_a_reason_and_every_input_parses_its_default() {
    for question in super::questions::ALL {
        let specs = question.specs();
        for (i, spec) in specs.iter().enumerate() {
            assert!(specs[..i].iter().all(|other| other.key != spec.key), "{} twice in {}", spec.key, question.name);
            assert!(!spec.key.contains('_'), "{}", spec.key);
            if let super::input::Default::Assumed(value, why) = spec.default {
                assert!(!why.is_empty());
                spec.check(value).unwrap();
                assert!(!spec.unit.show(value).is_empty());
            }
        }
        assert!(question.about.len() < 130 && question.examples.starts_with("Examples:\n"), "{}", question.name);
    }
    assert_eq!(Unit::Share.show(0.05), "5 %");
}
