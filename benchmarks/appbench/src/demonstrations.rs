//! Solved examples before the request (docs/benchmarks/appbench.md §3.3; paper, Table 5).
//!
//! The training items that the official code takes them from were never published. Where the user has such files they are the pool.
//! Otherwise it is *leave-one-out*: the other test items of the split, so that results are not comparable with the paper's.
//! Either way the choice knows the gold apps of the item: it is an oracle's.

use rand::seq::IndexedRandom;
use regatta_proto::{ChatMessage, ChatRole, rng};

use super::data::{Data, Entry, Flag};

/// Oddities that make an item a bad example: its plan contradicts the descriptions, the request or itself.
const DEFECTS: [Flag; 9] = [
    Flag::ArgumentNotInDescription,
    Flag::DependencyConflict,
    Flag::InputIsNotAnInstruction,
    Flag::LengthMismatch,
    Flag::LiteralDiffersFromUsedApi,
    Flag::RequiredArgumentAbsent,
    Flag::ResultArgumentsMismatch,
    Flag::UnresolvedVariable,
    Flag::UsedApiNameMismatch,
];

/// The messages that show `shots` solved examples for `entry`: of each its instruction, then its plan.
pub(crate) fn messages(data: &Data, entry: &Entry, shots: u8) -> Vec<ChatMessage> {
    let shown = chosen(data, entry, shots).into_iter();
    shown
        .flat_map(|example| {
            let plan = ChatMessage::new(ChatRole::Assistant, plan(example));
            [ChatMessage::new(ChatRole::User, example.input.clone()), plan]
        })
        .collect()
}

/// The first `shots` of the pool that use the same apps as often; then, where there are too few, others drawn from the whole pool, which
/// may repeat some. The draw depends on the item and the number alone. Fewer only where the pool is smaller.
pub(crate) fn chosen<'d>(data: &'d Data, entry: &Entry, shots: u8) -> Vec<&'d Entry> {
    if shots == 0 {
        return Vec::new();
    }
    let pool = pool(data, entry);
    let apps = sorted_apps(entry);
    let mut rng = rng(u64::from(shots), &format!("appbench/demonstrations/{}", entry.id));
    let shots = usize::from(shots);
    let mut chosen: Vec<&Entry> = pool.iter().copied().filter(|other| sorted_apps(other) == apps).take(shots).collect();
    let missing = shots - chosen.len();
    chosen.extend(pool.choose_multiple(&mut rng, missing).copied());
    chosen
}

fn pool<'d>(data: &'d Data, entry: &Entry) -> Vec<&'d Entry> {
    match data.training.get(&entry.split) {
        Some(training) => training.iter().collect(),
        None => data.of_split(entry.split).filter(|other| other.input != entry.input && is_sound(other)).collect(),
    }
}

fn is_sound(entry: &Entry) -> bool {
    DEFECTS.iter().all(|defect| !entry.flags.contains(defect))
}

/// The apps of the gold calls, as a multiset.
fn sorted_apps(entry: &Entry) -> Vec<&str> {
    let mut apps: Vec<&str> = entry.gold.used_app.iter().map(|app| &**app).collect();
    apps.sort_unstable();
    apps
}

/// The gold plan as examples show it: a line a call, each with a space at its end.
fn plan(entry: &Entry) -> String {
    let calls = entry.gold.used_app.iter().zip(&entry.gold.api_results);
    calls.map(|(app, call)| format!("{app}: [{call}] \n")).collect()
}
