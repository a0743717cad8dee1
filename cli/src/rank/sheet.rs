//! The ranking as a document: variants with their costs and times, the pick by each criterion, fidelity to measured
//! times.

use anyhow::Context;
use dmdprof_models::fidelity::{BAND, Pair, compare};
use dmdprof_models::variants::Rule;

use super::Variant;
use super::cycles::OnCores;
use super::difference::Difference;
use super::same::{self, Comparison};
use super::standing::{Criterion, number, word};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::estimate::on_core::OnCore;
use crate::estimate::roofline::{self, bound_name, line, work_of};
use crate::estimate::times::Times;
use crate::estimate::view::is_guess;
use crate::estimate::view::{Choice, View};
use crate::estimate::workload::{Work, Workload, Workloads};
use crate::estimate::{fidelity, source, usable};
use crate::machine::Machine;
use crate::profile::{Profile, unseen};
use crate::report::lines::SHOWN;
use crate::{report::Grouping, shared::human};

/// What to compare, and how.
#[derive(Clone, Debug)]
pub struct Options {
    pub comparison: Comparison,
    /// Share by which a variant with a difference must be cheaper, 0 to 1.
    pub margin: f64,
    pub choice: Choice,
    /// Which operations are the work; else floating-point ones if all variants have some, in the values model all.
    pub work: Option<Work>,
    /// Measured times by variant.
    pub times: Option<Times>,
}

/// A variant's time on a machine.
struct Estimated {
    seconds: f64,
    bound: String,
    guess: bool,
}

/// Everything on one machine.
struct OnMachine<'m> {
    machine: &'m Machine,
    /// Of each variant.
    estimates: Vec<Estimated>,
    criterion: Criterion,
}

/// The whole answer; the first variant is the baseline. Notes are about the baseline's profile.
///
/// # Errors
/// A variant that reads nothing or takes no time, no work, a machine that lacks what is needed.
pub fn document(variants: &[Variant], machines: &[Machine], options: &Options) -> anyhow::Result<Document> {
    let baseline = &variants[0];
    let compared = |v: &Variant| same::compare(&baseline.evidence, &v.evidence, options.comparison);
    let differences: Vec<Difference> = variants.iter().map(compared).collect();
    let rule = Rule { tolerance: options.comparison.tolerance, margin: options.margin };
    let subjects: Vec<Workloads> = variants.iter().map(subjects_of).collect();
    let names: Vec<String> = variants.iter().map(|v| v.name.clone()).collect();
    let costs = subjects.iter().map(|s| s.program.sums.cost as f64).collect();
    let by_cost = Criterion::new("ByteDMD", costs, &differences, rule, |i| {
        format!("{} reads nothing that is counted: its ByteDMD is 0, and there is nothing to rank", names[i])
    });
    let on_cores = OnCores::from_variants(variants);
    let by_cycles = on_cores.as_ref().map(|on| by_cycles(on, &names, &differences, rule)).transpose()?;
    let by_lines = by_lines(&names, &subjects, &differences, rule);

    let mut notes = vec![rule_note(rule)];
    // What has no lines or bytes to go by still takes cycles.
    let mut unless_cycles = |found: anyhow::Result<Option<Criterion>>| match found {
        Err(why) if by_cycles.is_some() => {
            notes.push(format!("{why}."));
            Ok(None)
        }
        found => found,
    };
    let (by_cost, by_lines) = (unless_cycles(by_cost.map(Some))?, unless_cycles(by_lines)?);
    let general = General { by_cycles, by_lines, by_cost };
    notes.push(cycles_note(on_cores.as_ref()));
    notes.push(match general.by_lines {
        Some(_) => lines_note(&baseline.evidence.profile),
        None => "ByteDMD knows no lines and no stores, which decide the time on most machines.".into(),
    });
    for variant in variants {
        let unseen = unseen::sentences(&variant.evidence.profile.coverage);
        notes.extend(unseen.iter().map(|sentence| format!("{}: {sentence}.", variant.name)));
    }
    let mut on_machines = Vec::new();
    if !machines.is_empty() {
        let choice = options.choice.of_program(&baseline.evidence.profile);
        let (found, left_out) = usable(machines, |machine| {
            let cores = subjects.iter().map(|of| of.program.on_core(&machine.name)).collect();
            Ok((
                machine,
                Option::map_or_else(cores, || View::new(machine, choice).map(By::Roof), |on| Ok(By::Core(on)))?,
            ))
        })?;
        let views = found.iter().filter_map(|(_, by)| if let By::Roof(view) = by { Some(view.clone()) } else { None });
        let views: Vec<View> = views.collect();
        let mut work = Work::Ops;
        if !views.is_empty() {
            let (of_all, note) = work_of_all(variants, &subjects, options.work)?;
            work = of_all;
            notes.extend(note);
            notes.extend(roofline::notes(&baseline.evidence.profile, &views, work));
        }
        for (machine, by) in &found {
            let estimates = match by {
                By::Core(on) => on.iter().map(|core| by_core(core)).collect(),
                By::Roof(view) => {
                    subjects.iter().map(|of| by_roof(view, &of.program, work)).collect::<Result<_, _>>()?
                }
            };
            on_machines.push(on_machine(machine, estimates, &names, &differences, rule)?);
        }
        notes.extend(left_out);
    }

    let table = Table { names: &names, subjects: &subjects, differences: &differences, times: options.times.as_ref() };
    let mut sheets = vec![table.main(&general, &on_machines), table.picks(&general, &on_machines)];
    sheets.extend(on_cores.as_ref().map(|on| table.told(&general, on)));
    sheets.extend(table.order(&general));
    sheets.extend(on_machines.iter().filter_map(|m| table.fidelity(m)));
    let heading = format!("{} variants; the baseline is {}", variants.len(), baseline.name);
    let source = source_of(&names, &baseline.evidence.profile, options);
    Ok(Document { kind: "rank", source, heading: vec![heading], sheets, notes, ..Document::default() })
}

/// Criteria that need no machine.
struct General {
    /// If cores followed all variants; goes first then.
    by_cycles: Option<Criterion>,
    by_lines: Option<Criterion>,
    /// There is one without cycles.
    by_cost: Option<Criterion>,
}

impl General {
    fn first(&self) -> &Criterion {
        self.all().next().expect("cycles or ByteDMD")
    }

    fn all(&self) -> impl Iterator<Item = &Criterion> {
        self.by_cycles.iter().chain(&self.by_lines).chain(&self.by_cost)
    }
}

/// Cycles on the first core.
fn by_cycles(on: &OnCores, names: &[String], differences: &[Difference], rule: Rule) -> anyhow::Result<Criterion> {
    let zero = |i: usize| format!("{} executes nothing", names[i]);
    Criterion::new(format!("cycles on {}", on.cores[0]), on.costs(), differences, rule, zero)
}

/// What memories like three levels of caches move, added; `None` unless it was measured of all variants.
fn by_lines(
    names: &[String],
    subjects: &[Workloads],
    differences: &[Difference],
    rule: Rule,
) -> anyhow::Result<Option<Criterion>> {
    if !subjects.iter().all(|subjects| subjects.program.has_lines()) {
        return Ok(None);
    }
    let moved = |subjects: &Workloads| SHOWN.iter().map(|z| subjects.program.traffic(*z) as f64).sum();
    let costs = subjects.iter().map(moved).collect();
    let zero = |i: usize| format!("{} moves no lines: it reads and writes nothing that is counted", names[i]);
    Criterion::new("lines moved", costs, differences, rule, zero).map(Some)
}

fn cycles_note(on_cores: Option<&OnCores>) -> String {
    match on_cores {
        Some(on) => format!(
            "Cycles: of an out-of-order core as {} has, over all instructions of the program without hooks, with caches, prefetchers, \
             address translation, branch prediction and first touches of pages; a variant is told faster if it is by {} there and no \
             other of these cores says the opposite: {}.",
            on.cores[0],
            human::share(super::cycles::NEAR - 1.0),
            on.cores.join(", ")
        ),
        None => "There are no cycles: they need QEMU's user emulator (`apt install qemu-user`), and of programs that were built with \
                 hooks the sources."
            .into(),
    }
}

fn lines_note(profile: &Profile) -> String {
    let size = profile.line_size().unwrap_or(0);
    let capacities = SHOWN.map(|z| human::bytes(z.into()));
    format!(
        "Moved: bytes of lines of {size} B that memories of {} fetch and write back, added; they are fully associative, begin empty and end \
         clean. Neither sets and ways nor prefetching are in it. ByteDMD knows no lines and no stores.",
        capacities.join(", ")
    )
}

fn subjects_of(variant: &Variant) -> Workloads {
    Workloads::from_profile(&variant.evidence.profile, Grouping::Functions, false)
}

fn source_of(names: &[String], profile: &Profile, options: &Options) -> Vec<(&'static str, String)> {
    let mut pairs = source(&profile.meta);
    // Programs built from sources have names that nobody typed.
    pairs.retain(|(name, _)| *name != "command");
    pairs.insert(0, ("baseline", names[0].clone()));
    pairs.push(("arguments", profile.meta.command.get(1..).unwrap_or_default().join(" ")));
    pairs.push(("tolerance", options.comparison.tolerance.to_string()));
    pairs.push(("margin", options.margin.to_string()));
    pairs
}

fn rule_note(rule: Rule) -> String {
    format!(
        "May win: variants whose results differ from the baseline's by at most {}; one that differs at all must also cost {} less than \
         the cheapest that does not. Of equal costs the one named first wins.",
        number(rule.tolerance),
        human::share(rule.margin)
    )
}

/// The same operations are the work of all variants, or their times could not be set against each other.
fn work_of_all(
    variants: &[Variant],
    subjects: &[Workloads],
    asked: Option<Work>,
) -> anyhow::Result<(Work, Option<String>)> {
    let without_flops = variants.iter().zip(subjects).find(|(_, s)| s.program.work(Work::Flops) == 0);
    let in_values = variants.iter().any(|v| v.evidence.profile.meta.values.is_some());
    let (asked, note) = match (asked, without_flops) {
        (None, Some((variant, _))) if !in_values => {
            let note = format!(
                "{} counts no floating-point operations, so the work of all variants is all of their operations (--work ops).",
                variant.name
            );
            (Some(Work::Ops), Some(note))
        }
        _ => (asked, None),
    };
    let mut work = Work::Ops;
    for (variant, subjects) in variants.iter().zip(subjects) {
        work =
            work_of(&variant.evidence.profile, subjects, asked).with_context(|| format!("variant {}", variant.name))?;
    }
    Ok((work, note))
}

fn on_machine<'m>(
    machine: &'m Machine,
    estimates: Vec<Estimated>,
    names: &[String],
    differences: &[Difference],
    rule: Rule,
) -> anyhow::Result<OnMachine<'m>> {
    let costs = estimates.iter().map(|e| e.seconds).collect();
    let name = &machine.name;
    let zero = |i: usize| format!("{} takes no time on {name}: it has neither work nor traffic there", names[i]);
    let criterion = Criterion::new(format!("time on {name}"), costs, differences, rule, zero)?;
    Ok(OnMachine { machine, estimates, criterion })
}

/// What estimates on a machine go by.
enum By<'a> {
    /// What each variant takes on its core, which followed all of them.
    Core(Vec<&'a OnCore>),
    Roof(View<'a>),
}

fn by_core(core: &OnCore) -> Estimated {
    Estimated { seconds: core.seconds, bound: core.bound(), guess: core.guess }
}

/// The whole program as one dispatch.
fn by_roof(view: &View, program: &Workload, work: Work) -> anyhow::Result<Estimated> {
    let estimate = line(view, program, work)?.estimate;
    let (floor, floor_guess) = view.floor;
    let dispatch = floor > estimate.total;
    Ok(Estimated {
        seconds: estimate.total + floor,
        bound: if dispatch { "dispatch".into() } else { bound_name(view, estimate.bound) },
        guess: (floor > 0.0 && floor_guess) || is_guess(view, estimate.bound),
    })
}

/// Variants up to which all pairs are listed.
const MOST_PAIRS: usize = 5;

/// What all sheets need.
struct Table<'a> {
    names: &'a [String],
    subjects: &'a [Workloads],
    differences: &'a [Difference],
    times: Option<&'a Times>,
}

impl Table<'_> {
    fn main(&self, general: &General, machines: &[OnMachine]) -> Sheet {
        let first = general.first();
        let with_reasons = self.differences.iter().any(|d| d.why.is_some());
        let mut sheet = Sheet::new(
            "variants",
            format!("Variants, by {}", first.name),
            self.columns(general, machines, with_reasons),
        );
        for variant in first.order() {
            let difference = &self.differences[variant];
            let mut cells: Vec<Cell> = vec![
                Value::or_empty(first.rank_of(variant), |rank| Value::Count(rank as u128)).into(),
                Value::Name(self.names[variant].clone()).into(),
            ];
            if let Some(by_cycles) = &general.by_cycles {
                cells.push(Value::Count(by_cycles.costs[variant] as u128).into());
                cells.push(Value::Ratio(by_cycles.times_baseline(variant)).into());
            }
            if let Some(by_lines) = &general.by_lines {
                cells.push(Value::Bytes(by_lines.costs[variant] as u128).into());
                cells.push(Value::Ratio(by_lines.times_baseline(variant)).into());
            }
            cells.extend([
                Value::Count(self.subjects[variant].program.sums.cost).into(),
                Value::or_empty(general.by_cost.as_ref(), |by| Value::Ratio(by.times_baseline(variant))).into(),
                self.difference(variant).into(),
            ]);
            for machine in machines {
                let estimate = &machine.estimates[variant];
                cells.push(Value::Seconds(estimate.seconds).guessed(estimate.guess));
                cells.push(Value::Text(estimate.bound.clone()).into());
                let rank = machine.criterion.rank_of(variant);
                cells.push(Value::or_empty(rank, |rank| Value::Count(rank as u128)).into());
            }
            if let Some(times) = self.times {
                cells.push(Value::or_empty(times.time_of(&self.names[variant]), Value::Seconds).into());
            }
            cells.push(Value::Text(word(first.ranking.standings[variant]).into()).into());
            if with_reasons {
                cells.push(Value::or_empty(difference.why.clone(), Value::Text).into());
            }
            sheet.row(cells);
        }
        sheet
    }

    fn columns(&self, general: &General, machines: &[OnMachine], with_reasons: bool) -> Vec<Column> {
        let mut columns = vec![Column::new("rank", ["", "rank"], 0), Column::new("name", ["", "variant"], 0)];
        if general.by_cycles.is_some() {
            columns.push(Column::new("cycles", ["", "cycles"], 0));
            columns.push(Column::new("cycles.times_baseline", ["times the", "baseline"], 0));
        }
        if general.by_lines.is_some() {
            columns.push(Column::new("moved", ["", "moved"], 0));
            columns.push(Column::new("moved.times_baseline", ["times the", "baseline"], 0));
        }
        columns.extend([
            Column::new("cost", ["", "ByteDMD"], 0),
            Column::new("times_baseline", ["times the", "baseline"], 0),
            Column::new("difference", ["", "difference"], 0),
        ]);
        for machine in machines {
            let name = &machine.machine.name;
            columns.push(Column::new(format!("{name}.seconds"), [name, "time"], 0));
            columns.push(Column::new(format!("{name}.bound"), ["", "bound"], 1));
            columns.push(Column::new(format!("{name}.rank"), ["", "rank"], 2));
        }
        if self.times.is_some() {
            columns.push(Column::new("measured", ["measured", "time"], 0));
        }
        columns.push(Column::new("standing", ["", "standing"], 0));
        if with_reasons {
            columns.push(Column::new("reason", ["", "reason"], 0));
        }
        columns
    }

    /// 0 is exact, and is said without decimals.
    fn difference(&self, variant: usize) -> Value {
        let size = self.differences[variant].size;
        if size == 0.0 { Value::Count(0) } else { Value::Ratio(size) }
    }

    fn picks(&self, general: &General, machines: &[OnMachine]) -> Sheet {
        let columns = vec![
            Column::new("criterion", ["", "by"], 0),
            Column::new("pick", ["", "pick"], 0),
            Column::new("times_baseline", ["times the", "baseline"], 0),
            Column::new("difference", ["", "difference"], 0),
        ];
        let mut sheet = Sheet::new("picks", "Picks", columns);
        for criterion in general.all().chain(machines.iter().map(|m| &m.criterion)) {
            let pick = criterion.ranking.winner();
            sheet.row([
                Value::Text(criterion.name.clone()),
                Value::Name(self.names[pick].clone()),
                Value::Ratio(criterion.times_baseline(pick)),
                self.difference(pick),
            ]);
            sheet.remarks.extend(criterion.passed_over(self.names, self.differences));
        }
        sheet
    }

    /// Of each two variants which is faster, or that it cannot be told.
    fn told(&self, general: &General, on: &OnCores) -> Sheet {
        let columns = vec![
            Column::new("faster", ["", "faster"], 0),
            Column::new("slower", ["", "slower"], 0),
            Column::new("times", ["times", "the cycles"], 0),
            Column::new("doubt", ["", ""], 0),
        ];
        let mut sheet = Sheet::new("told", "Which is faster", columns);
        let order = general.first().order();
        for (at, a) in order.iter().enumerate() {
            for b in &order[at + 1..] {
                let told = on.compare_two(*a, *b);
                sheet.row([
                    Value::Name(self.names[told.order.0].clone()),
                    Value::Name(self.names[told.order.1].clone()),
                    Value::Ratio(told.times),
                    Value::Text(told.doubt.unwrap_or_default()),
                ]);
            }
            // Of many variants, each beside the first one.
            if order.len() > MOST_PAIRS {
                break;
            }
        }
        sheet
    }

    /// Whether the criteria that need no machine put the variants into the order of their measured times.
    fn order(&self, general: &General) -> Option<Sheet> {
        let times = self.times?;
        let columns = vec![
            Column::new("criterion", ["", "by"], 0),
            Column::new("variants", ["", "variants"], 0),
            Column::new("tau_b", ["Kendall", "tau-b"], 0),
            Column::new("concordant", ["pairs in", "order"], 0),
            Column::new("discordant", ["in opposite", "order"], 0),
            Column::new("tied", ["", "tied"], 0),
        ];
        let mut sheet = Sheet::new("order", "Order beside that of the measured times", columns);
        for criterion in general.all() {
            let pair = |(name, cost): (&String, &f64)| Some(Pair { estimate: *cost, measured: times.time_of(name)? });
            let pairs: Vec<Pair> = self.names.iter().zip(&criterion.costs).filter_map(pair).collect();
            let found = compare(&pairs, BAND).ok()?;
            sheet.row([
                Value::Text(criterion.name.clone()),
                Value::Count(pairs.len() as u128),
                Value::or_empty(found.tau, Value::Ratio),
                Value::Count(found.order.concordant.into()),
                Value::Count(found.order.discordant.into()),
                Value::Count(found.order.tied.into()),
            ]);
        }
        Some(sheet)
    }

    fn fidelity(&self, machine: &OnMachine) -> Option<Sheet> {
        let times = self.times?;
        let pair = |(name, estimate): (&String, &Estimated)| {
            Some(Pair { estimate: estimate.seconds, measured: times.time_of(name)? })
        };
        let pairs: Vec<Pair> = self.names.iter().zip(&machine.estimates).filter_map(pair).collect();
        fidelity::sheet(&machine.machine.name, &pairs, None, self.names.len() - pairs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::zoo;
    use crate::profile::sample;
    use crate::rank::Evidence;
    use crate::rank::elements::Elements;

    fn variant(name: &str, stdout: &str) -> Variant {
        let evidence = Evidence { profile: sample::small(), stdout: stdout.into(), outputs: Vec::new() };
        Variant { name: name.into(), evidence }
    }

    fn options() -> Options {
        let comparison = Comparison { tolerance: 0.0, elements: Elements::F64 };
        Options { comparison, margin: 0.05, choice: Choice::default(), work: None, times: None }
    }

    #[test]
    fn one_row_per_variant_and_one_pick_per_criterion() {
        let machines = ["toy3", "skx-6148-core"].map(|name| zoo::machine(name).expect("shipped"));
        let variants = [variant("a", "1\n"), variant("b", "2\n"), variant("c", "1\n")];
        let mut options = options();
        options.work = Some(Work::Ops);
        options.times = Some(Times::parse("name,seconds\na,1e-3\nb,2e-3\n").expect("times"));
        let found = document(&variants, &machines, &options).expect("a ranking");
        assert_eq!(crate::document::schema::errors(&found), [""; 0]);
        let keys: Vec<&str> = found.sheets.iter().map(|s| s.key.as_str()).collect();
        assert_eq!(keys, ["variants", "picks", "order", "toy3.fidelity", "skx-6148-core.fidelity"]);
        let names: Vec<&Value> = found.sheets[0].rows.iter().map(|row| &row[1].value).collect();
        assert_eq!(names, ["a", "c", "b"].map(|n| Value::Name(n.into())).iter().collect::<Vec<_>>());
        let picks: Vec<&Value> = found.sheets[1].rows.iter().map(|row| &row[1].value).collect();
        assert_eq!(picks, [&Value::Name("a".into()); 3], "of equals the one named first");
        let last = found.sheets[0].rows[2].last().map(|cell| &cell.value);
        assert_eq!(last, Some(&Value::Text("prints another text from line 1 on".into())));
    }
}
