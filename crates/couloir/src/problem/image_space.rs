//! Inner products of images, behind one small interface.
//!
//! A method works with inner products and Gram matrices of images. Where one process holds whole images these are plain
//! sums; where every process holds the images of its own rows, the sums of all processes must be added up. Methods
//! therefore take every inner product of images from an [`ImageSpace`] and never sum over an image themselves.

use crate::linalg::spectral::Thin;
use crate::linalg::{
    MOST_POINTS, distance_squared, dot, dot_and_squares, dot_difference, gram_of_differences,
    length, norm, slopes_of_differences,
};

/// Inner products of images of which this process may hold only a part.
///
/// An implementation says how the parts of all processes become one whole. Everything else follows from that.
pub trait ImageSpace: Send + Sync {
    /// Replaces sums over the part that is held here by sums over the whole image.
    fn sum(&self, parts: &mut [f64]);

    /// The length of a vector whose part that is held here has this length.
    fn length(&self, part: f64) -> f64;

    /// `<a, b>`.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut sums = [dot(a, b)];
        self.sum(&mut sums);
        sums[0]
    }

    /// `|a|`.
    fn norm(&self, a: &[f64]) -> f64 {
        self.length(norm(a))
    }

    /// `[<a, b>, |a|, |b|]`, reading each image once.
    fn dot_and_lengths(&self, a: &[f64], b: &[f64]) -> [f64; 3] {
        let [along, of_a, of_b] = dot_and_squares(a, b);
        let mut sums = [along];
        self.sum(&mut sums);
        [sums[0], self.length(length(a, of_a)), self.length(length(b, of_b))]
    }

    /// `|a - b|`.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.length(distance_squared(a, b).sqrt())
    }

    /// `<g, a - b>`.
    fn slope(&self, g: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let mut sums = [dot_difference(g, a, b).0];
        self.sum(&mut sums);
        sums[0]
    }

    /// Writes `<g, p_j - origin>` for every point, of which there are at most 16.
    fn slopes(&self, g: &[f64], points: &[&[f64]], origin: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&slopes_of_differences(g, points, origin)[..points.len()]);
        self.sum(out);
    }

    /// Writes `<p_i - origin, p_j - origin>` for every pair of points, of which there are at most 16, row after row.
    fn gram(&self, points: &[&[f64]], origin: &[f64], out: &mut [f64]) {
        let m = points.len();
        debug_assert!(m <= MOST_POINTS);
        let lower = gram_of_differences(points, origin);
        for i in 0..m {
            for j in 0..=i {
                (out[i * m + j], out[j * m + i]) = (lower[i][j], lower[i][j]);
            }
        }
        self.sum(out);
    }

    /// Writes the `h x h` products `a^T b` of images that are matrices with rows of length `h`.
    fn cross(&self, h: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        Thin::new(a.len() / h, h).cross(a, b, out);
        self.sum(out);
    }

    /// The same where `a^T b` is known to be symmetric.
    fn symmetric_cross(&self, h: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        Thin::new(a.len() / h, h).symmetric_cross(a, b, out);
        self.sum(out);
    }
}

/// Images that one process holds whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalImages;

impl ImageSpace for LocalImages {
    fn sum(&self, _parts: &mut [f64]) {}

    fn length(&self, part: f64) -> f64 {
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier, Mutex};

    /// Two threads in the place of two processes, each with its half of every image.
    struct Halves {
        meeting: Arc<Barrier>,
        sums: Arc<Mutex<[Vec<f64>; 2]>>,
        rank: usize,
    }

    impl ImageSpace for Halves {
        fn sum(&self, parts: &mut [f64]) {
            self.sums.lock().expect("sums")[self.rank] = parts.to_vec();
            self.meeting.wait();
            let all = self.sums.lock().expect("sums").clone();
            for (i, part) in parts.iter_mut().enumerate() {
                *part = all[0][i] + all[1][i];
            }
            self.meeting.wait();
        }

        fn length(&self, part: f64) -> f64 {
            let mut square = [part * part];
            self.sum(&mut square);
            square[0].sqrt()
        }
    }

    const H: usize = 3;

    /// Everything that the interface offers, for images that are given in parts.
    fn all_products(space: &dyn ImageSpace, part: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
        let points: Vec<Vec<f64>> = (0..4).map(part).collect();
        let [a, b, c, origin] = &points[..] else { panic!("four points") };
        let mut out =
            vec![space.dot(a, b), space.norm(a), space.distance(a, b), space.slope(a, b, c)];
        out.extend(space.dot_and_lengths(a, b));
        let mut slopes = [0.0; 3];
        space.slopes(origin, &[a, b, c], b, &mut slopes);
        let (mut gram, mut cross, mut symmetric) = ([0.0; 9], [0.0; H * H], [0.0; H * H]);
        space.gram(&[a, b, c], origin, &mut gram);
        space.cross(H, a, b, &mut cross);
        space.symmetric_cross(H, a, a, &mut symmetric);
        out.extend(slopes.into_iter().chain(gram).chain(cross).chain(symmetric));
        out
    }

    #[test]
    fn products_of_images_in_parts_are_those_of_whole_images() {
        let whole = |point: usize| -> Vec<f64> {
            (0..40 * H).map(|i| ((i * i + 7 * point) as f64 * 0.37).sin()).collect()
        };
        let expected = all_products(&LocalImages, whole);
        let (meeting, sums) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::default()));
        let threads = [0, 1].map(|rank| {
            let space = Halves { meeting: meeting.clone(), sums: sums.clone(), rank };
            std::thread::spawn(move || {
                let cut = 25 * H;
                let part = |point: usize| match rank {
                    0 => whole(point)[..cut].to_vec(),
                    _ => whole(point)[cut..].to_vec(),
                };
                all_products(&space, part)
            })
        });
        for thread in threads {
            let found = thread.join().expect("a thread");
            for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!((found - expected).abs() < 1e-12, "{i}: {found} {expected}");
            }
        }
    }
}
