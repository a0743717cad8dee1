//! `plan energy`: joules of arithmetic and of movement, and whether to race to halt. Formulas:
//! `dmdprof_models::energy`.

use dmdprof_models::energy::{TwoLevels, at_45nm};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const CHOI: &str = "Choi et al., a roofline model of energy, 2013";
const NO_YES: &[&str] = &["no", "yes"];

const INPUTS: &[Input] = &[
    Input::new("work", Unit::Ops, Allowed::NotNegative, Default::Known("work"), "operations"),
    Input::new("traffic", Unit::Bytes, Allowed::NotNegative, Default::Known("traffic"), "bytes from memory"),
    shared::RATE,
    shared::BANDWIDTH,
    Input::new(
        "op-energy",
        Unit::JoulesPerOp,
        Allowed::Positive,
        Default::KnownOr("op_energy", at_45nm::GENERIC_OPERATION, "45 nm, Horowitz 2014"),
        "energy of an operation",
    ),
    Input::new(
        "byte-energy",
        Unit::JoulesPerByte,
        Allowed::Positive,
        Default::KnownOr("byte_energy", at_45nm::DRAM_BYTE, "45 nm, Horowitz 2014"),
        "energy of a byte from memory",
    ),
    Input::new(
        "constant",
        Unit::Watts,
        Allowed::NotNegative,
        Default::KnownOr("idle", 0.0, "nothing stated"),
        "power that is drawn whatever is done",
    ),
];

pub const QUESTION: Question = Question {
    name: "energy",
    about: "Energy of arithmetic, of movement and of time; whether the fastest way is the most economical",
    more: "Two levels (Choi et al. 2013). Joules rest on prices that differ by factors between sources: use the shares and the ratio of two runs, \
           not the joules. Prices of caches are in dmdprof roofline.",
    examples: "\
Examples:
  dmdprof plan energy --profile solver.data --machine h100-sxm
  dmdprof plan energy --work 1e12op --traffic '1 TB' --rate '515 Gop/s' --bandwidth '144 GB/s' \\
      --op-energy '25 pJ/op' --byte-energy '360 pJ/B' --constant '0 W, 122 W'",
    inputs: &[INPUTS],
    goal: "energy",
    least: true,
    time: "time",
    answer,
    tables: None,
};

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (work, traffic) = (inputs.get("work")?, inputs.get("traffic")?);
    let (rate, bandwidth) = (inputs.get("rate")?, inputs.get("bandwidth")?);
    let (op, byte, constant) = (inputs.get("op-energy")?, inputs.get("byte-energy")?, inputs.get("constant")?);
    let machine = TwoLevels {
        peak: rate.value,
        bandwidth: bandwidth.value,
        operation: op.value,
        byte: byte.value,
        constant_power: constant.value,
    };
    let found = machine.estimate(work.value, traffic.value)?;
    let points = machine.balance_points()?;
    let time = answer.figure(
        Name("time", "time", Unit::Seconds),
        found.time,
        "max(W / rate, Q / BW)",
        &[("W", work), ("rate", rate), ("Q", traffic), ("BW", bandwidth)],
        CHOI,
    );
    let operations = answer.figure(
        Name("operations", "energy of operations", Unit::Joules),
        found.operations,
        "W * e_op",
        &[("W", work), ("e_op", op)],
        CHOI,
    );
    let movement = answer.figure(
        Name("movement", "energy of movement", Unit::Joules),
        found.movement,
        "Q * e_mem",
        &[("Q", traffic), ("e_mem", byte)],
        CHOI,
    );
    let still = answer.figure(
        Name("still", "energy of constant power", Unit::Joules),
        found.constant,
        "pi_0 * T",
        &[("pi_0", constant), ("T", time)],
        CHOI,
    );
    let energy = answer.figure(
        Name("energy", "energy", Unit::Joules),
        found.total(),
        "operations + movement + still",
        &[("operations", operations), ("movement", movement), ("still", still)],
        CHOI,
    );
    if energy.value > 0.0 {
        answer.figure(
            Name("movement_share", "share of movement", Unit::Share),
            found.movement / found.total(),
            "movement / energy",
            &[("movement", movement), ("energy", energy)],
            CHOI,
        );
    }
    answer.figure(
        Name("time_balance", "balance in time", Unit::OpsPerByte),
        points.time,
        "rate / BW",
        &[("rate", rate), ("BW", bandwidth)],
        CHOI,
    );
    answer.figure(
        Name("energy_balance", "balance in energy", Unit::OpsPerByte),
        points.energy,
        "e_mem / e_op",
        &[("e_mem", byte), ("e_op", op)],
        CHOI,
    );
    answer.figure(
        Name("effective_balance", "balance in energy with constant power", Unit::OpsPerByte),
        points.effective,
        "e_mem / (e_op + pi_0 / rate)",
        &[("e_mem", byte), ("e_op", op), ("pi_0", constant), ("rate", rate)],
        CHOI,
    );
    answer.add_found(
        Name("race_to_halt", "the fastest way is the most economical", Unit::Word(NO_YES)),
        f64::from(u8::from(points.race_to_halt)),
        "whether effective_balance is at most time_balance",
        &[
            ("effective_balance", Number::new(points.effective, Unit::OpsPerByte)),
            ("time_balance", Number::new(points.time, Unit::OpsPerByte)),
        ],
        CHOI,
    );
    Ok(())
}
