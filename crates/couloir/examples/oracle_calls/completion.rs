//! Robust matrix completion.

use crate::instance::Instance;
use couloir::model::RobustCompletion;
use couloir::model::loss::Squared;
use couloir::model::uncertainty::ChiSquare;
use std::sync::Arc;

/// The problem of an instance of kind `completion`; observations of one row lie side by side.
pub fn problem(instance: Instance) -> couloir::Result<RobustCompletion> {
    let sides: Vec<usize> =
        instance.words("sides").split(' ').filter_map(|w| w.parse().ok()).collect();
    let &[rows, columns] = &sides[..] else {
        let why = format!("`{}` are no two sides", instance.words("sides"));
        return Err(couloir::Error::Setting { name: "sides", why });
    };
    let (tau, mu) = (instance.number("tau"), instance.number("mu"));
    let (row, column) = (instance.array("row"), instance.array("column"));
    let target = instance.array("target");
    drop(instance);
    let n = target.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&e| (row[e as usize] as u32, column[e as usize] as u32));
    let places =
        |side: &[f64]| -> Vec<u32> { order.iter().map(|&e| side[e as usize] as u32).collect() };
    let places = (places(&row), places(&column));
    let values = order.iter().map(|&e| target[e as usize]).collect();
    let uncertainty = Arc::new(ChiSquare::new(n, mu / n as f64)?);
    RobustCompletion::of_entries(
        Arc::new(Squared),
        uncertainty,
        (rows, columns),
        places,
        values,
        tau,
    )
}
