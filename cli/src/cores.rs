//! Cores by what the user typed: names of machines, whose files say what their cores are like.
//!
//! Takes names, gives the numbers of cores. Without names it is the machine that was calibrated, if its file has a
//! core, else [`REFERENCE_CORE`]. What a file does not state is taken from that one. Refuses machines that there are
//! not.

use dmdprof_runtime::cycles::Figures;

use crate::machine::{Machine, Origin, Places, find::LOCAL, zoo};

/// The core of which there are cycles if nobody says otherwise.
pub const REFERENCE_CORE: &str = "zen4-9654-core";

/// A core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCore {
    /// The machine's name.
    pub name: String,
    /// What finds it: its name, or the path of its file.
    found_as: String,
    pub figures: Figures,
    /// Numbers that the machine's file does not state.
    pub not_its_own: Vec<&'static str>,
}

/// Cores that follow a program, the one that matters first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(pub Vec<NamedCore>);

impl NamedCore {
    fn from_machine(machine: &Machine) -> Self {
        let reference = zoo::machine(REFERENCE_CORE).unwrap_or_else(|| machine.clone());
        let (other, _) = reference.core_figures(&Figures::default());
        let (figures, not_its_own) = machine.core_figures(&other);
        let found_as = match &machine.origin {
            Origin::Shipped => machine.name.clone(),
            Origin::File(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
            }
        };
        Self { name: machine.name.clone(), found_as, figures, not_its_own }
    }
}

impl Cores {
    /// The option of `run` that names them.
    #[must_use]
    pub fn option(&self) -> String {
        let all: Vec<&str> = self.0.iter().map(|core| core.found_as.as_str()).collect();
        format!("--cycles={}", all.join(","))
    }

    /// With other machines behind them, unless they are among them.
    #[must_use]
    pub fn beside(mut self, others: impl IntoIterator<Item = Machine>) -> Self {
        for machine in others {
            if self.0.iter().all(|known| known.name != machine.name) {
                self.0.push(NamedCore::from_machine(&machine));
            }
        }
        self
    }
}

/// The cores that a text names.
///
/// # Errors
/// Which machine there is not.
pub fn parse(text: &str) -> Result<Cores, String> {
    let places = Places::from_env();
    if text.is_empty() {
        let own = places.find(LOCAL).ok().map(|found| found.machine).filter(|machine| !machine.core.is_empty());
        let machine = own.or_else(|| zoo::machine(REFERENCE_CORE)).ok_or("there is no machine")?;
        return Ok(Cores(vec![NamedCore::from_machine(&machine)]));
    }
    let mut cores: Vec<NamedCore> = Vec::new();
    for name in text.split(',') {
        let core = NamedCore::from_machine(&places.find(name.trim()).map_err(|error| error.to_string())?.machine);
        if cores.iter().any(|known| known.name == core.name) {
            return Err(format!("machine {} is named twice", core.name));
        }
        cores.push(core);
    }
    Ok(Cores(cores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::text;

    #[test]
    fn a_file_states_a_core_or_lends_its_levels_to_one() {
        let Cores(cores) = parse("skx-6148-core,zen2-7452-core").expect("they are shipped");
        assert_eq!((cores[0].figures.window, cores[0].not_its_own.len()), (224, 0));
        assert_eq!((cores[1].figures.l2_kib, cores[1].figures.window), (512, 320));
        assert!(cores[1].not_its_own.contains(&"window"));
        assert!(parse("zen4-9654-core,zen4-9654-core").is_err_and(|why| why.contains("twice")));
        assert!(parse("zen44").is_err());
    }

    #[test]
    fn cores_are_found_again_by_what_they_were_found_by() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.toml");
        let shipped = zoo::machine(REFERENCE_CORE).expect("it is shipped");
        std::fs::write(&path, text::to_toml(&Machine { name: "mine".into(), ..shipped })).expect("a file");
        let cores = parse(&format!("{},{REFERENCE_CORE}", path.display())).expect("a file and a name");
        assert_eq!(cores.option(), format!("--cycles={},{REFERENCE_CORE}", path.display()));
        assert_eq!(cores.0[0].name, "mine");
    }
}
