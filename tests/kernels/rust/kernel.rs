//! Common to the kernels: sizes from the command line, inputs with harmless values, blocks of matrices, and the results
//! on request. Nothing is ever freed: the programs end soon.

#![allow(dead_code)]

/// The number in the word `NAME=NUMBER` of the command line.
pub fn number(name: &str) -> i64 {
    let value = |word: String| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    std::env::args().skip(1).find_map(value).unwrap_or_else(|| {
        eprintln!("needs {name}=NUMBER");
        std::process::exit(2)
    })
}

pub fn parameter(name: &str) -> usize {
    number(name) as usize
}

pub fn room<T: Clone + Default>(n: usize) -> &'static mut [T] {
    vec![T::default(); n].leak()
}

pub fn vector(n: usize) -> &'static mut [f64] {
    room(n)
}

/// n numbers between 1 and 2, no two neighbours equal.
pub fn filled(n: usize) -> &'static mut [f64] {
    let x = vector(n);
    let mut i = 0;
    while i < n {
        x[i] = 1.0 + (i * 7 % 13) as f64 / 16.0;
        i += 1;
    }
    x
}

/// The next argument of the kernel: n numbers.
pub fn input(n: usize) -> &'static [f64] {
    let x = filled(n);
    dmdprof_markers::input(x);
    x
}

/// Prints the results as they are in memory, if the last word of the command line is `print`.
pub fn show<T: Copy>(results: &[T]) {
    if std::env::args().next_back().as_deref() != Some("print") {
        return;
    }
    // SAFETY: the results are numbers or truth values, which have no padding.
    let bytes = unsafe { std::slice::from_raw_parts(results.as_ptr().cast::<u8>(), size_of_val(results)) };
    println!("{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
}

/// The h x h block of the 2h x 2h matrix a at block row i, block column j.
pub fn block(h: usize, a: &[f64], i: usize, j: usize) -> &'static [f64] {
    let b = vector(h * h);
    let mut r = 0;
    while r < h {
        let mut c = 0;
        while c < h {
            b[r * h + c] = a[(i * h + r) * 2 * h + j * h + c];
            c += 1;
        }
        r += 1;
    }
    b
}

/// The opposite of `block`: puts b into a.
pub fn place(h: usize, a: &mut [f64], i: usize, j: usize, b: &[f64]) {
    let mut r = 0;
    while r < h {
        let mut c = 0;
        while c < h {
            a[(i * h + r) * 2 * h + j * h + c] = b[r * h + c];
            c += 1;
        }
        r += 1;
    }
}

/// Sum of h x h matrices, elementwise.
pub fn sum(h: usize, a: &[f64], b: &[f64]) -> &'static [f64] {
    let c = vector(h * h);
    let mut i = 0;
    while i < h * h {
        c[i] = a[i] + b[i];
        i += 1;
    }
    c
}

/// Difference of h x h matrices, elementwise.
pub fn difference(h: usize, a: &[f64], b: &[f64]) -> &'static [f64] {
    let c = vector(h * h);
    let mut i = 0;
    while i < h * h {
        c[i] = a[i] - b[i];
        i += 1;
    }
    c
}
