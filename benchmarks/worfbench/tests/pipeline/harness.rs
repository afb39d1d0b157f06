//! Data sets and judges for the tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use regatta_benchmark_testing::setting;
use regatta_benchmark_testing::{load_miniature, load_published, read_folder};
use regatta_benchmarks::{Benchmark, DataError, Persona, Score, Scoring, Suite, Verdicts};
use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, Evaluator, FileSet, ItemIndex, Question, Role, Sampling, SessionSeed,
    Transcript, Verdict,
};

pub(crate) const BOTH: [Evaluator; 2] = [Evaluator::Official, Evaluator::Paper];

pub(crate) fn worfbench() -> &'static dyn Benchmark {
    &regatta_worfbench::WorfBench
}

pub(crate) fn miniature_files() -> FileSet {
    regatta_benchmark_testing::miniature(worfbench())
}

pub(crate) fn miniature() -> Arc<dyn Suite> {
    load_miniature(worfbench())
}

/// The published data, if they are there.
pub(crate) fn published() -> Option<Arc<dyn Suite>> {
    load_published(worfbench())
}

/// The folder with the data and golden cases, if there is one.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("worfbench")
}

pub(crate) fn official_files(shared: &Path) -> FileSet {
    read_folder(&shared.join("data"), Some(worfbench()))
}

pub(crate) fn case_files(shared: &Path, case: &str) -> FileSet {
    read_folder(&shared.join("golden").join(case), None)
}

pub(crate) fn load(files: &[(&str, &str)]) -> Result<Arc<dyn Suite>, DataError> {
    let mut set = FileSet::from_origin("here");
    for (path, content) in files {
        set.insert(*path, content.as_bytes().to_vec());
    }
    worfbench().load(&set)
}

/// The error of data that must not load.
pub(crate) fn refusal(files: &[(&str, &str)]) -> String {
    match load(files) {
        Ok(_) => panic!("loaded although something is wrong"),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn index_of(suite: &dyn Suite, id: &str) -> ItemIndex {
    let position = suite.items().iter().position(|item| item.id.as_str() == id).unwrap();
    ItemIndex(u32::try_from(position).unwrap())
}

pub(crate) fn indices(suite: &dyn Suite) -> Vec<ItemIndex> {
    (0..u32::try_from(suite.items().len()).unwrap()).map(ItemIndex).collect()
}

pub(crate) fn user_request(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

/// Answer of a simulated model.
pub(crate) fn answer(suite: &dyn Suite, item: ItemIndex, persona: Persona, seed: u64) -> String {
    let setting = setting("zero-shot");
    let reply = suite.simulate(item, &setting, Role::Agent, persona, SessionSeed(seed), &user_request(""));
    reply.text.unwrap().to_string()
}

/// A judge that counts common words: 1 for the same words, 0 for none in common.
pub(crate) struct WordOverlap;

impl Verdicts for WordOverlap {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let Question::Similarity { left, right } = question else { return None };
        let words = |text: &String| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
        let similarity = |a: &String, b: &String| {
            let (first, second) = (words(a), words(b));
            let common = i32::try_from(first.intersection(&second).count()).unwrap();
            let all = i32::try_from(first.union(&second).count()).unwrap();
            if a == b { 1_000_000 } else { 1_000_000 * common / all.max(1) }
        };
        Some(Verdict::Similarity {
            micro: left.iter().map(|a| right.iter().map(|b| similarity(a, b)).collect()).collect(),
        })
    }
}

/// The score of `reply`, which the judge must be able to give.
pub(crate) fn scored(suite: &dyn Suite, item: ItemIndex, evaluator: Evaluator, reply: Option<&str>) -> Score {
    match suite.score(item, &[evaluator], &Transcript::of_recorded(reply), &WordOverlap) {
        Scoring::Scored(mut scores) => scores.remove(&evaluator).unwrap(),
        other => panic!("asked again: {other:?}"),
    }
}
