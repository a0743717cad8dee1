//! Writes the licences of everything that is in a release: each crate that `dmdprof` is built from, with its licence
//! and the text of it.
//!
//! Takes the workspace's metadata from Cargo, gives the text on standard output; refuses a crate that does not name its
//! licence, or whose licence may not be given away with a program under MIT or Apache-2.0.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use serde_json::Value;

/// Any of these will do for a crate that leaves the choice.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unlicense",
    "Unicode-3.0",
    "0BSD",
];

fn main() -> ExitCode {
    match licences() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("licences: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn licences() -> Result<String, String> {
    let metadata = metadata()?;
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"]).map(|p| (text(&p["id"]), p)).collect();
    let (mut text_of_all, mut texts) = (String::new(), BTreeMap::<String, Vec<String>>::new());
    for id in inside(&metadata, &packages)? {
        let package = packages.get(id).ok_or_else(|| format!("{id} is not among the packages"))?;
        let name = format!("{} {}", text(&package["name"]), text(&package["version"]));
        let licence = text(&package["license"]);
        if !is_allowed(licence) {
            return Err(format!("{name} is under {licence:?}, which is none of {}", ALLOWED.join(", ")));
        }
        text_of_all += &format!("{name}: {licence}\n");
        let directory = Path::new(text(&package["manifest_path"])).parent().ok_or("a manifest lies in a directory")?;
        for content in licence_texts(directory)? {
            texts.entry(content).or_default().push(name.clone());
        }
    }
    for (content, names) in texts {
        text_of_all += &format!("\n{}\n{}\n\n{}\n", "-".repeat(80), names.join(", "), content.trim_end());
    }
    Ok(text_of_all)
}

fn metadata() -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    serde_json::from_slice(&out.stdout).map_err(|e| e.to_string())
}

/// Packages that end up in the program, by name: what `dmdprof` depends on, and what that depends on, but for builds
/// and tests.
fn inside<'a>(metadata: &'a Value, packages: &BTreeMap<&'a str, &Value>) -> Result<Vec<&'a str>, String> {
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"]).map(|n| (text(&n["id"]), n)).collect();
    let root = list(&metadata["packages"]).find(|p| p["name"] == "dmdprof" && p["source"].is_null());
    let mut next = vec![text(&root.ok_or("there is no package dmdprof")?["id"])];
    let mut found = BTreeSet::new();
    while let Some(id) = next.pop() {
        if found.insert(id) {
            let node = nodes.get(id).ok_or_else(|| format!("{id} is not resolved"))?;
            let normal = list(&node["deps"]).filter(|d| list(&d["dep_kinds"]).any(|k| k["kind"].is_null()));
            next.extend(normal.map(|d| text(&d["pkg"])));
        }
    }
    let mut found: Vec<&str> = found.into_iter().filter(|id| !packages[id]["source"].is_null()).collect();
    found.sort_by_key(|id| (text(&packages[id]["name"]), text(&packages[id]["version"])));
    Ok(found)
}

/// An SPDX expression of which some choice consists of allowed licences only.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace(['(', ')'], "").replace('/', " OR ");
    expression.split(" AND ").all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}

fn licence_texts(directory: &Path) -> Result<Vec<String>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", directory.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_text && entry.path().is_file() {
            names.push(entry.path());
        }
    }
    names.sort();
    names.iter().map(|path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged_by_what_can_be_chosen() {
        for good in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0"] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn everything_inside_is_allowed_and_named() {
        let text = licences().unwrap();
        assert!(text.starts_with("adler2 ") || text.contains("\nzstd "), "{text}");
        assert!(!text.contains("\nproptest "), "only what is in the program");
    }
}
