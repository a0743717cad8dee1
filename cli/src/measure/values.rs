//! Options of the values model, and what the user must know when a program and a model do not go together.

use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueEnum};
use dmdprof_instrument::Model;
use dmdprof_runtime::{
    analysis::Measurement,
    sites::SiteTable,
    values::{FmaRule, InputPlaces, ValueOptions},
};

use crate::{driver::source::language_of, profile::model::ValuesMeta, shared::quantity::parse_small_size};

/// `--model`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ModelArg {
    /// Bytes of memory, by address, as optimised code accesses them: for real programs
    #[default]
    Memory,
    /// Inputs and results of instructions, as the source has them: the reference ByteDMD machine, for kernels
    Values,
}

impl ModelArg {
    /// The name in a profile: numbers compare only within one.
    #[must_use]
    pub fn name(self, values: &ValuesArgs) -> &'static str {
        match (self, values.input_places()) {
            (Self::Memory, _) => "memory",
            (Self::Values, InputPlaces::Stack) => "values",
            (Self::Values, InputPlaces::Fixed) => "values with fixed inputs",
        }
    }
}

impl From<ModelArg> for Model {
    fn from(arg: ModelArg) -> Self {
        match arg {
            ModelArg::Memory => Self::Memory,
            ModelArg::Values => Self::Values,
        }
    }
}

/// How values are sized and priced.
#[derive(Args, Clone, Debug, Default)]
pub struct ValuesArgs {
    /// With --model values: every value has N bytes and width conversions are free, as in the reference machine
    /// [default: each value has the size of its type, and a conversion is an instruction]
    #[arg(long, value_name = "N", value_parser = parse_size)]
    pub bytes_per_element: Option<u8>,

    /// With --model values: how a fused multiply-add is priced
    #[arg(long, value_enum, value_name = "RULE")]
    pub fma: Option<FmaArg>,

    /// With --model values: where declared inputs lie before their first read
    #[arg(long, value_enum, value_name = "PLACE")]
    pub inputs: Option<InputsArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputsArg {
    /// On the stack, the first declared nearest to the top [default]
    Stack,
    /// Each at a depth of its own, the first element of the first declared at 1; outputs are read once at the end
    Fixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FmaArg {
    /// As a multiplication, then an addition
    Expand,
    /// As one instruction with three reads and one result
    One,
}

fn parse_size(text: &str) -> Result<u8, String> {
    match parse_small_size(text) {
        Ok(n @ (1 | 2 | 4 | 8)) => Ok(n as u8),
        _ => Err("must be 1, 2, 4 or 8".into()),
    }
}

impl ValuesArgs {
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.bytes_per_element.is_some() || self.fma.is_some() || self.inputs.is_some()
    }

    #[must_use]
    pub fn options(&self) -> ValueOptions {
        let fma = if self.fma == Some(FmaArg::One) { FmaRule::One } else { FmaRule::Expand };
        ValueOptions { element: self.bytes_per_element, fma, inputs: self.input_places(), ..ValueOptions::default() }
    }

    #[must_use]
    pub fn input_places(&self) -> InputPlaces {
        if self.inputs == Some(InputsArg::Fixed) { InputPlaces::Fixed } else { InputPlaces::Stack }
    }

    #[must_use]
    pub fn meta(&self) -> ValuesMeta {
        ValuesMeta { bytes_per_element: self.bytes_per_element, fma_is_one: self.fma == Some(FmaArg::One) }
    }
}

/// Refuses a program, with these descriptors, that was compiled for the other model.
///
/// # Errors
/// How to compile it, or how to run it.
pub fn check_model(program: &Path, table: &SiteTable, model: Model) -> anyhow::Result<()> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    match (model, table.has_values()) {
        (Model::Values, false) => bail!(
            "{name} was compiled for the memory model, which does not follow values.\n\
             Compile it with `dmdprof cc --dmdprof-model=values`, or give its source file to `dmdprof run --model values`"
        ),
        (Model::Loops, _) if !table.has_loops() => bail!(no_loops_message(program)),
        (Model::Sampled, _) if !table.can_be_sampled() => bail!(no_sample_message(program)),
        (Model::Memory | Model::Loops | Model::Sampled, true) => {
            bail!(
                "{name} was compiled for the values model; run it with --model values, or compile it without --dmdprof-model=values"
            )
        }
        _ => Ok(()),
    }
}

/// Refuses a run that measured nothing, or not what was meant.
///
/// # Errors
/// The program is of the other model, its declarations contradict each other, or its region never began.
pub fn check_measurement(measurement: &Measurement, model: ModelArg) -> anyhow::Result<()> {
    let has_values = measurement.tables.iter().any(|(_, table)| table.has_values());
    if model == ModelArg::Memory {
        anyhow::ensure!(!has_values, "the program was compiled for the values model; add --model values");
        return Ok(());
    }
    anyhow::ensure!(
        has_values,
        "nothing in the program was compiled for the values model; compile it with `dmdprof cc --dmdprof-model=values`"
    );
    if !measurement.problems.is_empty() {
        bail!("{}", measurement.problems.join("\n"));
    }
    if measurement.regions.is_empty() {
        bail!(
            "no region began: the program calls dmdprof_begin somewhere, but not in this run.\n\
             Without any call of dmdprof_begin, the whole run is one region"
        );
    }
    Ok(())
}

/// Why a program cannot be sampled.
#[must_use]
pub fn no_sample_message(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{name}, or a part of it, was compiled to be measured exactly, and cannot draw a sample while it runs.\n\
         Three ways to one that can:\n  \
         dmdprof run --sample FILE.c|.cpp|.rs               build one source file and run it\n  \
         dmdprof cc --dmdprof-sample -O2 -g FILES -o PROGRAM    also in CFLAGS of a whole project\n  \
         dmdprof record PROGRAM && dmdprof replay --sample  sample the program as it is, at the speed of an exact run"
    )
}

/// Why a program has nothing to show here.
#[must_use]
pub fn no_loops_message(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let what = if language_of(program).is_some() {
        format!("nothing of {name} was compiled with marked loops")
    } else {
        format!("{name} was compiled without marks at its loops")
    };
    format!(
        "{what}.\nTwo ways to mark them:\n  \
         dmdprof motion FILE.c|.cpp|.rs                    build one source file and run it\n  \
         dmdprof cc --dmdprof-loops -O2 -g FILES -o PROGRAM    also in CFLAGS of a whole project\n\
         A run of a program with marks can also be recorded (dmdprof record) and analysed later (dmdprof motion TRACE)."
    )
}
