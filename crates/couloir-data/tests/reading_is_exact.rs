//! What is read is what was written, whatever the packing and the number of threads.

use couloir_data::libsvm::{ReadOptions, read, read_from, write, write_to};
use couloir_data::{Csr, Dataset, Label};
use proptest::prelude::*;
use std::io::{Cursor, Read};
use std::path::PathBuf;

fn read_text(text: &str) -> Dataset {
    let input = Cursor::new(text.to_owned().into_bytes());
    read_from(input, "file", &ReadOptions::default()).expect("good text")
}

/// As tapes and some programs pad: gzip skips the zeros too.
#[test]
fn zeros_behind_a_gz_file_are_skipped_and_so_are_those_between_its_members() {
    use std::io::Write as _;
    let pack = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).expect("packing");
        out.finish().expect("packing")
    };
    let member = pack("1 1:1\n2 2:1\n");
    let read = |packed: Vec<u8>| {
        couloir_data::libsvm::read_from(std::io::Cursor::new(packed), "x", &ReadOptions::default())
    };
    for zeros in [1, 511, 70_000] {
        let padded = [&member[..], &vec![0; zeros]].concat();
        assert_eq!(read(padded.clone()).expect("padded").len(), 2, "{zeros}");
        let two = [&padded[..], &member].concat();
        assert_eq!(read(two).expect("two members").len(), 4, "{zeros}");
        assert!(read([&padded[..], b"more"].concat()).is_err(), "{zeros}");
    }
    assert_eq!(read([&member[..], &member].concat()).expect("two members").len(), 4);
    let error = read([&member[..], &vec![0; 17 << 20]].concat()).expect_err("too much");
    assert!(error.to_string().contains("more than 16777216 zero bytes"), "{error}");
}

#[test]
fn labels_that_meet_as_64_bit_numbers_are_refused_and_those_spelled_otherwise_are_one() {
    let read = |text: String, options: &ReadOptions| {
        couloir_data::libsvm::read_from(std::io::Cursor::new(text.into_bytes()), "x", options)
    };
    let same = "1 1:1\n1.0 1:1\n+1 1:1\n10e-1 1:1\n2 1:1\n";
    let data = read(same.into(), &ReadOptions::default()).expect("one number");
    assert_eq!(data.classes.len(), 2);
    // in one piece of the text, and in pieces that different threads parse
    for between in ["", &"2 1:1\n".repeat(300_000)] {
        let text = format!("1 1:1\n{between}1.0000000000000001 1:1\n");
        let error = read(text, &ReadOptions::default()).expect_err("two numbers");
        let why =
            "x: the labels `1` and `1.0000000000000001` are different numbers, but the same as";
        assert!(error.to_string().starts_with(why), "{error}");
    }
    let labels = ReadOptions::default().labels(data.classes);
    let error = read("1.0000000000000001 1:1\n".into(), &labels).expect_err("no such class");
    assert!(error.to_string().contains("is none of the declared classes"), "{error}");
}

#[test]
fn what_the_format_allows_is_read() {
    let data = read_text(
        "# a header\n\n+1 1:.5 3:-2e-3 # note\r\n-1\t2:5.\t\n  1.0 4294967295:+1   \n0.5\n-1# 1:1\n-1 +2:0",
    );
    assert_eq!(data.rows.starts, [0, 2, 3, 4, 4, 4, 5]);
    assert_eq!(data.rows.indices, [0, 2, 1, 4_294_967_294, 1]);
    assert_eq!(data.rows.values, [0.5, -2e-3, 5.0, 1.0, 0.0]);
    assert_eq!(data.labels, [2, 0, 2, 1, 0, 0]);
    let texts: Vec<&str> = data.classes.iter().map(Label::text).collect();
    assert_eq!(texts, ["-1", "0.5", "+1"]);
    assert_eq!(data.features, 4_294_967_295);
}

#[test]
fn minus_zero_is_the_class_zero_and_classes_are_in_numerical_order() {
    let data = read_text("10\n-0\n9\n0\n1e1\n");
    assert_eq!(data.labels, [2, 0, 1, 0, 2]);
}

/// Data sets whose every class and the last feature occur.
fn datasets() -> impl Strategy<Value = Dataset> {
    let value = prop_oneof![
        any::<f64>().prop_filter("finite", |v| v.is_finite()),
        (-1_000_000i64..1_000_000).prop_map(|v| v as f64 / 1e6),
        Just(0.0),
        Just(f64::MIN_POSITIVE / 4.0),
        Just(f64::MAX),
    ];
    let row = proptest::collection::btree_map(0u32..5000, value, 0..30);
    let label = prop_oneof![(-3i32..5).prop_map(f64::from), Just(0.25), Just(-1e-7)];
    proptest::collection::vec((label, row), 1..60).prop_map(|rows| {
        let mut values: Vec<f64> = rows.iter().map(|r| r.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut data = Dataset::default();
        for (label, row) in &rows {
            data.labels.push(values.iter().position(|v| v == label).expect("a class") as u32);
            data.rows.indices.extend(row.keys());
            data.rows.values.extend(row.values());
            data.rows.starts.push(data.rows.indices.len());
        }
        data.features = data.rows.indices.iter().max().map_or(0, |&i| i as usize + 1);
        data.classes = values.into_iter().map(Label::new).collect();
        data
    })
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
}

proptest! {
    #[test]
    fn what_is_written_reads_back_to_the_same_bits(data in datasets()) {
        let mut text = Vec::new();
        write_to(&mut text, &data).expect("writing to memory");
        let back = read_from(Cursor::new(text), "file", &ReadOptions::default()).expect("reading");
        prop_assert!(same_bits(&back.rows.values, &data.rows.values));
        prop_assert_eq!(back, data);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_from(Cursor::new(bytes), "file", &ReadOptions::default());
    }

    #[test]
    fn no_text_like_bytes_make_the_reader_panic(text in "([0-9+.:e#\\n\\t -]|BZh9|qid|nan){0,80}") {
        let _ = read_from(Cursor::new(text.into_bytes()), "file", &ReadOptions::default());
    }
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(run)
}

#[test]
fn any_packing_and_any_number_of_threads_give_the_same_data() {
    // lines of very different lengths, a few megabytes
    let mut data = Dataset { features: 100_000, ..Dataset::default() };
    let mut stream = couloir::random::Streams::new(7).stream("rows");
    let mut rows = Csr::default();
    for i in 0..5000u64 {
        let length = if i % 500 == 0 { 40_000 } else { stream.below(40) };
        let step = 100_000 / (length + 1);
        for k in 0..length {
            rows.indices.push((k * step + stream.below(step)) as u32);
            rows.values.push(stream.word() as i64 as f64 / 1e10);
        }
        rows.starts.push(rows.indices.len());
        data.labels.push((i % 7) as u32);
    }
    rows.indices.push(99_999);
    rows.values.push(1.0);
    rows.starts.push(rows.indices.len());
    data.labels.push(0);
    data.rows = rows;
    data.classes = (1..=7).map(|c| Label::new(f64::from(c))).collect();

    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("plain");
    write(&plain, &data).expect("writing");
    let text = std::fs::read(&plain).expect("the file");
    let mut packed = Vec::new();
    bzip2::read::BzEncoder::new(&text[..], bzip2::Compression::new(2))
        .read_to_end(&mut packed)
        .expect("packing");
    // names that lie
    let bz2 = folder.path().join("packed.txt");
    std::fs::write(&bz2, &packed).expect("writing");
    packed.clear();
    flate2::read::GzEncoder::new(&text[..], flate2::Compression::fast())
        .read_to_end(&mut packed)
        .expect("packing");
    let gz = folder.path().join("packed.bz2");
    std::fs::write(&gz, &packed).expect("writing");
    for threads in [1, 2, 5] {
        for path in [&plain, &bz2, &gz] {
            let back =
                with_threads(threads, || read(path, &ReadOptions::default())).expect("reading");
            assert!(back == data, "{} with {threads} threads", path.display());
        }
        let input = std::fs::File::open(&bz2).expect("the file");
        let back = with_threads(threads, || read_from(input, "bz2", &ReadOptions::default()));
        assert!(back.expect("reading") == data);
    }
}

#[test]
fn a_file_is_packed_as_its_name_says_and_reads_back() {
    let text = "1 1:0.5 7:-2\n2 3:1e-300\n".repeat(1000);
    let data = read_from(Cursor::new(text), "text", &ReadOptions::default()).expect("good text");
    let folder = tempfile::tempdir().expect("a folder");
    for (name, start) in [("a.svm", &b"1 1:"[..]), ("a.svm.bz2", b"BZh"), ("a.gz", &[0x1f, 0x8b])] {
        let path = folder.path().join(name);
        write(&path, &data).expect("writing");
        assert!(std::fs::read(&path).expect("the file").starts_with(start), "{name}");
        assert!(read(&path, &ReadOptions::default()).expect("reading") == data, "{name}");
    }
}

/// The folder of real data sets, where there is one.
fn real_data(file: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("COULOIR_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let path = folder.join(file);
    if !path.is_file() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!(
                "SKIPPED: no {}; set COULOIR_DATA to the folder of real data",
                path.display()
            );
        }
        return None;
    }
    Some(path)
}

#[test]
fn real_files_have_their_known_shapes() {
    for (file, rows, features, classes, nonzeros) in [
        ("news20.scale.bz2", 15_935, 62_061, 20, 1_272_569),
        ("rcv1sub.multiclass.bz2", 15_564, 47_236, 52, 1_053_175),
        ("cora.bow", 2_708, 1_433, 7, 49_216),
    ] {
        let Some(path) = real_data(file) else { continue };
        let mut data = read(&path, &ReadOptions::default()).expect("a good file");
        let shape = (data.len(), data.features, data.classes.len(), data.nonzeros());
        assert_eq!(shape, (rows, features, classes, nonzeros), "{file}");
        assert!(data.class_counts().iter().all(|&c| c > 0));
        let mut text = Vec::new();
        write_to(&mut text, &data).expect("writing to memory");
        let again = read_from(Cursor::new(text), file, &ReadOptions::default()).expect("reading");
        assert!(again == data, "{file} does not come back from its own writing");
        assert_eq!(data.take_matrix().expect("a matrix").columns(), features);
    }
    if let Some(path) = real_data("rcv1sub.multiclass.bz2") {
        let data = read(&path, &ReadOptions::default().classes(53)).expect("a good file");
        let unseen = data.class_counts().iter().filter(|&&c| c == 0).count();
        assert_eq!((data.classes.len(), unseen), (53, 1));
    }
}
