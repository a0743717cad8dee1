//! The kernels of `tests/polybench`: all thirty are there, and the three variants of each give the same result, to the
//! bit, at the small size.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dmdprof_tests::pairs::{Kernel, Set, kernels};
use dmdprof_tests::tool::{clang, in_time, scratch, succeed};

const KERNELS: &str = "2mm 3mm adi atax bicg cholesky correlation covariance deriche doitgen durbin fdtd-2d \
    floyd-warshall gemm gemver gesummv gramschmidt heat-3d jacobi-1d jacobi-2d lu ludcmp mvt nussinov seidel-2d symm \
    syr2k syrk trisolv trmm";

/// What the variants of a kernel print, each built as small.
fn results(kernel: &Kernel) -> BTreeSet<String> {
    let directory = scratch();
    let result = |variant: &String| {
        let source = kernel.source_of(variant, directory.path());
        let mut compiler = Command::new(clang(false));
        compiler.args(["-O1", "-DSMALL", &source, "-lm", "-o", variant]);
        succeed(compiler.current_dir(directory.path()));
        let output = in_time(&mut Command::new(directory.path().join(variant)));
        assert!(output.status.success(), "{} {variant}: {}", kernel.name, output.status);
        String::from_utf8(output.stdout).expect("text")
    };
    kernel.variants.iter().map(result).collect()
}

#[test]
fn all_thirty_are_there_in_three_variants() {
    let kernels = kernels(Set::Polybench);
    assert_eq!(kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(" "), KERNELS);
    for kernel in kernels {
        assert_eq!(kernel.variants.len(), 3, "{}", kernel.name);
        let text = std::fs::read_to_string(&kernel.source).expect("its source");
        let named = |variant: &&String| text.contains(&format!("VARIANT_{variant}"));
        assert!(kernel.variants.iter().filter(named).count() >= 2, "{} does not tell its variants apart", kernel.name);
    }
}

#[test]
fn variants_give_the_same_result() {
    let kernels = kernels(Set::Polybench);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(kernel) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
            let results = results(kernel);
            assert_eq!(results.len(), 1, "{} prints {results:?}", kernel.name);
            let result = results.first().expect("one").trim_end();
            assert!(result.len() == 8 && result != "00000000", "{} prints {result:?}", kernel.name);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}
