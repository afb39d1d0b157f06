//! Sessions of benchmarks: what is asked, how answers are scored, and how reports of them are written and read.

use std::hint::black_box;
use std::sync::Arc;

use jiff::Timestamp;
use regatta_benchmark_testing::{drive, miniature};
use regatta_benchmarks::{Benchmark, Persona, RecordedVerdicts, Suite, default_setting};
use regatta_proto::{
    Attempt, CellIndex, Digest, Evaluator, ItemIndex, Outcome, Report, SessionKey, SessionOutcome, Setting, Transcript,
    wire,
};

/// A benchmark's miniature, its setting, and the transcripts of a model that answers right.
struct Played {
    suite: Arc<dyn Suite>,
    setting: Setting,
    transcripts: Vec<(ItemIndex, Transcript)>,
}

fn play(benchmark: &dyn Benchmark) -> Played {
    let suite = benchmark.load(&miniature(benchmark)).unwrap();
    let setting = default_setting(benchmark, &*suite).unwrap();
    let items = (0..suite.items().len() as u32).map(ItemIndex);
    let transcripts = items.map(|item| (item, drive(&*suite, item, &setting, Persona::Oracle, 1))).collect();
    Played { suite, setting, transcripts }
}

/// Requests of `WorFBench`.
pub(crate) fn prompts(times: u32) {
    let Played { suite, setting, transcripts } = play(&regatta_worfbench::WorfBench);
    for _ in 0..times {
        for (item, _) in &transcripts {
            black_box(suite.next(*item, &setting, &Transcript::default()));
        }
    }
}

/// Answers of `WorFBench` up to what a judge is asked about them.
pub(crate) fn questions(times: u32) {
    score(times, &play(&regatta_worfbench::WorfBench), &[Evaluator::Official, Evaluator::Paper]);
}

/// Answers of `AppBench`, which need no judge.
pub(crate) fn scores(times: u32) {
    score(times, &play(&regatta_appbench::AppBench), &[Evaluator::Official, Evaluator::Paper]);
}

fn score(times: u32, played: &Played, evaluators: &[Evaluator]) {
    let verdicts = RecordedVerdicts::default();
    for _ in 0..times {
        for (item, transcript) in &played.transcripts {
            black_box(played.suite.score(*item, evaluators, transcript, &verdicts));
        }
    }
}

/// Reports of sessions, as a worker writes them and a scorer reads them.
pub(crate) fn messages(times: u32) {
    let reports: Vec<Report> = play(&regatta_worfbench::WorfBench).transcripts.into_iter().map(report).collect();
    for _ in 0..times {
        for report in &reports {
            let bytes = wire::encode(black_box(report)).unwrap();
            black_box(wire::decode::<Report>(&bytes).unwrap());
        }
    }
}

fn report((item, transcript): (ItemIndex, Transcript)) -> Report {
    let at = Timestamp::UNIX_EPOCH;
    let attempt = Attempt {
        id: format!("worker-3f9a2c-{item}").parse().unwrap(),
        number: 1,
        worker: "worker-3f9a2c".parse().unwrap(),
        started_at: at,
        ended_at: at,
    };
    let key = SessionKey { sweep: "instructions".parse().unwrap(), cell: CellIndex(0), item };
    Report::Session(Box::new(SessionOutcome {
        key,
        lock: Digest::of(b"lock"),
        attempt,
        outcome: Outcome::Measured,
        transcript,
    }))
}
