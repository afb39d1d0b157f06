//! Search in what was said, within bounds: transcripts are read one after the other, and how far the search came is part of its result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::TranscriptRef;
use regatta_catalog::read_lines_of_segment;
use regatta_proto::ItemIndex;
use tokio::time::Instant;

use crate::conversation::Words;
use crate::problem::Problem;
use crate::selection::Place;
use crate::source::Run;

/// Most sessions that one search looks into.
const SESSIONS_MAX: usize = 2_000;
/// Time after which the search of a list looks into no further sessions.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(5);
/// The same of a search for the next session to annotate, of which every page of a session makes two.
pub(crate) const STEP_TIME_MAX: Duration = Duration::from_secs(1);
/// Sessions that are looked into together, so that each of their segments is read once.
const TOGETHER: usize = 64;

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Searched {
    /// Sessions that have the words, in the order of the list.
    pub(crate) found: Vec<Place>,
    /// Sessions that were looked into, from the first of the list on.
    pub(crate) looked: usize,
}

/// Looks for `words` in the sessions at `places`, in their order, until `items_max` items are found, `time_max` is over, or the most
/// sessions are looked into.
pub(crate) async fn search(
    run: &Run,
    words: &Words,
    places: &[Place],
    items_max: usize,
    time_max: Duration,
) -> Result<Searched, Problem> {
    let begun = Instant::now();
    let mut result = Searched { found: Vec::new(), looked: 0 };
    let mut items: BTreeSet<ItemIndex> = BTreeSet::new();
    while result.looked < places.len().min(SESSIONS_MAX) && begun.elapsed() < time_max {
        let together = whole_items(&places[result.looked..]);
        let found = look(run, words, together).await?;
        for (at, place) in together.iter().enumerate() {
            if items.len() >= items_max && !items.contains(&place.0) {
                result.looked += at;
                return Ok(result);
            }
            if found.contains(place) {
                items.insert(place.0);
                result.found.push(*place);
            }
        }
        result.looked += together.len();
    }
    Ok(result)
}

/// The first [`TOGETHER`] of `places`, and the rest of the last one's item.
fn whole_items(places: &[Place]) -> &[Place] {
    let Some((last, _)) = places.get(TOGETHER - 1) else { return places };
    let rest = places[TOGETHER..].iter().take_while(|(item, _)| item == last).count();
    &places[..TOGETHER + rest]
}

/// Sessions of `places` in whose transcripts the words are.
async fn look(run: &Run, words: &Words, places: &[Place]) -> Result<BTreeSet<Place>, Problem> {
    let mut segments: BTreeMap<String, BTreeMap<u32, Place>> = BTreeMap::new();
    for (item, cell) in places {
        let Some(view) = run.store.ledger.session(&run.row.id, *cell, *item).await? else { continue };
        let TranscriptRef { segment, line } = view.row.transcript;
        segments.entry(segment).or_default().insert(line, (*item, *cell));
    }
    let mut found = BTreeSet::new();
    for (segment, lines) in segments {
        // Retention removes transcripts; nothing can be found in them.
        let key = format!("sweeps/{}/{segment}", run.row.id);
        let Some(bytes) = run.store.catalog.blobs().get(&key).await? else { continue };
        let words = words.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let mut found: Vec<Place> = Vec::new();
            let wanted: BTreeSet<u32> = lines.keys().copied().collect();
            read_lines_of_segment(&segment, &bytes, &wanted, |line, stored| {
                if words.are_in(&stored.transcript) {
                    found.extend(lines.get(&line));
                }
            })?;
            Ok::<_, regatta_catalog::SegmentError>(found)
        });
        found.extend(looked.await??);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use regatta_proto::CellIndex;

    use super::*;

    #[test]
    fn sessions_of_an_item_are_looked_into_together() {
        let places = |items: u32, cells: u32| -> Vec<Place> {
            (0..items).flat_map(|item| (0..cells).map(move |cell| (ItemIndex(item), CellIndex(cell)))).collect()
        };
        assert_eq!(whole_items(&places(10, 3)).len(), 30);
        assert_eq!(whole_items(&places(100, 3)).len(), 66);
        assert_eq!(whole_items(&places(100, 1)).len(), TOGETHER);
        assert_eq!(whole_items(&[]).len(), 0);
    }
}
