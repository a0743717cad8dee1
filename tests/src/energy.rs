//! Energy of the processor while some work runs, in joules: what the packages' counters say (RAPL, by way of
//! `/sys/class/powercap`). Refuses machines without such counters, and counters that this user may not read.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux shows the counters.
pub const COUNTERS: &str = "/sys/class/powercap";

/// The counters of all packages.
#[derive(Debug)]
pub struct Meter {
    packages: Vec<Package>,
}

#[derive(Debug)]
struct Package {
    counter: PathBuf,
    /// After so many microjoules it begins again at 0.
    range: u64,
}

impl Meter {
    /// The counters below a directory.
    ///
    /// # Errors
    /// Why there are none that can be read.
    pub fn below(directory: &Path) -> Result<Self, String> {
        let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        let mut packages = Vec::new();
        for entry in entries {
            let zone = entry.map_err(|e| format!("{}: {e}", directory.display()))?.path();
            // Other names (`intel-rapl-mmio:0`) show the same packages again.
            let is_zone = zone.file_name().is_some_and(|name| name.to_string_lossy().starts_with("intel-rapl:"));
            let is_package = |name: String| name.starts_with("package-");
            if is_zone && fs::read_to_string(zone.join("name")).is_ok_and(is_package) {
                let package =
                    Package { counter: zone.join("energy_uj"), range: number(&zone.join("max_energy_range_uj"))? };
                number(&package.counter)?;
                packages.push(package);
            }
        }
        if packages.is_empty() {
            return Err(format!("{} has no counter of a package", directory.display()));
        }
        Ok(Meter { packages })
    }

    /// What all packages take while the work runs, whoever else runs then.
    ///
    /// # Errors
    /// A counter that cannot be read any more.
    pub fn joules(&self, work: impl FnOnce()) -> Result<f64, String> {
        let before = self.read()?;
        work();
        let after = self.read()?;
        let spent = |((package, before), after): ((&Package, u64), u64)| {
            if after < before { package.range - before + after } else { after - before }
        };
        Ok(self.packages.iter().zip(before).zip(after).map(spent).sum::<u64>() as f64 / 1e6)
    }

    fn read(&self) -> Result<Vec<u64>, String> {
        self.packages.iter().map(|package| number(&package.counter)).collect()
    }
}

fn number(path: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.trim().parse().map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::scratch;

    fn zone(directory: &Path, name: &str, of: &str, counter: u64) -> PathBuf {
        let zone = directory.join(name);
        fs::create_dir(&zone).expect("a zone");
        fs::write(zone.join("name"), format!("{of}\n")).expect("its name");
        fs::write(zone.join("max_energy_range_uj"), "10000000\n").expect("its range");
        fs::write(zone.join("energy_uj"), format!("{counter}\n")).expect("its counter");
        zone.join("energy_uj")
    }

    #[test]
    fn packages_are_added_and_counters_may_begin_again() {
        let directory = scratch();
        let first = zone(directory.path(), "intel-rapl:0", "package-0", 1_000_000);
        let second = zone(directory.path(), "intel-rapl:1", "package-1", 9_000_000);
        let cores = zone(directory.path(), "intel-rapl:0:0", "core", 0);
        let again = zone(directory.path(), "intel-rapl-mmio:0", "package-0", 0);
        let meter = Meter::below(directory.path()).expect("two packages");
        let joules = meter.joules(|| {
            fs::write(&first, "3500000").expect("written");
            fs::write(&second, "500000").expect("written");
            fs::write(&cores, "2000000").expect("written");
            fs::write(&again, "2000000").expect("written");
        });
        assert_eq!(joules, Ok(2.5 + 1.5));
    }

    #[test]
    fn machines_without_counters_are_refused() {
        let directory = scratch();
        let none = Meter::below(&directory.path().join("nowhere")).expect_err("no directory");
        assert!(none.contains("nowhere"), "{none}");
        zone(directory.path(), "intel-rapl:0:0", "core", 0);
        let none = Meter::below(directory.path()).expect_err("no package");
        assert!(none.ends_with("has no counter of a package"), "{none}");
        let hidden = zone(directory.path(), "intel-rapl:0", "package-0", 0);
        fs::remove_file(hidden).expect("removed");
        assert!(Meter::below(directory.path()).expect_err("no counter").contains("energy_uj"));
    }
}
