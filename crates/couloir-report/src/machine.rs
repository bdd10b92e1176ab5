//! What is known of the machine, for results that are to be understood later.

use crate::numbers::show_bytes;
use std::collections::BTreeMap;

/// Facts by name; what the system does not tell is left out.
pub fn facts() -> BTreeMap<String, String> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut facts = BTreeMap::from([(
        "system".to_owned(),
        format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
    )]);
    if let Some(processor) = value_of(&read("/proc/cpuinfo"), "model name") {
        facts.insert("processor".to_owned(), processor);
    }
    if let Ok(processors) = std::thread::available_parallelism() {
        facts.insert("processors".to_owned(), processors.to_string());
    }
    let memory = value_of(&read("/proc/meminfo"), "MemTotal");
    let kilobytes = memory.and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
    if let Some(kilobytes) = kilobytes {
        facts.insert("memory".to_owned(), show_bytes(1024 * kilobytes));
    }
    facts
}

/// The value in a text of lines like `name : value`.
fn value_of(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names() {
        let text = "processor\t: 0\nmodel name\t: A: fast\nmodel name\t: B\n";
        assert_eq!(value_of(text, "model name").as_deref(), Some("A: fast"));
        assert_eq!(value_of(text, "name"), None);
        assert!(facts().contains_key("system"));
    }
}
