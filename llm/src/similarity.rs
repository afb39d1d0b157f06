//! Answers similarity questions from the vectors of their distinct texts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use regatta_proto::{AskedQuestion, Digest, ErrorClass, Question, Verdict};
use tokio::sync::Notify;

use crate::answer::{Answers, Trouble};
use crate::embedding::{Embedding, ONE};

/// Numbers in the cache, over all vectors: 128 MB, or 87,000 texts of the usual small encoder.
const CACHED_NUMBERS: usize = 32 << 20;

/// Texts without an answer that are remembered.
const UNANSWERED_MAX: usize = 10_000;

/// The vector of a text, with its source.
#[derive(Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) vector: Embedding<f32>,
    /// The source, in one line for reports.
    pub(crate) served: Arc<str>,
}

/// For each text of some questions, its vector or the failure.
pub(crate) type Vectors<'q> = HashMap<&'q str, Result<Arc<Known>, Trouble>>;

/// A cache of vectors by model and text, which evicts the least recently used.
#[derive(Debug)]
pub(crate) struct VectorCache {
    cached: Mutex<Cached>,
    /// Tells whoever waits for a vector that some call is over.
    answered: Notify,
}

#[derive(Debug)]
struct Cached {
    vectors: LruCache<Digest, Arc<Known>>,
    numbers: usize,
    numbers_max: usize,
    /// Texts that calls ask for now, by sweep and text: sweeps wait for permits by their own shares.
    asked: HashSet<Digest>,
    /// Texts of which calls got no vector. Whoever waited for such a call asks for itself, beside others.
    unanswered: HashSet<Digest>,
}

/// Texts that a call is to ask for. As long as it does no other call of its sweep asks for them, unless one got no answer before.
pub(crate) struct Asking<'c, 'q> {
    cache: &'c VectorCache,
    /// Names in `asked`, each with the key of its vector.
    asked: Vec<(Digest, Digest)>,
    pub(crate) texts: Vec<&'q str>,
}

impl Drop for Asking<'_, '_> {
    fn drop(&mut self) {
        // Otherwise two that wait would wake each other for ever.
        if self.asked.is_empty() {
            return;
        }
        let mut cached = self.cache.locked();
        for (asked, vector) in &self.asked {
            cached.asked.remove(asked);
            if cached.vectors.contains(vector) {
                cached.unanswered.remove(asked);
            } else {
                if cached.unanswered.len() >= UNANSWERED_MAX {
                    cached.unanswered.clear();
                }
                cached.unanswered.insert(*asked);
            }
        }
        drop(cached);
        self.cache.answered.notify_waiters();
    }
}

impl VectorCache {
    pub(crate) fn new() -> Self {
        Self::bounded(CACHED_NUMBERS)
    }

    fn bounded(numbers_max: usize) -> Self {
        let cached = Cached {
            vectors: LruCache::unbounded(),
            numbers: 0,
            numbers_max,
            asked: HashSet::new(),
            unanswered: HashSet::new(),
        };
        Self { cached: Mutex::new(cached), answered: Notify::new() }
    }

    fn locked(&self) -> MutexGuard<'_, Cached> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what is cached of the texts of `questions` to `known`, and gives the caller those to ask for that nobody asks for yet; `None` once all
    /// are known. Waits where others ask for all that are left: a call may wait for its permit for long, and texts that come up meanwhile would be
    /// paid for again.
    pub(crate) async fn next<'c, 'q>(
        &'c self,
        (model, sweep): (&str, &str),
        questions: &'q [AskedQuestion],
        known: &mut Vectors<'q>,
    ) -> Option<Asking<'c, 'q>> {
        loop {
            // Before the look, so that no answer in between is missed.
            let answered = self.answered.notified();
            let mut asking = Asking { cache: self, asked: Vec::new(), texts: Vec::new() };
            let (mut is_asked, mut seen) = (false, HashSet::new());
            let mut found_now = Vec::new();
            {
                let mut cached = self.locked();
                for text in texts(questions).filter(|text| seen.insert(*text) && !known.contains_key(text)) {
                    let vector = key(model, text);
                    if let Some(found) = cached.vectors.get(&vector) {
                        found_now.push((text, Arc::clone(found)));
                        continue;
                    }
                    let asked = Digest::of_parts([sweep.as_bytes(), vector.bytes()]);
                    if cached.asked.insert(asked) {
                        asking.asked.push((asked, vector));
                        asking.texts.push(text);
                    } else if cached.unanswered.contains(&asked) {
                        asking.texts.push(text);
                    } else {
                        is_asked = true;
                    }
                }
            }
            known.extend(found_now.into_iter().map(|(text, found)| (text, Ok(found))));
            if !asking.texts.is_empty() {
                return Some(asking);
            }
            if !is_asked {
                return None;
            }
            answered.await;
        }
    }

    /// Caches the vector of a text.
    pub(crate) fn keep(&self, model: &str, text: &str, known: &Arc<Known>) {
        let mut cached = self.locked();
        cached.numbers += known.vector.dimensions();
        if let Some(replaced) = cached.vectors.put(key(model, text), Arc::clone(known)) {
            cached.numbers -= replaced.vector.dimensions();
        }
        while cached.numbers > cached.numbers_max
            && let Some((_, dropped)) = cached.vectors.pop_lru()
        {
            cached.numbers -= dropped.vector.dimensions();
        }
    }
}

/// Texts of similarity questions, in the order asked.
fn texts(questions: &[AskedQuestion]) -> impl Iterator<Item = &str> {
    questions.iter().flat_map(of_question).flatten().map(String::as_str)
}

fn of_question(asked: &AskedQuestion) -> [&[String]; 2] {
    match &asked.question {
        Question::Similarity { left, right } => [left, right],
        Question::Judgement { .. } => [&[], &[]],
    }
}

fn key(model: &str, text: &str) -> Digest {
    Digest::of_parts([model.as_bytes(), text.as_bytes()])
}

/// Scores every question whose texts all have vectors.
pub(crate) fn answers(questions: &[AskedQuestion], vectors: &Vectors<'_>, model: &str) -> Answers {
    let mut answers = Answers::default();
    for asked in questions {
        let answer = match &asked.question {
            Question::Similarity { left, right } => {
                matrix(left, right, vectors).map(|micro| Verdict::Similarity { micro })
            }
            Question::Judgement { .. } => Err(Trouble::unfit("what makes vectors of texts cannot judge in words")),
        };
        answers.enter(asked, answer);
    }
    let served: BTreeSet<&str> = vectors.values().flatten().map(|known| &*known.served).collect();
    answers.served =
        if served.is_empty() { model.to_owned() } else { served.into_iter().collect::<Vec<_>>().join(", ") };
    answers
}

fn matrix(left: &[String], right: &[String], vectors: &Vectors<'_>) -> Result<Vec<Vec<i32>>, Trouble> {
    let find = |text: &String| match vectors.get(text.as_str()) {
        Some(Ok(known)) => Ok(Arc::clone(known)),
        Some(Err(trouble)) => Err(trouble.clone()),
        None => Err(bad_response(format!("{text:?} was not embedded"))),
    };
    let columns = right.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    left.iter()
        .map(|row| {
            let known = find(row)?;
            right.iter().zip(&columns).map(|(column, other)| pair((row, &known), (column, other))).collect()
        })
        .collect()
}

fn pair((row, a): (&str, &Known), (column, b): (&str, &Known)) -> Result<i32, Trouble> {
    if row == column {
        return Ok(ONE);
    }
    a.vector.cosine_micro(&b.vector).ok_or_else(|| {
        let (a, b) = (a.vector.dimensions(), b.vector.dimensions());
        bad_response(format!("the vectors of {row:?} and {column:?} have {a} and {b} dimensions"))
    })
}

fn bad_response(reason: String) -> Trouble {
    Trouble { class: ErrorClass::BadResponse, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[f32]) -> Arc<Known> {
        Arc::new(Known { vector: Embedding::new(values.to_vec()).unwrap(), served: "test".into() })
    }

    fn asked(left: &[&str], right: &[&str]) -> AskedQuestion {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let question = Question::Similarity { left: texts(left), right: texts(right) };
        AskedQuestion { digest: question.digest(), question }
    }

    /// Texts of `questions` that are not cached.
    async fn missing<'q>(cache: &VectorCache, questions: &'q [AskedQuestion]) -> Vec<&'q str> {
        let asking = cache.next(("m", "s"), questions, &mut Vectors::new()).await;
        asking.map(|asking| asking.texts.clone()).unwrap_or_default()
    }

    #[tokio::test]
    async fn each_distinct_text_that_is_not_cached_is_asked_for_once() {
        let cache = VectorCache::new();
        cache.keep("m", "b", &known(&[1.0]));
        cache.keep("other", "c", &known(&[1.0]));
        let questions = [asked(&["a", "b"], &["b", "c"]), asked(&["c"], &["a"])];
        assert_eq!(missing(&cache, &questions).await, ["a", "c"]);
    }

    #[tokio::test]
    async fn the_cache_drops_what_was_used_least_recently() {
        let cache = VectorCache::bounded(4);
        cache.keep("m", "a", &known(&[1.0, 0.0]));
        cache.keep("m", "b", &known(&[0.0, 1.0]));
        let only_a = [asked(&["a"], &[])];
        assert!(missing(&cache, &only_a).await.is_empty());
        cache.keep("m", "c", &known(&[1.0, 1.0]));
        let all = [asked(&["a", "b", "c"], &[])];
        assert_eq!(missing(&cache, &all).await, ["b"]);
    }

    #[tokio::test]
    async fn keeping_a_text_again_does_not_count_it_twice() {
        let cache = VectorCache::bounded(2);
        (0..9).for_each(|_| cache.keep("m", "a", &known(&[1.0, 0.0])));
        let questions = [asked(&["a"], &[])];
        assert!(missing(&cache, &questions).await.is_empty());
    }

    #[test]
    fn equal_texts_are_exactly_alike_and_others_by_cosine() {
        let vectors = Vectors::from([
            ("a", Ok(known(&[0.1, 0.2, 0.3]))),
            ("b", Ok(known(&[-0.1, -0.2, -0.3]))),
            ("c", Ok(known(&[0.3, 0.0, -0.1]))),
        ]);
        let answers = answers(&[asked(&["a", "c"], &["a", "b", "c"])], &vectors, "m");
        let Verdict::Similarity { micro } = &answers.verdicts[0].1 else { panic!("not similarities") };
        assert_eq!(*micro, [[ONE, -ONE, 0], [0, 0, ONE]]);
    }

    #[test]
    fn a_question_with_a_text_in_trouble_is_unanswered_and_the_others_are_not() {
        let trouble = Trouble { class: ErrorClass::RateLimited, reason: "429".into() };
        let vectors = Vectors::from([("a", Ok(known(&[1.0]))), ("b", Err(trouble))]);
        let answers = answers(&[asked(&["a"], &["a"]), asked(&["a"], &["b"])], &vectors, "m");
        assert_eq!(answers.verdicts.len(), 1);
        assert_eq!((answers.unanswered[0].class, &*answers.unanswered[0].reason), (ErrorClass::RateLimited, "429"));
    }

    #[test]
    fn vectors_of_different_dimensions_are_trouble_and_not_a_number() {
        let vectors = Vectors::from([("a", Ok(known(&[1.0]))), ("b", Ok(known(&[1.0, 2.0])))]);
        let answers = answers(&[asked(&["a"], &["b"])], &vectors, "m");
        assert_eq!(answers.unanswered[0].reason, r#"the vectors of "a" and "b" have 1 and 2 dimensions"#);
    }
}
