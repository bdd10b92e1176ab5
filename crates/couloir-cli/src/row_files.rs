//! What a file says of each row: its weight, or its group.

use crate::failure::bad;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Longest line that is read: a number or a name.
const LONGEST: u64 = 4096;

/// The weights of so many rows, one number per line.
pub fn weights(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let file = path.display();
    let mut weights = Vec::new();
    each_line(path, rows, "weights", |line, text| {
        match text.parse::<f64>() {
            Ok(weight) if weight.is_finite() && weight >= 0.0 => weights.push(weight),
            Ok(_) => {
                return Err(bad(format!(
                    "{file}:{line}: the weight {text} is not a finite number of zero or more"
                )));
            }
            Err(_) => return Err(bad(format!("{file}:{line}: `{text}` is not a number"))),
        }
        Ok(())
    })?;
    if weights.iter().all(|w| *w == 0.0) {
        return Err(bad(format!("{file}: all weights are zero; at least one must be positive")));
    }
    Ok(weights)
}

/// The groups of so many rows, one label per line: the number of each row's group, and the labels in the order of their numbers.
pub fn groups(path: &Path, rows: usize) -> Result<(Vec<u32>, Vec<String>)> {
    let file = path.display();
    let mut labels = Vec::new();
    each_line(path, rows, "groups", |line, text| {
        if text.is_empty() {
            return Err(bad(format!("{file}:{line}: an empty line where a group should be")));
        }
        labels.push(text.to_owned());
        Ok(())
    })?;
    let mut numbers: BTreeMap<&str, u32> = labels.iter().map(|l| (l.as_str(), 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, k)| *number = k);
    let of_rows = labels.iter().map(|label| numbers[label.as_str()]).collect();
    let names = numbers.keys().map(|name| (*name).to_owned()).collect();
    Ok((of_rows, names))
}

/// Hands over every line without the space around it, with its number; there must be one for each row.
fn each_line(
    path: &Path,
    rows: usize,
    what: &str,
    mut work: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let file = path.display();
    let failed = |error: std::io::Error| bad(format!("{file}: cannot be read: {error}"));
    let mut reader = BufReader::new(std::fs::File::open(path).map_err(failed)?);
    let mut text = Vec::new();
    let mut line = 0;
    loop {
        text.clear();
        let read = std::io::Read::take(&mut reader, LONGEST)
            .read_until(b'\n', &mut text)
            .map_err(failed)?;
        if read == 0 {
            break;
        }
        line += 1;
        if read as u64 == LONGEST {
            return Err(bad(format!(
                "{file}:{line}: longer than {LONGEST} bytes; give one of the {what} per line"
            )));
        }
        if line > rows {
            return Err(bad(format!(
                "{file}: more than {rows} {what}, but the data has {rows} rows; give one line per row"
            )));
        }
        let text = std::str::from_utf8(&text).map_err(|_| {
            bad(format!("{file}:{line}: this is not a text file; give one of the {what} per line"))
        })?;
        work(line, text.trim())?;
    }
    if line < rows {
        return Err(bad(format!(
            "{file}: {line} {what}, but the data has {rows} rows; give one line per row"
        )));
    }
    Ok(())
}
