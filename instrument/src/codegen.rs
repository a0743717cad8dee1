//! Turns the instrumented module into a native object with the code generator of the same LLVM.

use inkwell::{
    OptimizationLevel,
    attributes::AttributeLoc,
    context::Context,
    memory_buffer::MemoryBuffer,
    module::Module,
    targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine},
};

use crate::{error::Error, llvm::ir::ModuleHandle};

/// A machine for the module's own triple, with the position independence its flags ask for. CPU and features are
/// attributes of each function.
pub fn machine_for(module: &Module<'_>, opt_level: u8) -> Result<TargetMachine, Error> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = module.get_triple();
    let name = triple.as_str().to_string_lossy().into_owned();
    let refuse = |message: String| Error::Target { triple: name.clone(), message };
    if !name.starts_with("x86_64") || !name.contains("linux") {
        return Err(refuse("only x86_64 Linux is supported".into()));
    }
    let handle = ModuleHandle::from_module(module);
    let reloc = if handle.flag("PIC Level").unwrap_or(0) > 0 { RelocMode::PIC } else { RelocMode::Static };
    // Values of llvm::CodeModel, as clang stores them in the flag.
    let model = match handle.flag("Code Model") {
        Some(2) => CodeModel::Kernel,
        Some(3) => CodeModel::Medium,
        Some(4) => CodeModel::Large,
        _ => CodeModel::Default,
    };
    let level = match opt_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let target = Target::from_triple(&triple).map_err(|e| refuse(e.to_string()))?;
    target
        .create_target_machine(&triple, "x86-64", "", level, reloc, model)
        .ok_or_else(|| refuse("LLVM offers no machine for it".into()))
}

/// Features of processors that older compilers name and this LLVM does not know any more; it would say so on standard
/// error, once for each function. No processor that it makes code for has them.
const FORGOTTEN: [&str; 6] = ["avx512er", "avx512pf", "prefetchwt1", "3dnow", "3dnowa", "mpx"];

/// Takes the features away that LLVM has forgotten.
pub fn drop_forgotten_features<'c>(context: &'c Context, module: &Module<'c>) {
    const NAME: &str = "target-features";
    let is_known = |feature: &&str| !FORGOTTEN.contains(&feature.trim_start_matches(['+', '-']));
    for function in module.get_functions() {
        let Some(features) = function.get_string_attribute(AttributeLoc::Function, NAME) else { continue };
        let before = features.get_string_value().to_string_lossy();
        let kept: Vec<&str> = before.split(',').filter(is_known).collect();
        let after = kept.join(",");
        if after != before {
            function.remove_string_attribute(AttributeLoc::Function, NAME);
            function.add_attribute(AttributeLoc::Function, context.create_string_attribute(NAME, &after));
        }
    }
}

/// The object's bytes. Errors that do not stop the code generator are in the context's diagnostics.
pub fn object(machine: &TargetMachine, module: &Module<'_>) -> Result<MemoryBuffer<'static>, String> {
    machine.write_to_memory_buffer(module, FileType::Object).map_err(|e| e.to_string())
}
