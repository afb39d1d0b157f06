//! The protocol: one line of JSON a message, one answer for each call, in turn. `protocol.schema.json` is made from these types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Version of the messages. A program answers with the version that it speaks; another one is refused.
pub const VERSION: u32 = 1;

/// A call: its function with the arguments.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// The first call of each process.
    Load(Load),
    /// The next step of a session.
    Next(Next),
    /// The scores of a session that is over.
    Score(Score),
    /// The aggregate of a cell; of programs that say that they have it.
    Tabulate(Tabulate),
    /// The reply of a simulated model; of programs that say that they have it.
    Simulate(Simulate),
    /// A session's world with tools; of programs that say that they have it.
    Serve(Serve),
}

/// A call as it is sent.
#[cfg(test)]
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Message<'a> {
    /// [`VERSION`].
    pub(crate) v: u32,
    /// Number of the call in its process, from 1; the answer repeats it.
    pub(crate) id: u64,
    /// The call.
    #[serde(flatten)]
    pub(crate) call: &'a Call,
}

/// A call with its JSON, which is made once, however many processes are asked.
#[derive(Debug)]
pub(crate) struct Encoded<'c> {
    pub(crate) call: &'c Call,
    pub(crate) json: Vec<u8>,
}

impl<'c> Encoded<'c> {
    /// Writes `call` as JSON.
    ///
    /// # Errors
    /// In words, if it cannot be written.
    pub(crate) fn of(call: &'c Call) -> Result<Self, String> {
        let json = serde_json::to_vec(call).map_err(|error| format!("failed to write the call: {error}"))?;
        Ok(Self { call, json })
    }
}

/// Appends the line that sends the call with this `json` as number `id`.
pub(crate) fn write_line(line: &mut Vec<u8>, id: u64, json: &[u8]) {
    line.extend_from_slice(format!("{{\"v\":{VERSION},\"id\":{id},").as_bytes());
    // The fields of the message stand before those of the call, in the same object.
    line.extend_from_slice(json.strip_prefix(b"{").unwrap_or(json));
    line.push(b'\n');
}

/// Reads the data.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Load {
    /// Files of the splits, by name; paths in the working directory of the program.
    pub data: BTreeMap<String, String>,
    /// Settings of the benchmark, the default first.
    pub settings: Vec<SettingOf>,
}

/// A setting.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettingOf {
    /// Name of the setting, as `shots=4`.
    pub name: String,
    /// Values by axis.
    pub values: serde_json::Map<String, Value>,
}

/// A session, and what has happened in it so far.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Next {
    /// Id of the item.
    pub item: String,
    /// Setting of the session.
    pub setting: SettingOf,
    /// Replies so far, in order.
    pub transcript: Vec<Event>,
}

/// A reply of the session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Role that replied: `agent`, `user` or `environment`.
    pub role: &'static str,
    /// The text; `null` where there is none.
    pub text: Option<Arc<str>>,
    /// Calls of tools, in order.
    pub tool_calls: Vec<ToolCallOf>,
    /// Results of these calls, of programs that `serve`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolCallOf {
    /// Id of the call, unique in the session.
    pub id: Arc<str>,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Arguments as the model wrote them: mostly, but not always, JSON.
    pub arguments: Arc<str>,
}

/// A session that is over.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Score {
    /// Id of the item.
    pub item: String,
    /// Setting of the session.
    pub setting: SettingOf,
    /// All replies.
    pub transcript: Vec<Event>,
    /// Replies of judges that are known, of the questions asked before.
    pub verdicts: Vec<Verdict>,
    /// The session's world when it was over, of programs that `serve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Arc<WorldOf>>,
}

/// A world that a session has left behind.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorldOf {
    /// Seed that it was drawn by, in 0..2^32.
    pub seed: u32,
    /// State that `serve` gave.
    // As it was written, since whole numbers of other languages have any size.
    #[cfg_attr(test, schemars(with = "Value"))]
    pub snapshot: Box<RawValue>,
}

/// Replies of judges to a question.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Prompt of the question.
    pub prompt: String,
    /// The last reply of each judge, and of each time that it was asked.
    pub replies: Vec<String>,
}

/// Scores of a cell, or of all trials of a setting and model.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tabulate {
    /// Sessions by trial, in the order of the items.
    pub trials: Vec<Vec<TrialScore>>,
}

/// A session's scores.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialScore {
    /// Id of the item.
    pub item: String,
    /// Values by name.
    pub values: BTreeMap<String, f64>,
}

/// A request to a simulated model.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Simulate {
    /// Id of the item.
    pub item: String,
    /// Setting of the session.
    pub setting: SettingOf,
    /// Role that is played.
    pub role: String,
    /// The player.
    pub persona: Persona,
    /// Seed of all chance in the reply, in 0..2^32.
    pub seed: u32,
    /// Messages to the model.
    pub messages: Vec<AskMessage>,
}

/// A simulated player.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Persona {
    /// Replies rightly.
    Oracle,
    /// Replies rightly, but for this share of sessions.
    Noisy(f64),
}

/// A session's world with tools: a fresh one, drawn by its seed, that has been given these calls in turn.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Serve {
    /// Id of the item.
    pub item: String,
    /// Setting of the session.
    pub setting: SettingOf,
    /// Seed of all chance in the world, in 0..2^32: the same in every session of the item.
    pub seed: u32,
    /// Calls of its tools so far, in order; none is the world as it begins.
    pub calls: Vec<WorldCall>,
    /// `true` if the state is asked for.
    pub snapshot: bool,
}

/// A call of a tool of a world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorldCall {
    /// Role whose model calls: `agent`, `user` or `environment`.
    pub role: &'static str,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Arguments as the model wrote them: mostly, but not always, JSON.
    pub arguments: Arc<str>,
}

/// An answer as it is read: with `answer`, or with `error`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope<'a> {
    /// [`VERSION`].
    pub(crate) v: Option<u32>,
    /// Number of the call.
    pub(crate) id: Option<u64>,
    /// Why the call has no answer, as the message of an exception.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// The answer of the function that was called.
    #[serde(borrow, default)]
    #[cfg_attr(test, schemars(with = "Option<Value>"))]
    pub(crate) answer: Option<&'a RawValue>,
}

/// An answer, by what was called.
pub trait Answer: for<'a> Deserialize<'a> {}

/// Items, and further functions that the program has.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// Items, in their order.
    pub items: Vec<ItemOf>,
    /// Of `tabulate`, `simulate` and `serve` those that it has.
    #[serde(default)]
    pub functions: Vec<String>,
}
impl Answer for Loaded {}

/// An item.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ItemOf {
    /// Id, which no other item has.
    pub id: String,
    /// Task of the item.
    #[serde(default)]
    pub task: Option<String>,
    /// Name of the group of items, such as one conversation, whose scores are not independent.
    #[serde(default)]
    pub group: Option<String>,
    /// Other groups that the report has metrics of, as `level=hard`.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Values of a session that the model made impossible, where they are not the benchmark's `worst`.
    #[serde(default)]
    pub worst: BTreeMap<String, f64>,
}

/// The next step: one of the three.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// Ask a model.
    Ask(Box<Ask>),
    /// The session is over.
    Done(bool),
    /// The transcript is no session of this benchmark; the reason, for people.
    Unfit(String),
}
impl Answer for Asked {}

/// A request to a model.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Role that is asked: `agent`, or one of the benchmark's `roles`.
    #[serde(default = "agent")]
    pub role: String,
    /// The conversation.
    pub messages: Vec<AskMessage>,
    /// Functions that the model may call.
    #[serde(default)]
    pub tools: Vec<AskTool>,
    /// Sampling parameters.
    #[serde(default)]
    pub sampling: SamplingOf,
    /// Texts that end the reply.
    #[serde(default)]
    pub stop: Vec<String>,
}

fn agent() -> String {
    "agent".to_owned()
}

/// A message of a conversation with a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskMessage {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: Cow<'static, str>,
    /// The text.
    #[serde(default)]
    pub content: Arc<str>,
    /// Images before the text, of `user` messages: paths of files of the folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Calls that the model made in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallOf>,
    /// The call that this message is the result of; of `tool` messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
}

/// A function that a model may call.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskTool {
    /// Name of the tool.
    pub name: String,
    /// Description of the tool, for the model.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON Schema of its arguments, an object.
    pub parameters: serde_json::Map<String, Value>,
}

/// Sampling parameters; one that is left out is the provider's default.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SamplingOf {
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// Above 0, at most 1.
    pub top_p: Option<f64>,
    /// Most tokens of the reply.
    pub max_tokens: Option<u32>,
}

/// Scores, or questions to judges.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// Every value that the benchmark declares.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Anything, for people who look at the session.
    #[serde(default)]
    pub detail: Value,
    /// Prompts for judges, instead of values; the session is scored again with their replies.
    #[serde(default)]
    pub questions: Vec<String>,
    /// Images that judges see before each of these prompts: paths of files of the folder.
    #[serde(default)]
    pub images: Vec<String>,
}
impl Answer for Scored {}

/// The aggregate of a cell.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tabulated {
    /// Anything; it stands in `metrics.json`.
    pub aggregate: Value,
}
impl Answer for Tabulated {}

/// The reply of a simulated model.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The text.
    #[serde(default)]
    pub text: Option<String>,
    /// Calls of tools.
    #[serde(default)]
    pub tool_calls: Vec<ToolCallOf>,
}
impl Answer for Reply {}

/// A world after its calls.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// Tools of each role that has any; its requests have them after those of `ask`.
    #[serde(default)]
    pub tools: BTreeMap<String, Vec<AskTool>>,
    /// Result of each call, as the model is told it.
    pub results: Vec<String>,
    /// The state, anything; where it was asked for.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Value"))]
    pub snapshot: Box<RawValue>,
}
impl Answer for Served {}

impl Call {
    /// Name of the function.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Next(_) => "next",
            Self::Score(_) => "score",
            Self::Tabulate(_) => "tabulate",
            Self::Simulate(_) => "simulate",
            Self::Serve(_) => "serve",
        }
    }

    /// The call and its item, for messages.
    #[must_use]
    pub fn about(&self) -> String {
        match self {
            Self::Load(_) | Self::Tabulate(_) => self.name().to_owned(),
            Self::Next(Next { item, setting, .. })
            | Self::Score(Score { item, setting, .. })
            | Self::Simulate(Simulate { item, setting, .. })
            | Self::Serve(Serve { item, setting, .. }) => {
                format!("{} of item {item} in {}", self.name(), setting.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_encoded_once_is_sent_as_its_message_says() {
        let setting = SettingOf { name: "default".to_owned(), values: serde_json::Map::new() };
        let tool_calls =
            vec![ToolCallOf { id: "1".into(), name: "look_up".into(), arguments: "{\"parcel\":\"é\"}".into() }];
        let transcript = vec![Event { role: "agent", text: None, tool_calls, results: Vec::new() }];
        let call = Call::Next(Next { item: "a".to_owned(), setting, transcript });
        let mut line = b"x".to_vec();
        write_line(&mut line, 7, &Encoded::of(&call).unwrap().json);
        let message = serde_json::to_string(&Message { v: VERSION, id: 7, call: &call }).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), format!("x{message}\n"));
    }
}
