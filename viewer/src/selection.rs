//! Sessions one by one: those that the store's filters find, a sample of them, and those with certain annotations.
//!
//! Items are listed with all their sessions, but people annotate sessions; so a sample is one of sessions, and so are the steps from one
//! that is not annotated yet to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use regatta_backends::{CellProgress, ITEMS_FOUND_MAX, ItemOrder, ItemQuery, Ledger};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, Digest, ItemId, ItemIndex, SweepId};

use crate::annotations::{Annotations, Annotator, ByPerson, Mark, SessionName};
use crate::numbers;
use crate::pages::group::Group;
use crate::problem::Problem;
use crate::source::Run;
use crate::{Viewer, progress};

/// A session of a run.
pub(crate) type Place = (ItemIndex, CellIndex);

/// A sample of sessions, drawn without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Number of sessions.
    pub(crate) size: usize,
    /// Seed of the draw.
    pub(crate) seed: u64,
}

/// A filter by annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Annotated {
    /// Somebody's mark is this one.
    With(Mark),
    /// Anybody has annotated it.
    ByAnyone,
    /// Nobody has.
    Not,
    /// The person at these pages has not.
    NotByMe,
}

impl Annotated {
    /// All filters, in the order of the form.
    pub(crate) const ALL: [Self; 6] = [
        Self::With(Mark::Right),
        Self::With(Mark::Wrong),
        Self::With(Mark::Unsure),
        Self::ByAnyone,
        Self::Not,
        Self::NotByMe,
    ];

    /// Name in addresses.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::With(mark) => mark.as_str(),
            Self::ByAnyone => "by_anyone",
            Self::Not => "not",
            Self::NotByMe => "not_by_me",
        }
    }

    /// `true` for a session that `people` have annotated, at the pages of `me`.
    pub(crate) fn lets_through(self, people: Option<&ByPerson<'_>>, me: Option<&Annotator>) -> bool {
        match self {
            Self::With(mark) => {
                people.is_some_and(|people| people.values().any(|(_, annotation)| annotation.mark == Some(mark)))
            }
            Self::ByAnyone => people.is_some(),
            Self::Not => people.is_none(),
            Self::NotByMe => !is_done(people, me),
        }
    }
}

/// `true` if `me` has annotated the session, or anybody where nobody is named.
pub(crate) fn is_done(people: Option<&ByPerson<'_>>, me: Option<&Annotator>) -> bool {
    match (people, me) {
        (None, _) => false,
        (Some(people), Some(me)) => people.contains_key(me),
        (Some(_), None) => true,
    }
}

/// Recorded sessions that `query` finds, in its order, or the sample of them; `None` if more would be looked through than may be. The result is cached.
pub(crate) async fn sessions(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    query: &ItemQuery,
    sample: Option<Sample>,
) -> Result<Option<Arc<[Place]>>, Problem> {
    let query = ItemQuery { offset: 0, limit: ITEMS_FOUND_MAX, ..query.clone() };
    let cells = run.store.ledger.cell_progress(&run.row.id).await?;
    if is_beyond(&cells, &query, SESSIONS_FOUND_MAX) {
        return Ok(None);
    }
    let fingerprint = progress::Totals::of(&cells);
    let question = format!("{} {} {query:?} {sample:?}", run.name, run.row.id);
    let find = async {
        let Some(found) = found(&run.store.ledger, &run.row.id, &query, SESSIONS_FOUND_MAX).await? else {
            return Ok::<Option<Arc<[Place]>>, Problem>(None);
        };
        Ok(Some(Arc::from(match sample {
            Some(sample) => drawn(&found, sample, |place| name(sweep, place)),
            None => found,
        })))
    };
    viewer.selections.get(question, &format!("{fingerprint:?}"), find).await
}

/// Most sessions that are selected, filtered and drawn from at once, in memory; a page shows some dozens.
const SESSIONS_FOUND_MAX: usize = 250_000;

/// The refusal of a list of more sessions.
pub(crate) fn too_many() -> Problem {
    Problem::wrong(format!("{}: choose fewer by setting, outcome or another filter", more_than_are_looked_through()))
}

/// The reason why sessions of a list are not looked through, as a clause.
pub(crate) fn more_than_are_looked_through() -> String {
    format!("more than {} sessions would be looked through", numbers::count(SESSIONS_FOUND_MAX as u64))
}

/// `true` if the counters of `cells` say already that `query` finds more than `most` sessions: while a large sweep goes on, the store would be asked
/// for them again and again.
fn is_beyond(cells: &[CellProgress], query: &ItemQuery, most: usize) -> bool {
    let ItemQuery { cells: wanted, value, order, offset, limit, .. } = query.clone();
    let recorded: u64 = cells.iter().filter(|cell| wanted.contains(&cell.index)).map(|cell| cell.recorded).sum();
    let everything = ItemQuery { cells: wanted, value, order, offset, limit, ..ItemQuery::default() };
    *query == everything && recorded > most as u64
}

/// Sessions of `sweep` that `query` finds; `None` if they are more than `most`. The store finds items; asked about each cell alone, it finds sessions.
async fn found(
    ledger: &Ledger,
    sweep: &SweepId,
    query: &ItemQuery,
    most: usize,
) -> Result<Option<Vec<Place>>, Problem> {
    let mut places: BTreeMap<ItemIndex, BTreeSet<CellIndex>> = BTreeMap::new();
    let mut sessions = 0;
    for cell in &query.cells {
        // One more than there is room for tells that there are too many.
        let limit = (most + 1 - sessions) as u32;
        let of_cell = ItemQuery { cells: vec![*cell], order: ItemOrder::Position, limit, ..query.clone() };
        for item in ledger.find_items(sweep, &of_cell).await?.items {
            places.entry(item).or_default().insert(*cell);
            sessions += 1;
        }
        if sessions > most {
            return Ok(None);
        }
    }
    let order: Vec<ItemIndex> = match query.order {
        ItemOrder::Position => places.keys().copied().collect(),
        // An order compares all sessions of an item.
        ItemOrder::Disagreement | ItemOrder::Lowest | ItemOrder::Highest => {
            ledger.find_items(sweep, query).await?.items
        }
    };
    let of = |item: ItemIndex| places.get(&item).into_iter().flatten().map(move |cell| (item, *cell));
    Ok(Some(order.into_iter().flat_map(of).collect()))
}

/// Name of the session at `place`.
pub(crate) fn name(sweep: &Sweep, (item, cell): Place) -> Option<SessionName> {
    let cell = sweep.cell(cell)?;
    Some(SessionName::of(cell, &sweep.item(cell, item)?.id))
}

/// The sample of `places`, in their order.
///
/// The sessions with the least digests of seed and name: whoever has the same run draws the same sample, and a session that is recorded
/// later changes one place of it at most.
fn drawn(places: &[Place], sample: Sample, name: impl Fn(Place) -> Option<SessionName>) -> Vec<Place> {
    let digest = |place: Place| {
        let SessionName { benchmark, setting, model, trial, item } = name(place)?;
        let (seed, model) = (sample.seed.to_le_bytes(), model.to_string());
        let parts: [&[u8]; 7] = [
            b"sample of sessions",
            &seed,
            benchmark.as_str().as_bytes(),
            setting.as_str().as_bytes(),
            model.as_bytes(),
            &trial.to_le_bytes(),
            item.as_str().as_bytes(),
        ];
        Some((*Digest::of_parts(parts).bytes(), place))
    };
    let mut all: Vec<([u8; 32], Place)> = places.iter().filter_map(|place| digest(*place)).collect();
    all.sort_unstable();
    let chosen: BTreeSet<Place> = all.into_iter().take(sample.size).map(|(_, place)| place).collect();
    places.iter().copied().filter(|place| chosen.contains(place)).collect()
}

/// Annotations that count, by the sessions of `group` that they are on.
pub(crate) fn annotated<'a>(
    sweep: &Sweep,
    group: &Group<'_>,
    annotations: &'a Annotations,
) -> HashMap<Place, ByPerson<'a>> {
    let latest = annotations.latest();
    let Some(suite) = group.cells.first().and_then(|cell| sweep.suite(cell)).filter(|_| !latest.is_empty()) else {
        return HashMap::new();
    };
    // Of many items few are annotated.
    let wanted: HashSet<&ItemId> = latest.keys().map(|session| &session.item).collect();
    let items = (0..).map(ItemIndex).zip(suite.items()).filter(|(_, item)| wanted.contains(&item.id));
    let items: HashMap<&ItemId, ItemIndex> = items.map(|(index, item)| (&item.id, index)).collect();
    let place = |session: &SessionName| {
        let cell = group.cells.iter().find(|cell| {
            cell.benchmark == session.benchmark
                && cell.setting == session.setting
                && cell.model == session.model
                && cell.trial.0 == session.trial
        })?;
        Some((*items.get(&session.item)?, cell.index))
    };
    latest.into_iter().filter_map(|(session, people)| Some((place(session)?, people))).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use regatta_backends::{NewCell, NewShard, NewSweep, Quota, RecordState, SessionRecord, TranscriptRef};
    use regatta_proto::{Attempt, Cell, CostSum, Flags, Money, Outcome, SessionKey, ShardIndex, Trial, Usage};
    use serde_json::json;

    use super::*;

    /// The session of an item in a cell, which was measured.
    fn record(cell: CellIndex, item: ItemIndex) -> SessionRecord {
        SessionRecord {
            key: SessionKey { sweep: "s".parse().unwrap(), cell, item },
            item_id: format!("i{}", item.0).parse().unwrap(),
            task: "t".to_owned(),
            attempt: Attempt {
                id: format!("a-{}-{}", cell.0, item.0).parse().unwrap(),
                number: 1,
                worker: "w".parse().unwrap(),
                started_at: Timestamp::UNIX_EPOCH,
                ended_at: Timestamp::UNIX_EPOCH,
            },
            outcome: Outcome::Measured,
            usage: Usage::default(),
            cost: CostSum::default(),
            maybe_spent: Money::ZERO,
            calls: 1,
            cached_calls: 0,
            retries: 0,
            latency_us: 1,
            served: Vec::new(),
            flags: Flags::NONE,
            agent_end: None,
            call_sums: BTreeMap::new(),
            transcript: TranscriptRef { segment: "transcripts/none.zst".to_owned(), line: 0 },
            state: RecordState::Settled { scores: json!({ "declared": {} }) },
        }
    }

    /// A sweep of two cells with so many items each, all of which are recorded.
    async fn recorded(items: u32) -> Ledger {
        let (mut cells, mut shards) = (Vec::new(), Vec::new());
        for index in 0..2 {
            let cell = Cell {
                index: CellIndex(index),
                benchmark: "b".parse().unwrap(),
                setting: "s".parse().unwrap(),
                model: format!("e/m{index}").parse().unwrap(),
                trial: Trial(0),
            };
            shards.push(NewShard { index: ShardIndex(index), cell: cell.index, first: 0, count: items });
            cells.push(NewCell { cell, items, queue: "e".to_owned() });
        }
        let ledger = Ledger::in_memory().unwrap();
        let sweep = NewSweep {
            id: "s".parse().unwrap(),
            name: "s".to_owned(),
            lock: Digest::of(b"s"),
            budget: None,
            created_at: Timestamp::UNIX_EPOCH,
            cells,
            shards,
            owner: None,
            quota: Quota::default(),
            inputs: BTreeSet::new(),
        };
        ledger.create_sweep(sweep).await.unwrap();
        let records = (0..2).flat_map(|cell| (0..items).map(move |item| record(CellIndex(cell), ItemIndex(item))));
        ledger.record(records.collect()).await.unwrap();
        ledger
    }

    #[tokio::test]
    async fn sessions_are_found_as_long_as_they_are_not_too_many_and_counters_tell_first() {
        let (ledger, sweep) = (recorded(3).await, "s".parse().unwrap());
        let all = ItemQuery { cells: vec![CellIndex(0), CellIndex(1)], limit: ITEMS_FOUND_MAX, ..ItemQuery::default() };
        let one = ItemQuery { text: "i1".to_owned(), ..all.clone() };
        let cells = ledger.cell_progress(&sweep).await.unwrap();
        for (query, most, places_found) in [(&all, 6, Some(6)), (&all, 5, None), (&one, 2, Some(2)), (&one, 1, None)] {
            let found = found(&ledger, &sweep, query, most).await.unwrap();
            assert_eq!(found.map(|places| places.len()), places_found, "{query:?}");
        }
        assert!(!is_beyond(&cells, &all, 6) && is_beyond(&cells, &all, 5));
        assert!(!is_beyond(&cells, &one, 1), "counters know no text");
        let of_one_cell = ItemQuery { cells: vec![CellIndex(0)], ..all };
        assert!(!is_beyond(&cells, &of_one_cell, 5));
    }

    fn places(items: u32) -> Vec<Place> {
        (0..items).flat_map(|item| (0..2).map(move |cell| (ItemIndex(item), CellIndex(cell)))).collect()
    }

    fn called((item, cell): Place) -> Option<SessionName> {
        Some(SessionName {
            benchmark: "b".parse().unwrap(),
            setting: "s".parse().unwrap(),
            model: format!("e/m{cell}").parse().unwrap(),
            trial: 0,
            item: format!("i{item}").parse().unwrap(),
        })
    }

    fn sample(items: u32, size: usize, seed: u64) -> Vec<Place> {
        drawn(&places(items), Sample { size, seed }, called)
    }

    #[test]
    fn a_sample_is_the_same_for_everybody_and_another_for_another_seed() {
        let one = sample(100, 10, 1);
        assert_eq!(one.len(), 10);
        assert_eq!(one, sample(100, 10, 1));
        assert_ne!(one, sample(100, 10, 2));
        assert!(one.is_sorted(), "in the order of the list: {one:?}");
        assert_eq!(sample(3, 100, 1), places(3), "no more than there are");
    }

    #[test]
    fn a_sample_of_more_holds_the_smaller_one_and_what_comes_later_changes_little() {
        let small: BTreeSet<Place> = sample(100, 10, 1).into_iter().collect();
        let large: BTreeSet<Place> = sample(100, 30, 1).into_iter().collect();
        assert!(small.is_subset(&large));
        let later: BTreeSet<Place> = sample(105, 10, 1).into_iter().collect();
        assert!(small.difference(&later).all(|_| later.iter().any(|(item, _)| item.0 >= 100)), "{later:?}");
    }

    #[test]
    fn every_session_is_drawn_as_often_as_any_other() {
        let mut drawn = HashMap::new();
        for seed in 0..400 {
            for place in sample(10, 5, seed) {
                *drawn.entry(place).or_insert(0) += 1;
            }
        }
        // Of 400 draws of 5 among 20 each is in 100, give or take 8.7.
        assert_eq!(drawn.len(), 20);
        assert!(drawn.values().all(|times| (60..140).contains(times)), "{drawn:?}");
    }

    #[test]
    fn a_filter_by_annotations_looks_at_what_counts() {
        let text = [
            r#"{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"wrong"}"#,
            r#"{"by":"bob","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"right"}"#,
            r#"{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"unsure"}"#,
        ];
        let all = Annotations::parse(text.join("\n").as_bytes());
        let latest = all.latest();
        let people = latest.values().next();
        let (ann, cy): (Annotator, Annotator) = ("ann".parse().unwrap(), "cy".parse().unwrap());
        let through = |people: Option<&ByPerson<'_>>, me: &Annotator| {
            Annotated::ALL.map(|filter| filter.lets_through(people, Some(me)))
        };
        assert_eq!(through(people, &ann), [true, false, true, true, false, false]);
        assert_eq!(through(people, &cy), [true, false, true, true, false, true]);
        assert_eq!(through(None, &ann), [false, false, false, false, true, true]);
    }
}
