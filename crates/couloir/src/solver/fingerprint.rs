//! What a solve is about, for its checkpoints: all that decides its results.

use super::{
    ApgSettings, CertifiedSettings, ExtragradientSettings, Method, PracticalSettings,
    PrintedMpscgsSettings, PrintedSettings, Solve, SpAfwSettings, SpfwSettings, SvreSettings,
};
use crate::problem::{PointX, WithFallbacks};
use crate::state::{Digest, Fingerprint};

impl Solve<'_> {
    /// Problem, sets, method with its settings, start points.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut print = Fingerprint::default();
        if let Some(identity) = self.problem.capabilities().identity {
            identity.fingerprint(&mut print);
        }
        self.method.fingerprint(&mut print);
        print.note("set of x", self.x_set.describe());
        print.note("set of y", self.y_set.describe());
        print.note("start of x", described(self.x_start.as_deref()));
        print.note("start of y", described(self.y_start.as_deref()));
        print.note_maybe("f at the start", self.value_at_start());
        print
    }

    /// The value tells problems apart that say nothing of themselves; none where the start points do not fit.
    fn value_at_start(&self) -> Option<f64> {
        let mut point = PointX::new(self.problem);
        match &self.x_start {
            Some(x) => point.x.clone_from(x),
            None => self.x_set.center(&mut point.x),
        }
        let mut y = vec![0.0; self.problem.dim_y()];
        match &self.y_start {
            Some(start) => y.clone_from(start),
            None => self.y_set.center(&mut y),
        }
        if point.x.len() != self.problem.dim_x() || y.len() != self.problem.dim_y() {
            return None;
        }
        let problem = WithFallbacks::new(self.problem);
        problem.image(&point.x, &mut point.image);
        problem.prepare(&point.image, &mut point.cache);
        Some(problem.value(point.prepared(), &y))
    }
}

fn described(start: Option<&[f64]>) -> String {
    let Some(start) = start else { return "the centre of its set".to_owned() };
    let mut digest = Digest::default();
    digest.numbers(start);
    format!("a given point ({})", digest.name())
}

impl Method {
    /// The name and every setting: one that is added must be named here.
    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("method", self);
        match self {
            Method::Certified(settings) => {
                let CertifiedSettings { inner_x, inner_y, inner_budget, first_lhat, hull_points } =
                    settings;
                print.note("inner solve of x", format!("{inner_x:?}"));
                print.note("inner solve of y", format!("{inner_y:?}"));
                print.note("inner budget", inner_budget);
                print.note_maybe("first Lhat", *first_lhat);
                print.note("hull points", hull_points);
            }
            Method::Printed(PrintedSettings { inner_x, inner_y, inner_budget }) => {
                print.note("inner solve of x", format!("{inner_x:?}"));
                print.note("inner solve of y", format!("{inner_y:?}"));
                print.note("inner budget", inner_budget);
            }
            Method::Mpscgs(settings) => {
                let PracticalSettings {
                    first_batch,
                    growth,
                    largest_batch,
                    inner,
                    inner_budget,
                    seed,
                } = settings;
                print.note("first batch", first_batch);
                print.note("growth of batches", growth);
                print.note("largest batch", largest_batch);
                print.note("inner solve", format!("{inner:?}"));
                print.note("inner budget", inner_budget);
                print.note("seed", seed);
            }
            Method::PrintedMpscgs(settings) => {
                let PrintedMpscgsSettings { sigma, smoothness, inner_budget, seed } = settings;
                print.note_maybe("sigma", *sigma);
                print.note_maybe("L in the mean square", *smoothness);
                print.note("inner budget", inner_budget);
                print.note("seed", seed);
            }
            Method::Spfw(SpfwSettings { step }) => print.note("step", format!("{step:?}")),
            Method::SpAfw(SpAfwSettings { step }) => print.note("step", format!("{step:?}")),
            Method::Svre(settings) => {
                let SvreSettings { step_x, step_y, batch, epoch, epoch_mean, seed } = settings;
                print.note_maybe("step in x", *step_x);
                print.note_maybe("step in y", *step_y);
                print.note("batch", batch);
                print.note("epoch", format!("{epoch:?}"));
                print.note_maybe("mean epoch", *epoch_mean);
                print.note("seed", seed);
            }
            Method::Extragradient(ExtragradientSettings { step_x, step_y }) => {
                print.note_maybe("step in x", *step_x);
                print.note_maybe("step in y", *step_y);
            }
            Method::Apg(ApgSettings { inner_y, inner_budget, first_curvature }) => {
                print.note("inner solve of y", format!("{inner_y:?}"));
                print.note("inner budget", inner_budget);
                print.note_maybe("first curvature", *first_curvature);
            }
        }
    }
}
