//! Fetches sources: Debian's by `apt-get source`, from the archives that this machine uses; crates by cargo.
//! Gives a folder with the unpacked sources, kept for the next time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::manifest::Source;
use crate::tool::describe;

/// The unpacked sources of a program, below `cache`.
///
/// # Errors
/// What apt or cargo said.
pub fn fetch(source: &Source, cache: &Path) -> Result<PathBuf, String> {
    let (kind, name) = match source {
        Source::Debian(name) => ("debian", name.clone()),
        Source::Crate(name) => ("crates", name.replace(' ', "-")),
    };
    let folder = cache.join(kind).join(&name);
    if folder.is_dir() {
        return Ok(folder);
    }
    let scratch = tempfile::tempdir_in(cache).map_err(|e| e.to_string())?;
    let unpacked = match source {
        Source::Debian(package) => debian(package, scratch.path(), cache)?,
        Source::Crate(name) => crates(name, scratch.path())?,
    };
    fs::create_dir_all(cache.join(kind)).map_err(|e| e.to_string())?;
    fs::rename(&unpacked, &folder).map_err(|e| format!("{}: {e}", unpacked.display()))?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}\n{}", describe(&output))) }
}

/// `apt-get source` with lists of its own, so that the machine's are left alone.
fn debian(package: &str, scratch: &Path, cache: &Path) -> Result<PathBuf, String> {
    let lists = cache.join("apt");
    let apt = || {
        let mut command = Command::new("apt-get");
        command.arg("-qq").current_dir(scratch);
        for (option, path) in [
            ("Dir::Etc::SourceList", lists.join("none")),
            ("Dir::Etc::SourceParts", lists.join("sources")),
            ("Dir::State::Lists", lists.join("lists")),
            ("Dir::Cache", lists.join("cache")),
        ] {
            command.arg("-o").arg(format!("{option}={}", path.display()));
        }
        command
    };
    if !lists.join("ready").is_file() {
        for folder in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(lists.join(folder)).map_err(|e| e.to_string())?;
        }
        write_lists(&lists.join("sources"))?;
        run(apt().arg("update"))?;
        fs::write(lists.join("ready"), "").map_err(|e| e.to_string())?;
    }
    run(apt().args(["source", package]))?;
    let entries = fs::read_dir(scratch).map_err(|e| e.to_string())?;
    let mut folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.next().ok_or_else(|| format!("apt-get source {package} unpacked nothing: is dpkg-dev installed?"))
}

/// The machine's archives, for sources instead of packages.
fn write_lists(to: &Path) -> Result<(), String> {
    let etc = Path::new("/etc/apt");
    let parts = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = std::iter::once(etc.join("sources.list")).chain(parts).collect();
    all.sort();
    for path in all {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let lines = text.lines().filter(|line| !line.starts_with("deb-src "));
        let lines = lines.map(|line| match line.strip_prefix("deb ") {
            Some(rest) => format!("deb-src {rest}\n"),
            None if line.starts_with("Types:") => "Types: deb-src\n".to_owned(),
            None => format!("{line}\n"),
        });
        // Archives of single vendors have packages only, and an update would fail for that.
        let sources: String = lines.collect();
        if sources.contains("debian") || sources.contains("ubuntu") {
            let name = path.file_name().unwrap_or_default();
            fs::write(to.join(name), sources).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// A project that depends on the crate makes cargo fetch it; the copy keeps the crate's own lock file.
fn crates(name: &str, scratch: &Path) -> Result<PathBuf, String> {
    let (name, version) = name.split_once(' ').ok_or_else(|| format!("{name:?} is not a crate and its version"))?;
    let project = scratch.join("project");
    fs::create_dir_all(project.join("src")).map_err(|e| e.to_string())?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(project.join("Cargo.toml"), manifest).map_err(|e| e.to_string())?;
    fs::write(project.join("src/lib.rs"), "").map_err(|e| e.to_string())?;
    let output = Command::new("cargo").args(["metadata", "--format-version", "1"]).current_dir(&project).output();
    let output = output.map_err(|e| format!("cannot start cargo: {e}"))?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|_| describe(&output))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let found = packages.filter(|package| package["name"] == *name).filter_map(|package| package["manifest_path"].as_str());
    let found = found.map(Path::new).filter_map(Path::parent).next();
    let found = found.ok_or_else(|| format!("cargo did not fetch {name} {version}"))?;
    run(Command::new("cp").arg("-r").arg(found).arg(scratch.join("crate")))?;
    Ok(scratch.join("crate"))
}
