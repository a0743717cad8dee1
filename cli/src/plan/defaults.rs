//! What is known of a program from its profile and of a machine from its file, by name, for inputs that nobody stated.
//!
//! Takes a profile, a function, a machine and the choice of type and efficiency; gives numbers with their origin. What
//! is not measured or not stated is refused with what to do: the option that measures it, or the field of the machine.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::unit::Unit;
use super::value::{Number, Origin};
use crate::estimate::guesses::Guesses;
use crate::estimate::on_core::OnCore;
use crate::estimate::roofline::{self, work_of};
use crate::estimate::view::{Choice, View};
use crate::estimate::workload::{Work, Workload, Workloads, did_you_mean, short};
use crate::machine::{Figure, Machine};
use crate::objects::groups::Groups;
use crate::profile::Profile;
use crate::report::Grouping;

/// A profile that was read, and what it is called.
pub struct Loaded {
    pub name: String,
    pub profile: Profile,
    /// Functions with all that they call.
    pub workloads: Workloads,
}

impl Loaded {
    #[must_use]
    pub fn new(name: String, profile: Profile) -> Self {
        let workloads = Workloads::from_profile(&profile, Grouping::Functions, true);
        Loaded { name, profile, workloads }
    }

    /// The function or region of this name, or the program.
    ///
    /// # Errors
    /// When nothing is called that; near names are given.
    pub fn workload(&self, name: Option<&str>) -> anyhow::Result<&Workload> {
        let Some(name) = name else { return Ok(&self.workloads.program) };
        let all = || self.workloads.regions.iter().chain(&self.workloads.functions);
        let found = all().find(|s| s.name == name || short(&s.name) == name);
        found.ok_or_else(|| {
            let near = did_you_mean(name, all().map(|s| s.name.as_str()));
            anyhow::anyhow!("no function or region of {} is called {name}{near}", self.name)
        })
    }

    /// Bytes of the arrays of this name: the most at once, in all blocks of that name.
    ///
    /// # Errors
    /// When objects were not measured, or none is called that.
    pub fn object(&self, name: &str) -> anyhow::Result<f64> {
        if self.profile.objects.is_none() {
            anyhow::bail!(
                "{} has no data objects; they are measured by: dmdprof run --objects -o {} ...",
                self.name,
                self.name
            );
        }
        let groups = Groups::from_profile(&self.profile, false);
        let named: Vec<_> = groups.list.iter().filter(|g| g.name == name || short(&g.name) == name).collect();
        if named.is_empty() {
            let near = did_you_mean(name, groups.list.iter().map(|g| g.name.as_str()));
            anyhow::bail!("no data object of {} is called {name}{near}", self.name);
        }
        Ok(named.iter().map(|g| g.peak as f64).sum())
    }

    /// A size named in an input: `peak live`, `footprint`, `read`, `written` or `object NAME`, each perhaps with `N x `
    /// before. Nothing if the text is no such name.
    ///
    /// # Errors
    /// Those of [`Loaded::object`].
    pub fn size(&self, text: &str) -> anyhow::Result<Option<f64>> {
        let (factor, name) = factor_of(text);
        let totals = &self.profile.totals;
        let size = match name {
            "peak live" => totals.peak_live as f64,
            "footprint" => totals.footprint as f64,
            "read" => totals.read as f64,
            "written" => totals.written as f64,
            _ => match name.strip_prefix("object ") {
                Some(object) => self.object(object.trim())?,
                None => return Ok(None),
            },
        };
        Ok(Some(factor * size))
    }
}

/// `4 x object halo` is 4 and `object halo`.
fn factor_of(text: &str) -> (f64, &str) {
    let parts = text.split_once(" x ").and_then(|(n, rest)| Some((n.trim().parse::<f64>().ok()?, rest.trim())));
    parts.unwrap_or((1.0, text.trim()))
}

/// Whether a text names a measured size.
#[must_use]
pub fn is_size_name(text: &str) -> bool {
    let (_, name) = factor_of(text);
    matches!(name, "peak live" | "footprint" | "read" | "written") || name.starts_with("object ")
}

/// Names, what they are for people, and where they are from.
const NAMES: [(&str, &str, From); 25] = [
    ("time", "the estimate of the profile on the machine", From::Both),
    ("work", "the operations of the profile", From::Profile),
    ("traffic", "the traffic from memory of the profile on the machine", From::Both),
    ("peak_live", "peak live bytes of the profile", From::Profile),
    ("calls", "the calls in the profile", From::Profile),
    ("serial", "span over work of the profile (values model)", From::Profile),
    ("movement", "1 if the profile is bound by movement on the machine, else 0", From::Both),
    ("peak", "the machine's peak", From::Machine("peak")),
    ("efficiency", "the machine's efficiency", From::Machine("efficiency")),
    ("rate", "the machine's peak times efficiency", From::Machine("peak")),
    ("bandwidth", "the machine's memory bandwidth", From::Machine("memory.bandwidth")),
    ("memory", "the machine's memory", From::Machine("memory.capacity")),
    ("latency", "the machine's memory latency", From::Machine("memory.latency")),
    ("fast_memory", "the machine's fast memory", From::Machine("fast_memory")),
    ("cores", "the machine's cores", From::Machine("cores")),
    ("floor", "the machine's dispatch floor", From::Machine("dispatch.floor")),
    ("power", "the machine's full power", From::Machine("power.max")),
    ("idle", "the machine's idle power", From::Machine("power.idle")),
    ("price", "the machine's price", From::Machine("price")),
    ("op_energy", "the machine's energy per operation", From::Machine("energy")),
    ("byte_energy", "the machine's energy per byte of memory", From::Machine("memory.energy")),
    ("year", "the year of the machine's numbers", From::Machine("growth.year")),
    ("peak_doubling", "the machine's growth", From::Machine("growth.peak")),
    ("bandwidth_doubling", "the machine's growth", From::Machine("growth.bandwidth")),
    ("fast_doubling", "the machine's growth", From::Machine("growth.fast_memory")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Profile,
    Machine(&'static str),
    Both,
}

/// What a known name is, for people.
#[must_use]
pub fn describe(what: &str) -> &'static str {
    NAMES.iter().find(|(name, ..)| *name == what).map_or("the machine's growth", |(_, text, _)| text)
}

/// How to make it known.
#[must_use]
pub fn advice(what: &str) -> &'static str {
    match NAMES.iter().find(|(name, ..)| *name == what).map(|(.., from)| *from) {
        Some(From::Profile) => "name a profile (profile = \"FILE\")",
        Some(From::Both) => "name a profile and a machine",
        _ => "name a machine (machine = \"NAME\")",
    }
}

/// Reads profiles, each once.
#[derive(Default)]
pub struct Library {
    /// Where relative paths begin.
    directory: PathBuf,
    /// What to do if one is not there.
    made_by: Option<String>,
    read: RefCell<BTreeMap<PathBuf, Rc<Loaded>>>,
}

impl Library {
    #[must_use]
    pub fn new(directory: PathBuf, made_by: Option<String>) -> Self {
        Library { directory, made_by, read: RefCell::default() }
    }

    /// # Errors
    /// When it cannot be read; says how it is made, if that is known.
    pub fn read(&self, name: &str) -> anyhow::Result<Rc<Loaded>> {
        let path = self.directory.join(name);
        if let Some(loaded) = self.read.borrow().get(&path) {
            return Ok(Rc::clone(loaded));
        }
        let profile = crate::profile::read(&path).map_err(|error| match &self.made_by {
            Some(made_by) if !path.exists() => anyhow::anyhow!("{error}\n  it is made by: {made_by}"),
            _ => error.into(),
        })?;
        Ok(self.add(&path, name, profile))
    }

    /// Puts in a profile that was read.
    pub fn add(&self, path: &Path, name: &str, profile: Profile) -> Rc<Loaded> {
        let loaded = Rc::new(Loaded::new(name.to_owned(), profile));
        self.read.borrow_mut().insert(path.to_owned(), Rc::clone(&loaded));
        loaded
    }
}

type Found = Result<Option<(Number, Origin)>, String>;

/// What is known at a point.
pub struct Defaults<'a> {
    pub loaded: Option<&'a Loaded>,
    pub function: Option<&'a str>,
    pub machine: Option<&'a Machine>,
    pub choice: Choice,
    pub work: Option<Work>,
    pub library: &'a Library,
    found: RefCell<BTreeMap<String, Found>>,
    /// Sentences on what rests on guesses.
    pub guesses: RefCell<Guesses>,
}

impl<'a> Defaults<'a> {
    #[must_use]
    pub fn new(
        loaded: Option<&'a Loaded>,
        function: Option<&'a str>,
        machine: Option<&'a Machine>,
        choice: Choice,
        work: Option<Work>,
        library: &'a Library,
    ) -> Self {
        let choice = loaded.map_or(choice, |loaded| choice.of_program(&loaded.profile));
        let (found, guesses) = Default::default();
        Defaults { loaded, function, machine, choice, work, library, found, guesses }
    }

    /// What is known of another profile on the same machine.
    #[must_use]
    pub fn for_profile<'b>(&'b self, loaded: &'b Loaded, function: Option<&'b str>) -> Defaults<'b> {
        Defaults::new(Some(loaded), function, self.machine, self.choice, self.work, self.library)
    }

    /// A number by its name: nothing if nobody named what it comes from, an error if that does not have it.
    pub fn get(&self, what: &str) -> Found {
        if let Some(found) = self.found.borrow().get(what) {
            return found.clone();
        }
        let found = self.look_up(what);
        self.found.borrow_mut().insert(what.into(), found.clone());
        found
    }

    fn look_up(&self, what: &str) -> Found {
        let from = NAMES.iter().find(|(name, ..)| *name == what).map(|(.., from)| *from);
        let needs_profile = matches!(from, Some(From::Profile | From::Both));
        let needs_machine = !matches!(from, Some(From::Profile));
        if (needs_profile && self.loaded.is_none()) || (needs_machine && self.machine.is_none()) {
            return Ok(None);
        }
        if needs_profile { self.of_program(what).map(Some) } else { self.of_machine(what) }
    }

    fn of_program(&self, what: &str) -> Result<(Number, Origin), String> {
        let error = |e: anyhow::Error| format!("{e:#}");
        let loaded = self.loaded.expect("looked at before");
        let workload = loaded.workload(self.function).map_err(error)?;
        let origin = |why: String| Origin { kind: "measured", why };
        let whose = format!("{} of {}", workload.name, loaded.name);
        let exact = |value: f64, unit| (Number::new(value, unit), origin(whose.clone()));
        let calls = workload.calls.unwrap_or(1).max(1) as f64;
        Ok(match what {
            "peak_live" => exact(loaded.profile.totals.peak_live as f64, Unit::Bytes),
            "calls" => exact(calls, Unit::Count),
            "work" => {
                let work = work_of(&loaded.profile, &loaded.workloads, self.work).map_err(error)?;
                exact(workload.work(work) as f64, Unit::Ops)
            }
            "serial" => {
                if loaded.profile.meta.values.is_none() {
                    return Err(format!("{} has no span; it is measured by: dmdprof run --model values", loaded.name));
                }
                exact(workload.sums.span as f64 / workload.sums.all_ops().max(1) as f64, Unit::Share)
            }
            _ => {
                let machine = self.machine.expect("looked at before");
                let view = View::new(machine, self.choice).map_err(error)?;
                let work = work_of(&loaded.profile, &loaded.workloads, self.work).map_err(error)?;
                let line = roofline::line(&view, workload, work).map_err(error)?;
                let (bound, is_guess) = roofline::bound_of(&view, &line);
                let (value, unit, guess) = match what {
                    "time" => (line.estimate.total, Unit::Seconds, is_guess),
                    "traffic" => (*line.traffic.last().expect("never empty"), Unit::Bytes, view.last().guess),
                    // Less movement makes nothing faster that is bound by arithmetic, chains or branches.
                    _ => {
                        let by_roof = line.estimate.bound != dmdprof_models::roofline::Bound::Compute;
                        let moves = line.core.map_or(by_roof, OnCore::gains_by_moving_less);
                        (f64::from(u8::from(moves)), Unit::Share, is_guess)
                    }
                };
                let model = if line.core.is_some() { "core" } else { "roofline" };
                let how = format!("{whose} on {}, {model} bound by {bound}", machine.name);
                *self.guesses.borrow_mut() = view.guesses.clone();
                (Number { value, unit, guess }, origin(how))
            }
        })
    }

    fn of_machine(&self, what: &str) -> Found {
        let machine = self.machine.expect("looked at before");
        let model = "the plan";
        let kind = self.choice.kind_on(machine, &mut Guesses::default());
        let named = |figure: &Figure, field: &str| {
            let number = Number { value: figure.value, unit: Unit::Number, guess: figure.confidence.is_guess() };
            let why = format!("{field} of {}, {}: {}", machine.name, figure.confidence, figure.source);
            (number, Origin { kind: "machine", why })
        };
        let need = |figure: &Option<Figure>, field: &str| match machine.need(figure, field, model) {
            Ok(figure) => Ok(Some(named(figure, field))),
            Err(error) => Err(error.to_string()),
        };
        let growth = machine.growth.as_ref();
        let grows = |figure: Option<&Option<Figure>>, field: &str| {
            let found = need(figure.unwrap_or(&None), field)?;
            // The machine states years, which are seconds here.
            Ok(found.map(|(n, o)| (Number { value: n.value * dmdprof_models::facility::YEAR, ..n }, o)))
        };
        let efficiency = || {
            let mut guesses = Guesses::default();
            let (value, guess) = self.choice.efficiency_on(machine, &mut guesses);
            let stated = self.choice.efficiency.is_some();
            let why = if stated { "given".into() } else { format!("efficiency of {}", machine.name) };
            (Number { value, unit: Unit::Share, guess: guess && !stated }, Origin { kind: "machine", why })
        };
        let peak = || match machine.peak_of(kind, model) {
            Ok(figure) => Ok(named(figure, &format!("peak.{kind}"))),
            Err(error) => Err(error.to_string()),
        };
        match what {
            "peak" => peak().map(Some),
            "efficiency" => Ok(Some(efficiency())),
            "rate" => {
                let ((peak, origin), (efficiency, _)) = (peak()?, efficiency());
                let value = peak.value * efficiency.value;
                Ok(Some((Number { value, guess: peak.guess || efficiency.guess, ..peak }, origin)))
            }
            "bandwidth" => need(&machine.memory.bandwidth, "memory.bandwidth"),
            "memory" => need(&machine.memory.capacity, "memory.capacity"),
            "latency" => need(&machine.memory.latency, "memory.latency"),
            "fast_memory" => need(&machine.fast_memory, "fast_memory"),
            "cores" => need(&machine.cores, "cores"),
            "floor" => need(&machine.floor, "dispatch.floor"),
            "power" => need(&machine.power_max, "power.max"),
            "idle" => need(&machine.power_idle, "power.idle"),
            "price" => need(&machine.price, "price"),
            "op_energy" => match machine.op_energy_of(kind, model) {
                Ok(figure) => Ok(Some(named(figure, &format!("energy.{kind}")))),
                Err(error) => Err(error.to_string()),
            },
            "byte_energy" => need(&machine.memory.energy, "memory.energy"),
            "year" => match growth {
                Some(growth) => {
                    let origin = Origin { kind: "machine", why: format!("growth.year of {}", machine.name) };
                    Ok(Some((Number::new(growth.year, Unit::Year), origin)))
                }
                None => need(&None, "growth.year"),
            },
            "peak_doubling" => grows(growth.map(|g| &g.peak), "growth.peak"),
            "bandwidth_doubling" => grows(growth.map(|g| &g.bandwidth), "growth.bandwidth"),
            "fast_doubling" => grows(growth.map(|g| &g.fast_memory), "growth.fast_memory"),
            _ => grows(growth.map(|g| &g.cores), "growth.cores"),
        }
    }
}
