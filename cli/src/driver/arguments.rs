//! A clang command line, cut into inputs and options.
//!
//! Takes words (response files already expanded), gives [`Argument`]s in the user's order; refuses nothing, because
//! what clang would refuse is clang's to report. The one thing that must be right here is which options take the next
//! word as their argument: otherwise `-include x.c` would look like a source.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::LazyLock,
};

/// One option or input of a compiler's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A file (or `-`, standard input) with the language that the `-x` before it gives.
    Input {
        /// As given.
        path: OsString,
        /// By its language.
        kind: InputKind,
    },
    /// `-o`, `--output`.
    Output(OsString),
    /// `-x`, kept because clang reads it again.
    Language(OsString),
    /// A library, or words for the linker: an input in clang's eyes, in the order of the files.
    Linker(Vec<OsString>),
    /// Any other option with the words that belong to it.
    Option(Vec<OsString>),
}

/// What an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// C, C++ or Objective-C, preprocessed or not.
    Source,
    /// LLVM IR, text or bitcode.
    Ir,
    /// Assembly, preprocessed or not, which carries no hooks.
    Assembly,
    /// A module of C++20, of which an object and a precompiled module can be made.
    Module,
    /// A precompiled module, of which an object can be made.
    PrecompiledModule,
    /// Would become a precompiled header or header unit.
    Header,
    /// A language without instrumentation here (CUDA, OpenCL, Fortran, ...).
    Foreign,
    /// An object, archive, shared library or linker script.
    Object,
}

impl Argument {
    /// The option's own text, empty for inputs.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Option(words) | Self::Linker(words) => words.first().and_then(|w| w.to_str()).unwrap_or_default(),
            _ => "",
        }
    }

    /// `-lNAME`, `-l NAME`.
    #[must_use]
    pub fn is_library(&self) -> bool {
        matches!(self, Self::Linker(_)) && self.name().starts_with("-l")
    }

    /// Objects are instrumented file by file, so there is nothing left to optimise at link time. The options that clang
    /// accepts only together with `-flto` go too.
    #[must_use]
    pub fn is_lto(&self) -> bool {
        matches!(
            self.name(),
            "-flto"
                | "-ffat-lto-objects"
                | "-fsplit-lto-unit"
                | "-fwhole-program-vtables"
                | "-fvirtual-function-elimination"
                | "-funified-lto"
        ) || ["-flto=", "-flto-", "-fthinlto-index=", "-fthin-link-bitcode="].iter().any(|p| self.name().starts_with(p))
    }

    /// Says which file of dependencies is to be written.
    #[must_use]
    pub fn is_dependency_option(&self) -> bool {
        matches!(self.name(), "-MD" | "-MMD" | "-MP" | "-MV" | "-MG")
            || ["-MF", "-MT", "-MQ", "-MJ"].iter().any(|p| self.name().starts_with(p))
    }

    /// Asks for intermediate files.
    #[must_use]
    pub fn is_save_temps(&self) -> bool {
        matches!(self.name(), "-save-temps" | "--save-temps")
            || ["-save-temps=", "--save-temps="].iter().any(|p| self.name().starts_with(p))
    }

    /// The words as clang takes them.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        match self {
            // A file named like an option can only have come after `--`, which is gone.
            Self::Input { path, .. } if path.len() > 1 && path.as_bytes()[0] == b'-' => {
                vec![Path::new(".").join(path).into()]
            }
            Self::Input { path, .. } => vec![path.clone()],
            Self::Output(path) => vec!["-o".into(), path.clone()],
            Self::Language(language) => vec!["-x".into(), language.clone()],
            Self::Linker(words) | Self::Option(words) => words.clone(),
        }
    }
}

impl InputKind {
    /// Is it preprocessed?
    #[must_use]
    pub fn reads_headers(self) -> bool {
        matches!(self, Self::Source | Self::Module)
    }

    /// Does clang make bitcode of it?
    #[must_use]
    pub fn is_instrumentable(self) -> bool {
        self.reads_headers() || matches!(self, Self::Ir | Self::PrecompiledModule)
    }

    /// Does clang run a compiler or assembler on it?
    #[must_use]
    pub fn is_compiled(self) -> bool {
        self.is_instrumentable() || self == Self::Assembly
    }
}

/// Options that take exactly the next word, spelled in full. Found by asking clang 14, 16 and 19 about each of their
/// options, plus the GNU spellings and the Darwin options that they do not list.
const SEPARATE: &str = "
    --CLASSPATH --analyzer-output --assert --bootclasspath --classpath --config --define-macro --dyld-prefix
    --encoding --entry --extdirs --for-assembler --for-linker --force-link --imacros --include --include-barrier
    --include-directory --include-directory-after --include-prefix --include-with-prefix --include-with-prefix-after
    --include-with-prefix-before --language --library-directory --linker-option --mhwdiv --no-system-header-prefix
    --optimize --param --prefix --serialize-diagnostics --specs --std --stdlib --sysroot --system-header-prefix
    --undefine-macro --vfsoverlay -A -B -D -F -G -I -L -MF -MJ -MQ -MT -T -Tbss -Tdata -Ttext -U -V -Xanalyzer
    -Xarch_device -Xarch_host -Xassembler -Xclang -Xclangas -Xcuda-fatbinary -Xcuda-ptxas -Xflang -Xlinker
    -Xoffload-linker -Xopenmp-target -Xpreprocessor -Xthinlto-distributor -allowable_client -arch -arch_only
    -arcmt-migrate-report-output -aux-info -b -bundle_loader -ccc-arcmt-migrate -ccc-gcc-name -ccc-install-dir
    -ccc-objcmt-migrate -client_name -compatibility_version -current_version -cxx-isystem -darwin-target-variant
    -darwin-target-variant-triple -dependency-dot -dependency-file -dsym-dir -dumpdir -dylib_file
    -dylinker_install_name -e -exported_symbols_list -fdebug-compilation-dir -fexperimental-openacc-macro-override
    -filelist -fmodules-user-build-path -force_load -framework -ftrapv-handler -fxray-always-instrument=
    -fxray-attr-list= -fxray-instruction-threshold -fxray-instruction-threshold= -fxray-instrumentation-bundle=
    -fxray-modes= -fxray-never-instrument= -gcc-toolchain -gen-cdb-fragment-path -hlsl-entry -iapinotes-modules
    -idirafter -iframework -iframeworkwithsysroot -imacros -image_base -imultilib -include -include-pch
    -index-store-path -index-unit-output-path -init -install_name -interface-stub-version -iprefix -iquote -isysroot
    -isystem -isystem-after -ivfsoverlay -iwithprefix -iwithprefixbefore -iwithsysroot -l -meabi -mllvm -mmlir
    -module-dependency-dir -mthread-model -multiply_defined -multiply_defined_unused -o -pagezero_size
    -read_only_relocs -reexport_framework -reexport_library -resource-dir -rpath -sectobjectsymbols -seg1addr
    -seg_addr_table -seg_addr_table_filename -segs_read_only_addr -serialize-diagnostics -stdlib++-isystem
    -sub_library -sub_umbrella -target -u -umbrella -undefined -unexported_symbols_list -upward_framework
    -upward_library -validator-version -vfsoverlay -weak_framework -weak_library -weak_reference_mismatches
    -working-directory -x -z
";

/// Options that take several following words.
const SEVERAL: &[(&str, usize)] =
    &[("-sectalign", 3), ("-sectcreate", 3), ("-sectorder", 3), ("-segaddr", 2), ("-segcreate", 3), ("-segprot", 3)];

/// Number of following words that belong to this option.
#[must_use]
pub fn following_words(option: &str) -> usize {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| SEPARATE.split_ascii_whitespace().collect());
    if let Some(&(_, count)) = SEVERAL.iter().find(|(name, _)| *name == option) {
        return count;
    }
    // `-Xarch_<arch> ARG`, `-Xopenmp-target=<triple> ARG`: the value is joined and another word follows.
    let joined_and_separate = option.starts_with("-Xarch_") || option.starts_with("-Xopenmp-target=");
    usize::from(joined_and_separate || NAMES.contains(option))
}

/// Cuts a command line into arguments.
#[must_use]
pub fn parse(args: &[OsString]) -> Vec<Argument> {
    let mut parsed = Vec::with_capacity(args.len());
    let mut language: Option<OsString> = None;
    let mut rest = args.iter();
    let mut only_inputs = false;
    while let Some(word) = rest.next() {
        let bytes = word.as_bytes();
        if only_inputs || bytes == b"-" || bytes.first() != Some(&b'-') {
            let kind = input_kind(word, language.as_deref());
            parsed.push(Argument::Input { path: word.clone(), kind });
            continue;
        }
        if bytes == b"--" {
            only_inputs = true;
            continue;
        }
        let text = word.to_string_lossy();
        let mut words = vec![word.clone()];
        words.extend(rest.by_ref().take(following_words(&text)).cloned());
        let argument = classify(&text, words);
        if let Argument::Language(given) = &argument {
            language = (given != "none").then(|| given.clone());
        }
        parsed.push(argument);
    }
    parsed
}

fn classify(text: &str, words: Vec<OsString>) -> Argument {
    let joined = |prefix: &str| OsStr::from_bytes(&words[0].as_bytes()[prefix.len()..]).to_os_string();
    let separate = words.get(1).cloned();
    match (text, separate) {
        ("-o" | "--output", Some(path)) => Argument::Output(path),
        ("-x" | "--language", Some(language)) => Argument::Language(language),
        _ if text.starts_with("--output=") => Argument::Output(joined("--output=")),
        _ if text.starts_with("--language=") => Argument::Language(joined("--language=")),
        _ if text.starts_with("-x") && text.len() > 2 => Argument::Language(joined("-x")),
        // `-objcmt-...` and `-object-file-name=...` are the options that only look like `-o`.
        _ if text.starts_with("-o") && text.len() > 2 && !text.starts_with("-obj") => Argument::Output(joined("-o")),
        _ if for_linker(text) => Argument::Linker(words),
        _ => Argument::Option(words),
    }
}

/// Words that clang counts among the inputs of the link.
fn for_linker(text: &str) -> bool {
    text.starts_with("-l")
        || text.starts_with("-Wl,")
        || matches!(text, "-Xlinker" | "--for-linker" | "--linker-option")
        || text.starts_with("--for-linker=")
}

/// What clang takes a file for: by `-x` if there is one, else by its extension.
#[must_use]
pub fn input_kind(path: &OsStr, language: Option<&OsStr>) -> InputKind {
    if let Some(language) = language {
        return match language.to_str().unwrap_or_default() {
            "c"
            | "c++"
            | "cpp-output"
            | "c++-cpp-output"
            | "objective-c"
            | "objective-c++"
            | "objc"
            | "objc-cpp-output"
            | "objective-c-cpp-output"
            | "objective-c++-cpp-output"
            | "objc++-cpp-output" => InputKind::Source,
            "ir" => InputKind::Ir,
            "assembler" | "assembler-with-cpp" => InputKind::Assembly,
            "c++-module" | "c++-module-cpp-output" => InputKind::Module,
            other if other.contains("-header") || other.contains("-module") || other.contains("-user") => {
                InputKind::Header
            }
            _ => InputKind::Foreign,
        };
    }
    match Path::new(path).extension().and_then(OsStr::to_str).unwrap_or_default() {
        "c" | "i" | "ii" | "cc" | "CC" | "cp" | "cpp" | "CPP" | "cxx" | "CXX" | "c++" | "C++" | "C" | "m" | "M"
        | "mm" | "mi" | "mii" => InputKind::Source,
        "ll" | "bc" => InputKind::Ir,
        "s" | "S" | "asm" => InputKind::Assembly,
        "h" | "H" | "hh" | "hp" | "hpp" | "hxx" | "h++" | "tcc" | "ixx" => InputKind::Header,
        "cppm" | "ccm" | "cxxm" | "c++m" | "iim" => InputKind::Module,
        "pcm" => InputKind::PrecompiledModule,
        "ast" | "cu" | "cui" | "hip" | "hipi" | "cl" | "cli" | "clcpp" | "clii" | "hlsl" | "ifs" | "f" | "F"
        | "for" | "FOR" | "fpp" | "FPP" | "f90" | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" | "mlir"
        | "cir" | "adb" | "ads" | "rs" => InputKind::Foreign,
        _ => InputKind::Object,
    }
}
