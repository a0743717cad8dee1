//! A library with fifty tests.

/// ```
/// assert_eq!(fifty::fib(10), 55);
/// ```
pub fn fib(n: u64) -> u64 {
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    a
}

pub fn sorted(n: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..n).map(|i| i * 7919 % 101).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! tests {
        ($($name:ident $n:literal)*) => {$(
            #[test]
            fn $name() {
                assert!(sorted($n * 20).windows(2).all(|pair| pair[0] <= pair[1]));
                assert!(fib($n) >= $n / 2);
            }
        )*};
    }

    tests! {
        t01 1 t02 2 t03 3 t04 4 t05 5 t06 6 t07 7 t08 8 t09 9 t10 10 t11 11 t12 12 t13 13 t14 14 t15 15 t16 16 t17 17
        t18 18 t19 19 t20 20 t21 21 t22 22 t23 23 t24 24 t25 25 t26 26 t27 27 t28 28 t29 29 t30 30 t31 31 t32 32 t33 33
        t34 34 t35 35 t36 36 t37 37 t38 38 t39 39 t40 40 t41 41 t42 42 t43 43 t44 44 t45 45 t46 46 t47 47 t48 48 t49 49
        t50 50
    }
}
