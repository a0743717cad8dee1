//! A machine as the models see it: one type of operation, its rates, and the links between levels.
//!
//! Takes a [`Machine`] and what the user chose, gives numbers a model can use and remembers which of them are guesses.
//! Refuses a machine that lacks what is needed, naming the field.

use anyhow::bail;
use dmdprof_models::roofline::{Bound, Link, Roof};

use super::guesses::Guesses;
use super::stacks::{Stack, Stacks};
use crate::document::Value;
use crate::machine::{Level, Machine, OpType, WritePolicy};
use crate::profile::Profile;

/// What the user chose about machines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Type of the operations; else the one that the program computes in, else the machine's.
    pub kind: Option<OpType>,
    /// Type of most of the program's floating-point operations.
    pub used: Option<OpType>,
    /// Capacity to assume, in bytes, for machines that state no level.
    pub capacity: Option<u64>,
    /// Share of the peak that the code reaches; else the machine's.
    pub efficiency: Option<f64>,
    /// Bytes of the lines that were measured, if any were.
    pub lines: Option<u32>,
    /// Whose depths were measured.
    pub stacks: Stacks,
}

impl Choice {
    /// This choice, knowing what the program computes in.
    #[must_use]
    pub fn of_program(self, profile: &Profile) -> Self {
        let lines = profile.line_size();
        Choice { used: float_type(profile).map(|(kind, _)| kind), lines, stacks: Stacks::from_profile(profile), ..self }
    }

    /// The type of operation to take on a machine. The machine's own stands in for a type of which it states no rate;
    /// that is a guess.
    pub fn kind_on(self, machine: &Machine, guesses: &mut Guesses) -> OpType {
        let default = machine.default_type;
        let used = self.used.filter(|_| self.kind.is_none());
        if let Some(used) = used.filter(|used| !machine.peak.contains_key(used) && default != OpType::Generic) {
            guesses.stands_in(
                format!("the rate of {default}"),
                format!("the program computes in {used}, for which none is stated"),
            );
        }
        self.kind.or(used.filter(|used| machine.peak.contains_key(used))).unwrap_or(default)
    }

    /// Share of the peak to take on a machine, and whether it is a guess; 1 if nobody says.
    pub fn efficiency_on(self, machine: &Machine, guesses: &mut Guesses) -> (f64, bool) {
        match (self.efficiency, &machine.efficiency) {
            (Some(efficiency), _) => {
                guesses.assumed(format!("efficiency {efficiency}"));
                (efficiency, true)
            }
            (None, Some(figure)) => (figure.value, guesses.note(&format!("efficiency {}", figure.value), figure)),
            (None, None) => (1.0, false),
        }
    }
}

/// In what type most of a program's floating-point operations are, and the share of those. `None` if it is not known.
#[must_use]
pub fn float_type(profile: &Profile) -> Option<(OpType, f64)> {
    const TYPES: [OpType; 4] = [OpType::Bf16, OpType::Fp16, OpType::Fp32, OpType::Fp64];
    let all: u128 = profile.flops_by_type.iter().sum();
    let (most, kind) = profile.flops_by_type.into_iter().zip(TYPES).max_by_key(|(flops, _)| *flops)?;
    (most > 0).then(|| (kind, most as f64 / all as f64))
}

/// One link of a machine, with the level that it fills.
#[derive(Clone, Debug)]
pub struct ViewLink {
    pub level: String,
    pub link: Link,
    /// Capacity, bandwidth or size of lines is a guess.
    pub guess: bool,
    /// What the level does with stores.
    pub write: WritePolicy,
    /// Where its traffic is from.
    pub stack: Stack,
    /// Who has one part of it together, in words.
    pub sharers: Value,
}

/// A machine for one type of operation.
#[derive(Clone, Debug)]
pub struct View<'m> {
    pub machine: &'m Machine,
    pub kind: OpType,
    /// op/s.
    pub peak: f64,
    /// Share of the peak; 1 if the machine states none.
    pub efficiency: f64,
    /// Peak or efficiency is a guess.
    pub compute_guess: bool,
    /// Innermost level first; never empty.
    pub links: Vec<ViewLink>,
    /// Seconds per dispatch, and whether they are a guess.
    pub floor: (f64, bool),
    pub guesses: Guesses,
    /// Whose depths were measured.
    pub stacks: Stacks,
}

const MODEL: &str = "the roofline";

/// Whether the lines that were measured stand in for those of a level, which are of another size, or of one that nobody
/// states.
fn is_other_line(level: &Level, size: u32, guesses: &mut Guesses) -> bool {
    let what = format!("lines of {size} B in {}", level.name);
    match &level.line {
        Some(line) if line.value == f64::from(size) => guesses.note(&what, line),
        Some(line) => {
            guesses.stands_in(what, format!("its own are measured by --line-size {}", line.value));
            true
        }
        None => {
            guesses.stands_in(what, "the machine does not state their size".into());
            true
        }
    }
}

impl<'m> View<'m> {
    /// # Errors
    /// When the machine has no rate for the type of operation, no level and no capacity is assumed, or a level has no
    /// bandwidth.
    pub fn new(machine: &'m Machine, choice: Choice) -> anyhow::Result<Self> {
        let mut guesses = Guesses::default();
        let kind = choice.kind_on(machine, &mut guesses);
        let type_guess = !guesses.is_empty();
        let Ok(peak) = machine.peak_of(kind, MODEL) else {
            let types: Vec<&str> = machine.peak.keys().map(|k| k.word()).collect();
            bail!("machine {} has no rate for {kind}; --type can be {}", machine.name, types.join(", "));
        };
        let peak_guess = guesses.note(&format!("peak {kind}"), peak);
        let (efficiency, efficiency_guess) = choice.efficiency_on(machine, &mut guesses);
        let mut links = Vec::new();
        let bandwidths = machine.bandwidths();
        let none_stated = bandwidths.iter().all(Option::is_none);
        for (number, (level, bandwidth)) in machine.levels.iter().zip(&bandwidths).enumerate() {
            let name = &level.name;
            if bandwidth.is_none() && !none_stated {
                guesses.stands_in(
                    format!("no {name}"),
                    format!("how fast it is filled is not stated: level[{number}].bandwidth"),
                );
                continue;
            }
            let bandwidth = machine.need(bandwidth, &format!("level[{number}].bandwidth"), MODEL)?;
            let capacity_guess = guesses.note(&format!("capacity of {name}"), &level.capacity);
            let bandwidth_guess = guesses.note(&format!("bandwidth into {name}"), bandwidth);
            let line_guess = choice.lines.is_some_and(|size| is_other_line(level, size, &mut guesses));
            links.push(ViewLink {
                level: name.clone(),
                link: Link {
                    capacity: choice.stacks.capacity(level, machine.cores.as_ref()),
                    bandwidth: bandwidth.value,
                },
                guess: capacity_guess || bandwidth_guess || line_guess,
                write: level.write.unwrap_or(WritePolicy::Back),
                stack: choice.stacks.for_level(level),
                sharers: Stacks::sharers(level),
            });
        }
        if links.is_empty() {
            let bandwidth = machine.need(&machine.memory.bandwidth, "memory.bandwidth", MODEL)?;
            let stated = machine.fast_memory.as_ref().filter(|_| choice.capacity.is_none());
            let Some(capacity) = choice.capacity.or(stated.map(|figure| figure.value as u64)) else {
                bail!(
                    "machine {} states no level with a capacity, so how much it has to fetch from memory cannot be told; \
                     --assume-capacity SIZE says how much fast memory to assume",
                    machine.name
                );
            };
            guesses.note("bandwidth of memory", bandwidth);
            match stated {
                Some(_) => guesses.stands_in(
                    format!("{capacity} B of fast memory as the only level"),
                    "the machine states no levels".into(),
                ),
                None => guesses.assumed(format!("{capacity} B of fast memory")),
            }
            let link = Link { capacity, bandwidth: bandwidth.value };
            let level = if stated.is_some() { "fast memory" } else { "assumed" };
            links.push(ViewLink {
                level: level.into(),
                link,
                guess: true,
                write: WritePolicy::Back,
                stack: Stack::Main,
                sharers: Value::Empty,
            });
        }
        let floor = machine.floor.as_ref().filter(|f| f.value > 0.0);
        let floor = floor.map_or((0.0, false), |f| (f.value, guesses.note("dispatch floor", f)));
        Ok(View {
            machine,
            kind,
            peak: peak.value,
            efficiency,
            compute_guess: type_guess || peak_guess || efficiency_guess,
            links,
            floor,
            guesses,
            stacks: choice.stacks,
        })
    }

    /// The links alone.
    #[must_use]
    pub fn bare_links(&self) -> Vec<Link> {
        self.links.iter().map(|l| l.link).collect()
    }

    /// The roof over these links.
    #[must_use]
    pub fn roof<'l>(&self, links: &'l [Link]) -> Roof<'l> {
        Roof { peak: self.peak, efficiency: self.efficiency, links }
    }

    /// op/s that arithmetic reaches.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.peak * self.efficiency
    }

    /// The link from memory.
    #[must_use]
    pub fn last(&self) -> &ViewLink {
        self.links.last().expect("never empty")
    }
}
/// Whether what binds rests on a guess.
#[must_use]
pub fn is_guess(view: &View, bound: Bound) -> bool {
    match bound {
        Bound::Compute => view.compute_guess,
        Bound::Link(link) => view.links[link].guess,
    }
}

/// `L2->L1`: the link that fills L1.
#[must_use]
pub fn link_name(view: &View, link: usize) -> String {
    let outer = view.links.get(link + 1).map_or("mem", |l| l.level.as_str());
    format!("{outer}->{}", view.links[link].level)
}
