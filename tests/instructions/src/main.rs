//! Hot paths of a session, one of them so many times: `hot-paths NAME TIMES`.
//!
//! The start of the program is the same for every number of times, so that the difference of two numbers is what the path itself takes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "only a test runs it, where a panic is a failure")]

// The sessions of the ledger's benchmarks.
#[path = "../../../backends/benches/sessions/mod.rs"]
mod recorded;
mod recording;
mod sessions;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = &arguments[..] else { panic!("hot-paths NAME TIMES") };
    let times: u32 = times.parse().unwrap();
    match name.as_str() {
        "prompts" => sessions::prompts(times),
        "questions" => sessions::questions(times),
        "scores" => sessions::scores(times),
        "messages" => sessions::messages(times),
        "records" => recording::records(times),
        other => panic!("there is no hot path {other:?}"),
    }
}
