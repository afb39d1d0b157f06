//! Grades by judges, and similarities by encoders.

use rand::Rng as _;
use regatta_benchmarks::Persona;
use regatta_proto::{ChatMessage, ChatRole, Image, PanelRule, Question, SessionSeed, Verdict, rng};
use regex::Regex;

use super::texts::normal;
use crate::definition::{Name, Named};

/// Most times that a judge is asked until its reply names a grade.
const REPLIES_MAX: u8 = 5;
/// Begins every prompt.
const BEGINNING: &str = "You grade one answer.\n\n";
/// Comes before the grades in every prompt.
const GRADES: &str = "where X is one of: ";
/// Share of the words that the answer and the reference must have in common for a simulated judge to give the best grade.
const ALIKE: f64 = 0.5;

/// Grades by name, the best first, and how a reply's is found.
#[derive(Debug, Clone)]
pub(crate) struct Grades {
    /// Each in 0..=1.
    grades: Vec<(String, f64)>,
    pattern: Regex,
}

/// Texts of an item that a judge is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Id of the item.
    pub(super) item: String,
    pub(super) rubric: String,
    pub(super) question: Option<String>,
    pub(super) reference: Option<String>,
    /// Message with images before the prompt.
    pub(super) shown: Option<ChatMessage>,
}

/// The message that shows `images`, which are sent in one with the prompt; `None` where there are none.
pub(crate) fn shown(images: Vec<Image>) -> Option<ChatMessage> {
    (!images.is_empty()).then(|| ChatMessage { images, ..ChatMessage::new(ChatRole::User, "") })
}

impl Grades {
    /// # Errors
    /// When there are fewer than two, or a value is not in 0..=1.
    pub(super) fn new(named: &Named<f64>) -> Result<Self, String> {
        if named.len() < 2 {
            return Err(format!("must be at least two grades, each with its value in 0..=1; here: {}", named.names()));
        }
        if let Some((name, value)) = named.iter().find(|(_, value)| !(0.0..=1.0).contains(*value)) {
            return Err(format!("{name} has the value {value}; it must be in 0..=1"));
        }
        let mut grades: Vec<(String, f64)> = named.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        grades.sort_by(|one, other| other.1.total_cmp(&one.1));
        let names: Vec<String> = grades.iter().map(|(name, _)| regex::escape(name)).collect();
        let pattern = Regex::new(&accept(&names)).map_err(|error| error.to_string())?;
        Ok(Self { grades, pattern })
    }

    /// Value of the worst grade.
    pub(super) fn worst(&self) -> f64 {
        self.grades.last().map_or(0.0, |(_, value)| *value)
    }

    pub(super) fn question(&self, scorer: &Name, subject: &Subject, answer: &str) -> Question {
        let Subject { item, rubric, question, reference, shown } = subject;
        let mut prompt = format!("{BEGINNING}{}\n\n", rubric.trim());
        if let Some(question) = question {
            prompt.push_str(&section("question", question));
        }
        if let Some(reference) = reference {
            prompt.push_str(&section("reference", reference));
        }
        // An answer that closes its section could speak to the judge.
        prompt.push_str(&section("answer", &answer.replace("</answer>", "< /answer>")));
        let names: Vec<&str> = self.grades.iter().map(|(name, _)| name.as_str()).collect();
        prompt.push_str(&format!(
            "Give your reason in one or two sentences. Then end with a line of its own: Grade: X, {GRADES}{}.",
            names.join(", ")
        ));
        Question::Judgement {
            kind: "rubric".to_owned(),
            about: vec![scorer.to_string(), item.clone(), answer.to_owned()],
            before: shown.iter().cloned().collect(),
            prompt,
            swapped: None,
            accept: vec![self.pattern.to_string()],
            replies_max: REPLIES_MAX,
        }
    }

    /// The value of the grade that a verdict gives; `None` where no reply names one. A panel's is the grade that most members give (the
    /// lowest of those given equally often), or the mean.
    pub(super) fn grade(&self, verdict: Verdict) -> Option<f64> {
        let (rule, members) = match verdict {
            Verdict::Replies { replies } => (PanelRule::Majority, vec![replies]),
            Verdict::Panel { rule, members } => (rule, members),
            Verdict::Similarity { .. } => return None,
        };
        let given: Vec<usize> = members.iter().filter_map(|replies| self.read(replies.last()?)).collect();
        if given.is_empty() {
            return None;
        }
        match rule {
            PanelRule::Mean => {
                let sum: f64 = given.iter().filter_map(|at| self.grades.get(*at)).map(|(_, value)| value).sum();
                Some(sum / given.len() as f64)
            }
            PanelRule::Majority => {
                let votes = |at: &usize| given.iter().filter(|other| *other == at).count();
                let most = given.iter().max_by_key(|at| (votes(at), **at))?;
                self.grades.get(*most).map(|(_, value)| *value)
            }
        }
    }

    /// Position, in `grades`, of the last grade that `reply` names; `None` if it names none.
    fn read(&self, reply: &str) -> Option<usize> {
        let named = self.pattern.captures_iter(reply).last()?.get(1)?;
        self.grades.iter().position(|(name, _)| name.eq_ignore_ascii_case(named.as_str()))
    }
}

/// Longer names first, so that none is taken for the beginning of another.
fn accept(names: &[String]) -> String {
    let mut names = names.to_vec();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    format!(r"(?i)\bgrade\W{{1,8}}({})\b", names.join("|"))
}

fn section(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>\n\n", text.trim())
}

fn section_of<'p>(prompt: &'p str, name: &str) -> Option<&'p str> {
    let (_, rest) = prompt.split_once(&format!("<{name}>\n"))?;
    rest.split_once(&format!("\n</{name}>")).map(|(text, _)| text)
}

/// Reply of a simulated judge: the best grade where answer and reference have enough words in common, else the worst; and, as often as
/// it errs, the other one. `None` for what is no prompt of [`Grades`].
pub(crate) fn simulated_reply(prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
    let rest = prompt.strip_prefix(BEGINNING)?;
    let names = rest.rsplit_once(GRADES)?.1.trim_end_matches('.');
    let answer = normal(section_of(rest, "answer")?);
    let reference = section_of(rest, "reference").map(normal);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    let is_alike = reference.is_none_or(|reference| {
        let (one, other) = (words(&answer), words(&reference));
        answer.contains(&reference) || one.intersection(&other).count() as f64 >= ALIKE * other.len() as f64
    });
    let errs = match persona {
        Persona::Oracle => false,
        Persona::Noisy(share) => rng(seed.0, "declared/judge").random_bool(share.clamp(0.0, 1.0)),
    };
    let grades: Vec<&str> = names.split(", ").collect();
    let (best, worst) = (grades.first()?, grades.last()?);
    Some(format!("Compared word by word.\nGrade: {}", if is_alike == errs { worst } else { best }))
}

/// Question for the similarity of the answer to each gold text.
pub(super) fn similarity(answer: &str, golds: &[String]) -> Question {
    let mut right: Vec<String> = Vec::new();
    for gold in golds {
        if !right.contains(gold) {
            right.push(gold.clone());
        }
    }
    Question::Similarity { left: vec![answer.to_owned()], right }
}

/// The largest similarity, in 0..=1; `None` for a verdict of another kind.
pub(super) fn nearest(verdict: Verdict) -> Option<f64> {
    let Verdict::Similarity { micro } = verdict else { return None };
    let most = micro.first()?.iter().copied().max()?;
    Some(f64::from(most.clamp(0, 1_000_000)) / 1e6)
}
