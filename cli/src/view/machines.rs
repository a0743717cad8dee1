//! Machines as the page needs them: one rate and links of each, as `dmdprof roofline` would take them for the profile.

use serde::Serialize;

use crate::estimate::view::{Choice, View};
use crate::machine::Machine;
use crate::profile::Profile;

#[derive(Serialize)]
pub struct Described {
    name: String,
    title: String,
    /// Why no times can be estimated for it.
    unusable: Option<String>,
    kind: String,
    peak: f64,
    efficiency: f64,
    compute_guess: bool,
    links: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    level: String,
    capacity: u64,
    bandwidth: f64,
    guess: bool,
}

/// All of them, for what the program computes in.
pub fn describe_all(profile: &Profile, machines: &[Machine]) -> Vec<Described> {
    let choice = Choice::default().of_program(profile);
    machines.iter().map(|machine| describe(machine, choice)).collect()
}

fn describe(machine: &Machine, choice: Choice) -> Described {
    let (name, title) = (machine.name.clone(), machine.title.clone());
    match View::new(machine, choice) {
        Ok(view) => Described {
            name,
            title,
            unusable: None,
            kind: view.kind.to_string(),
            peak: view.peak,
            efficiency: view.efficiency,
            compute_guess: view.compute_guess,
            links: view
                .links
                .iter()
                .map(|link| Link {
                    level: link.level.clone(),
                    capacity: link.link.capacity,
                    bandwidth: link.link.bandwidth,
                    guess: link.guess,
                })
                .collect(),
        },
        Err(error) => Described {
            name,
            title,
            unusable: Some(error.to_string()),
            kind: String::new(),
            peak: 0.0,
            efficiency: 1.0,
            compute_guess: false,
            links: Vec::new(),
        },
    }
}
