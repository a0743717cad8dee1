//! The nests whose motion is known: dmdprof motion kernels.rs NAME SIZES...
//!
//! Sizes come from the command line and accesses are volatile, so that -O1 keeps each loop and each access as it is written.

use std::ptr::{addr_of_mut, read_volatile, write_volatile};

const MOST: usize = 16;

#[unsafe(no_mangle)]
static mut A: [f64; MOST * MOST] = [0.0; MOST * MOST];
#[unsafe(no_mangle)]
static mut B: [f64; MOST * MOST] = [0.0; MOST * MOST];
#[unsafe(no_mangle)]
static mut C: [f64; MOST * MOST] = [0.0; MOST * MOST];
#[unsafe(no_mangle)]
static mut Input: [f64; MOST] = [0.0; MOST];
#[unsafe(no_mangle)]
static mut Weight: [f64; MOST] = [0.0; MOST];
#[unsafe(no_mangle)]
static mut Output: [f64; MOST] = [0.0; MOST];
#[unsafe(no_mangle)]
static mut U: [f64; MOST] = [0.0; MOST];
#[unsafe(no_mangle)]
static mut V: [f64; MOST] = [0.0; MOST];

/// `to[o] += a[i] * b[j]`
#[inline(always)]
unsafe fn update(to: *mut f64, o: usize, a: *mut f64, i: usize, b: *mut f64, j: usize) {
    unsafe {
        let product = read_volatile(a.add(i)) * read_volatile(b.add(j));
        write_volatile(to.add(o), read_volatile(to.add(o)) + product);
    }
}

fn multiply(n: usize, i: usize, j: usize, k: usize) {
    unsafe { update(addr_of_mut!(C).cast(), i * n + j, addr_of_mut!(A).cast(), i * n + k, addr_of_mut!(B).cast(), k * n + j) }
}

fn convolve(q: usize, s: usize) {
    unsafe { update(addr_of_mut!(Output).cast(), q, addr_of_mut!(Input).cast(), q + s, addr_of_mut!(Weight).cast(), s) }
}

#[inline(never)]
fn conv_os(q_end: usize, s_end: usize) {
    for q in 0..q_end {
        for s in 0..s_end {
            convolve(q, s);
        }
    }
}

#[inline(never)]
fn conv_ws(q_end: usize, s_end: usize) {
    for s in 0..s_end {
        for q in 0..q_end {
            convolve(q, s);
        }
    }
}

#[inline(never)]
fn conv_tiled(q_end: usize, s_end: usize, t: usize) {
    let mut b = 0;
    while b < q_end {
        for s in 0..s_end {
            for q in b..b + t {
                convolve(q, s);
            }
        }
        b += t;
    }
}

#[inline(never)]
fn matmul_ijk(n: usize) {
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                multiply(n, i, j, k);
            }
        }
    }
}

#[inline(never)]
fn matmul_ikj(n: usize) {
    for i in 0..n {
        for k in 0..n {
            for j in 0..n {
                multiply(n, i, j, k);
            }
        }
    }
}

#[inline(never)]
fn matmul_kij(n: usize) {
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                multiply(n, i, j, k);
            }
        }
    }
}

#[inline(never)]
fn matmul_tiled(n: usize, t: usize) {
    let mut bi = 0;
    while bi < n {
        let mut bj = 0;
        while bj < n {
            let mut bk = 0;
            while bk < n {
                for i in bi..bi + t {
                    for j in bj..bj + t {
                        for k in bk..bk + t {
                            multiply(n, i, j, k);
                        }
                    }
                }
                bk += t;
            }
            bj += t;
        }
        bi += t;
    }
}

#[inline(never)]
fn jacobi1d(n: usize, steps: usize) {
    let (mut from, mut to): (*mut f64, *mut f64) = (addr_of_mut!(U).cast(), addr_of_mut!(V).cast());
    for _t in 0..steps {
        for i in 1..n - 1 {
            unsafe {
                let sum = read_volatile(from.add(i - 1)) + read_volatile(from.add(i)) + read_volatile(from.add(i + 1));
                write_volatile(to.add(i), sum);
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let name = words.next().expect("a name");
    let sizes: Vec<usize> = words.map(|w| w.parse().expect("a size")).collect();
    match name.as_str() {
        "conv_os" => conv_os(sizes[0], sizes[1]),
        "conv_ws" => conv_ws(sizes[0], sizes[1]),
        "conv_tiled" => conv_tiled(sizes[0], sizes[1], sizes[2]),
        "matmul_ijk" => matmul_ijk(sizes[0]),
        "matmul_ikj" => matmul_ikj(sizes[0]),
        "matmul_kij" => matmul_kij(sizes[0]),
        "matmul_tiled" => matmul_tiled(sizes[0], sizes[1]),
        "jacobi1d" => jacobi1d(sizes[0], sizes[1]),
        other => panic!("no nest {other}"),
    }
}
