//! What is known of a machine: data, in SI units, each number with its source and how far to trust it.
//!
//! Nothing here is derived except [`Machine::ridge`]. What a machine does not state is `None`; a model that needs it
//! refuses ([`MissingField`]) rather than guesses.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use dmdprof_cycles::Figures;

/// How a number came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Measured on the machine.
    Measured,
    /// A parameter of a model, fitted to measurements.
    Fitted,
    /// The vendor's figure, or computed from such figures.
    Datasheet,
    /// A usual assumption, not about this machine in particular.
    Convention,
    /// Extrapolated into the future.
    Projected,
    /// Well known, but not looked up again.
    Recalled,
    /// Somebody's estimate, or a measurement that does not repeat.
    Estimated,
}

impl Confidence {
    pub const ALL: [Confidence; 7] = [
        Self::Measured,
        Self::Fitted,
        Self::Datasheet,
        Self::Convention,
        Self::Projected,
        Self::Recalled,
        Self::Estimated,
    ];

    /// The word in files and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Datasheet => "datasheet",
            Self::Convention => "convention",
            Self::Projected => "projected",
            Self::Recalled => "recalled",
            Self::Estimated => "estimated",
        }
    }

    /// Whether results that rest on the number must be marked: neither a measurement nor the vendor stands behind it.
    #[must_use]
    pub fn is_guess(self) -> bool {
        !matches!(self, Self::Measured | Self::Fitted | Self::Datasheet)
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Type of operands that a peak rate or an energy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpType {
    Fp64,
    Fp32,
    Tf32,
    Bf16,
    Fp16,
    Fp8,
    Fp4,
    Int8,
    Int4,
    /// `any`: the source states no type. Stands in for types that have no number of their own.
    Generic,
}

impl OpType {
    pub const ALL: [OpType; 10] = [
        Self::Fp64,
        Self::Fp32,
        Self::Tf32,
        Self::Bf16,
        Self::Fp16,
        Self::Fp8,
        Self::Fp4,
        Self::Int8,
        Self::Int4,
        Self::Generic,
    ];

    /// The word in files and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Fp4 => "fp4",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Generic => "any",
        }
    }
}

impl fmt::Display for OpType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One number of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// In the SI unit of its field: bytes, bytes/s, op/s, s, J/B, J/op, W; else USD, years, or a plain number. A fused
    /// multiply-add is two ops.
    pub value: f64,
    pub confidence: Confidence,
    /// Where the number is from, in words.
    pub source: String,
}

/// A cache or another fast memory between the cores and the main memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: String,
    /// Bytes; of one core's share if `per_core`, else of all parts together.
    pub capacity: Figure,
    /// Bytes/s of the link that fills this level from the next one outwards, all cores of the machine together.
    pub bandwidth: Option<Figure>,
    /// J per byte that this level serves.
    pub energy: Option<Figure>,
    /// Whether each core has one of its own.
    pub per_core: bool,
    /// Who has one part of it together; `None`: not stated, and all cores unless it is `per_core`.
    pub shared_by: Option<Sharers>,
    /// Bytes that it fetches and writes back at a time; `None`: not stated.
    pub line: Option<Figure>,
    /// Lines of a set; `None`: not stated.
    pub ways: Option<Figure>,
    /// `None`: not stated, and taken as [`WritePolicy::Back`].
    pub write: Option<WritePolicy>,
}

/// Cores that have one part of a level together.
#[derive(Clone, Debug, PartialEq)]
pub enum Sharers {
    All,
    /// So many.
    Cores(Figure),
}

impl Level {
    /// Cores that have one part of it together; infinitely many stand for all.
    #[must_use]
    pub fn sharers(&self) -> f64 {
        match &self.shared_by {
            _ if self.per_core => 1.0,
            Some(Sharers::Cores(cores)) => cores.value,
            Some(Sharers::All) | None => f64::INFINITY,
        }
    }

    /// Parts of it on a machine of so many cores. It is in one where the number of cores is not stated.
    #[must_use]
    pub fn parts(&self, cores: Option<&Figure>) -> u64 {
        cores.map_or(1, |cores| (cores.value / self.sharers()).ceil().max(1.0) as u64)
    }

    /// Bytes for so many threads, each on a core of its own, in as few parts as have room for them.
    #[must_use]
    pub fn capacity_for(&self, threads: u64, cores: Option<&Figure>) -> u64 {
        if self.per_core {
            return self.capacity.value as u64;
        }
        let parts = self.parts(cores);
        let used = ((threads as f64 / self.sharers()).ceil().max(1.0) as u64).min(parts);
        (self.capacity.value / parts as f64 * used as f64) as u64
    }
}

/// What a level does with stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// Fetches the line, and writes it to the next level when it has to leave.
    Back,
    /// Hands each store on to the next level at once, and fetches nothing for it.
    Through,
}

impl WritePolicy {
    pub const ALL: [WritePolicy; 2] = [Self::Back, Self::Through];

    /// The word in files and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Back => "back",
            Self::Through => "through",
        }
    }
}

/// What lies beyond the last level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Bytes.
    pub capacity: Option<Figure>,
    /// Bytes/s.
    pub bandwidth: Option<Figure>,
    /// s from a request to its data.
    pub latency: Option<Figure>,
    /// Bytes that one request brings.
    pub transfer: Option<Figure>,
    /// J per byte served.
    pub energy: Option<Figure>,
}

/// How the machine's successors develop: each parameter doubles (latency halves) every so many years.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// In which the machine's own numbers hold.
    pub year: f64,
    /// All below: years.
    pub peak: Option<Figure>,
    pub bandwidth: Option<Figure>,
    /// Halving time.
    pub latency: Option<Figure>,
    pub transfer: Option<Figure>,
    pub fast_memory: Option<Figure>,
    pub cores: Option<Figure>,
}

/// Where the description is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Part of dmdprof.
    Shipped,
    File(PathBuf),
}

/// A machine. Checked by [`super::file`]: finite, in range, levels ordered from the cores outwards, at least one peak
/// rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub name: String,
    pub title: String,
    pub origin: Origin,
    pub notes: Vec<String>,
    /// op/s by type; never empty.
    pub peak: BTreeMap<OpType, Figure>,
    /// Of the program's ops, if nobody says otherwise; one of `peak`.
    pub default_type: OpType,
    /// Share of the peak that code reaches, in (0, 1].
    pub efficiency: Option<Figure>,
    /// From the cores outwards, capacities increasing.
    pub levels: Vec<Level>,
    pub memory: Memory,
    /// Bytes of fast memory of all cores together, for the balance model.
    pub fast_memory: Option<Figure>,
    pub cores: Option<Figure>,
    /// s that each dispatch (a call of the offloaded function) takes at least.
    pub floor: Option<Figure>,
    /// s per input of a dispatch.
    pub setup: Option<Figure>,
    /// s to start a run of functions here, for placement.
    pub launch: Option<Figure>,
    /// s to bring data here from another machine, for placement.
    pub transfer_in: Option<Figure>,
    /// J per op, by type.
    pub op_energy: BTreeMap<OpType, Figure>,
    /// J per addition, where that is less.
    pub addition_energy: BTreeMap<OpType, Figure>,
    /// W.
    pub power_max: Option<Figure>,
    /// W.
    pub power_idle: Option<Figure>,
    /// USD.
    pub price: Option<Figure>,
    pub growth: Option<Growth>,
    /// Numbers of one core, by their name ([`Figures::ALL`]); for cycles.
    pub core: BTreeMap<&'static str, Figure>,
}

/// A model asked for a number that the machine does not state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{model} needs {field}, which machine {machine} does not state; add it to a copy: dmdprof machine show {machine} --toml > my.toml"
)]
pub struct MissingField {
    pub machine: String,
    pub field: String,
    pub model: String,
}

impl Machine {
    /// A figure that a model cannot do without. `field` is its path in the file, as in `memory.bandwidth`; `model`
    /// begins the sentence, as in `the roofline`.
    ///
    /// # Errors
    /// When the machine does not state it.
    pub fn need<'a>(&self, figure: &'a Option<Figure>, field: &str, model: &str) -> Result<&'a Figure, MissingField> {
        figure.as_ref().ok_or_else(|| self.missing(field, model))
    }

    /// The peak rate of a type in op/s, or of `any` if the type has none.
    ///
    /// # Errors
    /// When the machine states neither.
    pub fn peak_of(&self, kind: OpType, model: &str) -> Result<&Figure, MissingField> {
        let figure = self.peak.get(&kind).or_else(|| self.peak.get(&OpType::Generic));
        figure.ok_or_else(|| self.missing(&format!("peak.{kind}"), model))
    }

    /// The energy of an operation of a type in J, or of `any` if the type has none.
    ///
    /// # Errors
    /// When the machine states neither.
    pub fn op_energy_of(&self, kind: OpType, model: &str) -> Result<&Figure, MissingField> {
        let figure = self.op_energy.get(&kind).or_else(|| self.op_energy.get(&OpType::Generic));
        figure.ok_or_else(|| self.missing(&format!("energy.{kind}"), model))
    }

    /// The numbers of its core, and which of them are not its own: those that its file does not state are taken from
    /// what it says of its levels and its memory, else from another core.
    #[must_use]
    pub fn core_figures(&self, other: &Figures) -> (Figures, Vec<&'static str>) {
        let (mut figures, mut not_its_own) = (other.clone(), Vec::new());
        self.core_from_levels(&mut figures);
        for number in Figures::ALL {
            match self.core.get(number.name) {
                Some(stated) => *(number.of)(&mut figures) = stated.value as u64,
                None => not_its_own.push(number.name),
            }
        }
        (figures, not_its_own)
    }

    /// Sizes, ways and latencies that a file states for other models.
    fn core_from_levels(&self, figures: &mut Figures) {
        let kib = |level: &Level| (level.capacity_for(1, self.cores.as_ref()) >> 10).max(1);
        let ways = |level: &Level, else_: u64| level.ways.as_ref().map_or(else_, |ways| ways.value as u64);
        if let [first, middle @ .., last] = self.levels.as_slice() {
            (figures.l1_kib, figures.l1_ways) = (kib(first), ways(first, figures.l1_ways));
            (figures.l3_kib, figures.l3_ways) = (kib(last), ways(last, figures.l3_ways));
            let second = middle.first().unwrap_or(last);
            (figures.l2_kib, figures.l2_ways) = (kib(second), ways(second, figures.l2_ways));
        }
        if let Some(latency) = &self.memory.latency {
            let megahertz = self.core.get("frequency").map_or(figures.frequency as f64, |stated| stated.value);
            figures.memory = ((latency.value * megahertz * 1e6).round() as u64).max(figures.l3);
        }
    }

    /// How fast each level is filled: as stated or, if no level says it, by how many cycles the core waits from a line
    /// to the next.
    #[must_use]
    pub fn bandwidths(&self) -> Vec<Option<Figure>> {
        let stated: Vec<Option<Figure>> = self.levels.iter().map(|level| level.bandwidth.clone()).collect();
        let by_core = || {
            let each = ["l2_gap", "l3_gap", "memory_gap"].iter().zip(&self.levels);
            each.map(|(gap, level)| self.bandwidth_by(gap, level)).collect()
        };
        if self.levels.len() == 3 && stated.iter().all(Option::is_none) { by_core() } else { stated }
    }

    fn bandwidth_by(&self, gap: &str, level: &Level) -> Option<Figure> {
        let (gap, frequency) = (self.core.get(gap)?, self.core.get("frequency")?);
        let line = level.line.as_ref()?;
        let source = format!("core: {} B every {} cycles at {} MHz", line.value, gap.value, frequency.value);
        let value = line.value * frequency.value * 1e6 / gap.value.max(1.0);
        Some(Figure { value, confidence: Confidence::Estimated, source })
    }

    fn missing(&self, field: &str, model: &str) -> MissingField {
        MissingField { machine: self.name.clone(), field: field.into(), model: model.into() }
    }
}
