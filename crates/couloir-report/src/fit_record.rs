//! A robust classifier's fit as it is left behind, wherever it was run, and its page.

use crate::fit::{Fit, Row};
use crate::machine;
use crate::numbers::show;
use crate::page::{Page, Point};
use couloir::model::Measures;
use couloir::run::TracePoint;

/// What a fit left behind. Numbers of the objective are in units of the loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitRecord {
    /// The data set.
    pub data: String,
    /// The features of the data, an intercept not among them.
    pub features: usize,
    /// The entries of the data that are not zero.
    pub entries: usize,
    /// The scaling of the losses.
    pub objective: String,
    /// The radius of the ball.
    pub tau: f64,
    /// Whether the fit chose it.
    pub tau_chosen: bool,
    /// `lambda n`.
    pub lambda_n: f64,
    /// Whether every class has a constant.
    pub intercept: bool,
    /// The method.
    pub method: String,
    /// The start.
    pub start: String,
    /// The gap that was asked for.
    pub tol: f64,
    /// The seed of methods that sample.
    pub seed: u64,
    /// Threads at work.
    pub threads: usize,
    /// How the fit ended.
    pub status: String,
    /// Iterations.
    pub iterations: u64,
    /// Seconds from the rows to the solution.
    pub seconds: f64,
    /// The loss under the worst weights of the rows.
    pub primal: f64,
    /// What no point of the ball can have less than.
    pub lower: f64,
    /// The certified gap.
    pub gap: f64,
    /// Full gradients of the method.
    pub grads: u64,
    /// Full gradients for certificates.
    pub certificate_grads: u64,
    /// Linear minimisations.
    pub lo_calls: u64,
    /// The rank of `X`.
    pub rank: usize,
    /// The singular values of `X`, largest first.
    pub singular_values: Vec<f64>,
    /// `n y`: the weight of every row, 1 on average.
    pub row_weights: Vec<f64>,
    /// The certificate over time.
    pub points: Vec<Point>,
    /// Settings besides those above.
    pub more_settings: Vec<(String, String)>,
    /// Versions besides that of couloir.
    pub more_versions: Vec<(String, String)>,
}

/// The rows of a fit.
#[derive(Clone, Copy, Debug)]
pub struct FitRows<'a> {
    /// The names of the classes.
    pub names: &'a [String],
    /// For every row its score for each class.
    pub scores: &'a [f64],
    /// For every row the place of its class among the names.
    pub labels: &'a [u32],
}

impl FitRecord {
    /// The page of the fit to these rows.
    ///
    /// # Errors
    /// As [`Measures::from_scores`].
    pub fn page(&self, rows: FitRows<'_>) -> couloir::Result<Page> {
        let FitRows { names, scores, labels } = rows;
        let measures = Measures::from_scores(scores, labels, names.len())?;
        let classes = names.iter().zip(measures.class_rows.iter().zip(&measures.recall));
        let fit = Fit {
            data: self.data.clone(),
            about: format!(
                "{} rows, {} features, {} classes, {} entries; {} scaling, tau = {}, lambda n = {}",
                labels.len(),
                self.features,
                names.len(),
                self.entries,
                self.objective,
                show(self.tau),
                self.lambda_n
            ),
            summary: self.summary(&measures),
            method: self.method.clone(),
            status: self.status.clone(),
            points: self.points.clone(),
            singular_values: self.singular_values.clone(),
            row_weights: self.row_weights.clone(),
            rows: (scores.chunks_exact(names.len()).zip(labels))
                .map(|(scores, &label)| row(scores, label as usize, names))
                .collect(),
            classes: classes.map(|(name, (rows, recall))| (name.clone(), *rows, *recall)).collect(),
            facts: self.facts(),
        };
        Ok(fit.page())
    }

    fn summary(&self, measures: &Measures) -> Vec<String> {
        vec![
            format!(
                "{} after {} iterations of {} and {:.2} s. The robust loss is {}, and no X in the ball has less than \
                 {}: the certified gap is {}.",
                self.status,
                self.iterations,
                self.method,
                self.seconds,
                show(self.primal),
                show(self.lower.max(0.0)),
                show(self.gap)
            ),
            format!(
                "On the data of the fit: accuracy {}, mean loss {}, mean of the largest tenth of the losses {}. X has \
                 rank {} and nuclear norm {}.",
                show(measures.accuracy),
                show(measures.mean_loss),
                show(measures.cvar),
                self.rank,
                show(self.singular_values.iter().sum())
            ),
            "Gaps are in units of the loss. For certified MPCGS the gap shown is the certified one."
                .to_owned(),
        ]
    }

    fn facts(&self) -> Vec<(String, Vec<(String, String)>)> {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let chosen = if self.tau_chosen { " (chosen)" } else { "" };
        let mut settings = vec![
            fact("objective", self.objective.clone()),
            fact("tau", format!("{}{chosen}", self.tau)),
            fact("lambda n", self.lambda_n.to_string()),
            fact("intercept", if self.intercept { "yes" } else { "no" }.to_owned()),
            fact("method", self.method.clone()),
            fact("start", self.start.clone()),
            fact("tolerance", self.tol.to_string()),
            fact("seed", self.seed.to_string()),
            fact("threads", self.threads.to_string()),
        ];
        settings.extend(self.more_settings.iter().cloned());
        let work = vec![
            fact("gradients", self.grads.to_string()),
            fact("gradients for certificates", self.certificate_grads.to_string()),
            fact("linear minimisations", self.lo_calls.to_string()),
            fact("seconds", format!("{:.3}", self.seconds)),
        ];
        let mut versions = vec![fact("couloir", env!("CARGO_PKG_VERSION").to_owned())];
        versions.extend(self.more_versions.iter().cloned());
        vec![
            ("Settings".to_owned(), settings),
            ("Work".to_owned(), work),
            ("Versions".to_owned(), versions),
            ("Machine".to_owned(), machine::facts().into_iter().collect()),
        ]
    }
}

/// A point of a trace, its objective over `scale`.
#[must_use]
pub fn page_point(point: &TracePoint, scale: f64) -> Point {
    let (certificate, ledger) = (&point.certificate, &point.ledger.method);
    Point {
        seconds: point.seconds,
        gradients: ledger.grad_x as f64,
        component_gradients: ledger.component_grads as f64,
        lo_calls: ledger.lo() as f64,
        passes: ledger.passes,
        iterations: point.iteration as f64,
        gap: certificate.gap / scale,
        gap_x: certificate.gap_x / scale,
        gap_y: certificate.gap_y / scale,
        certified_gap: certificate.gap / scale,
        bound: point.bounds.schedule.min(point.bounds.minorant) / scale,
    }
}

/// A row by its scores.
fn row(scores: &[f64], label: usize, names: &[String]) -> Row {
    let given = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(label);
    let top = scores[given];
    let sum: f64 = scores.iter().map(|score| (score - top).exp()).sum();
    Row {
        label: names[label].clone(),
        given: names[given].clone(),
        loss: sum.ln() + top - scores[label],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_loss_and_the_label_of_its_largest_score() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let row = row(&[1.0, 3.0, 2.0], 2, &names);
        assert_eq!((row.label.as_str(), row.given.as_str()), ("c", "b"));
        let expected = (1f64.exp() + 3f64.exp() + 2f64.exp()).ln() - 2.0;
        assert!((row.loss - expected).abs() < 1e-14, "{} {expected}", row.loss);
        // sizes that overflow without care
        assert_eq!(super::row(&[0.0, 2000.0, 0.0], 0, &names).loss, 2000.0);
    }

    #[test]
    fn the_page_has_what_was_added_to_settings_and_versions() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let record = FitRecord {
            row_weights: vec![1.5, 0.5],
            more_settings: vec![pair("scale", "auto")],
            more_versions: vec![pair("Python", "3")],
            ..FitRecord::default()
        };
        let names = ["a", "b"].map(str::to_owned);
        let rows = FitRows { names: &names, scores: &[1.0, 0.0, 0.0, 1.0], labels: &[0, 0] };
        let page = record.page(rows).expect("a page");
        assert_eq!(page.facts[0].1.last(), Some(&pair("scale", "auto")));
        assert_eq!(page.facts[2].1.last(), Some(&pair("Python", "3")));
        assert!(page.summary[1].contains("accuracy 0.5000"), "{:?}", page.summary);
        assert!(record.page(FitRows { labels: &[0, 2], ..rows }).is_err());
    }
}
