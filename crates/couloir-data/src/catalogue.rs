//! The data sets of the paper: what they are, where they come from, what they must hash to.

/// What is known of a file's SHA-256, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KnownDigest {
    /// All of it.
    Full(&'static str),
    /// How it begins.
    Prefix(&'static str),
    /// Nothing: the first one seen is recorded beside the file and must not change after that.
    Unknown,
}

/// A data set that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name to ask for.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The name of its file.
    pub file: &'static str,
    /// Where the file is.
    pub url: &'static str,
    /// The page that describes it.
    pub page: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The number of features.
    pub features: usize,
    /// The number of classes.
    pub classes: usize,
    /// What may be done with it, as far as anyone says.
    pub licence: &'static str,
    /// What it must hash to.
    pub sha256: KnownDigest,
}

macro_rules! multiclass {
    ($file:literal) => {
        concat!("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/", $file)
    };
}

macro_rules! page {
    ($anchor:literal) => {
        concat!("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html#", $anchor)
    };
}

const LICENCE: &str =
    "no licence stated on the source page; free for research by custom, do not redistribute";

/// All data sets that couloir knows by name.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "rcv1.multiclass",
        about: "Reuters newswire stories by second-level topic, tf-idf, unit rows",
        file: "rcv1_train.multiclass.bz2",
        url: multiclass!("rcv1_train.multiclass.bz2"),
        page: page!("rcv1.multiclass"),
        rows: 15_564,
        features: 47_236,
        classes: 53,
        licence: "derived from Reuters Corpus Volume 1; research use, do not redistribute",
        sha256: KnownDigest::Full(
            "79691e3f974aa6a08d5e3116c61aff822fbdb2725e99ed27fde4351af51076a8",
        ),
    },
    Entry {
        name: "sector.scale",
        about: "company web pages by industry sector, unit rows",
        file: "sector.scale.bz2",
        url: multiclass!("sector/sector.scale.bz2"),
        page: page!("sector"),
        rows: 6_412,
        features: 55_197,
        classes: 105,
        licence: LICENCE,
        sha256: KnownDigest::Unknown,
    },
    Entry {
        name: "news20.scale",
        about: "messages of twenty newsgroups, unit rows",
        file: "news20.scale.bz2",
        url: multiclass!("news20.scale.bz2"),
        page: page!("news20"),
        rows: 15_935,
        features: 62_061,
        classes: 20,
        licence: LICENCE,
        sha256: KnownDigest::Unknown,
    },
    Entry {
        name: "news20",
        about: "messages of twenty newsgroups, raw",
        file: "news20.bz2",
        url: multiclass!("news20.bz2"),
        page: page!("news20"),
        rows: 15_935,
        features: 62_061,
        classes: 20,
        licence: LICENCE,
        sha256: KnownDigest::Prefix("8c79851f"),
    },
];

/// The data set of that name.
///
/// ```
/// let news20 = couloir_data::catalogue::find("news20.scale").expect("in the catalogue");
/// assert_eq!((news20.rows, news20.features, news20.classes), (15_935, 62_061, 20));
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_are_unique_and_addresses_are_https() {
        for (i, entry) in CATALOGUE.iter().enumerate() {
            assert!(entry.url.starts_with("https://") && entry.url.ends_with(entry.file));
            assert!(CATALOGUE[..i].iter().all(|e| e.name != entry.name && e.file != entry.file));
            if let KnownDigest::Full(digest) | KnownDigest::Prefix(digest) = entry.sha256 {
                assert!(digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
            }
        }
    }
}
