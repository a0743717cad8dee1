//! The GitHub action's scripts (`action/`), with a stand-in for the service: its files are made here, and its HTTP
//! interface answers on the loopback address. Not tried: the steps of `action.yml` that are other actions (cache,
//! upload).

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use dmdprof_tests::tool::{describe, repository, require, scratch, succeed};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What was asked: method, path and body.
type Requests = Arc<Mutex<Vec<(String, String, String)>>>;

/// Where the service tells who asks.
const GRAPH: &str = "/graphql";

/// Answers each request as `answer` says, until the test ends.
struct Service {
    address: String,
    requests: Requests,
}

impl Service {
    fn start(answer: impl Fn(&str, &str) -> Option<Vec<u8>> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Requests::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &seen, &answer);
            }
        });
        Self { address, requests }
    }

    /// Method and path of what was asked so far.
    fn asked(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no thread panics with it");
        requests.iter().map(|(method, path, _)| format!("{method} {path}")).collect()
    }

    fn last_body(&self) -> Value {
        let requests = self.requests.lock().expect("no thread panics with it");
        serde_json::from_str(&requests.last().expect("something was asked").2).expect("JSON was sent")
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Requests,
    answer: &impl Fn(&str, &str) -> Option<Vec<u8>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    seen.lock().expect("no thread panics with it").push((
        method.clone(),
        path.clone(),
        String::from_utf8_lossy(&body).into_owned(),
    ));
    // Without the token there is nothing to be had of the interface.
    let allowed = !path.starts_with("/repos/") && path != GRAPH
        || headers.get("authorization").is_some_and(|a| a == "Bearer secret");
    let found = if allowed { answer(&method, &path) } else { None };
    let (status, content) = found.map_or(("404 Not Found", Vec::new()), |content| ("200 OK", content));
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len())?;
    stream.write_all(&content)
}

/// A runner's directories and files.
struct Runner {
    directory: tempfile::TempDir,
}

impl Runner {
    fn new() -> Self {
        for program in ["jq", "curl"] {
            let _found = require(program.as_ref(), &format!("install {program} (Debian: apt-get install {program})"));
        }
        let runner = Self { directory: scratch() };
        for directory in ["bin", "source", "results"] {
            fs::create_dir(runner.path(directory)).expect("a new directory");
        }
        fs::copy(repository().join("Cargo.toml"), runner.path("source/Cargo.toml")).expect("copied");
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program in the runner's PATH, as a script.
    fn program(&self, name: &str, script: &str) {
        executable(&self.path("bin").join(name), script);
    }

    /// A script of the action, with the runner's environment and nothing else but `more`.
    fn run(&self, script: &str, more: &[(&str, &str)]) -> Output {
        let system = "/usr/local/bin:/usr/bin:/bin";
        let mut command = Command::new(repository().join("action").join(script));
        command.env_clear().env("PATH", format!("{}:{system}", self.path("bin").display()));
        command.env("HOME", self.directory.path()).env("CACHE", self.path("cache")).env("SOURCE", self.path("source"));
        for file in ["GITHUB_PATH", "GITHUB_ENV", "GITHUB_OUTPUT"] {
            command.env(file, self.path(file));
        }
        command.env("GITHUB_EVENT_PATH", self.path("event.json")).env("RESULTS", self.path("results"));
        command.envs(more.iter().copied()).current_dir(self.directory.path());
        command.output().expect("bash runs the script")
    }
}

fn executable(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

const NAME: &str = "dmdprof-9.8.7-x86_64-unknown-linux-gnu";

/// The files of a release whose program says which it is.
fn release(runner: &Runner) -> (Vec<u8>, Vec<u8>) {
    let tree = runner.path("release").join(NAME).join("bin");
    fs::create_dir_all(&tree).expect("a new directory");
    executable(&tree.join("dmdprof"), "echo dmdprof 9.8.7 downloaded");
    let archive = runner.path("release.tar.gz");
    succeed(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(runner.path("release")).arg(NAME));
    let archive = fs::read(archive).expect("just written");
    let sum: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    (archive, format!("{sum}  {NAME}.tar.gz\n{sum}  {NAME}.tar.gz.other\n").into_bytes())
}

fn releases(archive: Vec<u8>, sums: Vec<u8>) -> Service {
    Service::start(move |_, path| match path.strip_prefix("/v9.8.7/")? {
        "SHA256SUMS" => Some(sums.clone()),
        file if file == format!("{NAME}.tar.gz") => Some(archive.clone()),
        _ => None,
    })
}

#[test]
fn the_release_is_downloaded_once_and_then_in_the_cache() {
    let runner = Runner::new();
    let (archive, sums) = release(&runner);
    let service = releases(archive, sums);
    let settings = [("VERSION", "v9.8.7"), ("RELEASES", service.address.as_str())];
    for round in 0..2 {
        let out = runner.run("install", &settings);
        assert!(out.status.success(), "{}", describe(&out));
        assert!(String::from_utf8_lossy(&out.stdout).contains("dmdprof 9.8.7 downloaded"), "{}", describe(&out));
        assert_eq!(service.asked().len(), 2, "round {round}: the second finds it in the cache");
    }
    assert_eq!(
        runner.text("GITHUB_PATH").lines().last().map(PathBuf::from),
        Some(runner.path("cache").join(NAME).join("bin"))
    );

    runner.program("dmdprof", "echo the one that is there");
    let out = runner.run("install", &settings);
    assert!(String::from_utf8_lossy(&out.stdout).contains("using"), "{}", describe(&out));
    assert_eq!(runner.text("GITHUB_PATH").lines().count(), 2, "nothing was added for what is there");
}

#[test]
fn what_cannot_be_had_or_is_wrong_is_built() {
    // Cargo's part is to put the program where it is told; `--root` is its sixth word.
    let builds = "echo \"$@\" >> cargo-was-called; mkdir -p \"$6/bin\"; printf '#!/bin/sh\\necho built\\n' > \"$6/bin/dmdprof\"; chmod +x \"$6/bin/dmdprof\"";
    for wrong in ["nothing there", "another sum", "no archive"] {
        let runner = Runner::new();
        runner.program("cargo", builds);
        let (archive, sums) = release(&runner);
        let service = match wrong {
            "nothing there" => Service::start(|_, _| None),
            "another sum" => releases(b"something else".to_vec(), sums),
            _ => {
                let sum: String = Sha256::digest(b"no archive").iter().map(|byte| format!("{byte:02x}")).collect();
                drop(archive);
                releases(b"no archive".to_vec(), format!("{sum}  {NAME}.tar.gz\n").into_bytes())
            }
        };
        let out = runner.run("install", &[("VERSION", "9.8.7"), ("RELEASES", &service.address)]);
        assert!(out.status.success(), "{wrong}: {}", describe(&out));
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(said.contains("::warning") && said.ends_with("built\n"), "{wrong}: {said}");
        assert!(runner.text("cargo-was-called").starts_with("install --locked --path "), "{wrong}");
    }
}

#[test]
fn without_a_release_and_without_cargo_it_says_so() {
    let runner = Runner::new();
    let service = Service::start(|_, _| None);
    let out = runner.run("install", &[("RELEASES", &service.address)]);
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("::error") && said.contains("no cargo"), "{said}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(service.asked().iter().all(|asked| asked.contains(&format!("/v{version}/"))), "the version of the sources");
}

#[test]
fn the_check_leaves_its_results_and_its_exit_code() {
    let runner = Runner::new();
    runner.program("dmdprof", "printf '%s\\n' \"$@\" > words; exit 3");
    let out = runner.run("check", &[("ARGS", "--strict --case 'two words' -- ./prog 10")]);
    assert_eq!(out.status.code(), Some(3), "{}", describe(&out));
    let results = runner.path("results");
    let at = |name: &str| results.join(name).display().to_string();
    let expected = format!(
        "check\n--strict\n--case\ntwo words\n--markdown\n{}\n--junit\n{}\n--html\n{}\n--\n./prog\n10\n",
        at("comment.md"),
        at("junit.xml"),
        at("page.html")
    );
    assert_eq!(runner.text("words"), expected);
    assert_eq!(runner.text("GITHUB_OUTPUT"), format!("results={}\nexit-code=3\n", results.display()));
    assert_eq!(runner.text("results/exit-code"), "3\n");
}

#[test]
fn one_comment_is_made_and_then_changed() {
    let runner = Runner::new();
    fs::write(runner.path("event.json"), json!({"pull_request": {"number": 7}}).to_string()).expect("written");
    fs::write(runner.path("results/comment.md"), "| all | is \"well\" |\n").expect("written");
    let of = |user: u32, id: u32, body: &str| json!({"id": id, "user": {"id": user}, "body": body});
    let comments: Arc<Mutex<Vec<Value>>> = Arc::new(Mutex::new(vec![of(5, 1, "a reader's"); 100]));
    let kept = Arc::clone(&comments);
    let service = Service::start(move |method, path| {
        let comments = kept.lock().expect("no thread panics with it");
        let all = "/repos/o/r/issues/7/comments";
        let page = |number: usize| comments.chunks(100).nth(number - 1).unwrap_or_default().to_vec();
        match (method, path) {
            ("POST", GRAPH) => Some(json!({"data": {"viewer": {"databaseId": 41898282}}}).to_string().into_bytes()),
            ("POST", path) if path == all => Some(json!({"id": 42}).to_string().into_bytes()),
            ("PATCH", "/repos/o/r/issues/comments/42") => Some(json!({"id": 42}).to_string().into_bytes()),
            ("GET", path) => {
                let number = path.strip_prefix(all)?.strip_prefix("?per_page=100&page=")?.parse().ok()?;
                Some(Value::from(page(number)).to_string().into_bytes())
            }
            _ => None,
        }
    });
    let settings = settings(&service, "secret");
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let out = runner.run("comment", &settings);
    assert!(
        out.status.success() && String::from_utf8_lossy(&out.stdout).contains("made comment 42"),
        "{}",
        describe(&out)
    );
    assert_eq!(service.asked().len(), 4, "who it is, two pages, the comment: {:?}", service.asked());
    let made = service.last_body();
    let text = made["body"].as_str().expect("text").to_owned();
    assert!(text.contains("### Data movement") && text.ends_with("| all | is \"well\" |\n"), "{text}");

    // Somebody who has read the mark, a user that is no more, and the comment.
    comments.lock().expect("no thread panics with it").extend([
        of(5, 40, &text),
        json!({"id": 41, "user": null, "body": text}),
        of(41898282, 42, &text),
    ]);
    fs::write(runner.path("results/comment.md"), "worse now\n").expect("written");
    let out = runner.run("comment", &settings);
    assert!(String::from_utf8_lossy(&out.stdout).contains("changed comment 42"), "{}", describe(&out));
    assert_eq!(service.asked().last().map(String::as_str), Some("PATCH /repos/o/r/issues/comments/42"));
    assert!(service.last_body()["body"].as_str().expect("text").ends_with("worse now\n"));

    let other = [settings.as_slice(), &[("TITLE", "Another job")]].concat();
    let out = runner.run("comment", &other);
    assert!(String::from_utf8_lossy(&out.stdout).contains("made comment"), "a comment per title: {}", describe(&out));
}

/// What a job's environment says of the service.
fn settings(service: &Service, token: &str) -> [(&'static str, String); 4] {
    [
        ("GITHUB_API_URL", service.address.clone()),
        ("GITHUB_GRAPHQL_URL", format!("{}{GRAPH}", service.address)),
        ("GITHUB_REPOSITORY", "o/r".into()),
        ("GITHUB_TOKEN", token.into()),
    ]
}

#[test]
fn where_it_is_not_known_whose_token_it_is_nothing_is_changed() {
    let runner = Runner::new();
    fs::write(runner.path("event.json"), json!({"pull_request": {"number": 7}}).to_string()).expect("written");
    fs::write(runner.path("results/comment.md"), "text").expect("written");
    let service = Service::start(|_, path| {
        (path == GRAPH).then(|| json!({"data": null, "errors": [{"message": "no"}]}).to_string().into_bytes())
    });
    let settings = settings(&service, "secret");
    let out = runner.run("comment", &settings.each_ref().map(|(name, value)| (*name, value.as_str())));
    assert!(out.status.success(), "{}", describe(&out));
    assert!(String::from_utf8_lossy(&out.stdout).contains("::warning"), "{}", describe(&out));
    assert_eq!(service.asked(), [format!("POST {GRAPH}")]);
}

#[test]
fn where_no_comment_can_be_made_it_says_so_and_ends_well() {
    let runner = Runner::new();
    let service = Service::start(|_, _| None);
    let expect = |token, words: &str| {
        let settings = settings(&service, token);
        let out = runner.run("comment", &settings.each_ref().map(|(name, value)| (*name, value.as_str())));
        assert!(out.status.success(), "{}", describe(&out));
        assert!(String::from_utf8_lossy(&out.stdout).contains(words), "{words}: {}", describe(&out));
    };
    expect("secret", "nothing to say");
    fs::write(runner.path("results/comment.md"), "text").expect("written");
    fs::write(runner.path("event.json"), "{}").expect("written");
    expect("secret", "no pull request");
    fs::write(runner.path("event.json"), json!({"pull_request": {"number": 7}}).to_string()).expect("written");
    expect("", "no token");
    expect("wrong", "::warning");
}

#[test]
fn the_action_calls_scripts_that_are_there() {
    let action = fs::read_to_string(repository().join("action.yml")).expect("the action");
    let called: Vec<&str> = action.split("$SOURCE/action/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(called, ["install", "check", "comment"]);
    for script in called {
        let mode = fs::metadata(repository().join("action").join(script)).expect(script).permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script}");
    }
}
