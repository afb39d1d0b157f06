#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| regatta_fuzzing::run("requests", data));
