//! The pictures of the README: what `.ci/pictures` makes of the same program today looks like them.
//!
//! Both are made small, so that digits of a clock and the way a browser draws letters do not matter, and a column, a
//! panel or a row that has come or gone does.

use std::{fs, path::Path, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use dmdprof_tests::{
    browser::Browser,
    tool::{dmdprof_path, objects_dir, repository, scratch, succeed},
};

/// How far the parts of two small pictures are apart, in the mean and at most, of 255.
const DIFFERENCE: &str = r#"
<!DOCTYPE html><script>
const size = [64, 40];
async function pixels(data) {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: size[0], height: size[1] });
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, ...size);
    return [image.width, image.height, context.getImageData(0, 0, ...size).data];
}
Promise.all([pixels("ONE"), pixels("OTHER")]).then(([[w, h, one], [width, height, other]]) => {
    const apart = [...one].map((value, at) => Math.abs(value - other[at]));
    const mean = apart.reduce((sum, value) => sum + value, 0) / apart.length;
    window.found = { same_size: w === width && h === height, mean, most: Math.max(...apart) };
    document.documentElement.dataset.ready = "";
});
</script>
"#;

fn picture(path: &Path) -> String {
    STANDARD.encode(fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

#[test]
fn the_readmes_pictures_are_of_today() {
    let directory = scratch();
    let mut make = Command::new(repository().join(".ci/pictures"));
    make.arg(directory.path()).env("DMDPROF", dmdprof_path()).env("DMDPROF_CACHE_DIR", objects_dir());
    succeed(&mut make);
    let mut browser = Browser::start(400, 300);
    for name in ["page.png", "report.png"] {
        let [kept, made] = [repository().join("docs/images"), directory.path().to_owned()].map(|at| at.join(name));
        let page = directory.path().join("compare.html");
        fs::write(&page, DIFFERENCE.replace("ONE", &picture(&kept)).replace("OTHER", &picture(&made))).expect("a page");
        browser.open(&page, "");
        let number = |browser: &mut Browser, what: &str| browser.value(&format!("window.found.{what}"));
        let [mean, most] = ["mean", "most"].map(|what| number(&mut browser, what).as_f64().expect("a number"));
        assert_eq!(number(&mut browser, "same_size"), true, "{name}");
        assert!(
            mean < MEAN && most < MOST,
            "{name} is out of date ({mean:.1} in the mean, {most} at most): run .ci/pictures, and look at what it made"
        );
    }
}

/// Of 255.
const MEAN: f64 = 4.0;
const MOST: f64 = 80.0;
