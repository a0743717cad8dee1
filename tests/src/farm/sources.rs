//! Fetches sources: Debian's by `apt-get source`, from the archives that this machine uses; crates by cargo.
//! Gives a folder with the unpacked sources, kept for the next time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

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
    // apt locks its lists, and refuses who comes second.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
    if Command::new("dpkg-source").arg("--version").output().is_err() {
        return Err("dpkg-source is missing: apt-get install dpkg-dev".to_owned());
    }
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
    folders.next().ok_or_else(|| format!("apt-get source {package} unpacked nothing"))
}

/// The machine's archives, for sources instead of packages. Without updates for security: their older sources vanish.
fn write_lists(to: &Path) -> Result<(), String> {
    let etc = Path::new("/etc/apt");
    let parts = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in std::iter::once(etc.join("sources.list")).chain(parts) {
        let (Ok(text), Some(name)) = (fs::read_to_string(&path), path.file_name()) else { continue };
        // As apt does: files of other names are none of its lists.
        let sources: String = match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => text
                .lines()
                .filter(|line| is_archive(line))
                .filter_map(|line| line.strip_prefix("deb "))
                .map(source_line)
                .collect(),
            Some("sources") => text.split("\n\n").filter(|stanza| is_archive(stanza)).map(source_stanza).collect(),
            _ => continue,
        };
        fs::write(to.join(name), sources).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Whether a part of a list is about the distribution itself: archives of single vendors have packages only.
fn is_archive(part: &str) -> bool {
    ["debian", "ubuntu"].iter().any(|name| part.contains(name)) && !part.contains("security") && !part.contains("cloud")
}

fn source_line(rest: &str) -> String {
    format!("deb-src {rest}\n")
}

fn source_stanza(stanza: &str) -> String {
    let lines = stanza.lines().map(|line| if line.starts_with("Types:") { "Types: deb-src" } else { line });
    lines.map(|line| format!("{line}\n")).chain(["\n".to_owned()]).collect()
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
    run(Command::new("cargo").args(["fetch", "--quiet"]).current_dir(&project))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("there is no home directory")?;
    let registries = fs::read_dir(home.join("registry/src")).map_err(|e| e.to_string())?;
    let mut folders = registries.flatten().map(|registry| registry.path().join(format!("{name}-{version}")));
    let found =
        folders.find(|folder| folder.is_dir()).ok_or_else(|| format!("cargo did not fetch {name} {version}"))?;
    run(Command::new("cp").arg("-r").arg(found).arg(scratch.join("crate")))?;
    stand_alone(&scratch.join("crate/Cargo.toml"))?;
    Ok(scratch.join("crate"))
}

/// A crate below the workspace of another project is none of its members: cargo refuses it, unless its manifest says
/// so.
fn stand_alone(manifest: &Path) -> Result<(), String> {
    let describe = |e: std::io::Error| format!("{}: {e}", manifest.display());
    let text = fs::read_to_string(manifest).map_err(describe)?;
    let table: toml::Table = toml::from_str(&text).map_err(|e| format!("{}: {e}", manifest.display()))?;
    if table.contains_key("workspace") {
        return Ok(());
    }
    fs::write(manifest, format!("{text}\n[workspace]\n")).map_err(describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_becomes_a_workspace_of_its_own_once() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        fs::write(&manifest, "[package]\nname = \"a\"").unwrap();
        stand_alone(&manifest).unwrap();
        let once = fs::read_to_string(&manifest).unwrap();
        assert_eq!(once, "[package]\nname = \"a\"\n[workspace]\n");
        stand_alone(&manifest).unwrap();
        assert_eq!(fs::read_to_string(&manifest).unwrap(), once);
        fs::write(&manifest, "[package").unwrap();
        assert!(stand_alone(&manifest).is_err());
    }
}
