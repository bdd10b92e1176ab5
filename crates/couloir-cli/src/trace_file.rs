//! The trace of fits as a file: one JSON object per line. Numbers that are not finite become null.

use anyhow::Result;
use couloir::io::write_atomically;
use couloir::model::Fitted;
use couloir::run::TraceRecord;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Line {
    method: &'static str,
    #[serde(flatten)]
    point: TraceRecord,
}

/// Writes the traces of fits, one after the other.
pub fn write_trace<'a>(path: &Path, fits: impl IntoIterator<Item = &'a Fitted>) -> Result<()> {
    let mut lines = Vec::new();
    for fitted in fits {
        let (method, scale) = (fitted.fit().method.name(), fitted.model().scale());
        for point in &fitted.outcome().trace {
            let point = TraceRecord::new(point, scale);
            lines.push(serde_json::to_string(&Line { method, point })?);
        }
    }
    Ok(write_atomically(path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?)
}
