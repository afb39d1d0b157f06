//! Answers to canaries, compared text by text with those of the night before.
//!
//! Answers may vary by themselves: sampling does, and so do providers that batch requests. So a night is held against how often the same
//! canaries were answered otherwise from night to night before it, while nothing was declared, served or found that explains it. Without such
//! nights there is no test, and what was answered otherwise is told for what it is.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, Digest, ItemId, ModelRef, Setting, counted};
use serde::Serialize;

use super::finding::{Cause, Evidence, Finding};
use super::known::{Known, Scope};
use super::parts::ALPHA;
use crate::ended_run::EndedRun;
use crate::paired_runs::MatchedCell;

/// A canary: an item, and the number of its repetition.
type Canary = (ItemId, u16);

/// A model in a setting.
type Place = (BenchmarkName, Setting, ModelRef);

/// Comparisons of a canary with the night before it, so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Past {
    compared: u32,
    otherwise: u32,
}

/// Canaries of a cell over the nights since something last explained that they are answered otherwise.
#[derive(Debug, Default)]
struct CellPast {
    nights: usize,
    canaries: BTreeMap<Canary, Past>,
}

/// Canaries over the nights so far, by benchmark, setting and model.
#[derive(Debug, Default)]
pub(super) struct History(BTreeMap<Place, CellPast>);

/// Canaries of a cell that two nights in a row have answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Canaries {
    pub(super) cell: String,
    #[serde(skip)]
    place: Place,
    /// Sessions that were compared.
    pub(super) compared: usize,
    /// Part of them with another answer than the night before.
    pub(super) otherwise: usize,
    /// Nights before that were compared with theirs while nothing explained a difference.
    pub(super) nights_before: usize,
    /// Comparisons of the same canaries in these.
    pub(super) compared_before: u32,
    pub(super) otherwise_before: u32,
    /// Temperature that the spec sets for the model; absent where it sets none. Above 0, answers vary by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    /// `true` where something that was declared or served explains it.
    pub(super) is_explained: bool,
    /// P-value of "as many as in the nights before", corrected (Holm) over all that was measured that night; absent without a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p_holm: Option<f64>,
}

/// Canaries of a cell, with what their test needs.
pub(super) struct Compared<'c> {
    pub(super) cell: &'c MatchedCell,
    pub(super) of: Canaries,
    changed: BTreeMap<Canary, bool>,
    /// Of "as many as in the nights before"; `None` where nothing can tell.
    pub(super) p: Option<f64>,
}

impl<'c> Compared<'c> {
    /// The canaries of `cell` in both runs; `None` where they have none in common.
    pub(super) fn of(
        [before, now]: [&EndedRun; 2],
        cell: &'c MatchedCell,
        history: &History,
        causes: &[Known],
    ) -> Option<Self> {
        let (earlier, answers) = (answers(before, cell, &cell.model_a), answers(now, cell, &cell.model_b));
        let changed: BTreeMap<Canary, bool> = answers
            .into_iter()
            .filter_map(|(canary, answer)| {
                let is_otherwise = *earlier.get(&canary)? != answer;
                Some((canary, is_otherwise))
            })
            .collect();
        if changed.is_empty() {
            return None;
        }
        let data = |run: &EndedRun| run.lock.benchmarks.get(&cell.benchmark).map(|benchmark| benchmark.dataset);
        let is_other_data = data(before) != data(now);
        let is_explained = causes.iter().any(|known| explains(known, cell, is_other_data));
        let past = history.0.get(&place(cell));
        let none = Past { compared: 0, otherwise: 0 };
        let of_canary = |canary: &Canary| *past.and_then(|past| past.canaries.get(canary)).unwrap_or(&none);
        let pasts: Vec<(bool, Past)> =
            changed.iter().map(|(canary, is_otherwise)| (*is_otherwise, of_canary(canary))).collect();
        let (compared_before, otherwise_before) =
            pasts.iter().fold((0, 0), |(all, part), (_, past)| (all + past.compared, part + past.otherwise));
        let of = Canaries {
            cell: cell.to_string(),
            place: place(cell),
            compared: changed.len(),
            otherwise: changed.values().filter(|is_otherwise| **is_otherwise).count(),
            nights_before: past.map_or(0, |past| past.nights),
            compared_before,
            otherwise_before,
            temperature: now.lock.model(&cell.model_b).and_then(|model| model.temperature),
            is_explained,
            p_holm: None,
        };
        let p = if is_explained { None } else { at_least_as_many(&pasts) };
        Some(Self { cell, of, changed, p })
    }

    /// A finding, if more were answered otherwise than in the nights before, by more than chance.
    pub(super) fn finding(&self) -> Option<Known> {
        let p_holm = self.of.p_holm.filter(|p| *p <= ALPHA)?;
        let before = match self.of.nights_before {
            1 => "the night before it".to_owned(),
            nights => format!("the {nights} nights before it"),
        };
        let finding = Finding {
            cause: Cause::Model,
            evidence: Evidence::Measured,
            what: format!("{}: canaries answered otherwise than the night before", self.of.cell),
            before: format!("{} of {} in {before}", self.of.otherwise_before, self.of.compared_before),
            now: format!("{} of {}", self.of.otherwise, self.of.compared),
            p_holm: Some(p_holm),
        };
        Some(Known { finding, scope: Scope::Model(self.cell.model_b.clone()) })
    }

    /// Adds the night to the nights that later ones are held against, or begins anew after one that is explained or speaks of another model, by its
    /// canaries or because its tokens shifted.
    pub(super) fn remember(self, history: &mut History, has_shifted: bool) -> Canaries {
        let is_another = has_shifted || self.of.is_explained || self.finding().is_some();
        let past = history.0.entry(place(self.cell)).or_default();
        if is_another {
            *past = CellPast::default();
        } else {
            past.nights += 1;
            for (canary, is_otherwise) in self.changed {
                let of = past.canaries.entry(canary).or_default();
                of.compared += 1;
                of.otherwise += u32::from(is_otherwise);
            }
        }
        self.of
    }
}

impl Canaries {
    /// `true` for those of this model in this setting.
    pub(super) fn is_of(&self, benchmark: &BenchmarkName, setting: &Setting, model: &ModelRef) -> bool {
        (&self.place.0, &self.place.1, &self.place.2) == (benchmark, setting, model)
    }

    /// The night in words, if anything was answered otherwise that no finding tells of.
    pub(super) fn told(&self) -> Option<String> {
        let is_finding = self.p_holm.is_some_and(|p| p <= ALPHA);
        if self.otherwise == 0 || is_finding {
            return None;
        }
        let held_against = match (self.is_explained, self.compared_before) {
            (true, _) => "explained by what is named above".to_owned(),
            (false, 0) => "no night before tells how often that happens by itself".to_owned(),
            (false, all) => {
                let nights = counted(self.nights_before as u64, "night", "nights");
                format!("{} of {all} in {nights} before", self.otherwise_before)
            }
        };
        let sampled = match self.temperature {
            Some(temperature) if temperature > 0.0 => {
                format!("; at a temperature of {temperature} answers vary by themselves")
            }
            Some(_) => String::new(),
            None => "; the spec sets no temperature, so answers may vary by themselves".to_owned(),
        };
        Some(format!(
            "{}: {} of {} answered otherwise than the night before ({held_against}{sampled})",
            self.cell, self.otherwise, self.compared
        ))
    }
}

fn place(cell: &MatchedCell) -> Place {
    (cell.benchmark.clone(), cell.setting.clone(), cell.model_b.clone())
}

fn answers(run: &EndedRun, cell: &MatchedCell, model: &ModelRef) -> BTreeMap<Canary, Digest> {
    let of_cell = run
        .summary
        .canaries
        .iter()
        .filter(|of| of.benchmark == cell.benchmark && of.setting == cell.setting && of.model == *model);
    of_cell.flat_map(|of| &of.sessions).map(|of| ((of.item.clone(), of.trial), of.answers)).collect()
}

/// `true` where what is known may be why answers of `cell` are others. Judges say nothing to a model, and which other items are asked changes no
/// answer to these.
fn explains(known: &Known, cell: &MatchedCell, is_other_data: bool) -> bool {
    match known.finding.cause {
        Cause::Data => is_other_data && known.scope.covers(cell),
        Cause::Harness | Cause::Model | Cause::Provider | Cause::Unexplained => known.scope.covers(cell),
        Cause::Judge => false,
    }
}

/// P-value of at least so many canaries answered otherwise now, if each of a canary's comparisons was as likely to be this night's: the
/// permutation test within canaries, which for one night before is McNemar's, of one side. Two comparisons in a row share a night, so that they are
/// not quite exchangeable; in simulations it is wrong as often as it says, or less often, up to some sixty canaries. `None` without nights before, or where nothing is
/// otherwise now or ever was, so that nothing can differ.
fn at_least_as_many(canaries: &[(bool, Past)]) -> Option<f64> {
    // Without a night before, this night's is the only one that a difference can be of.
    let compared = || canaries.iter().filter(|(_, past)| past.compared > 0);
    let otherwise = compared().filter(|(is_otherwise, _)| *is_otherwise).count();
    if otherwise == 0 {
        return None;
    }
    // Distribution of the number of canaries that are otherwise this night: a sum of independent draws.
    let mut distribution = vec![1.0];
    for (is_otherwise, past) in compared() {
        let chance = f64::from(past.otherwise + u32::from(*is_otherwise)) / f64::from(past.compared + 1);
        let mut next = vec![0.0; distribution.len() + 1];
        for (count, probability) in distribution.iter().enumerate() {
            next[count] += probability * (1.0 - chance);
            next[count + 1] += probability * chance;
        }
        distribution = next;
    }
    Some(distribution.iter().skip(otherwise).sum::<f64>().min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(otherwise: u32, compared: u32) -> Past {
        Past { compared, otherwise }
    }

    #[test]
    fn without_a_night_before_nothing_is_tested() {
        assert_eq!(at_least_as_many(&[(true, past(0, 0)), (true, past(0, 0))]), None);
        assert_eq!(at_least_as_many(&[(false, past(1, 3))]), None);
    }

    #[test]
    fn one_night_before_is_mcnemars_test_and_more_nights_tell_more() {
        let p = |nights: u32| at_least_as_many(&[(true, past(0, nights)); 7]).unwrap();
        assert!((p(1) - 0.5_f64.powi(7)).abs() < 1e-12, "{}", p(1));
        assert!((p(3) - 0.25_f64.powi(7)).abs() < 1e-12, "{}", p(3));
    }

    /// SplitMix64, from 0 up to 1.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Twenty canaries, each answered otherwise than usual in one night of ten, over three comparisons and this night's.
    #[test]
    fn a_model_whose_answers_vary_by_themselves_is_another_one_no_more_often_than_alpha() {
        let (mut state, mut found) = (1, 0);
        for _ in 0..1000 {
            let mut canary = || {
                let is_unusual: Vec<bool> = (0..5).map(|_| uniform(&mut state) < 0.1).collect();
                let changes: Vec<bool> = is_unusual.windows(2).map(|two| two[0] != two[1]).collect();
                (changes[3], past(changes[..3].iter().map(|change| u32::from(*change)).sum(), 3))
            };
            let canaries: Vec<(bool, Past)> = (0..20).map(|_| canary()).collect();
            found += u32::from(at_least_as_many(&canaries).is_some_and(|p| p <= 0.05));
        }
        assert!(found <= 60, "{found} of 1000");
    }

    #[test]
    fn a_model_that_always_answers_otherwise_has_not_changed() {
        let p = at_least_as_many(&[(true, past(3, 3)); 8]).unwrap();
        assert!((p - 1.0).abs() < 1e-12, "{p}");
    }
}
