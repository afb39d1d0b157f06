//! The wire format is stable: schemas are published, and old samples must be readable for ever.
//!
//! `REGATTA_UPDATE=1 scripts/test -p regatta-proto` writes the schemas and missing samples.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[cfg(not(feature = "schema"))]
compile_error!("schemas need their feature: scripts/test -p regatta-proto");

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use regatta_proto::*;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn updating() -> bool {
    std::env::var_os("REGATTA_UPDATE").is_some()
}

fn schema_is_published<T: JsonSchema>(name: &str) {
    let path = folder("schemas").join(format!("{name}.schema.json"));
    let schema = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    if updating() {
        fs::write(&path, &schema).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), schema, "{} is out of date", path.display());
}

#[test]
fn every_message_and_document_has_a_published_schema() {
    schema_is_published::<SweepSpec>("sweep-spec");
    schema_is_published::<SweepLock>("sweep-lock");
    schema_is_published::<Job>("job");
    schema_is_published::<Report>("report");
    schema_is_published::<Control>("control");
    schema_is_published::<Transcript>("transcript");
    schema_is_published::<Snapshot>("snapshot");
}

/// Reads every sample of `kind`, whichever build wrote it, and checks that nothing in it was dropped.
fn samples_are_read<T: Serialize + DeserializeOwned>(kind: &str, todays: &[(&str, T)]) {
    let directory = folder("samples/v1");
    for (name, message) in todays {
        let path = directory.join(format!("{kind}.{name}.json"));
        if updating() && !path.exists() {
            let wrapped = serde_json::json!({ "v": wire::VERSION, "message": message });
            fs::write(path, serde_json::to_string_pretty(&wrapped).unwrap() + "\n").unwrap();
        }
    }
    let mut read = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{kind}.")) {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let message: T = wire::decode(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let sample: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let again: serde_json::Value = serde_json::to_value(&message).unwrap();
        assert_eq!(sample["message"], again, "{} lost something when read", path.display());
        read += 1;
    }
    assert!(read >= todays.len(), "{kind}: {read} samples in {}", directory.display());
}

/// Reads every sample of version 2, in which transcripts have prefixes, and checks that it is written again as it was.
fn compact_samples_are_read(todays: &[(&str, Report)]) {
    for (name, report) in todays {
        let path = folder("samples/v2").join(format!("report.{name}.json"));
        // Each version counts alike, so that none refuses what another wrote.
        let compacted = wire::compacted_bytes(&report.encode_compact().unwrap());
        if updating() && !path.exists() {
            let message = serde_json::to_value(Compact(report)).unwrap();
            let wrapped = serde_json::json!({ "v": wire::COMPACT_VERSION, "compacted": compacted, "message": message });
            fs::write(&path, serde_json::to_string_pretty(&wrapped).unwrap() + "\n").unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        let sample: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(wire::decode::<Report>(&bytes).unwrap(), *report, "{}", path.display());
        assert_eq!(sample["message"], serde_json::to_value(Compact(report)).unwrap(), "{}", path.display());
        assert_eq!(sample["compacted"], compacted, "{}", path.display());
    }
}

fn key() -> SessionKey {
    SessionKey { sweep: "nightly-0a1b2c3d".parse().unwrap(), cell: CellIndex(3), item: ItemIndex(41) }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn transcript() -> Transcript {
    let failed =
        Try { status: Some(429), latency_us: 1200, ..Try::not_sent(ErrorClass::RateLimited, "slow down".into()) };
    let call = Call {
        role: Role::Agent,
        attempt: 1,
        model: "openai/gpt-4o-mini".parse().unwrap(),
        request: ChatRequest::new(
            vec![ChatMessage::new(ChatRole::System, "Plan."), ChatMessage::new(ChatRole::User, "Make tea.")],
            Sampling { temperature: Some(0.5), top_p: Some(1.0), max_tokens: Some(1024), seed: None },
        ),
        reply: Reply::of_text(Some("Node:\n1: boil water\nEdges: (START,1) (1,END)"), Finish::Stop),
        tries: vec![failed.clone()],
        usage: Usage { input: 20, cached_input: 8, output: 15, ..Usage::default() },
        raw_usage: Some(serde_json::json!({ "prompt_tokens": 20, "completion_tokens": 15 })),
        cost: Some(Money(12_300)),
        reported_cost: None,
        served: Served {
            model: Some("gpt-4o-mini-2024-07-18".into()),
            fingerprint: Some("fp_1".into()),
            request_id: Some("req_1".into()),
            provider: None,
            tier: None,
            simulated: false,
        },
        latency_us: 450_000,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    };
    let gave_up = FailedCall {
        role: Role::Agent,
        attempt: 2,
        model: "sim/oracle".parse().unwrap(),
        tries: vec![failed],
        request: None,
        asked: None,
    };
    Transcript {
        events: vec![
            Event::Call(Box::new(call)),
            Event::Failed(gave_up),
            Event::Recorded(Reply::of_text(None, Finish::Other)),
        ],
    }
}

/// The same with a second call, which asks with all that was said before.
fn longer_transcript() -> Transcript {
    let Transcript { mut events } = transcript();
    let Some(Event::Call(first)) = events.first() else { panic!("its first event is a call") };
    let mut second = first.clone();
    let said = second.reply.text.clone().unwrap();
    second.request.messages.push(ChatMessage::new(ChatRole::Assistant, said));
    second.request.messages.push(ChatMessage::new(ChatRole::User, "And with milk?"));
    second.tries.clear();
    events.insert(1, Event::Call(second));
    Transcript { events }
}

fn attempt() -> Attempt {
    Attempt {
        id: "w1-77".parse().unwrap(),
        number: 2,
        worker: "w1".parse().unwrap(),
        started_at: at(0),
        ended_at: at(2),
    }
}

fn judgement() -> AskedQuestion {
    let question = Question::Judgement {
        kind: "completion".into(),
        about: vec!["session-7".into()],
        before: Vec::new(),
        prompt: "Was everything done?".into(),
        swapped: None,
        accept: vec!["(?i)yes|no".into()],
        replies_max: 10,
    };
    AskedQuestion { digest: question.digest(), question }
}

fn question() -> AskedQuestion {
    let question = Question::Similarity { left: vec!["boil water".into()], right: vec!["heat water".into()] };
    AskedQuestion { digest: question.digest(), question }
}

#[test]
fn jobs_of_every_build_are_read() {
    let session =
        SessionJob { key: key(), lock: Digest::of(b"lock"), attempt: 1, generation: 0, transcript: transcript() };
    let resumed = SessionJob { generation: 2, ..session.clone() };
    let judge = JudgeJob {
        sweep: key().sweep,
        lock: Digest::of(b"lock"),
        judge: "minilm/all-MiniLM-L6-v2".parse().unwrap(),
        questions: vec![question()],
        generation: None,
    };
    let of_generation = JudgeJob { generation: Some(2), ..judge.clone() };
    let in_words = JudgeJob { judge: "openai/gpt-4o".parse().unwrap(), questions: vec![judgement()], ..judge.clone() };
    let batch = BatchJob {
        sweep: key().sweep,
        lock: Digest::of(b"lock"),
        model: "openai/gpt-4o-mini".parse().unwrap(),
        id: "0123456789abcdef0123".into(),
        provider_id: Some("batch_1".into()),
        intended_at: at(0),
        since: None,
        sessions: vec![session.clone()],
    };
    let later = BatchJob { provider_id: None, intended_at: at(9_000), since: Some(at(7_000)), ..batch.clone() };
    samples_are_read(
        "job",
        &[
            ("batch", Job::Batch(Box::new(batch))),
            ("batch_after_another", Job::Batch(Box::new(later))),
            ("session", Job::Session(Box::new(session))),
            ("session_of_a_resumed_sweep", Job::Session(Box::new(resumed))),
            ("judge", Job::Judge(judge)),
            ("judge_in_words", Job::Judge(in_words)),
            ("judge_of_a_resumed_sweep", Job::Judge(of_generation)),
        ],
    );
}

#[test]
fn reports_of_every_build_are_read() {
    let outcome = |outcome| {
        Report::Session(Box::new(SessionOutcome {
            key: key(),
            lock: Digest::of(b"lock"),
            attempt: attempt(),
            outcome,
            transcript: transcript(),
        }))
    };
    let handed_over = |totals| Report::HandedOver { key: key(), attempt: attempt(), totals, taken_over: false };
    let in_doubt = AttemptTotals { maybe_spent: Money(70_000), ..AttemptTotals::default() };
    let of_two_calls = AttemptTotals { calls: 2, retries: 1, latency_us: 812_000, ..in_doubt };
    let open = OpenAttempt {
        key: key(),
        id: "w1-78".parse().unwrap(),
        number: 1,
        started_at: at(1),
        totals: AttemptTotals { calls: 1, ..AttemptTotals::default() },
        in_flight_at_most: Some(Money(900_000)),
    };
    let held = Progress {
        worker: "w1".parse().unwrap(),
        open: Vec::new(),
        batches: vec![
            HeldBatch { sweep: key().sweep, id: "0123456789abcdef0123".into(), generation: 0 },
            HeldBatch { sweep: key().sweep, id: "123456789abcdef01234".into(), generation: 2 },
        ],
        judging: vec![key().sweep],
        judging_since: BTreeMap::new(),
        questions: None,
    };
    let held_by_name = Progress {
        questions: Some(vec![HeldQuestions {
            sweep: key().sweep,
            judge: "openai/gpt-4o".parse().unwrap(),
            questions: vec![judgement().digest],
        }]),
        ..held.clone()
    };
    let judging_since = BTreeMap::from([(key().sweep, 2)]);
    let held_since_a_resume = Progress { batches: Vec::new(), judging_since, ..held.clone() };
    let judged = JudgeOutcome {
        sweep: key().sweep,
        lock: Digest::of(b"lock"),
        judge: "minilm/all-MiniLM-L6-v2".parse().unwrap(),
        served: "all-MiniLM-L6-v2".into(),
        verdicts: vec![(question().digest, Verdict::Similarity { micro: vec![vec![812_345]] })],
        unanswered: vec![(question(), "the endpoint did not answer".into())],
        attempt: "w1-79".parse().unwrap(),
        usage: Usage::default(),
        cost: CostSum { known: Money(5), unknown_calls: 1 },
    };
    let in_words = JudgeOutcome {
        judge: "openai/gpt-4o".parse().unwrap(),
        verdicts: vec![(judgement().digest, Verdict::Replies { replies: vec!["Hm.".into(), "Yes.".into()] })],
        unanswered: Vec::new(),
        ..judged.clone()
    };
    samples_are_read(
        "report",
        &[
            ("measured", outcome(Outcome::Measured)),
            ("model_failure", outcome(Outcome::ModelFailure { cause: Cause::ContextLength })),
            ("not_measured", outcome(Outcome::NotMeasured { cause: Cause::RateLimited })),
            ("handed_over", handed_over(AttemptTotals::default())),
            ("handed_over_in_doubt", handed_over(in_doubt)),
            ("handed_over_after_calls", handed_over(of_two_calls)),
            (
                "taken_over",
                Report::HandedOver { key: key(), attempt: attempt(), totals: of_two_calls, taken_over: true },
            ),
            ("judge", Report::Judge(judged)),
            ("judge_in_words", Report::Judge(in_words)),
            ("progress", Report::Progress(Progress::of_attempts("w1".parse().unwrap(), vec![open]))),
            ("progress_of_batches_and_judges", Report::Progress(held)),
            ("progress_of_judges_since_a_resume", Report::Progress(held_since_a_resume)),
            ("progress_of_questions", Report::Progress(held_by_name)),
            ("echo", Report::Echo { sweep: key().sweep, number: 3, waited: false, partition: Partition::WHOLE }),
            ("tabulate", Report::Tabulate { sweep: key().sweep, lock: Digest::of(b"lock"), generation: Some(1) }),
        ],
    );
}

#[test]
fn reports_in_the_compact_form_of_every_build_are_read() {
    let outcome = SessionOutcome {
        key: key(),
        lock: Digest::of(b"lock"),
        attempt: attempt(),
        outcome: Outcome::Measured,
        transcript: longer_transcript(),
    };
    compact_samples_are_read(&[("measured", Report::Session(Box::new(outcome)))]);
}

#[test]
fn control_messages_of_every_build_are_read() {
    let control = Control {
        routes: vec![EndpointRoute {
            name: "openai".parse().unwrap(),
            sweep: key().sweep,
            queue: "nightly-0a1b2c3d.openai".into(),
            needs: Vec::new(),
            pool: "0a1b2c3d".into(),
            share: Share { weight: 3, priority: 0 },
            endpoint: EndpointSpec::of_kind(EndpointKind::Openai),
        }],
        cancelled: vec![key().sweep],
        generations: BTreeMap::new(),
        number: None,
    };
    let numbered = Control { number: Some(BroadcastNumber { term: 7, sequence: 41 }), ..control.clone() };
    let resumed = Control { generations: BTreeMap::from([(key().sweep, 2)]), ..control.clone() };
    let mut conversing = control.clone();
    conversing.routes[0].needs = vec!["user".parse().unwrap(), "tools".parse().unwrap()];
    samples_are_read(
        "control",
        &[("routes", control), ("routes_with_needs", conversing), ("generations", resumed), ("numbered", numbered)],
    );
}

#[test]
fn what_an_attempt_spent_is_only_its_own_calls() {
    let AttemptTotals { calls, usage, cost, .. } = transcript().totals_of(1);
    assert_eq!((calls, usage.input, usage.output, cost.known), (1, 20, 15, Money(12_300)));
    assert_eq!(transcript().totals_of(2), AttemptTotals::default());
}
