//! Placement: on which backend each operation of a chain should run, when changing the backend costs a launch and a
//! transfer.
//!
//! Takes operations in the order they run and backends in the order of preference, gives the cheapest assignment, its
//! stretches, and the price of putting everything on one backend. Refuses rates that are not positive, negative costs
//! and counts, more than 64 backends, and an operation that no backend may run.
//!
//! Source: Apple Neural Engine book, chapter 18 (placement). Its launch and transfer costs have no stated unit; here
//! all times are seconds.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | F_i, B_i | work and bytes of operation i | op, B |
//! | P_b, BW_b | peak and bandwidth of backend b | op/s, B/s |
//! | L_b, X_b | launch of a stretch on b, transfer into b from another backend | s |
//!
//! `cost = sum_i max(F_i / P_b(i), B_i / BW_b(i)) + sum over stretches L_b + sum over stretches after the first X_b`, a
//! stretch being a maximal run of operations on one backend. The transfer costs X_b however many bytes there are.
//!
//! The minimum is found back to front: the cost from operation i on, given its backend, needs only that of i + 1. Going
//! back makes the ties easy: of assignments with equal cost (as computed in doubles), the one that has the earlier
//! backend at the first operation where they differ is given. The tables have one byte per operation and backend.
//!
//! Edge cases: no operations cost nothing; the first stretch is launched but has no transfer.

use std::ops::Range;

use crate::error::{InputError, at_most, not_empty, not_negative, positive};

/// Most backends.
pub const BACKENDS: usize = u64::BITS as usize;

/// A place where operations can run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backend {
    /// P, operations per second.
    pub peak: f64,
    /// BW, bytes per second.
    pub bandwidth: f64,
    /// L, seconds at the start of every stretch.
    pub launch: f64,
    /// X, seconds to enter from another backend.
    pub transfer_in: f64,
}

/// A set of backends, by their place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed(u64);

impl Allowed {
    /// Every backend.
    pub const ALL: Allowed = Allowed(u64::MAX);
    /// No backend.
    pub const NONE: Allowed = Allowed(0);

    /// This set and backend `backend`, which must be below [`BACKENDS`].
    #[must_use]
    pub const fn with_backend(self, backend: usize) -> Allowed {
        Allowed(self.0 | 1 << backend)
    }

    /// This set without backend `backend`, which must be below [`BACKENDS`].
    #[must_use]
    pub const fn without(self, backend: usize) -> Allowed {
        Allowed(self.0 & !(1 << backend))
    }

    /// Whether `backend` is in the set.
    #[must_use]
    pub const fn contains(self, backend: usize) -> bool {
        backend < BACKENDS && self.0 >> backend & 1 == 1
    }
}

/// One operation of the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation {
    /// F, operations.
    pub work: f64,
    /// B, bytes.
    pub bytes: f64,
    /// Backends that can run it.
    pub allowed: Allowed,
}

/// A maximal run of operations on one backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Its place in the list.
    pub backend: usize,
    /// Which operations of the chain.
    pub operations: Range<usize>,
}

/// A cheapest assignment.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// Seconds.
    pub cost: f64,
    /// Backend of each operation.
    pub assignment: Vec<u8>,
    /// Seconds of running everything on each backend; `None` where an operation may not run.
    pub forced: Vec<Option<f64>>,
}

impl Placement {
    /// The stretches of the assignment, in order.
    #[must_use]
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut start = 0;
        self.assignment
            .chunk_by(|a, b| a == b)
            .map(|run| {
                let operations = start..start + run.len();
                start = operations.end;
                Stretch { backend: usize::from(run[0]), operations }
            })
            .collect()
    }
}

/// Cheapest assignment of a chain of operations to backends.
///
/// # Errors
///
/// If there are no backends or more than [`BACKENDS`], a rate is not positive, a cost or count is negative, or an
/// operation is allowed on none of the backends.
pub fn place(backends: &[Backend], operations: &[Operation]) -> Result<Placement, InputError> {
    check(backends, operations)?;
    let (onward, next) = costs_onward(backends, operations);
    let launched: Vec<f64> = backends.iter().zip(&onward).map(|(backend, cost)| backend.launch + cost).collect();
    let (first, cost) = cheapest(&launched);
    let cost = if operations.is_empty() { 0.0 } else { cost };
    let assignment = follow(first as u8, &next, backends.len(), operations.len());
    let forced = backends.iter().enumerate().map(|(b, backend)| forced(b, backend, operations)).collect();
    Ok(Placement { cost, assignment, forced })
}

fn check(backends: &[Backend], operations: &[Operation]) -> Result<(), InputError> {
    not_empty("backends", backends)?;
    at_most("number of backends", BACKENDS as f64, backends.len() as f64)?;
    for (b, backend) in backends.iter().enumerate() {
        positive(format_args!("peak of backend {b}"), backend.peak)?;
        positive(format_args!("bandwidth of backend {b}"), backend.bandwidth)?;
        not_negative(format_args!("launch of backend {b}"), backend.launch)?;
        not_negative(format_args!("transfer into backend {b}"), backend.transfer_in)?;
    }
    for (i, operation) in operations.iter().enumerate() {
        not_negative(format_args!("work of operation {i}"), operation.work)?;
        not_negative(format_args!("bytes of operation {i}"), operation.bytes)?;
        if !(0..backends.len()).any(|b| operation.allowed.contains(b)) {
            return Err(InputError::NotAllowed { operation: i });
        }
    }
    Ok(())
}

/// Seconds of one operation; infinite where it may not run.
fn time(b: usize, backend: &Backend, operation: &Operation) -> f64 {
    if operation.allowed.contains(b) {
        (operation.work / backend.peak).max(operation.bytes / backend.bandwidth)
    } else {
        f64::INFINITY
    }
}

/// For each backend, the cost of the whole chain if it starts there (launch excepted); and, operation by operation, the
/// backend that the next one takes from there.
fn costs_onward(backends: &[Backend], operations: &[Operation]) -> (Vec<f64>, Vec<u8>) {
    let width = backends.len();
    let mut onward = vec![0.0; width];
    let mut next = vec![0; width * operations.len()];
    for (i, operation) in operations.iter().enumerate().rev() {
        let entered: Vec<f64> = if i + 1 == operations.len() {
            // After the last operation nothing is entered.
            vec![f64::INFINITY; width]
        } else {
            backends.iter().zip(&onward).map(|(backend, cost)| backend.launch + backend.transfer_in + cost).collect()
        };
        let (other, change) = cheapest(&entered);
        for (b, backend) in backends.iter().enumerate() {
            // Staying is never dearer than leaving and entering again, so `other` may be `b` itself.
            let stay = onward[b] < change || (onward[b] == change && b <= other);
            next[i * width + b] = if stay { b } else { other } as u8;
            onward[b] = onward[b].min(change) + time(b, backend, operation);
        }
    }
    (onward, next)
}

/// The first of the least costs.
fn cheapest(costs: &[f64]) -> (usize, f64) {
    let mut least = (0, costs[0]);
    for (b, &cost) in costs.iter().enumerate() {
        if cost < least.1 {
            least = (b, cost);
        }
    }
    least
}

fn follow(first: u8, next: &[u8], width: usize, operations: usize) -> Vec<u8> {
    let mut backend = first;
    (0..operations)
        .map(|i| {
            let here = backend;
            backend = next[i * width + usize::from(here)];
            here
        })
        .collect()
}

fn forced(b: usize, backend: &Backend, operations: &[Operation]) -> Option<f64> {
    let launch = if operations.is_empty() { 0.0 } else { backend.launch };
    let cost = launch + operations.iter().map(|operation| time(b, backend, operation)).sum::<f64>();
    cost.is_finite().then_some(cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};
    use proptest::prelude::*;

    const ENGINE: Backend = Backend { peak: 0.8e12, bandwidth: 50e9, launch: 0.05e-3, transfer_in: 0.09e-3 };
    const GPU: Backend = Backend { peak: 0.12e12, bandwidth: 40e9, launch: 0.10e-3, transfer_in: 0.23e-3 };
    const CPU: Backend = Backend { peak: 0.02e12, bandwidth: 10e9, launch: 0.10e-3, transfer_in: 0.23e-3 };
    const PUBLISHED: [Backend; 3] = [ENGINE, GPU, CPU];

    const C1: Operation = operation(924844032.0, 1982464.0);
    const C2: Operation = operation(536870912.0, 8912896.0);
    const RELU: Operation = operation(401408.0, 802816.0);
    const SMALL: Operation = operation(20000.0, 20000.0);
    const GATHER: Operation = Operation { allowed: Allowed::ALL.without(0), ..operation(0.0, 2097152.0) };

    const fn operation(work: f64, bytes: f64) -> Operation {
        Operation { work, bytes, allowed: Allowed::ALL }
    }

    #[test]
    fn published_backends() {
        // Milliseconds: best, all on the GPU, all on the CPU.
        let golden = [
            (vec![C1, C2], [1.877143680, 12.280957867, 73.185747200], vec![0, 0]),
            (vec![C1, GATHER, C2], [2.399572480, 12.333386667, 73.395462400], vec![0, 1, 0]),
            (vec![C1, RELU, C2], [1.893200000, 12.301028267, 73.266028800], vec![0, 0, 0]),
            (vec![RELU, GATHER, RELU], [0.192569600, 0.192569600, 0.470278400], vec![1, 1, 1]),
            (vec![SMALL; 5], [0.052000000, 0.102500000, 0.110000000], vec![0; 5]),
            (vec![SMALL, GATHER, SMALL, GATHER, SMALL], [0.206357600, 0.206357600, 0.525430400], vec![1; 5]),
        ];
        for (chain, [best, gpu, cpu], assignment) in golden {
            let found = place(&PUBLISHED, &chain).unwrap();
            assert_eq!(found.assignment, assignment);
            prints(found.cost * 1e3, best, 9);
            prints(found.forced[1].unwrap() * 1e3, gpu, 9);
            prints(found.forced[2].unwrap() * 1e3, cpu, 9);
            assert_eq!(found.forced[0].is_none(), chain.contains(&GATHER));
        }
        prints(ENGINE.peak / GPU.peak, 6.67, 2);
        prints(ENGINE.peak / CPU.peak, 40.0, 9);
    }

    #[test]
    fn stretches_cover_the_chain() {
        let found = place(&PUBLISHED, &[C1, C1, GATHER, C2]).unwrap();
        let expected = [(0, 0..2), (1, 2..3), (0, 3..4)].map(|(backend, operations)| Stretch { backend, operations });
        assert_eq!(found.stretches(), expected);
    }

    #[test]
    fn equal_costs_take_the_earlier_backend_at_the_first_difference() {
        let twins = [Backend { launch: 0.0, transfer_in: 0.0, ..GPU }; 3];
        assert_eq!(place(&twins, &[SMALL; 4]).unwrap().assignment, [0; 4]);
        let not_first = Operation { allowed: Allowed::NONE.with_backend(1).with_backend(2), ..SMALL };
        assert_eq!(place(&twins, &[SMALL, not_first, SMALL]).unwrap().assignment, [0, 1, 0]);
        // Leaving early or late costs the same: late keeps the earlier backend.
        let twins = [Backend { launch: 0.5, transfer_in: 0.25, peak: 1.0, bandwidth: 1.0 }; 2];
        let (any, second) =
            (operation(1.0, 1.0), Operation { allowed: Allowed::NONE.with_backend(1), ..operation(1.0, 1.0) });
        let dear_to_leave = place(&twins, &[any, any, second]).unwrap();
        assert_eq!((dear_to_leave.assignment.as_slice(), dear_to_leave.cost), ([1, 1, 1].as_slice(), 3.5));
        let first = Operation { allowed: Allowed::NONE.with_backend(0), ..operation(1.0, 1.0) };
        assert_eq!(place(&twins, &[first, any, second]).unwrap().assignment, [0, 0, 1]);
    }

    #[test]
    fn nothing_to_place_costs_nothing() {
        let found = place(&PUBLISHED, &[]).unwrap();
        assert_eq!((found.cost, found.assignment.len(), found.stretches().len()), (0.0, 0, 0));
        assert_eq!(found.forced, [Some(0.0); 3]);
    }

    #[test]
    fn long_chains_are_placed() {
        let chain: Vec<Operation> = [C1, RELU, GATHER, SMALL].into_iter().cycle().take(400_000).collect();
        let found = place(&PUBLISHED, &chain).unwrap();
        assert_eq!(found.assignment.len(), chain.len());
        let [one, two] = [&chain[..4], &chain[..8]].map(|chain| place(&PUBLISHED, chain).unwrap().cost);
        close_to(found.cost, one + 99_999.0 * (two - one), FORMULA);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |backends: &[Backend], chain: &[Operation]| place(backends, chain).unwrap_err().to_string();
        assert_eq!(refused(&[], &[C1]), "there are no backends");
        assert_eq!(refused(&[ENGINE; 65], &[C1]), "number of backends must be at most 64, is 65");
        assert_eq!(
            refused(&[Backend { launch: -1.0, ..CPU }], &[C1]),
            "launch of backend 0 must not be negative, is -1"
        );
        assert_eq!(refused(&[ENGINE], &[C1, GATHER]), "operation 1 is allowed on no backend");
    }

    /// Cost of one assignment by the formula; infinite if it is not allowed.
    fn cost(backends: &[Backend], chain: &[Operation], assignment: &[usize]) -> f64 {
        let mut cost = 0.0;
        for (i, (&b, operation)) in assignment.iter().zip(chain).enumerate() {
            cost += time(b, &backends[b], operation);
            if i == 0 || assignment[i - 1] != b {
                cost += backends[b].launch;
            }
            if i > 0 && assignment[i - 1] != b {
                cost += backends[b].transfer_in;
            }
        }
        cost
    }

    /// The first of the cheapest of all assignments, in lexicographic order.
    fn brute_force(backends: &[Backend], chain: &[Operation]) -> (f64, Vec<usize>) {
        let (width, mut best) = (backends.len(), (f64::INFINITY, Vec::new()));
        for number in 0..width.pow(chain.len() as u32) {
            let digit = |i: usize| number / width.pow((chain.len() - 1 - i) as u32) % width;
            let assignment: Vec<usize> = (0..chain.len()).map(digit).collect();
            let cost = cost(backends, chain, &assignment);
            if cost < best.0 {
                best = (cost, assignment);
            }
        }
        best
    }

    fn chains() -> impl Strategy<Value = (Vec<Backend>, Vec<Operation>)> {
        // Whole numbers, so that equal costs are equal whatever the order of the sum.
        let backend = (0u8..3, 0u8..3).prop_map(|(launch, transfer_in)| Backend {
            peak: 1.0,
            bandwidth: 0.5,
            launch: launch.into(),
            transfer_in: transfer_in.into(),
        });
        let backend = (backend, 0..3i32).prop_map(|(b, speed)| Backend { peak: 2f64.powi(speed - 2), ..b });
        let operation = (0u8..4, 0u8..4, 1u64..8).prop_map(|(work, bytes, allowed)| Operation {
            work: work.into(),
            bytes: bytes.into(),
            allowed: Allowed(allowed),
        });
        (prop::collection::vec(backend, 3), prop::collection::vec(operation, 1..7))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_assignment_is_cheaper_or_as_cheap_and_earlier((backends, chain) in chains()) {
            let found = place(&backends, &chain).unwrap();
            let (cost, assignment) = brute_force(&backends, &chain);
            prop_assert_eq!(found.cost, cost);
            prop_assert_eq!(found.assignment.iter().map(|&b| usize::from(b)).collect::<Vec<_>>(), assignment);
        }
    }
}
