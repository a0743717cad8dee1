//! As moves.c, through what Rust moves values with.

use std::{cell::RefCell, collections::BTreeMap, ffi::CStr, ops::{Add, Mul}, rc::Rc};

use dmdprof_markers::{input, output, region};

const N: usize = 4;

#[derive(Clone, Copy)]
struct Real(f64);

impl Mul for Real {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}

impl Add for Real {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

trait Product {
    fn product(&self, i: usize) -> f64;
}

struct Slices<'a>(&'a [f64], &'a [f64]);

impl Product for Slices<'_> {
    fn product(&self, i: usize) -> f64 {
        self.0[i] * self.1[i]
    }
}

fn plain(a: &[f64], b: &[f64]) -> f64 {
    let mut s = a[0] * b[0];
    for i in 1..N {
        s = s + a[i] * b[i];
    }
    s
}

fn generic<T: Copy + Mul<Output = T> + Add<Output = T>>(a: &[T], b: &[T]) -> T {
    let mut s = a[0] * b[0];
    for i in 1..N {
        s = s + a[i] * b[i];
    }
    s
}

fn wrapped(a: &[f64], b: &[f64]) -> f64 {
    let a: Vec<Real> = a.iter().map(|x| Real(*x)).collect();
    let b: Vec<Real> = b.iter().copied().map(Real).collect();
    generic(&a, &b).0
}

fn iterators(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).reduce(|s, p| s + p).unwrap_or(0.0)
}

fn objects(a: &[f64], b: &[f64]) -> f64 {
    let boxed: Box<dyn Product + '_> = Box::new(Slices(a, b));
    let mut s = boxed.product(0);
    for i in 1..N {
        s = s + boxed.product(i);
    }
    s
}

fn fallible(a: Option<&f64>, b: Option<&f64>) -> Result<f64, String> {
    let a = a.ok_or("no a")?;
    let b = b.ok_or_else(|| "no b".to_owned())?;
    Ok(a * b)
}

fn results(a: &[f64], b: &[f64]) -> f64 {
    let mut s = None;
    for i in 0..N {
        let p = fallible(a.get(i), b.get(i)).unwrap_or_default();
        s = Some(match s {
            None => p,
            Some(s) => s + p,
        });
    }
    s.unwrap_or_default()
}

fn containers(a: &[f64], b: &[f64]) -> f64 {
    let a: Rc<RefCell<Vec<f64>>> = Rc::new(RefCell::new(a.to_vec()));
    let b: BTreeMap<usize, f64> = b.iter().copied().enumerate().collect();
    let a = a.borrow().clone().into_boxed_slice();
    let mut s = a[0] * b[&0];
    for i in 1..N {
        s = s + a[i] * b[&i];
    }
    s
}

fn same(name: &CStr, function: fn(&[f64], &[f64]) -> f64) {
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    input(&a);
    input(&b);
    let result = region(name, || {
        let result = function(&a, &b);
        output(std::slice::from_ref(&result));
        result
    });
    assert_eq!(result, 70.0);
}

fn main() {
    same(c"plain", plain);
    same(c"wrapped", wrapped);
    same(c"iterators", iterators);
    same(c"trait objects", objects);
    same(c"results", results);
    same(c"containers", containers);
}
