//! Solvers as a conversation.

use serde_json::{Value, json};

use super::format_string::{Filled, template};
use super::sample::{Everywhere, Sample, everywhere, is_there, scalar};
use super::{Fields, InspectStep};

/// Beginnings of a text that names a file.
const PATH_BEGINNINGS: [&str; 6] = ["/", "./", "../", "~", "file:", "s3:"];
/// Endings of files of text.
const TEXT_ENDINGS: [&str; 9] = ["txt", "md", "jinja", "jinja2", "j2", "tmpl", "tpl", "template", "prompt"];
/// Letters of choices, in their order; Inspect counts on with numbers.
pub(super) const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// The sample's text, as a template has it.
const INPUT: &str = "{{ input }}";
/// Solvers that have a counterpart, for messages.
const KNOWN: &str =
    "generate, system_message, user_message, assistant_message, prompt_template, chain_of_thought, multiple_choice";
/// Words around a question that has choices, and around any, where a task has the words of Inspect.
const CHOICE: &str = "{question}\n\n{choices}\n\nReply with one line, \"ANSWER: X\", where X is one of {letters}.";
const REASONED_CHOICE: &str =
    "{question}\n\n{choices}\n\nReason first. Then end with the line \"ANSWER: X\", where X is one of {letters}.";
const REASONED: &str = "{prompt}\n\nReason first. Then end with the line \"ANSWER: X\", where X is your answer.";

/// A message of the conversation, as a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    User(String),
    Assistant(String),
}

impl Turn {
    /// The turn as `benchmark.yaml` has it.
    pub(super) fn as_written(&self) -> Value {
        match self {
            Self::User(text) => json!({ "user": text }),
            Self::Assistant(text) => json!({ "assistant": text }),
        }
    }
}

/// The conversation that solvers make.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) system: Option<String>,
    pub(super) turns: Vec<Turn>,
    pub(super) sampling: Fields,
    pub(super) stop: Option<Value>,
    /// `true` if a solver shows the choices of samples.
    pub(super) shows_choices: bool,
    pub(super) notes: Vec<String>,
    /// `true` if the last message is one that the model has not answered.
    is_open: bool,
    /// Times that the model was asked.
    asked: usize,
    /// Parameters of the first call.
    first_call: Option<Fields>,
}

impl Plan {
    /// The conversation that `solvers` make of `samples`, with the parameters of calls in `config`.
    ///
    /// # Errors
    /// When a solver, or one of its parameters, has no counterpart.
    pub(super) fn of(solvers: &[InspectStep], config: &Fields, samples: &[Sample]) -> Result<Self, String> {
        let mut plan = Self { turns: vec![Turn::User(INPUT.to_owned())], is_open: true, ..Self::default() };
        plan.call_config("config", config)?;
        for solver in solvers {
            plan.solver(solver, samples).map_err(|problem| format!("the solver {}: {problem}", solver.name))?;
        }
        if plan.is_open || plan.asked == 0 {
            return Err("the solvers end before the model has answered; add generate at the end".to_owned());
        }
        if plan.system.is_some()
            && let Some(sample) =
                samples.iter().find(|sample| sample.before.iter().any(|message| message.role == "system"))
        {
            return Err(format!(
                "{} has a system message of its own, and the solvers add another one after it; join them",
                sample.place
            ));
        }
        Ok(plan)
    }

    fn solver(&mut self, solver: &InspectStep, samples: &[Sample]) -> Result<(), String> {
        let params = &solver.params;
        match solver.name.as_str() {
            "generate" => self.generate(params),
            "system_message" => {
                if self.asked > 0 {
                    return Err("comes after the model was asked, which has no counterpart".to_owned());
                }
                let text = message(params, samples)?;
                if let Some(before) = &mut self.system {
                    *before += "\n\n";
                    *before += &text;
                    self.notes.push("several system messages are one, with an empty line between them".to_owned());
                } else {
                    self.system = Some(text);
                }
                Ok(())
            }
            "user_message" => {
                if self.is_open {
                    return Err(
                        "follows a message of the user that is not answered; put generate or assistant_message between them".to_owned()
                    );
                }
                self.turns.push(Turn::User(message(params, samples)?));
                self.is_open = true;
                Ok(())
            }
            "assistant_message" => {
                if !self.is_open {
                    return Err("follows an answer; put user_message between them".to_owned());
                }
                self.turns.push(Turn::Assistant(message(params, samples)?));
                self.is_open = false;
                Ok(())
            }
            "prompt_template" => {
                let format = text_of(params)?.ok_or("has no template")?;
                let fill = |prompt: &str, name: &str| match name {
                    "prompt" => Ok(Filled::Template(prompt.to_owned())),
                    name => value(name, params, samples),
                };
                self.around(&format, fill)
            }
            "chain_of_thought" => {
                only(params, &["template"])?;
                let format = self.words(text_of(params)?, REASONED);
                let fill = |prompt: &str, name: &str| match name {
                    "prompt" => Ok(Filled::Template(prompt.to_owned())),
                    other => Err(format!("the template has a field {{{other}}}; known: prompt")),
                };
                self.around(&format, fill)
            }
            "multiple_choice" => self.multiple_choice(params, samples),
            _ => Err(format!(
                "has no counterpart; known: {KNOWN}. Name solvers in its place with --solver, as --solver generate, if they ask the same"
            )),
        }
    }

    fn generate(&mut self, params: &Fields) -> Result<(), String> {
        if !self.is_open {
            return Err("asks again where nothing was said since the last answer, which has no counterpart".to_owned());
        }
        // Without tools it makes no difference.
        let config = params.iter().filter(|(name, _)| *name != "tool_calls");
        let config: Fields = config.map(|(name, value)| (name.clone(), value.clone())).collect();
        match &self.first_call {
            None => {
                // What a call says itself goes before what its task says.
                self.call_config("generate", &config)?;
                self.first_call = Some(config);
            }
            Some(first) if *first == config => {}
            Some(_) => {
                return Err("has other parameters than the call before; a benchmark has the same for all".to_owned());
            }
        }
        self.is_open = false;
        self.asked += 1;
        Ok(())
    }

    fn multiple_choice(&mut self, params: &Fields, samples: &[Sample]) -> Result<(), String> {
        only(params, &["template", "cot", "multiple_correct", "max_tokens", "shuffle"])?;
        for name in ["multiple_correct", "shuffle"] {
            if params.get(name).is_some_and(|value| *value != json!(false) && !value.is_null()) {
                return Err(match name {
                    "shuffle" => "shuffle has no counterpart; shuffle the choices in the data".to_owned(),
                    _ => format!("{name} has no counterpart: an answer is one letter"),
                });
            }
        }
        let is_reasoned = params.get("cot") == Some(&Value::Bool(true));
        for sample in samples {
            match sample.choices.len() {
                0 => return Err(format!("{} has no choices", sample.place)),
                count if count > LETTERS.len() => {
                    return Err(format!(
                        "{} has {count} choices, and there are {} letters",
                        sample.place,
                        LETTERS.len()
                    ));
                }
                1 => return Err(format!("{} has one choice, which is none", sample.place)),
                _ => {}
            }
        }
        let format = self.words(text_of(params)?, if is_reasoned { REASONED_CHOICE } else { CHOICE });
        let list = format!(
            "{{% for one in choices %}}{{{{ '{LETTERS}'[loop.index0] }}}}) {{{{ one }}}}{{% if not loop.last %}}\n{{% endif %}}{{% endfor %}}"
        );
        let letters = format!(
            "{{% for one in choices %}}{{{{ '{LETTERS}'[loop.index0] }}}}{{% if not loop.last %}},{{% endif %}}{{% endfor %}}"
        );
        self.around(&format, |prompt, name| match name {
            "question" => Ok(Filled::Template(prompt.to_owned())),
            "choices" => Ok(Filled::Template(list.clone())),
            "letters" => Ok(Filled::Template(letters.clone())),
            other => Err(format!("the template has a field {{{other}}}; known: question, choices, letters")),
        })?;
        self.shows_choices = true;
        let tokens = params.get("max_tokens").filter(|tokens| !tokens.is_null());
        self.generate(&tokens.map(|tokens| ("max_tokens".to_owned(), tokens.clone())).into_iter().collect())
    }

    /// The words of a task, or those of ours, since its own are not in it.
    fn words(&mut self, format: Option<String>, ours: &str) -> String {
        format.unwrap_or_else(|| {
            let note = "the words around a question are Regatta's, because the file has none; a template of the solver has others";
            self.notes.push(note.to_owned());
            ours.to_owned()
        })
    }

    /// Puts the words of `format` around the last message of the user.
    fn around(&mut self, format: &str, fill: impl Fn(&str, &str) -> Result<Filled, String>) -> Result<(), String> {
        match self.turns.last_mut() {
            Some(Turn::User(prompt)) if self.is_open => {
                let before = prompt.clone();
                *prompt = template(format, &mut |name: &str| fill(&before, name))?;
                Ok(())
            }
            _ => Err("changes a message that has been answered, which has no counterpart".to_owned()),
        }
    }

    /// Takes over parameters of calls.
    fn call_config(&mut self, of: &str, config: &Fields) -> Result<(), String> {
        let mut other = Vec::new();
        for (name, value) in config.iter().filter(|(_, value)| is_there(value)) {
            match name.as_str() {
                "temperature" | "top_p" | "max_tokens" => {
                    self.sampling.insert(name.clone(), value.clone());
                }
                "stop_seqs" => self.stop = Some(value.clone()),
                "system_message" => return Err(format!("{of}.system_message: write it as the solver system_message")),
                name => other.push(name),
            }
        }
        if !other.is_empty() {
            self.notes
                .push(format!("not carried over from {of}: {}; parameters of models are in a spec", other.join(", ")));
        }
        Ok(())
    }
}

/// Refuses parameters that are none of these.
pub(super) fn only(params: &Fields, known: &[&str]) -> Result<(), String> {
    let unknown = params.iter().find(|(name, value)| !known.contains(&name.as_str()) && is_there(value));
    match unknown {
        Some((name, _)) => Err(format!("the parameter {name} has no counterpart; known: {}", known.join(", "))),
        None => Ok(()),
    }
}

/// The text of the parameter `template`.
fn text_of(params: &Fields) -> Result<Option<String>, String> {
    match params.get("template") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            if is_path(text) {
                return Err(format!(
                    "its template is in the file {text:?}; name the solver with --solver and the text itself"
                ));
            }
            Ok(Some(text.clone()))
        }
        Some(other) => Err(format!("its template must be a text, is {other}")),
    }
}

/// `true` of a text that names a file, as Inspect takes it for one if there is such a file. `Yes/No` and `e.g` are words.
fn is_path(text: &str) -> bool {
    let is_one_word = !text.contains(char::is_whitespace) && !text.contains('{');
    let ending = text.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    is_one_word
        && (PATH_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
            || ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending.as_str())))
}

/// A message that is a template over parameters and metadata.
fn message(params: &Fields, samples: &[Sample]) -> Result<String, String> {
    let format = text_of(params)?.ok_or("has no template")?;
    template(&format, &mut |name: &str| value(name, params, samples))
}

/// The value of a field: of a parameter, of metadata, or none.
fn value(name: &str, params: &Fields, samples: &[Sample]) -> Result<Filled, String> {
    // Older logs have the parameters of a template one level deeper.
    let param = params.get(name).filter(|_| name != "template").or_else(|| params.get("params")?.get(name));
    if let Some(param) = param.filter(|param| !param.is_null()) {
        let text =
            scalar(param).map_err(|problem| format!("the parameter {name} must be a text or a number, {problem}"))?;
        return Ok(Filled::Text(text));
    }
    match everywhere(samples, name)? {
        Everywhere::None => Ok(Filled::Unknown),
        Everywhere::Some(place) => {
            Err(format!("the template shows the metadata {name:?}, which {place} has not; give it to all samples"))
        }
        Everywhere::All if name.contains(['\'', '\\', '\n']) => {
            Err(format!("the metadata {name:?} has a name that a template cannot have"))
        }
        Everywhere::All => Ok(Filled::Template(format!("{{{{ metadata['{name}'] }}}}"))),
    }
}
