//! Repositories that are not what they seem.

use std::fs;
use std::process::Command;

use super::checkout::Checkout;
use super::*;

struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Repository(tempfile::tempdir().expect("a folder"));
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.0.path()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git is there");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn commit(&self, file: &str, text: &str) {
        fs::create_dir_all(self.0.path().join(file).parent().expect("a folder")).expect("a folder");
        fs::write(self.0.path().join(file), text).expect("written");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", &format!("{file} is\t{text}")]);
    }

    fn open(&self) -> Git {
        Git::around(self.0.path()).expect("a repository")
    }
}

#[test]
fn commits_lead_from_one_to_the_other() {
    let repository = Repository::new();
    for number in 0..4 {
        repository.commit("n/a.toml", &number.to_string());
        repository.commit("other", &number.to_string());
    }
    let git = repository.open();
    let (first, last) = (git.commit("HEAD~7").unwrap(), git.commit("main").unwrap());
    assert_eq!((first.subject.as_str(), git.between(&first, &last).unwrap().len()), ("n/a.toml is\t0", 7));
    assert!(git.between(&last, &first).unwrap_err().to_string().contains("no ancestor"));
    let touching = git.touching(&last, "n").unwrap();
    assert_eq!(touching.len(), 4);
    assert!(touching.iter().all(|(_, files)| files == &["n/a.toml"]), "{touching:?}");
    assert_eq!(git.file(&touching[1].0.id, "n/a.toml"), Some(b"1".to_vec()));
    assert_eq!(git.file(&first.id, "other"), None);
    let checkout = Checkout::new(&git).unwrap();
    for (number, (commit, _)) in touching.iter().enumerate() {
        checkout.set(commit).unwrap();
        assert_eq!(fs::read_to_string(checkout.path().join("n/a.toml")).unwrap(), number.to_string());
        fs::write(checkout.path().join("built"), "").unwrap();
    }
    checkout.set(&first).unwrap();
    assert!(!checkout.path().join("built").exists());
}

#[test]
fn no_revision_is_an_option_and_nothing_of_the_repository_runs() {
    let repository = Repository::new();
    repository.commit("a", "1");
    repository.commit(".gitattributes", "* filter=evil diff=evil");
    let ran = repository.0.path().join("ran");
    let run = format!("touch {}; cat", ran.display());
    for key in ["filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "core.pager"] {
        repository.git(&["config", key, &run]);
    }
    repository.git(&["config", "core.fsmonitor", &run]);
    repository.git(&["config", "log.showSignature", "true"]);
    repository.git(&["config", "gpg.program", &run]);
    let hook = repository.0.path().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{run}")).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let git = repository.open();
    for revision in
        ["--upload-pack=touch ran", "--output=ran", "-n", "", "main..main", "main\nx", "$(touch ran)", "\u{1b}[2J"]
    {
        assert!(git.commit(revision).unwrap_err().to_string().contains("there is no revision"), "{revision}");
    }
    let head = git.commit("HEAD").unwrap();
    let checkout = Checkout::new(&git).unwrap();
    checkout.set(&head).unwrap();
    git.append_to_branch("numbers", "history.jsonl", "{}\n", "one").unwrap();
    git.append_to_note("numbers", &head, "{}\n").unwrap();
    assert!(git.touching(&head, "a").unwrap().len() == 1 && !ran.exists());
}

#[test]
fn lines_are_added_to_branches_and_notes() {
    let repository = Repository::new();
    repository.commit("a", "1");
    let git = repository.open();
    for line in ["1\n", "2\n"] {
        git.append_to_branch("numbers", "history.jsonl", line, "a line").unwrap();
        git.append_to_note("numbers", &git.commit("HEAD").unwrap(), line).unwrap();
    }
    assert_eq!(git.of_branch("numbers", "history.jsonl").unwrap(), Some(b"1\n2\n".to_vec()));
    assert_eq!(git.of_branch("other", "history.jsonl").unwrap(), None);
    let notes = String::from_utf8(git.notes("numbers").unwrap()).unwrap();
    assert_eq!(notes.split_whitespace().collect::<Vec<_>>(), ["1", "2"]);
    repository.git(&["branch", "work"]);
    for (branch, why) in
        [("main", "is checked out"), ("work", "has no history.jsonl"), ("../x", "no name for git"), ("a b", "no name")]
    {
        let error = git.append_to_branch(branch, "history.jsonl", "3\n", "x").unwrap_err();
        assert!(format!("{error:#}").contains(why), "{branch}: {error:#}");
    }
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// With the commits that each revision names; what is not at hand is not fetched.
#[test]
fn submodules_come_along() {
    let (whole, part) = (Repository::new(), Repository::new());
    part.commit("inner", "old");
    let url = part.0.path().to_str().expect("a name").to_owned();
    whole.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub dir/part"]);
    whole.commit("outer", "1");
    let own = whole.0.path().join("sub dir/part");
    part.commit("inner", "new");
    let pull =
        ["-C", own.to_str().expect("a name"), "-c", "protocol.file.allow=always", "pull", "--quiet", "--ff-only"];
    whole.git(&pull);
    whole.commit("outer", "2");
    let git = whole.open();
    let checkout = Checkout::new(&git).unwrap();
    let inner = || fs::read_to_string(checkout.path().join("sub dir/part/inner")).ok();
    for (revision, expected) in [("HEAD", Some("new")), ("HEAD~1", Some("old")), ("HEAD", Some("new"))] {
        checkout.set(&git.commit(revision).unwrap()).unwrap();
        assert_eq!(inner().as_deref(), expected, "{revision}");
    }
    fs::remove_dir_all(&own).expect("removed");
    let checkout = Checkout::new(&git).unwrap();
    checkout.set(&git.commit("HEAD").unwrap()).unwrap();
    assert!(checkout.path().join("outer").exists() && !checkout.path().join("sub dir/part/inner").exists());
}
