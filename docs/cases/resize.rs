//! Reads a picture (PPM), makes it narrower or wider, writes it: the call that every thumbnail is made with.
use image::imageops::{FilterType, resize};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, from, width, height, to] = &words[..] else { panic!("resize FROM WIDTH HEIGHT TO") };
    let picture = image::open(from).unwrap().into_rgb8();
    let (width, height) = (width.parse().unwrap(), height.parse().unwrap());
    resize(&picture, width, height, FilterType::Lanczos3).save(to).unwrap();
}
