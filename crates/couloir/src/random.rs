//! Random numbers: one seed, named independent streams.
//!
//! Every purpose has a stream of its own, named by a word, so that drawing more for one never shifts
//! another, and results are a function of problem, settings and seed.

use crate::error::{Error, Result};
use crate::state::Archive;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Samples of an infinite population in one batch at the most: 1 GiB of keys.
const LARGEST_BATCH: u64 = 1 << 27;

/// How many samples there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// A finite sum `f = 1/n sum_i F_i`; a sample is an index below `n`.
    Finite(u64),
    /// An expectation `f = E F(.; xi)`; a sample is any 64-bit key, from which the problem makes
    /// `xi`.
    Infinite,
}

/// A source of named streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Streams { seed }
    }

    /// The stream of that name.
    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        // FNV-1a of the name, then a seed that mixes both
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&hash.to_le_bytes());
        seed[16..24].copy_from_slice(&(self.seed ^ hash.rotate_left(32)).to_le_bytes());
        Stream { rng: Pcg64::from_seed(seed), drawn: 0 }
    }
}

/// A standard normal number from two words (Box and Muller).
pub(crate) fn gaussian(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    rng: Pcg64,
    /// Words drawn so far.
    drawn: u64,
}

impl Stream {
    /// A random 64-bit word.
    pub fn word(&mut self) -> u64 {
        self.drawn += 1;
        self.rng.next_u64()
    }

    /// A standard normal number.
    pub(crate) fn gaussian(&mut self) -> f64 {
        self.drawn += 2;
        gaussian(&mut self.rng)
    }

    /// Words drawn so far.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Moves the stream, forth or back, to where so many words have been drawn.
    pub(crate) fn move_to(&mut self, drawn: u64) {
        self.rng.advance(u128::from(drawn).wrapping_sub(self.drawn.into()));
        self.drawn = drawn;
    }

    /// Saves or loads it, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut drawn = self.drawn;
        archive.count("drawn", &mut drawn)?;
        self.move_to(drawn);
        Ok(())
    }

    /// A number below `n`, each as likely (Lemire's multiplication with rejection).
    pub fn below(&mut self, n: u64) -> u64 {
        let n = n.max(1);
        loop {
            let product = u128::from(self.word()) * u128::from(n);
            let low = product as u64;
            // only the lowest 2^64 mod n values of `low` are one too many
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Draws a batch of `size` samples. From a finite population without replacement, in increasing
    /// order, and never more than there are: what asks for more is all of them.
    ///
    /// # Errors
    /// A batch from an infinite population that would not fit into memory.
    pub fn batch(&mut self, population: Population, size: u64, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        if population == Population::Infinite && size > LARGEST_BATCH {
            return Err(Error::Setting {
                name: "batch",
                why: format!(
                    "{size} samples were asked for at once, at most {LARGEST_BATCH} are drawn; \
                     ask for fewer, for instance with a smaller sigma"
                ),
            });
        }
        match population {
            Population::Infinite => out.extend((0..size).map(|_| self.word())),
            Population::Finite(n) if size >= n => out.extend(0..n),
            Population::Finite(n) if size > n / 8 => self.select(n, size, out),
            Population::Finite(n) => self.reject(n, size, out),
        }
        Ok(())
    }

    /// Goes through all indices once and keeps each with the right odds.
    fn select(&mut self, n: u64, size: u64, out: &mut Vec<u64>) {
        let mut wanted = size;
        for i in 0..n {
            if self.below(n - i) < wanted {
                out.push(i);
                wanted -= 1;
            }
        }
    }

    /// Draws until there are enough different ones; quick while few of many are wanted.
    fn reject(&mut self, n: u64, size: u64, out: &mut Vec<u64>) {
        while (out.len() as u64) < size {
            let missing = size as usize - out.len();
            out.extend((0..missing).map(|_| self.below(n)));
            out.sort_unstable();
            out.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_names_or_seeds_differ_and_the_same_agree() {
        let a = Streams::new(1).stream("batches").word();
        assert_eq!(a, Streams::new(1).stream("batches").word());
        assert_ne!(a, Streams::new(2).stream("batches").word());
        assert_ne!(a, Streams::new(1).stream("start").word());
    }

    #[test]
    fn batches_have_no_index_twice_and_every_index_is_as_likely() {
        for size in [3, 20, 37, 40, 99] {
            let mut stream = Streams::new(size).stream("test");
            let mut counts = [0u32; 40];
            let mut batch = Vec::new();
            let rounds = 4000;
            for _ in 0..rounds {
                stream.batch(Population::Finite(40), size, &mut batch).expect("a batch");
                assert_eq!(batch.len() as u64, size.min(40));
                assert!(batch.windows(2).all(|w| w[0] < w[1]), "not increasing: {batch:?}");
                batch.iter().for_each(|&i| counts[i as usize] += 1);
            }
            let p = size.min(40) as f64 / 40.0;
            let (mean, sd) = (rounds as f64 * p, (rounds as f64 * p * (1.0 - p)).sqrt());
            for (i, &c) in counts.iter().enumerate() {
                // five standard deviations: a fair draw fails here once in ten thousand such tests
                assert!(
                    (f64::from(c) - mean).abs() <= 5.0 * sd,
                    "{size}: index {i} came {c} times"
                );
            }
        }
    }
}
