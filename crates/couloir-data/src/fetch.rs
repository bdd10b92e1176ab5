//! Downloads into a cache folder: by HTTPS, with progress, resume and SHA-256.
//!
//! A download grows in `FILE.partial` and is renamed to `FILE` when it is complete and its digest is right. What is
//! interrupted goes on where it stopped, if the server still has the same file (its `ETag` or date,
//! kept in `FILE.partial.version`, decides). Where no digest is known, the first one seen is kept in
//! `FILE.sha256` and every later look at the file is held against it.

use crate::catalogue::{Entry, KnownDigest};
use crate::error::{DataError, Result};
use couloir::io::write_atomically;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use ureq::tls::{RootCerts, TlsConfig};

/// How to fetch.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct FetchOptions {
    proxy: Option<String>,
    max_bytes: u64,
    slowest: (u64, Duration),
    insecure_http: bool,
}

impl Default for FetchOptions {
    /// No proxy, files up to 2 GiB, at least 60 KiB a minute, HTTPS only.
    fn default() -> Self {
        let slowest = (60 << 10, Duration::from_secs(60));
        FetchOptions { proxy: None, max_bytes: 2 << 30, slowest, insecure_http: false }
    }
}

impl std::fmt::Debug for FetchOptions {
    /// Without the address of the proxy, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FetchOptions")
            .field("proxy", &self.proxy.as_ref().map(|_| "not shown"))
            .field("max_bytes", &self.max_bytes)
            .field("slowest", &self.slowest)
            .field("insecure_http", &self.insecure_http)
            .finish()
    }
}

impl FetchOptions {
    /// A proxy, for example the caller's `HTTPS_PROXY`. This library does not read the environment.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// The largest file to accept, in bytes.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// The slowest server to bear: a download ends where fewer bytes than this come within `time`.
    pub fn slowest(mut self, bytes: u64, time: Duration) -> Self {
        self.slowest = (bytes, time);
        self
    }

    /// Allows plain HTTP. Anyone on the way can then read and change what is fetched: this is for tests
    /// against a server on the same machine, and for nothing else.
    pub fn insecure_http(mut self, allow: bool) -> Self {
        self.insecure_http = allow;
        self
    }
}

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are there, those of an earlier attempt included.
    pub received: u64,
    /// All bytes, if the server says.
    pub total: Option<u64>,
}

/// What the digest of a file was held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checked {
    /// The full digest in the catalogue.
    Known,
    /// The beginning of the digest that the catalogue has.
    KnownPrefix,
    /// The digest recorded when the file was first fetched.
    Recorded,
    /// Nothing: this is the first digest seen, and it was recorded.
    FirstSeen,
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// What that was held against.
    pub checked: Checked,
    /// Whether it was there already.
    pub cached: bool,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Systems that keep caches in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// Linux and others that follow the XDG base directories.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one that this was built for.
    #[must_use]
    pub fn current() -> Self {
        if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::Mac
        } else {
            Platform::Xdg
        }
    }
}

/// The folder for data sets that is usual on a platform, given its environment; none if that lacks
/// what is needed. Programs pass `|name| std::env::var_os(name)`.
///
/// ```
/// use couloir_data::fetch::{Platform, cache_folder};
/// let home = |name: &str| (name == "HOME").then(|| "/home/ada".into());
/// let folder = cache_folder(Platform::Xdg, home).expect("a home");
/// assert_eq!(folder, std::path::Path::new("/home/ada/.cache/couloir/data"));
/// ```
#[must_use]
pub fn cache_folder(
    platform: Platform,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let path = |name: &str| environment(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let caches = match platform {
        // the XDG rules say that a relative path is to be ignored
        Platform::Xdg => path("XDG_CACHE_HOME")
            .filter(|p| p.has_root())
            .or_else(|| path("HOME").map(|home| home.join(".cache"))),
        Platform::Mac => path("HOME").map(|home| home.join("Library").join("Caches")),
        Platform::Windows => path("LOCALAPPDATA"),
    };
    Some(caches?.join("couloir").join("data"))
}

/// Makes sure that a data set of the catalogue is in `folder`, which is made if need be.
///
/// # Errors
/// A download that fails (what has come is kept, to go on from), a digest that is not as it must be,
/// and what the file system reports.
pub fn fetch(
    entry: &Entry,
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Fetched> {
    fetch_url(entry.url, entry.file, entry.sha256, folder, options, progress)
}

/// As [`fetch`], for any address.
///
/// # Errors
/// As [`fetch`], and a file name that is more than a name.
pub fn fetch_url(
    url: &str,
    file: &str,
    digest: KnownDigest,
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Fetched> {
    if Path::new(file).file_name() != Some(file.as_ref()) {
        return Err(DataError::Setting {
            name: "file",
            why: format!("`{file}` is not a file name"),
        });
    }
    fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
    let place = Place { path: folder.join(file), digest };
    place.refuse_links()?;
    if place.path.is_file() {
        return place.check(&place.path, true, "delete it to fetch it again");
    }
    let download = Download { url, place: &place, options };
    let mut partial = download.open_partial()?;
    // another process may have finished while this one waited to open
    if place.path.is_file() {
        return place.check(&place.path, true, "delete it to fetch it again");
    }
    let received = download.receive(&mut partial, progress).and_then(|complete| match complete {
        true => Ok(true),
        // the server could not go on from where we were
        false => download.receive(&mut partial, progress),
    });
    if let Err(error) = received {
        // nothing to go on from is nothing to keep
        let useless = matches!(error, DataError::TooLarge { .. });
        if useless || partial.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(place.partial());
            let _ = fs::remove_file(place.version());
        }
        return Err(error);
    }
    partial.sync_all().map_err(|error| file_error(&place.partial(), &error))?;
    let fetched = place.check(
        &place.partial(),
        false,
        "the download was removed; fetch again, and if it stays so the source has changed",
    );
    if fetched.is_err() {
        let _ = fs::remove_file(place.partial());
    } else {
        fs::rename(place.partial(), &place.path)
            .map_err(|error| file_error(&place.path, &error))?;
    }
    let _ = fs::remove_file(place.version());
    fetched
}

/// Where the file of a data set is in `folder`, if it is there, after holding its digest against the catalogue and the one
/// recorded when it was fetched. Writes nothing; a file of which no digest is known is taken as it is.
///
/// # Errors
/// A digest that is not as it must be, and what the file system reports.
pub fn find_fetched(entry: &Entry, folder: &Path) -> Result<Option<PathBuf>> {
    let place = Place { path: folder.join(entry.file), digest: entry.sha256 };
    if !place.path.is_file() {
        return Ok(None);
    }
    place.held_against(&place.path, "delete it and fetch it again")?;
    Ok(Some(place.path))
}

/// Where a file goes and what it must be.
struct Place {
    path: PathBuf,
    digest: KnownDigest,
}

impl Place {
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }

    fn partial(&self) -> PathBuf {
        self.beside(".partial")
    }

    fn version(&self) -> PathBuf {
        self.beside(".partial.version")
    }

    fn record(&self) -> PathBuf {
        self.beside(".sha256")
    }

    /// Fails if a file that would be written is a link: it could lead out of the folder.
    fn refuse_links(&self) -> Result<()> {
        match [self.partial(), self.version(), self.record()].iter().find(|p| p.is_symlink()) {
            None => Ok(()),
            Some(link) => {
                let why = "is a link, which is not followed; remove it";
                let error = io::Error::new(io::ErrorKind::PermissionDenied, why);
                Err(file_error(link, &error))
            }
        }
    }

    /// Holds the digest of a file, which may not be at its place yet, against what is known.
    /// The first one seen is recorded.
    fn check(&self, file: &Path, cached: bool, hint: &'static str) -> Result<Fetched> {
        let (sha256, bytes, checked) = self.held_against(file, hint)?;
        if matches!(checked, Checked::FirstSeen | Checked::KnownPrefix) {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            // the form that `sha256sum --check` reads
            let line = format!("{sha256}  {name}\n");
            write_atomically(&self.record(), |out| out.write_all(line.as_bytes()))
                .map_err(|error| file_error(&self.record(), &error))?;
        }
        Ok(Fetched { path: self.path.clone(), sha256, checked, cached, bytes })
    }

    /// Digest and size of a file, and what the digest was held against.
    fn held_against(&self, file: &Path, hint: &'static str) -> Result<(String, u64, Checked)> {
        let (sha256, bytes) = sha256_of(file)?;
        let recorded = match fs::read_to_string(self.record()) {
            Ok(text) => text.split_whitespace().next().map(str::to_owned),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(file_error(&self.record(), &error)),
        };
        let (expected, checked) = match (self.digest, recorded) {
            (KnownDigest::Full(full), _) => (full.to_owned(), Checked::Known),
            (KnownDigest::Prefix(prefix), None) => (prefix.to_owned(), Checked::KnownPrefix),
            (_, Some(recorded)) => (recorded, Checked::Recorded),
            (KnownDigest::Unknown, None) => (String::new(), Checked::FirstSeen),
        };
        if !sha256.starts_with(&expected) {
            return Err(DataError::Digest { file: self.path.clone(), expected, got: sha256, hint });
        }
        Ok((sha256, bytes, checked))
    }
}

struct Download<'a> {
    url: &'a str,
    place: &'a Place,
    options: &'a FetchOptions,
}

impl Download<'_> {
    fn fail(&self, why: impl Into<String>) -> DataError {
        DataError::Download { url: self.url.to_owned(), why: why.into() }
    }

    /// The partial file, for this process alone.
    fn open_partial(&self) -> Result<File> {
        let path = self.place.partial();
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(|error| file_error(&path, &error))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                Err(self.fail(format!("another process is fetching it into {}", path.display())))
            }
            // where locks do not work, go without
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
        }
    }

    fn agent(&self) -> Result<ureq::Agent> {
        let secure = !self.options.insecure_http;
        if secure && !self.url.starts_with("https://") {
            return Err(self.fail("is not an https address"));
        }
        let proxy = match &self.options.proxy {
            Some(proxy) => Some(
                // neither the address nor what the parser quotes of it: both may hold a password
                ureq::Proxy::new(proxy).map_err(|_| {
                    self.fail(
                        "the address of the proxy is not valid (it is not shown, for it may hold a password); \
                         expected http://HOST:PORT",
                    )
                })?,
            ),
            None => None,
        };
        // the system's own roots: the built-in ones fail behind proxies that look into TLS
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = ureq::Agent::config_builder()
            .https_only(secure)
            .http_status_as_error(false)
            .proxy(proxy)
            .tls_config(tls)
            .user_agent(concat!("couloir/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(Duration::from_secs(30)))
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(self.options.slowest.1))
            .build();
        Ok(config.into())
    }

    /// Receives what is missing. False if that was not possible from where the file ends, which is empty
    /// then.
    fn receive(&self, file: &mut File, progress: &mut dyn FnMut(Progress)) -> Result<bool> {
        let partial = self.place.partial();
        let on_file = |error: io::Error| file_error(&partial, &error);
        let version = fs::read_to_string(self.place.version()).unwrap_or_default();
        let mut have = file.seek(io::SeekFrom::End(0)).map_err(on_file)?;
        if have > 0 && version.is_empty() {
            file.set_len(0).map_err(on_file)?;
            have = 0;
        }
        let mut request = self.agent()?.get(self.url).header("Accept-Encoding", "identity");
        if have > 0 {
            request =
                request.header("Range", format!("bytes={have}-")).header("If-Range", &version);
        }
        let answer = request.call().map_err(|error| self.fail(error.to_string()))?;
        let header = |name: &str| {
            answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        match answer.status().as_u16() {
            206 if have > 0 => {
                let range = header("content-range").unwrap_or_default();
                if !range.starts_with(&format!("bytes {have}-")) {
                    return Err(self.fail(format!("asked to go on at byte {have}, got `{range}`")));
                }
            }
            200 => {
                file.set_len(0).map_err(on_file)?;
                have = 0;
                // only a strong tag or a date can promise that the bytes are the same
                let tag = header("etag").filter(|tag| !tag.starts_with("W/"));
                match tag.or_else(|| header("last-modified")) {
                    Some(version) => {
                        let path = self.place.version();
                        write_atomically(&path, |out| out.write_all(version.as_bytes()))
                            .map_err(|error| file_error(&path, &error))?;
                    }
                    None => drop(fs::remove_file(self.place.version())),
                }
            }
            416 if have > 0 => {
                file.set_len(0).map_err(on_file)?;
                return Ok(false);
            }
            status => {
                return Err(self.fail(format!(
                    "the server answers {}",
                    answer
                        .status()
                        .canonical_reason()
                        .map_or(status.to_string(), |reason| format!("{status} {reason}"))
                )));
            }
        }
        let total = header("content-length")
            .and_then(|n| n.parse::<u64>().ok())
            .map(|n| n.saturating_add(have));
        let limit = self.options.max_bytes;
        let too_large = |bytes: u64| DataError::TooLarge { url: self.url.to_owned(), bytes, limit };
        if let Some(total) = total.filter(|&total| total > limit) {
            return Err(too_large(total));
        }
        let mut body = answer.into_body().into_reader();
        let mut buffer = vec![0; 64 << 10];
        progress(Progress { received: have, total });
        let (least, time) = self.options.slowest;
        let (mut since, mut before) = (Instant::now(), have);
        loop {
            if since.elapsed() >= time {
                if have - before < least {
                    let why = format!(
                        "too slow: fewer than {least} bytes in {} s; run it again to go on after {have} bytes",
                        time.as_secs_f64()
                    );
                    return Err(self.fail(why));
                }
                (since, before) = (Instant::now(), have);
            }
            let length = match body.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let why =
                        format!("broke off after {have} bytes ({error}); run it again to go on");
                    return Err(self.fail(why));
                }
            };
            if length == 0 {
                break;
            }
            if have + length as u64 > limit {
                return Err(too_large(have + length as u64));
            }
            file.write_all(&buffer[..length]).map_err(on_file)?;
            have += length as u64;
            progress(Progress { received: have, total });
        }
        match total.filter(|&total| total != have) {
            Some(total) => Err(self
                .fail(format!("broke off after {have} of {total} bytes; run it again to go on"))),
            None => Ok(true),
        }
    }
}

/// The SHA-256 of a file, in hexadecimal, and its size.
///
/// # Errors
/// What the file system reports.
pub fn sha256_of(path: &Path) -> Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let bytes = File::open(path)
        .and_then(|mut file| io::copy(&mut file, &mut hasher))
        .map_err(|error| DataError::io(path, &error))?;
    let digest = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((digest, bytes))
}

fn file_error(path: &Path, error: &io::Error) -> DataError {
    DataError::Io { file: path.to_owned(), kind: error.kind(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_folders_follow_the_platform() {
        let from = |platform, pairs: &'static [(&str, &str)]| {
            cache_folder(platform, move |name: &str| {
                pairs.iter().find(|p| p.0 == name).map(|p| p.1.into())
            })
        };
        let all: &[(&str, &str)] =
            &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("LOCALAPPDATA", "/l")];
        for (platform, start) in
            [(Platform::Xdg, "/x"), (Platform::Mac, "/h/Library/Caches"), (Platform::Windows, "/l")]
        {
            assert_eq!(from(platform, all), Some(Path::new(start).join("couloir").join("data")));
            assert_eq!(from(platform, &[]), None);
        }
        let relative = from(Platform::Xdg, &[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]);
        assert_eq!(relative, Some("/h/.cache/couloir/data".into()));
    }
}
