//! The modules of the library are layers: each imports only those that stand before it in this list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The layers, lowest first; modules of one line do not know each other.
const LAYERS: [&[&str]; 11] = [
    &["error"],
    &["state", "io", "watch"],
    &["random", "linalg"],
    &["domain"],
    &["problem"],
    &["oracles"],
    &["certificate"],
    &["run"],
    &["block"],
    &["solver"],
    &["model"],
];

/// The rank of each module.
fn ranks() -> BTreeMap<&'static str, usize> {
    let ranked = LAYERS.iter().enumerate();
    ranked.flat_map(|(rank, modules)| modules.iter().map(move |module| (*module, rank))).collect()
}

/// A file's code without its comments and unit tests.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    before_tests.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The modules that a piece of code names by `crate::module`, also within braces.
fn named(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let list = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default(),
            None => rest,
        };
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        match rest.starts_with('{') {
            true => found.extend(list.split(',').filter_map(|n| n.trim().split(ends).next())),
            false => found.extend(list.split(ends).next()),
        }
    }
    found
}

/// What a file of this module imports from a layer that is not below it.
fn upward<'a>(module: &str, code: &'a str, ranks: &BTreeMap<&str, usize>) -> Vec<&'a str> {
    let own = ranks.get(module).copied();
    let is_above = |name: &&str| {
        *name != module && ranks.get(name).is_some_and(|rank| own.is_none_or(|own| *rank >= own))
    };
    named(code).into_iter().filter(is_above).collect()
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn each_module_imports_only_layers_below_its_own() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let ranks = ranks();
    let mut all = Vec::new();
    files(&source, &mut all);
    let mut modules = 0;
    let mut wrong = Vec::new();
    for path in all {
        let relative = path.strip_prefix(&source).expect("below the sources");
        let first = relative.iter().next().and_then(|part| part.to_str()).expect("a name");
        let module = first.trim_end_matches(".rs");
        if module == "lib" || relative.ends_with("tests.rs") {
            continue;
        }
        assert!(ranks.contains_key(module), "`{module}` has no layer: add it to LAYERS");
        modules += 1;
        let text = std::fs::read_to_string(&path).expect("a source");
        let code = code(&text);
        for name in upward(module, &code, &ranks) {
            wrong.push(format!("{} imports `{name}`", relative.display()));
        }
    }
    assert!(modules > 50, "only {modules} files were looked at");
    assert!(wrong.is_empty(), "imports that do not point down:\n{}", wrong.join("\n"));
}

#[test]
fn an_import_that_points_up_is_found() {
    let ranks = ranks();
    let up = "use crate::error::Result;\nuse crate::run::{Stall, Step};\nuse crate::{linalg, solver::Solve};";
    assert_eq!(upward("domain", up, &ranks), ["run", "solver"]);
    assert_eq!(upward("solver", up, &ranks), Vec::<&str>::new());
    // modules of one layer do not know each other, and comments and tests do not count
    assert_eq!(upward("random", "crate::linalg::dot", &ranks), ["linalg"]);
    assert!(
        named(&code("// crate::run\nfn f() {}\n#[cfg(test)]\nmod tests { use crate::model; }"))
            .is_empty()
    );
}
