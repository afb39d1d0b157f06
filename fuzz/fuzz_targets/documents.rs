#![no_main]
libfuzzer_sys::fuzz_target!(init: regatta_fuzzing::load(), |data: &[u8]| regatta_fuzzing::run("documents", data));
