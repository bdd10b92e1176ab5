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
            "{} The weights W have rank {} and nuclear norm {}.",
            measured("the data of the fit", measures),
            record.rank,
            show(record.nuclear_norm)
        ),
        "The certified gap is an upper bound on how far the robust loss of these weights is above the smallest one possible, \
         in units of the loss."
            .to_owned(),
    ]
}

/// The measures on some rows, in a sentence.
pub fn measured(of: &str, measures: &Measures) -> String {
    let worst_group = measures.worst_group_accuracy();
    let worst_group = worst_group.map_or(String::new(), |a| format!(", worst group {}", show(a)));
    format!(
        "On {of}: accuracy {}{worst_group}, worst recall {}, balanced accuracy {}, mean loss {}, mean of the largest tenth of the \
         losses {}.",
        show(measures.accuracy),
        show(measures.worst_recall),
        show(measures.balanced_accuracy),
        show(measures.mean_loss),
        show(measures.cvar)
    )
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
        fact("loss", record.loss.clone()),
        fact("ball", record.ball.clone()),
        fact("tau", format!("{}{chosen}", record.tau)),
        fact("uncertainty set", record.uncertainty.clone()),
        fact("level", record.level.to_string()),
        fact("weighted rows", if record.weighted { "yes" } else { "no" }.to_owned()),
        fact("intercept", if record.intercept { "yes" } else { "no" }.to_owned()),
        fact("scaled columns", record.scale.clone().unwrap_or_else(|| "no".to_owned())),
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
