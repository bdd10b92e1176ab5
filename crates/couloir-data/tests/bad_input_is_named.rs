//! Every bad input is an error that names file, line, fault and remedy, in one line.

use bzip2::read::BzEncoder;
use couloir_data::libsvm::{ReadOptions, read, read_from};
use couloir_data::{Compression, DataError, Dataset, Label, LineFault};
use flate2::read::GzEncoder;
use std::io::Read;
use std::path::Path;

fn read_bytes(text: Vec<u8>) -> couloir_data::Result<Dataset> {
    read_from(std::io::Cursor::new(text), "file", &ReadOptions::default())
}

/// Good lines around a bad one, so many that it falls into any place of any piece.
fn fault_of(bad: &[u8]) -> LineFault {
    let mut fault = None;
    for before in [0, 1, 2, 60_000, 61_234] {
        for after in ["", "\n", "\n2 1:1\n"] {
            let mut text = "1 3:0.25 7:1\n# comment\n\n".repeat(before / 3).into_bytes();
            text.extend("\r\n".repeat(before % 3).bytes());
            text.extend_from_slice(bad);
            text.extend_from_slice(after.as_bytes());
            let error = read_bytes(text).expect_err("a bad line");
            let message = error.to_string();
            assert!(!message.contains('\n'), "{message}");
            let start = format!("file:{}: ", before + 1);
            assert!(message.starts_with(&start), "{message}, expected {start}");
            match error {
                DataError::Line { file, line, fault: this } => {
                    assert_eq!((file.as_path(), line), (Path::new("file"), before as u64 + 1));
                    assert!(fault.is_none_or(|f| f == this));
                    fault = Some(this);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    fault.expect("a fault")
}

#[test]
fn every_fault_of_a_line_has_its_name_and_line_number() {
    use LineFault as F;
    let text = |t: &str| t.to_owned();
    let table: &[(&[u8], LineFault)] = &[
        (b"cat 1:1", F::Label { text: text("cat") }),
        (b"<!DOCTYPE html>", F::Label { text: text("<!DOCTYPE") }),
        (b"1,5 1:1", F::ManyLabels { text: text("1,5") }),
        (b"nan 1:1", F::LabelNotFinite { text: text("nan") }),
        (b"1e999 1:1", F::LabelNotFinite { text: text("1e999") }),
        (b"9007199254740993 1:1", F::LabelTooLarge { text: text("9007199254740993") }),
        (
            &[&b"0".repeat(64)[..], b"1 1:1"].concat(),
            F::LabelTooLong { text: text(&format!("{}...", "0".repeat(40))), limit: 64 },
        ),
        (b"1:1 2:1", F::MissingLabel { text: text("1:1") }),
        (b"1 0:1", F::IndexZero { text: text("0:1") }),
        (b"1 -3:1", F::IndexNegative { text: text("-3:1") }),
        (b"1 5:1 3:1", F::IndexNotIncreasing { index: 3, previous: 5 }),
        (b"1 5:1 5:2", F::IndexDuplicate { index: 5 }),
        (b"1 4294967296:1", F::IndexTooLarge { text: text("4294967296:1") }),
        (b"1 99999999999999999999:1", F::IndexTooLarge { text: text("99999999999999999999:1") }),
        (b"1 1.5:1", F::Index { text: text("1.5:1") }),
        (b"1 x:1", F::Index { text: text("x:1") }),
        (b"1 -:1", F::Index { text: text("-:1") }),
        (b"1 1:1:1", F::ExtraColon { text: text("1:1:1") }),
        (b"1 3:", F::MissingValue { text: text("3:") }),
        (b"1 3: 4:1", F::MissingValue { text: text("3:") }),
        (b"1 3", F::MissingValue { text: text("3") }),
        (b"1 :1", F::MissingIndex { text: text(":1") }),
        (b"1 3:x", F::Value { text: text("3:x") }),
        (b"1 3:1.2.3", F::Value { text: text("3:1.2.3") }),
        (b"1 3:0x10", F::Value { text: text("3:0x10") }),
        (b"1 3:-", F::Value { text: text("3:-") }),
        (b"1 3:NaN", F::ValueNotFinite { text: text("3:NaN") }),
        (b"1 3:-inf", F::ValueNotFinite { text: text("3:-inf") }),
        (b"1 3:1e999", F::ValueNotFinite { text: text("3:1e999") }),
        (b"1 qid:3 1:1", F::QueryId { text: text("qid:3") }),
        (b"\xef\xbb\xbf1 1:1", F::ByteOrderMark),
        (b"\xff\xfe1\0 \x001\0:\0", F::ByteOrderMark),
        (b"\x7fELF\x02\x01", F::Binary { byte: 0x7f, column: 1 }),
        (b"1 2:1 3:\x80", F::Binary { byte: 0x80, column: 9 }),
        (b"1 2:1\0", F::Binary { byte: 0, column: 6 }),
    ];
    for (bad, fault) in table {
        assert_eq!(&fault_of(bad), fault, "{}", bad.escape_ascii());
    }
}

#[test]
fn quoted_text_is_short_and_on_one_line() {
    let message = read_bytes([&[b'x'; 1000][..], b"\n"].concat()).expect_err("bad").to_string();
    assert!(message.len() < 100, "{message}");
    let message = read_bytes("1 2:\u{2028}\u{202e}".into()).expect_err("bad").to_string();
    assert!(message.is_ascii(), "{message}");
}

#[test]
fn lines_longer_than_the_limit_are_refused_wherever_they_end() {
    let limit = 1000;
    let options = ReadOptions::default().max_line(limit);
    let line = |length: usize| {
        let mut line = b"1 1:1 #".to_vec();
        line.resize(length, b'x');
        line
    };
    for good_before in [0, 3, 70_000] {
        for end in [&b""[..], b"\n", b"\n1 1:1\n"] {
            for (length, fits) in [(limit, true), (limit + 1, false), (2_000_000, false)] {
                let text =
                    ["1 1:1 2:2\n".repeat(good_before).as_bytes(), &line(length), end].concat();
                let result = read_from(std::io::Cursor::new(text), "file", &options);
                if fits {
                    assert!(result.is_ok(), "{result:?}");
                } else {
                    let line = good_before as u64 + 1;
                    let fault = LineFault::TooLong { limit };
                    assert_eq!(
                        result.expect_err("too long"),
                        DataError::Line { file: "file".into(), line, fault }
                    );
                }
            }
        }
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused_without_being_kept() {
    let line = std::io::repeat(b'1').take(100 << 20);
    let error = read_from(line, "file", &ReadOptions::default()).expect_err("too long");
    let fault = LineFault::TooLong { limit: 64 << 20 };
    assert_eq!(error, DataError::Line { file: "file".into(), line: 1, fault });
}

#[test]
fn missing_files_directories_and_files_without_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ReadOptions::default();
    let missing = folder.path().join("missing");
    let error = read(&missing, &options).expect_err("missing");
    assert_eq!(error, DataError::Missing { file: missing });
    let error = read(folder.path(), &options).expect_err("a directory");
    assert_eq!(error, DataError::Directory { file: folder.path().to_owned() });
    for text in ["", "\n", "# only\n  \n# comments", "\r\n"] {
        for packed in [text.as_bytes().to_vec(), bz2(text.as_bytes()), gz(text.as_bytes())] {
            let path = folder.path().join("empty");
            std::fs::write(&path, packed).expect("writing");
            let error = read(&path, &options).expect_err("empty");
            assert_eq!(error, DataError::Empty { file: path });
        }
    }
}

fn bz2(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    BzEncoder::new(text, bzip2::Compression::new(1)).read_to_end(&mut packed).expect("packing");
    packed
}

fn gz(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(text, flate2::Compression::fast()).read_to_end(&mut packed).expect("packing");
    packed
}

fn long_text() -> String {
    (0..40_000u32).map(|i| format!("{} {}:0.5 99999:{i}\n", i % 3, 1 + i % 777)).collect()
}

#[test]
fn truncated_and_damaged_files_are_told_apart_and_never_read_as_shorter_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let text = long_text();
    for (compression, packed) in
        [(Compression::Bzip2, bz2(text.as_bytes())), (Compression::Gzip, gz(text.as_bytes()))]
    {
        let lengths = [5, 11, 30, packed.len() / 2, packed.len() - 5, packed.len() - 1];
        for length in lengths {
            std::fs::write(&path, &packed[..length]).expect("writing");
            let by_path = read(&path, &ReadOptions::default()).expect_err("truncated");
            match &by_path {
                DataError::Truncated { compression: c, line, .. } => {
                    assert_eq!(*c, compression);
                    // a bzip2 block comes whole or not at all
                    assert_eq!(*line > 1000, length >= packed.len() / 2, "{line} at {length}");
                }
                other => panic!("{length}: {other:?}"),
            }
            let by_reader = read_bytes(packed[..length].to_vec()).expect_err("truncated");
            assert!(matches!(by_reader, DataError::Truncated { .. }), "{by_reader:?}");
        }
        for place in [20, packed.len() / 3, packed.len() / 2, packed.len() - 6] {
            let mut damaged = packed.clone();
            damaged[place] ^= 0x55;
            std::fs::write(&path, &damaged).expect("writing");
            let error = read(&path, &ReadOptions::default()).expect_err("damaged");
            assert!(!error.to_string().contains('\n'));
            // damaged text is nonsense, but the lines are not to blame
            let told = matches!(error, DataError::Corrupt { .. } | DataError::Truncated { .. });
            assert!(told, "{compression} {place}: {error:?}");
        }
        let mut longer = packed.clone();
        longer.extend_from_slice(b"this is no further stream");
        std::fs::write(&path, &longer).expect("writing");
        let error = read(&path, &ReadOptions::default()).expect_err("junk at the end");
        assert!(matches!(error, DataError::Corrupt { .. }), "{error:?}");
    }
}

#[test]
fn of_a_bad_line_and_a_damaged_file_the_damage_is_reported() {
    let text = long_text().replacen("\n0 ", "\nzero ", 1);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    for packed in [bz2(text.as_bytes()), gz(text.as_bytes())] {
        std::fs::write(&path, &packed).expect("writing");
        let error = read(&path, &ReadOptions::default()).expect_err("a bad line");
        let fault = LineFault::Label { text: "zero".into() };
        assert_eq!(error, DataError::Line { file: path.clone(), line: 4, fault });
        // text of a file that is damaged further on is not to be trusted
        std::fs::write(&path, &packed[..packed.len() - 3]).expect("writing");
        let error = read(&path, &ReadOptions::default()).expect_err("a bad line, and no end");
        assert!(matches!(error, DataError::Truncated { .. }), "{error:?}");
    }
}

#[test]
fn other_packings_are_named() {
    for (start, packing) in [
        (&b"\xfd7zXZ\0rest"[..], "xz"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"PK\x03\x04rest", "zip"),
    ] {
        let error = read_bytes(start.to_vec()).expect_err("unknown");
        assert_eq!(error, DataError::UnknownPacking { file: "file".into(), packing });
    }
}

#[test]
fn bombs_are_stopped_by_the_limits() {
    let text = "1 1:1\n".repeat(1_000_000);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bomb");
    let limit = 1_000_000;
    for packed in [bz2(text.as_bytes()), gz(text.as_bytes())] {
        std::fs::write(&path, &packed).expect("writing");
        let options = ReadOptions::default().max_text(limit);
        let error = read(&path, &options).expect_err("too much text");
        assert_eq!(error, DataError::TooMuchText { file: path.clone(), limit });
        let options = ReadOptions::default().max_memory(limit);
        let error = read(&path, &options).expect_err("too much memory");
        assert!(matches!(error, DataError::TooMuchMemory { .. }), "{error:?}");
        let options = ReadOptions::default().max_text(text.len() as u64);
        assert_eq!(read(&path, &options).expect("all of it").len(), 1_000_000);
    }
}

#[test]
fn a_block_that_grows_to_megabytes_is_read_piece_by_piece_to_the_same_rows() {
    let zeros = "0".repeat(300_000);
    let text: String = (0..20).map(|i| format!("{} 1:{i}.{zeros} 7:1\n", i % 3)).collect();
    let packed = bz2(text.as_bytes());
    assert!(packed.len() < 2000, "{}", packed.len());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs");
    std::fs::write(&path, &packed).expect("writing");
    let data = read(&path, &ReadOptions::default()).expect("rows");
    assert_eq!(data, read_bytes(text.into_bytes()).expect("rows"));
    assert_eq!(data.rows.values[2..6], [1.0, 1.0, 2.0, 1.0]);
}

#[test]
fn labels_count_towards_the_memory() {
    let labels: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let with = |bytes: u64| {
        let options = ReadOptions::default().max_memory(bytes);
        read_from(std::io::Cursor::new(labels.clone().into_bytes()), "file", &options)
    };
    assert!(matches!(with(10 << 20), Err(DataError::TooMuchMemory { .. })));
    assert_eq!(with(40 << 20).expect("room for all").classes.len(), 100_000);
}

#[test]
fn declared_classes_and_features_must_hold() {
    let with =
        |text: &'static str, options: ReadOptions| read_from(text.as_bytes(), "file", &options);
    let classes = |n| ReadOptions::default().classes(n);
    let file = || "file".into();
    assert_eq!(
        with("1 1:1\n2 1:1\n3 1:1\n", classes(2)).expect_err("too few"),
        DataError::TooFewClasses { file: file(), declared: 2, seen: 3 }
    );
    for (text, label) in
        [("-1 1:1\n1 1:1\n", "-1"), ("1\n1.5\n", "1.5"), ("1\n5\n", "5"), ("0\n3\n", "3")]
    {
        assert_eq!(
            with(text, classes(3)).expect_err("no names"),
            DataError::UnnamedClasses { file: file(), declared: 3, seen: 2, label: label.into() }
        );
    }
    assert!(matches!(with("1\n", classes(usize::MAX)), Err(DataError::Setting { .. })));
    let zero_based = with("0\n2\n", classes(3)).expect("three classes");
    assert_eq!((zero_based.classes.len(), zero_based.labels), (3, vec![0, 2]));
    assert_eq!(with("-1\n+1\n", classes(2)).expect("two classes").labels, [0, 1]);
    assert_eq!(
        with("1 1:1\n1 7:1\n", ReadOptions::default().features(6)).expect_err("too wide"),
        DataError::Line {
            file: file(),
            line: 2,
            fault: LineFault::BeyondFeatures { index: 7, features: 6 }
        }
    );
    assert_eq!(with("1 1:1\n", ReadOptions::default().features(6)).expect("fits").features, 6);
}

#[test]
fn declared_labels_keep_their_order_and_no_other_is_taken() {
    let labels = || ["+2", "1", "-0", "7"].iter().filter_map(|l| Label::parse(l)).collect();
    let with = |text: &'static str| {
        read_from(text.as_bytes(), "file", &ReadOptions::default().labels(labels()))
    };
    let data = with("1 1:1\n2.0 1:1\n0\n2\n").expect("known labels");
    assert_eq!((data.classes, data.labels), (labels(), vec![1, 0, 2, 0]));
    let fault = LineFault::LabelUnknown { text: "3".into() };
    assert_eq!(
        with("1\n# a comment\n\n3 1:1\n").expect_err("unknown"),
        DataError::Line { file: "file".into(), line: 4, fault }
    );
}
