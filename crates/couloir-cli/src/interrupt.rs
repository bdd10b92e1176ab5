//! SIGINT and SIGTERM: the first one ends a run at its next safe point, with all that it has; the second ends at once.

use crate::failure::say;
use couloir::io::remove_unfinished;
use couloir::run::Cancel;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The first signal that came; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Whether the last word is taken: by a signal that ends the process at once, or by a job that is over.
static LAST_WORD: AtomicBool = AtomicBool::new(false);

/// What a job does at the first signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// It looks at the flag and ends by itself.
    Asks,
    /// It ends at once: there is nothing to keep.
    Quits,
}

/// Listens from now on. `outputs` are what the job writes: nothing unfinished stays beside them when it ends at once.
pub fn listen(first: First, outputs: Vec<PathBuf>) -> Cancel {
    let cancel = Cancel::default();
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        // a command that cannot listen is interrupted the hard way, as all were before
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            let flag = cancel.clone();
            std::thread::spawn(move || {
                for signal in signals.forever() {
                    if first == First::Asks && CAME.swap(signal, Ordering::Relaxed) == 0 {
                        flag.raise();
                        continue;
                    }
                    take_the_last_word();
                    say("interrupted");
                    outputs.iter().for_each(|path| remove_unfinished(path));
                    signal_hook::low_level::exit(128 + signal);
                }
            });
        }
    }
    #[cfg(not(unix))]
    let _ = (first, outputs);
    cancel
}

/// Waits for the end of the process if the last word is taken: a job that failed because a signal took away the file that
/// it wrote has nothing to add, and a signal has nothing to add to a job that is over.
pub fn take_the_last_word() {
    if LAST_WORD.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
}

/// A run that was ended by a signal; what it had is written.
#[derive(Debug)]
pub struct Interrupted {
    signal: i32,
    what: String,
}

impl Interrupted {
    /// The error for a job that was told to end, with what became of its work.
    pub fn now(what: impl Into<String>) -> anyhow::Error {
        Interrupted { signal: CAME.load(Ordering::Relaxed), what: what.into() }.into()
    }

    /// As a shell tells a process that a signal ended.
    pub fn exit_code(&self) -> u8 {
        u8::try_from(128 + self.signal).unwrap_or(1)
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "interrupted; {}", self.what)
    }
}

impl std::error::Error for Interrupted {}
