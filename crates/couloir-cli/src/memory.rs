//! How much memory may be used, how much there is, and how much the command has.

use crate::failure::bad;
use crate::values::{bytes, show_bytes};
use anyhow::Result;
use couloir::run::MemoryLimit;
use std::path::Path;

/// How much memory may be used.
#[derive(clap::Args, Clone, Copy)]
pub struct Memory {
    /// Refuse what would take more memory than this, e.g. 2G, and stop a fit that exceeds this limit, keeping its best
    /// point [default: refuse what would take more than is free]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Limits")]
    max_memory: Option<u64>,
}

impl Memory {
    /// Bytes that may be used.
    pub fn bytes(&self) -> u64 {
        match self.max_memory {
            Some(most) => most.min(System::read().all()),
            None => System::read().free(),
        }
    }

    /// Fails if a job needs more than may be used. `what` names the job with its sizes, `advice` says what to do about
    /// them.
    pub fn check(&self, what: &str, needed: u64, advice: &str) -> Result<()> {
        if needed <= self.bytes() {
            return Ok(());
        }
        release();
        let limit = self.bytes();
        if needed <= limit {
            return Ok(());
        }
        let (why, or) = match self.max_memory {
            Some(most) if most > limit => ("all that the machine has", ""),
            Some(_) => ("allowed by --max-memory", ", or raise --max-memory"),
            None => ("free", ", or raise --max-memory"),
        };
        let (needed, limit) = (show_bytes(needed), show_bytes(limit));
        Err(bad(format!(
            "{what} would take about {needed} of memory and {limit} are {why}; {advice}{or}"
        )))
    }

    /// What ends a run that has come to take more.
    pub fn limit(&self) -> Option<MemoryLimit> {
        self.max_memory.map(|most| {
            MemoryLimit::new(most, move || {
                if resident() > most {
                    release();
                }
                resident()
            })
        })
    }
}

/// Gives memory that is kept for later back to the system.
fn release() {
    #[cfg(target_os = "linux")]
    crate::allocator::release();
}

/// What Linux says of the machine's memory, where one asks it. Where memory is rationed by control groups they count too.
struct System {
    meminfo: String,
    /// What each control group that this process is in may have at the most, and what it has.
    rations: Vec<(u64, u64)>,
}

/// The rations of the control groups that `/proc/self/cgroup` names, of version 1 or 2, and of all groups around them.
/// `mount` is the folder in which they are.
fn rations(mount: &Path, groups: &str) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // number, controllers, path; version 2 has no controllers
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, most, taken) = match controllers {
            "" => (mount.to_owned(), "memory.max", "memory.current"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mount.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let number = |folder: &Path, name: &str| -> Option<u64> {
            std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
        };
        // inside of a container the path may be that of the host, which is not there: its ends may still be
        let group = Path::new(path.trim_start_matches('/'));
        for inside in group.ancestors() {
            let folder = root.join(inside);
            // no number means no limit
            if let Some(most) = number(&folder, most) {
                found.push((most, number(&folder, taken).unwrap_or(0)));
            }
        }
    }
    found
}

impl System {
    fn read() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let rations = rations(Path::new("/sys/fs/cgroup"), &text("/proc/self/cgroup"));
        System { meminfo: text("/proc/meminfo"), rations }
    }

    /// An entry of `/proc/meminfo`, in bytes.
    fn entry(&self, name: &str) -> Option<u64> {
        let line = self.meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(':')?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()?
            .checked_mul(1024)
    }

    /// What is free; where that is not known, a figure that most machines have.
    fn free(&self) -> u64 {
        const UNKNOWN: u64 = 4 << 30;
        let free = self.rations.iter().map(|(most, taken)| most.saturating_sub(*taken)).min();
        self.entry("MemAvailable").unwrap_or(UNKNOWN).min(free.unwrap_or(u64::MAX))
    }

    /// What could be free at the best, with what can be swapped; no limit where that is not known.
    fn all(&self) -> u64 {
        let ration = self.rations.iter().map(|(most, _)| *most).min().unwrap_or(u64::MAX);
        let memory = self.entry("MemTotal").unwrap_or(u64::MAX).min(ration);
        memory.saturating_add(self.entry("SwapTotal").unwrap_or(0))
    }
}

/// Bytes of memory that this process has: on Linux now, elsewhere at its peak, and none where no system tells.
pub fn resident() -> u64 {
    #[cfg(target_os = "linux")]
    if let Some(now) =
        std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| pages_of(&text))
    {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        return now.saturating_mul(u64::try_from(page).unwrap_or(4096));
    }
    peak()
}

/// The resident pages of `/proc/self/statm`.
#[cfg(target_os = "linux")]
fn pages_of(statm: &str) -> Option<u64> {
    statm.split(' ').nth(1)?.parse().ok()
}

#[cfg(unix)]
fn peak() -> u64 {
    const UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    // SAFETY: all zeros is a value of this struct of numbers, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(UNIT)
}

#[cfg(not(unix))]
fn peak() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(ration: Option<u64>) -> System {
        let meminfo = "MemTotal:  16 kB\nMemAvailable:     8 kB\nSwapTotal:  4 kB\n".to_owned();
        System { meminfo, rations: ration.map(|most| (most, 1024)).into_iter().collect() }
    }

    #[test]
    fn control_groups_count_of_both_versions_and_with_those_around_them() {
        let mount = tempfile::tempdir().expect("a folder");
        let write = |name: &str, number: &str| {
            let file = mount.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, number).expect("writing");
        };
        write("a/memory.max", "5000\n");
        write("a/memory.current", "1000\n");
        write("a/b/memory.max", "max\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/x/y/memory.limit_in_bytes", "7000\n");
        write("memory/x/y/memory.usage_in_bytes", "6500\n");
        let rations = |groups: &str| rations(mount.path(), groups);
        assert_eq!(rations("0::/a/b\n"), [(5000, 1000)]);
        let first = "12:cpu,cpuacct:/x/y\n9:memory:/x/y\n";
        assert_eq!(rations(first), [(7000, 6500), (9_223_372_036_854_771_712, 0)]);
        assert_eq!(rations("9:memory:/not/here\n"), [(9_223_372_036_854_771_712, 0)]);
        assert_eq!(rations("0::/\nnonsense\n1:\n"), []);
        let system =
            System { meminfo: String::new(), rations: rations("0::/a/b\n9:memory:/x/y\n") };
        assert_eq!((system.free(), system.all()), (500, 5000));
    }

    #[test]
    fn the_machines_memory_is_read_from_meminfo_and_rations_count() {
        assert_eq!((system(None).free(), system(None).all()), (8 << 10, 20 << 10));
        let rationed = system(Some(6 << 10));
        assert_eq!((rationed.free(), rationed.all()), (5 << 10, 10 << 10));
        let silent = System { meminfo: "nonsense".to_owned(), rations: Vec::new() };
        assert_eq!((silent.free(), silent.all()), (4 << 30, u64::MAX));
    }

    #[test]
    fn a_job_is_held_against_the_smaller_of_the_limit_and_the_machine() {
        let refused = |max_memory: u64| {
            let memory = Memory { max_memory: Some(max_memory) };
            memory.check("it", u64::MAX, "make less").map_err(|error| error.to_string())
        };
        let small = "it would take about 16777216 TiB of memory and 1.0 MiB are allowed by --max-memory; make less, \
                     or raise --max-memory";
        assert_eq!(refused(1 << 20), Err(small.to_owned()));
        if System::read().all() < u64::MAX {
            let error = refused(u64::MAX).expect_err("more than any machine has");
            assert!(error.ends_with(" are all that the machine has; make less"), "{error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_gauge_follows_what_is_taken_up_to_the_peak() {
        let before = resident();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let with = resident();
        assert!(before > 0 && with >= 64 << 20 && with <= peak() + (8 << 20), "{before}, {with}");
        drop(block);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn resident_pages_are_the_second_number() {
        assert_eq!(pages_of("5000 1200 800 100 0 900 0\n"), Some(1200));
        assert_eq!(pages_of("nonsense"), None);
    }
}
