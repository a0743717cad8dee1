//! `plan queue`: requests that arrive at random. Formulas: `dmdprof_models::queueing`.

use dmdprof_models::queueing::{Queue, Service, least_servers};

use super::super::bill;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const KINDS: &[&str] = &["random", "fixed"];

const INPUTS: &[Input] = &[
    Input::new("arrivals", Unit::PerSecond, Allowed::Positive, Default::Required, "requests that arrive, at random"),
    Input::new("service", Unit::Seconds, Allowed::Positive, Default::Known("time"), "mean time of a service"),
    Input::new(
        "servers",
        Unit::Count,
        Allowed::Positive,
        Default::Assumed(1.0, "one"),
        "servers with one queue before them",
    ),
    Input::new(
        "services",
        Unit::Word(KINDS),
        Allowed::Any,
        Default::Assumed(0.0, "M/M/c; fixed is M/D/1, with one server"),
        "services: random (exponential) or fixed (all the same)",
    ),
    Input::new(
        "percentile",
        Unit::Share,
        Allowed::Positive,
        Default::Assumed(0.99, "99 %"),
        "share of requests of the tail percentile",
    ),
    Input::new(
        "level",
        Unit::Seconds,
        Allowed::Positive,
        Default::Optional,
        "service level, for the least number of servers",
    ),
];

pub const QUESTION: Question = Question {
    name: "queue",
    about: "Waiting: load, mean times, tail percentiles, servers for a service level (M/M/1, M/M/c, M/D/1)",
    more: "Arrivals are a Poisson process; real ones come in bursts and wait longer. Services are exponential or all the same, what is in between \
           waits in between.",
    examples: "\
Examples:
  dmdprof plan queue --arrivals '8 /s' --service '100 ms'
  dmdprof plan queue --arrivals '1..9.9 /s by 0.1 /s' --service '100 ms' --services random,fixed --plot
  dmdprof plan queue --arrivals '50 /s' --profile step.data --machine skx-6148-core --servers 4 --level '250 ms'",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "tail",
    least: true,
    time: "tail",
    answer,
    tables: None,
};

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (arrivals, service, servers) = (inputs.get("arrivals")?, inputs.get("service")?, inputs.get("servers")?);
    let fixed = inputs.word("services")? == "fixed";
    let kind = if fixed { Service::Fixed } else { Service::Random };
    let queue = Queue { arrivals: arrivals.value, service: service.value, servers: servers.count(), kind };
    let means = queue.means()?;
    let with = [("arrivals", arrivals), ("service", service), ("servers", servers)];
    let load = answer.figure(
        Name("load", "load", Unit::Share),
        means.load,
        "arrivals * service / servers",
        &with,
        "definition",
    );
    let waits = answer.add_found(
        Name("waits", "probability of waiting", Unit::Share),
        means.waits,
        if fixed { "the load" } else { "Erlang's C of arrivals * service and servers" },
        &with,
        "Erlang 1917",
    );
    let wait = answer.figure(
        Name("wait", "mean wait", Unit::Seconds),
        means.wait,
        if fixed { "load * service / (2 * (1 - load))" } else { "C * service / (servers * (1 - load))" },
        &[("load", load), ("service", service), ("servers", servers), ("C", waits)],
        if fixed { "Pollaczek 1930, Khinchin 1932" } else { "Erlang 1917" },
    );
    let time = answer.figure(
        Name("time", "mean time in the system", Unit::Seconds),
        means.time,
        "wait + service",
        &[("wait", wait), ("service", service)],
        "sum",
    );
    answer.figure(
        Name("inside", "requests in the system", Unit::Number),
        means.inside,
        "arrivals * time",
        &[("arrivals", arrivals), ("time", time)],
        "Little 1961",
    );
    let percentile = inputs.get("percentile")?;
    answer.add_found(
        Name("tail", "time that the percentile does not exceed", Unit::Seconds),
        queue.percentile(percentile.value)?,
        if fixed { "Franx's formula, inverted" } else { "wait and service, two exponentials, inverted" },
        &[("arrivals", arrivals), ("service", service), ("servers", servers), ("percentile", percentile)],
        if fixed { "Franx 2001" } else { "Erlang 1917" },
    );
    if let Some(level) = inputs.maybe("level")? {
        let least = least_servers(arrivals.value, service.value, percentile.value, level.value)?;
        answer.add_found(
            Name("least_servers", "servers for the service level (M/M/c)", Unit::Count),
            least as f64,
            "fewest servers with that percentile at most at the level",
            &[("arrivals", arrivals), ("service", service), ("percentile", percentile), ("level", level)],
            "Erlang 1917",
        );
    }
    // A request pays for the servers' time between two arrivals.
    let gap = Number { value: 1.0 / arrivals.value, unit: Unit::Seconds, guess: arrivals.guess };
    bill::add(inputs, answer, servers, gap)
}
