//! The file: one HTML document with a strict content security policy, its style, its code, and the data.
//!
//! The policy allows the one style and the one script by their hashes and nothing else: no other code, no network, no
//! plug-ins. The data is a block of text that is no code: the length of the header, the header as JSON and the columns,
//! compressed (deflate) and as printable characters ([`text`]). So nothing of a profile is ever part of the document's
//! markup.

use std::io::{self, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::DeflateEncoder};
use sha2::{Digest, Sha256};

use super::text;

macro_rules! files {
    ($($name:literal)*) => { concat!($(include_str!(concat!("page/", $name))),*) };
}

const STYLE: &str = include_str!("page/page.css");
/// Parts of one script, in this order; each is a list of declarations.
const CODE: &str = files! {
    "format.js"
    "data.js"
    "metric.js"
    "machine.js"
    "state.js"
    "dom.js"
    "table.js"
    "chart.js"
    "causes.js"
    "clock.js"
    "overview.js"
    "flame.js"
    "functions.js"
    "source.js"
    "roofline.js"
    "pairs.js"
    "objects.js"
    "motion.js"
    "compare.js"
    "baseline.js"
    "listing.js"
    "window.js"
    "walk.js"
    "threads.js"
    "main.js"
};

pub fn write(header: &[u8], columns: &[u8], out: &mut impl Write) -> io::Result<()> {
    let script = format!("(() => {{\n\"use strict\";\n{CODE}\n}})();\n");
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::new(6));
    deflate.write_all(&(header.len() as u32).to_le_bytes())?;
    deflate.write_all(header)?;
    deflate.write_all(columns)?;
    let packed = deflate.finish()?;
    let (data, bytes) = (text::encode(&packed), packed.len());
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>dmdprof</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page draws a profile and needs JavaScript. It fetches nothing and sends nothing.</noscript>\n\
         <script type=\"application/octet-stream\" id=\"data\" data-bytes=\"{bytes}\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
