//! `plan cost`: energy, carbon, water and cost of ownership, per run, per million calls and per year; what less
//! movement is worth. Formulas: `dmdprof_models::facility`.

use dmdprof_models::facility::YEAR;

use super::super::bill;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const MLS: &str = "mlsysim math.qmd";

const INPUTS: &[Input] = &[
    Input::new("time", Unit::Seconds, Allowed::NotNegative, Default::Known("time"), "time of a run"),
    Input::new("devices", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "one"), "devices that a run keeps"),
    Input::new("calls", Unit::Count, Allowed::Positive, Default::KnownOr("calls", 1.0, "one"), "calls in a run"),
    Input::new("runs", Unit::PerSecond, Allowed::Positive, Default::Optional, "runs per time, as in 100000 /year"),
    Input::new(
        "movement",
        Unit::Share,
        Allowed::NotNegative,
        Default::Perhaps("movement"),
        "part of the time that waits for data",
    ),
    Input::new(
        "wue",
        Unit::LitresPerJoule,
        Allowed::NotNegative,
        Default::Assumed(0.0, "mlsysim: 0.5, 1.8 or 0 l/kWh"),
        "water per energy of the devices",
    ),
];

pub const QUESTION: Question = Question {
    name: "cost",
    about: "Energy, carbon and cost of ownership per run, per million calls and per year; what 1 % less movement is worth",
    more: "PUE counts once. The price is spread over the life; maintenance is an option. Devices are paid for while they run this program: idle \
           time is somebody else's. mlsysim's package differs in three places, and its figures are given beside ours.",
    examples: "\
Examples:
  dmdprof plan cost --profile job.data --machine h100-sxm --runs '100000 /year' --grid france
  dmdprof plan cost --time '24 h' --devices 256 --power '700 W' --price '30000 USD' --pue 1.12 --explain
  dmdprof plan cost --time '24 h' --devices 256 --power '700 W' --price '30000 USD' --grid norway,france,eu,us,poland --tornado",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "cost",
    least: true,
    time: "time",
    answer,
    tables: None,
};

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (time, devices) = (inputs.get("time")?, inputs.get("devices")?);
    let power = inputs.get("power")?;
    let it = answer.figure(
        Name("it_energy", "energy of the devices", Unit::Joules),
        devices.value * power.value * time.value,
        "devices * power * time",
        &[("devices", devices), ("power", power), ("time", time)],
        MLS,
    );
    bill::add(inputs, answer, devices, time)?;
    answer.figure(Name("time", "time", Unit::Seconds), time.value, "time", &[("time", time)], "input");
    let wue = inputs.get("wue")?;
    answer.figure(
        Name("water", "water", Unit::Litres),
        it.value * wue.value,
        "it_energy * WUE",
        &[("it_energy", it), ("WUE", wue)],
        MLS,
    );
    let carbon = answer.get(bill::CARBON).expect("power is known");
    sources(inputs, answer, it)?;
    let million = Number::new(1e6, Unit::Count);
    let calls = inputs.get("calls")?;
    let scale = |answer: &mut Answer, name, number: Number| {
        let with = [("run", number), ("million", million), ("calls", calls)];
        answer.figure(name, number.value * 1e6 / calls.value, "run * million / calls", &with, "proportional")
    };
    scale(answer, Name("carbon_million", "carbon of a million calls", Unit::Grams), carbon);
    let cost = answer.get(bill::COST);
    if let Some(cost) = cost {
        scale(answer, Name("cost_million", "cost of a million calls", Unit::Dollars), cost);
    }
    yearly(inputs, answer, time, carbon, cost)
}

/// The parts of the cost, and what the source's package has instead.
fn sources(inputs: &Inputs<'_>, answer: &mut Answer, it: Number) -> anyhow::Result<()> {
    let (grid, pue) = (inputs.get("grid")?, inputs.get("pue")?);
    let with = [("it_energy", it), ("PUE", pue), ("grid", grid)];
    let wrong = "mlsysim's package in some revisions; PUE counts once";
    answer.figure(
        Name("carbon_no_pue", "carbon without PUE", Unit::Grams),
        it.value * grid.value,
        "it_energy * grid",
        &with,
        wrong,
    );
    answer.figure(
        Name("carbon_pue_twice", "carbon with PUE twice", Unit::Grams),
        it.value * pue.value * pue.value * grid.value,
        "it_energy * PUE * PUE * grid",
        &with,
        wrong,
    );
    let (time, devices, energy) =
        (inputs.get("time")?, inputs.get("devices")?, answer.get("energy").expect("power is known"));
    let rate = inputs.get("electricity")?;
    let paid = answer.figure(
        Name("cost_energy", "cost of energy", Unit::Dollars),
        energy.value * rate.value,
        "energy * electricity",
        &[("energy", energy), ("electricity", rate)],
        MLS,
    );
    let Some(price) = inputs.maybe("price")? else { return Ok(()) };
    let (life, maintenance) = (inputs.get("life")?, inputs.get("maintenance")?);
    let whole = devices.value * price.value;
    answer.figure(
        Name("cost_capital", "share of the price", Unit::Dollars),
        whole * time.value / life.value,
        "devices * price * time / life",
        &[("devices", devices), ("price", price), ("time", time), ("life", life)],
        MLS,
    );
    let year = Number::new(YEAR, Unit::Seconds);
    let kept = answer.figure(
        Name("cost_maintenance", "maintenance", Unit::Dollars),
        whole * maintenance.value * time.value / YEAR,
        "devices * price * maintenance * time / year",
        &[("devices", devices), ("price", price), ("maintenance", maintenance), ("time", time), ("year", year)],
        "mlsysim's package; not in its document",
    );
    answer.figure(
        Name("cost_not_amortised", "cost with the whole price", Unit::Dollars),
        whole + paid.value + kept.value,
        "devices * price + energy_cost + maintenance_cost",
        &[("devices", devices), ("price", price), ("energy_cost", paid), ("maintenance_cost", kept)],
        "mlsysim's package: the price is not spread over the life",
    );
    Ok(())
}

fn yearly(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    time: Number,
    carbon: Number,
    cost: Option<Number>,
) -> anyhow::Result<()> {
    let movement = inputs.maybe("movement")?;
    let percent = Number::new(0.01, Unit::Share);
    let worth = |answer: &mut Answer, name, number: Number, movement: Number| {
        let with = [("all", number), ("percent", percent), ("movement", movement)];
        answer.figure(
            name,
            number.value * 0.01 * movement.value,
            "all * percent * movement",
            &with,
            "time bound by movement shrinks in proportion to it",
        )
    };
    let Some(runs) = inputs.maybe("runs")? else {
        if let (Some(movement), Some(cost)) = (movement, cost) {
            worth(answer, Name("worth", "1 % less movement saves, per run", Unit::Dollars), cost, movement);
        }
        return Ok(());
    };
    let year = Number::new(YEAR, Unit::Seconds);
    let mut scale = |name, number: Number| {
        let with = [("run", number), ("runs", runs), ("year", year)];
        answer.figure(name, number.value * runs.value * YEAR, "run * runs * year", &with, "proportional")
    };
    let energy = scale(Name("time_year", "device time of a year", Unit::Seconds), time);
    debug_assert!(energy.value >= 0.0);
    let carbon = scale(Name("carbon_year", "carbon of a year", Unit::Grams), carbon);
    let cost = cost.map(|cost| scale(Name("cost_year", "cost of a year", Unit::Dollars), cost));
    let Some(movement) = movement else {
        answer.note("What less movement is worth is left out: movement is not known (a profile and a machine say it).");
        return Ok(());
    };
    worth(answer, Name("worth_carbon", "1 % less movement saves, per year", Unit::Grams), carbon, movement);
    if let Some(cost) = cost {
        worth(answer, Name("worth", "1 % less movement saves, per year", Unit::Dollars), cost, movement);
    }
    Ok(())
}
