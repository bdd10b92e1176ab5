//! Files that were made to do harm are refused in one line, within the memory that docs/hostile-input.md states, and that
//! file has every one of them word for word.

mod common;

use common::cases::{Case, case, missing_rows, run, without_file, written};
use std::io::{self, Write};

/// The limits that all of them run with.
const DATA: &[&str] =
    &["--threads", "2", "--max-memory", "64M", "--max-line", "1M", "--max-unpacked", "16M"];
const REPORT: &[&str] = &["--max-memory", "64M"];

/// What docs/hostile-input.md states for these limits: the memory, three lines, and 32 MiB for each thread.
const MOST_MEMORY: u64 = (64 + 3 + 2 * 32) << 20;

fn repeat(out: &mut dyn Write, text: &str, bytes: usize) -> io::Result<()> {
    let block = text.repeat((1 << 16) / text.len() + 1);
    for _ in 0..bytes / block.len() + 1 {
        out.write_all(block.as_bytes())?;
    }
    Ok(())
}

fn gz(out: &mut dyn Write, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
    write(&mut packed)?;
    packed.finish().map(|_| ())
}

fn bz2(out: &mut dyn Write, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut packed = bzip2::write::BzEncoder::new(out, bzip2::Compression::best());
    write(&mut packed)?;
    packed.finish().map(|_| ())
}

fn text() -> Vec<Case> {
    let svm = "bad.svm";
    let million = |digit: &str| digit.repeat(1_000_000);
    vec![
        written("a line of digits", svm, |out| repeat(out, "1", 3 << 20)),
        written("a line of blanks", svm, |out| repeat(out, " ", 3 << 20)),
        written("a comment without an end", svm, |out| repeat(out, "#", 3 << 20)),
        written("a line of features", svm, |out| {
            write!(out, "1")?;
            (1..400_000).try_for_each(|i| write!(out, " {i}:1"))
        }),
        without_file("a device without an end", "/dev/zero"),
        written("nothing but line ends", svm, |out| repeat(out, "\n", 10 << 20)),
        written("nothing but comments", svm, |out| repeat(out, "# 1 1:1\n", 10 << 20)),
        written("six million rows", svm, |out| repeat(out, "1\n", 12 << 20)),
        written("half a million labels of rows", svm, |out| {
            (0..500_000).try_for_each(|i| writeln!(out, "{i} 1:1"))
        }),
        written("six million features", svm, |out| {
            for _ in 0..6_000 {
                write!(out, "1")?;
                (1..1000).try_for_each(|i| write!(out, " {i}:1"))?;
                writeln!(out)?;
            }
            Ok(())
        }),
        case("a feature far out", svm, "1 4294967295:1\n2 1:1\n"),
        written("a thousand labels and a feature far out", svm, |out| {
            (0..1000).try_for_each(|i| writeln!(out, "{i} 4294967:1"))
        }),
        written("a label of a million digits", svm, move |out| {
            write!(out, "{}1 1:1\n2 1:1\n", million("0"))
        }),
        written("an index of a million digits", svm, move |out| {
            writeln!(out, "1 {}:1", million("9"))
        }),
        written("a value of a million digits", svm, move |out| {
            writeln!(out, "1 1:{}", million("9"))
        }),
        written("an exponent of a million digits", svm, move |out| {
            writeln!(out, "1 1:1e{}", million("9"))
        }),
        case("a label that clears the terminal", svm, "\x1b[2J\x1b]0;pwned\x07 1:1\n"),
        case("a label written backwards", svm, "\u{202e}1 1:1\n"),
        case("a label that names a file", svm, "../../../etc/passwd 1:1\n"),
        case("a label that is a command", svm, "$(reboot) 1:1\n"),
        case("a label that is a page", svm, "<script>alert(1)</script> 1:1\n"),
        case("a label of NUL bytes", svm, b"\0\0\0\0 1:1\n"),
        case("a feature that is not UTF-8", svm, b"1 1:\xc3\x28\n"),
        case("a message in two lines", svm, "1 1:1\x0bcouloir: all is well\n"),
    ]
}

fn packed() -> Vec<Case> {
    let row = |out: &mut dyn Write| out.write_all(b"1 1:1\n2 1:1\n");
    let (mut good_gz, mut good_bz2) = (Vec::new(), Vec::new());
    gz(&mut good_gz, row).expect("packing");
    bz2(&mut good_bz2, row).expect("packing");
    let without = |bytes: &[u8], last: usize| bytes[..bytes.len() - last].to_vec();
    let flipped = |bytes: &[u8], place: usize| {
        let mut bytes = bytes.to_vec();
        bytes[place] ^= 1;
        bytes
    };
    let end = good_gz.len() - 6;
    vec![
        written("a .gz bomb of line ends", "bad.gz", |out| {
            gz(out, |out| repeat(out, "\n", 30 << 20))
        }),
        written("a .gz bomb of one line", "bad.gz", |out| {
            gz(out, |out| repeat(out, "1", 30 << 20))
        }),
        written("a .gz bomb of rows", "bad.gz", |out| {
            gz(out, |out| repeat(out, "1\n2\n", 12 << 20))
        }),
        written("a .bz2 bomb of line ends", "bad.bz2", |out| {
            bz2(out, |out| repeat(out, "\n", 30 << 20))
        }),
        written("a .bz2 bomb of one line", "bad.bz2", |out| {
            bz2(out, |out| repeat(out, "1", 30 << 20))
        }),
        written("a .bz2 bomb of long comments", "bad.bz2", |out| {
            bz2(out, |out| {
                for _ in 0..60 {
                    repeat(out, "#", 500_000)?;
                    writeln!(out)?;
                }
                Ok(())
            })
        }),
        written("a .gz of ten thousand files", "bad.gz", |out| {
            (0..10_000).try_for_each(|_| gz(out, |_| Ok(())))
        }),
        written("a .bz2 of ten thousand files", "bad.bz2", |out| {
            let mut empty = Vec::new();
            bz2(&mut empty, |_| Ok(()))?;
            (0..10_000).try_for_each(|_| out.write_all(&empty))
        }),
        written("a .gz with a name of 20 MB", "bad.gz", |out| {
            out.write_all(b"\x1f\x8b\x08\x08\0\0\0\0\0\x03")?;
            repeat(out, "n", 20 << 20)
        }),
        case("a .gz in a .gz", "bad.gz", {
            let mut twice = Vec::new();
            gz(&mut twice, |out| out.write_all(&good_gz)).expect("packing");
            twice
        }),
        case("a .bz2 in a .gz", "bad.gz", {
            let mut twice = Vec::new();
            gz(&mut twice, |out| out.write_all(&good_bz2)).expect("packing");
            twice
        }),
        case("a .gz with a wrong checksum", "bad.gz", flipped(&good_gz, end)),
        case("a .bz2 with a wrong checksum", "bad.bz2", flipped(&good_bz2, 10)),
        case("a .gz cut in its header", "bad.gz", &good_gz[..7]),
        case("a .bz2 cut in its header", "bad.bz2", &good_bz2[..9]),
        case("a .gz without its end", "bad.gz", without(&good_gz, 4)),
        case("a .bz2 without its end", "bad.bz2", without(&good_bz2, 4)),
        case("a .gz with more behind it", "bad.gz", [&good_gz[..], b"more"].concat()),
        case("a .gz with 17 MiB of zeros behind it", "bad.gz", {
            [&good_gz[..], &vec![0; 17 << 20]].concat()
        }),
        case("a .bz2 with more behind it", "bad.bz2", [&good_bz2[..], b"more"].concat()),
        case("an archive", "bad.zip", b"PK\x03\x04\x14\0\0\0"),
    ]
}

/// A model file with this header and so many numbers.
fn model(header: &str, numbers: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend((0..numbers).flat_map(|_| 1f64.to_le_bytes()));
    bytes
}

const META: &str =
    r#""__metadata__":{"format":"couloir classifier","version":"1","labels":"[\"1\",\"2\"]"}"#;

/// A model file with these tensors and so many numbers.
fn with(tensors: &str, numbers: usize) -> Vec<u8> {
    model(&format!("{{{META},{tensors}}}"), numbers)
}

/// A model file with six numbers and weights of this shape in this place.
fn weights(shape: &str, offsets: &str) -> Vec<u8> {
    with(&tensor(shape, offsets), 6)
}

fn tensor(shape: &str, offsets: &str) -> String {
    format!(r#""weights":{{"dtype":"F64","shape":{shape},"data_offsets":{offsets}}}"#)
}

/// A model file with these labels, as the JSON in its JSON has them.
fn labels(labels: &str) -> Vec<u8> {
    let text = META.replace(r#"\"1\",\"2\""#, labels);
    model(&format!("{{{text},{}}}", tensor("[2,3]", "[0,48]")), 6)
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    (0..count).for_each(|i| text.extend([if i > 0 { "," } else { "" }, &one(i)]));
    text
}

fn models() -> Vec<Case> {
    // made when it is written, so that the test itself stays small
    let bad = |name: &'static str, content: fn() -> Vec<u8>| {
        written(name, "predict bad.model good.svm", move |out| out.write_all(&content()))
    };
    vec![
        bad("a header of 2^63 bytes", || [&(1u64 << 63).to_le_bytes()[..], b"{}"].concat()),
        bad("a header of 5 MB", || model(&" ".repeat(5 << 20), 0)),
        bad("a header nested 100000 deep", || {
            with(&format!(r#""x":{}{}"#, "[".repeat(100_000), "]".repeat(100_000)), 0)
        }),
        bad("weights of 2^62 rows", || weights("[4611686018427387904,4]", "[0,48]")),
        bad("weights of 2^64 rows", || weights("[18446744073709551616,4]", "[0,48]")),
        bad("weights beyond the file", || weights("[2,300000000000]", "[0,4800000000000]")),
        bad("weights before the file", || weights("[2,3]", "[-48,0]")),
        bad("weights from their end to their start", || weights("[2,3]", "[48,0]")),
        bad("weights of no feature", || with(&tensor("[2,0]", "[0,0]"), 0)),
        bad("weights of a million dimensions", || {
            with(&tensor(&format!("[{}]", many(1_000_000, |_| "1".to_owned())), "[0,8]"), 1)
        }),
        bad("sixty thousand tensors", || {
            let empty = r#"{"dtype":"F64","shape":[0],"data_offsets":[0,0]}"#;
            with(&many(60_000, |i| format!(r#""t{i}":{empty}"#)), 0)
        }),
        bad("a third of a million labels", || labels(&many(350_000, |i| format!(r#"\"{i}\""#)))),
        bad("labels nested 100000 deep", || labels(&"[".repeat(100_000))),
        bad("a class that clears the terminal", || labels(r#"\"\\u001b[2J\",\"2\""#)),
        bad("a format with a line end", || {
            model(r#"{"__metadata__":{"format":"x\ncouloir: all is well","version":"1"}}"#, 0)
        }),
        // the header alone is there, the rest is announced
        bad("a model of 64 GB", || weights("[2,4000000000]", "[0,64000000000]")),
        without_file("a device in place of a model", "predict /dev/zero good.svm"),
    ]
}

fn results() -> Vec<Case> {
    const SETTINGS: &str = r#"{"kind":"comparison","version":"1","objective":"dro","tau":1,"level":1,"start":"uniform","time_budget":1,"seed":0,"threads":1,"machine":{}}"#;
    let data = |i: usize| {
        format!(
            r#"{{"kind":"data","data":"{i}","n":1,"d":1,"classes":2,"entries":1,"tau":1,"scale":1}}"#
        )
    };
    let report = "report bad";
    vec![
        written("results of 20 MB", report, |out| {
            writeln!(out, "{SETTINGS}")?;
            repeat(out, "{}\n", 20 << 20)
        }),
        written("three hundred thousand lines of nothing", report, |out| {
            writeln!(out, "{SETTINGS}")?;
            repeat(out, "{}\n", 900_000)
        }),
        written("a result of 500 kB", report, |out| {
            writeln!(out, "{SETTINGS}")?;
            repeat(out, "[", 500_000)
        }),
        written("settings of 500 kB", report, |out| repeat(out, " ", 500_000)),
        case("settings nested 100000 deep", report, {
            format!(r#"{{"kind":"comparison","machine":{}"#, "[".repeat(100_000))
        }),
        written("three thousand data sets", report, move |out| {
            writeln!(out, "{SETTINGS}")?;
            (0..3000).try_for_each(|i| writeln!(out, "{}", data(i)))
        }),
        case("settings that are no text", report, b"\xff\xfe\0\0"),
        case("settings without points", report, SETTINGS),
    ]
}

fn checkpoints() -> Vec<Case> {
    let resume = "good.svm --resume bad.ck";
    let head = |version: u32| [&b"COULCKPT"[..], &version.to_le_bytes()].concat();
    // entries in a file whose length and sum are right
    let sealed = |entries: &[u8]| {
        let mut file = [&head(3)[..], entries].concat();
        file.extend((file.len() as u64 + 12).to_le_bytes());
        file.extend(crc32fast::hash(&file).to_le_bytes());
        file
    };
    let mut other_sum = sealed(b"entries");
    other_sum[13] ^= 1;
    vec![
        case("a checkpoint of no bytes", resume, b""),
        case("a checkpoint that is data", resume, "1 1:1\n2 2:1\n"),
        case("a checkpoint of its name alone", resume, b"COULCKPT"),
        case("a checkpoint of a later version", resume, [head(7), vec![0; 50]].concat()),
        case("a checkpoint of an earlier version", resume, [head(1), vec![0; 50]].concat()),
        case("a checkpoint with a changed byte", resume, other_sum),
        case("a checkpoint without entries", resume, sealed(b"")),
        case("a checkpoint of 2^64 bytes", resume, {
            [&head(3)[..], &u64::MAX.to_le_bytes(), &[0; 4]].concat()
        }),
        case("a checkpoint with a text of 2^60 bytes", resume, {
            sealed(
                &[
                    &b"L\x0bfingerprint"[..],
                    &1u64.to_le_bytes(),
                    b"t\0",
                    &(1u64 << 60).to_le_bytes(),
                ]
                .concat(),
            )
        }),
        case("a checkpoint with a list of 2^60 items", resume, {
            sealed(&[&b"L\x0bfingerprint"[..], &(1u64 << 60).to_le_bytes()].concat())
        }),
        without_file("a device in place of a checkpoint", "good.svm --resume /dev/zero"),
    ]
}

fn cases() -> Vec<Case> {
    let data = text().into_iter().chain(packed()).chain(models()).chain(checkpoints());
    let data = data.map(|case| Case { options: DATA, ..case });
    data.chain(results().into_iter().map(|case| Case { options: REPORT, ..case })).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "what was measured, for --nocapture")]
fn every_case_is_refused_within_the_memory_that_the_docs_state_and_in_their_words() {
    let (mut rows, mut greedy) = (Vec::new(), Vec::new());
    for case in cases() {
        let began = std::time::Instant::now();
        let refused = run(&case);
        println!("{:>4} MiB {:>5.2?} {}", refused.peak >> 20, began.elapsed(), case.name);
        if refused.peak > MOST_MEMORY {
            greedy.push(format!("{}: {} MiB", case.name, refused.peak >> 20));
        }
        rows.push(case.row(&refused.message));
    }
    assert!(greedy.is_empty(), "more memory than stated:\n{}", greedy.join("\n"));
    assert!(rows.len() >= 40, "{}", rows.len());
    let missing = missing_rows("hostile-input.md", &rows);
    assert!(missing.is_empty(), "docs/hostile-input.md lacks these rows:\n{}", missing.join("\n"));
}
