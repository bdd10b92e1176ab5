//! Downloads against a server on this machine: whole, resumed, refused, damaged.

use couloir_data::DataError;
use couloir_data::catalogue::KnownDigest;
use couloir_data::fetch::{Checked, FetchOptions, Fetched, Progress, fetch_url};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the server does next.
#[derive(Clone)]
struct Behaviour {
    content: Vec<u8>,
    tag: &'static str,
    /// Break off after so many bytes of the body.
    cut: Option<usize>,
    /// Send the body byte by byte, with this time between them.
    drip: Option<Duration>,
    ranges: bool,
    status: Option<&'static str>,
}

struct Server {
    url: String,
    behaviour: Arc<Mutex<Behaviour>>,
    /// The `Range` of every request.
    requests: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    fn start(content: &[u8]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/data.bz2", listener.local_addr().expect("an address"));
        let behaviour = Arc::new(Mutex::new(Behaviour {
            content: content.to_vec(),
            tag: "\"one\"",
            cut: None,
            drip: None,
            ranges: true,
            status: None,
        }));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (shared, log) = (Arc::clone(&behaviour), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let behaviour = shared.lock().expect("the lock").clone();
                let _ = answer(stream, &behaviour, &log);
            }
        });
        Server { url, behaviour, requests }
    }

    fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().expect("the lock"));
    }

    fn fetch(&self, folder: &Path, digest: KnownDigest) -> couloir_data::Result<Fetched> {
        self.fetch_with(folder, digest, FetchOptions::default(), &mut |_| {})
    }

    fn fetch_with(
        &self,
        folder: &Path,
        digest: KnownDigest,
        options: FetchOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> couloir_data::Result<Fetched> {
        let options = options.insecure_http(true);
        fetch_url(&self.url, "data.bz2", digest, folder, &options, progress)
    }

    fn ranges(&self) -> Vec<Option<String>> {
        self.requests.lock().expect("the lock").clone()
    }
}

fn answer(
    mut stream: std::net::TcpStream,
    behaviour: &Behaviour,
    log: &Mutex<Vec<Option<String>>>,
) -> std::io::Result<()> {
    let (mut range, mut if_range) = (None, None);
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ") {
            match name.to_ascii_lowercase().as_str() {
                "range" => range = Some(value.to_owned()),
                "if-range" => if_range = Some(value.to_owned()),
                _ => {}
            }
        }
    }
    log.lock().expect("the lock").push(range.clone());
    if let Some(status) = behaviour.status {
        return write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    let all = &behaviour.content;
    let start = range
        .filter(|_| behaviour.ranges && if_range.as_deref() == Some(behaviour.tag))
        .and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    match start {
        Some(start) if start >= all.len() => {
            return write!(
                stream,
                "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        Some(start) => {
            let last = all.len() - 1;
            write!(
                stream,
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{last}/{}\r\n",
                all.len()
            )?;
        }
        None => write!(stream, "HTTP/1.1 200 OK\r\n")?,
    }
    let body = &all[start.unwrap_or(0)..];
    write!(
        stream,
        "ETag: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        behaviour.tag,
        body.len()
    )?;
    if let Some(pause) = behaviour.drip {
        for byte in body {
            stream.write_all(&[*byte])?;
            std::thread::sleep(pause);
        }
        return Ok(());
    }
    stream.write_all(&body[..behaviour.cut.unwrap_or(body.len()).min(body.len())])
}

fn content() -> Vec<u8> {
    (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn sha256_of(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn known(bytes: &[u8]) -> KnownDigest {
    KnownDigest::Full(sha256_of(bytes).leak())
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_fetched_once_with_progress_and_then_found() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("made").join("for it");
    let mut seen = Vec::new();
    let digest = known(&content());
    let fetched = server
        .fetch_with(&deep, digest, FetchOptions::default(), &mut |p| seen.push(p))
        .expect("a download");
    assert_eq!((fetched.checked, fetched.cached, fetched.bytes), (Checked::Known, false, 300_000));
    assert_eq!(fetched.sha256, sha256_of(&content()));
    assert_eq!(std::fs::read(&fetched.path).expect("the file"), content());
    assert!(seen.windows(2).all(|w| w[0].received < w[1].received));
    assert_eq!(seen.last(), Some(&Progress { received: 300_000, total: Some(300_000) }));
    assert_eq!(names_in(&deep), ["data.bz2"]);
    let again = server.fetch(&deep, digest).expect("from the cache");
    assert!(again.cached);
    assert_eq!(server.ranges(), [None]);
}

#[test]
fn what_broke_off_goes_on_where_it_stopped() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    server.set(|b| b.cut = Some(100_000));
    let error = server.fetch(folder.path(), known(&content())).expect_err("broke off");
    assert!(error.to_string().contains("run it again"), "{error}");
    assert_eq!(names_in(folder.path()), ["data.bz2.partial", "data.bz2.partial.version"]);
    server.set(|b| b.cut = None);
    let fetched = server.fetch(folder.path(), known(&content())).expect("the rest");
    assert_eq!(std::fs::read(&fetched.path).expect("the file"), content());
    assert_eq!(server.ranges(), [None, Some("bytes=100000-".to_owned())]);
    assert_eq!(names_in(folder.path()), ["data.bz2"]);
}

#[test]
fn a_file_that_changed_meanwhile_or_a_server_without_ranges_starts_over() {
    for change in [true, false] {
        let server = Server::start(&content());
        let folder = tempfile::tempdir().expect("a folder");
        server.set(|b| b.cut = Some(100_000));
        server.fetch(folder.path(), KnownDigest::Unknown).expect_err("broke off");
        let mut new = content();
        if change {
            new.reverse();
        }
        server.set(|b| {
            b.cut = None;
            b.content = new.clone();
            b.ranges = change;
            b.tag = if change { "\"two\"" } else { "\"one\"" };
        });
        let fetched = server.fetch(folder.path(), KnownDigest::Unknown).expect("all of it");
        assert!(std::fs::read(&fetched.path).expect("the file") == new);
    }
}

#[test]
fn a_partial_file_longer_than_the_real_one_is_dropped() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("data.bz2.partial"), vec![0; 400_000]).expect("writing");
    std::fs::write(folder.path().join("data.bz2.partial.version"), "\"one\"").expect("writing");
    let fetched = server.fetch(folder.path(), known(&content())).expect("a download");
    assert!(std::fs::read(&fetched.path).expect("the file") == content());
}

#[test]
fn a_wrong_digest_is_an_error_and_nothing_stays() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    let error = server.fetch(folder.path(), known(b"other")).expect_err("wrong");
    match error {
        DataError::Digest { expected, got, .. } => {
            assert_eq!((expected, got), (sha256_of(b"other"), sha256_of(&content())));
        }
        other => panic!("{other:?}"),
    }
    assert!(names_in(folder.path()).is_empty());
    let error = server.fetch(folder.path(), KnownDigest::Prefix("zz")).expect_err("wrong");
    assert!(matches!(error, DataError::Digest { .. }));
}

#[test]
fn the_first_digest_seen_is_recorded_and_held_against_the_file() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    let first = server.fetch(folder.path(), KnownDigest::Unknown).expect("a download");
    assert_eq!(first.checked, Checked::FirstSeen);
    let record = std::fs::read_to_string(folder.path().join("data.bz2.sha256")).expect("a record");
    assert_eq!(record, format!("{}  data.bz2\n", first.sha256));
    let second = server.fetch(folder.path(), KnownDigest::Unknown).expect("from the cache");
    assert_eq!((second.checked, second.cached), (Checked::Recorded, true));
    // damaged on disk
    std::fs::write(&first.path, b"damaged").expect("writing");
    let error = server.fetch(folder.path(), KnownDigest::Unknown).expect_err("damaged");
    assert!(matches!(error, DataError::Digest { .. }), "{error:?}");
    // gone, and another one at the source
    std::fs::remove_file(&first.path).expect("removing");
    server.set(|b| b.content.reverse());
    let error = server.fetch(folder.path(), KnownDigest::Unknown).expect_err("changed");
    assert!(matches!(error, DataError::Digest { .. }), "{error:?}");
    assert_eq!(names_in(folder.path()), ["data.bz2.sha256"]);
}

#[test]
fn a_server_that_drips_is_left_and_what_came_is_kept() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    server.set(|b| b.drip = Some(Duration::from_millis(20)));
    let options = FetchOptions::default().slowest(10_000, Duration::from_millis(500));
    let began = Instant::now();
    let error = server.fetch_with(folder.path(), known(&content()), options, &mut |_| {});
    let error = error.expect_err("too slow").to_string();
    assert!(error.contains("too slow: fewer than 10000 bytes in 0.5 s; run it again"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    server.set(|b| b.drip = None);
    let fetched = server.fetch(folder.path(), known(&content())).expect("the rest");
    assert!(std::fs::read(&fetched.path).expect("the file") == content());
    assert!(server.ranges()[1].is_some(), "it began anew");
}

#[test]
fn the_address_of_a_proxy_is_never_shown() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    for proxy in [
        "user:hunter2@",
        "http://user:hunter2@ho st:3128",
        "ftp://user:hunter2@host",
        "http://user:hunter2@127.0.0.1:1",
        "hunter2://x",
    ] {
        let options = FetchOptions::default().proxy(proxy);
        assert!(!format!("{options:?}").contains("hunter2"), "{options:?}");
        let error = server.fetch_with(folder.path(), known(&content()), options, &mut |_| {});
        let error = error.expect_err("no proxy");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn refusals_say_why() {
    let server = Server::start(&content());
    let folder = tempfile::tempdir().expect("a folder");
    let small = FetchOptions::default().max_bytes(1000);
    let error = server.fetch_with(folder.path(), KnownDigest::Unknown, small, &mut |_| {});
    assert!(error.expect_err("too large").to_string().contains("allowed are 1000"));
    server.set(|b| b.status = Some("404 Not Found"));
    let error = server.fetch(folder.path(), KnownDigest::Unknown).expect_err("not found");
    assert!(error.to_string().contains("404"), "{error}");
    let fetch = |url: &str, file: &str| {
        let options = FetchOptions::default();
        fetch_url(url, file, KnownDigest::Unknown, folder.path(), &options, &mut |_| {})
    };
    let before = server.ranges().len();
    let error = fetch(&server.url, "data.bz2").expect_err("plain HTTP without being asked for");
    assert!(error.to_string().contains("https"), "{error}");
    assert_eq!(server.ranges().len(), before);
    assert!(names_in(folder.path()).is_empty());
    for name in ["../escape", "a/b", "", ".."] {
        assert!(matches!(fetch(&server.url, name), Err(DataError::Setting { .. })), "{name}");
    }
}
