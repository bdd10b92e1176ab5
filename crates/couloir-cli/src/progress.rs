//! Progress on standard error: a line that moves on a terminal, a line now and then elsewhere.

use crate::values::{show, show_bytes};
use couloir::run::TracePoint;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The longest time between two plain lines, in seconds.
const LONGEST: f64 = 60.0;

/// Shows how far something is.
pub struct Progress {
    began: Instant,
    look: Look,
}

enum Look {
    Quiet,
    Terminal(ProgressBar),
    Plain(Pace),
}

/// Plain lines after 1, 2, 4, 8, ... seconds, and later every minute.
struct Pace {
    next: f64,
}

impl Pace {
    fn is_due(&mut self, seconds: f64) -> bool {
        if seconds < self.next {
            return false;
        }
        self.next = seconds + seconds.min(LONGEST);
        true
    }
}

impl Progress {
    /// Begins now.
    pub fn start(quiet: bool, message: &str) -> Self {
        let look = if quiet {
            Look::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed_precise}] {msg}") {
                bar.set_style(style);
            }
            bar.set_message(message.to_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            Look::Terminal(bar)
        } else {
            Look::Plain(Pace { next: 1.0 })
        };
        Progress { began: Instant::now(), look }
    }

    /// What is being done now; plain lines do not say.
    pub fn doing(&self, message: &str) {
        if let Look::Terminal(bar) = &self.look {
            bar.set_message(message.to_owned());
        }
    }

    /// A point of a run, whose objective is over `scale`; seconds of a run are its own.
    pub fn at(&mut self, point: &TracePoint, scale: f64) {
        self.show(|| {
            let bound = point.bounds.best() / scale;
            let bound = if bound.is_finite() { show(bound) } else { "none".to_owned() };
            let rate = point.iteration as f64 / point.seconds.max(1e-9);
            format!(
                "iteration {}, gap {}, bound {bound}, {} iterations/s, {:.1} s",
                point.iteration,
                show(point.certificate.gap / scale),
                show(if point.iteration == 0 { 0.0 } else { rate }),
                point.seconds,
            )
        });
    }

    /// Bytes of a download.
    pub fn received(&mut self, file: &str, received: u64, total: Option<u64>) {
        self.show(|| {
            let of = total.map_or(String::new(), |total| format!(" of {}", show_bytes(total)));
            format!("{file}: {}{of}", show_bytes(received))
        });
    }

    /// Something of which there will be more.
    pub fn show(&mut self, message: impl FnOnce() -> String) {
        let seconds = self.began.elapsed().as_secs_f64();
        match &mut self.look {
            Look::Quiet => {}
            Look::Terminal(bar) => bar.set_message(message()),
            Look::Plain(pace) => {
                if pace.is_due(seconds) {
                    // progress that cannot be shown is no reason to stop
                    let _ = writeln!(std::io::stderr(), "{}", message());
                }
            }
        }
    }
}

impl Drop for Progress {
    /// The moving line goes; what comes next has the terminal to itself.
    fn drop(&mut self) {
        if let Look::Terminal(bar) = &self.look {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_come_at_growing_intervals() {
        let mut pace = Pace { next: 1.0 };
        let times: Vec<u32> = (0..3000).filter(|&t| pace.is_due(f64::from(t) / 10.0)).collect();
        assert_eq!(times, [10, 20, 40, 80, 160, 320, 640, 1240, 1840, 2440]);
    }
}
