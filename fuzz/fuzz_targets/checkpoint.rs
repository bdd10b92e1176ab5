#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| couloir_fuzz::checkpoint(bytes));
