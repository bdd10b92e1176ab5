//! What a process that was killed while it wrote a file has left beside it.

use std::path::Path;

/// Removes the unfinished files beside `path` whose processes are gone. Nothing depends on it, so nothing is said of
/// files that cannot be removed. Only where the system tells which processes there are (Linux).
pub fn remove_stale(path: &Path) {
    if Path::new("/proc/self").exists() {
        remove(path, |process| !Path::new("/proc").join(process.to_string()).exists());
    }
}

/// Removes the unfinished files of this process beside `path`: for a process that is about to end.
pub fn remove_unfinished(path: &Path) {
    remove(path, |process| process == std::process::id());
}

fn remove(path: &Path, is_over: impl Fn(u32) -> bool) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(|other| process_of(name, other));
        if process.is_some_and(&is_over) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The process that a name like `.NAME.PROCESS.partial`, `.NAME.PROCESS-COUNT.partial` or (of a file that was only to
/// show that one can write there) `.NAME.PROCESS.probe` belongs to.
fn process_of(name: &str, other: &str) -> Option<u32> {
    let middle = other.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?;
    let middle = middle.strip_suffix(".partial").or_else(|| middle.strip_suffix(".probe"))?;
    middle.split_once('-').map_or(middle, |(process, _)| process).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn only_unfinished_files_of_processes_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = format!(".model.{}.partial", std::process::id());
        // no process has a number beyond 2^22
        let stale =
            [".model.4294967294.partial", ".model.4294967295-7.partial", ".model.4294967294.probe"];
        let kept =
            ["model", &own, ".other.4294967294.partial", ".model.partial", ".model.x.partial"];
        for name in stale.iter().chain(&kept) {
            std::fs::write(folder.path().join(name), "x").expect("writing");
        }
        remove_stale(&folder.path().join("model"));
        assert!(stale.iter().all(|name| !folder.path().join(name).exists()));
        assert!(kept.iter().all(|name| folder.path().join(name).exists()));
        remove_unfinished(&folder.path().join("model"));
        assert!(!folder.path().join(&own).exists());
        assert_eq!(folder.path().read_dir().expect("the folder").count(), kept.len() - 1);
    }
}
