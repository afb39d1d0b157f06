//! Documents of people and of other processes: specs, policies, schedules, messages of queues, segments of transcripts, ids and tokens.

use regatta_catalog::{read_segment, segment_lines};
use regatta_coded::{Asked, Loaded, Scored, Served, Tabulated};
use regatta_coordinator::{
    Baseline, BudgetChange, CatchUp, GcRequest, QuotaRequest, Resumption, ScheduleSpec, Submission, TokenRequest,
    VerdictsRequest,
};
use regatta_proto::{
    AgentName, ApiToken, Attempt, AttemptId, BenchmarkName, Control, DecideQuestion, Digest, EndpointName, Evaluator,
    ItemId, Job, Limit, ModelRef, Money, OwnerName, Report, ScheduleName, Scopes, Setting, Simulation, SweepId,
    SweepLock, check_bounds, check_spec, parse_spec, substitute, wire,
};
use regatta_simulator::Script;
use regatta_worker::{Policy, PolicyFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::input::Input;
use crate::origins;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 13 {
        0 => spec(&input.text()),
        1 => {
            if let Ok(file) = PolicyFile::from_yaml(&input.text()) {
                let _ = Policy::closed().with(file);
            }
        }
        2 => message::<Job>(input),
        3 => message::<Report>(input),
        4 => message::<Control>(input),
        5 => segment(input),
        6 => names(&input.text()),
        7 => settings(input),
        8 => requests(input.0),
        9 => coded(input.0),
        10 => {
            let _ = Script::parse("script", &input.text());
        }
        11 => message::<Attempt>(input),
        _ => origins::run(input),
    }
}

/// A spec is written as it can be read again, and the second reading is the first.
fn spec(text: &str) {
    let variable = |name: &str| (name == "NAME").then(|| "value".to_owned());
    let _ = substitute(text, &variable);
    let Ok(spec) = parse_spec(text, &variable) else { return };
    check_bounds(&spec).unwrap();
    check_spec(&spec).unwrap();
    let again: Result<regatta_proto::SweepSpec, _> = serde_json::from_str(&serde_json::to_string(&spec).unwrap());
    assert_eq!(again.unwrap_or_else(|error| panic!("{spec:?}: {error}")), spec);
}

/// A message of a queue, as JSON or compressed. What was read is written as the same again.
fn message<T: Serialize + DeserializeOwned>(mut input: Input<'_>) {
    let content = sent(&mut input);
    if let Ok(message) = wire::decode::<T>(&content) {
        let written = wire::encode(&message).unwrap();
        let again = wire::decode::<T>(&written).unwrap_or_else(|error| panic!("{written:?} was written: {error}"));
        assert_eq!(wire::encode(&again).unwrap(), written);
    }
}

/// The bytes as they are, or compressed.
fn sent(input: &mut Input<'_>) -> Vec<u8> {
    if input.byte().is_multiple_of(2) { input.0.to_vec() } else { zstd::bulk::compress(input.0, 1).unwrap() }
}

fn segment(mut input: Input<'_>) {
    let content = sent(&mut input);
    let name = format!("transcripts/{}.jsonl.zst", Digest::of(&content).to_string().split_at(16).0);
    let Ok(transcripts) = read_segment(&name, &content) else { return };
    let transcripts = transcripts.count();
    assert_eq!(segment_lines(&name, &content).unwrap().count(), transcripts);
    assert!(transcripts <= input.0.len() + 1 || content.len() == input.0.len());
}

/// A name that was accepted is written as it was.
fn names(text: &str) {
    fn same<T: std::str::FromStr + ToString>(text: &str) {
        if let Ok(name) = text.parse::<T>() {
            assert_eq!(name.to_string(), text);
        }
    }
    same::<AgentName>(text);
    same::<AttemptId>(text);
    same::<BenchmarkName>(text);
    same::<Digest>(text);
    same::<EndpointName>(text);
    same::<Evaluator>(text);
    same::<ItemId>(text);
    same::<ModelRef>(text);
    same::<OwnerName>(text);
    same::<ScheduleName>(text);
    same::<Setting>(text);
    same::<SweepId>(text);
    let _ = ApiToken::parse(text);
    let _ = text.parse::<Baseline>();
    let _ = text.parse::<CatchUp>();
    let _ = text.parse::<DecideQuestion>();
    let _ = text.parse::<Limit>();
    let _ = text.parse::<Scopes>();
    if let Ok(change) = text.parse::<BudgetChange>() {
        assert!(change.apply(Money::ZERO) > Money::ZERO, "{text:?} is no positive amount");
    }
    if let Ok(sweep) = text.parse::<SweepId>() {
        let name = sweep.as_str();
        assert!(name.starts_with(|c: char| c.is_ascii_alphanumeric()) && !name.contains(['/', '\\', '\0']), "{name:?}");
    }
}

fn settings(mut input: Input<'_>) {
    match input.byte() % 3 {
        0 => {
            let _ = Simulation::from_yaml(&input.text());
        }
        1 => {
            if let Ok(lock) = SweepLock::from_yaml(&input.text()) {
                let bytes = serde_json::to_vec(&lock).unwrap();
                assert_eq!(serde_json::to_vec(&SweepLock::from_bytes(&bytes).unwrap()).unwrap(), bytes);
            }
        }
        _ => {
            let _ = SweepLock::from_bytes(input.0);
        }
    }
}

/// Bodies of requests to the API.
fn requests(body: &[u8]) {
    if let Ok(submission) = serde_json::from_slice::<Submission>(body) {
        let _ = check_bounds(&submission.spec).and_then(|()| check_spec(&submission.spec));
    }
    let _ = serde_json::from_slice::<Resumption>(body);
    let _ = serde_json::from_slice::<GcRequest>(body);
    let _ = serde_json::from_slice::<TokenRequest>(body);
    let _ = serde_json::from_slice::<QuotaRequest>(body);
    let _ = serde_json::from_slice::<VerdictsRequest>(body);
    if let Ok(schedule) = serde_json::from_slice::<Value>(body)
        .map_err(drop)
        .and_then(|value| ScheduleSpec::from_value(value).map_err(drop))
    {
        let written = serde_json::to_value(&schedule).unwrap();
        assert_eq!(ScheduleSpec::from_value(written).unwrap(), schedule);
    }
}

/// Lines that the program of a benchmark writes.
fn coded(line: &[u8]) {
    let _ = serde_json::from_slice::<Loaded>(line);
    let _ = serde_json::from_slice::<Asked>(line);
    let _ = serde_json::from_slice::<Scored>(line);
    let _ = serde_json::from_slice::<Tabulated>(line);
    let _ = serde_json::from_slice::<Served>(line);
}
