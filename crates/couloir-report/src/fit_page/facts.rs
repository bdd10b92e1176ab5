//! What the page of a fit says in words: what came out, settings, work, versions, the machine.

use crate::machine;
use crate::numbers::show;
use couloir::model::{FitRecord, Measures};

/// The size of the data, and the problem.
pub fn about(record: &FitRecord) -> String {
    let FitRecord { n, d, classes, entries, objective, uncertainty, level, .. } = record;
    format!(
        "{n} rows, {d} features, {classes} classes, {entries} entries; {objective} scaling, tau = {}, uncertainty set \
         {uncertainty} at level {level}",
        show(record.tau)
    )
}

/// What came out, in sentences.
pub fn summary(record: &FitRecord, measures: &Measures) -> Vec<String> {
    let FitRecord { method, seconds, run, .. } = record;
    let missed = match run.solved {
        true => String::new(),
        false => format!(" The tolerance {} was not reached.", show(record.tol)),
    };
    vec![
        format!(
            "{} after {} iterations of {method} and {seconds:.2} s: robust loss {}, lower bound {}, certified gap \
             {} ({}).{missed}",
            run.status,
            run.iterations,
            show(record.primal),
            show(run.lower),
            show(run.gap),
            run.certainty()
        ),
        format!(
            "On the data of the fit: accuracy {}, mean loss {}, mean of the largest tenth of the losses {}. X has \
             rank {} and nuclear norm {}.",
            show(measures.accuracy),
            show(measures.mean_loss),
            show(measures.cvar),
            record.rank,
            show(record.nuclear_norm)
        ),
        "Gaps are in units of the loss. For certified MPCGS the gap shown is the certified one."
            .to_owned(),
    ]
}

/// Groups of names with their values.
pub fn facts(
    record: &FitRecord,
    more_settings: &[(String, String)],
    more_versions: &[(String, String)],
) -> Vec<(String, Vec<(String, String)>)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let chosen = if record.tau_chosen { " (chosen)" } else { "" };
    let mut settings = vec![
        fact("objective", record.objective.clone()),
        fact("tau", format!("{}{chosen}", record.tau)),
        fact("uncertainty set", record.uncertainty.clone()),
        fact("level", record.level.to_string()),
        fact("weighted rows", if record.weighted { "yes" } else { "no" }.to_owned()),
        fact("intercept", if record.intercept { "yes" } else { "no" }.to_owned()),
        fact("method", record.method.clone()),
        fact("start", record.start.clone()),
        fact("tolerance", record.tol.to_string()),
        fact("seed", record.seed.to_string()),
        fact("threads", record.threads.to_string()),
    ];
    settings.extend_from_slice(more_settings);
    let run = &record.run;
    let work = vec![
        fact("gradients", run.grads.to_string()),
        fact("linear minimisations", run.lo_calls.to_string()),
        fact("gradients for certificates", run.certificate_grads.to_string()),
        fact("linear minimisations for certificates", run.certificate_lo_calls.to_string()),
        fact("seconds", format!("{:.3}", record.seconds)),
    ];
    let mut versions = vec![fact("couloir", env!("CARGO_PKG_VERSION").to_owned())];
    versions.extend_from_slice(more_versions);
    vec![
        ("Settings".to_owned(), settings),
        ("Work".to_owned(), work),
        ("Versions".to_owned(), versions),
        ("Machine".to_owned(), machine::facts().into_iter().collect()),
    ]
}
