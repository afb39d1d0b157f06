//! `regatta plan`: the trials, sessions, tokens and dollars that it takes to see a difference of two models.

mod pilot;

use std::process::ExitCode;

use regatta_catalog::Sweep;
use regatta_coordinator::{CellEstimate, estimate};
use regatta_proto::{BenchmarkName, ModelRef, Money, Setting};
use regatta_report::{Aim, Basis, JudgedSession, Need, Outlook, PairPower, Pilot, outlooks};
use serde::Serialize;

use super::check::Planned;
use super::outlook::{aim, effect, least, of_trials};
use crate::args::PlanArgs;
use crate::benchmarks::BENCHMARKS;
use crate::exit::BadConfiguration;
use crate::output;
use crate::plain_table::{fitted, plain_table};
use crate::spec::{check_build, load};

/// Pairs of a pilot that are listed on a terminal; JSON has all.
const PAIRS_LISTED: usize = 20;

pub(crate) async fn run(args: PlanArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    check_build(&loaded.spec)?;
    let planned = Planned::from(loaded, BENCHMARKS).await?;
    let pilot = match &args.pilot {
        Some(run) => Some(pilot::read(run, &args.client).await?),
        None => None,
    };
    let level = args.level.unwrap_or_else(|| planned.sweep.lock.level.alpha());
    let sees = outlooks(&planned.sweep, pilot.as_ref(), Aim { power: args.power, level });
    if sees.is_empty() {
        return Err(BadConfiguration("nothing is measured by which models could be compared".to_owned()).into());
    }
    let cells = estimate(&planned.sweep);
    let mut answers = Vec::new();
    for outlook in sees {
        let Some(wished) = args.detect.within(outlook.range) else {
            let problem = format!("{} has no largest value, so points of it mean nothing", outlook.metric);
            return Err(BadConfiguration(format!("{problem}; write --detect in its own scale")).into());
        };
        if wished > outlook.range.1 - outlook.range.0 {
            let shown = effect(wished, outlook.range, outlook.unit);
            let (low, high) = outlook.range;
            let problem =
                format!("no two models can differ by {shown} in {}, which is {low} to {high}", outlook.metric);
            return Err(BadConfiguration(format!(
                "{problem}; write a smaller --detect, as 2pp for 2 percentage points"
            ))
            .into());
        }
        answers.push(Answer::new(&planned.sweep, outlook, wished, pilot.as_ref(), &cells));
    }
    if args.json {
        output::line(&serde_json::to_string_pretty(&answers)?);
    } else {
        output::line(&render(&answers));
        output::line(&aim(args.power, level));
        answers.iter().flat_map(Answer::notes).for_each(|note| output::line(&note));
        answers.iter().flat_map(|answer| answer.estimates(pilot.as_ref())).for_each(|note| output::line(&note));
        answers.iter().filter_map(pairs_table).for_each(|table| output::line(&table));
    }
    Ok(ExitCode::SUCCESS)
}

/// Answer for one benchmark and setting.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    outlook: Outlook,
    need: Need,
    /// Trials and items that are advised: more trials if these suffice, else more items if the data has them.
    advice: Option<Advice>,
}

#[derive(Debug, Serialize)]
struct Advice {
    trials: u32,
    items: u32,
    sessions: u64,
    /// Tokens of models, partners and judges; `None` for external agents, whose calls cannot be foreseen.
    tokens: Option<u64>,
    /// `None` when a price is unknown.
    nanodollars: Option<Money>,
    /// Models of whose sessions the pilot had none that was answered and paid for, so that what they take is estimated; empty without a pilot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    estimated: Vec<ModelRef>,
    /// `true` if the pilot does not tell what judges take either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    judges_estimated: bool,
}

impl Answer {
    fn new(sweep: &Sweep, outlook: Outlook, effect: f64, pilot: Option<&Pilot>, cells: &[CellEstimate]) -> Self {
        let need = outlook.need(effect);
        let (trials, items) = (u32::from(outlook.trials), outlook.items);
        let more_items = || need.items.filter(|items| *items <= outlook.items_of_data).map(|items| (trials, items));
        let design = need.trials.map(|trials| (trials, items)).or_else(more_items);
        let advice = design.map(|(trials, items)| {
            let of_each = u64::from(trials) * u64::from(items);
            let (mut tokens, mut dollars) = (Some(0.0), Some(0.0));
            let (mut estimated, mut judges_estimated) = (Vec::new(), false);
            for model in &sweep.lock.models {
                let Expected { session, is_estimated, are_judges_estimated } =
                    session(sweep, &outlook, &model.id, pilot, cells);
                tokens = tokens.zip(session.tokens).map(|(sum, tokens)| sum + tokens * of_each as f64);
                dollars = dollars.zip(session.nanos).map(|(sum, nanos)| sum + nanos * of_each as f64);
                estimated.extend((is_estimated && pilot.is_some()).then(|| model.id.clone()));
                judges_estimated |= are_judges_estimated && pilot.is_some();
            }
            Advice {
                trials,
                items,
                sessions: of_each * u64::from(outlook.models),
                tokens: tokens.map(|tokens| tokens.round() as u64),
                nanodollars: dollars.map(|nanos| Money(nanos.round() as u64)),
                estimated,
                judges_estimated,
            }
        });
        Self { outlook, need, advice }
    }

    /// Lines on the part of the tokens and dollars that the pilot does not tell.
    fn estimates(&self, pilot: Option<&Pilot>) -> Vec<String> {
        let (Some(Advice { estimated, judges_estimated, .. }), Some(pilot)) = (&self.advice, pilot) else {
            return Vec::new();
        };
        let (place, sweep) = (format!("{} {}", self.outlook.benchmark, self.outlook.setting), &pilot.sweep);
        let mut notes = Vec::new();
        if !estimated.is_empty() {
            let models: Vec<String> = estimated.iter().map(ModelRef::to_string).collect();
            notes.push(format!(
                "{place}: no session of {} in {sweep} was answered and paid for: tokens and dollars of its next ones are estimated as by \
                 --dry-run",
                models.join(" or ")
            ));
        }
        if *judges_estimated {
            notes.push(format!(
                "{place}: {sweep} does not tell what the judges take of a session: their tokens and dollars are estimated as by --dry-run"
            ));
        }
        notes
    }

    /// Lines that people should read beside the table.
    fn notes(&self) -> Vec<String> {
        let Outlook { benchmark, setting, items, clusters, trials, range, unit, .. } = &self.outlook;
        let (place, trials) = (format!("{benchmark} {setting}"), of_trials(*trials));
        let mut notes = vec![format!("{place}: {}", basis(&self.outlook))];
        match (self.need.trials, self.outlook.smallest_of_many_trials) {
            (Some(_), _) => {}
            (None, Some(most)) => {
                let more = match self.need.items {
                    Some(needed) if needed <= self.outlook.items_of_data => {
                        format!("with {trials} it takes {needed} items; the data has {}", self.outlook.items_of_data)
                    }
                    Some(needed) => format!(
                        "with {trials} it would take {needed} items, and the data has only {}",
                        self.outlook.items_of_data
                    ),
                    None => "no number of items suffices either".to_owned(),
                };
                notes.push(format!(
                    "{place}: no number of trials suffices: with these {items} items in {clusters} independent clusters \
                     differences are seen only from ±{} on; {more}",
                    least(most, *range, *unit)
                ));
            }
            (None, None) => notes.push(format!(
                "{place}: no number of trials suffices: {clusters} independent clusters of items are too few for any test at this level"
            )),
        }
        notes
    }
}

/// Variance of which nothing is known.
const ASSUMED: &str = "assumed are two models that are right half of the time, independently of each other, a tenth of whose variance \
                       whole clusters of items share, and two fifths of which more trials average out";

fn basis(outlook: &Outlook) -> String {
    match &outlook.basis {
        Basis::Assumed => format!("no pilot; {ASSUMED}"),
        Basis::Unpaired { sweep } => {
            format!(
                "no two models of {sweep} have a score in the same sessions of two or more independent clusters of items; {ASSUMED}"
            )
        }
        Basis::Agreed { sweep } => {
            format!(
                "the models agreed in every session of {sweep} that has a score of both, which says nothing of how models vary that differ; {ASSUMED}"
            )
        }
        Basis::Constant { sweep } => {
            format!(
                "each two models differed by the same in every session of {sweep} that has a score of both, which says nothing of how models \
                 vary that differ now and then; {ASSUMED}"
            )
        }
        Basis::Pilot { sweep, one, other, pairs } => {
            let chosen = match pairs {
                0 | 1 => String::new(),
                pairs => format!(", of {pairs} pairs the one that varies most"),
            };
            let trials = match outlook.variance.knows_trials {
                true => "",
                false => "; it has one trial: what more trials would average out is unknown, and taken for nothing",
            };
            format!("variance of {one} against {other} in {sweep}{chosen}{trials}")
        }
    }
}

/// Average spending of a session of `model`: in the pilot, or as estimated where that has none.
struct Session {
    tokens: Option<f64>,
    nanos: Option<f64>,
}

impl Session {
    /// `None` stays unknown.
    fn and(self, other: Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one + other);
        Self { tokens: sum(self.tokens, other.tokens), nanos: sum(self.nanos, other.nanos) }
    }
}

/// Average spending of a session, and the part of it that no pilot tells.
struct Expected {
    session: Session,
    is_estimated: bool,
    /// `true` where judges are expected to be asked and their part is estimated.
    are_judges_estimated: bool,
}

fn session(
    sweep: &Sweep,
    outlook: &Outlook,
    model: &ModelRef,
    pilot: Option<&Pilot>,
    cells: &[CellEstimate],
) -> Expected {
    let place = (outlook.benchmark.clone(), outlook.setting.clone());
    let unknown = || Session { tokens: None, nanos: None };
    let foreseen = cells.iter().find(|cell| is_at(cell, &place) && cell.cell.model == *model);
    let key = (outlook.benchmark.clone(), outlook.setting.clone(), model.clone());
    let played = pilot.and_then(|pilot| pilot.spent.get(&key)).filter(|spent| spent.sessions > 0).map(|spent| {
        let sessions = spent.sessions as f64;
        Session {
            tokens: spent.usage.complete().map(|usage| usage.total() as f64 / sessions),
            nanos: (spent.cost.unknown_calls == 0).then(|| spent.cost.known.0 as f64 / sessions),
        }
    });
    let benchmark = sweep.lock.benchmarks.get(&outlook.benchmark);
    let judge = benchmark.and_then(|benchmark| benchmark.judge.as_ref());
    let is_audited = benchmark.is_some_and(|benchmark| benchmark.audit.is_some());
    let weight = |place: &(BenchmarkName, Setting)| of_judges(cells.iter().find(|cell| is_at(cell, place))?).tokens;
    // Of a model that the pilot has no session of, its judges' bill tells nothing either.
    let judged = played
        .as_ref()
        .and(pilot)
        .filter(|_| !is_audited)
        .and_then(|pilot| pilot.judged_session(&place, judge, &weight));
    let judged = judged.map(|JudgedSession { tokens, nanos }| Session { tokens, nanos });
    let estimated_judges = || foreseen.map_or_else(unknown, of_judges);
    Expected {
        is_estimated: played.is_none(),
        // Where no session tells anything, all of it is estimated, which is said of the model.
        are_judges_estimated: played.is_some() && judged.is_none() && estimated_judges().tokens != Some(0.0),
        session: played
            .unwrap_or_else(|| foreseen.map_or_else(unknown, of_models))
            .and(judged.unwrap_or_else(estimated_judges)),
    }
}

fn is_at(cell: &CellEstimate, (benchmark, setting): &(BenchmarkName, Setting)) -> bool {
    cell.cell.benchmark == *benchmark && cell.cell.setting == *setting
}

/// Estimate of a session without its judges.
fn of_models(cell: &CellEstimate) -> Session {
    let sessions = cell.sessions.max(1) as f64;
    let tokens = cell.input_tokens.zip(cell.output_tokens).map(|(input, output)| input + output);
    Session {
        tokens: tokens.map(|tokens| tokens as f64 / sessions),
        nanos: cell.cost.map(|cost| cost.0 as f64 / sessions),
    }
}

/// Estimate of the judges' part in a session.
fn of_judges(cell: &CellEstimate) -> Session {
    let sessions = cell.sessions.max(1) as f64;
    Session {
        tokens: cell.judges.map(|judges| (judges.input_tokens + judges.output_tokens) as f64 / sessions),
        nanos: cell.judges.and_then(|judges| judges.cost).map(|cost| cost.0 as f64 / sessions),
    }
}

/// The pair that varies most has the least power of a pilot's pairs.
const fn at_least(basis: &Basis) -> &'static str {
    match basis {
        Basis::Pilot { pairs: 2.., .. } => "at least ",
        Basis::Pilot { .. }
        | Basis::Assumed
        | Basis::Unpaired { .. }
        | Basis::Agreed { .. }
        | Basis::Constant { .. } => "",
    }
}

/// The pairs of a pilot with their own power, the smallest first and what is unknown last; `None` where there are not several.
fn pairs_table(answer: &Answer) -> Option<String> {
    let Need { pairs, effect: wished, .. } = &answer.need;
    let Outlook { benchmark, setting, range, unit, .. } = &answer.outlook;
    if pairs.len() < 2 {
        return None;
    }
    let is_deciding = |pair: &PairPower| match &answer.outlook.basis {
        Basis::Pilot { one, other, .. } => [one, other] == [&pair.one, &pair.other],
        Basis::Assumed | Basis::Unpaired { .. } | Basis::Agreed { .. } | Basis::Constant { .. } => false,
    };
    let mut sorted: Vec<&PairPower> = pairs.iter().collect();
    // Of equal ones, the pair that the plan is made for is never among those that are left out.
    let rank = |pair: &PairPower| (pair.power.unwrap_or(f64::INFINITY), !is_deciding(pair));
    sorted.sort_by(|one, other| {
        let ((power, later), (other_power, other_later)) = (rank(one), rank(other));
        power.total_cmp(&other_power).then(later.cmp(&other_later))
    });
    let mut table = plain_table();
    let to_see = format!("power to see {} now", effect(*wished, *range, *unit));
    table.set_header([&format!("{benchmark} {setting}, pair of the pilot"), &to_see]);
    for pair in sorted.iter().take(PAIRS_LISTED) {
        let power = match pair.power {
            Some(power) => format!("{:.0} %", 100.0 * power),
            None if pair.agreed => "unknown: they agreed".to_owned(),
            None => "unknown: they differed by the same in every session".to_owned(),
        };
        table.add_row([format!("{} against {}", pair.one, pair.other), power]);
    }
    Some(format!("{}{}", fitted(table), left_out(sorted.get(PAIRS_LISTED..).unwrap_or_default())))
}

/// A line on the pairs that are not listed; empty where there are none.
fn left_out(pairs: &[&PairPower]) -> String {
    let unknown = pairs.iter().filter(|pair| pair.power.is_none()).count();
    let known = match pairs.len() - unknown {
        0 => None,
        1 => Some("1 more pair finds it at least as often".to_owned()),
        known => Some(format!("{known} more pairs find it at least as often")),
    };
    let unknown = match unknown {
        0 => None,
        1 => Some("the power of 1 more pair is unknown".to_owned()),
        unknown => Some(format!("the power of {unknown} more pairs is unknown")),
    };
    let said: Vec<String> = known.into_iter().chain(unknown).collect();
    if said.is_empty() { String::new() } else { format!("\n{}; --json has all", said.join("; ")) }
}

fn render(answers: &[Answer]) -> String {
    let mut table = plain_table();
    table.set_header(["benchmark", "to see", "power now", "trials", "items", "sessions", "tokens", "dollars"]);
    for answer in answers {
        let Outlook { benchmark, setting, range, unit, trials, items, .. } = &answer.outlook;
        let number = |value: fn(&Advice) -> String| answer.advice.as_ref().map_or_else(|| "–".to_owned(), value);
        table.add_row([
            format!("{benchmark} {setting}"),
            effect(answer.need.effect, *range, *unit),
            format!("{}{:.0} % ({trials} × {items})", at_least(&answer.outlook.basis), 100.0 * answer.need.power),
            number(|advice| advice.trials.to_string()),
            number(|advice| advice.items.to_string()),
            number(|advice| advice.sessions.to_string()),
            number(|advice| advice.tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string())),
            number(|advice| advice.nanodollars.map_or_else(|| "unknown".to_owned(), |money| money.to_string())),
        ]);
    }
    fitted(table)
}
