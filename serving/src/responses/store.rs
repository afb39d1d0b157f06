//! Responses and conversations that clients refer to by their ids. A request that does so is expanded to the whole conversation before anything
//! else reads it, so that whoever calls, records or compares it sees no reference.
//!
//! | request | answer |
//! |---|---|
//! | `previous_response_id` or `conversation` in a call, `item_reference` among its items | the call, with the items that they stand for |
//! | `GET`, `DELETE /v1/responses/ID`, `GET /v1/responses/ID/input_items` | the response; its input |
//! | `POST /v1/conversations`, `GET`, `DELETE /v1/conversations/ID`, `GET`, `POST /v1/conversations/ID/items` | the conversation; its items |
//!
//! Field names are from OpenAI's API reference, "Responses" and "Conversations".

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::Method;
use regatta_memory::ByteHolder;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::{ApiError, json_bytes};
use crate::fields::{Fields, Text, parse, refuse};
use crate::refused::NOT_KEPT;

/// Bytes of one mention of an item, beside its text.
const MENTION: usize = size_of::<Arc<str>>();
/// Bytes of an item beside its text: its place in a table that doubles when it is full, and the counters before the text.
const ITEM: usize = 2 * size_of::<(Arc<str>, usize)>() + 2 * size_of::<usize>();
/// Most characters of an id shown in an error.
const ID_SHOWN: usize = 80;

/// Responses and conversations of one client, in memory. The oldest go first where there are too many.
#[derive(Debug)]
pub struct ResponseStore {
    responses_max: usize,
    bytes_max: usize,
    /// Has the bytes counted among those of the process; `None` where nobody counts.
    holder: Option<ByteHolder>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The oldest first.
    responses: VecDeque<Response>,
    conversations: VecDeque<Conversation>,
    /// Number of conversations so far, of which their ids are made.
    begun: u64,
    /// Texts of items, with the number of their mentions: clients that send their whole conversation with each request have each item once.
    items: HashMap<Arc<str>, usize>,
    /// Bytes of all that is kept.
    bytes: usize,
    /// Most bytes that were kept at once, which is what is counted: what is forgotten makes room for what comes next.
    counted: usize,
}

#[derive(Debug)]
struct Response {
    id: String,
    /// The conversation before the answer.
    input: Vec<Arc<str>>,
    output: Vec<Arc<str>>,
    /// The whole answer.
    answer: Bytes,
}

#[derive(Debug)]
struct Conversation {
    id: String,
    items: Vec<Arc<str>>,
    /// Responses whose items are among them: a client that was cut off gets its answer twice.
    answers: BTreeSet<String>,
}

/// A request whose references are resolved.
#[derive(Debug, Default)]
pub struct Expanded {
    /// The request without references; `None` if it has none.
    pub body: Option<Bytes>,
    /// The input, to be [kept](ResponseStore::keep) with the answer; `None` if neither is to be kept.
    pub keeping: Option<Keeping>,
}

/// The input of a request whose answer is to be kept.
#[derive(Debug, Clone)]
pub struct Keeping {
    input: Vec<Arc<str>>,
    /// Items at the beginning of the input that the request refers to.
    referred: usize,
    conversation: Option<String>,
    /// `false` if the client asks that the response itself is not stored.
    is_stored: bool,
}

/// An object that a store has, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredObject<'p> {
    /// A response.
    Response(&'p str),
    /// The input of a response.
    InputItems(&'p str),
    /// All conversations.
    Conversations,
    /// A conversation.
    Conversation(&'p str),
    /// The items of a conversation.
    Items(&'p str),
}

/// The part of an answer that later requests refer to.
#[derive(Deserialize)]
struct Answered<'a> {
    id: String,
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
}

/// The part of an item that tells a reference from others.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
}

impl<'p> StoredObject<'p> {
    /// The object at `path`, which may lack the version; `None` for other routes.
    #[must_use]
    pub fn at(path: &'p str) -> Option<Self> {
        let path = path.strip_prefix("/v1").unwrap_or(path);
        let mut segments = path.strip_prefix('/')?.split('/');
        match (segments.next()?, segments.next(), segments.next(), segments.next()) {
            // They answer requests that stand for no response.
            ("responses", Some("" | "compact" | "input_tokens"), _, _) => None,
            ("responses", Some(id), None, None) => Some(Self::Response(id)),
            ("responses", Some(id), Some("input_items"), None) => Some(Self::InputItems(id)),
            ("conversations", None, None, None) => Some(Self::Conversations),
            ("conversations", Some(id), None, None) if !id.is_empty() => Some(Self::Conversation(id)),
            ("conversations", Some(id), Some("items"), None) if !id.is_empty() => Some(Self::Items(id)),
            _ => None,
        }
    }

    /// `true` if the object can be asked for by `method`.
    #[must_use]
    pub fn takes(self, method: &Method) -> bool {
        match self {
            Self::Response(_) | Self::Conversation(_) => [Method::GET, Method::DELETE].contains(method),
            Self::InputItems(_) => method == Method::GET,
            Self::Conversations => method == Method::POST,
            Self::Items(_) => [Method::GET, Method::POST].contains(method),
        }
    }
}

impl ResponseStore {
    /// An empty store, of at most so many responses, so many conversations, and so many bytes of both, which `holder` counts.
    #[must_use]
    pub fn new(responses_max: usize, bytes_max: usize, holder: Option<ByteHolder>) -> Self {
        Self { responses_max, bytes_max, holder, inner: Mutex::default() }
    }

    /// Resolves the references of a request of responses. One that cannot be read is for its reader to refuse.
    ///
    /// # Errors
    /// 400, when the request refers to something that is not kept, or to two conversations; 413, when it is longer than all that may be kept once
    /// it is expanded.
    pub fn expand(&self, body: &[u8]) -> Result<Expanded, ApiError> {
        let Ok(mut fields) = Fields::of_body(body) else { return Ok(Expanded::default()) };
        let previous = fields.text("previous_response_id")?;
        let conversation = conversation_id(&mut fields)?;
        if previous.is_some() && conversation.is_some() {
            let why = "cannot stand beside `conversation`, which has the earlier responses already; send one of them";
            return Err(fields.refuse("previous_response_id", why));
        }
        let is_stored = fields.peek("store").is_none_or(|value| value.get() != "false");
        let is_asked = previous.is_some() || conversation.is_some();
        let own: Vec<Cow<'_, str>> = match fields.raw("input") {
            None => Vec::new(),
            Some(text) if text.get().starts_with('"') => vec![Cow::Owned(said(text))],
            Some(list) if list.get().starts_with('[') => {
                parse::<Vec<&RawValue>>(list, "input")?.into_iter().map(|item| Cow::Borrowed(item.get())).collect()
            }
            Some(_) if is_asked => return Err(refuse("input", "cannot be read: expected a text or a list of items")),
            Some(_) => return Ok(Expanded::default()),
        };
        let references: Vec<Option<Cow<'_, str>>> = own.iter().map(|item| referred_id(item)).collect();
        let is_expanded = is_asked || references.iter().any(Option::is_some);
        if !is_expanded && !is_stored {
            return Ok(Expanded::default());
        }
        let inner = self.lock();
        let mut input = match (&previous, &conversation) {
            (Some(id), _) => {
                let before = inner.response(id).map(|response| [&*response.input, &*response.output].concat());
                before.ok_or_else(|| not_kept("previous_response_id", "previous_response_not_found"))?
            }
            (None, Some(id)) => {
                let before = inner.conversation(id).map(|conversation| conversation.items.clone());
                before.ok_or_else(|| not_kept("conversation", "conversation_not_found"))?
            }
            (None, None) => Vec::new(),
        };
        let referred = input.len();
        let mut by_id = None;
        for (index, (item, reference)) in own.iter().zip(&references).enumerate() {
            let item = match reference {
                None => inner.shared(item),
                Some(id) => {
                    let found = by_id.get_or_insert_with(|| inner.by_id()).get(&**id).cloned();
                    found.ok_or_else(|| not_kept(&format!("input[{index}].id"), "item_not_found"))?
                }
            };
            input.push(item);
        }
        drop(inner);
        if is_expanded {
            self.fits(input.iter())?;
        }
        let body = is_expanded.then(|| fields.with("input", &format!("[{}]", input.join(","))));
        let keeping = (is_stored || conversation.is_some()).then(|| Keeping {
            input,
            referred,
            conversation: conversation.map(Cow::into_owned),
            is_stored,
        });
        Ok(Expanded { body, keeping })
    }

    /// Keeps the whole answer to a request that was [expanded](Self::expand). To do so again changes nothing.
    pub fn keep(&self, keeping: &Keeping, answer: &Bytes) {
        let Answered { id, output } = match serde_json::from_slice::<Answered<'_>>(answer) {
            Ok(answered) => answered,
            Err(error) => {
                tracing::error!(%error, "failed to read an answer that was written here");
                return;
            }
        };
        let mut inner = self.lock();
        if let Some(conversation) = &keeping.conversation {
            let own = keeping.input.get(keeping.referred..).unwrap_or_default().iter().map(|item| &**item);
            inner.append(conversation, &id, own.chain(output.iter().map(|item| item.get())));
        }
        let known = inner.responses.iter().position(|response| response.id == id);
        if let Some(response) = known.and_then(|place| inner.responses.remove(place)) {
            // A client that was cut off in a conversation asks again after its first try was put there: the input was that of the first.
            inner.responses.push_back(response);
        } else if keeping.is_stored && self.has_room(keeping, answer) {
            let input = keeping.input.iter().map(|item| inner.hold(item)).collect();
            let output = output.iter().map(|item| inner.hold(item.get())).collect();
            inner.bytes += answer.len();
            inner.responses.push_back(Response { id, input, output, answer: answer.clone() });
        }
        self.settle(&mut inner);
    }

    /// Answers a request about a stored object by a method that it [takes](StoredObject::takes), with the query of its URL and its body, of a
    /// client that is told `created` as the time of all that is made, in seconds since 1970.
    ///
    /// # Errors
    /// 404, when the object is not kept; 400, when `body` has no items that can be read.
    pub fn serve(
        &self,
        object: StoredObject<'_>,
        method: &Method,
        (query, body): (&str, &[u8]),
        created: i64,
    ) -> Result<Bytes, ApiError> {
        let mut inner = self.lock();
        let conversation =
            |id: &str| json!({"id": id, "object": "conversation", "created_at": created, "metadata": {}});
        match object {
            StoredObject::Response(id) if method == Method::DELETE => {
                inner.forget_response(id).ok_or_else(|| nothing("response", id))?;
                Ok(json_bytes(&json!({"id": id, "object": "response", "deleted": true})))
            }
            StoredObject::Response(id) => {
                inner.response(id).map(|response| response.answer.clone()).ok_or_else(|| nothing("response", id))
            }
            StoredObject::InputItems(id) => {
                let response = inner.response(id).ok_or_else(|| nothing("response", id))?;
                self.list(in_order(&response.input, query))
            }
            StoredObject::Conversations => {
                let items = items_of(body)?;
                let id = format!("conv_{}", inner.begun);
                inner.begun += 1;
                let items = items.iter().map(|item| inner.hold(item.get())).collect();
                inner.conversations.push_back(Conversation { id: id.clone(), items, answers: BTreeSet::new() });
                self.settle(&mut inner);
                Ok(json_bytes(&conversation(&id)))
            }
            StoredObject::Conversation(id) if method == Method::DELETE => {
                inner.forget_conversation(id).ok_or_else(|| nothing("conversation", id))?;
                Ok(json_bytes(&json!({"id": id, "object": "conversation.deleted", "deleted": true})))
            }
            StoredObject::Conversation(id) => {
                inner.conversation(id).ok_or_else(|| nothing("conversation", id))?;
                Ok(json_bytes(&conversation(id)))
            }
            StoredObject::Items(id) if method == Method::POST => {
                let items = items_of(body)?;
                inner.conversation(id).ok_or_else(|| nothing("conversation", id))?;
                inner.append(id, "", items.iter().map(|item| item.get()));
                self.settle(&mut inner);
                let items: Vec<Arc<str>> = items.iter().map(|item| Arc::from(item.get())).collect();
                self.list(items.iter().collect())
            }
            StoredObject::Items(id) => {
                let conversation = inner.conversation(id).ok_or_else(|| nothing("conversation", id))?;
                self.list(in_order(&conversation.items, query))
            }
        }
    }

    /// A list of items: all of them, whatever length of a page the client asks for.
    fn list(&self, items: Vec<&Arc<str>>) -> Result<Bytes, ApiError> {
        self.fits(items.iter().copied())?;
        let id = |item: Option<&&Arc<str>>| json!(item.and_then(|item| id_of(item)));
        let (first, last) = (id(items.first()), id(items.last()));
        let texts: Vec<&str> = items.iter().map(|item| &***item).collect();
        let data = texts.join(",");
        let list =
            format!(r#"{{"object":"list","data":[{data}],"first_id":{first},"last_id":{last},"has_more":false}}"#);
        Ok(list.into())
    }

    /// Refuses what would be longer than all that may be kept: an item that is kept once can be mentioned any number of times.
    fn fits<'a>(&self, items: impl Iterator<Item = &'a Arc<str>>) -> Result<(), ApiError> {
        if items.map(|item| item.len() + 1).sum::<usize>() > self.bytes_max {
            let message = format!("the conversation is longer than {} bytes; begin another one", self.bytes_max);
            return Err(ApiError::too_large(message));
        }
        Ok(())
    }

    /// `false` for a response for which all others would be forgotten, and then itself.
    fn has_room(&self, keeping: &Keeping, answer: &Bytes) -> bool {
        let input: usize = keeping.input.iter().map(|item| item.len()).sum();
        input + answer.len() <= self.bytes_max
    }

    /// Forgets what is too much, and has the rest counted.
    fn settle(&self, inner: &mut Inner) {
        inner.shrink(self.responses_max, self.bytes_max);
        let more = inner.bytes.saturating_sub(inner.counted);
        if let Some(holder) = self.holder.as_ref().filter(|_| more > 0) {
            holder.keep(more as u64);
            inner.counted += more;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeping {
    /// Bytes of the input until it is kept, those that the store has as well among them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.input.iter().map(|item| (item.len() + MENTION) as u64).sum()
    }
}

impl Inner {
    fn response(&self, id: &str) -> Option<&Response> {
        self.responses.iter().find(|response| response.id == id)
    }

    fn conversation(&self, id: &str) -> Option<&Conversation> {
        self.conversations.iter().find(|conversation| conversation.id == id)
    }

    /// The items that are kept, by their ids; of two with one id, the one that was mentioned last.
    fn by_id(&self) -> HashMap<String, Arc<str>> {
        let answered = self.responses.iter().rev().flat_map(|response| response.output.iter().chain(&response.input));
        let told = self.conversations.iter().rev().flat_map(|conversation| &conversation.items);
        let (mut known, mut seen) = (HashMap::new(), HashSet::new());
        for item in answered.chain(told) {
            // Conversations that go on mention the same items again and again.
            if seen.insert(Arc::as_ptr(item).cast::<u8>())
                && let Some(id) = id_of(item)
            {
                known.entry(id.into_owned()).or_insert_with(|| Arc::clone(item));
            }
        }
        known
    }

    /// The text `item`, which may be kept already.
    fn shared(&self, item: &str) -> Arc<str> {
        self.items.get_key_value(item).map_or_else(|| Arc::from(item), |(kept, _)| Arc::clone(kept))
    }

    /// Keeps one more mention of `item`.
    fn hold(&mut self, item: &str) -> Arc<str> {
        let item = self.shared(item);
        let mentions = self.items.entry(Arc::clone(&item)).or_default();
        if *mentions == 0 {
            self.bytes += item.len() + ITEM;
        }
        *mentions += 1;
        self.bytes += MENTION;
        item
    }

    /// Gives mentions back.
    fn release(&mut self, items: &[Arc<str>]) {
        for item in items {
            let Some(mentions) = self.items.get_mut(item) else { continue };
            *mentions -= 1;
            self.bytes -= MENTION;
            if *mentions == 0 {
                self.items.remove(item);
                self.bytes -= item.len() + ITEM;
            }
        }
    }

    /// Appends `items` to a conversation, unless those of the response `answer` are there. One that was forgotten meanwhile stays so.
    fn append<'a>(&mut self, id: &str, answer: &str, items: impl Iterator<Item = &'a str>) {
        let Some(place) = self.conversations.iter().position(|conversation| conversation.id == id) else { return };
        if self.conversations.get(place).is_some_and(|conversation| conversation.answers.contains(answer)) {
            return;
        }
        let items: Vec<Arc<str>> = items.map(|item| self.hold(item)).collect();
        if let Some(conversation) = self.conversations.get_mut(place) {
            conversation.items.extend(items);
            if !answer.is_empty() {
                conversation.answers.insert(answer.to_owned());
            }
        }
    }

    fn forget_response(&mut self, id: &str) -> Option<()> {
        let place = self.responses.iter().position(|response| response.id == id)?;
        let Response { input, output, answer, .. } = self.responses.remove(place)?;
        self.bytes -= answer.len();
        self.release(&input);
        self.release(&output);
        Some(())
    }

    fn forget_conversation(&mut self, id: &str) -> Option<()> {
        let place = self.conversations.iter().position(|conversation| conversation.id == id)?;
        let conversation = self.conversations.remove(place)?;
        self.release(&conversation.items);
        Some(())
    }

    /// Forgets the oldest until the rest is within the limits. Conversations, which their clients have made on purpose, go last.
    fn shrink(&mut self, responses_max: usize, bytes_max: usize) {
        while self.responses.len() > responses_max || self.bytes > bytes_max {
            let Some(oldest) = self.responses.front().map(|response| response.id.clone()) else { break };
            self.forget_response(&oldest);
        }
        while self.conversations.len() > responses_max || self.bytes > bytes_max {
            let Some(oldest) = self.conversations.front().map(|conversation| conversation.id.clone()) else { break };
            self.forget_conversation(&oldest);
        }
    }
}

/// Takes the id of the conversation, which is a text or stands in an object.
fn conversation_id<'a>(fields: &mut Fields<'a>) -> Result<Option<Cow<'a, str>>, ApiError> {
    let Some(value) = fields.raw("conversation") else { return Ok(None) };
    if value.get().starts_with('"') {
        return Ok(Some(parse::<Text<'a>>(value, "conversation")?.0));
    }
    Fields::of(value, "conversation".to_owned())?.need_text("id").map(Some)
}

/// The item that the JSON text `text` stands for as an input.
fn said(text: &RawValue) -> String {
    format!(r#"{{"type":"message","role":"user","content":{}}}"#, text.get())
}

/// The id in a reference to an item; `None` for other items. References need not say that they are.
fn referred_id(item: &str) -> Option<Cow<'_, str>> {
    let Head { kind, id, role } = serde_json::from_str(item).ok()?;
    let is_reference = match kind {
        Some(Text(kind)) => kind == "item_reference",
        None => role.is_none(),
    };
    id.filter(|_| is_reference).map(|Text(id)| id)
}

/// `items`, which are kept from the oldest on, as the provider lists them: the newest first, unless the query of the URL has another wish.
fn in_order<'a>(items: &'a [Arc<str>], query: &str) -> Vec<&'a Arc<str>> {
    if query.split('&').any(|wish| wish == "order=asc") { items.iter().collect() } else { items.iter().rev().collect() }
}

fn id_of(item: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Head<'_>>(item).ok()?.id.map(|Text(id)| id)
}

/// The items of a request about a conversation, which may have none.
fn items_of(body: &[u8]) -> Result<Vec<&RawValue>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    Ok(Fields::of_body(body)?.take("items")?.unwrap_or_default())
}

/// 400: what the value at `path` refers to is not kept.
fn not_kept(path: &str, code: &'static str) -> ApiError {
    ApiError { code: Some(code), ..refuse(path, NOT_KEPT) }
}

/// 404: there is no such object.
fn nothing(kind: &str, id: &str) -> ApiError {
    let shown: String = id.chars().take(ID_SHOWN).collect();
    ApiError::unknown_id(format!("there is no {kind} {shown:?}; only the latest ones are kept"))
}

#[cfg(test)]
mod tests;
