//! Data sets by what people call them: a file, a name of the catalogue, or a shape to be made.

use crate::failure::bad;
use crate::files::{Limits, Source};
use crate::settings::read_to_train;
use anyhow::Result;
use couloir_data::generate::TextLike;
use couloir_data::{Dataset, catalogue};
use std::path::Path;

/// Shapes that can be made by name: rows, features, classes, mean number of nonzeros in a row, imbalance of the
/// classes.
const SHAPES: [(&str, usize, usize, usize, f64, f64); 3] = [
    ("news20", 15_935, 62_061, 20, 80.0, 0.0),
    ("rcv1", 15_564, 47_236, 53, 65.0, 1.0),
    ("sector", 6_412, 55_197, 105, 163.0, 0.0),
];

const GENERATED: &str = "generated:";

/// A data set that is still to be read or made.
pub struct DataSet {
    /// What tables call it.
    pub name: String,
    from: From,
}

enum From {
    Source(Source),
    Made(TextLike),
}

impl DataSet {
    /// The data set that is called so: `generated:news20`, `generated:2000x5000x8`, `-` for standard input, a name of the
    /// catalogue, a file.
    pub fn find(data: &Path) -> Result<Self> {
        let text = data.to_string_lossy();
        if let Some(shape) = text.strip_prefix(GENERATED) {
            let from = From::Made(made(&text, shape)?);
            return Ok(DataSet { name: text.into_owned(), from });
        }
        // what cannot be looked at says why when it is opened
        let is_missing = matches!(data.try_exists(), Ok(false));
        if is_missing && data != Path::new("-") && catalogue::find(&text).is_none() {
            return Err(bad(format!(
                "{text}: no such file, and no data set of that name{}; `couloir data list` has the names",
                nearest(&text)
            )));
        }
        Ok(DataSet { name: short_name(data), from: From::Source(Source::find(data)?) })
    }

    /// How messages call it.
    pub fn path(&self) -> &Path {
        match &self.from {
            From::Source(source) => source.name(),
            From::Made(_) => Path::new(&self.name),
        }
    }

    /// Fails if it is known already that there is not enough memory for it.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        match &self.from {
            From::Source(_) => Ok(()),
            From::Made(text) => limits.memory.check(&self.name, text.memory(), "make less"),
        }
    }

    /// Reads or makes it, with so many classes where that is given, if what is to be done with `(n, d, h, entries)` fits
    /// into memory.
    pub fn load(
        &self,
        limits: &Limits,
        classes: Option<usize>,
        job: impl FnOnce(usize, usize, usize, usize) -> (String, u64),
    ) -> Result<Dataset> {
        self.check(limits)?;
        let text = match &self.from {
            From::Source(source) => return read_to_train(source, limits, classes, job),
            From::Made(text) => text,
        };
        let data = text.generate()?;
        let (name, made) = (&self.name, data.classes.len());
        if let Some(declared) = classes.filter(|&declared| declared != made) {
            return Err(bad(format!(
                "{name}: has {made} classes, not {declared}; leave --classes out"
            )));
        }
        let (what, bytes) = job(data.len(), data.features, made, data.nonzeros());
        limits.memory.check(&format!("{name}: {what}"), bytes, "make less")?;
        Ok(data)
    }
}

/// The name of a file without its folder and what says how it is packed.
fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.strip_suffix(".bz2").or(name.strip_suffix(".gz")).unwrap_or(&name);
    name.to_owned()
}

fn made(text: &str, shape: &str) -> Result<TextLike> {
    if let Some((_, n, d, h, density, imbalance)) = SHAPES.iter().find(|s| s.0 == shape) {
        return Ok(TextLike::new(*n, *d, *h).density(*density).imbalance(*imbalance));
    }
    let sizes: Option<Vec<usize>> = shape.split('x').map(|size| size.parse().ok()).collect();
    match sizes.as_deref() {
        Some(&[n, d, h]) => {
            let text_like = TextLike::new(n, d, h);
            text_like.check().map_err(|error| bad(format!("{text}: {error}")))?;
            Ok(text_like)
        }
        _ => Err(bad(format!(
            "{text}: expected rows x features x classes, like {GENERATED}2000x5000x8, or a known shape{}",
            nearest(text)
        ))),
    }
}

/// The known name that is most like this one, for a message; nothing where none is like it.
fn nearest(text: &str) -> String {
    const ALIKE: f64 = 0.75;
    let names = catalogue::CATALOGUE.iter().map(|entry| entry.name.to_owned());
    let shapes = SHAPES.iter().map(|shape| format!("{GENERATED}{}", shape.0));
    let mut scored: Vec<(f64, String)> = (names.chain(shapes))
        .map(|name| (strsim::jaro_winkler(text, &name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    scored.pop().map_or(String::new(), |(_, name)| format!("; nearest is {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        DataSet::find(Path::new(text)).err().expect("an error").to_string()
    }

    #[test]
    fn shapes_are_made_as_they_are_spelled() {
        let set = DataSet::find(Path::new("generated:60x40x3")).expect("a set");
        let From::Made(text) = &set.from else { panic!("not made") };
        let data = text.generate().expect("data");
        assert_eq!((data.len(), data.features, data.classes.len()), (60, 40, 3));
        assert_eq!(set.name, "generated:60x40x3");
        assert!(DataSet::find(Path::new("generated:sector")).is_ok());
    }

    #[test]
    fn a_name_that_is_not_known_is_answered_with_the_nearest() {
        assert!(error("news20.scal").contains("nearest is news20.scale"));
        assert!(error("generated:sektor").contains("nearest is generated:sector"));
        assert!(!error("zzz").contains("nearest"), "{}", error("zzz"));
        for text in ["generated:", "generated:1x2", "generated:axbxc", "generated:0x0x0"] {
            assert!(error(text).contains(text.trim_end_matches(':')), "{text}");
        }
    }

    #[test]
    fn files_go_by_their_names_without_folder_and_packing() {
        assert_eq!(short_name(Path::new("a/news20.scale.bz2")), "news20.scale");
        assert_eq!(short_name(Path::new("text.svm")), "text.svm");
    }
}
