//! The file of an instance, as bench/peers/oracles/instances.py describes it.

use std::collections::HashMap;
use std::io::{self, Read};

pub struct Instance {
    settings: HashMap<String, String>,
    arrays: HashMap<String, Vec<f64>>,
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

impl Instance {
    pub fn read(path: &str) -> io::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.read_to_end(&mut bytes)?;
        let (mut at, mut lengths) = (0, Vec::new());
        let mut settings = HashMap::new();
        loop {
            let rest = &bytes[at..];
            let end =
                rest.iter().position(|b| *b == b'\n').ok_or_else(|| invalid("no line `data`"))?;
            let line = std::str::from_utf8(&rest[..end]).map_err(|_| invalid("no text"))?;
            at += end + 1;
            if line == "data" {
                break;
            }
            let (key, words) = line.split_once(' ').ok_or_else(|| invalid("a line of one word"))?;
            if key == "array" {
                let (name, length) = words.split_once(' ').ok_or_else(|| invalid("an array"))?;
                let length: usize = length.parse().map_err(|_| invalid("a length"))?;
                lengths.push((name.to_owned(), length));
            } else {
                settings.insert(key.to_owned(), words.to_owned());
            }
        }
        let mut arrays = HashMap::new();
        for (name, length) in lengths {
            let part = bytes.get(at..at + 8 * length).ok_or_else(|| invalid("it ends early"))?;
            at += 8 * length;
            let (words, _) = part.as_chunks::<8>();
            arrays.insert(name, words.iter().map(|word| f64::from_le_bytes(*word)).collect());
        }
        Ok(Instance { settings, arrays })
    }

    pub fn words(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", String::as_str)
    }

    pub fn number(&self, key: &str) -> f64 {
        self.words(key).parse().unwrap_or(f64::NAN)
    }

    pub fn array(&self, name: &str) -> Vec<f64> {
        self.arrays.get(name).cloned().unwrap_or_default()
    }
}
