//! Known verdicts, and scoring sessions with all that are known.
//!
//! A judge is one model, or a panel: then every judgement goes to each member, as often as the panel repeats, and all of it together is
//! the verdict. What goes to a member is known by a digest of its own where the member has parameters, or is asked again or in the other
//! order, so that no verdict is taken for that of another.

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::{Judged, Ledger};
use regatta_benchmarks::{Scoring, Verdicts};
use regatta_catalog::Sweep;
use regatta_proto::{
    Answerer, AskedQuestion, AttemptId, Cell, CostSum, Digest, ItemIndex, Judge, JudgeOutcome, ModelRef, ModelSpec,
    Question, Transcript, Usage, Verdict, json_bytes,
};
use regatta_report::PAID_ELSEWHERE;

use crate::audits::SessionScoring;
use crate::pace::Turns;
use crate::scorer::{Scorer, ScorerError};

/// Looks into the ledger for one batch of sessions; a benchmark asks again only for what it then knows to be needed.
pub(crate) const LOOKS_MAX: usize = 16;
/// Verdicts of one judge from elsewhere that are written at once.
const KEPT_AT_ONCE: usize = 512;

/// One question to one model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Put {
    pub(crate) to: ModelRef,
    /// Key of the answer: a digest of the question and of the parameters and repeat with which it is asked.
    pub(crate) digest: Digest,
}

/// One time that a question is put to a model.
pub(crate) struct Asking {
    pub(crate) put: Put,
    /// True if the two compared texts are shown in the other order.
    pub(crate) swapped: bool,
    /// Times that the same member is asked this before, from 0.
    repeat: u8,
}

/// To whom `question` is put for one verdict of `judge`, how, and as what. Similarities are figures of a model, not opinions: a panel's
/// first member alone gives them.
pub(crate) fn askings(judge: &Judge, question: &Question) -> Vec<Asking> {
    let digest = question.digest();
    let mut members = judge.members();
    let (repeats, swaps) = match question {
        Question::Similarity { .. } => {
            members.truncate(1);
            (1, false)
        }
        Question::Judgement { swapped, .. } => (judge.repeats(), judge.swaps() && swapped.is_some()),
    };
    let asking = |member: &ModelSpec, repeat| {
        let swapped = swaps && repeat % 2 == 1;
        Asking {
            put: Put { to: member.id.clone(), digest: asked_as(&digest, member, repeat, swapped) },
            swapped,
            repeat,
        }
    };
    members.iter().flat_map(|member| (0..repeats).map(move |repeat| asking(member, repeat))).collect()
}

/// To whom `question` is put for one verdict of `judge`, and as what.
pub(crate) fn puts(judge: &Judge, question: &Question) -> Vec<Put> {
    askings(judge, question).into_iter().map(|asking| asking.put).collect()
}

/// Key of the answer of `member` to the question at the `repeat`-th time, from 0, in the other order if `swapped`. It is the question's own
/// digest for the first time in the given order with default parameters.
fn asked_as(question: &Digest, member: &ModelSpec, repeat: u8, swapped: bool) -> Digest {
    let parameters = (member.temperature, member.top_p, member.max_tokens, member.thinking);
    if repeat == 0 && parameters == (None, None, None, None) {
        return *question;
    }
    let parameters = json_bytes(&parameters);
    let parts = [b"asked/1".as_slice(), question.bytes(), &parameters, &[repeat]];
    Digest::of_parts(parts.into_iter().chain(swapped.then_some(b"swapped".as_slice())))
}

/// Identity of `judge` in `sweep`.
///
/// # Errors
/// When the sweep has no such endpoint.
pub(crate) fn answerer(sweep: &Sweep, judge: &ModelRef) -> Result<Answerer, ScorerError> {
    let unknown = || ScorerError::UnknownJudge { sweep: sweep.id.clone(), judge: judge.clone() };
    sweep.answerer(judge).ok_or_else(unknown)
}

/// Verdicts by who gave them and what they were asked as.
#[derive(Debug, Default)]
pub(crate) struct Known {
    verdicts: HashMap<Put, Verdict>,
    /// Questions that were looked up in the ledger, found or not.
    looked_up: HashSet<Put>,
}

impl Known {
    /// Reads what the ledger has of `wanted` and was not asked for before; whether there was any.
    pub(crate) async fn look_up(
        &mut self,
        scorer: &Scorer,
        sweep: &Sweep,
        wanted: impl IntoIterator<Item = Put>,
    ) -> Result<bool, ScorerError> {
        self.look_up_in(&scorer.ledger, |judge| answerer(sweep, judge), wanted).await
    }

    /// The same in `ledger`, where judges are known by what `answerer` says.
    pub(crate) async fn look_up_in(
        &mut self,
        ledger: &Ledger,
        answerer: impl Fn(&ModelRef) -> Result<Answerer, ScorerError>,
        wanted: impl IntoIterator<Item = Put>,
    ) -> Result<bool, ScorerError> {
        let mut found = false;
        for (judge, digests) in self.not_looked_up(wanted) {
            for (digest, verdict) in ledger.verdicts(answerer(&judge)?, &digests).await? {
                found = true;
                self.verdicts.insert(Put { to: judge.clone(), digest }, verdict);
            }
        }
        Ok(found)
    }

    /// Questions of `wanted` that were not looked up before, by judge. They count as looked up from now on.
    pub(crate) fn not_looked_up(&mut self, wanted: impl IntoIterator<Item = Put>) -> BTreeMap<ModelRef, Vec<Digest>> {
        let mut by_judge: BTreeMap<ModelRef, Vec<Digest>> = BTreeMap::new();
        for put in wanted {
            if self.looked_up.insert(put.clone()) {
                by_judge.entry(put.to).or_default().push(put.digest);
            }
        }
        by_judge
    }

    /// Writes every verdict `into` the ledger of `sweep`, as of the judges that gave them. They cost nothing here: their `bill` is another one.
    pub(crate) async fn keep(&self, sweep: &Sweep, into: &Ledger, bill: Bill) -> Result<(), ScorerError> {
        let mut by_judge: BTreeMap<&ModelRef, Vec<(Digest, Verdict)>> = BTreeMap::new();
        for (put, verdict) in &self.verdicts {
            by_judge.entry(&put.to).or_default().push((put.digest, verdict.clone()));
        }
        let mut number = 0;
        for (judge, mut verdicts) in by_judge {
            verdicts.sort_by_key(|(digest, _)| *digest);
            for chunk in verdicts.chunks(KEPT_AT_ONCE) {
                number += 1;
                let outcome = kept(sweep, judge, chunk, (number, bill))?;
                into.save_judged(vec![Judged { answerer: answerer(sweep, judge)?, outcome }]).await?;
            }
        }
        Ok(())
    }

    /// The answer to `put`, where it is known.
    pub(crate) fn get(&self, put: &Put) -> Option<&Verdict> {
        self.verdicts.get(put)
    }

    /// True if the answer to `put` is known.
    pub(crate) fn holds(&self, put: &Put) -> bool {
        self.verdicts.contains_key(put)
    }

    /// Adds a verdict that was found elsewhere.
    pub(crate) fn insert(&mut self, put: Put, verdict: Verdict) {
        self.verdicts.insert(put, verdict);
    }

    /// Verdicts that are known.
    pub(crate) fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// The verdicts of `judge`.
    pub(crate) const fn of<'k>(&'k self, judge: Option<&'k Judge>) -> KnownOf<'k> {
        KnownOf { known: self, judge, repeat: None }
    }

    /// The verdicts that `judge` would have given if its panel had asked once: those of the repeat `repeat`, from 0.
    pub(crate) const fn of_repeat<'k>(&'k self, judge: &'k Judge, repeat: u8) -> KnownOf<'k> {
        KnownOf { known: self, judge: Some(judge), repeat: Some(repeat) }
    }
}

/// The bill for verdicts that a sweep keeps from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bill {
    /// The sweep has it too.
    Carried,
    /// The other sweep's alone.
    Elsewhere,
}

/// The report of `judge` that these verdicts are kept by.
fn kept(
    sweep: &Sweep,
    judge: &ModelRef,
    verdicts: &[(Digest, Verdict)],
    (number, bill): (u32, Bill),
) -> Result<JudgeOutcome, ScorerError> {
    let end = match bill {
        Bill::Carried => " (kept verdicts)",
        Bill::Elsewhere => PAID_ELSEWHERE,
    };
    Ok(JudgeOutcome {
        sweep: sweep.id.clone(),
        lock: sweep.digest,
        judge: judge.clone(),
        served: format!("{}{end}", judge.model),
        verdicts: verdicts.to_vec(),
        unanswered: Vec::new(),
        attempt: AttemptId::new(format!("kept-{number}")).map_err(regatta_catalog::CatalogError::from)?,
        usage: Usage::default(),
        cost: CostSum::default(),
    })
}

/// The known verdicts of one judge.
pub(crate) struct KnownOf<'k> {
    known: &'k Known,
    judge: Option<&'k Judge>,
    /// The only repeat whose replies count; all of them without.
    repeat: Option<u8>,
}

impl Verdicts for KnownOf<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        // Hashing the texts is not free, and most scoring begins with nothing known.
        if self.known.verdicts.is_empty() {
            return None;
        }
        let judge = self.judge?;
        let is_repeated = matches!(question, Question::Judgement { .. });
        let counts = |asking: &Asking| !is_repeated || self.repeat.is_none_or(|repeat| repeat == asking.repeat);
        let counted = askings(judge, question).into_iter().filter(counts);
        let mut verdicts = counted.map(|asking| self.known.verdicts.get(&asking.put));
        match (judge.rule(), question) {
            (Some(rule), Question::Judgement { .. }) => {
                let replies = verdicts.map(|verdict| match verdict? {
                    Verdict::Replies { replies } => Some(replies.clone()),
                    _ => None,
                });
                Some(Verdict::Panel { rule, members: replies.collect::<Option<_>>()? })
            }
            _ => verdicts.next()?.cloned(),
        }
    }
}

/// One session to be scored.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) item: ItemIndex,
    pub(crate) transcript: &'a Transcript,
}

impl Subject<'_> {
    /// The score that counts: by the judge of the benchmark.
    pub(crate) fn score(&self, sweep: &Sweep, known: &Known) -> Option<Scoring> {
        self.score_by(sweep.benchmark(self.cell)?.judge.as_ref(), sweep, known)
    }

    /// The judge of the audit, if the session is audited.
    pub(crate) fn auditor<'s>(&self, sweep: &'s Sweep) -> Option<&'s Judge> {
        let is_audited = sweep.audited(self.cell)?.contains(&self.item);
        sweep.benchmark(self.cell)?.audit.as_ref().filter(|_| is_audited).map(|audit| &audit.judge)
    }

    /// The judges that score the session: that of its benchmark, and that of the audit.
    pub(crate) fn judges<'s>(&self, sweep: &'s Sweep) -> impl Iterator<Item = &'s Judge> + use<'s> {
        let judge = sweep.benchmark(self.cell).and_then(|benchmark| benchmark.judge.as_ref());
        judge.into_iter().chain(self.auditor(sweep))
    }

    /// The score by `judge`.
    pub(crate) fn score_by(&self, judge: Option<&Judge>, sweep: &Sweep, known: &Known) -> Option<Scoring> {
        let benchmark = sweep.benchmark(self.cell)?;
        let verdicts = known.of(judge);
        let suite = sweep.suite(self.cell)?;
        Some(suite.score_session(self.item, &self.cell.setting, &benchmark.evaluators, self.transcript, &verdicts))
    }
}

/// Scores `subjects` by all their judges, with `known` and every further verdict that the ledger has; `None` for a cell that the sweep does not
/// have.
pub(crate) async fn score_all<'s>(
    scorer: &Scorer,
    sweep: &'s Sweep,
    subjects: &[Subject<'_>],
    known: &mut Known,
) -> Result<Vec<Option<SessionScoring<'s>>>, ScorerError> {
    let judge_of = |subject: &Subject<'_>| sweep.benchmark(subject.cell).and_then(|benchmark| benchmark.judge.as_ref());
    let by_judge: Vec<(Subject<'_>, Option<&Judge>)> =
        subjects.iter().map(|subject| (*subject, judge_of(subject))).collect();
    let auditors: Vec<Option<&Judge>> = subjects.iter().map(|subject| subject.auditor(sweep)).collect();
    let by_audit = subjects.iter().zip(&auditors).filter(|(_, auditor)| auditor.is_some());
    let by_all: Vec<(Subject<'_>, Option<&Judge>)> =
        by_judge.iter().copied().chain(by_audit.map(|(subject, auditor)| (*subject, *auditor))).collect();
    let mut scorings = score_by(scorer, sweep, &by_all, known).await?;
    let mut audits = scorings.split_off(subjects.len()).into_iter();
    let together = |((scoring, (_, judge)), auditor): ((Option<Scoring>, _), &Option<&'s Judge>)| {
        let audit = auditor.and_then(|auditor| Some((auditor, audits.next().flatten()?)));
        Some(SessionScoring::of((judge, scoring?), audit))
    };
    Ok(scorings.into_iter().zip(by_judge).zip(&auditors).map(together).collect())
}

/// Scores each of `subjects` by its judge.
async fn score_by(
    scorer: &Scorer,
    sweep: &Sweep,
    subjects: &[(Subject<'_>, Option<&Judge>)],
    known: &mut Known,
) -> Result<Vec<Option<Scoring>>, ScorerError> {
    let (mut scorings, mut turns) = (Vec::with_capacity(subjects.len()), Turns::begin(&scorer.stopwatch));
    for (subject, judge) in subjects {
        scorings.push(turns.score(|| subject.score_by(*judge, sweep, known)).await);
    }
    for _ in 0..LOOKS_MAX {
        let mut wanted = Vec::new();
        for ((_, judge), scoring) in subjects.iter().zip(&scorings) {
            if let (Some(Scoring::Needs(questions)), Some(judge)) = (scoring, judge) {
                wanted.extend(questions.iter().flat_map(|question| puts(judge, question)));
            }
        }
        if !known.look_up(scorer, sweep, wanted).await? {
            break;
        }
        for ((subject, judge), scoring) in subjects.iter().zip(&mut scorings) {
            if matches!(scoring, Some(Scoring::Needs(_))) {
                *scoring = turns.score(|| subject.score_by(*judge, sweep, known)).await;
            }
        }
    }
    Ok(scorings)
}

/// Questions on their way to models, by model and by what they are asked as.
pub(crate) type Open = BTreeMap<ModelRef, BTreeMap<Digest, AskedQuestion>>;

/// Enters what is put to whom for a verdict of `judge` on each of `questions`, without what is answered already. Returns all that was
/// entered.
pub(crate) fn enter(open: &mut Open, judge: &Judge, questions: &[Question], known: &Known) -> Vec<Put> {
    let mut entered = Vec::new();
    for question in questions {
        for Asking { put, swapped, .. } in
            askings(judge, question).into_iter().filter(|asking| !known.holds(&asking.put))
        {
            // Whoever answers needs to know nothing of orders: it is asked another prompt.
            let other = swapped.then(|| question.in_other_order()).flatten();
            let asked = AskedQuestion { digest: put.digest, question: other.unwrap_or_else(|| question.clone()) };
            open.entry(put.to.clone()).or_default().insert(put.digest, asked);
            entered.push(put);
        }
    }
    entered
}

#[cfg(test)]
mod tests {
    use regatta_proto::PanelRule;

    use super::*;

    fn judgement() -> Question {
        Question::Judgement {
            kind: "k".into(),
            about: Vec::new(),
            before: Vec::new(),
            prompt: "p".into(),
            swapped: None,
            accept: Vec::new(),
            replies_max: 1,
        }
    }

    fn similarity() -> Question {
        Question::Similarity { left: vec!["a".into()], right: vec!["b".into()] }
    }

    fn judge(json: &str) -> Judge {
        serde_json::from_str(json).unwrap()
    }

    fn knowing(judge: &Judge, question: &Question, replies: &[&str]) -> Known {
        let said = |text: &&str| Verdict::Replies { replies: vec![(*text).to_owned()] };
        let verdicts = puts(judge, question).into_iter().zip(replies.iter().map(said)).collect();
        Known { verdicts, looked_up: HashSet::new() }
    }

    #[test]
    fn a_plain_judge_is_asked_every_question_as_what_it_is() {
        for question in [judgement(), similarity()] {
            let put = Put { to: "a/b".parse().unwrap(), digest: question.digest() };
            assert_eq!(puts(&judge(r#""a/b""#), &question), [put]);
        }
    }

    #[test]
    fn a_judge_with_other_parameters_is_asked_anew() {
        let cold = puts(&judge(r#"{"id": "a/b", "temperature": 0}"#), &judgement());
        let warm = puts(&judge(r#"{"id": "a/b", "temperature": 1}"#), &judgement());
        assert_eq!(HashSet::from([judgement().digest(), cold[0].digest, warm[0].digest]).len(), 3);
    }

    #[test]
    fn each_member_of_a_panel_is_asked_as_often_as_it_says_and_all_of_it_is_the_verdict() {
        let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "mean", "repeats": 2}"#);
        let question = judgement();
        let asked: HashSet<Put> = puts(&panel, &question).into_iter().collect();
        assert_eq!(asked.len(), 4);
        let known = knowing(&panel, &question, &["1", "2", "3", "4"]);
        let members = ["1", "2", "3", "4"].map(|text| vec![text.to_owned()]).to_vec();
        assert_eq!(known.of(Some(&panel)).answer(&question), Some(Verdict::Panel { rule: PanelRule::Mean, members }));
        let partly = knowing(&panel, &question, &["1", "2", "3"]);
        assert_eq!(partly.of(Some(&panel)).answer(&question), None);
    }

    fn comparison() -> Question {
        match judgement() {
            Question::Judgement { kind, about, before, prompt, accept, replies_max, .. } => {
                let swapped = Some("p the other way round".to_owned());
                Question::Judgement { kind, about, before, prompt, swapped, accept, replies_max }
            }
            similarity => similarity,
        }
    }

    /// The prompts that the members of `judge` see, by what they are asked as, in the order of the members' answers.
    fn prompts(judge: &Judge, question: &Question) -> Vec<String> {
        let mut open = Open::new();
        let puts = enter(&mut open, judge, std::slice::from_ref(question), &Known::default());
        let prompt = |put: &Put| match &open[&put.to][&put.digest].question {
            Question::Judgement { prompt, .. } => prompt.clone(),
            other => panic!("{other:?}"),
        };
        puts.iter().map(prompt).collect()
    }

    #[test]
    fn every_second_time_a_comparison_is_asked_in_the_other_order_and_all_answers_are_the_verdict() {
        let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority", "repeats": 3, "swap": true}"#);
        let (one, other) = ("p".to_owned(), "p the other way round".to_owned());
        let orders = [&one, &other, &one].map(Clone::clone);
        assert_eq!(prompts(&panel, &comparison()), [orders.clone(), orders].concat());
        let said = ["yes", "no", "yes", "no", "no", "no"];
        let known = knowing(&panel, &comparison(), &said);
        let members = said.map(|text| vec![text.to_owned()]).to_vec();
        let verdict = Verdict::Panel { rule: PanelRule::Majority, members };
        assert_eq!(known.of(Some(&panel)).answer(&comparison()), Some(verdict));
    }

    #[test]
    fn what_compares_nothing_is_repeated_as_it_is() {
        let swapping = judge(r#"{"panel": ["a/b"], "rule": "mean", "repeats": 2, "swap": true}"#);
        let plain = judge(r#"{"panel": ["a/b"], "rule": "mean", "repeats": 2}"#);
        assert_eq!(prompts(&swapping, &judgement()), ["p", "p"]);
        assert_eq!(puts(&swapping, &judgement()), puts(&plain, &judgement()));
        assert_eq!(puts(&swapping, &similarity()).len(), 1);
    }

    #[test]
    fn an_answer_in_one_order_is_none_in_the_other() {
        let swapping = judge(r#"{"panel": ["a/b"], "rule": "majority", "repeats": 2, "swap": true}"#);
        let plain = judge(r#"{"panel": ["a/b"], "rule": "majority", "repeats": 2}"#);
        let (swapping, plain) = (puts(&swapping, &comparison()), puts(&plain, &comparison()));
        assert_eq!(swapping[0], plain[0]);
        assert_ne!(swapping[1], plain[1]);
    }

    #[test]
    fn similarities_come_from_the_first_member_of_a_panel_alone() {
        let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority", "repeats": 3}"#);
        let asked = puts(&panel, &similarity());
        assert_eq!(asked, [Put { to: "a/b".parse().unwrap(), digest: similarity().digest() }]);
    }

    #[test]
    fn the_verdict_of_one_judge_is_none_of_another() {
        let (one, other) = (judge(r#""a/b""#), judge(r#""c/d""#));
        let known = knowing(&one, &judgement(), &["yes"]);
        assert!(known.of(Some(&one)).answer(&judgement()).is_some());
        assert_eq!(known.of(Some(&other)).answer(&judgement()), None);
        assert_eq!(known.of(None).answer(&judgement()), None);
    }

    #[test]
    fn what_is_answered_is_not_entered_again() {
        let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority"}"#);
        let known = knowing(&panel, &judgement(), &["yes"]);
        let mut open = Open::new();
        let entered = enter(&mut open, &panel, &[judgement()], &known);
        assert_eq!((entered.len(), entered[0].to.to_string()), (1, "c/d".to_owned()));
        assert_eq!(open.len(), 1);
    }
}
