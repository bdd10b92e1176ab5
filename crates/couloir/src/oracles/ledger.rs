//! The ledger of oracle calls.

use crate::error::Result;
use crate::state::Archive;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Counts of oracle calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OracleCounts {
    /// Values of `f` (and of its differences).
    pub value: u64,
    /// Full gradients in `x`: products with the adjoint `A^T`.
    pub grad_x: u64,
    /// Gradients in the image alone, which need no product with `A^T` (where the image is `x` itself they count
    /// as `grad_x`).
    pub grad_image: u64,
    /// Full gradients in `y`.
    pub grad_y: u64,
    /// Exact best responses in `y`.
    pub best_response: u64,
    /// Gradients of single components or samples, one for each block asked for; a full gradient of a
    /// finite sum is `n` of them.
    pub component_grads: u64,
    /// Linear minimisations over X.
    pub lo_x: u64,
    /// Linear minimisations over Y.
    pub lo_y: u64,
    /// Exact proxes on X.
    pub prox_x: u64,
    /// Exact proxes on Y.
    pub prox_y: u64,
    /// Images `A x`.
    pub images: u64,
    /// Products of a matrix with a vector inside linear minimisations.
    pub operator_products: u64,
    /// Passes over the data: images, adjoints, and component gradients over their number.
    pub passes: f64,
}

/// Names of the ledger's entries, for budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counter {
    /// [`OracleCounts::value`]
    Value,
    /// [`OracleCounts::grad_x`]
    GradX,
    /// [`OracleCounts::grad_image`]
    GradImage,
    /// [`OracleCounts::grad_y`]
    GradY,
    /// [`OracleCounts::best_response`]
    BestResponse,
    /// [`OracleCounts::component_grads`]
    ComponentGrads,
    /// [`OracleCounts::lo_x`]
    LoX,
    /// [`OracleCounts::lo_y`]
    LoY,
    /// [`OracleCounts::prox_x`]
    ProxX,
    /// [`OracleCounts::prox_y`]
    ProxY,
    /// [`OracleCounts::images`]
    Images,
    /// [`OracleCounts::operator_products`]
    OperatorProducts,
    /// [`OracleCounts::passes`], rounded down
    Passes,
}

impl Counter {
    /// Every entry, in the ledger's order.
    pub const ALL: [Counter; 13] = [
        Counter::Value,
        Counter::GradX,
        Counter::GradImage,
        Counter::GradY,
        Counter::BestResponse,
        Counter::ComponentGrads,
        Counter::LoX,
        Counter::LoY,
        Counter::ProxX,
        Counter::ProxY,
        Counter::Images,
        Counter::OperatorProducts,
        Counter::Passes,
    ];

    /// The entry's name, as in the ledger's fields.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Counter::Value => "value",
            Counter::GradX => "grad_x",
            Counter::GradImage => "grad_image",
            Counter::GradY => "grad_y",
            Counter::BestResponse => "best_response",
            Counter::ComponentGrads => "component_grads",
            Counter::LoX => "lo_x",
            Counter::LoY => "lo_y",
            Counter::ProxX => "prox_x",
            Counter::ProxY => "prox_y",
            Counter::Images => "images",
            Counter::OperatorProducts => "operator_products",
            Counter::Passes => "passes",
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OracleCounts {
    /// The entry of that name.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        match counter {
            Counter::Value => self.value,
            Counter::GradX => self.grad_x,
            Counter::GradImage => self.grad_image,
            Counter::GradY => self.grad_y,
            Counter::BestResponse => self.best_response,
            Counter::ComponentGrads => self.component_grads,
            Counter::LoX => self.lo_x,
            Counter::LoY => self.lo_y,
            Counter::ProxX => self.prox_x,
            Counter::ProxY => self.prox_y,
            Counter::Images => self.images,
            Counter::OperatorProducts => self.operator_products,
            Counter::Passes => self.passes as u64,
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("value", &mut self.value)?;
        archive.count("grad_x", &mut self.grad_x)?;
        archive.count("grad_image", &mut self.grad_image)?;
        archive.count("grad_y", &mut self.grad_y)?;
        archive.count("best_response", &mut self.best_response)?;
        archive.count("component_grads", &mut self.component_grads)?;
        archive.count("lo_x", &mut self.lo_x)?;
        archive.count("lo_y", &mut self.lo_y)?;
        archive.count("prox_x", &mut self.prox_x)?;
        archive.count("prox_y", &mut self.prox_y)?;
        archive.count("images", &mut self.images)?;
        archive.count("operator_products", &mut self.operator_products)?;
        archive.number("passes", &mut self.passes)
    }

    /// Linear minimisations over both sets.
    #[must_use]
    pub fn lo(&self) -> u64 {
        self.lo_x + self.lo_y
    }
}

impl std::ops::Add for OracleCounts {
    type Output = OracleCounts;

    fn add(self, other: OracleCounts) -> OracleCounts {
        OracleCounts {
            value: self.value + other.value,
            grad_x: self.grad_x + other.grad_x,
            grad_image: self.grad_image + other.grad_image,
            grad_y: self.grad_y + other.grad_y,
            best_response: self.best_response + other.best_response,
            component_grads: self.component_grads + other.component_grads,
            lo_x: self.lo_x + other.lo_x,
            lo_y: self.lo_y + other.lo_y,
            prox_x: self.prox_x + other.prox_x,
            prox_y: self.prox_y + other.prox_y,
            images: self.images + other.images,
            operator_products: self.operator_products + other.operator_products,
            passes: self.passes + other.passes,
        }
    }
}

/// Oracle calls: the method's own, and apart from them those spent on certificates alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// What the method itself asked for, rejected trials included.
    pub method: OracleCounts,
    /// What was asked for only to certify.
    pub certificate: OracleCounts,
}

impl Ledger {
    /// Saves or loads it, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("method", |archive| self.method.state(archive))?;
        archive.nested("certificate", |archive| self.certificate.state(archive))
    }
}
