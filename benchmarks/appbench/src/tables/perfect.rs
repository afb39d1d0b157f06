//! Scores of the gold plans of the loaded data: the evaluators do not always give a perfect plan full marks, and a reader of
//! their tables must know how many they give.

use regatta_proto::Evaluator;

use super::cells::MAIN;
use crate::data::{Data, Entry, Split};
use crate::parse::lines;
use crate::{exec, official};

/// The gold plan of an item as a model would write it.
fn plan(entry: &Entry) -> String {
    let calls = entry.gold.api_results.iter().enumerate();
    calls.map(|(at, call)| format!("{}: [{call}]\n", entry.gold.used_app.get(at).map_or("", |app| app))).collect()
}

/// A sentence on the official F1 of the gold plans by split, without those that have full marks.
pub(super) fn hits(data: &Data) -> Option<String> {
    let [_, f1_api, _] = &MAIN;
    let of_split = |split: Split| {
        let scored: Vec<_> =
            data.of_split(split).map(|entry| official::score(entry, &lines(&plan(entry)), None)).collect();
        let f1 = f1_api.of(Evaluator::Official, &official::aggregate(&scored))?;
        (f1 < 1.0).then(|| format!("{:.1} ({})", 100.0 * f1, split.as_str()))
    };
    let shares: Vec<String> = Split::ALL.into_iter().filter_map(of_split).collect();
    let (last, others) = shares.split_last()?;
    let shares = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!(
        "The official F1 counts one hit an item at most, so that the gold plans of this data set have an F1 of APIs of {shares}, and plans of \
         their first calls alone have more."
    ))
}

/// A sentence on how many items of the loaded data the gold plans solve when they are executed.
pub(super) fn executed(data: &Data) -> String {
    let solved = data.entries.iter().filter(|entry| exec::score(data, entry, &plan(entry)).outcome().success).count();
    let items = data.entries.len();
    format!(
        "No published metric. The gold plans themselves, executed, reach the true calls on {solved} of the {items} items of this data set."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn what_is_said_of_gold_plans_is_of_the_data_that_were_loaded() {
        let miniature = vectors::miniature();
        insta::assert_snapshot!([hits(&miniature).unwrap(), executed(&miniature)].join("\n"));
    }

    #[test]
    fn the_gold_plans_of_the_published_data_have_no_full_marks() {
        let Some(data) = vectors::data() else { return };
        let hits = hits(&data).unwrap();
        assert!(hits.contains(" 45.1 (sm), 36.6 (ms) and 27.4 (mm), "), "{hits}");
        assert!(executed(&data).contains(" 585 of the 801 items "), "{}", executed(&data));
    }
}
