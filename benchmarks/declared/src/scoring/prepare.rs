//! Scorers as they are written, held against the data: every gold is made, so that nothing is left to fail while sessions are scored.

use regatta_benchmarks::source_location::kind_of;
use regatta_benchmarks::{DataError, Item};
use regatta_proto::ChatMessage;
use serde_json::Value;

use super::calls::GoldCall;
use super::constraints::Constraints;
use super::judge::{Grades, Subject, shown};
use super::number::Tolerance;
use super::overlap::check_golds;
use super::schema::{Building, Validator};
use super::texts::{Ignoring, Within};
use super::{Gold, Rule, Scorer, Scorers};
use crate::answer::read_number;
use crate::data::{Record, Split};
use crate::definition::{self, ChrfSpec, ContainsSpec, Definition, ExactSpec, JudgeSpec, Name, RougeSpec, Source};
use crate::images::{self, Images, too_many};
use crate::template::Template;

/// Most golds of an item: an answer of a megabyte is compared with each of them.
const GOLDS_MAX: usize = 1000;
/// Longest n-gram of words that chrF counts: 2 is chrF++.
const WORD_ORDER_LARGEST: usize = 2;
/// Most significant digits: all that a number has.
const DIGITS_LARGEST: u8 = 17;

/// The scorers with their golds for the records of `split`.
///
/// # Errors
/// With the line of a scorer that does not fit the answers or the data.
pub(crate) fn prepare(
    source: &Source,
    definition: &Definition,
    split: &Split,
    items: &[Item],
    images: &Images,
) -> Result<Scorers, DataError> {
    if definition.scorers.is_empty() {
        return Err(source.problem("scorers", "is empty; write at least one scorer"));
    }
    let answers: Vec<_> = definition.answers.iter().map(|(name, steps)| (name.clone(), steps.clone())).collect();
    let mut scorers = Vec::new();
    let mut golds: Vec<Vec<Gold>> = split.records.iter().map(|_| Vec::new()).collect();
    for (name, written) in definition.scorers.iter() {
        let preparing = Preparing { source, definition, split, images, path: format!("scorers.{name}") };
        let (scorer, of_items) = preparing.scorer(name, written, items)?;
        scorers.push(scorer);
        golds.iter_mut().zip(of_items).for_each(|(golds, gold)| golds.push(gold));
    }
    Ok(Scorers { scorers, answers, golds })
}

/// A scorer that is being prepared.
struct Preparing<'a> {
    source: &'a Source,
    definition: &'a Definition,
    split: &'a Split,
    images: &'a Images,
    path: String,
}

type Prepared = (Rule, Vec<Gold>);

impl Preparing<'_> {
    fn scorer(
        &self,
        name: &Name,
        written: &definition::Scorer,
        items: &[Item],
    ) -> Result<(Scorer, Vec<Gold>), DataError> {
        use definition::Scorer as Written;
        let ((rule, golds), answer) = match written {
            Written::Exact(spec) => (self.exact(spec)?, self.answer("exact", &spec.answer)?),
            Written::Normalised(spec) => (
                (Rule::Normalised(spec.form), self.texts("normalised", &spec.gold, &spec.golds)?),
                self.answer("normalised", &spec.answer)?,
            ),
            Written::F1(spec) => {
                ((Rule::F1(spec.form), self.texts("f1", &spec.gold, &spec.golds)?), self.answer("f1", &spec.answer)?)
            }
            Written::Rouge(spec) => (self.rouge(spec)?, self.answer("rouge", &spec.answer)?),
            Written::Bleu(spec) => {
                ((Rule::Bleu, self.texts("bleu", &spec.gold, &spec.golds)?), self.answer("bleu", &spec.answer)?)
            }
            Written::Chrf(spec) => (self.chrf(spec)?, self.answer("chrf", &spec.answer)?),
            Written::Contains(spec) => (self.contains(spec)?, self.answer("contains", &spec.answer)?),
            Written::Similarity(spec) => (
                (Rule::Similarity, self.texts("similarity", &spec.gold, &spec.golds)?),
                self.answer("similarity", &spec.answer)?,
            ),
            Written::Number(spec) => (self.number(spec)?, self.answer("number", &spec.answer)?),
            Written::Choice(spec) => (self.choice(spec)?, self.answer("choice", &spec.answer)?),
            Written::Schema(spec) => (self.schema(spec)?, self.answer("schema", &spec.answer)?),
            Written::Fields(spec) => {
                let golds = self.column("fields.gold", &spec.gold, |value| match value {
                    Value::Object(fields) => Ok(Gold::Fields(fields.clone())),
                    other => Err(format!("must be a JSON object, is {}", kind_of(other))),
                })?;
                ((Rule::Fields, golds), self.answer("fields", &spec.answer)?)
            }
            Written::Calls(spec) => {
                let golds =
                    self.column("calls.gold", &spec.gold, |value| GoldCall::read_all(value).map(Gold::Calls))?;
                ((Rule::Calls { in_order: spec.in_order }, golds), self.answer("calls", &spec.answer)?)
            }
            Written::Constraints(spec) => {
                let read = |value: &Value| Constraints::read(value).map(Gold::Constraints);
                let golds = self.column("constraints.column", &spec.column, read)?;
                ((Rule::Constraints, golds), self.answer("constraints", &spec.answer)?)
            }
            Written::Judge(spec) => (self.judge(spec, items)?, self.answer("judge", &spec.answer)?),
        };
        Ok((Scorer { name: name.clone(), answer, rule }, golds))
    }

    fn problem(&self, field: &str, problem: impl std::fmt::Display) -> DataError {
        self.source.problem(&format!("{}.{field}", self.path), problem)
    }

    /// Position of the answer that is named; of the only one where none is.
    fn answer(&self, field: &str, named: &Option<String>) -> Result<Option<usize>, DataError> {
        let answers = &self.definition.answers;
        match named {
            Some(named) => answers.iter().position(|(name, _)| name == named.as_str()).map(Some).ok_or_else(|| {
                let known = answers.names();
                self.problem(&format!("{field}.answer"), format!("there is no answer {named:?}; answers: {known}"))
            }),
            None if answers.is_empty() => Ok(None),
            None if answers.len() == 1 => Ok(Some(0)),
            None => {
                Err(self.problem(field, format!("name its `answer`, because there are several: {}", answers.names())))
            }
        }
    }

    fn render(&self, field: &str, template: &Template, record: &Record) -> Result<String, DataError> {
        let path = format!("{}.{field}", self.path);
        crate::rendering::render(self.source, &path, template, &self.split.path, record, record.variables.clone())
    }

    /// Refuses a gold that is the name of a column and nothing else: as a template it is this word for every item, which a right reply of
    /// the simulation has too, so that only real models would be found wrong.
    fn check_is_no_column(&self, field: &str, gold: &Template) -> Result<(), DataError> {
        let written = gold.source();
        let (Some(name), Some(record)) = (written.as_deref().map(str::trim), self.split.records.first()) else {
            return Ok(());
        };
        let Some(value) = record.fields.get(name) else { return Ok(()) };
        let lists = if value.is_array() {
            format!(", or, where it holds lists of texts, `golds: {name}`")
        } else {
            String::new()
        };
        let problem = format!(
            "is a template, so that the gold of every item is the word {name:?}, which is the name of a column; write \
             \"{{{{ {name} }}}}\" for what the column holds{lists}"
        );
        Err(self.problem(field, problem))
    }

    /// A gold of each record, by `read` from its value in `column`.
    fn column(
        &self,
        field: &str,
        column: &str,
        mut read: impl FnMut(&Value) -> Result<Gold, String>,
    ) -> Result<Vec<Gold>, DataError> {
        let at = |record: &Record, problem: String| {
            self.problem(field, format!("{} line {}, column {column:?}: {problem}", self.split.path, record.line))
        };
        let gold = |record: &Record| {
            let value = record.fields.get(column).ok_or_else(|| at(record, "is not there".to_owned()))?;
            // A CSV file has JSON in quotes.
            let written: Option<Value> = value.as_str().and_then(|text| serde_json::from_str(text).ok());
            read(written.as_ref().unwrap_or(value)).map_err(|problem| at(record, problem))
        };
        self.split.records.iter().map(gold).collect()
    }

    fn exact(&self, spec: &ExactSpec) -> Result<Prepared, DataError> {
        let ignoring =
            Ignoring { case: spec.ignore_case, punctuation: spec.ignore_punctuation, patterns: spec.ignore.clone() };
        Ok((Rule::Exact(ignoring), self.texts("exact", &spec.gold, &spec.golds)?))
    }

    fn contains(&self, spec: &ContainsSpec) -> Result<Prepared, DataError> {
        let within = Within { place: spec.at, ignore_ends: spec.ignore_ends, match_case: spec.match_case };
        Ok((Rule::Contains(within), self.texts("contains", &spec.gold, &spec.golds)?))
    }

    fn texts(&self, kind: &str, gold: &Option<Template>, golds: &Option<String>) -> Result<Vec<Gold>, DataError> {
        match (gold, golds) {
            (Some(template), None) => {
                let field = format!("{kind}.gold");
                self.check_is_no_column(&field, template)?;
                let gold = |record: &Record| Ok(Gold::Texts(vec![self.render(&field, template, record)?]));
                self.split.records.iter().map(gold).collect()
            }
            (None, Some(column)) => self.column(&format!("{kind}.golds"), column, |value| {
                let texts = value.as_array().filter(|texts| !texts.is_empty());
                if let Some(count) = texts.map(Vec::len).filter(|count| *count > GOLDS_MAX) {
                    return Err(format!("has {count} golds, at most {GOLDS_MAX} are compared"));
                }
                let texts: Option<Vec<String>> =
                    texts.and_then(|texts| texts.iter().map(|text| text.as_str().map(str::to_owned)).collect());
                texts.map(Gold::Texts).ok_or_else(|| "must be a list of texts, at least one".to_owned())
            }),
            _ => {
                Err(self
                    .problem(kind, "write either `gold`, a template, or `golds`, a column that holds lists of texts"))
            }
        }
    }

    fn rouge(&self, spec: &RougeSpec) -> Result<Prepared, DataError> {
        let golds = self.texts("rouge", &spec.gold, &spec.golds)?;
        for (gold, record) in golds.iter().zip(&self.split.records) {
            let Gold::Texts(texts) = gold else { continue };
            check_golds(spec.kind, texts).map_err(|problem| {
                self.problem("rouge", format!("{} line {}: {problem}", self.split.path, record.line))
            })?;
        }
        Ok((Rule::Rouge(spec.kind), golds))
    }

    fn chrf(&self, spec: &ChrfSpec) -> Result<Prepared, DataError> {
        if spec.word_order > WORD_ORDER_LARGEST {
            let problem =
                format!("is {}; 0 makes it chrF, 2 chrF++, and more than 2 nothing that has a name", spec.word_order);
            return Err(self.problem("chrf.word_order", problem));
        }
        Ok((Rule::Chrf { word_order: spec.word_order }, self.texts("chrf", &spec.gold, &spec.golds)?))
    }

    fn number(&self, spec: &definition::NumberSpec) -> Result<Prepared, DataError> {
        let is_good = |share: f64| share.is_finite() && share >= 0.0;
        if !is_good(spec.absolute) || !is_good(spec.relative) {
            return Err(self.problem("number", "a tolerance must be a number, 0 or more"));
        }
        if let Some(digits) = spec.digits {
            if !(1..=DIGITS_LARGEST).contains(&digits) {
                let problem = format!("is {digits}; write 1 to {DIGITS_LARGEST}");
                return Err(self.problem("number.digits", problem));
            }
            if spec.absolute > 0.0 || spec.relative > 0.0 {
                return Err(self.problem("number", "write either `digits` or a tolerance"));
            }
        }
        self.check_is_no_column("number.gold", &spec.gold)?;
        let gold = |record: &Record| {
            let text = self.render("number.gold", &spec.gold, record)?;
            read_number(&text).map(Gold::Number).ok_or_else(|| {
                let place = format!("{} line {}", self.split.path, record.line);
                self.problem("number.gold", format!("{place}: the gold {text:?} is no number"))
            })
        };
        let rule = Rule::Number(Tolerance { absolute: spec.absolute, relative: spec.relative, digits: spec.digits });
        Ok((rule, self.split.records.iter().map(gold).collect::<Result<_, _>>()?))
    }

    fn choice(&self, spec: &definition::ChoiceSpec) -> Result<Prepared, DataError> {
        self.check_is_no_column("choice.gold", &spec.gold)?;
        let gold = |record: &Record| {
            let text = self.render("choice.gold", &spec.gold, record)?;
            letter(text.trim()).map(Gold::Letter).ok_or_else(|| {
                let place = format!("{} line {}", self.split.path, record.line);
                self.problem(
                    "choice.gold",
                    format!("{place}: {text:?} is neither a letter nor a position from 0 to 25"),
                )
            })
        };
        Ok((Rule::Choice, self.split.records.iter().map(gold).collect::<Result<_, _>>()?))
    }

    fn schema(&self, spec: &definition::SchemaSpec) -> Result<Prepared, DataError> {
        let mut building = Building::default();
        let golds = match (&spec.schema, &spec.column) {
            (Some(schema), None) => {
                let at = building.add(schema).map_err(|problem| self.problem("schema.schema", problem))?;
                self.split.records.iter().map(|_| Gold::Schema(at)).collect()
            }
            (None, Some(column)) => {
                self.column("schema.column", column, |schema| building.add(schema).map(Gold::Schema))?
            }
            _ => {
                return Err(
                    self.problem("schema", "write either `schema`, or `column`, which holds each item's schema")
                );
            }
        };
        let validator: Validator = building.done();
        Ok((Rule::Schema(validator), golds))
    }

    fn judge(&self, spec: &JudgeSpec, items: &[Item]) -> Result<Prepared, DataError> {
        let grades = Grades::new(&spec.grades).map_err(|problem| self.problem("judge.grades", problem))?;
        let optional = |field: &str, template: &Option<Template>, record: &Record| {
            template.as_ref().map(|template| self.render(field, template, record)).transpose()
        };
        let subject = |(record, item): (&Record, &Item)| {
            Ok(Gold::Judgement(Subject {
                item: item.id.to_string(),
                rubric: self.render("judge.rubric", &spec.rubric, record)?,
                question: optional("judge.question", &spec.question, record)?,
                reference: optional("judge.reference", &spec.reference, record)?,
                shown: self.shown(spec, record)?,
            }))
        };
        let golds = self.split.records.iter().zip(items).map(subject).collect::<Result<_, DataError>>()?;
        Ok((Rule::Judge(grades), golds))
    }

    /// The message that shows the judge the images of a record.
    fn shown(&self, spec: &JudgeSpec, record: &Record) -> Result<Option<ChatMessage>, DataError> {
        let Some(template) = &spec.images else { return Ok(None) };
        let field = format!("{}.judge.images", self.path);
        let paths = images::paths(self.source, &field, template, self.split, record, record.variables.clone())?;
        let image = |path: &String| {
            let none = || self.problem("judge.images", format!("{path} is no image of the data set"));
            self.images.get(path).cloned().ok_or_else(none)
        };
        let message = shown(paths.iter().map(image).collect::<Result<_, _>>()?);
        match too_many(message.as_slice()) {
            Some(problem) => {
                Err(self.problem("judge.images", format!("{} line {}: {problem}", self.split.path, record.line)))
            }
            None => Ok(message),
        }
    }
}

/// The letter that `text` is, or that stands at the position that it is.
fn letter(text: &str) -> Option<String> {
    if let Ok(position) = text.parse::<u8>() {
        return (position < 26).then(|| char::from(b'A' + position).to_string());
    }
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    letters.next().is_none().then(|| letter.to_ascii_uppercase().to_string())
}
