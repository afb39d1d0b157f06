//! Transcripts that other processes wrote: of workers in reports and jobs, in segments, in runs that somebody hands on.

use std::sync::LazyLock;

use regatta_benchmark_testing::drive;
use regatta_benchmarks::{Persona, Scoring, Step};
use regatta_proto::{Compact, Role, Transcript, wire};
use serde_json::Value;

use crate::answers::{Judge, LOADED, Loaded, assert_is_markup};
use crate::edits::edited;
use crate::input::Input;

/// Right sessions by benchmark and setting, each of the first item that the setting has.
pub(crate) static RIGHT: LazyLock<Vec<Vec<Value>>> =
    LazyLock::new(|| right(|transcript| serde_json::to_value(transcript).unwrap()));

/// The same in the compact form.
pub(crate) static COMPACT: LazyLock<Vec<Vec<Value>>> =
    LazyLock::new(|| right(|transcript| serde_json::to_value(Compact(transcript)).unwrap()));

fn right(written: impl Fn(&Transcript) -> Value) -> Vec<Vec<Value>> {
    let of_benchmark = |loaded: &Loaded| {
        let played = |(setting, items): &(_, Vec<_>)| drive(&*loaded.suite, items[0], setting, Persona::Oracle, 1);
        loaded.settings.iter().map(|setting| written(&played(setting))).collect()
    };
    LOADED.iter().map(of_benchmark).collect()
}

/// Whatever a transcript says, its session goes on, is done, or does not fit; and it is scored or not.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let number = usize::from(input.byte()) % LOADED.len();
    let loaded = &LOADED[number];
    let of_setting = usize::from(input.byte()) % loaded.settings.len();
    let (setting, items) = &loaded.settings[of_setting];
    let document = match input.byte() % 4 {
        0 => edited(RIGHT[number][of_setting].clone(), input),
        2 => edited(COMPACT[number][of_setting].clone(), input),
        _ => serde_json::from_slice(input.0).unwrap_or_default(),
    };
    let Ok(transcript) = serde_json::from_value::<Transcript>(document) else { return };
    let written = wire::encode(&transcript).unwrap();
    assert_eq!(wire::decode::<Transcript>(&written).unwrap(), transcript);
    let compact = wire::encode_compact(&Compact(&transcript), transcript.compacted_bytes()).unwrap();
    assert_eq!(wire::decode::<Transcript>(&compact).unwrap(), transcript);

    let (suite, item) = (&*loaded.suite, items[0]);
    if let Step::Failed(failed) = suite.next(item, setting, &transcript) {
        panic!("a session of {setting} failed: {failed:?}");
    }
    suite.is_invalid_format(item, setting, &transcript);
    let replies: Vec<_> = transcript.replies(Role::Agent).cloned().collect();
    let judge = Judge { replies: &replies };
    for evaluator in loaded.evaluators() {
        match suite.score_session(item, setting, &[*evaluator], &transcript, &judge) {
            Scoring::Scored(scores) => {
                for (name, value) in scores.values().flat_map(|score| &score.values) {
                    assert!(value.is_finite(), "{name} of {evaluator:?} is {value}");
                }
            }
            Scoring::Needs(_) | Scoring::Unfit(_) => {}
            Scoring::Failed(failed) => panic!("{evaluator:?} failed: {failed:?}"),
        }
    }
    drop(suite.drawings(item, setting, loaded.evaluators(), &transcript, &judge));
    for picture in suite.pictures(item, setting, &transcript) {
        assert_is_markup(&picture.svg);
    }
}
