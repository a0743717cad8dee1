//! Collections that grow, shrink and move: the values in them are the same as in a vector that never does. Every region
//! doubles nine values, puts them into a collection and sums what it finds there.
use std::collections::*;

use dmdprof_markers::{begin, end, input, output};

fn region(name: &std::ffi::CStr, f: impl Fn(&[f64]) -> f64) {
    let a = vec![1.0f64; 9].leak();
    input(a);
    begin(name);
    let s = f(a);
    output(std::slice::from_ref(&s));
    end(name);
}

fn sum<'a>(o: impl IntoIterator<Item = &'a f64>) -> f64 {
    let mut all = o.into_iter();
    let mut s = *all.next().unwrap();
    for x in all {
        s += *x;
    }
    s
}

fn filled(a: &[f64]) -> Vec<f64> {
    let mut o = Vec::new();
    for x in a {
        o.push(x * 2.0);
    }
    o
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Keyed(std::cmp::Reverse<usize>, u64);

fn main() {
    region(c"with_capacity", |a| {
        let mut o = Vec::with_capacity(16);
        for x in a {
            o.push(x * 2.0);
        }
        sum(&o)
    });
    region(c"push", |a| sum(&filled(a)));
    region(c"extend", |a| {
        let mut o = Vec::new();
        let mut i = 0;
        o.extend(std::iter::from_fn(|| {
            i += 1;
            a.get(i - 1).map(|x| x * 2.0)
        }));
        sum(&o)
    });
    region(c"insert", |a| {
        let mut o = Vec::new();
        for x in a {
            o.insert(o.len(), x * 2.0);
        }
        sum(&o)
    });
    region(c"collect", |a| {
        let mut i = 0;
        let next = || {
            i += 1;
            a.get(i - 1).map(|x| x * 2.0)
        };
        let o: Vec<f64> = std::iter::from_fn(next).collect();
        sum(&o)
    });
    region(c"reserve_exact", |a| {
        let mut o = Vec::new();
        for x in a {
            o.reserve_exact(1);
            o.push(x * 2.0);
        }
        sum(&o)
    });
    region(c"extend_from_slice", |a| {
        let mut o = Vec::new();
        for x in a {
            o.extend_from_slice(&[x * 2.0]);
        }
        sum(&o)
    });
    region(c"append", |a| {
        let mut o = Vec::new();
        for x in a {
            o.append(&mut vec![x * 2.0]);
        }
        sum(&o)
    });
    region(c"shrink_to_fit", |a| {
        let mut o = Vec::with_capacity(40);
        for x in a {
            o.push(x * 2.0);
        }
        o.shrink_to_fit();
        sum(&o)
    });
    region(c"into_boxed_slice, into_vec", |a| {
        let mut o = filled(a).into_boxed_slice().into_vec();
        o.reserve(100);
        sum(&o)
    });
    region(c"split_off", |a| {
        let mut o = filled(a);
        let tail = o.split_off(4);
        o.extend(tail);
        sum(&o)
    });
    region(c"clone", |a| sum(&filled(a).clone()));
    region(c"vector of vectors", |a| {
        let mut o = Vec::new();
        for x in a {
            let mut row = Vec::new();
            row.push(x * 2.0);
            o.push(row);
        }
        sum(o.iter().flatten())
    });
    region(c"VecDeque", |a| {
        let mut o = VecDeque::new();
        for x in a {
            o.push_back(x * 2.0);
        }
        sum(&o)
    });
    region(c"VecDeque, from both ends", |a| {
        let mut o = VecDeque::new();
        for x in &a[..4] {
            o.push_front(x * 2.0);
        }
        for x in &a[4..] {
            o.push_back(x * 2.0);
        }
        let o = o.make_contiguous();
        sum([3, 2, 1, 0, 4, 5, 6, 7, 8].map(|i| &o[i]))
    });
    region(c"BinaryHeap", |a| {
        let mut o = BinaryHeap::new();
        for (i, x) in a.iter().enumerate() {
            o.push(Keyed(std::cmp::Reverse(i), (x * 2.0).to_bits()));
        }
        let mut s = f64::from_bits(o.pop().unwrap().1);
        while let Some(x) = o.pop() {
            s += f64::from_bits(x.1);
        }
        s
    });
    region(c"HashMap", |a| {
        let mut o = HashMap::new();
        for (i, x) in a.iter().enumerate() {
            o.insert(i, x * 2.0);
        }
        sum((0..a.len()).map(|i| &o[&i]))
    });
    region(c"BTreeMap", |a| {
        let mut o = BTreeMap::new();
        for (i, x) in a.iter().enumerate() {
            o.insert(i, x * 2.0);
        }
        sum(o.values())
    });
    text();
}

fn bytes(name: &std::ffi::CStr, f: impl Fn(&str) -> String) {
    let a = vec![b'a'; 40].leak();
    input(a);
    begin(name);
    let o = f(unsafe { std::str::from_utf8_unchecked(a) });
    let o = o.as_bytes();
    let mut s = o[0];
    for x in &o[1..] {
        s ^= *x;
    }
    output(std::slice::from_ref(&s));
    end(name);
}

fn text() {
    bytes(c"String, to_owned", |a| a.to_owned());
    bytes(c"String, push_str", |a| {
        let mut o = String::new();
        for i in 0..a.len() {
            o.push_str(unsafe { a.get_unchecked(i..i + 1) });
        }
        o
    });
    bytes(c"String, insert_str", |a| {
        let mut o = String::new();
        for i in 0..a.len() {
            o.insert_str(o.len(), unsafe { a.get_unchecked(i..i + 1) });
        }
        o
    });
    bytes(c"String, from bytes", |a| {
        let mut o = Vec::new();
        for x in a.as_bytes() {
            o.push(*x);
        }
        unsafe { String::from_utf8_unchecked(o) }
    });
    bytes(c"String, boxed", |a| Box::<str>::from(a).into_string());
    bytes(c"String, repeat", |a| a.repeat(1));
}
