//! Declares outputs before and after they change.

fn main() {
    let mut words: Vec<u32> = (0..5).collect();
    dmdprof_markers::output(&words);
    words.reverse();
    dmdprof_markers::output(&words);
    dmdprof_markers::output::<u8>(&[]);
    dmdprof_markers::output(b"end");
}
