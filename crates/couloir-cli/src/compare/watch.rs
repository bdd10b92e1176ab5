//! Watches a run of a comparison: the FW-gap at every look, the same measure for every method.

use super::runs::Problem;
use crate::failure::warn;
use crate::progress::Progress;
use crate::values::show;
use couloir::certificate::FwGap;
use couloir::run::{Algorithm, Flow, Observer, TracePoint, TraceRecord};
use couloir::state::Archive;
use couloir::{Certificate, Error, Method, Result};
use couloir_report::results::{Point, RunKey, finite};

/// What is seen of a run.
pub struct Watch<'a> {
    pub points: Vec<Point>,
    /// What went wrong in a measurement; the run ends there.
    pub trouble: Option<Error>,
    key: &'a RunKey,
    fw_gap: FwGap<'a>,
    /// Whether the certificate of the method is another.
    measures: bool,
    /// The best so far, from the common start on: a method may know a better pair before its first iteration.
    best: Certificate,
    budget: f64,
    progress: &'a mut Progress,
    title: &'a str,
}

impl<'a> Watch<'a> {
    pub fn new(
        problem: &'a Problem,
        method: &Method,
        key: &'a RunKey,
        progress: &'a mut Progress,
        title: &'a str,
    ) -> Result<Self> {
        let (fw_gap, best) = problem.fw_gap()?;
        let measures = !method.about().certifies_by_fw_gap;
        Ok(Watch {
            points: Vec::new(),
            trouble: None,
            key,
            fw_gap,
            measures,
            best,
            budget: problem.budget(),
            progress,
            title,
        })
    }

    /// The best FW-gap so far.
    fn look(&mut self, point: &TracePoint, state: &dyn Algorithm) -> Result<()> {
        if point.iteration == 0 {
            return Ok(());
        }
        let now = if self.measures {
            let (x, y) = state.best();
            self.fw_gap.at(x, y)?
        } else {
            point.certificate
        };
        if now.gap < self.best.gap {
            self.best = now;
        }
        Ok(())
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, point: &TracePoint, state: &dyn Algorithm) -> Flow {
        if let Err(error) = self.look(point, state) {
            self.trouble = Some(error);
            return Flow::Stop;
        }
        self.points.push(record(self.key, point, &self.best));
        let (title, budget, gap) = (self.title, self.budget, self.best.gap);
        self.progress
            .show(|| format!("{title}: {:.1} of {budget} s, FW-gap {}", point.seconds, show(gap)));
        Flow::Continue
    }

    fn checkpointed(&mut self, written: Result<()>) {
        if let Err(error) = written {
            warn(&format!("no checkpoint: {error}"));
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Certificate { gap, gap_x, gap_y, .. } = &mut self.best;
        archive.number("gap", gap)?;
        archive.number("gap_x", gap_x)?;
        archive.number("gap_y", gap_y)?;
        let key = self.key;
        archive.list("points", &mut self.points, || nothing_of(key), point_state)
    }
}

fn record(key: &RunKey, point: &TracePoint, gap: &Certificate) -> Point {
    let record = TraceRecord::new(point, 1.0);
    Point {
        run: key.clone(),
        iteration: record.iteration,
        seconds: record.seconds,
        certified_gap: finite(record.gap),
        gap: finite(gap.gap),
        gap_x: finite(gap.gap_x),
        gap_y: finite(gap.gap_y),
        bound: finite(record.bound),
        gradients: record.grads,
        certificate_gradients: record.certificate_grads,
        component_gradients: record.component_grads,
        lo_calls: record.lo_calls,
        passes: record.passes,
    }
}

/// A point to load into.
fn nothing_of(key: &RunKey) -> Point {
    Point {
        run: key.clone(),
        iteration: 0,
        seconds: 0.0,
        certified_gap: None,
        gap: None,
        gap_x: None,
        gap_y: None,
        bound: None,
        gradients: 0,
        certificate_gradients: 0,
        component_gradients: 0,
        lo_calls: 0,
        passes: 0.0,
    }
}

fn point_state(archive: &mut Archive<'_>, point: &mut Point) -> Result<()> {
    archive.count("iteration", &mut point.iteration)?;
    archive.number("seconds", &mut point.seconds)?;
    archive.maybe("certified_gap", &mut point.certified_gap)?;
    archive.maybe("gap", &mut point.gap)?;
    archive.maybe("gap_x", &mut point.gap_x)?;
    archive.maybe("gap_y", &mut point.gap_y)?;
    archive.maybe("bound", &mut point.bound)?;
    archive.count("gradients", &mut point.gradients)?;
    archive.count("certificate_gradients", &mut point.certificate_gradients)?;
    archive.count("component_gradients", &mut point.component_gradients)?;
    archive.count("lo_calls", &mut point.lo_calls)?;
    archive.number("passes", &mut point.passes)
}
