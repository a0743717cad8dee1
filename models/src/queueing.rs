//! Queues: how long requests wait when they arrive at random.
//!
//! Takes the rate of arrivals, the time of a service and the number of servers, gives load, mean times, tail
//! percentiles, and the least number of servers for a service level. Refuses rates and times that are not positive, a
//! load of 1 or more, and a level that no number of servers reaches.
//!
//! Sources: Erlang 1917 (M/M/c); Pollaczek 1930, Khinchin 1932 (mean of M/D/1); Franx, "A simple solution for the M/D/c
//! waiting time distribution", 2001, with one server (percentiles of M/D/1).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | lambda | arrivals, a Poisson process | 1/s |
//! | s | mean service | s |
//! | c | servers | 1 |
//! | a, rho | offered load `lambda s`, load `a / c` | 1 |
//!
//! * M/M/c: exponential services. Probability of waiting by Erlang's C, mean wait `C s / (c - a)`; c = 1 is M/M/1.
//! * M/D/1: every service takes s. Mean wait `rho s / (2 (1 - rho))`, half of M/M/1.
//! * percentile p: the time in the system (wait and service) that a share p of the requests does not exceed
//!
//! Edge cases: a load at or above 1 has no answer and is an error. Without arrivals there is no queue to ask about.

use crate::error::{InputError, at_most, count, positive};

/// How long services take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// M: exponentially distributed.
    Random,
    /// D: all the same. With one server.
    Fixed,
}

/// A queue before equal servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    /// lambda, 1/s.
    pub arrivals: f64,
    /// s, seconds.
    pub service: f64,
    /// c.
    pub servers: u64,
    /// How much service times vary.
    pub kind: Service,
}

/// Means. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// rho.
    pub load: f64,
    /// Probability that a request waits.
    pub waits: f64,
    /// Before the service begins.
    pub wait: f64,
    /// Wait and service.
    pub time: f64,
    /// Requests in the system, by Little's law.
    pub inside: f64,
}

impl Queue {
    /// Load, means and Little's law.
    ///
    /// # Errors
    ///
    /// If a rate or a time is not positive, there is no server, fixed services have several servers, or the load is 1
    /// or more; as for all of these.
    pub fn means(&self) -> Result<Means, InputError> {
        let (a, c) = self.check()?;
        let load = a / c;
        let (waits, wait) = match self.kind {
            Service::Random => {
                let waits = erlang_c(a, self.servers);
                (waits, waits * self.service / (c - a))
            }
            Service::Fixed => (load, load * self.service / (2.0 * (1.0 - load))),
        };
        let time = wait + self.service;
        Ok(Means { load, waits, wait, time, inside: self.arrivals * time })
    }

    /// Probability that a request is in the system for longer than `seconds`.
    ///
    /// # Errors
    ///
    /// As for [`Queue::means`].
    pub fn longer(&self, seconds: f64) -> Result<f64, InputError> {
        let (a, c) = self.check()?;
        Ok(match self.kind {
            Service::Random => random_longer(a, c, erlang_c(a, self.servers), seconds / self.service),
            Service::Fixed => {
                let services = seconds / self.service - 1.0;
                1.0 - fixed_waits_at_most(a, services, &waiting_at_most(a, services.max(0.0) as usize))
            }
        })
    }

    /// Seconds in the system that a share `p` of the requests does not exceed.
    ///
    /// # Errors
    ///
    /// As for [`Queue::means`], or if the share is not above 0 and below 1.
    pub fn percentile(&self, p: f64) -> Result<f64, InputError> {
        let p = at_most("percentile", 1.0 - 1e-9, positive("percentile", p)?)?;
        let (a, _) = self.check()?;
        let (mut below, mut above) = (0.0, self.service);
        while self.longer(above)? > 1.0 - p {
            (below, above) = (above, 2.0 * above);
        }
        // The distribution of those that wait is the same for all times.
        let waiting = match self.kind {
            Service::Random => Vec::new(),
            Service::Fixed => waiting_at_most(a, (above / self.service) as usize + 1),
        };
        for _ in 0..60 {
            let middle = below + (above - below) / 2.0;
            let longer = match self.kind {
                Service::Random => self.longer(middle)?,
                Service::Fixed => 1.0 - fixed_waits_at_most(a, middle / self.service - 1.0, &waiting),
            };
            if longer > 1.0 - p {
                below = middle;
            } else {
                above = middle;
            }
        }
        Ok(above)
    }

    /// Offered load and servers.
    fn check(&self) -> Result<(f64, f64), InputError> {
        let a = positive("arrivals per second", self.arrivals)? * positive("service time", self.service)?;
        let c = count("servers", self.servers)?;
        if self.kind == Service::Fixed {
            at_most("servers of a queue with fixed services", 1.0, c)?;
        }
        if a / c >= 1.0 { Err(InputError::Overloaded { load: a / c }) } else { Ok((a, c)) }
    }
}

/// Erlang's C: probability that all `servers` are busy, by the recursion of his B.
fn erlang_c(a: f64, servers: u64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, n| a * b / (n as f64 + a * b));
    let load = a / servers as f64;
    blocked / (1.0 - load + load * blocked)
}

/// Probability of more than `t` services in the system of M/M/c: service and wait, two exponentials.
fn random_longer(a: f64, c: f64, waits: f64, t: f64) -> f64 {
    let other = c - 1.0 - a;
    let extra = if other.abs() < 1e-9 { t } else { (1.0 - (-other * t).exp()) / other };
    (-t).exp() * (1.0 + waits * extra)
}

/// Arrivals within a service beyond which the probability is 0 in doubles, at any load below 1.
const ARRIVALS: usize = 200;

/// Probability that M/D/1 waits at most `x` services: with k-1 <= x < k, `e^(-y) sum_j Q_(k-1-j) y^j / j!`,
/// `y = rho (k - x)`, Q the distribution of the number that waits, up to k-1 or further. All terms are positive.
fn fixed_waits_at_most(load: f64, x: f64, waiting: &[f64]) -> f64 {
    if x < 0.0 {
        return 0.0;
    }
    let k = x.floor() as usize + 1;
    let y = load * (k as f64 - x);
    let mut term = (-y).exp();
    let mut sum = 0.0;
    for j in 0..k.min(ARRIVALS) {
        sum += waiting[k - 1 - j] * term;
        term *= y / (j + 1) as f64;
    }
    sum.min(1.0)
}

/// Probabilities that at most 0, 1, ..., `most` requests wait in M/D/1, by level crossing:
/// `a_0 pi_(j+1) = pi_0 A_(j+1) + sum_(i=1..j) pi_i A_(j-i+2)`, A_n being the probability of n or more arrivals in a
/// service.
fn waiting_at_most(load: f64, most: usize) -> Vec<f64> {
    let mut term = (-load).exp();
    let none = term;
    let mut tails = vec![1.0];
    for n in 1..=most.min(ARRIVALS) + 3 {
        let tail: f64 = tails[n - 1] - term;
        tails.push(tail.max(0.0));
        term *= load / n as f64;
    }
    let tail = |n: usize| tails.get(n).copied().unwrap_or(0.0);
    // In the system: empty with 1 - rho, and one in service waits not.
    let mut inside = vec![1.0 - load];
    for j in 0..=most {
        let near = j.saturating_sub(ARRIVALS) + 1..=j;
        let up: f64 = inside[0] * tail(j + 1) + near.map(|i| inside[i] * tail(j - i + 2)).sum::<f64>();
        inside.push(up / none);
    }
    let mut sum = inside[0];
    (0..=most)
        .map(|n| {
            sum += inside[n + 1];
            sum
        })
        .collect()
}

/// Fewest servers of M/M/c with which a share `p` of the requests is in the system for at most `level` seconds.
///
/// # Errors
///
/// As for [`Queue::percentile`]; or if a request that does not wait takes longer than the level at that share already.
pub fn least_servers(arrivals: f64, service: f64, p: f64, level: f64) -> Result<u64, InputError> {
    let offered = positive("arrivals per second", arrivals)? * positive("service time", service)?;
    let p = at_most("percentile", 1.0 - 1e-9, positive("percentile", p)?)?;
    let alone = -service * (1.0 - p).ln();
    if positive("service level", level)? < alone {
        return Err(InputError::OutOfReach {
            quantity: "a service level in seconds".into(),
            value: level,
            reason: format!("without any waiting a share {p} of the requests takes {alone} s"),
        });
    }
    let fits = |servers: u64| {
        let queue = Queue { arrivals, service, servers, kind: Service::Random };
        Ok::<bool, InputError>(queue.longer(level)? <= 1.0 - p)
    };
    let least = offered.floor() as u64 + 1;
    let mut above = least;
    // At the level of a request that does not wait only an infinite number would do; rounding ends it long before.
    while !fits(above)? {
        if above > least.saturating_mul(1 << 20) {
            return Err(InputError::OutOfReach {
                quantity: "a service level in seconds".into(),
                value: level,
                reason: "it leaves no time to wait".into(),
            });
        }
        above += (above - least).max(1);
    }
    let (mut below, mut above) = (least - 1, above);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if fits(middle)? { above = middle } else { below = middle }
    }
    Ok(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, Random, close_to};
    use proptest::prelude::*;

    fn queue(load: f64, servers: u64, kind: Service) -> Queue {
        Queue { arrivals: load * servers as f64, service: 1.0, servers, kind }
    }

    #[test]
    fn one_server_by_its_closed_forms() {
        let means = queue(0.8, 1, Service::Random).means().unwrap();
        close_to(means.wait, 4.0, FORMULA);
        close_to(means.time, 5.0, FORMULA);
        close_to(means.inside, 4.0, FORMULA);
        // Time in the system of M/M/1 is exponential.
        let p99 = queue(0.8, 1, Service::Random).percentile(0.99).unwrap();
        close_to(p99, 5.0 * 100f64.ln(), FORMULA);
        close_to(queue(0.8, 1, Service::Fixed).means().unwrap().wait, 2.0, FORMULA);
    }

    #[test]
    fn many_servers_by_erlangs_table() {
        // 2 erlang, 3 servers: C = 4/9.
        let found = queue(2.0 / 3.0, 3, Service::Random).means().unwrap();
        close_to(found.waits, 4.0 / 9.0, FORMULA);
        close_to(found.wait, 4.0 / 9.0, FORMULA);
        // c - 1 - a = 0, the two exponentials being the same.
        let equal = Queue { arrivals: 2.0, service: 1.0, servers: 3, kind: Service::Random };
        let near = Queue { arrivals: 2.0 + 1e-6, ..equal };
        close_to(equal.longer(3.0).unwrap(), near.longer(3.0).unwrap(), 1e-5);
    }

    #[test]
    fn fixed_services_by_erlangs_alternating_series() {
        let load = 0.7f64;
        // (1 - rho) sum_k (-rho (x - k))^k / k! e^(rho (x - k)), good enough for small x.
        let series = |x: f64| {
            let term = |k: usize| {
                let (y, factorial) = (load * (x - k as f64), (1..=k).map(|n| n as f64).product::<f64>());
                (-y).powi(k as i32) / factorial * y.exp()
            };
            (1.0 - load) * (0..=x.floor() as usize).map(term).sum::<f64>()
        };
        for x in [0.0, 0.3, 1.0, 1.7, 4.2, 6.5] {
            close_to(fixed_waits_at_most(load, x, &waiting_at_most(load, x as usize)), series(x), FORMULA);
        }
    }

    /// Request by request: gives the mean time in the system and its percentile.
    fn by_events(queue: &Queue, requests: usize, p: f64) -> (f64, f64) {
        let mut random = Random::new(1917);
        let mut free = vec![0.0f64; queue.servers as usize];
        let (mut now, mut times) = (0.0, Vec::with_capacity(requests));
        for _ in 0..requests {
            now += random.exponential(1.0 / queue.arrivals);
            let server = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
            let service = match queue.kind {
                Service::Random => random.exponential(queue.service),
                Service::Fixed => queue.service,
            };
            free[server] = free[server].max(now) + service;
            times.push(free[server] - now);
        }
        let mean = times.iter().sum::<f64>() / requests as f64;
        times.sort_by(f64::total_cmp);
        (mean, times[(p * requests as f64) as usize])
    }

    /// 400,000 requests with a fixed seed: means and percentiles are within 4 % of the formulas.
    #[test]
    fn queues_event_by_event() {
        let cases =
            [(0.5, 1, Service::Random), (0.8, 1, Service::Random), (0.8, 1, Service::Fixed), (0.9, 4, Service::Random)];
        for (load, servers, kind) in cases {
            let queue = queue(load, servers, kind);
            let (mean, p95) = by_events(&queue, 400_000, 0.95);
            close_to(queue.means().unwrap().time, mean, 0.04);
            close_to(queue.percentile(0.95).unwrap(), p95, 0.04);
        }
    }

    #[test]
    fn nearly_full_queues_have_their_asymptotic_tail() {
        // Heavy traffic (Kingman): the wait of M/D/1 is nearly exponential with its mean.
        let queue = queue(0.999, 1, Service::Fixed);
        let mean = queue.means().unwrap().wait;
        close_to(queue.percentile(0.99).unwrap(), mean * 100f64.ln(), 0.01);
    }

    #[test]
    fn a_full_queue_is_an_error_that_says_so() {
        for (load, servers, kind) in [(1.0, 1, Service::Random), (1.5, 4, Service::Random), (1.0, 1, Service::Fixed)] {
            let error = queue(load, servers, kind).means().unwrap_err().to_string();
            assert!(error.starts_with("the load must be below 1, is 1"), "{error}");
        }
        let error = queue(0.5, 2, Service::Fixed).means().unwrap_err().to_string();
        assert_eq!(error, "servers of a queue with fixed services must be at most 1, is 2");
    }

    #[test]
    fn as_many_servers_as_a_service_level_needs() {
        let servers = least_servers(50.0, 0.1, 0.95, 0.4).unwrap();
        let at =
            |servers| Queue { arrivals: 50.0, service: 0.1, servers, kind: Service::Random }.percentile(0.95).unwrap();
        assert!(at(servers) <= 0.4 && at(servers - 1) > 0.4, "{servers}");
        let error = least_servers(50.0, 0.1, 0.95, 0.2).unwrap_err().to_string();
        assert!(
            error.starts_with("a service level in seconds of 0.2 cannot be reached: without any waiting"),
            "{error}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn waiting_grows_with_load_and_percentile(load in 0.05f64..0.95, servers in 1u64..20, p in 0.5f64..0.99) {
            let at = |load: f64, p: f64| queue(load, servers, Service::Random).percentile(p).unwrap();
            prop_assert!(at(load + 0.04, p) >= at(load, p) * (1.0 - 1e-9));
            prop_assert!(at(load, p + 0.005) >= at(load, p));
            let fixed = queue(load, 1, Service::Fixed);
            prop_assert!(fixed.percentile(p).unwrap() >= 1.0 - 1e-9);
            let mean = |kind| queue(load, 1, kind).means().unwrap().wait;
            prop_assert!((mean(Service::Random) / mean(Service::Fixed) - 2.0).abs() < 1e-9);
        }
    }
}
