//! Generated data: as asked for, reproducible, and learnable but not trivial.

use couloir_data::Dataset;
use couloir_data::generate::TextLike;

/// Test accuracy of a linear classifier: softmax regression by stochastic gradients on four rows of five.
fn linear_accuracy(data: &Dataset) -> f64 {
    let (classes, step) = (data.classes.len(), 8.0);
    let mut weights = vec![0.0; data.features * classes];
    let mut scores = vec![0.0; classes];
    let score = |weights: &[f64], scores: &mut [f64], i: usize| {
        scores.fill(0.0);
        let (indices, values) = data.row(i);
        for (&j, v) in indices.iter().zip(values) {
            let row = &weights[j as usize * classes..][..classes];
            scores.iter_mut().zip(row).for_each(|(s, w)| *s += v * w);
        }
    };
    for epoch in 0..12 {
        for i in (0..data.len()).filter(|i| i % 5 > 0) {
            score(&weights, &mut scores, i);
            let top = scores.iter().copied().fold(f64::MIN, f64::max);
            scores.iter_mut().for_each(|s| *s = (*s - top).exp());
            let total: f64 = scores.iter().sum();
            scores.iter_mut().for_each(|s| *s /= total);
            scores[data.labels[i] as usize] -= 1.0;
            let (indices, values) = data.row(i);
            for (&j, v) in indices.iter().zip(values) {
                let row = &mut weights[j as usize * classes..][..classes];
                let rate = step / (1.0 + f64::from(epoch));
                row.iter_mut().zip(&scores).for_each(|(w, s)| *w -= rate * v * s);
            }
        }
    }
    let test: Vec<usize> = (0..data.len()).step_by(5).collect();
    let right = test.iter().filter(|&&i| {
        score(&weights, &mut scores, i);
        let best = (0..classes).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        best == Some(data.labels[i] as usize)
    });
    right.count() as f64 / test.len() as f64
}

#[test]
fn a_linear_classifier_gets_most_but_not_all_of_it() {
    for (rows, features, classes, density) in
        [(1500, 2000, 4, 40.0), (4000, 10_000, 10, 60.0), (8000, 30_000, 20, 80.0)]
    {
        let data =
            TextLike::new(rows, features, classes).density(density).generate().expect("data");
        let accuracy = linear_accuracy(&data);
        assert!((0.80..=0.95).contains(&accuracy), "{rows} x {features}, {classes}: {accuracy}");
        let noisy = TextLike::new(rows, features, classes).density(density).label_noise(0.3);
        let lower = linear_accuracy(&noisy.generate().expect("data"));
        assert!(lower < accuracy - 0.15, "{lower} with noise, {accuracy} without");
    }
}

#[test]
fn shape_density_and_unit_rows_are_as_asked() {
    let data = TextLike::new(3000, 20_000, 12).density(50.0).seed(3).generate().expect("data");
    assert_eq!((data.len(), data.features, data.classes.len()), (3000, 20_000, 12));
    let mean = data.nonzeros() as f64 / 3000.0;
    assert!((47.0..53.0).contains(&mean), "{mean} nonzeros per row");
    let mut frequency = vec![0; data.features];
    for i in 0..data.len() {
        let (indices, values) = data.row(i);
        assert!(indices.windows(2).all(|w| w[0] < w[1]));
        let length: f64 = values.iter().map(|v| v * v).sum();
        assert!((length - 1.0).abs() < 1e-12);
        indices.iter().for_each(|&j| frequency[j as usize] += 1);
    }
    assert_eq!(data.class_counts(), [250; 12]);
    // a few words in most rows, most words in few
    frequency.sort_unstable_by(|a, b| b.cmp(a));
    assert!(frequency[0] > 1200, "the commonest word is in {} rows", frequency[0]);
    assert!(frequency[10_000] < 10, "half of the words are in {} rows", frequency[10_000]);
}

#[test]
fn imbalance_follows_its_law_and_no_class_is_empty() {
    let data = TextLike::new(5000, 1000, 50).density(10.0).imbalance(1.5).label_noise(0.5);
    assert!(data.generate().expect("data").class_counts().iter().all(|&c| c > 0));
    let counts = data.label_noise(0.0).generate().expect("data").class_counts();
    assert!(counts.windows(2).all(|w| w[0] + 1 >= w[1]), "{counts:?}");
    assert!(counts[0] > 1500 && counts[49] < 20, "{counts:?}");
}

#[test]
fn the_seed_decides_everything_and_the_threads_nothing() {
    let settings = TextLike::new(2000, 3000, 5).density(20.0).label_noise(0.1).seed(11);
    let data = settings.generate().expect("data");
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        assert!(pool.install(|| settings.generate()).expect("data") == data);
    }
    assert!(settings.seed(12).generate().expect("data") != data);
}

#[test]
fn the_smallest_settings_work() {
    for (rows, features, classes, density) in [(2, 2, 2, 1.0), (5, 3, 5, 1.5), (300, 20, 2, 10.0)] {
        let data =
            TextLike::new(rows, features, classes).density(density).generate().expect("data");
        assert_eq!(data.len(), rows);
        assert!((0..rows).all(|i| !data.row(i).0.is_empty()));
    }
}
