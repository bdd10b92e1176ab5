//! Text-like data of any size: Zipf words, class topics, tf-idf, unit rows.
//!
//! A row is a document. Its length varies (log-normal around the wanted number of nonzeros). Every word comes
//! from one of three urns: the *background*, all words with Zipf-Mandelbrot odds `1 / (rank + 2.7)^1.05`; the
//! *topic* of the document's class, up to 150 words of its own; or the topic of a second class, for no
//! document is about one thing only. How much of it is topic varies from document to document, so some are easy
//! and some hopeless. Counts become `(1 + ln tf) ln(1 + n / df)` and rows get unit length.
//!
//! With a minority rows are of two groups. Documents of both have words from a fourth urn, the *tell-tale* words of a class: of
//! their own class in the majority, of the next class in the minority. A model that relies on them is right about the
//! majority and wrong about the minority.

use crate::dataset::{Csr, Dataset, Label};
use crate::error::{DataError, Result};
use couloir::random::{Stream, Streams};
use rayon::prelude::*;
use std::collections::HashMap;

/// Rows that share a random stream: the unit of parallel work, so part of what a seed means.
const BLOCK: usize = 256;
/// The share of tell-tale words among those that are not of a topic, where there is a minority.
const TELL_TALE: f64 = 0.15;

/// What to make.
///
/// ```
/// use couloir_data::generate::TextLike;
/// let data = TextLike::new(200, 1000, 4).density(20.0).seed(7).generate()?;
/// assert_eq!((data.len(), data.features, data.classes.len()), (200, 1000, 4));
/// let (_, values) = data.row(0);
/// let length: f64 = values.iter().map(|v| v * v).sum();
/// assert!((length - 1.0).abs() < 1e-12);
/// # Ok::<(), couloir_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct TextLike {
    rows: usize,
    features: usize,
    classes: usize,
    density: f64,
    topic: f64,
    label_noise: f64,
    imbalance: f64,
    minority: f64,
    seed: u64,
    sample: u64,
}

impl TextLike {
    /// So many rows, features and classes; otherwise 80 nonzeros per row, no label noise, classes of equal
    /// size, seed 0.
    pub fn new(rows: usize, features: usize, classes: usize) -> Self {
        TextLike {
            rows,
            features,
            classes,
            density: (features as f64 / 4.0).min(80.0),
            topic: 0.3,
            label_noise: 0.0,
            imbalance: 0.0,
            minority: 0.0,
            seed: 0,
            sample: 0,
        }
    }

    /// The mean number of nonzeros per row.
    pub fn density(mut self, nonzeros: f64) -> Self {
        self.density = nonzeros;
        self
    }

    /// The mean share of words that tell the topic, in `0..=1`: how easy the data is (0.3 unless set).
    pub fn topic(mut self, share: f64) -> Self {
        self.topic = share;
        self
    }

    /// The share of rows whose label is replaced by another one.
    pub fn label_noise(mut self, share: f64) -> Self {
        self.label_noise = share;
        self
    }

    /// Class `c` has a size proportional to `1 / c^imbalance`: 0 for equal sizes, 1 for Zipf.
    pub fn imbalance(mut self, exponent: f64) -> Self {
        self.imbalance = exponent;
        self
    }

    /// The share of rows in the minority, whose tell-tale words speak for another class. With 0, the default, there are no
    /// tell-tale words.
    pub fn minority(mut self, share: f64) -> Self {
        self.minority = share;
        self
    }

    /// Everything random is a function of this and of the sample.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Other rows of the same text: what words mean is a function of the seed alone.
    pub fn sample(mut self, sample: u64) -> Self {
        self.sample = sample;
        self
    }

    /// About how many bytes it takes to make the data: words with their counts, then rows, and tables over all
    /// words.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let (rows, features) = (self.rows as f64, self.features as f64);
        (40.0 * rows * self.density + 80.0 * (rows + features)) as u64
    }

    /// Fails for settings that cannot be met.
    ///
    /// # Errors
    /// Settings out of their range.
    pub fn check(&self) -> Result<()> {
        let fail = |name: &'static str, why: String| Err(DataError::Setting { name, why });
        if self.classes < 2 {
            return fail("classes", format!("{}, but at least 2 are needed", self.classes));
        }
        if self.rows < self.classes {
            let why = format!("{}, but every one of {} classes needs one", self.rows, self.classes);
            return fail("rows", why);
        }
        if self.rows > u32::MAX as usize {
            return fail("rows", format!("{} is more than {}", self.rows, u32::MAX));
        }
        if self.features < 2 || self.features > u32::MAX as usize {
            return fail("features", format!("{} is not in 2..={}", self.features, u32::MAX));
        }
        // more than half of all words could take forever to draw
        let most = self.features as f64 / 2.0;
        if !(1.0..=most).contains(&self.density) {
            return fail("density", format!("{} is not in 1..={most}", self.density));
        }
        let shares =
            [("topic", self.topic), ("label_noise", self.label_noise), ("minority", self.minority)];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return fail(name, format!("{share} is not in 0..=1"));
            }
        }
        if !(0.0..=10.0).contains(&self.imbalance) {
            return fail("imbalance", format!("{} is not in 0..=10", self.imbalance));
        }
        Ok(())
    }

    /// Makes the data. The same settings give the same bits on any number of threads.
    ///
    /// # Errors
    /// Settings out of their range.
    pub fn generate(&self) -> Result<Dataset> {
        Ok(self.generate_with_groups()?.0)
    }

    /// The same, and the group of each row: 0 for the majority, 1 for the minority.
    ///
    /// ```
    /// use couloir_data::generate::TextLike;
    /// let (data, groups) = TextLike::new(400, 1000, 4).minority(0.1).generate_with_groups()?;
    /// assert_eq!(groups.len(), data.len());
    /// assert_eq!(groups.iter().sum::<u32>(), 40);
    /// # Ok::<(), couloir_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// Settings out of their range.
    pub fn generate_with_groups(&self) -> Result<(Dataset, Vec<u32>)> {
        self.check()?;
        let words = Streams::new(self.seed);
        let streams = match self.sample {
            0 => Streams::new(self.seed),
            sample => Streams::new(words.stream("samples").word() ^ sample),
        };
        let topics = self.assign_classes(&mut streams.stream("classes"));
        let groups = self.assign_groups(&mut streams.stream("groups"));
        let urns = Urns::new(self, &words);
        let blocks: Vec<Vec<(u32, f64)>> = topics
            .par_chunks(BLOCK)
            .zip(groups.par_chunks(BLOCK))
            .enumerate()
            .flat_map_iter(|(block, (topics, groups))| {
                let mut stream = streams.stream(&format!("rows {block}"));
                let urns = &urns;
                topics.iter().zip(groups).map(move |(&topic, &group)| {
                    urns.document(self, topic as usize, group, &mut stream)
                })
            })
            .collect();
        let rows = self.weigh(&blocks);
        let labels = self.add_noise(topics, &mut streams.stream("label noise"));
        let classes = (1..=self.classes).map(|c| Label::new(c as f64)).collect();
        Ok((Dataset { rows, labels, classes, features: self.features }, groups))
    }

    /// A group for every row, in random order.
    fn assign_groups(&self, stream: &mut Stream) -> Vec<u32> {
        let few = (self.minority * self.rows as f64).round() as usize;
        let mut groups = vec![0; self.rows];
        groups.iter_mut().take(few).for_each(|group| *group = 1);
        for i in (1..groups.len()).rev() {
            groups.swap(i, stream.below(i as u64 + 1) as usize);
        }
        groups
    }

    /// A class for every row: sizes as wanted, none empty, in random order.
    fn assign_classes(&self, stream: &mut Stream) -> Vec<u32> {
        let weights: Vec<f64> =
            (1..=self.classes).map(|c| (c as f64).powf(-self.imbalance)).collect();
        let total: f64 = weights.iter().sum();
        let spare = (self.rows - self.classes) as f64;
        let mut topics = Vec::with_capacity(self.rows);
        let mut sum = 0.0;
        for (class, weight) in weights.iter().enumerate() {
            sum += weight;
            // where this class ends, every class with one row for certain
            let end = class + 1 + (spare * (sum / total)).round() as usize;
            topics.resize(end.min(self.rows), class as u32);
        }
        topics.resize(self.rows, 0);
        for i in (1..topics.len()).rev() {
            topics.swap(i, stream.below(i as u64 + 1) as usize);
        }
        topics
    }

    /// Replaces labels, but never the last one of a class.
    fn add_noise(&self, mut labels: Vec<u32>, stream: &mut Stream) -> Vec<u32> {
        let mut counts = vec![0usize; self.classes];
        labels.iter().for_each(|&l| counts[l as usize] += 1);
        for label in &mut labels {
            if unit(stream) < self.label_noise && counts[*label as usize] > 1 {
                let step = 1 + stream.below(self.classes as u64 - 1);
                let other = ((u64::from(*label) + step) % self.classes as u64) as u32;
                counts[*label as usize] -= 1;
                counts[other as usize] += 1;
                *label = other;
            }
        }
        labels
    }

    /// tf-idf and unit length.
    fn weigh(&self, documents: &[Vec<(u32, f64)>]) -> Csr {
        let mut containing = vec![0u32; self.features];
        documents.iter().flatten().for_each(|&(word, _)| containing[word as usize] += 1);
        let idf: Vec<f64> = containing
            .iter()
            .map(|&count| (1.0 + self.rows as f64 / f64::from(count.max(1))).ln())
            .collect();
        let entries = documents.iter().map(Vec::len).sum();
        let mut rows = Csr::default();
        rows.indices.reserve_exact(entries);
        rows.values.reserve_exact(entries);
        for document in documents {
            let start = rows.values.len();
            for &(word, count) in document {
                rows.indices.push(word);
                rows.values.push((1.0 + count.ln()) * idf[word as usize]);
            }
            let row = &mut rows.values[start..];
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().for_each(|v| *v /= length);
            rows.starts.push(rows.indices.len());
        }
        rows
    }
}

/// Where words come from.
struct Urns {
    background: Alias,
    topics: Vec<(Alias, Vec<u32>)>,
    /// The tell-tale words of every class, where there is a minority.
    tell_tale: Vec<(Alias, Vec<u32>)>,
    /// The feature of every rank: frequent words stand anywhere in the alphabet.
    feature: Vec<u32>,
}

impl Urns {
    fn new(settings: &TextLike, streams: &Streams) -> Self {
        let features = settings.features;
        let stream = &mut streams.stream("words");
        let background =
            Alias::new(&(0..features).map(|rank| zipf(rank as f64, 2.7, 1.05)).collect::<Vec<_>>());
        let mut feature: Vec<u32> = (0..features as u32).collect();
        for i in (1..features).rev() {
            feature.swap(i, stream.below(i as u64 + 1) as usize);
        }
        // Topic words are neither the commonest nor all rare: ranks with a log-uniform law.
        let words = (features / (8 * settings.classes)).clamp(1, 150).max(features.min(12) / 2);
        let weights: Vec<f64> = (0..words).map(|k| zipf(k as f64, 4.0, 1.0)).collect();
        let topic = |stream: &mut Stream| {
            let lowest = (features as f64).powf(0.4);
            let ranks: Vec<u32> = (0..words)
                .map(|_| (lowest * (features as f64 / lowest).powf(unit(stream))) as u32)
                .map(|rank| rank.min(features as u32 - 1))
                .collect();
            (Alias::new(&weights), ranks)
        };
        let topics = (0..settings.classes).map(|_| topic(stream)).collect();
        let more = &mut streams.stream("tell-tale words");
        let classes = if settings.minority > 0.0 { settings.classes } else { 0 };
        let tell_tale = (0..classes).map(|_| topic(more)).collect();
        Urns { background, topics, tell_tale, feature }
    }

    /// Words and how often they come, by feature.
    fn document(
        &self,
        settings: &TextLike,
        class: usize,
        group: u32,
        stream: &mut Stream,
    ) -> Vec<(u32, f64)> {
        // log-normal with mean 1
        const SPREAD: f64 = 0.5;
        let length = (SPREAD * normal(stream) - SPREAD * SPREAD / 2.0).exp() * settings.density;
        let most = settings.features as f64 * 0.75;
        let wanted = length.clamp(1.0, most).round() as usize;
        let other =
            (class + 1 + stream.below(settings.classes as u64 - 1) as usize) % settings.classes;
        // the share of topic is between a quarter and seven quarters of its mean, that of the second class
        // below half of it
        let topic = (settings.topic * (0.25 + 1.5 * unit(stream))).min(1.0);
        let second = 0.45 * unit(stream);
        let mut counts: HashMap<u32, f64> = HashMap::with_capacity(wanted);
        // the last words of a long document can be hard to find: enough is enough
        for draw in 0..20 * wanted + 100 {
            if counts.len() >= wanted {
                break;
            }
            // when the topic has no more new words, the background has
            let from_topic = draw < 4 * wanted && unit(stream) < topic;
            let rank = if from_topic {
                let class = if unit(stream) < second { other } else { class };
                let (odds, words) = &self.topics[class];
                words[odds.draw(stream)]
            } else {
                match self.tell_tale.get((class + group as usize) % settings.classes) {
                    Some((odds, words)) if draw < 4 * wanted && unit(stream) < TELL_TALE => {
                        words[odds.draw(stream)]
                    }
                    _ => self.background.draw(stream) as u32,
                }
            };
            *counts.entry(self.feature[rank as usize]).or_insert(0.0) += 1.0;
        }
        let mut words: Vec<(u32, f64)> = counts.into_iter().collect();
        words.sort_unstable_by_key(|&(word, _)| word);
        words
    }
}

fn zipf(rank: f64, shift: f64, exponent: f64) -> f64 {
    (rank + shift).powf(-exponent)
}

/// Uniform in `[0, 1)`.
fn unit(stream: &mut Stream) -> f64 {
    (stream.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Standard normal (Box and Muller; the second one is not kept).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - unit(stream)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(stream)).cos()
}

/// Draws from a finite distribution in constant time (Walker's alias method, as Vose builds it).
struct Alias {
    keep: Vec<f64>,
    alias: Vec<u32>,
}

impl Alias {
    fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut keep: Vec<f64> = weights.iter().map(|w| w * weights.len() as f64 / total).collect();
        let mut alias: Vec<u32> = (0..weights.len() as u32).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&i| keep[i as usize] < 1.0);
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            alias[s as usize] = l;
            keep[l as usize] -= 1.0 - keep[s as usize];
            if keep[l as usize] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        // what is left is 1 but for rounding
        small.into_iter().chain(large).for_each(|i| keep[i as usize] = 1.0);
        Alias { keep, alias }
    }

    fn draw(&self, stream: &mut Stream) -> usize {
        let place = stream.below(self.keep.len() as u64) as usize;
        if unit(stream) < self.keep[place] { place } else { self.alias[place] as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_method_draws_with_the_right_odds() {
        let weights = [5.0, 0.0, 1.0, 3.0, 1.0];
        let alias = Alias::new(&weights);
        let mut stream = Streams::new(3).stream("test");
        let mut counts = [0.0; 5];
        for _ in 0..100_000 {
            counts[alias.draw(&mut stream)] += 1.0;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let p: f64 = weight / 10.0;
            let deviation = (100_000.0 * p * (1.0 - p)).sqrt();
            assert!((count - 100_000.0 * p).abs() <= 5.0 * deviation, "{counts:?}");
        }
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let base = || TextLike::new(100, 50, 3).density(5.0);
        for (bad, expected) in [
            (TextLike::new(100, 50, 1), "classes"),
            (TextLike::new(2, 50, 3), "rows"),
            (TextLike::new(100, 1, 3), "features"),
            (base().density(0.0), "density"),
            (base().density(26.0), "density"),
            (base().density(f64::NAN), "density"),
            (base().topic(-0.1), "topic"),
            (base().label_noise(1.1), "label_noise"),
            (base().imbalance(f64::NAN), "imbalance"),
            (base().minority(1.5), "minority"),
        ] {
            match bad.generate() {
                Err(DataError::Setting { name, .. }) => assert_eq!(name, expected),
                other => panic!("{other:?}"),
            }
        }
    }
}
