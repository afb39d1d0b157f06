//! Recognition of the item of a request by its last user message.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_proto::{ChatRequest, ChatRole, ItemIndex};

use super::data::Data;
use super::data::TURN;

/// Items by the user message they send; the first one where several send the same.
#[derive(Debug, Default)]
pub(crate) struct Prompts(HashMap<Arc<str>, ItemIndex>);

impl Prompts {
    pub(crate) fn of(data: &Data) -> Self {
        let mut prompts = HashMap::with_capacity(data.records.len());
        for (item, record) in data.indexed() {
            prompts.entry(record.prompt.clone()).or_insert(item);
        }
        Self(prompts)
    }

    /// The item of `request`. A message without the prefix is recognised too.
    pub(crate) fn item(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let last = request.messages.iter().rfind(|message| message.role == ChatRole::User)?;
        let sent = &*last.content;
        self.0.get(sent).or_else(|| self.0.get(format!("{TURN}{sent}").as_str())).copied()
    }
}
