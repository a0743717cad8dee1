//! Facility: energy, carbon, water and money of running devices for a time.
//!
//! Takes power, time, the overheads of a data centre and prices, gives energy with and without overhead, emissions,
//! water, and the parts of the cost of ownership. Refuses negative figures, a PUE below 1, and a life of no time.
//!
//! Source: mlsysim (Machine Learning Systems book), `math.qmd`.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | PUE, WUE | facility energy over that of the devices; water per energy of the devices | 1, m3/J |
//! | intensity | emissions of the grid | kg/J |
//!
//! * facility energy `power x time x PUE`, PUE exactly once; carbon `facility energy x intensity`
//! * embodied carbon and price count by the part of the life that is used: `price x time / life`
//! * cost `price x time / life + facility energy x rate + price x maintenance x time / year + others`
//!
//! The package has applied PUE in different places in different revisions (not at all, once, twice), does not spread
//! the price over the life, and has maintenance, which the document lacks; networking and labour are in the document
//! only.

use crate::error::{InputError, at_least, not_negative, positive};

/// Seconds in a year of 365 days.
pub const YEAR: f64 = 365.0 * 86_400.0;
/// Joules in a kilowatt-hour.
pub const KWH: f64 = 3.6e6;

/// What runs for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Of one device, watts.
    pub power: f64,
    /// How many devices.
    pub devices: f64,
    /// Seconds.
    pub time: f64,
}

/// What surrounds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// At least 1.
    pub pue: f64,
    /// Grams per joule.
    pub intensity: f64,
    /// Litres per joule of the devices.
    pub water: f64,
}

/// Energy in joules, mass in grams, water in litres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Of the devices.
    pub devices: f64,
    /// With the overhead of the facility.
    pub facility: f64,
    /// Of the energy.
    pub carbon: f64,
    /// Litres of water.
    pub water: f64,
}

/// Energy of `usage` at `site`.
///
/// # Errors
///
/// If a figure is negative or the PUE below 1.
pub fn footprint(usage: &Use, site: &Site) -> Result<Footprint, InputError> {
    let devices = usage.joules()?;
    let facility = devices * at_least("PUE", 1.0, site.pue)?;
    let carbon = facility * not_negative("carbon intensity", site.intensity)?;
    Ok(Footprint { devices, facility, carbon, water: devices * not_negative("water per energy", site.water)? })
}

impl Use {
    fn joules(&self) -> Result<f64, InputError> {
        let watts = not_negative("power", self.power)? * not_negative("devices", self.devices)?;
        Ok(watts * not_negative("time", self.time)?)
    }
}

/// What belongs to `time` seconds of something that costs `whole` once and lasts `life` seconds: money, or embodied
/// carbon.
///
/// # Errors
///
/// If the life is not positive, or the price or the time negative.
pub fn amortised(whole: f64, life: f64, time: f64) -> Result<f64, InputError> {
    Ok(not_negative("price", whole)? * not_negative("time", time)? / positive("life", life)?)
}

/// Prices of owning devices, in one currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Of one device.
    pub device: f64,
    /// Seconds that it lasts.
    pub life: f64,
    /// Per joule.
    pub energy: f64,
    /// Part of the price per year.
    pub maintenance: f64,
    /// Networking, labour and what else is paid per second.
    pub others: f64,
}

/// Cost by part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Paying for the devices.
    pub capital: f64,
    /// Paying for the energy.
    pub energy: f64,
    /// Keeping the devices in order.
    pub maintenance: f64,
    /// Networking, labour and the rest.
    pub others: f64,
}

impl Cost {
    /// All parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.capital + self.energy + self.maintenance + self.others
    }
}

/// Cost of `usage` whose facility takes `joules`.
///
/// # Errors
///
/// If the life is not positive, or another figure is negative.
pub fn cost(usage: &Use, joules: f64, prices: &Prices) -> Result<Cost, InputError> {
    let devices = not_negative("devices", usage.devices)? * not_negative("price of a device", prices.device)?;
    let time = not_negative("time", usage.time)?;
    Ok(Cost {
        capital: amortised(devices, prices.life, time)?,
        energy: not_negative("energy", joules)? * not_negative("price of energy", prices.energy)?,
        maintenance: devices * not_negative("maintenance", prices.maintenance)? * time / YEAR,
        others: not_negative("other costs", prices.others)? * time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};

    const DAY: Use = Use { power: 700.0, devices: 256.0, time: 86_400.0 };
    const US: Site = Site { pue: 1.12, intensity: 429.0 / KWH, water: 0.0 };

    #[test]
    fn published_energy_and_carbon() {
        let found = footprint(&DAY, &US).unwrap();
        close_to(found.devices / KWH, 4300.8, FORMULA);
        close_to(found.facility / KWH, 4816.896, FORMULA);
        close_to(found.carbon, 2_066_448.384, FORMULA);
        // What the package gives without PUE, and with it twice.
        close_to(footprint(&DAY, &Site { pue: 1.0, ..US }).unwrap().carbon, 1_845_043.2, FORMULA);
        prints(footprint(&DAY, &Site { pue: 1.12 * 1.12, ..US }).unwrap().carbon / 1000.0, 2314.42, 2);
        let of = |grams: f64| footprint(&DAY, &Site { intensity: grams / KWH, ..US }).unwrap().carbon;
        close_to(of(820.0) / of(20.0), 41.0, FORMULA);
        close_to(footprint(&DAY, &Site { water: 1.8 / KWH, ..US }).unwrap().water, 1.8 * 4300.8, FORMULA);
    }

    #[test]
    fn published_cost_of_a_day() {
        let prices = Prices { device: 30_000.0, life: 3.0 * YEAR, energy: 0.12 / KWH, maintenance: 0.0, others: 0.0 };
        let energy = 4816.896 * KWH;
        let found = cost(&DAY, energy, &prices).unwrap();
        prints(found.capital, 7013.698630, 6);
        prints(found.energy, 578.027520, 6);
        prints(found.total(), 7591.726150, 6);
        let found = cost(&DAY, energy, &Prices { maintenance: 0.05, ..prices }).unwrap();
        prints(found.maintenance, 1052.054795, 6);
        prints(found.total(), 8643.780945, 6);
        close_to(cost(&DAY, 0.0, &Prices { others: 1.0, ..prices }).unwrap().others, 86_400.0, FORMULA);
    }

    #[test]
    fn everything_is_proportional_to_time() {
        let prices = Prices { device: 1.0, life: YEAR, energy: 1.0, maintenance: 0.1, others: 0.5 };
        let at = |time| {
            let usage = Use { time, ..DAY };
            let footprint = footprint(&usage, &US).unwrap();
            (footprint.carbon, cost(&usage, footprint.facility, &prices).unwrap().total())
        };
        close_to(at(20.0).0, 2.0 * at(10.0).0, FORMULA);
        close_to(at(20.0).1, 2.0 * at(10.0).1, FORMULA);
        assert_eq!(at(0.0), (0.0, 0.0));
    }

    #[test]
    fn impossible_figures_are_named() {
        let error = footprint(&DAY, &Site { pue: 0.9, ..US }).unwrap_err();
        assert_eq!(error.to_string(), "PUE must be at least 1, is 0.9");
        assert_eq!(amortised(1.0, 0.0, 1.0).unwrap_err().to_string(), "life must be positive, is 0");
        let error = footprint(&Use { power: -1.0, ..DAY }, &US).unwrap_err();
        assert_eq!(error.to_string(), "power must not be negative, is -1");
    }
}
