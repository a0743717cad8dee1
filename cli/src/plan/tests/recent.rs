//! Training, the network, pages and parts of serving, experts at work, and which machine meets a time: figures of
//! mlsysim 0.1.2 and 0.3.0 (run for this), and by hand.

use super::*;

pub const GOLDEN: &[(&str, &[(&str, f64)])] = &[
    // `TrainingMemoryModel` of 0.3.0; all-reduces by hand: 14 (134217728 B / (8 x 450 GB/s) + 0.5 us), four in each of
    // 20 layers.
    (
        "training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --batch 2 --tensor 8 --pipeline 4 --copies 8 --zero 1 \
         --link 450_GB/s --machine h100-sxm",
        &[
            ("weights", 4.4125e9),
            ("gradients", 4.4125e9),
            ("optimiser_state", 3.309375e9),
            ("activations", 5.70425344e9),
            ("activations_mlsysim", 8.0 * 5.70425344e9),
            ("buffers", 0.489060456e9),
            ("needed", 18.327688896e9),
            ("fits", 1.0),
            ("message", 134_217_728.0),
            ("all_reduce", 528.957831e-6),
            ("exchange", 80.0 * 528.957831e-6),
            ("exchange_mlsysim", 80.0 * 1_050.915662e-6),
        ],
    ),
    // As 0.1.2 counts: half of the bytes.
    (
        "training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --batch 2 --tensor 8 --link 450_GB/s --all-reduces 2",
        &[("exchange", 160.0 * 528.957831e-6)],
    ),
    (
        "training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --batch 8 --tensor 8 --pipeline 4 --copies 8 --zero 3 \
         --optimiser sgd --recompute full",
        &[
            ("weights", 0.5515625e9),
            ("optimiser_state", 1.103125e9),
            ("activations", 1.34217728e9),
            ("needed", 4.649747229e9),
        ],
    ),
    // `calc_activation_memory` of 0.3.0.
    (
        "training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --batch 2 --heads 64 --recompute none",
        &[("activations", 1_041_529_569_280.0)],
    ),
    // By hand, as in the model's tests.
    (
        "network --devices 8 --parameters 8e9 --tokens 4096 --gradients 1_GB --rate 494.5_Top/s --link 50_GB/s --latency 500_ns",
        &[
            ("sent", 1.75e9),
            ("exchange", 0.035007),
            ("computing", 0.397589484),
            ("bound", 0.0),
            ("ridge", 9890.0),
            ("enough", 0.035007 * 494.5e12),
            ("intensity_mlsysim", 1.5),
            ("ridge_mlsysim", 79_120.0),
        ],
    ),
    // `CompressionRunModel` of 0.3.0: 1 s of computing, 2 s of exchange.
    (
        "network --devices 2 --work 1e12_op --gradients 1_GB --rate 1_Top/s --link 0.5_GB/s --latency 0_s --ratio 4 --penalty 10_% \
         --steps 1000",
        &[("bound", 1.0), ("run", 3000.0), ("run_compressed", 1650.0), ("change", -0.45), ("worth", 0.65)],
    ),
    // `SynthesisSolver` of 0.3.0: Llama 3.1 8B.
    (
        "machines --within 50_ms --work 16.06e9_op --traffic 16.06_GB --eta 0.5",
        &[("peak_needed", 0.6424e12), ("bandwidth_needed", 321.2e9), ("balance", 2.0)],
    ),
    // `ContinuousBatchingModel` of 0.3.0: Llama 3.1 8B on an H100, requests of 1024 tokens on average, at most 8192.
    (
        "serving --machine h100-sxm --parameters 8.03e9 --model 16.06_GB --layers 32 --hidden 1024 --tokens 896 --page 16 --longest 8192",
        &[
            ("batch_paged", 516.0),
            ("batch_reserved", 65.0),
            ("paged_gain", 2.306100124766705),
            ("unused_paged", 0.007769367691763729),
        ],
    ),
    (
        "serving --machine h100-sxm --parameters 8.03e9 --model 16.06_GB --layers 32 --hidden 1024 --tokens 896 --page 1000",
        &[("pages", 2.0), ("batch_paged", 266.0)],
    ),
    // `ServingModel` of 0.3.0: the longest part of 8192 tokens in parts of 512.
    (
        "serving --machine h100-sxm --parameters 8.03e9 --model 16.06_GB --layers 32 --hidden 4096 --tokens 8192 --eta 0.5 --chunk 512",
        &[("parts", 16.0), ("stall_later", 0.021085314975838223), ("first_token_later", 0.33721504)],
    ),
    // `MoERoutingModel`: 2 of 8 experts per token.
    (
        "experts --devices 64 --expert 8 --experts 8 --each 2 --imbalance 1.5 --parameters 12.9e9 --tokens 4096 --token 8_KiB \
         --link 50_GB/s",
        &[("experts_busy", 3.0), ("parameters_busy", 19.35e9)],
    ),
    (
        "experts --devices 64 --expert 8 --experts 8 --each 2 --imbalance 7 --parameters 12.9e9 --tokens 4096 --token 8_KiB \
         --link 50_GB/s",
        &[("experts_busy", 8.0), ("imbalance_bounded", 4.0)],
    ),
];

/// What was said of all-reduces is in the table of inputs, also where nobody said it.
#[test]
fn four_all_reduces_are_assumed_and_said() {
    let line = "training --parameters 7e9 --layers 32 --hidden 4096 --tokens 2048 --tensor 8 --link 450_GB/s";
    let found = ask(line).unwrap();
    let (_, number, origin) = found.inputs.iter().find(|(spec, ..)| spec.key == "all-reduces").unwrap();
    assert_eq!((number.value, number.guess, origin.kind), (4.0, true, "assumed"));
    assert!(origin.why.contains("mlsysim 0.1.2 has 2"), "{}", origin.why);
    let older = ask(&format!("{line} --all-reduces 2")).unwrap();
    close(figure(&older, "exchange"), figure(&found, "exchange") / 2.0, 1e-12);
}

#[test]
fn without_new_inputs_serving_and_experts_answer_as_before() {
    let line =
        "serving --machine h100-sxm --parameters 8e9 --model 16_GB --layers 32 --hidden 1024 --tokens 2048 --batch 8";
    let (plain, parts) = (ask(line).unwrap(), ask(&format!("{line} --chunk 2048")).unwrap());
    assert!(plain.answer.get("batch_paged").is_none() && plain.answer.get("parts").is_none());
    assert_eq!(figure(&plain, "request"), figure(&parts, "request"));
    let line = "experts --devices 64 --expert 8 --tokens 4096 --token 8_KiB --each 2 --link 50_GB/s --imbalance 3";
    let (plain, many) = (ask(line).unwrap(), ask(&format!("{line} --experts 64")).unwrap());
    assert_eq!(figure(&plain, "exchange"), figure(&many, "exchange"));
}

#[test]
fn refusals_name_what_to_state() {
    let lines = [
        ("training --parameters 1e9 --layers 2 --hidden 8 --tokens 4 --recompute none", "heads is not known; state it"),
        ("network --devices 8 --gradients 1_GB --link 1_GB/s --rate 1_Top/s", "work is not known; state it"),
        (
            "network --devices 8 --work 1e9_op --gradients 1_GB --link 1_GB/s --rate 1_Top/s --ratio 0.5",
            "ratio must be at least 1",
        ),
        ("machines --within 5_us --work 1e9_op --machine h100-sxm", "the fixed time of a run alone is"),
        (
            "serving --machine h100-sxm --parameters 8e9 --model 16_GB --layers 32 --hidden 1024 --tokens 2048 --page 16 --longest 10",
            "mean length must be at most 10",
        ),
        (
            "experts --devices 64 --expert 8 --experts 2 --each 4 --tokens 4096 --token 8_KiB --link 50_GB/s",
            "must be at least 4",
        ),
    ];
    for (line, what) in lines {
        let error = format!("{:#}", ask(line).err().unwrap_or_else(|| panic!("{line}")));
        assert!(error.contains(what), "{line}: {error}");
    }
}

/// What is needed is what the machines that meet the time have, stated or from a profile.
#[test]
fn machines_that_meet_a_time_have_what_it_needs() {
    let text = print("machines --within 2_ms --work 1e12_op --traffic 1_GB --state 100_GB", Format::Json);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sheets = document["sheets"].as_array().unwrap();
    let rows = sheets.iter().find(|sheet| sheet["name"] == "machines").unwrap()["rows"].as_array().unwrap().clone();
    let of = |name: &str| rows.iter().find(|row| row["machine"] == name);
    // 1e12 op at half of 1307 Top/s are 1.53 ms, with 12 us; an H100 takes 2.03 ms.
    let fast = of("mi300x").unwrap();
    close(fast["seconds"].as_f64().unwrap(), 1e12 / 653.5e12 + 12e-6, 1e-12);
    assert_eq!((&fast["meets"], &fast["room"]), (&"yes".into(), &"yes".into()));
    assert_eq!(of("h100-sxm").unwrap()["meets"], "no");
    assert!(rows.windows(2).all(|two| two[0]["seconds"].as_f64() <= two[1]["seconds"].as_f64()));

    let found = ask_of_sample("machines --within 1_s --profile p --machine toy3").unwrap();
    let time = figure(
        &ask_of_sample("scaling --profile p --machine toy3 --devices 1 --message 0_B --link 1_GB/s").unwrap(),
        "time",
    );
    let sheet = found.answer.sheets.iter().find(|sheet| sheet.key == "machines").unwrap();
    let text = format!("{:?}", sheet.rows);
    assert!(text.contains("toy3") && text.contains(&format!("{time:?}")), "{text}");
    // Elsewhere one dispatch is added.
    let there = figure(
        &ask_of_sample("scaling --profile p --machine h100-sxm --devices 1 --message 0_B --link 1_GB/s").unwrap(),
        "time",
    );
    assert!(text.contains(&format!("{:?}", there + 10e-6)), "{text}");
}
