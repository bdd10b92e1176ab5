//! SIGINT and SIGTERM: the first one ends a run at its next safe point, with all that it has; the second ends at once, and so does
//! the first while there is nothing to keep (while data are read, say). A signal that the caller has the process ignore, as `nohup` does, stays ignored.

use crate::failure::say;
use couloir::io::remove_unfinished;
use couloir::run::Cancel;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The first signal that came; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Whether the last word is taken: by a signal that ends the process at once, or by a job that is over.
static LAST_WORD: AtomicBool = AtomicBool::new(false);

/// Whether the job has something to keep, and looks at the flag.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// Signals that come closer together than this are one request: `timeout` sends its signal to the process and to its group.
const ONE_REQUEST: Duration = Duration::from_millis(200);

/// Listens from now on. `outputs` are what the job writes: nothing unfinished stays beside them when it ends at once. Signals end
/// the process at once until [`keep`] says that there is something to keep.
pub fn listen(outputs: Vec<PathBuf>) -> Cancel {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let heard: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(|s| !is_ignored(*s)).collect();
        // a command that cannot listen is interrupted the hard way, as all were before
        if let Ok(mut signals) = signal_hook::iterator::Signals::new(&heard) {
            let raised = flag.clone();
            let listen = move || {
                let mut first: Option<Instant> = None;
                for signal in signals.forever() {
                    if first.is_some_and(|first| first.elapsed() < ONE_REQUEST) {
                        continue;
                    }
                    if KEEPS.load(Ordering::SeqCst) && first.is_none() {
                        CAME.store(signal, Ordering::SeqCst);
                        raised.store(true, Ordering::SeqCst);
                        first = Some(Instant::now());
                        continue;
                    }
                    take_the_last_word();
                    say("interrupted");
                    outputs.iter().for_each(|path| remove_unfinished(path));
                    signal_hook::low_level::exit(128 + signal);
                }
            };
            if std::thread::Builder::new().spawn(listen).is_err() {
                // no thread to be had: the flag alone, and the second signal ends the process as it is
                for signal in heard {
                    let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
                    let _ = signal_hook::flag::register(signal, flag.clone());
                }
            }
        }
    }
    #[cfg(not(unix))]
    let _ = outputs;
    Cancel::from(flag)
}

/// Says whether the job has something to keep from now on: then the first signal raises the flag, and the job ends by itself with
/// what it has.
pub fn keep(something: bool) {
    KEEPS.store(something, Ordering::SeqCst);
}

/// Makes writes beyond the limit of file sizes fail, which the signal that goes with them would end the process for.
pub fn survive_file_limits() {
    #[cfg(unix)]
    // where that cannot be done the process ends as it would have
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

/// Whether the process was started with this signal ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeros is a value of this struct of numbers, and the call fills it and changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
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
        let signal = match CAME.load(Ordering::SeqCst) {
            0 => 2, // the flag was raised without the thread that knows the signal
            signal => signal,
        };
        Interrupted { signal, what: what.into() }.into()
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
