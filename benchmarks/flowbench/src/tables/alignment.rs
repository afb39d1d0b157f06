//! Agreement of the judge with people: the paper's Table 11, from people's ratings of recorded sessions
//! (docs/benchmarks/flowbench.md §6.7).

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::pearson;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{DataError, Measured, PaperColumn, PaperEntry, PaperRow, PaperTable, Unit};
use regatta_proto::{ItemId, ModelRef, Setting};
use serde::Deserialize;

use super::published;
use crate::agreement::{RatingScale, cohen_kappa, fleiss_kappa, krippendorff_alpha};
use crate::setting::{Format, Mode, Scope};

/// A session with the judge's score.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedSession {
    /// Setting of the session.
    pub setting: Setting,
    /// Model under test.
    pub model: ModelRef,
    /// Number of the repetition, from 0.
    pub trial: u16,
    /// The item.
    pub item: ItemId,
    /// Score in the metric that is compared.
    pub score: f64,
}

/// A line of a ratings file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    setting: Setting,
    model: ModelRef,
    #[serde(default)]
    trial: u16,
    item: ItemId,
    /// Ratings by name of the person, on any scale.
    ratings: BTreeMap<String, f64>,
}

/// Ratings of one scope and format: by person and by the judge, at the same indices.
#[derive(Default)]
struct Samples {
    people: BTreeMap<String, Vec<Option<f64>>>,
    judge: Vec<Option<f64>>,
}

/// Correlates people with each other and with the judge, by scope and format, over the sessions rated in `content`.
///
/// `content` (of `file`, for errors) is JSONL: `setting`, `model`, `trial` (0 when missing), `item`, and `ratings`,
/// an object of numbers by name of the person. With more than two people, the correlation between people is the mean
/// over pairs; that with the judge is the mean over people. With a single pair there is Fisher's interval.
///
/// Further columns: Krippendorff's alpha of numbers (of all people at once; with the judge the mean over people), and
/// kappa where all the ratings are whole numbers, which are taken as categories: Cohen's for two people and for a
/// person and the judge, Fleiss' for more people who all rated everything. Both compare the ratings themselves, so
/// they are meaningful only when all rate on the same scale.
///
/// # Errors
/// With file and line of a rating that cannot be parsed, occurs twice, or is of a session without a score of the judge.
pub fn alignment(file: &str, content: &str, judged: &[JudgedSession]) -> Result<PaperTable, DataError> {
    let whole = SourceLocation::file("ratings", file);
    let score_of: BTreeMap<_, f64> =
        judged.iter().map(|of| (key(&of.setting, &of.model, of.trial, &of.item), of.score)).collect();
    let mut seen = BTreeSet::new();
    let mut samples: BTreeMap<(Scope, Format), Samples> = BTreeMap::new();
    for (at, text) in content.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let place = whole.line(at);
        let line: Line = serde_json::from_str(text).map_err(|error| place.json(&error))?;
        let Some(mode) = Mode::of(&line.setting) else {
            return Err(place.error("setting", format!("{} is no setting of FlowBench", line.setting)));
        };
        let key = key(&line.setting, &line.model, line.trial, &line.item);
        let Some(score) = score_of.get(&key) else {
            let Line { setting, model, trial, item, .. } = &line;
            return Err(
                place.problem(format!("the judge has no score of {item} in trial {trial} of {model}, {setting}"))
            );
        };
        if !seen.insert(key) {
            return Err(place.problem(format!(
                "the session of {} is rated a second time; put all ratings into one line",
                line.item
            )));
        }
        samples.entry((mode.scope, mode.format)).or_default().add(line.ratings, *score);
    }
    Ok(table(&samples))
}

fn key(setting: &Setting, model: &ModelRef, trial: u16, item: &ItemId) -> (String, String, u16, String) {
    (setting.to_string(), model.to_string(), trial, item.to_string())
}

impl Samples {
    fn add(&mut self, ratings: BTreeMap<String, f64>, judge: f64) {
        let earlier = self.judge.len();
        for (person, rating) in ratings {
            let of_person = self.people.entry(person).or_default();
            of_person.resize(earlier, None);
            of_person.push(Some(rating));
        }
        self.judge.push(Some(judge));
        self.people.values_mut().for_each(|ratings| ratings.resize(earlier + 1, None));
    }

    fn between_people(&self) -> Measured {
        let people: Vec<&Ratings> = self.people.values().map(Vec::as_slice).collect();
        let pairs = (0..people.len()).flat_map(|one| (one + 1..people.len()).map(move |other| (one, other)));
        correlation(&pairs.map(|(one, other)| (people[one], people[other])).collect::<Vec<_>>())
    }

    fn with_judge(&self) -> Measured {
        let pairs = self.people.values().map(|ratings| (ratings.as_slice(), self.judge.as_slice()));
        correlation(&pairs.collect::<Vec<_>>())
    }
}

/// Agreement beyond chance.
impl Samples {
    fn alpha_between_people(&self) -> Option<f64> {
        let sample = |at: usize| self.people.values().map(|ratings| ratings[at]).collect();
        krippendorff_alpha(&(0..self.judge.len()).map(sample).collect::<Vec<_>>(), RatingScale::Interval)
    }

    fn alpha_with_judge(&self) -> Option<f64> {
        let of_person = |ratings: &Vec<Option<f64>>| {
            let samples: Vec<_> = ratings.iter().zip(&self.judge).map(|(one, judge)| vec![*one, *judge]).collect();
            krippendorff_alpha(&samples, RatingScale::Interval)
        };
        Measured::over_trials(self.people.values().map(of_person)).value
    }

    fn kappa_between_people(&self) -> Option<f64> {
        let people = self.people.values().map(|ratings| categories(ratings)).collect::<Option<Vec<_>>>()?;
        if let [one, other] = people.as_slice() {
            return cohen_kappa(&one.iter().copied().zip(other.iter().copied()).collect::<Vec<_>>());
        }
        let all: BTreeSet<i64> = people.iter().flatten().copied().flatten().collect();
        // A person without a rating is missing from the row's sum, and Fleiss' kappa is undefined for rows with
        // different sums.
        let row = |at: usize| {
            let put = |category: &i64| people.iter().filter(|ratings| ratings[at] == Some(*category)).count() as u32;
            all.iter().map(put).collect()
        };
        fleiss_kappa(&(0..self.judge.len()).map(row).collect::<Vec<_>>())
    }

    fn kappa_with_judge(&self) -> Option<f64> {
        let judge = categories(&self.judge)?;
        let people = self.people.values().map(|ratings| categories(ratings)).collect::<Option<Vec<_>>>()?;
        let of_person = |ratings: Vec<Option<i64>>| {
            cohen_kappa(&ratings.into_iter().zip(judge.iter().copied()).collect::<Vec<_>>())
        };
        Measured::over_trials(people.into_iter().map(of_person)).value
    }
}

/// Converts ratings to categories; `None` when one is not a whole number.
fn categories(ratings: &Ratings) -> Option<Vec<Option<i64>>> {
    let whole = |rating: f64| (rating.fract() == 0.0 && rating.abs() < 1e15).then_some(rating as i64);
    ratings.iter().map(|rating| rating.map_or(Some(None), |rating| whole(rating).map(Some))).collect()
}

/// Ratings of one rater, by sample.
type Ratings = [Option<f64>];

/// Mean of Pearson's correlation over `pairs` of raters; with Fisher's interval for a single pair.
fn correlation(pairs: &[(&Ratings, &Ratings)]) -> Measured {
    let mut found = Measured::over_trials(pairs.iter().map(|(one, other)| pearson(one, other)));
    // Pairs are not trials, so they have no deviation over trials.
    found.sd = None;
    if let ([(one, other)], Some(r)) = (pairs, found.value) {
        let n = one.iter().zip(*other).filter(|(one, other)| one.is_some() && other.is_some()).count();
        // Quantile of the normal distribution at 97.5 %; z = artanh r has the variance 1 / (n − 3).
        let half = 1.959_963_984_540_054 / (n.saturating_sub(3) as f64).sqrt();
        if n > 3 && r.abs() < 1.0 {
            (found.low, found.high) = (Some((r.atanh() - half).tanh()), Some((r.atanh() + half).tanh()));
        }
    }
    found
}

fn table(samples: &BTreeMap<(Scope, Format), Samples>) -> PaperTable {
    let column = |label: &str| PaperColumn { label: label.to_owned(), unit: Unit::Plain, decimals: 2 };
    let row = |((scope, format), of): (&(Scope, Format), &Samples)| {
        let of_paper = published::alignment(*scope, *format);
        let beyond_chance = |value| PaperEntry { ours: Measured { value, ..Measured::default() }, published: None };
        let entry = |at: usize, ours: Measured| PaperEntry { ours, published: of_paper.map(|both| both[at]) };
        PaperRow {
            keys: vec![scope.name().to_owned(), format.name().to_owned(), of.judge.len().to_string()],
            simulated: false,
            coverage: 1.0,
            entries: vec![
                entry(0, of.between_people()),
                entry(1, of.with_judge()),
                beyond_chance(of.alpha_between_people()),
                beyond_chance(of.alpha_with_judge()),
                beyond_chance(of.kappa_between_people()),
                beyond_chance(of.kappa_with_judge()),
            ],
        }
    };
    PaperTable {
        name: "table-11-judge-alignment".to_owned(),
        title: "Table 11: agreement of people, and of people with the judge (Pearson's correlation, then alpha and kappa)".to_owned(),
        keys: ["setting", "format", "samples"].map(str::to_owned).to_vec(),
        columns: [
            "human–human",
            "human–judge",
            "alpha human–human",
            "alpha human–judge",
            "kappa human–human",
            "kappa human–judge",
        ]
        .map(column)
        .to_vec(),
        rows: samples.iter().map(row).collect(),
        notes: vec![
            "Alpha (Krippendorff) and kappa (Cohen, Fleiss) are not in the paper; they tell something only where all rate on one scale"
                .to_owned(),
        ],
        is_figure: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(item: &str, score: f64) -> JudgedSession {
        JudgedSession {
            setting: "session/single/text".parse().unwrap(),
            model: "openai/gpt-4-turbo".parse().unwrap(),
            trial: 0,
            item: item.parse().unwrap(),
            score,
        }
    }

    fn line(item: &str, ratings: &str) -> String {
        format!(
            r#"{{"setting": "session/single/text", "model": "openai/gpt-4-turbo", "item": "{item}", "ratings": {ratings}}}"#
        )
    }

    #[test]
    fn people_are_compared_with_each_other_and_with_the_judge() {
        let sessions = [judged("a", 1.0), judged("b", 2.0), judged("c", 3.0), judged("d", 4.0), judged("e", 5.0)];
        let content = [
            line("a", r#"{"ann": 1, "bob": 2}"#),
            line("b", r#"{"ann": 2, "bob": 1}"#),
            line("c", r#"{"ann": 3, "bob": 4}"#),
            line("d", r#"{"ann": 4, "bob": 3}"#),
            line("e", r#"{"ann": 5}"#),
        ];
        let table = alignment("r.jsonl", &content.join("\n"), &sessions).unwrap();
        let [row] = table.rows.as_slice() else { panic!("{table:?}") };
        assert_eq!(row.keys, ["single", "text", "5"]);
        let [people, judge, ..] = row.entries.as_slice() else { panic!("{row:?}") };
        // Of (1 2, 2 1, 3 4, 4 3): 3 / 5. With the judge, Ann agrees wholly: the mean of 1 and 3 / 5.
        assert!((people.ours.value.unwrap() - 0.6).abs() < 1e-12 && people.ours.low.is_some());
        assert!((judge.ours.value.unwrap() - 0.8).abs() < 1e-12 && judge.ours.low.is_none());
        assert_eq!((people.published, judge.published), (Some(0.88), Some(0.86)));
    }

    #[test]
    fn a_rating_of_a_session_that_was_not_judged_is_an_error_with_its_line() {
        let error =
            alignment("r.jsonl", &format!("\n{}", line("z", r#"{"ann": 1}"#)), &[judged("a", 1.0)]).unwrap_err();
        assert!(
            error.to_string().contains("r.jsonl, line 2") && error.to_string().contains("no score of z"),
            "{error}"
        );
    }

    #[test]
    fn a_session_is_rated_in_one_line() {
        let twice = [line("a", r#"{"ann": 1}"#), line("a", r#"{"bob": 1}"#)].join("\n");
        let error = alignment("r.jsonl", &twice, &[judged("a", 1.0)]).unwrap_err();
        assert!(error.to_string().contains("second time"), "{error}");
    }

    #[test]
    fn a_single_sample_has_no_correlation() {
        let table = alignment("r.jsonl", &line("a", r#"{"ann": 1, "bob": 2}"#), &[judged("a", 1.0)]).unwrap();
        assert!(table.rows[0].entries[..2].iter().all(|entry| entry.ours == Measured::default()));
    }

    fn beyond_chance(sessions: &[JudgedSession], content: &[String]) -> Vec<Option<f64>> {
        let table = alignment("r.jsonl", &content.join("\n"), sessions).unwrap();
        table.rows[0].entries[2..].iter().map(|entry| entry.ours.value).collect()
    }

    #[test]
    fn whole_agreement_is_1_in_every_measure() {
        let sessions = [judged("a", 0.0), judged("b", 1.0), judged("c", 1.0)];
        let of = |people: [&str; 2]| [line("a", people[0]), line("b", people[1]), line("c", people[1])];
        let two = of([r#"{"ann": 0, "bob": 0}"#, r#"{"ann": 1, "bob": 1}"#]);
        assert_eq!(beyond_chance(&sessions, &two), [Some(1.0); 4]);
        let three = of([r#"{"ann": 0, "bob": 0, "cy": 0}"#, r#"{"ann": 1, "bob": 1, "cy": 1}"#]);
        assert_eq!(beyond_chance(&sessions, &three), [Some(1.0); 4]);
    }

    #[test]
    fn a_kappa_needs_whole_numbers_and_that_of_three_people_all_ratings() {
        let sessions = [judged("a", 0.5), judged("b", 1.0)];
        let fractions = [line("a", r#"{"ann": 0.5, "bob": 1}"#), line("b", r#"{"ann": 1, "bob": 0}"#)];
        assert_eq!(beyond_chance(&sessions, &fractions)[2..], [None, None]);
        let sessions = [judged("a", 0.0), judged("b", 1.0)];
        let gaps = [line("a", r#"{"ann": 0, "bob": 0, "cy": 1}"#), line("b", r#"{"ann": 1, "bob": 1}"#)];
        let [_, _, people, judge] = beyond_chance(&sessions, &gaps)[..] else { panic!("four measures") };
        // Not all three rated everything. With the judge: 1 for Ann, 1 for Bob, 0 for Cy.
        assert_eq!(people, None);
        assert!((judge.unwrap() - 2.0 / 3.0).abs() < 1e-12, "{judge:?}");
    }
}
