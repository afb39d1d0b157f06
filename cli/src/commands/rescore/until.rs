//! An audit that grows until the values that it corrects are known well enough: `regatta rescore --until`, and the end of a run whose spec asks for it.
//!
//! Each round scores the run of the round before, with a larger audit. An audit draws the items with the lowest digests, so that a larger one has
//! the smaller one in it: what was asked before is known, and the rounds buy what one audit of the last size would have bought. Each has the bills
//! of those before it in its own, so that the last one says what its verdicts have cost, and a budget is of all together.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use regatta_deciding::further_audits;
use regatta_proto::{Audit, BenchmarkName, CostSum, Margin, Money, SweepLock, SweepSpec, SweepState};
use regatta_report::{AuditedNumber, Measures, Summary};

use super::{Place, Rescored, Round, once};
use crate::args::RescoreArgs;
use crate::exit::{BadConfiguration, of_state};
use crate::signals::Leaving;
use crate::{output, run_directory};

/// Share of an audit of everything, because that of a spec is below 1.
const ALL: f64 = 1.0 - 1e-9;

/// Precision to which values are to be known.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Margin of the command line for all audits, instead of those of their specs.
    everywhere: Option<Margin>,
}

impl Wanted {
    /// Half of the longest interval of a value that `audit` corrects; `None` for an audit that is to stay as large as it is.
    fn of(self, audit: &Audit) -> Option<Margin> {
        self.everywhere.or(audit.until)
    }

    /// All margins of `lock`, as ±2pp.
    fn shown(self, lock: &SweepLock) -> String {
        let audits = lock.benchmarks.values().filter_map(|benchmark| benchmark.audit.as_ref());
        let margins: BTreeSet<String> = audits.filter_map(|audit| Some(format!("±{}", self.of(audit)?))).collect();
        margins.into_iter().collect::<Vec<_>>().join(" or ")
    }
}

/// Shares of the items that audits of a round draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shares {
    /// The shares of the spec, but not too few items to go on from.
    First,
    /// By benchmark; those of the spec where there is none.
    Next(BTreeMap<BenchmarkName, f64>),
}

impl Shares {
    /// Puts them into `spec`, whose items are those of `lock`.
    ///
    /// # Errors
    /// When the spec audits nothing.
    pub(super) fn enter(&self, spec: &mut SweepSpec, lock: &SweepLock) -> anyhow::Result<()> {
        let mut is_audited = false;
        for (name, benchmark) in &mut spec.benchmarks {
            let Some(audit) = &mut benchmark.audit else { continue };
            is_audited = true;
            match self {
                Self::First => {
                    let counts = lock.benchmarks.get(name).into_iter().flat_map(|of| of.items.values());
                    let least =
                        counts.map(|items| Audit::FIRST_ITEMS_MIN as f64 / f64::from(*items)).fold(0.0, f64::max);
                    audit.share = audit.share.max(least).min(audit.at_most.unwrap_or(ALL)).min(ALL);
                }
                Self::Next(shares) => audit.share = shares.get(name).copied().unwrap_or(audit.share),
            }
        }
        if is_audited {
            return Ok(());
        }
        let problem = "--until is about the audit of a judge, and the spec has none; write `audit` beside the `judge` of a benchmark";
        Err(BadConfiguration(problem.to_owned()).into())
    }
}

/// Conclusion from the values of a round.
#[derive(Debug, Clone, PartialEq)]
enum Growth {
    /// Every corrected value is known well enough.
    Enough,
    /// Some value is not, and audits of these shares may make it so.
    More(BTreeMap<BenchmarkName, f64>),
    /// Some value is not, and no larger audit would change that.
    Exhausted,
}

/// Money that rounds may take.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// So many dollars for judges, of all rounds together.
    Judges(Option<f64>),
    /// The budget of a run, its sessions and first audit included.
    Run {
        /// That of its spec, which each round begins with.
        locked: Option<f64>,
        /// That of its ledger, or of one of its rounds: resumes have raised it.
        raised: Option<Money>,
    },
}

impl Limit {
    fn is_used(self, summary: &Summary) -> bool {
        match self {
            Self::Judges(limit) => limit.is_some_and(|dollars| dollars <= summary.judging.cost.known.dollars()),
            Self::Run { raised, .. } => raised.is_some_and(|limit| limit <= summary.cost().known),
        }
    }

    /// Takes over that the `budget` of a round was raised.
    fn raise(&mut self, budget: Option<Money>) {
        match self {
            Self::Judges(_) => {}
            Self::Run { raised, .. } => *raised = (*raised).max(budget),
        }
    }

    /// Budget of each round, where it is none of the command line.
    const fn of_run(self) -> Option<f64> {
        match self {
            Self::Judges(_) => None,
            Self::Run { locked, .. } => locked,
        }
    }

    const fn raised(self) -> Option<Money> {
        match self {
            Self::Judges(_) => None,
            Self::Run { raised, .. } => raised,
        }
    }
}

/// Rounds that are being made.
struct Rounds {
    args: RescoreArgs,
    wanted: Wanted,
    limit: Limit,
    shares: Shares,
    /// Number of rounds so far; a run whose own audit was the first is one.
    made: u32,
    /// The run that they begin with, and the directory that later ones are named after.
    begun: Option<(Place, PathBuf)>,
    /// Signals to the process, once something was asked.
    leaving: Option<Leaving>,
}

/// Rescores in rounds until half of the interval of each corrected value is at most `wanted` or, without that, what its spec says; or everything that
/// may be is audited, or the budget is used.
///
/// # Errors
/// When a round fails, or the first directory has no name that later ones could have with their number.
pub(super) async fn run(args: RescoreArgs, wanted: Option<Margin>) -> anyhow::Result<ExitCode> {
    // Before anything is paid for.
    if let Some(first) = args.output.as_deref() {
        numbered(first, 2)?;
    }
    let (wanted, limit) = (Wanted { everywhere: wanted }, Limit::Judges(args.budget));
    // Audits whose spec says so are large enough from the start, and others are to stay as they are.
    let shares = if wanted.everywhere.is_some() { Shares::First } else { Shares::Next(BTreeMap::new()) };
    Rounds { args, wanted, limit, shares, made: 0, begun: None, leaving: None }.make().await
}

/// `true` if the spec in the file `path` has audits that grow.
///
/// # Errors
/// When the file is no spec.
pub(super) fn grows(path: &Path) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read the spec {}", path.display()))?;
    let spec = crate::spec::parse(&text).with_context(|| path.display().to_string())?;
    Ok(spec.benchmarks.values().any(|benchmark| benchmark.audit.as_ref().is_some_and(|audit| audit.until.is_some())))
}

/// Goes on with the audits of the complete run in the directory of `args`, whose own ones are the first round, until its values are known as well as
/// its spec asks for. `None` where they are, or no audit would change that. `budget` is that of the run, however often it was raised.
///
/// # Errors
/// When a round fails.
pub(crate) async fn go_on(
    mut args: RescoreArgs,
    lock: &SweepLock,
    budget: Option<Money>,
    leaving: &Leaving,
) -> anyhow::Result<Option<ExitCode>> {
    let wanted = Wanted { everywhere: None };
    let known = wanted.shown(lock);
    if known.is_empty() {
        return Ok(None);
    }
    let directory = PathBuf::from(&args.run);
    let summary = Summary::from_json(&read(&directory, "summary.json")?)?;
    let measures = Measures::from_json(&read(&directory, "measures.json")?)?;
    let limit = Limit::Run { locked: lock.budget_usd, raised: budget };
    let shares = match growth(&summary, &measures, lock, wanted) {
        Ok(Growth::More(shares)) => shares,
        Ok(Growth::Enough) => {
            output::note(&format!("every corrected value is known to {known}"));
            return Ok(None);
        }
        Ok(Growth::Exhausted) => {
            output::note(&exhausted(&known));
            return Ok(None);
        }
        // The run is complete, whatever its audits are worth.
        Err(nothing) => {
            output::note(&format!("{nothing:#}"));
            return Ok(None);
        }
    };
    let (named_after, made) = named_after(&directory);
    let next = numbered(&named_after, made + 1)?;
    // A round that there is may have had more, by a resume.
    if limit.is_used(&summary) && !next.exists() {
        output::note(&format!("the budget is used before every value is known to {known}"));
        output::note(&with_more(&directory));
        return Ok(Some(of_state(SweepState::StoppedByBudget)));
    }
    args.output = Some(next);
    let place = Place { directory, output: named_after.clone(), _copy: None };
    let (begun, leaving) = (Some((place, named_after)), Some(leaving.clone()));
    Rounds { args, wanted, limit, shares: Shares::Next(shares), made, begun, leaving }.make().await.map(Some)
}

/// The directory that rounds after the run in `directory` are named after, and its own number. A run that is a round of another, and was resumed by
/// itself, goes on with the rounds of that one: under names of its own they would be paid for a second time.
fn named_after(directory: &Path) -> (PathBuf, u32) {
    let name = directory.file_name().and_then(OsStr::to_str);
    let round = name.and_then(|name| {
        let (audited, number) = name.rsplit_once('-')?;
        let number = number.parse::<u32>().ok().filter(|number| *number >= 2)?;
        audited.ends_with("-audited").then_some((audited, number))
    });
    if let Some((audited, number)) = round {
        return (directory.with_file_name(audited), number);
    }
    (run_directory::beside(directory, "-audited"), 1)
}

/// Advice on a run, or a round of it, in `directory` whose budget is used.
fn with_more(directory: &Path) -> String {
    format!("continue with: regatta resume {} --budget +DOLLARS", directory.display())
}

fn exhausted(known: &str) -> String {
    format!("not every corrected value is known to {known}, and no larger audit would tell more")
}

impl Rounds {
    async fn make(mut self) -> anyhow::Result<ExitCode> {
        loop {
            let first = self.begun.as_ref().map(|(from, _)| from.directory.as_path());
            let round = Round {
                shares: &self.shares,
                first,
                budget: self.limit.of_run(),
                raised: self.limit.raised(),
                is_of_run: matches!(self.limit, Limit::Run { .. }),
                leaving: self.leaving.as_ref(),
            };
            let rescored = match once(&self.args, Some(round)).await? {
                Ok(rescored) => rescored,
                Err(code) => return Ok(code),
            };
            self.made += 1;
            self.limit.raise(rescored.budget);
            let summary = Summary::from_json(&read(&rescored.directory, "summary.json")?)?;
            let (spent, known) = (summary.judging.cost, self.wanted.shown(&rescored.lock));
            let growth = match rescored.state {
                SweepState::Complete | SweepState::Incomplete => {
                    let measures = Measures::from_json(&read(&rescored.directory, "measures.json")?)?;
                    growth(&summary, &measures, &rescored.lock, self.wanted)?
                }
                SweepState::Running | SweepState::Tabulating | SweepState::StoppedByBudget | SweepState::Cancelled => {
                    let why = format!("{} before every value was known to {known}", rescored.state);
                    let code = self.end(&rescored, &why, spent);
                    if let (Limit::Run { .. }, SweepState::StoppedByBudget) = (self.limit, rescored.state) {
                        output::note(&with_more(&rescored.directory));
                    }
                    return Ok(code);
                }
            };
            let next = match growth {
                Growth::Enough => {
                    return Ok(self.end(&rescored, &format!("every corrected value is known to {known}"), spent));
                }
                Growth::Exhausted => return Ok(self.end(&rescored, &exhausted(&known), spent)),
                Growth::More(next) => next,
            };
            if self.limit.is_used(&summary) && !self.has_further() {
                self.tell(&rescored, &format!("the budget is used before every value is known to {known}"), spent);
                if let Limit::Run { .. } = self.limit {
                    output::note(&with_more(&rescored.directory));
                }
                return Ok(of_state(SweepState::StoppedByBudget));
            }
            let Rescored { from, directory, leaving, .. } = rescored;
            self.leaving = Some(leaving);
            self.args.run =
                directory.to_str().context("the directory of a run has a name that is not text")?.to_owned();
            let (_, first) = self.begun.get_or_insert((from, directory));
            self.args.output = Some(numbered(first, self.made + 1)?);
            self.shares = Shares::Next(next);
        }
    }

    /// `true` if the next round of a run was begun before: it may have had more money, by a resume.
    fn has_further(&self) -> bool {
        match (self.limit, &self.begun) {
            (Limit::Run { .. }, Some((_, first))) => numbered(first, self.made + 1).is_ok_and(|next| next.exists()),
            (Limit::Run { .. } | Limit::Judges(_), _) => false,
        }
    }

    /// Shows the last round, and says why it is the last one.
    fn end(&self, rescored: &Rescored, why: &str, spent: CostSum) -> ExitCode {
        self.tell(rescored, why, spent);
        of_state(rescored.state)
    }

    fn tell(&self, rescored: &Rescored, why: &str, spent: CostSum) {
        match self.limit {
            Limit::Judges(_) => rescored.show(),
            // The run has shown its own results, which a program may read.
            Limit::Run { .. } => {}
        }
        output::note(&conclusion(why, self.made, spent, &rescored.directory));
    }
}

/// Says why the last of so many rounds, in `directory`, is the last one, and what all have cost.
fn conclusion(why: &str, rounds: u32, spent: CostSum, directory: &Path) -> String {
    let rounds = regatta_proto::counted(rounds.into(), "round", "rounds");
    format!("{why}; {rounds}, cost {spent}; the last one is in {}", directory.display())
}

fn read(directory: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let path = directory.join(name);
    std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
}

/// The directory of a later round, beside that of the `first`.
///
/// # Errors
/// When the path of the first ends in no name, as `..` does.
fn numbered(first: &Path, round: u32) -> anyhow::Result<PathBuf> {
    let name = first.file_name().ok_or_else(|| {
        let first = first.display();
        BadConfiguration(format!(
            "rounds are in directories beside each other, with numbers behind the name of the first, and {first} ends in no name; give --output one \
             that does"
        ))
    })?;
    let mut name = name.to_owned();
    name.push(format!("-{round}"));
    Ok(first.with_file_name(name))
}

/// Shares of the audits of the round after the one of `summary`, so that half of the interval of each corrected value on leaderboards is at most what
/// is `wanted` of its audit.
///
/// # Errors
/// When no such value is corrected.
fn growth(summary: &Summary, measures: &Measures, lock: &SweepLock, wanted: Wanted) -> anyhow::Result<Growth> {
    let of_lock = lock.benchmarks.iter();
    let mut shares: BTreeMap<BenchmarkName, f64> =
        of_lock.filter_map(|(name, of)| Some((name.clone(), of.audit.as_ref()?.share))).collect();
    let (mut corrected, mut is_open, mut grows) = (0, false, false);
    for row in &summary.rows {
        let of_row = lock.benchmarks.get(&row.benchmark);
        let audit = of_row.and_then(|of| Some((of.audit.as_ref()?, *of.items.get(&row.setting)?)));
        let (Some((audit, items)), Some(share)) = (audit, shares.get_mut(&row.benchmark)) else { continue };
        let Some(margin) = wanted.of(audit) else { continue };
        let most = audit.at_most.unwrap_or(ALL).min(ALL);
        let drawn = audit.items_of(items as usize);
        for metric in row.metrics.iter().filter(|metric| metric.headline) {
            let Some(audited) = &metric.estimate.audited else { continue };
            let of_benchmark = measures.benchmarks.get(&row.benchmark);
            let definition = of_benchmark.and_then(|of| of.definition(&row.setting, metric.evaluator, &metric.metric));
            let Some((low, high)) = definition.and_then(|of| of.low.zip(of.high)) else { continue };
            corrected += 1;
            // The longer side: at an end of the scale the other one is cut off.
            let AuditedNumber { value, low: from, high: to } = audited.estimate;
            let half = (value - from).max(to - value) / (high - low);
            let Some(needed) = further_audits(audited.items as usize, half, margin.part()) else { continue };
            is_open = true;
            // Of what is drawn some may have no verdict; as many may be missing of what is drawn next.
            let wider = (drawn as f64 * needed as f64) / (f64::from(audited.items) * f64::from(items));
            let wider = wider.min(most);
            // The fewest that are drawn may be more than the share already: then a larger one draws the same.
            let draws = Audit { share: wider, ..audit.clone() }.items_of(items as usize);
            if wider > *share && draws > drawn {
                *share = wider;
                grows = true;
            }
        }
    }
    match (corrected, is_open, grows) {
        (0, _, _) => {
            let problem = "the audit corrects no value on leaderboards, so that there is none to be known better: no metric there that the judge \
                           decides is a mean over items with a least and a largest value, or too little was audited";
            Err(BadConfiguration(problem.to_owned()).into())
        }
        (_, false, _) => Ok(Growth::Enough),
        (_, true, true) => Ok(Growth::More(shares)),
        (_, true, false) => Ok(Growth::Exhausted),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use regatta_proto::Money;
    use serde_json::json;

    use super::run as run_rounds;
    use super::*;
    use crate::args::{Cli, Command};
    use crate::ended_run::EndedRun;
    use crate::ended_run::testing::{Made, right};

    /// Asks for ±6pp of all values.
    fn six() -> Wanted {
        Wanted { everywhere: Some("6pp".parse().unwrap()) }
    }

    /// A run of 400 items of which `share` are audited, with an interval of the corrected value of so many points to each side.
    fn run(share: f64, points: f64) -> EndedRun {
        let mut run = Made { scores: right(200, 400), ..Made::default() }.run("runs/audited");
        let benchmark = run.lock.benchmarks.values_mut().next().unwrap();
        benchmark.judge = Some(regatta_proto::Judge::Plain("openai/gpt-5-nano".parse().unwrap()));
        benchmark.audit = Some(serde_json::from_value(json!({ "judge": "openai/gpt-5", "share": share })).unwrap());
        let (low, high) = (0.5 - points / 100.0, 0.5 + points / 100.0);
        let number = json!({ "value": 0.5, "low": low, "high": high });
        run.summary.rows[0].metrics[0].estimate.audited = Some(
            serde_json::from_value(json!({
                "value": 0.5, "low": low, "high": high, "alone": number, "bias": number, "weight": 0.5,
                "items": (400.0 * share).ceil() as u32, "saving": 1.5,
            }))
            .unwrap(),
        );
        run
    }

    fn growth_of(share: f64, points: f64) -> Growth {
        let EndedRun { lock, summary, measures, .. } = run(share, points);
        growth(&summary, &measures, &lock, six()).unwrap()
    }

    #[test]
    fn an_audit_grows_until_every_corrected_value_is_known_well_enough_or_everything_is_audited() {
        assert_eq!(growth_of(0.25, 4.9), Growth::Enough);
        let Growth::More(shares) = growth_of(0.25, 5.5) else {
            unreachable!("100 of 400 items are too few for 5.5 points")
        };
        assert_eq!(shares.into_values().collect::<Vec<_>>(), [128.0 / 400.0]);
        assert_eq!(growth_of(ALL, 9.0), Growth::Exhausted);
    }

    #[test]
    fn an_interval_that_the_end_of_the_scale_cuts_off_is_as_wide_as_its_other_side() {
        let mut run = run(0.25, 5.5);
        let audited = run.summary.rows[0].metrics[0].estimate.audited.as_mut().unwrap();
        audited.estimate = AuditedNumber { value: 0.99, low: 0.935, high: 1.0 };
        let growth = growth(&run.summary, &run.measures, &run.lock, six()).unwrap();
        assert!(matches!(growth, Growth::More(_)), "{growth:?}");
    }

    #[test]
    fn an_audit_without_some_of_its_verdicts_grows_by_what_these_would_have_told() {
        let mut run = run(0.25, 5.5);
        // Of the 100 items that are drawn.
        run.summary.rows[0].metrics[0].estimate.audited.as_mut().unwrap().items = 60;
        let growth = growth(&run.summary, &run.measures, &run.lock, six()).unwrap();
        let name = "worfbench".parse().unwrap();
        assert_eq!(growth, Growth::More(BTreeMap::from([(name, 0.35)])), "84 would do, of 140 that are drawn");
    }

    #[test]
    fn an_audit_grows_as_far_as_its_spec_says_and_to_the_share_that_it_names_at_most() {
        let growth_of = |until: serde_json::Value, at_most: serde_json::Value| {
            let mut run = run(0.25, 5.5);
            let benchmark = run.lock.benchmarks.values_mut().next().unwrap();
            let audit = json!({ "judge": "openai/gpt-5", "share": 0.25, "until": until, "at_most": at_most });
            benchmark.audit = Some(serde_json::from_value(audit).unwrap());
            growth(&run.summary, &run.measures, &run.lock, Wanted { everywhere: None })
        };
        let shares = |growth: anyhow::Result<Growth>| match growth.unwrap() {
            Growth::More(shares) => shares.into_values().next(),
            Growth::Enough | Growth::Exhausted => None,
        };
        assert_eq!(shares(growth_of(json!("6pp"), json!(null))), Some(128.0 / 400.0));
        assert_eq!(shares(growth_of(json!("6pp"), json!(0.3))), Some(0.3));
        assert_eq!(growth_of(json!("6pp"), json!(0.25)).unwrap(), Growth::Exhausted);
        assert_eq!(growth_of(json!("7pp"), json!(0.5)).unwrap(), Growth::Enough);
        assert!(growth_of(json!(null), json!(null)).is_err(), "no value is to be known better");
    }

    #[test]
    fn an_audit_whose_share_may_grow_but_not_the_items_that_it_draws_is_not_repeated() {
        let mut run = run(0.075, 9.0);
        let benchmark = run.lock.benchmarks.values_mut().next().unwrap();
        // 28 of 400 items are fewer than the 30 that are audited at least.
        let audit = json!({ "judge": "openai/gpt-5", "share": 0.05, "until": "6pp", "at_most": 0.07 });
        benchmark.audit = Some(serde_json::from_value(audit).unwrap());
        let growth = growth(&run.summary, &run.measures, &run.lock, Wanted { everywhere: None }).unwrap();
        assert_eq!(growth, Growth::Exhausted);
    }

    #[test]
    fn an_audit_that_corrects_nothing_is_not_repeated() {
        let mut run = run(0.25, 4.0);
        run.summary.rows[0].metrics[0].estimate.audited = None;
        let error = growth(&run.summary, &run.measures, &run.lock, six()).unwrap_err().to_string();
        assert!(error.starts_with("the audit corrects no value on leaderboards"), "{error}");
    }

    #[test]
    fn the_first_round_audits_fifty_items_and_later_ones_the_shares_that_follow() {
        let lock = run(0.05, 5.0).lock;
        let spec = |share: &str| {
            let text = format!(
                "name: s\nbenchmarks: {{ worfbench: {{ data: d, judge: openai/gpt-5-nano, audit: {{ judge: openai/gpt-5, share: {share} }} }} }}\nmodels: [openai/gpt-4o]\n"
            );
            regatta_proto::parse_spec(&text, &|_| None).unwrap()
        };
        let share = |shares: &Shares, of: &str| {
            let mut spec = spec(of);
            shares.enter(&mut spec, &lock).unwrap();
            spec.benchmarks.values().next().unwrap().audit.as_ref().unwrap().share
        };
        assert_eq!((share(&Shares::First, "0.05"), share(&Shares::First, "0.3")), (50.0 / 400.0, 0.3));
        let next = Shares::Next(BTreeMap::from([("worfbench".parse().unwrap(), 0.7)]));
        assert_eq!(share(&next, "0.05"), 0.7);
        let mut none = spec("0.1");
        none.benchmarks.values_mut().for_each(|benchmark| benchmark.audit = None);
        assert!(Shares::First.enter(&mut none, &lock).unwrap_err().to_string().contains("the spec has none"));
    }

    #[test]
    fn a_limit_is_of_all_judges_together_and_that_of_a_run_of_its_sessions_too() {
        let mut summary = run(0.25, 5.0).summary;
        summary.spending.cost = CostSum { known: Money(1_000_000_000), unknown_calls: 0 };
        summary.judging.cost = CostSum { known: Money(2_000_000_000), unknown_calls: 0 };
        for (limit, is_used) in [
            (Limit::Judges(None), false),
            (Limit::Judges(Some(2.0)), true),
            (Limit::Judges(Some(2.1)), false),
            (Limit::Run { locked: None, raised: None }, false),
            (Limit::Run { locked: Some(3.0), raised: Some(Money(3_000_000_000)) }, true),
            (Limit::Run { locked: Some(3.0), raised: Some(Money(3_100_000_000)) }, false),
        ] {
            assert_eq!(limit.is_used(&summary), is_used, "{limit:?}");
        }
    }

    #[test]
    fn a_budget_that_was_raised_for_one_round_is_that_of_all_later_ones() {
        let mut limit = Limit::Run { locked: Some(3.0), raised: Some(Money(3_000_000_000)) };
        limit.raise(Some(Money(5_000_000_000)));
        limit.raise(Some(Money(4_000_000_000)));
        assert_eq!((limit.of_run(), limit.raised()), (Some(3.0), Some(Money(5_000_000_000))));
    }

    #[test]
    fn a_round_that_was_resumed_by_itself_goes_on_with_the_rounds_of_its_run() {
        let after = |directory: &str| {
            let (named_after, made) = named_after(Path::new(directory));
            (named_after.display().to_string(), made)
        };
        assert_eq!(after("runs/a"), ("runs/a-audited".to_owned(), 1));
        assert_eq!(after("runs/a-audited-3/"), ("runs/a-audited".to_owned(), 3));
        for other in ["runs/a-audited-1", "runs/a-3", "runs/a-audited-x", "runs/a-audited"] {
            assert_eq!(after(other), (format!("{other}-audited"), 1));
        }
        assert_eq!(after(".").1, 1);
    }

    #[test]
    fn calls_of_unknown_price_are_no_rounds_for_nothing() {
        let spent = CostSum { known: Money::ZERO, unknown_calls: 103 };
        let said = conclusion("every corrected value is known to ±2pp", 2, spent, Path::new("runs/a-rescored-2"));
        let expected = "every corrected value is known to ±2pp; 2 rounds, cost unknown (103 calls); the last one is in runs/a-rescored-2";
        assert_eq!(said, expected);
    }

    #[test]
    fn later_rounds_lie_beside_the_first() {
        for first in ["runs/a-rescored", "runs/a-rescored/", "../a-rescored"] {
            let third = numbered(Path::new(first), 3).unwrap();
            assert_eq!(third, Path::new(&format!("{}-3", first.trim_end_matches('/'))));
        }
    }

    #[tokio::test]
    async fn a_first_directory_without_a_name_is_refused_before_anything_is_asked() {
        for output in ["..", ".", "runs/..", "/"] {
            let audited = ["--spec", "audited.yaml", "--until", "2pp"];
            let arguments = ["regatta", "rescore", "runs/a", "--output", output].into_iter().chain(audited);
            let Command::Rescore(args) = Cli::try_parse_from(arguments).unwrap().command else { panic!("not rescore") };
            let wanted = args.until;
            let error = run_rounds(args, wanted).await.unwrap_err();
            assert!(error.downcast_ref::<BadConfiguration>().is_some(), "{error}");
            let said = error.to_string();
            assert!(said.ends_with(&format!("and {output} ends in no name; give --output one that does")), "{said}");
        }
    }
}
