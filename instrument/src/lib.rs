//! Bitcode in, instrumented object out.
//!
//! Takes the optimised bitcode (or textual IR) of one translation unit, from any clang or rustc up to the LLVM in use;
//! gives a native object whose code appends a record per segment and whose section [`SECTION`] describes them; refuses
//! bitcode of a newer LLVM and targets other than `x86_64` Linux. Hooks go in after the optimiser and right before code
//! generation, so they never change what it does.
//!
//! `classify` decides what each instruction does, `plan` groups accesses into segments, `blob` writes their
//! descriptors, `emit` changes the code, `codegen` makes the object. Only `llvm` talks to the library.

#![deny(missing_docs)]

mod access;
mod address;
mod affine;
mod assembly;
mod blob;
pub mod calls;
mod classify;
mod codegen;
mod dataflow;
mod emit;
mod error;
mod fields;
mod frames;
mod function_plan;
mod gate;
mod gated;
mod lanes;
pub mod llvm;
mod loops;
mod plan;
mod request;
mod segment;
mod skip;
mod slots;
pub mod source_path;
pub mod synchronise;
mod types;
mod x86;

use std::path::{Path, PathBuf};

use dmdprof_abi::{
    COMPILER_MARK, Counters, FIRST_COUNTER, NOT_OPTIMISED, OPTIMISED_BEFORE, SECTION, function_flag, print_of, symbol,
};
use inkwell::{
    attributes::{Attribute, AttributeLoc},
    context::Context,
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::TargetMachine,
    values::{FunctionValue, MetadataValue},
};

pub use error::Error;
pub use request::{Append, Model, Request, Summary};
pub use skip::SkipReason;

use crate::function_plan::FunctionPlan;
use classify::{Classifier, Effect};
use emit::{Emitter, Unit};
use frames::DebugInfo;
use llvm::diagnostics::Diagnostics;
use llvm::ir::{Linkage, ModuleHandle, Nodes, Opcode, Value, split_edges};
use plan::LoopForm;

/// Instruments one translation unit.
///
/// ```
/// use dmdprof_instrument::{Append, Model, Request, instrument_file};
///
/// let directory = tempfile::tempdir()?;
/// let (input, object) = (directory.path().join("in.ll"), directory.path().join("out.o"));
/// std::fs::write(
///     &input,
///     r#"target triple = "x86_64-unknown-linux-gnu"
///     define void @increment(ptr %p) {
///       %old = load i32, ptr %p
///       %new = add i32 %old, 1
///       store i32 %new, ptr %p
///       ret void
///     }"#,
/// )?;
/// let request = Request {
///     input: &input,
///     object: &object,
///     model: Model::Memory,
///     loop_records: true,
///     append: Append::InPlace,
///     opt_level: 2,
///     function_sections: false,
///     flags: "",
///     dump_ir: None,
/// };
/// let summary = instrument_file(&request)?;
/// // One record for a load and a store.
/// assert_eq!((summary.functions, summary.segments, summary.accesses), (1, 1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`Error`]; nothing is written unless all went well.
pub fn instrument_file(request: &Request<'_>) -> Result<Summary, Error> {
    llvm::load()?;
    let diagnostics = Diagnostics::default();
    let context = Context::create();
    diagnostics.listen(&context);
    let mut module = parse(&context, request.input)?;
    dump(&module, request, "before")?;
    let machine = codegen::machine_for(&module, request.opt_level)?;
    if request.model == Model::Values {
        module
            .run_passes("function(mem2reg)", &machine, PassBuilderOptions::create())
            .map_err(|e| Error::Broken(e.to_string()))?;
    }
    let unit = name_of(request.input)?;
    note_compiler(&context, &module, request);
    let summary = instrument_module(&mut module, request, unit);
    module.verify().map_err(|e| Error::Broken(e.to_string()))?;
    module
        .run_passes("always-inline", &machine, PassBuilderOptions::create())
        .map_err(|e| Error::Broken(e.to_string()))?;
    dump(&module, request, "after")?;
    write_object(&machine, &module, &diagnostics, request.object)?;
    Ok(summary)
}

/// Compiles a unit as it is, without hooks. Its text need not be optimised further.
///
/// # Errors
/// See [`Error`]; nothing is written unless all went well.
pub fn compile_file(input: &Path, object: &Path, opt_level: u8) -> Result<(), Error> {
    llvm::load()?;
    let diagnostics = Diagnostics::default();
    let context = Context::create();
    diagnostics.listen(&context);
    let module = parse(&context, input)?;
    let machine = codegen::machine_for(&module, opt_level)?;
    write_object(&machine, &module, &diagnostics, object)
}

fn write_object(
    machine: &TargetMachine,
    module: &Module<'_>,
    diagnostics: &Diagnostics,
    path: &Path,
) -> Result<(), Error> {
    let object = codegen::object(machine, module).map_err(Error::Codegen)?;
    if let Some(message) = diagnostics.errors() {
        return Err(Error::Codegen(message));
    }
    let fail = |e: std::io::Error| Error::Write { path: path.to_path_buf(), message: e.to_string() };
    std::fs::write(path, object.as_slice()).map_err(fail)
}

/// What the counters of an object are known by: the same for the same bitcode.
fn name_of(path: &Path) -> Result<u64, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let words = bytes.chunks(8).map(|word| word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    Ok(print_of(words))
}

fn parse<'c>(context: &'c Context, path: &Path) -> Result<Module<'c>, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, &path.to_string_lossy());
    let module = context.create_module_from_ir(buffer);
    let mut module =
        module.map_err(|e| Error::Parse { path: path.to_path_buf(), major: llvm::major(), message: e.to_string() })?;
    // What is planned relies on a module that is as it must be: blocks that end, phis with an entry per edge.
    module.verify().map_err(|e| Error::Parse {
        path: path.to_path_buf(),
        major: llvm::major(),
        message: e.to_string(),
    })?;
    llvm::debug_record::keep_as_calls(&mut module);
    llvm::lifetimes::mark_slots(&mut module);
    codegen::drop_forgotten_features(context, &module);
    Ok(module)
}

fn dump(module: &Module<'_>, request: &Request<'_>, when: &str) -> Result<(), Error> {
    let Some(directory) = request.dump_ir else { return Ok(()) };
    let stem = request.input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path: PathBuf = directory.join(format!("{stem}.{when}.ll"));
    let fail = |message: String| Error::Write { path: path.clone(), message };
    std::fs::create_dir_all(directory).map_err(|e| fail(e.to_string()))?;
    module.print_to_file(&path).map_err(|e| fail(e.to_string()))
}

/// Makes blocks where hooks go that must run when control takes one edge and only then. Comes before planning, as phis
/// are replaced by it.
fn make_room(module: &mut Module<'_>, request: &Request<'_>) {
    let model = request.model;
    let is_hooked = |classifier: &Classifier<'_>, module: ModuleHandle<'_>, function: Value<'_>| {
        has_own_body(function) && refuse_function(function, classifier, &run_while_linked(module)).is_none()
    };
    split_edges(module, |module, function| {
        let classifier = Classifier::for_module(module);
        if !is_hooked(&classifier, module, function) {
            return Vec::new();
        }
        emit::normal_edges(function, |invoke| needs_own_destination(invoke, model, &classifier))
    });
    if matches!(model, Model::Memory | Model::Sampled) && request.loop_records {
        split_edges(module, |module, function| {
            let classifier = Classifier::for_module(module);
            if !is_hooked(&classifier, module, function) {
                return Vec::new();
            }
            emit::loop_exits(function, |block| plan::may_loop(block, &classifier))
        });
    }
}

fn instrument_module(module: &mut Module<'_>, request: &Request<'_>, unit: u64) -> Summary {
    let model = request.model;
    let handle = ModuleHandle::from_module(module);
    redirect_signal_functions(handle);
    if model == Model::Values {
        emit_inline_functions(handle);
    }
    make_room(module, request);
    let handle = ModuleHandle::from_module(module);
    let classifier = Classifier::for_module(handle);
    let mut debug = DebugInfo::new(Nodes::for_module(handle));
    let mut emitter = Emitter::new(handle, classifier.layout, request.append, model == Model::Sampled);
    let mut counters = 0;
    let mut summary = Summary::default();
    let mut unreferenced = Vec::new();
    let flags = match model {
        Model::Memory => 0,
        Model::Values => function_flag::VALUES,
        Model::Loops => function_flag::LOOPS,
        Model::Sampled => function_flag::SAMPLED,
    };
    let resolvers = run_while_linked(handle);
    let team_parts = synchronise::team_parts(handle);

    for function in handle.functions().into_iter().filter(|f| has_own_body(*f)) {
        if request.function_sections && !function.has_section() && !function.has_comdat() {
            function.set_section(&format!(".text.{}", function.name()));
        }
        let refused = refuse_function(function, &classifier, &resolvers);
        let of_function = (model == Model::Sampled).then_some(Counters { unit, first: counters as u64 });
        let planned = refused.is_none().then(|| {
            let is_team_part = team_parts.contains(&function);
            let clocked = model == Model::Sampled;
            let mut of_memory =
                |form| plan::plan_function(function, &classifier, &mut debug, form, is_team_part, clocked);
            let mut plan = match model {
                Model::Memory | Model::Sampled if request.loop_records => of_memory(LoopForm::OneRecord),
                Model::Memory | Model::Sampled => of_memory(LoopForm::PerIteration),
                Model::Loops => plan::plan_function(function, &classifier, &mut debug, LoopForm::Marked, false, false),
                Model::Values => dataflow::plan_function(function, &classifier, &mut debug),
            };
            let blob = blob::encode(&mut plan, flags, of_function)?;
            let has_counters = of_function.is_none() || counters + plan.segments.len() <= FIRST_COUNTER;
            has_counters.then_some((plan, blob))
        });
        let planned = planned.flatten();
        let skipped = planned.is_none();
        let (plan, blob) = planned.unwrap_or_else(|| {
            let mut plan = skipped_plan(function, refused.unwrap_or(SkipReason::TooLarge), &classifier, &mut debug);
            let blob = blob::encode(&mut plan, flags | function_flag::SKIPPED, of_function);
            (plan, blob.expect("names and reasons are not too large"))
        });
        let global = handle.bytes("__dmdprof_descriptors", &blob.bytes, SECTION);
        global.copy_comdat_from(function);
        if plan.segments.is_empty() {
            unreferenced.push(global);
        }
        emitter.function(&plan, global, &blob.segment_offsets, counters as u64);
        counters += plan.segments.len();
        summary.add(&plan, skipped);
    }
    if summary.functions > 0 {
        unreferenced.extend(emitter.constructor(Unit { name: unit, counters: counters as u64 }));
    }
    handle.keep(&unreferenced);
    summary
}

/// Leaves the compiler's name, its options and the processor it optimised for in the object.
fn note_compiler<'c>(context: &'c Context, module: &Module<'c>, request: &Request<'_>) {
    const IDENT: &str = "llvm.ident";
    let compiler = module.get_global_metadata(IDENT).first().and_then(first_string);
    let compiler = compiler.unwrap_or_else(|| "unknown compiler".into());
    let level = format!("-O{}", request.opt_level);
    let flags = if request.flags.is_empty() { &level } else { request.flags };
    let already =
        if request.model == Model::Values { "" } else { optimised_already(module, &compiler, request.opt_level) };
    let line = format!("{COMPILER_MARK}{compiler} {flags}{already}{}", processor(module));
    let node = context.metadata_node(&[context.metadata_string(&line).into()]);
    // Only refused for what is no node.
    let _ = module.add_global_metadata(IDENT, &node);
}

fn first_string(node: &MetadataValue<'_>) -> Option<String> {
    let first = node.get_node_values()?.into_iter().next()?;
    Some(String::from_utf8_lossy(first.into_metadata_value().get_string_value()?).into_owned())
}

/// What the level says wrongly of IR that was made before: clang marks functions that are not to be optimised.
fn optimised_already(module: &Module<'_>, compiler: &str, level: u8) -> &'static str {
    if !compiler.contains("clang") {
        return "";
    }
    let has = |function: FunctionValue<'_>, name: &str| {
        let kind = Attribute::get_named_enum_kind_id(name);
        function.get_enum_attribute(AttributeLoc::Function, kind).is_some()
    };
    let defined = module.get_functions().filter(|function| function.count_basic_blocks() > 0);
    let (mut marked, mut others) = (0, 0);
    for function in defined.filter(|function| !has(*function, "alwaysinline")) {
        *(if has(function, "optnone") { &mut marked } else { &mut others }) += 1;
    }
    match (level, marked, others) {
        (0, 0, 1..) => OPTIMISED_BEFORE,
        // Those that construct variables of C++ are never marked.
        (1.., marked, others) if marked > others => NOT_OPTIMISED,
        _ => "",
    }
}

/// ` for skylake`, ` with avx2 bmi`, or nothing for the plain x86-64; of the first function that says so.
fn processor(module: &Module<'_>) -> String {
    const PLAIN: [&str; 7] = ["cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"];
    let attribute = |name: &str| {
        let of = |f: FunctionValue<'_>| f.get_string_attribute(AttributeLoc::Function, name);
        let found = module.get_functions().find_map(of)?;
        Some(found.get_string_value().to_string_lossy().into_owned())
    };
    match attribute("target-cpu") {
        Some(cpu) if cpu != "x86-64" => format!(" for {cpu}"),
        _ => {
            let features = attribute("target-features").unwrap_or_default();
            let features = features.split(',').filter_map(|f| f.strip_prefix('+')).filter(|f| !PLAIN.contains(f));
            let features: Vec<&str> = features.collect();
            if features.is_empty() { String::new() } else { format!(" with {}", features.join(" ")) }
        }
    }
}

/// Whether something must be emitted where an invoke returns, which then must be a block that nothing else leads to.
fn needs_own_destination<'m>(invoke: Value<'m>, model: Model, classifier: &Classifier<'m>) -> bool {
    let hooked = matches!(classifier.effect(invoke), Effect::Call(effect) if classify::needs_hook_after(&effect));
    hooked || (model == Model::Values && dataflow::needs_own_destination(invoke, classifier))
}

impl Summary {
    fn add(&mut self, plan: &FunctionPlan<'_>, skipped: bool) {
        if skipped {
            self.skipped_functions += 1;
        } else {
            self.functions += 1;
        }
        self.segments += plan.segments.len();
        self.accesses += plan.segments.iter().map(|s| s.items.len()).sum::<usize>();
    }
}

/// Whether this object will contain the function's code.
fn has_own_body(function: Value<'_>) -> bool {
    !function.is_declaration() && function.linkage() != Linkage::AvailableExternally
}

/// Resolvers of ifuncs, and what they call of this module.
fn run_while_linked(module: ModuleHandle<'_>) -> Vec<Value<'_>> {
    let mut found = module.ifunc_resolvers();
    let mut next = 0;
    while let Some(&function) = found.get(next) {
        next += 1;
        let instructions = function.blocks().into_iter().flat_map(|block| block.instructions());
        let calls = instructions.filter(|i| matches!(i.opcode(), Opcode::Call | Opcode::Invoke));
        let callees: Vec<Value<'_>> =
            calls.map(Value::callee).filter(|f| f.is_function() && has_own_body(*f)).collect();
        for callee in callees {
            if !found.contains(&callee) {
                found.push(callee);
            }
        }
    }
    found
}

/// Functions that must not carry hooks, because they run where hooks cannot or were marked by the user.
fn refuse_function<'m>(
    function: Value<'m>,
    classifier: &Classifier<'m>,
    resolvers: &[Value<'m>],
) -> Option<SkipReason> {
    if function.has_attribute(classifier.attributes.naked) {
        return Some(SkipReason::NakedFunction);
    }
    if resolvers.contains(&function) {
        return Some(SkipReason::IfuncResolver);
    }
    if function.has_string_attribute("dmdprof-no-instrument") {
        return Some(SkipReason::NotToBeInstrumented);
    }
    let funclets = |i: &Value| matches!(i.opcode(), Opcode::CatchSwitch | Opcode::CleanupPad | Opcode::CatchPad);
    if function.blocks().iter().any(|b| b.instructions().iter().any(funclets)) {
        return Some(SkipReason::WindowsExceptionHandling);
    }
    None
}

fn skipped_plan<'m>(
    function: Value<'m>,
    reason: SkipReason,
    classifier: &Classifier<'m>,
    debug: &mut DebugInfo<'m>,
) -> FunctionPlan<'m> {
    let mut plan = FunctionPlan::named(function, debug);
    plan.skips.insert(reason, 1);
    let accesses = if reason == SkipReason::IfuncResolver { own_accesses(function, classifier) } else { 0 };
    if accesses > 0 {
        plan.skips.insert(SkipReason::AccessInResolver, accesses);
    }
    plan
}

/// Accesses of a function but for those to what the compiler's library has found out about the processor, which is all
/// that the resolvers look at which compilers make.
fn own_accesses(function: Value<'_>, classifier: &Classifier<'_>) -> u32 {
    let accesses = |i: Value<'_>| match classifier.effect(i) {
        Effect::Accesses(accesses) => accesses.iter().filter(|a| !a.address.printed().contains("@__cpu_")).count(),
        _ => 0,
    };
    let all = function.blocks().into_iter().flat_map(|block| block.instructions()).map(accesses);
    u32::try_from(all.sum::<usize>()).unwrap_or(u32::MAX)
}

/// C++'s inline functions that a library has compiled, too: the bodies are here, and hooks can be put into them.
fn emit_inline_functions(module: ModuleHandle<'_>) {
    let is_elsewhere = |f: &Value| f.linkage() == Linkage::AvailableExternally && f.name().starts_with("_Z");
    module.functions().into_iter().filter(is_elsewhere).for_each(Value::emit_own_copy);
}

/// Handlers that the program installs must run on a ring of their own; the hooks' replacements see to that.
fn redirect_signal_functions(module: ModuleHandle<'_>) {
    for (name, replacement) in [("sigaction", symbol::SIGACTION), ("signal", symbol::SIGNAL)] {
        let Some(original) = module.function(name).filter(|f| f.is_declaration()) else { continue };
        let replacement = module.declare(replacement, original.function_type());
        original.replace_all_uses_with(replacement);
    }
}
