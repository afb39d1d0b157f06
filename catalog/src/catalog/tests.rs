use std::sync::Mutex;

use regatta_benchmarks::{
    Benchmark, Dataset, Evaluation, Item, Pictures, Predictions, Registry as BenchmarkRegistry, Scores, Scoring,
    Sessions, Simulated, Step, Tables, Verdicts,
};
use regatta_proto::{Evaluator, FileSet, ItemIndex, Transcript};

use super::*;
use crate::store_dataset;

/// A benchmark that does nothing but note what it loads: the content of the file `name`.
struct Heavy;

/// A data set of [`Heavy`] that has so many bytes more when it is unpacked.
struct Weight(u64);

static LOADED: Mutex<Vec<String>> = Mutex::new(Vec::new());

const BENCHMARKS: BenchmarkRegistry = BenchmarkRegistry::new(&[&Heavy]);

impl Benchmark for Heavy {
    fn name(&self) -> BenchmarkName {
        "heavy".parse().unwrap()
    }

    fn wants(&self, _: &str) -> bool {
        true
    }

    fn settings(&self) -> Vec<Setting> {
        vec!["one".parse().unwrap()]
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        let name = String::from_utf8(files.get("name").unwrap().to_vec()).unwrap();
        let unpacked = if name.ends_with("-archive") { 100 << 20 } else { 0 };
        LOADED.lock().unwrap().push(name);
        Ok(Arc::new(Weight(unpacked)))
    }
}

impl Dataset for Weight {
    fn items(&self) -> &[Item] {
        &[]
    }

    fn unpacked_bytes(&self) -> u64 {
        self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok(Vec::new())
    }
}

impl Sessions for Weight {
    fn next(&self, _: ItemIndex, _: &Setting, _: &Transcript) -> Step {
        Step::Done
    }
}

impl Evaluation for Weight {
    fn score(&self, item: ItemIndex, _: &[Evaluator], _: &Transcript, _: &dyn Verdicts) -> Scoring {
        Scoring::not_selected(item)
    }

    fn score_failure(&self, _: ItemIndex, _: &[Evaluator]) -> Scores {
        Scores::new()
    }

    fn is_judged(&self, _: Evaluator, _: &str) -> bool {
        false
    }
}

impl Tables for Weight {}
impl Predictions for Weight {}
impl Simulated for Weight {}
impl Pictures for Weight {}

/// Stores a data set of so many MiB.
async fn stored(blobs: &Blobs, name: &str, mib: usize) -> Digest {
    let mut files = FileSet::from_origin("a test");
    files.insert("name".to_owned(), name.as_bytes().to_vec());
    files.insert("weight".to_owned(), vec![b'x'; mib << 20]);
    store_dataset(blobs, &files).await.unwrap()
}

/// Times that the data set was loaded.
fn loads(name: &str) -> usize {
    LOADED.lock().unwrap().iter().filter(|loaded| *loaded == name).count()
}

async fn suite(catalog: &Catalog, digest: &Digest) -> Arc<dyn Suite> {
    catalog.suite(&"heavy".parse().unwrap(), digest).await.unwrap()
}

/// A lock over these data sets, one benchmark each.
fn lock(name: &str, dataset: &Digest) -> SweepLock {
    let benchmark =
        serde_json::json!({"dataset": dataset, "settings": ["one"], "evaluators": ["official"], "items": {"one": 0}});
    let lock = serde_json::json!({
        "v": SweepLock::VERSION, "regatta": "0", "name": name, "seed": 1, "trials": 1,
        "benchmarks": {"heavy": benchmark}, "endpoints": {}, "models": [{"id": "e/m"}], "price_sources": [],
    });
    serde_json::from_value(lock).unwrap()
}

#[tokio::test]
async fn data_sets_are_kept_by_their_bytes_the_latest_first() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let names = ["latest-a", "latest-b", "latest-c"];
    let mut digests = Vec::new();
    for name in names {
        digests.push(stored(&blobs, name, 50).await);
    }
    for digest in &digests {
        suite(&catalog, digest).await;
    }
    suite(&catalog, &digests[2]).await;
    suite(&catalog, &digests[1]).await;
    assert_eq!(names.map(loads), [1, 1, 1], "two of them fit");
    suite(&catalog, &digests[0]).await;
    assert_eq!(names.map(loads), [2, 1, 1], "three do not");
}

#[tokio::test]
async fn small_data_sets_are_many() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let names: Vec<String> = (0..60).map(|number| format!("small-{number}")).collect();
    for name in names.iter().chain(&names) {
        let digest = stored(&blobs, name, 0).await;
        suite(&catalog, &digest).await;
    }
    assert!(names.iter().all(|name| loads(name) == 1));
}

#[tokio::test]
async fn one_that_is_larger_than_all_that_is_kept_is_kept_alone() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let (large, small) = (stored(&blobs, "alone-large", 130).await, stored(&blobs, "alone-small", 0).await);
    suite(&catalog, &large).await;
    suite(&catalog, &large).await;
    assert_eq!(loads("alone-large"), 1);
    suite(&catalog, &small).await;
    suite(&catalog, &large).await;
    assert_eq!((loads("alone-large"), loads("alone-small")), (2, 1));
}

#[tokio::test]
async fn sweeps_go_with_their_data_sets_and_the_last_one_keeps_its_own() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let names = ["sweep-a", "sweep-b", "sweep-c"];
    let mut sweeps = Vec::new();
    for name in names {
        let dataset = stored(&blobs, name, 60).await;
        sweeps.push(catalog.store(&lock(name, &dataset)).await.unwrap().digest);
    }
    // Nobody else holds any of it, so a sweep that is kept would hold the data set that is not.
    let again = async |at: usize| drop(catalog.sweep(&sweeps[at]).await.unwrap());
    again(2).await;
    again(1).await;
    assert_eq!(names.map(loads), [1, 1, 1]);
    again(0).await;
    assert_eq!(names.map(loads), [2, 1, 1]);
    let other = stored(&blobs, "sweep-other", 100).await;
    suite(&catalog, &other).await;
    again(0).await;
    assert_eq!(names.map(loads), [2, 1, 1], "the sweep that was used last keeps what it has");
}

#[tokio::test]
async fn what_somebody_still_holds_is_not_loaded_a_second_time() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let (one, other) = (stored(&blobs, "held-one", 100).await, stored(&blobs, "held-other", 100).await);
    let held = suite(&catalog, &one).await;
    suite(&catalog, &other).await;
    suite(&catalog, &one).await;
    assert_eq!(loads("held-one"), 1);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_archive_unpacks_to_counts() {
    let blobs = Blobs::memory();
    let catalog = Catalog::new(blobs.clone(), BENCHMARKS);
    let (one, other) = (stored(&blobs, "one-archive", 0).await, stored(&blobs, "other-archive", 0).await);
    for digest in [&one, &other, &one] {
        suite(&catalog, digest).await;
    }
    assert_eq!((loads("one-archive"), loads("other-archive")), (2, 1));
}
