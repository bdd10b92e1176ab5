//! Reads LIBSVM files and prints how fast: `cargo run --release -p couloir-data --example read_speed -- FILE...`
//!
//! `--json FILE` reads it once and prints `{"seconds": ...}` only, for `scripts/bench`.
#![allow(clippy::print_stdout)]

use couloir_data::libsvm::{ReadOptions, read, read_from};
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 5;

/// The best of a few runs, in seconds, and what the last gave.
fn best<T>(mut run: impl FnMut() -> Result<T, Box<dyn Error>>) -> Result<(f64, T), Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for round in 1.. {
        let start = Instant::now();
        let last = run()?;
        best = best.min(start.elapsed().as_secs_f64());
        if round >= ROUNDS {
            return Ok((best, last));
        }
    }
    Err("no rounds".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, file] = &arguments[..]
        && flag == "--json"
    {
        let start = Instant::now();
        read(Path::new(file), &ReadOptions::default())?;
        println!("{{\"seconds\": {:e}}}", start.elapsed().as_secs_f64());
        return Ok(());
    }
    println!("{} threads, best of {ROUNDS}", rayon::current_num_threads());
    for name in arguments {
        let path = Path::new(&name);
        let (seconds, data) = best(|| Ok(read(path, &ReadOptions::default())?))?;
        let (unpacking, text) = best(|| {
            let packed = std::fs::read(path)?;
            let mut text = Vec::new();
            match packed.get(..2) {
                Some(b"BZ") => {
                    bzip2::read::MultiBzDecoder::new(&packed[..]).read_to_end(&mut text)?
                }
                Some(b"\x1f\x8b") => {
                    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text)?
                }
                _ => packed[..].as_ref().read_to_end(&mut text)?,
            };
            Ok(text)
        })?;
        let megabytes = text.len() as f64 / 1e6;
        let text: &'static [u8] = text.leak();
        let (parsing, _) = best(|| Ok(read_from(text, &name, &ReadOptions::default())?))?;
        println!(
            "{name}: {} rows, {} features, {} classes, {} entries, {megabytes:.1} MB of text",
            data.len(),
            data.features,
            data.classes.len(),
            data.nonzeros()
        );
        println!("  read the file        {seconds:8.4} s  {:7.1} MB/s", megabytes / seconds);
        println!("  unpack, one thread   {unpacking:8.4} s  {:7.1} MB/s", megabytes / unpacking);
        println!("  parse from memory    {parsing:8.4} s  {:7.1} MB/s", megabytes / parsing);
    }
    Ok(())
}
