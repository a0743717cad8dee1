//! Runs Cargo so that the programs it builds carry hooks.
//!
//! Takes the words of a Cargo command, gives a [`Cargo`] whose commands build into a target directory of their own,
//! through [`rustc_wrap`] as rustc and dmdprof as C compiler. What Cargo itself must know it is told by its command
//! line: variables would reach a Cargo that a build script starts, and have it wait for our directory. The project
//! stays as it is. An explicit `--target` keeps build scripts and procedural macros apart from what carries hooks.
//! Refuses toolchains whose bitcode cannot be read and targets other than x86-64 Linux.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use super::{
    Face, Model, clang,
    own_target::{self, OwnTarget},
    rust_link, rustc_wrap, wrap_environment,
};

/// The names under which dmdprof is the C and C++ compiler of build scripts.
pub const C_COMPILER: &str = "dmdprof-clang";
pub const CXX_COMPILER: &str = "dmdprof-clang++";

/// In the target directory of the project.
const SUBDIRECTORY: &str = "dmdprof";
/// In the target directory of the project, for the values model, and for programs that can draw a sample.
const VALUES_SUBDIRECTORY: &str = "dmdprof-values";
const SAMPLE_SUBDIRECTORY: &str = "dmdprof-sample";

/// Cargo, ready to build with hooks.
#[derive(Debug)]
pub struct Cargo {
    /// `+nightly`.
    toolchain: Option<OsString>,
    target: OsString,
    target_dir: PathBuf,
    /// `KEY=VALUE` for Cargo's `--config`. Unlike variables they stay with the Cargo that they are given to.
    settings: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    /// Programs are linked without hooks too.
    pub has_twin: bool,
    _own: OwnTarget,
}

/// The user's words for Cargo, without those that this module gives itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub toolchain: Option<OsString>,
    pub command: OsString,
    /// Options before `--`.
    pub options: Vec<OsString>,
    /// What follows `--`, with it; empty if there is none.
    pub rest: Vec<OsString>,
    target: Option<OsString>,
    target_dir: Option<PathBuf>,
    manifest: Option<OsString>,
}

impl Words {
    /// # Errors
    /// When there is no command.
    pub fn parse(words: &[OsString]) -> anyhow::Result<Self> {
        let mut words = words.to_vec();
        let toolchain = words.first().filter(|word| word.to_string_lossy().starts_with('+')).cloned();
        if toolchain.is_some() {
            words.remove(0);
        }
        let Some((command, rest)) = words.split_first() else { bail!("no Cargo command; try: dmdprof cargo run") };
        let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
        let mut parsed = Self { toolchain, command: command.clone(), rest: rest[end..].to_vec(), ..Self::default() };
        let mut options = rest[..end].iter();
        while let Some(word) = options.next() {
            let mut value = |name: &str| -> Option<OsString> {
                if word == name {
                    return options.next().cloned();
                }
                Some(word.to_str()?.strip_prefix(name)?.strip_prefix('=')?.into())
            };
            if let Some(target) = value("--target") {
                parsed.target = Some(target);
            } else if let Some(directory) = value("--target-dir") {
                parsed.target_dir = Some(directory.into());
            } else if let Some(manifest) = value("--manifest-path") {
                parsed.options.extend(["--manifest-path".into(), manifest.clone()]);
                parsed.manifest = Some(manifest);
            } else {
                parsed.options.push(word.clone());
            }
        }
        Ok(parsed)
    }

    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option || word.to_string_lossy().starts_with(&format!("{option}=")))
    }
}

impl Cargo {
    /// Asks Cargo and rustc about the project, and puts the tools into place. `llvm` is the library in use, and its
    /// version. With twins programs are linked without hooks too.
    ///
    /// # Errors
    /// When Cargo or rustc is missing or does not fit, the project cannot be read, or the target directory cannot be
    /// written.
    pub fn new(
        words: &Words,
        no_std: bool,
        has_twin: bool,
        model: Model,
        (llvm, llvm_major): (&Path, u32),
    ) -> anyhow::Result<Self> {
        let rustc = Rustc::ask(words.toolchain.as_deref())?;
        if let Some(newer) = rustc.llvm_major.filter(|&major| major > llvm_major) {
            bail!(
                "this project's rustc ({}) writes the bitcode of LLVM {newer}, and dmdprof reads that of LLVM {llvm_major} and older: \
                 use a toolchain with an older LLVM, as in `dmdprof cargo +stable run`, or a newer dmdprof",
                rustc.version
            );
        }
        let target = words.target.clone().unwrap_or_else(|| rustc.host.clone().into());
        let name = target.to_string_lossy();
        if !(name.starts_with("x86_64") && name.contains("linux")) {
            bail!("target {name}: only x86-64 Linux can carry hooks");
        }
        let base = match &words.target_dir {
            Some(directory) => env::current_dir().context("there is no current directory")?.join(directory),
            None => target_directory(words)?,
        };
        // Cargo does not see that models make different objects of the same crate.
        let target_dir = base.join(match model {
            Model::Values => VALUES_SUBDIRECTORY,
            Model::Sampled => SAMPLE_SUBDIRECTORY,
            Model::Memory | Model::Loops => SUBDIRECTORY,
        });
        let own = OwnTarget::enter(&target_dir)?;
        let mut cargo = Self {
            toolchain: words.toolchain.clone(),
            target,
            target_dir,
            settings: Vec::new(),
            environment: Vec::new(),
            has_twin,
            _own: own,
        };
        cargo.set_up(no_std, llvm)?;
        if model != Model::Memory {
            cargo.environment.push((wrap_environment::MODEL_ENVIRONMENT.into(), rust_link::model_name(model).into()));
        }
        if has_twin {
            cargo.environment.push((wrap_environment::TWIN_ENVIRONMENT.into(), "1".into()));
        } else if rustc.llvm_major.is_some_and(rustc_wrap::leaves_out_machine_code) {
            cargo.environment.push((wrap_environment::BITCODE_ONLY_ENVIRONMENT.into(), "1".into()));
        }
        Ok(cargo)
    }

    /// Tools under their names in the target directory, and what makes Cargo use them.
    fn set_up(&mut self, no_std: bool, llvm: &Path) -> anyhow::Result<()> {
        let tools = self.target_dir.join(own_target::TOOLS);
        let own = env::current_exe().context("cannot find the path of dmdprof itself")?;
        fs::create_dir_all(&tools).with_context(|| format!("cannot create {}", tools.display()))?;
        let link = |name: &str| -> anyhow::Result<PathBuf> {
            let path = tools.join(name);
            point(&path, &own).with_context(|| format!("cannot create {}", path.display()))?;
            Ok(path)
        };
        self.settings = vec![
            setting("build.rustc-wrapper", &link(rustc_wrap::NAME)?)?,
            // The directory of intermediate files, if the user has set one, holds other builds.
            setting("build.build-dir", &self.target_dir)?,
            "build.incremental=false".into(),
        ];
        let tool = rust_link::tool_hash()?;
        let [no_std_too, twin_too] =
            [(no_std, " no-std"), (self.has_twin, " twin")].map(|(is, word)| if is { word } else { "" });
        let stamp = format!("{tool}{no_std_too}{twin_too}");
        let mut all: Vec<(OsString, OsString)> = vec![
            (wrap_environment::TARGET_ENVIRONMENT.into(), self.target.clone()),
            (wrap_environment::DIRECTORY_ENVIRONMENT.into(), self.target_dir.clone().into()),
            (wrap_environment::TOOL_ENVIRONMENT.into(), tool.into()),
            (wrap_environment::STAMP_ENVIRONMENT.into(), stamp.into()),
            ("DMDPROF_LLVM".into(), llvm.into()),
        ];
        if let Some(wrapper) = env::var_os(wrap_environment::RUSTC_WRAPPER) {
            all.push((wrap_environment::WRAPPER_ENVIRONMENT.into(), wrapper));
        }
        if no_std {
            all.push((wrap_environment::NO_STD_ENVIRONMENT.into(), "1".into()));
        }
        // Without a clang the C inside crates is compiled as usual, and named in reports.
        if clang::find(Face::C, dmdprof_instrument::llvm::major).is_ok() {
            let [c, cxx] = compiler_variables(&self.target);
            all.extend([(c, link(C_COMPILER)?.into()), (cxx, link(CXX_COMPILER)?.into())]);
        }
        self.environment = all;
        Ok(())
    }

    /// A Cargo command with its options, which the caller completes.
    #[must_use]
    pub fn command(&self, words: &Words) -> Command {
        let mut command = program(self.toolchain.as_deref());
        command.arg(&words.command).arg("--target").arg(&self.target).arg("--target-dir").arg(&self.target_dir);
        self.settings.iter().for_each(|setting| {
            command.args(["--config", setting]);
        });
        command.args(&words.options);
        wrap_environment::remove_from(&mut command);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // It would have the last word.
        command.env_remove(wrap_environment::RUSTC_WRAPPER);
        command
    }

    #[must_use]
    pub fn target(&self) -> &OsStr {
        &self.target
    }
}

/// A setting for Cargo's `--config`.
fn setting(name: &str, value: &Path) -> anyhow::Result<String> {
    let value = value.to_str().with_context(|| format!("{} is not UTF-8, as Cargo needs it", value.display()))?;
    Ok(format!("{name}={}", toml::Value::from(value)))
}

fn compiler_variables(target: &OsStr) -> [OsString; 2] {
    let target = target.to_string_lossy().replace('-', "_");
    [format!("CC_{target}").into(), format!("CXX_{target}").into()]
}

/// Makes a program that our Cargo starts see the environment that it would have under any Cargo.
pub fn plain_environment(command: &mut Command) {
    let Some(target) = env::var_os(wrap_environment::TARGET_ENVIRONMENT) else { return };
    compiler_variables(&target).iter().for_each(|name| {
        command.env_remove(name);
    });
    wrap_environment::remove_from(command);
}

/// Whether a build script's compiler is called for the target: what build scripts of build dependencies make is linked
/// into build scripts and procedural macros, which carry no hooks, and what a Cargo in a build script makes is linked
/// without us.
#[must_use]
pub fn compiles_for_target() -> bool {
    let [out, directory, target] =
        ["OUT_DIR", wrap_environment::DIRECTORY_ENVIRONMENT, wrap_environment::TARGET_ENVIRONMENT].map(env::var_os);
    let (Some(out), Some(directory), Some(target)) = (out, directory, target) else { return true };
    wrap_environment::is_hooked(Path::new(&out), Path::new(&directory), &target)
}

/// Set for the Cargo that we ask: should that be us again, it would go on for ever.
const ASKED: &str = "DMDPROF_ASKS_CARGO";

/// # Errors
/// If the Cargo that we asked is this program.
pub fn refuse_to_ask_ourselves() -> anyhow::Result<()> {
    anyhow::ensure!(
        env::var_os(ASKED).is_none(),
        "$CARGO leads back to dmdprof; unset it, or set it to the cargo of your toolchain"
    );
    Ok(())
}

/// The Cargo that called us if it did, as that is the one of the right toolchain.
fn program(toolchain: Option<&OsStr>) -> Command {
    match (toolchain, env::var_os("CARGO")) {
        (None, Some(cargo)) => Command::new(cargo),
        (toolchain, _) => {
            let mut command = Command::new("cargo");
            command.args(toolchain);
            command
        }
    }
}

/// What rustc says about itself.
pub struct Rustc {
    pub version: String,
    pub host: String,
    pub llvm_major: Option<u32>,
}

impl Rustc {
    /// # Errors
    /// When there is none or it fails.
    pub fn ask(toolchain: Option<&OsStr>) -> anyhow::Result<Self> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output =
            Command::new(&rustc).args(toolchain).arg("-vV").stdin(Stdio::null()).output().with_context(|| {
                format!("cannot run {} (install Rust from https://rustup.rs, or set RUSTC)", rustc.display())
            })?;
        if !output.status.success() {
            bail!("{} -vV failed: {}", rustc.display(), String::from_utf8_lossy(&output.stderr).trim());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        Ok(Self {
            version: text.lines().next().unwrap_or_default().to_owned(),
            host: field("host:").to_owned(),
            llvm_major: field("LLVM version:").split('.').next().and_then(|major| major.parse().ok()),
        })
    }
}

/// Where the project's builds go.
fn target_directory(words: &Words) -> anyhow::Result<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let mut command = program(words.toolchain.as_deref());
    command.args(["metadata", "--no-deps", "--format-version", "1"]).env(ASKED, "1");
    if let Some(manifest) = &words.manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    let output =
        command.stdin(Stdio::null()).output().context("cannot run cargo (install Rust from https://rustup.rs)")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("error: "));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata says")?;
    Ok(metadata.target_directory)
}

/// Makes a symbolic link, in one step, unless it is right already.
fn point(link: &Path, to: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|found| found == to) {
        return Ok(());
    }
    let temporary = link.with_extension(format!("{}.new", std::process::id()));
    fs::remove_file(&temporary).ok();
    symlink(to, &temporary)?;
    fs::rename(&temporary, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        Words::parse(&text.split(' ').map(OsString::from).collect::<Vec<_>>()).expect("a command")
    }

    #[test]
    fn words_are_cut_and_ours_taken_out() {
        let parsed = words(
            "+nightly test --release --target-dir=out NAME --manifest-path a/Cargo.toml -- --nocapture --target-dir x",
        );
        assert_eq!(parsed.toolchain.as_deref(), Some(OsStr::new("+nightly")));
        assert_eq!(parsed.command, "test");
        assert_eq!(parsed.options, ["--release", "NAME", "--manifest-path", "a/Cargo.toml"]);
        assert_eq!(parsed.rest, ["--", "--nocapture", "--target-dir", "x"]);
        assert_eq!(parsed.target_dir.as_deref(), Some(Path::new("out")));
        assert_eq!(words("build --target x86_64-unknown-linux-musl").target.unwrap(), "x86_64-unknown-linux-musl");
        assert!(words("test --message-format=json").has("--message-format"));
        assert!(Words::parse(&[]).is_err());
    }
}
