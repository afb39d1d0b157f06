//! The conversation of an item in a setting: a function of what the model has said so far.

use minijinja::value::Serde;
use minijinja::{Value, context};
use regatta_benchmarks::DataError;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Image, Sampling, Tool};

use crate::data::{Record, Split, Splits};
use crate::definition::{Count, Definition, FewShot, Source, Turn};
use crate::few_shot;
use crate::images::{self, Images};
use crate::rendering::render;
use crate::setting::Choice;
use crate::template::Template;

/// Most examples of a prompt.
const EXAMPLES_MAX: u64 = 1000;
/// Most messages of a conversation.
const MESSAGES_MAX: usize = 10_000;

/// Parts of a conversation.
#[derive(Clone, Copy)]
pub(crate) struct Script<'a> {
    pub(crate) source: &'a Source,
    pub(crate) definition: &'a Definition,
    pub(crate) splits: &'a Splits,
    pub(crate) images: &'a Images,
    pub(crate) choice: &'a Choice,
}

/// An item as its conversation sees it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) split: &'a Split,
    /// Position of its record in the split.
    pub(crate) position: usize,
    pub(crate) record: &'a Record,
    pub(crate) id: &'a str,
    pub(crate) tools: &'a [Tool],
}

impl Script<'_> {
    /// The next request of the conversation in which the model has said `replies`; `None` when it is over.
    ///
    /// # Errors
    /// When a template makes no text of the record, or a column is not as it must be.
    pub(crate) fn next(self, subject: Subject<'_>, replies: &[&str]) -> Result<Option<ChatRequest>, DataError> {
        let mut messages = Vec::new();
        let prompt = &self.definition.prompt;
        let variables = variables(self.choice, subject.record, replies);
        if let Some(system) = &prompt.system {
            let text =
                render(self.source, "prompt.system", system, &subject.split.path, subject.record, variables.clone())?;
            push(&mut messages, ChatMessage::new(ChatRole::System, text));
        }
        if let Some(few_shot) = &prompt.few_shot {
            self.examples(few_shot, subject, &mut messages)?;
        }
        let mut said = replies.iter();
        for at in 0..prompt.turns.len() {
            // A turn is made when the conversation has come to it, because it may quote what was said before it.
            let mut made = Vec::new();
            let turn = (prompt.turns.as_slice(), at);
            self.turn("prompt.turns", turn, subject.split, subject.record, &variables, &mut made)?;
            let has_an_answer = matches!(prompt.turns.get(at + 1), Some(Turn::Assistant(_)));
            let mut made = made.into_iter().peekable();
            while let Some(message) = made.next() {
                let is_answered = made.peek().map_or(has_an_answer, |next| next.role == ChatRole::Assistant);
                let is_asked = message.role == ChatRole::User && !is_answered;
                messages.push(message);
                if messages.len() > MESSAGES_MAX {
                    return Err(self.source.problem("prompt", format!("makes more than {MESSAGES_MAX} messages")));
                }
                if is_asked {
                    match said.next() {
                        Some(reply) => messages.push(ChatMessage::new(ChatRole::Assistant, *reply)),
                        None => {
                            if let Some(problem) = images::too_many(&messages) {
                                return Err(self.source.problem("prompt", problem));
                            }
                            return Ok(Some(self.request(messages, subject.tools)));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    fn request(self, messages: Vec<ChatMessage>, tools: &[Tool]) -> ChatRequest {
        let prompt = &self.definition.prompt;
        let sampling = Sampling {
            temperature: prompt.sampling.temperature,
            top_p: prompt.sampling.top_p,
            max_tokens: prompt.sampling.max_tokens.map(u32::from),
            seed: None,
        };
        let stop = prompt.stop.iter().map(|text| text.as_str().into()).collect();
        ChatRequest { stop, tools: tools.to_vec(), ..ChatRequest::new(messages, sampling) }
    }

    fn examples(
        self,
        few_shot: &FewShot,
        subject: Subject<'_>,
        messages: &mut Vec<ChatMessage>,
    ) -> Result<(), DataError> {
        let Some(split) = self.splits.get(&few_shot.split) else {
            let known = self.definition.data.names();
            let problem = format!("there is no split {:?}; splits: {known}", few_shot.split);
            return Err(self.source.problem("prompt.few_shot.split", problem));
        };
        let own = (split.path == subject.split.path).then_some(subject.position);
        let count = self.count(few_shot, split.records.len() - usize::from(own.is_some()))?;
        for position in few_shot::positions(few_shot, count, split.records.len(), subject.id, own) {
            let Some(record) = split.records.get(position) else { continue };
            let variables = variables(self.choice, record, &[]);
            for at in 0..few_shot.turns.len() {
                let turn = (few_shot.turns.as_slice(), at);
                self.turn("prompt.few_shot.turns", turn, split, record, &variables, messages)?;
            }
        }
        Ok(())
    }

    fn count(self, few_shot: &FewShot, there: usize) -> Result<usize, DataError> {
        let problem = |problem: String| self.source.problem("prompt.few_shot.count", problem);
        let count = match &few_shot.count {
            Count::Fixed(count) => u64::from(*count),
            Count::Axis(axis) => {
                let value = self.choice.values.get(axis).ok_or_else(|| {
                    let known = self.definition.settings.names();
                    problem(format!("there is no axis {axis:?}; axes of `settings`: {known}"))
                })?;
                let count = value.as_u64();
                count.ok_or_else(|| {
                    problem(format!("{axis} is {value} in a setting; it must be a number of examples"))
                })?
            }
        };
        if count > EXAMPLES_MAX || count > there as u64 {
            let most = EXAMPLES_MAX.min(there as u64);
            return Err(problem(format!(
                "{count} examples are too many; there are at most {most} in {}",
                few_shot.split
            )));
        }
        Ok(usize::try_from(count).unwrap_or(there))
    }

    /// Adds the messages of the turn at a position of the `turns` at `path`.
    fn turn(
        self,
        path: &str,
        (turns, at): (&[Turn], usize),
        split: &Split,
        record: &Record,
        variables: &Value,
        messages: &mut Vec<ChatMessage>,
    ) -> Result<(), DataError> {
        let Some(turn) = turns.get(at) else { return Ok(()) };
        let (role, word, template) = match turn {
            Turn::User(template) => (ChatRole::User, "user", template),
            Turn::Assistant(template) => (ChatRole::Assistant, "assistant", template),
            Turn::Messages(column) => {
                return self.messages(&format!("{path}[{at}]"), column, split, record, messages);
            }
            // They are part of the message that follows.
            Turn::Images(_) => return Ok(()),
        };
        let before = at.checked_sub(1).and_then(|before| Some((before, turns.get(before)?)));
        let images = if let Some((before, Turn::Images(template))) = before {
            self.images(&format!("{path}[{before}].images"), template, split, record)?
        } else {
            Vec::new()
        };
        let text =
            render(self.source, &format!("{path}[{at}].{word}"), template, &split.path, record, variables.clone())?;
        push(messages, ChatMessage { images, ..ChatMessage::new(role, text) });
        Ok(())
    }

    /// The images that the template at `path` names.
    fn images(self, path: &str, template: &Template, split: &Split, record: &Record) -> Result<Vec<Image>, DataError> {
        let named = images::paths(self.source, path, template, split, record, variables(self.choice, record, &[]))?;
        self.found(path, &named)
    }

    /// The images at these paths, which `path` of the file names.
    fn found(self, path: &str, named: &[String]) -> Result<Vec<Image>, DataError> {
        let image = |name: &String| {
            let image = self.images.get(name).cloned();
            image.ok_or_else(|| self.source.problem(path, format!("{name:?} is no image of the data set")))
        };
        named.iter().map(image).collect()
    }

    fn messages(
        self,
        path: &str,
        column: &str,
        split: &Split,
        record: &Record,
        messages: &mut Vec<ChatMessage>,
    ) -> Result<(), DataError> {
        let problem = |problem: &str| {
            let place = format!("{} line {}, column {column:?}", split.path, record.line);
            self.source.problem(&format!("{path}.messages"), format!("{place}: {problem}"))
        };
        let list = record.fields.get(column).ok_or_else(|| problem("is not there"))?;
        let list = list.as_array().ok_or_else(|| problem("must be a list of messages"))?;
        for message in list {
            let text = message.get("content").and_then(|content| content.as_str());
            let text = text.ok_or_else(|| problem("each message must have a `content` that is a text"))?;
            let role = match message.get("role").and_then(|role| role.as_str()) {
                Some("system") => ChatRole::System,
                Some("user") => ChatRole::User,
                Some("assistant") => ChatRole::Assistant,
                _ => return Err(problem("each message must have the `role` system, user or assistant")),
            };
            let field = format!("{path}.messages");
            let named = images::paths_of(self.source, &field, split, record, message)?;
            if role != ChatRole::User && !named.is_empty() {
                return Err(problem("messages of the user alone have `images`"));
            }
            let images = self.found(&field, &named)?;
            push(messages, ChatMessage { images, ..ChatMessage::new(role, text) });
        }
        Ok(())
    }
}

/// Names that templates of `record` know in the setting of `choice`.
pub(crate) fn variables(choice: &Choice, record: &Record, replies: &[&str]) -> Value {
    let replies: Value = replies.iter().copied().map(Value::from).collect();
    let values = Value::from(Serde(&choice.values));
    context! { setting => values, replies => replies, ..record.variables.clone() }
}

/// A template that makes nothing makes no message, unless there is something to look at.
fn push(messages: &mut Vec<ChatMessage>, message: ChatMessage) {
    if !message.images.is_empty() || !message.content.trim().is_empty() {
        messages.push(message);
    }
}
