//! For the test that every entry of a checkpoint is needed: which ones there are, and one that is not loaded.

use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static SEEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    static FORGOTTEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

pub fn see(path: &str) {
    SEEN.with_borrow_mut(|seen| {
        if !seen.contains(path) {
            seen.insert(path.to_owned());
        }
    });
}

pub fn take_seen() -> BTreeSet<String> {
    SEEN.take()
}

pub fn forgets(path: &str) -> bool {
    FORGOTTEN.with_borrow(|forgotten| forgotten.as_deref() == Some(path))
}

pub fn forget(path: Option<String>) {
    FORGOTTEN.set(path);
}
