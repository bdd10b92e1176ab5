//! Data sets for couloir.
//!
//! * [`libsvm`]: reads LIBSVM files (plain, `.bz2`, `.gz`) in parallel and writes them;
//! * [`generate`]: makes text-like data of any size from a seed;
//! * [`catalogue`]: the data sets of the paper, where they come from and what they must hash to;
//! * [`fetch`]: downloads them, with progress, resume and SHA-256.
//!
//! All of them give or take a [`Dataset`]: plain vectors that turn into a
//! [`couloir::linalg::SparseMatrix`].
//!
//! ```
//! let text = "+1 1:0.5 3:2\n-1 2:1 # a comment\n";
//! let data = couloir_data::libsvm::read_from(text.as_bytes(), "two rows", &Default::default())?;
//! assert_eq!((data.len(), data.features), (2, 3));
//! assert_eq!(data.labels, [1, 0]);
//! assert_eq!(data.classes[1].to_string(), "+1");
//! # Ok::<(), couloir_data::DataError>(())
//! ```

pub mod catalogue;
mod dataset;
mod error;
pub mod fetch;
pub mod generate;
pub mod libsvm;

pub use dataset::{Csr, Dataset, Label};
pub use error::{Compression, DataError, LineFault, Result};
