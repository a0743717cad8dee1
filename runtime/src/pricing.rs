//! Prices of reads: ceil(sqrt(depth)) per byte, exact in integers.
//!
//! Source: the ByteDMD cost model (reading the byte at depth `d` of an LRU stack costs `ceil(sqrt(d))`). The sum over
//! depths `1..=N` has the closed form `S(N) = M (6N - 2M^2 + 3M - 1) / 6` with `M = ceil(sqrt(N))`.

/// Version of the cost model, stored with every result.
pub const MODEL_VERSION: u32 = 1;

/// `ceil(sqrt(depth))` for `depth >= 1`; 0 for 0.
#[inline]
#[must_use]
pub fn root(depth: u64) -> u64 {
    if depth < 1 << 50 {
        // Below 2^50 the nearest double of the root is at most one off after truncation; the integers decide.
        let mut root = (depth as f64).sqrt() as u64;
        if root * root < depth {
            root += 1;
        }
        return root;
    }
    (depth - 1).isqrt() + 1
}

/// `S(n)`: cost of reading the top `n` bytes of the stack once each, without moving them.
#[must_use]
pub fn sum_of_roots(n: u64) -> u128 {
    if n == 0 {
        return 0;
    }
    let m = i128::from(root(n));
    // Signed, because -2M^2 + 3M - 1 is negative for M > 1; the whole is positive and below 2^100 for any n.
    (m * (6 * i128::from(n) - 2 * m * m + 3 * m - 1) / 6) as u128
}

/// Runs up to this length are summed price by price: cheaper than the closed form's 128-bit division.
const SHORT_RUN: u64 = 64;

/// Cost of reading `len` bytes that lie right below `above` live bytes.
#[inline]
#[must_use]
pub fn run_cost(above: u64, len: u64) -> u128 {
    if len > SHORT_RUN || above >= 1 << 50 {
        return sum_of_roots(above + len) - sum_of_roots(above);
    }
    // From the deepest byte upwards, as most runs have one price and the others few.
    let mut end = above + len;
    let mut price = root(end);
    let mut cost = 0;
    while end > above {
        let cheaper = ((price - 1) * (price - 1)).max(above);
        cost += price * (end - cheaper);
        end = cheaper;
        price -= 1;
    }
    u128::from(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_of_s() {
        let golden: [(u64, u128); 13] = [
            (0, 0),
            (1, 1),
            (2, 3),
            (4, 7),
            (5, 10),
            (9, 22),
            (10, 26),
            (16, 50),
            (17, 55),
            (100, 715),
            (1_000_000, 667_166_500),
            (1 << 32, 187_652_131_946_496),
            (1 << 40, 768_614_886_160_203_776),
        ];
        for (n, s) in golden {
            assert_eq!(sum_of_roots(n), s, "S({n})");
        }
    }

    #[test]
    fn roots_around_perfect_squares_of_all_sizes() {
        for r in (1..3000u64).chain((1..32).map(|k| 1 << k)).chain([0xffff_ffff, 0xb504_f333]) {
            assert_eq!(root(r * r), r, "root of {}", r * r);
            assert_eq!(root(r * r + 1), r + 1, "root of {}", r * r + 1);
            if r > 1 {
                assert_eq!(root(r * r - 1), r, "root of {}", r * r - 1);
            }
        }
    }

    #[test]
    fn short_runs_cost_what_the_closed_form_says() {
        for above in (0..5000u64).chain([(1 << 40) - 3, (1 << 50) - 70, (1 << 50) + 1, 999_999]) {
            for len in [1, 2, 7, 8, 63, 64, 65, 200] {
                assert_eq!(run_cost(above, len), sum_of_roots(above + len) - sum_of_roots(above), "{above} + {len}");
            }
        }
    }

    #[test]
    fn closed_form_equals_the_sum() {
        let mut sum = 0u128;
        for n in 1..20_000u64 {
            sum += u128::from(root(n));
            assert_eq!(sum_of_roots(n), sum);
        }
    }
}
