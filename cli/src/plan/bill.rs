//! Money and carbon of running devices for a time: the part of the answer that many questions share.
//!
//! Takes devices, a time and the inputs of [`INPUTS`]; adds energy, carbon and cost to the answer. What is not known is
//! left out, and the answer says which inputs are missing. Formulas: `dmdprof_models::facility`.

use dmdprof_models::facility::{Prices, Site, Use, YEAR, amortised, cost, footprint};

use super::input::{Default, Input, Inputs};
use super::unit::{Allowed, Unit};
use super::value::{Answer, Name, Number};

const MLS: &str = "mlsysim math.qmd";

/// What money and carbon need.
pub const INPUTS: &[Input] = &[
    Input::new("price", Unit::Dollars, Allowed::NotNegative, Default::Perhaps("price"), "price of a device"),
    Input::new(
        "life",
        Unit::Seconds,
        Allowed::Positive,
        Default::Assumed(3.0 * YEAR, "three years, as in mlsysim"),
        "how long a device is used before it is replaced",
    ),
    Input::new("power", Unit::Watts, Allowed::NotNegative, Default::Perhaps("power"), "power of a device"),
    Input::new(
        "pue",
        Unit::Number,
        Allowed::AtLeastOne,
        Default::Assumed(1.4, "a typical data centre; 1.06 liquid, 1.12 best air, 1.58 old"),
        "energy of the facility over that of the devices",
    ),
    Input::new(
        "grid",
        Unit::GramsPerJoule,
        Allowed::NotNegative,
        Default::Assumed(429.0 / dmdprof_models::facility::KWH, "us, in mlsysim's table"),
        "carbon of the grid: 429 g/kWh, or norway, quebec, france, eu, us, poland",
    ),
    Input::new(
        "electricity",
        Unit::DollarsPerJoule,
        Allowed::NotNegative,
        Default::Assumed(0.12 / dmdprof_models::facility::KWH, "mlsysim's default"),
        "price of electricity",
    ),
    Input::new(
        "maintenance",
        Unit::Share,
        Allowed::NotNegative,
        Default::Assumed(0.0, "as in mlsysim's document; its package takes 5 %"),
        "maintenance per year, as a part of the price",
    ),
    Input::new(
        "others",
        Unit::DollarsPerSecond,
        Allowed::NotNegative,
        Default::Assumed(0.0, "nothing stated"),
        "networking, labour and what else is paid, for all devices",
    ),
    Input::new(
        "embodied",
        Unit::Grams,
        Allowed::NotNegative,
        Default::Assumed(0.0, "nothing stated"),
        "carbon of making a device, spread over its life",
    ),
];

/// Figures that frontiers are about.
pub const COST: &str = "cost";
pub const CARBON: &str = "carbon";

/// Adds energy, carbon and cost of `devices` for `time`.
///
/// # Errors
/// Inputs that are known and cannot be used.
pub fn add(inputs: &Inputs<'_>, answer: &mut Answer, devices: Number, time: Number) -> anyhow::Result<()> {
    let power = inputs.maybe("power")?;
    let Some(power) = power else {
        answer.note("Energy, carbon and cost are left out: power is not known (power = \"700 W\", or a machine that states it).");
        return Ok(());
    };
    let usage = Use { power: power.value, devices: devices.value, time: time.value };
    let (pue, grid) = (inputs.get("pue")?, inputs.get("grid")?);
    let site = Site { pue: pue.value, intensity: grid.value, water: 0.0 };
    let found = footprint(&usage, &site)?;
    let energy = answer.figure(
        Name("energy", "energy of the facility", Unit::Joules),
        found.facility,
        "devices * power * time * PUE",
        &[("devices", devices), ("power", power), ("time", time), ("PUE", pue)],
        MLS,
    );
    let (embodied, life) = (inputs.get("embodied")?, inputs.get("life")?);
    let made = amortised(devices.value * embodied.value, life.value, time.value)?;
    answer.figure(
        Name(CARBON, "carbon", Unit::Grams),
        found.carbon + made,
        "energy * grid + devices * embodied * time / life",
        &[
            ("energy", energy),
            ("grid", grid),
            ("devices", devices),
            ("embodied", embodied),
            ("time", time),
            ("life", life),
        ],
        MLS,
    );
    let Some(price) = inputs.maybe("price")? else {
        answer.note("Cost is left out: price is not known (price = \"30000 USD\", or a machine that states it).");
        return Ok(());
    };
    let (rate, maintenance, others) = (inputs.get("electricity")?, inputs.get("maintenance")?, inputs.get("others")?);
    let prices = Prices {
        device: price.value,
        life: life.value,
        energy: rate.value,
        maintenance: maintenance.value,
        others: others.value,
    };
    let found = cost(&usage, found.facility, &prices)?;
    let year = Number::new(YEAR, Unit::Seconds);
    answer.figure(
        Name(COST, "cost", Unit::Dollars),
        found.total(),
        "devices * price * time * (1 / life + maintenance / year) + energy * electricity + others * time",
        &[
            ("devices", devices),
            ("price", price),
            ("time", time),
            ("life", life),
            ("maintenance", maintenance),
            ("year", year),
            ("energy", energy),
            ("electricity", rate),
            ("others", others),
        ],
        "mlsysim math.qmd; maintenance as in its package",
    );
    Ok(())
}
