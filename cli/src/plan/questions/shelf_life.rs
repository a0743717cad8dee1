//! `plan shelf-life`: when programs become bound by memory as machines grow. Formulas: `dmdprof_models::projection`,
//! `balance`.

use dmdprof_models::balance::{matmul_intensity, sorting_intensity};
use dmdprof_models::facility::YEAR;
use dmdprof_models::projection::{Growth, Projected, Trend, crossing, shelf_life};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use crate::document::{Column, Sheet, Value};
use crate::estimate::roofline::work_of;

const BAL: &str = "Czechowski et al., HotPar 2011";
const KERNELS: &[&str] = &["matmul", "sorting"];

const INPUTS: &[Input] = &[
    Input::new(
        "kernel",
        Unit::Word(KERNELS),
        Allowed::Any,
        Default::Assumed(0.0, "matrix product"),
        "right-hand side: matmul, equation (5), or sorting, (6), which is also the FFT's",
    ),
    Input::new("peak", Unit::OpsPerSecond, Allowed::Positive, Default::Known("rate"), "rate of all cores at the start"),
    Input::new(
        "bandwidth",
        Unit::BytesPerSecond,
        Allowed::Positive,
        Default::Known("bandwidth"),
        "bandwidth of memory at the start",
    ),
    Input::new(
        "fast-memory",
        Unit::Bytes,
        Allowed::Positive,
        Default::Known("fast_memory"),
        "fast memory of all cores at the start",
    ),
    Input::new("cores", Unit::Count, Allowed::Positive, Default::Known("cores"), "cores at the start"),
    Input::new("year", Unit::Year, Allowed::Positive, Default::Known("year"), "the start"),
    Input::new(
        "peak-doubling",
        Unit::Seconds,
        Allowed::Positive,
        Default::Known("peak_doubling"),
        "time in which the peak doubles",
    ),
    Input::new(
        "bandwidth-doubling",
        Unit::Seconds,
        Allowed::Positive,
        Default::Known("bandwidth_doubling"),
        "time in which the bandwidth doubles",
    ),
    Input::new(
        "fast-doubling",
        Unit::Seconds,
        Allowed::Positive,
        Default::Known("fast_doubling"),
        "time in which the fast memory doubles",
    ),
    Input::new(
        "cores-doubling",
        Unit::Seconds,
        Allowed::Positive,
        Default::Known("cores_doubling"),
        "time in which the cores double",
    ),
    Input::new(
        "word",
        Unit::Bytes,
        Allowed::Positive,
        Default::Assumed(4.0, "single precision, as in the source"),
        "bytes of a word",
    ),
    Input::new(
        "horizon",
        Unit::Seconds,
        Allowed::Positive,
        Default::Assumed(50.0 * YEAR, "50 years"),
        "how far to look",
    ),
    Input::new("table", Unit::Count, Allowed::Positive, Default::Assumed(14.0, "as the source"), "years in the table"),
];

pub const QUESTION: Question = Question {
    name: "shelf-life",
    about: "The year in which a kernel, and each function of a profile, becomes bound by memory on a growth path",
    more: "A machine with growth rates, such as fermi-c2050, or rates of your own. The kernels' conditions are theorems about words; the source \
           sets operations per byte against them, which moves its crossing from 2011.8 to 2019.8: both are given. Functions are judged by \
           their measured work and traffic at the fast memory of each year.",
    examples: "\
Examples:
  dmdprof plan shelf-life --machine fermi-c2050
  dmdprof plan shelf-life --machine fermi-c2050 --profile solver.data --kernel sorting
  dmdprof plan shelf-life --machine fermi-c2050 --peak-doubling '1.5..3 years in 7' --plot",
    inputs: &[INPUTS],
    goal: "crossing",
    least: false,
    time: "crossing",
    answer,
    tables: Some(tables),
};

fn trend(inputs: &Inputs<'_>) -> anyhow::Result<Trend> {
    let grows = |value, doubling| -> anyhow::Result<Growth> {
        Ok(Growth::doubling(inputs.get(value)?.value, inputs.get(doubling)?.value / YEAR)?)
    };
    Ok(Trend {
        peak: grows("peak", "peak-doubling")?,
        bandwidth: grows("bandwidth", "bandwidth-doubling")?,
        fast_memory: grows("fast-memory", "fast-doubling")?,
        cores: grows("cores", "cores-doubling")?,
        latency: Growth::constant(1.0)?,
        line: Growth::constant(1.0)?,
    })
}

/// Right-hand side of the kernel's condition, operations per word; nothing where a core has no fast memory worth the
/// name.
fn right(machine: &Projected, word: f64, sorting: bool) -> f64 {
    let words = machine.fast_memory / word;
    let side = if sorting { sorting_intensity(words, machine.cores) } else { matmul_intensity(words, machine.cores) };
    side.unwrap_or(0.0)
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let trend = trend(inputs)?;
    let sorting = inputs.word("kernel")? == "sorting";
    let (peak, bandwidth, word) = (inputs.get("peak")?, inputs.get("bandwidth")?, inputs.get("word")?);
    let (fast, cores) = (inputs.get("fast-memory")?, inputs.get("cores")?);
    let start = trend.machine_after(0.0);
    let balance = answer.figure(
        Name("balance", "machine balance", Unit::OpsPerByte),
        start.balance(),
        "peak / BW",
        &[("peak", peak), ("BW", bandwidth)],
        BAL,
    );
    answer.figure(
        Name("balance_word", "machine balance, operations per word", Unit::Number),
        balance.value * word.value,
        "balance * word",
        &[("balance", balance), ("word", word)],
        "the source's beta is in words",
    );
    answer.figure(
        Name("right", "right-hand side, operations per word", Unit::Number),
        right(&start, word.value, sorting),
        if sorting { "log2(Z / word / p)" } else { "sqrt(Z / word / p)" },
        &[("Z", fast), ("word", word), ("p", cores)],
        if sorting { "Czechowski et al. 2011, (6)" } else { "Czechowski et al. 2011, (5)" },
    );
    let (horizon, year) = (inputs.get("horizon")?, inputs.get("year")?);
    let sqrt2 = std::f64::consts::SQRT_2;
    let all = [
        (
            Name("crossing", "bound by memory from", Unit::Year),
            word.value,
            1.0,
            "least t with op/word of the machine above the right-hand side",
            "consistent words",
        ),
        (
            Name("crossing_printed", "as the source prints it", Unit::Year),
            1.0,
            1.0,
            "the same with op/byte on the left",
            "the source: op/byte against words",
        ),
        (
            Name("crossing_sqrt2", "with the sqrt 2 of the bound", Unit::Year),
            word.value,
            sqrt2,
            "the same with sqrt 2 times the right-hand side",
            "consistent words; the source drops the sqrt 2 of its own bound",
        ),
        (
            Name("crossing_printed_sqrt2", "as printed, with the sqrt 2", Unit::Year),
            1.0,
            sqrt2,
            "op/byte on the left, sqrt 2 on the right",
            "the source: op/byte against words",
        ),
    ];
    let with = [("peak", peak), ("BW", bandwidth), ("Z", fast), ("p", cores), ("start", year), ("horizon", horizon)];
    for (name, left, factor, how, source) in all.into_iter().take(if sorting { 2 } else { 4 }) {
        let excess = |t: f64| {
            let machine = trend.machine_after(t);
            left * machine.balance() - factor * right(&machine, word.value, sorting)
        };
        match crossing(horizon.value / YEAR, excess)? {
            // Growth goes on as before: an assumption, whatever it starts from.
            Some(years) => {
                let with = with.map(|(name, number)| (name, Number { guess: true, ..number }));
                answer.add_found(name, year.value + years, how, &with, source);
            }
            None => answer.note(format!("{}: not within the horizon.", name.1)),
        }
    }
    Ok(())
}

fn tables(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let trend = trend(inputs)?;
    let (word, year) = (inputs.get("word")?.value, inputs.get("year")?.value);
    let columns = vec![
        Column::new("year", ["", "year"], 0),
        Column::new("balance", ["machine", "op/B"], 0),
        Column::new("balance_word", ["machine", "op/word"], 0),
        Column::new("matmul", ["matmul", "sqrt(Z/p)"], 0),
        Column::new("sorting", ["sorting", "log2(Z/p)"], 0),
    ];
    let mut sheet = Sheet::new("years", "The machine over the years", columns);
    for machine in trend.table(inputs.get("table")?.count().min(1000) as u32) {
        sheet.row([
            Value::Year(year + machine.years).into(),
            Value::Ratio(machine.balance()).guessed(true),
            Value::Ratio(machine.balance() * word).guessed(true),
            Value::Ratio(right(&machine, word, false)).guessed(true),
            Value::Ratio(right(&machine, word, true)).guessed(true),
        ]);
    }
    answer.sheets.push(sheet);
    functions(inputs, answer, &trend, year)
}

fn functions(inputs: &Inputs<'_>, answer: &mut Answer, trend: &Trend, year: f64) -> anyhow::Result<()> {
    let Some(loaded) = inputs.defaults.loaded else { return Ok(()) };
    let work = work_of(&loaded.profile, &loaded.workloads, inputs.defaults.work)?;
    let horizon = inputs.get("horizon")?.value / YEAR;
    let columns = vec![
        Column::new("intensity", ["op/B", "at the start"], 0),
        Column::new("year", ["bound by", "memory from"], 0),
        Column::new("name", ["", "function, with what it calls"], 0),
    ];
    let mut sheet = Sheet::new("functions", "The year in which each function becomes bound by memory", columns);
    for workload in loaded.workloads.all().filter(|s| s.work(work) > 0) {
        let operations = workload.work(work) as f64;
        let years = shelf_life(operations, |z| workload.traffic(z) as f64, trend, horizon)?;
        let fast = trend.machine_after(0.0).fast_memory as u64;
        sheet.row([
            Value::Ratio(operations / workload.traffic(fast) as f64).into(),
            years.map_or_else(|| Value::Text("none".into()), |t| Value::Year(year + t)).guessed(true),
            Value::Name(workload.name.clone()).into(),
        ]);
    }
    answer.sheets.push(sheet);
    Ok(())
}
