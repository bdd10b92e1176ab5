//! `couloir data fetch` against a source that means harm: redirects to plain HTTP, foreign certificates, other files than
//! announced, files without an end. The server has a certificate authority of its own, which the command trusts by
//! `SSL_CERT_FILE`, and is reached as a proxy, so that the command asks for the addresses that it always asks for.
#![cfg(target_os = "linux")]

mod common;

use common::{couloir, files, text};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const HOST: &str = "www.csie.ntu.edu.tw";

/// What the server answers to a path.
type Answer = fn(&str, &mut dyn Write) -> io::Result<()>;

struct Source {
    folder: tempfile::TempDir,
    proxy: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Source {
    /// A server whose certificate is for this host.
    fn start(host: &str, answer: Answer) -> Source {
        let folder = tempfile::tempdir().expect("a folder");
        let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().expect("a key");
        let root = authority.self_signed(&authority_key).expect("a certificate");
        std::fs::write(folder.path().join("ca.pem"), root.pem()).expect("writing");
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocols")
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a configuration");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = format!("http://{}", listener.local_addr().expect("an address"));
        let (config, asked) = (Arc::new(config), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // a client that turns away is no concern of the server
                let _ = serve(stream, Arc::clone(&config), answer, &log);
            }
        });
        Source { folder, proxy, asked }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fetches with these arguments; exit code, standard error, and what was asked for.
    fn fetch(&self, arguments: &str) -> (i32, String, Vec<String>) {
        let mut command = couloir(self.path());
        command
            .args(["data", "fetch", "--quiet", "--dir", "data"])
            .args(arguments.split(' '))
            .env("HTTPS_PROXY", &self.proxy)
            .env("SSL_CERT_FILE", self.path().join("ca.pem"))
            .env_remove("SSL_CERT_DIR")
            .timeout(std::time::Duration::from_secs(60));
        let output = command.output().expect("the command");
        let code = output.status.code().expect("an exit code");
        let asked = std::mem::take(&mut *self.asked.lock().expect("the lock"));
        (code, text(&output.stderr), asked)
    }

    /// Fetches what must fail; the line, and what was asked for. Nothing of it may stay.
    fn refuses(&self, arguments: &str) -> (String, Vec<String>) {
        let (code, error, asked) = self.fetch(arguments);
        assert_eq!(code, 1, "{error}");
        assert!(error.starts_with("couloir: ") && error.lines().count() == 1, "{error}");
        assert_eq!(files(self.path()), ["ca.pem", "data"]);
        assert_eq!(files(&self.path().join("data")), Vec::<String>::new(), "{error}");
        (error, asked)
    }
}

/// The lines up to an empty one.
fn head(input: &mut impl BufRead) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(lines);
        }
        lines.push(line.trim().to_owned());
    }
}

/// Answers one request through a tunnel.
fn serve(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    answer: Answer,
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let wish = head(&mut BufReader::new(Bytewise(&mut stream)))?;
    assert!(wish[0].starts_with("CONNECT "), "{wish:?}");
    write!(stream, "HTTP/1.1 200 OK\r\n\r\n")?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut tls = StreamOwned::new(connection, stream);
    let request = head(&mut BufReader::new(Bytewise(&mut tls)))?;
    let path = request.first().and_then(|line| line.split(' ').nth(1)).unwrap_or("/").to_owned();
    asked.lock().expect("the lock").push(path.clone());
    answer(&path, &mut tls)?;
    tls.flush()?;
    tls.conn.send_close_notify();
    tls.flush()
}

/// Reads a byte at a time, so that a buffer never takes what comes after the head.
struct Bytewise<'a, R>(&'a mut R);

impl<R: Read> Read for Bytewise<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

fn whole(out: &mut dyn Write, content: &str) -> io::Result<()> {
    write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{content}", content.len())
}

fn redirect(out: &mut dyn Write, to: &str) -> io::Result<()> {
    write!(out, "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

#[test]
fn a_file_comes_over_tls_and_through_redirects_to_https() {
    let source = Source::start(HOST, |path, out| match path {
        "/elsewhere" => whole(out, "some data"),
        _ => redirect(out, "https://www.csie.ntu.edu.tw/elsewhere"),
    });
    let (code, error, asked) = source.fetch("sector.scale");
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(asked.len(), 2, "{asked:?}");
    let data = source.path().join("data");
    assert_eq!(files(&data), ["sector.scale.bz2", "sector.scale.bz2.sha256"]);
    assert_eq!(std::fs::read(data.join("sector.scale.bz2")).expect("the file"), b"some data");
}

#[test]
fn a_redirect_to_plain_http_is_not_followed() {
    static VISITS: AtomicUsize = AtomicUsize::new(0);
    static ADDRESS: Mutex<String> = Mutex::new(String::new());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    *ADDRESS.lock().expect("the lock") =
        format!("http://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            VISITS.fetch_add(1, Ordering::SeqCst);
        }
    });
    let source = Source::start(HOST, |_, out| {
        let to = ADDRESS.lock().expect("the lock").clone();
        redirect(out, &to)
    });
    let (error, asked) = source.refuses("sector.scale");
    assert!(error.contains("https"), "{error}");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(VISITS.load(Ordering::SeqCst), 0);
}

#[test]
fn redirects_without_an_end_and_to_files_are_refused() {
    let source = Source::start(HOST, |_, out| redirect(out, "https://www.csie.ntu.edu.tw/again"));
    let (error, asked) = source.refuses("sector.scale");
    assert!(error.contains("redirect") && asked.len() < 20, "{error} {asked:?}");
    let source = Source::start(HOST, |_, out| redirect(out, "file:///etc/passwd"));
    source.refuses("sector.scale");
}

#[test]
fn a_certificate_of_another_authority_or_for_another_host_is_refused() {
    let source = Source::start(HOST, |_, out| whole(out, "some data"));
    let other = Source::start(HOST, |_, out| whole(out, "some data"));
    std::fs::copy(other.path().join("ca.pem"), source.path().join("ca.pem")).expect("a copy");
    let (error, asked) = source.refuses("sector.scale");
    assert!(error.contains("certificate") && asked.is_empty(), "{error} {asked:?}");
    let source = Source::start("www.example.org", |_, out| whole(out, "some data"));
    let (error, asked) = source.refuses("sector.scale");
    assert!(error.contains("certificate") && asked.is_empty(), "{error} {asked:?}");
}

#[test]
fn another_file_than_the_known_one_is_refused() {
    let source = Source::start(HOST, |_, out| whole(out, "not what it should be"));
    let (error, _) = source.refuses("rcv1.multiclass");
    assert!(error.contains("SHA-256 is") && error.contains("expected 79691e3f974aa6a0"), "{error}");
}

#[test]
fn names_that_the_server_gives_are_not_used() {
    let source = Source::start(HOST, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n")?;
        write!(out, "Content-Disposition: attachment; filename=\"../../escaped\"\r\n")?;
        write!(out, "ETag: \"../../escaped\"\r\n\r\ndata")
    });
    assert_eq!(source.fetch("sector.scale").0, 0);
    assert_eq!(files(source.path()), ["ca.pem", "data"]);
    let names = files(&source.path().join("data"));
    assert_eq!(names, ["sector.scale.bz2", "sector.scale.bz2.sha256"]);
}

#[test]
fn links_in_the_folder_are_not_followed() {
    let source = Source::start(HOST, |_, out| whole(out, "some data"));
    let data = source.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    for name in [".partial", ".partial.version", ".sha256"] {
        let link = data.join(format!("sector.scale.bz2{name}"));
        std::os::unix::fs::symlink("../ca.pem", &link).expect("a link");
        let before = std::fs::read(source.path().join("ca.pem")).expect("the file");
        let (code, error, _) = source.fetch("sector.scale");
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(name) && error.contains("is a link"), "{error}");
        assert_eq!(std::fs::read(source.path().join("ca.pem")).expect("the file"), before);
        std::fs::remove_file(link).expect("removing");
    }
}

#[test]
fn files_larger_than_allowed_are_refused_when_announced_and_when_they_come() {
    let announced = Source::start(HOST, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    });
    let (error, _) = announced.refuses("sector.scale");
    let most = "10000000000 bytes or more, allowed are 2147483648; if that is meant, raise the limit on files \
                (--max-size)";
    assert!(error.contains(most), "{error}");
    let endless = Source::start(HOST, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        loop {
            write!(out, "1000\r\n{}\r\n", "x".repeat(0x1000))?;
        }
    });
    let (error, _) = endless.refuses("sector.scale --max-size 1M");
    assert!(error.contains("allowed are 1048576"), "{error}");
}

#[test]
fn a_body_that_is_cut_off_and_headers_without_an_end_are_failures() {
    let cut = Source::start(HOST, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n")
    });
    let (code, error, _) = cut.fetch("sector.scale");
    assert_eq!(code, 1, "{error}");
    assert!(!cut.path().join("data/sector.scale.bz2").exists(), "half a file was taken for whole");
    let endless = Source::start(HOST, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\n")?;
        loop {
            write!(out, "X-More: {}\r\n", "x".repeat(1000))?;
        }
    });
    endless.refuses("sector.scale");
}
