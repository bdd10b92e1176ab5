//! A classifier scores as defined, and its file brings it back bit by bit or says what is wrong.

use couloir::Error;
use couloir::linalg::SparseMatrix;
use couloir::model::{Classifier, ModelFileError, ModelLimits};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

fn words(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|&l| l.to_owned()).collect()
}

/// `h` classes and `d` features, with weights of all sizes and signs.
fn example(h: usize, d: usize, bias: bool) -> Classifier {
    let labels = (0..h).map(|j| format!("{}", 3 * j as i64 - 5)).collect();
    let weight = |i: usize| (1.3 * i as f64 + 0.2).sin() * 10f64.powi(i as i32 % 9 - 4);
    let info = BTreeMap::from([
        ("tau".to_owned(), "100".to_owned()),
        ("certificate".to_owned(), "{\"gap\": 1e-3, \"é\": \"\\\"\"}".to_owned()),
    ]);
    let bias = bias.then(|| (0..h).map(|j| (0.9 * j as f64).cos()).collect());
    Classifier::new(labels, d, (0..h * d).map(weight).collect(), bias, info).expect("a classifier")
}

/// Rows with about one entry in three, some empty.
fn rows(n: usize, d: usize) -> SparseMatrix {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for k in (0..d).filter(|k| i % 11 != 4 && (i * 7 + k * k) % 3 == 0) {
            indices.push(k as u32);
            values.push((i as f64 + 0.1 * k as f64).cos());
        }
        starts.push(indices.len());
    }
    SparseMatrix::from_rows(d, starts, indices, values).expect("rows")
}

fn in_folder<T>(work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().expect("a temporary folder");
    work(folder.path())
}

fn load(path: &Path) -> Result<Classifier, ModelFileError> {
    Classifier::load(path, &ModelLimits::default())
}

/// What loading these bytes gives.
fn load_bytes(bytes: &[u8]) -> Result<Classifier, ModelFileError> {
    in_folder(|folder| {
        let path = folder.join("model");
        std::fs::write(&path, bytes).expect("a file");
        let result = load(&path);
        if let Err(error) = &result {
            let message = error.to_string();
            assert!(message.starts_with(&path.display().to_string()), "{message}");
            assert!(!message.contains(char::is_control) && message.len() < 1000, "{message}");
        }
        result
    })
}

fn saved(classifier: &Classifier) -> Vec<u8> {
    in_folder(|folder| {
        let path = folder.join("model");
        classifier.save(&path).expect("saving");
        assert_eq!(std::fs::read_dir(folder).expect("the folder").count(), 1);
        std::fs::read(path).expect("the file")
    })
}

#[test]
fn scores_probabilities_and_classes_are_as_defined() {
    for (h, d, narrower) in [(2, 1, 1), (3, 8, 5), (7, 30, 30), (53, 40, 12)] {
        for bias in [false, true] {
            let (c, rows, n) = (example(h, d, bias), rows(600, narrower), 600);
            let (mut scores, mut p) = (vec![f64::NAN; n * h], vec![f64::NAN; n * h]);
            c.scores(&rows, &mut scores).expect("scores");
            c.probabilities(&rows, &mut p).expect("probabilities");
            let classes = c.predict(&rows).expect("classes");
            for i in 0..n {
                let (columns, values) = rows.row(i);
                let s = &scores[i * h..(i + 1) * h];
                for j in 0..h {
                    let start = c.bias().map_or(0.0, |b| b[j]);
                    let terms = columns
                        .iter()
                        .zip(values)
                        .map(|(&k, v)| c.weights()[j * d + k as usize] * v);
                    let size = terms.clone().map(f64::abs).sum::<f64>() + start.abs();
                    let exact = start + terms.sum::<f64>();
                    assert!((s[j] - exact).abs() <= 1e-14 * size + 1e-300, "{} {exact}", s[j]);
                }
                let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(classes[i] as usize, s.iter().position(|v| *v == top).expect("a top"));
                let total: f64 = s.iter().map(|v| (v - top).exp()).sum();
                for j in 0..h {
                    let exact = (s[j] - top).exp() / total;
                    assert!((p[i * h + j] - exact).abs() <= 1e-14 * exact + 1e-300);
                }
            }
        }
    }
}

#[test]
fn blocks_and_threads_change_nothing() {
    // enough rows and classes for several blocks
    let (c, rows) = (example(3000, 4, true), rows(900, 4));
    let mut scores = vec![0.0; 900 * 3000];
    c.scores(&rows, &mut scores).expect("scores");
    let mut blocks = 0;
    c.score_blocks(&rows, |first, block| {
        blocks += 1;
        assert_eq!(block, &scores[first * 3000..first * 3000 + block.len()]);
        Ok(())
    })
    .expect("blocks");
    assert!(blocks > 1);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let mut p = vec![0.0; 900 * 3000];
            c.probabilities(&rows, &mut p).expect("probabilities");
            (p, c.predict(&rows).expect("classes"))
        })
    };
    assert!(run(1) == run(3));
}

#[test]
fn rows_beyond_the_features_and_scores_beyond_all_numbers_are_refused() {
    let c = example(3, 5, false);
    let mut out = vec![0.0; 3];
    let row = |d: usize, k: u32, v: f64| {
        SparseMatrix::from_rows(d, vec![0, 1], vec![k], vec![v]).expect("a row")
    };
    assert_eq!(c.scores(&row(9, 7, 1.0), &mut out), Err(Error::TooWide { widest: 8, features: 5 }));
    assert!(c.predict(&row(9, 7, 1.0)).is_err());
    // more columns that nobody uses do not matter
    c.scores(&row(9, 4, 1.0), &mut out).expect("scores");
    assert!(matches!(c.scores(&row(5, 0, 1.0), &mut out[..2]), Err(Error::Dimension { .. })));
    let huge = Classifier::new(words(&["a", "b"]), 1, vec![1e300, 0.0], None, BTreeMap::new());
    let huge = huge.expect("a classifier");
    assert!(matches!(huge.predict(&row(1, 0, 1e300)), Err(Error::NotFinite { .. })));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let make = |labels: &[&str], d, weights: &[f64], bias: Option<&[f64]>, info: &str| {
        let info = BTreeMap::from([(info.to_owned(), String::new())]);
        Classifier::new(words(labels), d, weights.to_vec(), bias.map(<[f64]>::to_vec), info)
    };
    let good = [1.0, 2.0, 3.0, 4.0];
    assert!(make(&["a", "b"], 2, &good, Some(&[0.0, 1.0]), "tau").is_ok());
    for (labels, d, weights, bias, info) in [
        (&["a"][..], 4, &good[..], None, "tau"),
        (&[], 0, &[], None, "tau"),
        (&["a", "b"], 0, &[], None, "tau"),
        (&["a", "b"], 3, &good, None, "tau"),
        (&["a", "b"], usize::MAX, &good, None, "tau"),
        (&["a", "a"], 2, &good, None, "tau"),
        (&["a", ""], 2, &good, None, "tau"),
        (&["a", "b c"], 2, &good, None, "tau"),
        (&["a", "b\n"], 2, &good, None, "tau"),
        (&["a", "b"], 2, &[1.0, f64::NAN, 3.0, 4.0], None, "tau"),
        (&["a", "b"], 2, &good, Some(&[0.0][..]), "tau"),
        (&["a", "b"], 2, &good, Some(&[0.0, f64::INFINITY]), "tau"),
        (&["a", "b"], 2, &good, None, "labels"),
    ] {
        assert!(make(labels, d, weights, bias, info).is_err(), "{labels:?} {d} {info}");
    }
}

#[test]
fn a_saved_classifier_comes_back_bit_by_bit_and_is_always_the_same_file() {
    for (h, d, bias) in [(2, 1, false), (3, 7, true), (20, 5000, true)] {
        let c = example(h, d, bias);
        let bytes = saved(&c);
        assert_eq!(bytes, saved(&c.clone()));
        let back = load_bytes(&bytes).expect("the classifier");
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(back.weights()), bits(c.weights()));
        assert_eq!(back.bias().map(bits), c.bias().map(bits));
        assert_eq!((back.labels(), back.info()), (c.labels(), c.info()));
        assert_eq!((back.classes(), back.features()), (h, d));
    }
}

/// A file with this header and so many zero bytes of numbers.
fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

const META: &str =
    r#""__metadata__":{"format":"couloir classifier","version":"1","labels":"[\"1\",\"2\"]"}"#;

#[test]
fn any_safetensors_writer_can_make_a_model() {
    let weights = r#""weights":{"dtype":"F64","shape":[2,3],"data_offsets":[16,64]}"#;
    let bias = r#""bias":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}"#;
    let c = load_bytes(&file(&format!("{{{bias},{META},{weights}}}   "), 64)).expect("a model");
    assert_eq!((c.classes(), c.features(), c.bias()), (2, 3, Some(&[0.0, 0.0][..])));
}

#[test]
fn every_fault_of_a_file_has_its_own_error() {
    let weights = r#""weights":{"dtype":"F64","shape":[2,3],"data_offsets":[0,48]}"#;
    let whole = file(&format!("{{{META},{weights}}}"), 48);
    load_bytes(&whole).expect("a model");
    use ModelFileError as E;
    type Check = fn(&ModelFileError) -> bool;
    let with = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let all = format!("{{{META},{weights}}}");
    let cases: Vec<(&str, Vec<u8>, Check)> = vec![
        ("empty", vec![], |e| matches!(e, E::Header { .. })),
        ("seven bytes", vec![0; 7], |e| matches!(e, E::Header { .. })),
        ("zeros", vec![0; 64], |e| matches!(e, E::Header { .. })),
        ("text", b"1 1:0.5 2:1\n2 1:3 4:1\n".to_vec(), |e| matches!(e, E::Header { .. })),
        ("no JSON", file("{\"a\": nonsense\n}", 0), |e| matches!(e, E::Header { .. })),
        ("not UTF-8", vec![2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe], |e| matches!(e, E::Header { .. })),
        ("truncated", whole[..whole.len() - 1].to_vec(), |e| matches!(e, E::Length { .. })),
        ("header cut", whole[..40].to_vec(), |e| matches!(e, E::Header { .. })),
        ("more at the end", file(&all, 56), |e| matches!(e, E::Length { .. })),
        ("no metadata", file(&format!("{{{weights}}}"), 48), |e| matches!(e, E::NotAModel { .. })),
        ("no weights", file(&format!("{{{META}}}"), 0), |e| matches!(e, E::NotAModel { .. })),
        (
            "another format",
            file(&with(&all, "couloir classifier", "pt"), 48),
            |e| matches!(e, E::NotAModel { why, .. } if why.contains("pt")),
        ),
        (
            "another version",
            file(&with(&all, r#""version":"1""#, r#""version":"2""#), 48),
            |e| matches!(e, E::Version { version, .. } if version == "2"),
        ),
        (
            "32 bit",
            file(&with(&with(&all, "F64", "F32"), "48", "24"), 24),
            |e| matches!(e, E::Tensor { got, .. } if got == "F32 [2, 3]"),
        ),
        ("unknown type", file(&with(&all, "F64", "F65\\n"), 48), |e| matches!(e, E::Header { .. })),
        (
            "three classes",
            file(&with(&all, "[2,3]", "[3,2]"), 48),
            |e| matches!(e, E::Tensor { got, .. } if got == "F64 [3, 2]"),
        ),
        ("a vector", file(&with(&all, "[2,3]", "[6]"), 48), |e| matches!(e, E::Tensor { .. })),
        ("no features", file(&with(&with(&all, "[2,3]", "[2,0]"), "48", "0"), 0), |e| {
            matches!(e, E::Tensor { .. })
        }),
        ("overflow", file(&with(&all, "[2,3]", "[2,9223372036854775807]"), 48), |e| {
            matches!(e, E::Header { .. })
        }),
        ("other offsets", file(&with(&all, "[0,48]", "[8,56]"), 56), |e| {
            matches!(e, E::Header { .. })
        }),
        (
            "huge but consistent",
            file(&with(&with(&all, "[2,3]", "[2,100000000000]"), "48", "1600000000000"), 48),
            |e| matches!(e, E::Length { .. }),
        ),
        (
            "another tensor",
            file(&with(&all, "weights", "embedding"), 48),
            |e| matches!(e, E::NotAModel { why, .. } if why.contains("embedding")),
        ),
        ("same labels", file(&with(&all, r#"\"2\""#, r#"\"1\""#), 48), |e| {
            matches!(e, E::Content { error: Error::Setting { name: "labels", .. }, .. })
        }),
        ("labels of two lines", file(&with(&all, r#"\"2\""#, r#"\"2\\n\""#), 48), |e| {
            matches!(e, E::Content { error: Error::Setting { name: "labels", .. }, .. })
        }),
        ("no labels", file(&with(&all, r#""labels""#, r#""lapels""#), 48), |e| {
            matches!(e, E::NotAModel { .. })
        }),
        ("labels not a list", file(&with(&all, r#"[\"1\",\"2\"]"#, "17"), 48), |e| {
            matches!(e, E::NotAModel { .. })
        }),
    ];
    for (name, bytes, is_right) in cases {
        let error = load_bytes(&bytes).expect_err(name);
        assert!(is_right(&error), "{name}: {error}");
    }
    let mut poisoned = whole.clone();
    let at = poisoned.len() - 8;
    poisoned[at..].copy_from_slice(&f64::NAN.to_le_bytes());
    let error = load_bytes(&poisoned).expect_err("NaN");
    assert!(
        matches!(error, E::Content { error: Error::NotFinite { index: 5, .. }, .. }),
        "{error}"
    );
}

#[test]
fn what_is_no_file_or_too_large_is_refused_before_it_is_read() {
    in_folder(|folder| {
        let path = folder.join("model");
        assert_eq!(load(&path).err(), Some(ModelFileError::Missing { file: path.clone() }));
        assert!(matches!(load(folder), Err(ModelFileError::NotAFile { what: "a directory", .. })));
        example(3, 7, true).save(&path).expect("saving");
        let limits = ModelLimits::default();
        for limits in [limits.bytes(100), limits.header(100)] {
            let error = Classifier::load(&path, &limits).expect_err("too large");
            assert!(matches!(error, ModelFileError::TooLarge { limit: 100, .. }), "{error}");
        }
        assert!(matches!(
            example(3, 7, true).save(folder),
            Err(ModelFileError::NotAFile { .. } | ModelFileError::Io { .. })
        ));
        let nowhere: PathBuf = folder.join("no").join("model");
        let error = example(3, 7, true).save(&nowhere).expect_err("no folder");
        assert!(matches!(error, ModelFileError::Io { kind: ErrorKind::NotFound, .. }), "{error}");
        assert!(error.to_string().contains("could not be written"), "{error}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_never_panic_and_never_give_numbers_that_are_not_finite(
        changes in prop::collection::vec((0usize..1 << 16, any::<u8>()), 1..8),
        cut in prop::option::of(0usize..1 << 16),
        extra in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut bytes = saved(&example(3, 4, true));
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut % bytes.len());
        }
        bytes.extend(extra);
        if let Ok(c) = load_bytes(&bytes) {
            prop_assert_eq!(c.weights().len(), c.classes() * c.features());
            prop_assert!(c.weights().iter().chain(c.bias().unwrap_or(&[])).all(|w| w.is_finite()));
        }
    }

    #[test]
    fn damaged_headers_never_panic(
        pieces in prop::collection::vec(
            prop_oneof![
                Just("{".to_owned()), Just("}".to_owned()), Just(",".to_owned()), Just(META.to_owned()),
                Just(r#""weights":{"dtype":"F64","shape":[2,3],"data_offsets":[0,48]}"#.to_owned()),
                Just(r#""bias":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}"#.to_owned()),
                Just(r#""bias":{"dtype":"F64","shape":[2],"data_offsets":[48,64]}"#.to_owned()),
                Just(r#""weights":{"dtype":"F64","shape":[18446744073709551615,8],"data_offsets":[0,48]}"#.to_owned()),
                Just(r#""weights":[[[[[["#.to_owned()),
                "[ -~]{0,6}",
            ],
            0..8,
        ),
        data in 0usize..80,
    ) {
        let header = pieces.concat();
        let _ = load_bytes(&file(&header, data));
    }
}
