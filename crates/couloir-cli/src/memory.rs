//! How much memory may be used, how much there is, and how much the command has.

use crate::failure::bad;
use crate::values::{bytes, show_bytes};
use anyhow::Result;
use couloir::run::MemoryLimit;

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

/// What Linux says of the machine's memory, where one asks it. Where memory is rationed by a control group that counts too.
struct System {
    meminfo: String,
    /// The most that the control group may have, and what it has.
    ration: Option<u64>,
    taken: u64,
}

impl System {
    fn read() -> Self {
        let number =
            |path: &str| -> Option<u64> { std::fs::read_to_string(path).ok()?.trim().parse().ok() };
        System {
            meminfo: std::fs::read_to_string("/proc/meminfo").unwrap_or_default(),
            ration: number("/sys/fs/cgroup/memory.max"),
            taken: number("/sys/fs/cgroup/memory.current").unwrap_or(0),
        }
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
        let ration = self.ration.map_or(u64::MAX, |most| most.saturating_sub(self.taken));
        self.entry("MemAvailable").unwrap_or(UNKNOWN).min(ration)
    }

    /// What could be free at the best, with what can be swapped; no limit where that is not known.
    fn all(&self) -> u64 {
        let memory =
            self.entry("MemTotal").unwrap_or(u64::MAX).min(self.ration.unwrap_or(u64::MAX));
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
        System { meminfo, ration, taken: 1024 }
    }

    #[test]
    fn the_machines_memory_is_read_from_meminfo_and_rations_count() {
        assert_eq!((system(None).free(), system(None).all()), (8 << 10, 20 << 10));
        let rationed = system(Some(6 << 10));
        assert_eq!((rationed.free(), rationed.all()), (5 << 10, 10 << 10));
        let silent = System { meminfo: "nonsense".to_owned(), ration: None, taken: 0 };
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
