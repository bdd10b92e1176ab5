//! `fit --report`: the page of a single fit.

use crate::machine;
use crate::report::Report;
use crate::values::show;
use anyhow::Result;
use couloir::model::{Fitted, Measures};
use couloir::run::TracePoint;
use couloir_report::fit::{Fit, Row};
use couloir_report::page::{Page, Point};

/// The page of a fit to data with these labels of classes.
pub fn fit_page(report: &Report, fitted: &Fitted, labels: &[String]) -> Result<Page> {
    let model = fitted.model();
    let scale = model.scale();
    let scores = fitted.scores();
    let measures = Measures::from_scores(&scores, model.labels(), model.classes())?;
    let classes = labels.iter().zip(measures.class_rows.iter().zip(&measures.recall));
    let n = model.len() as f64;
    let fit = Fit {
        data: report.data.clone(),
        about: format!(
            "{} rows, {} features, {} classes, {} entries; {} scaling, tau = {}, lambda n = {}",
            report.n,
            report.d,
            report.classes,
            report.entries,
            report.objective,
            show(report.tau),
            report.lambda_n
        ),
        summary: summary(report, &measures),
        method: report.method.to_owned(),
        status: report.status.clone(),
        points: fitted.outcome().trace.iter().map(|point| page_point(point, scale)).collect(),
        singular_values: fitted.singular_values().to_vec(),
        row_weights: fitted.solution().y.iter().map(|y| n * y).collect(),
        rows: (scores.chunks_exact(model.classes()).zip(model.labels()))
            .map(|(scores, &label)| row(scores, label as usize, labels))
            .collect(),
        classes: classes.map(|(label, (rows, recall))| (label.clone(), *rows, *recall)).collect(),
        facts: facts(report),
    };
    Ok(fit.page())
}

fn summary(report: &Report, measures: &Measures) -> Vec<String> {
    vec![
        format!(
            "{} after {} iterations of {} and {:.2} s. The robust loss is {}, and no X in the ball has less than {}: \
             the certified gap is {}.",
            report.status,
            report.iterations,
            report.method,
            report.seconds,
            show(report.primal),
            show(report.lower.max(0.0)),
            show(report.gap)
        ),
        format!(
            "On the data of the fit: accuracy {}, mean loss {}, mean of the largest tenth of the losses {}. X has rank \
             {} and nuclear norm {}.",
            show(measures.accuracy),
            show(measures.mean_loss),
            show(measures.cvar),
            report.rank,
            show(report.nuclear_norm)
        ),
        "Gaps are in units of the loss. For certified MPCGS the gap shown is the certified one."
            .to_owned(),
    ]
}

fn page_point(point: &TracePoint, scale: f64) -> Point {
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
fn row(scores: &[f64], label: usize, labels: &[String]) -> Row {
    let given = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(label);
    let top = scores[given];
    let sum: f64 = scores.iter().map(|score| (score - top).exp()).sum();
    Row {
        label: labels[label].clone(),
        given: labels[given].clone(),
        loss: sum.ln() + top - scores[label],
    }
}

fn facts(report: &Report) -> Vec<(String, Vec<(String, String)>)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let settings = vec![
        fact("objective", report.objective.clone()),
        fact("tau", format!("{}{}", report.tau, if report.tau_chosen { " (chosen)" } else { "" })),
        fact("lambda n", report.lambda_n.to_string()),
        fact("intercept", if report.intercept { "yes" } else { "no" }.to_owned()),
        fact("method", report.method.to_owned()),
        fact("start", report.start.clone()),
        fact("tolerance", report.tol.to_string()),
        fact("seed", report.seed.to_string()),
        fact("threads", report.threads.to_string()),
    ];
    let work = vec![
        fact("gradients", report.grads.to_string()),
        fact("gradients for certificates", report.certificate_grads.to_string()),
        fact("linear minimisations", report.lo_calls.to_string()),
        fact("seconds", format!("{:.3}", report.seconds)),
    ];
    vec![
        ("Settings".to_owned(), settings),
        ("Work".to_owned(), work),
        ("Versions".to_owned(), vec![fact("couloir", env!("CARGO_PKG_VERSION").to_owned())]),
        ("Machine".to_owned(), machine::facts().into_iter().collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_loss_and_the_label_of_its_largest_score() {
        let labels = ["a", "b", "c"].map(str::to_owned);
        let row = row(&[1.0, 3.0, 2.0], 2, &labels);
        assert_eq!((row.label.as_str(), row.given.as_str()), ("c", "b"));
        let expected = (1f64.exp() + 3f64.exp() + 2f64.exp()).ln() - 2.0;
        assert!((row.loss - expected).abs() < 1e-14, "{} {expected}", row.loss);
        // sizes that overflow without care
        assert_eq!(super::row(&[0.0, 2000.0, 0.0], 0, &labels).loss, 2000.0);
    }
}
