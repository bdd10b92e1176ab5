//! Colonel Blotto.

use super::Game;
use crate::domain::{Graph, Paths};
use crate::error::{Error, Result};
use crate::linalg::SparseMatrix;
use crate::problem::MatrixGame;

/// Payoffs between two steps on the same field: 1.2 GB of them.
const MOST_PAYOFFS: u64 = 100_000_000;

/// A placement as a path: from "so many soldiers are on the fields before this one" to the same for the next field.
struct Step {
    from: usize,
    to: usize,
    field: usize,
    soldiers: usize,
}

fn steps(soldiers: usize, fields: usize) -> (usize, Vec<Step>) {
    // one node before the first field and one after the last, and one for every number of soldiers between two fields
    let node = |field: usize, used: usize| match field {
        0 => 0,
        _ if field == fields => (fields - 1) * (soldiers + 1) + 1,
        _ => (field - 1) * (soldiers + 1) + used + 1,
    };
    let mut steps = Vec::new();
    for field in 0..fields {
        let starts = if field == 0 { 0..=0 } else { 0..=soldiers };
        for used in starts {
            let ends = if field + 1 == fields { soldiers..=soldiers } else { used..=soldiers };
            for then in ends {
                let (from, to) = (node(field, used), node(field + 1, then));
                steps.push(Step { from, to, field, soldiers: then - used });
            }
        }
    }
    (node(fields, soldiers) + 1, steps)
}

impl Game {
    /// Colonel Blotto: each player places the soldiers on the fields, who sends more to a field wins it, and `x` pays `y` the fields that
    /// `y` wins less those that `x` wins. A strategy is a path through the fields.
    ///
    /// # Errors
    /// No soldiers, or fewer than two fields.
    pub fn blotto(soldiers: usize, fields: usize) -> Result<Self> {
        if soldiers == 0 || fields < 2 {
            let why = format!("needs a soldier and two fields, got {soldiers} and {fields}");
            return Err(Error::Setting { name: "blotto", why });
        }
        let (nodes, steps) = steps(soldiers, fields);
        let mut by_field = vec![Vec::new(); fields];
        for (j, step) in steps.iter().enumerate() {
            by_field[step.field].push(j);
        }
        let payoffs = by_field.iter().map(|steps| (steps.len() as u64).saturating_pow(2));
        if payoffs.fold(0, u64::saturating_add) > MOST_PAYOFFS {
            let why = format!(
                "{soldiers} soldiers on {fields} fields make more than {MOST_PAYOFFS} payoffs; take fewer"
            );
            return Err(Error::Setting { name: "blotto", why });
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for step in &steps {
            for &j in by_field[step.field].iter().filter(|j| steps[**j].soldiers != step.soldiers) {
                columns.push(j as u32);
                values.push(if steps[j].soldiers > step.soldiers { 1.0 } else { -1.0 });
            }
            starts.push(columns.len());
        }
        let payoffs =
            MatrixGame::sparse(SparseMatrix::from_rows(steps.len(), starts, columns, values)?)?;
        let arcs: Vec<(usize, usize)> = steps.iter().map(|step| (step.from, step.to)).collect();
        let placements = || -> Result<Box<Paths>> {
            Ok(Box::new(Paths::new(Graph::new(nodes, arcs.clone())?, 0, nodes - 1)?))
        };
        let names: Vec<String> = steps
            .iter()
            .map(|step| format!("{} on field {}", step.soldiers, step.field + 1))
            .collect();
        let mut game = Game::new(placements()?, placements()?, payoffs)?;
        game.names = [names.clone(), names];
        Ok(game)
    }
}
