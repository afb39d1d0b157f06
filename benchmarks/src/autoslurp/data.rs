//! The csv files (SPEC, section 2).

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// Column `id`.
    pub(crate) iid: String,
    /// What the person says.
    pub(crate) text: String,
    /// The gold intent; several are joined by `,` or `;`.
    pub(crate) intent: String,
    /// The gold slots as they stand in the file: mostly, but not always, a Python list of texts.
    pub(crate) slots: String,
    /// The domain; empty where the file has none, and in one row of the 1k set.
    pub(crate) domain: String,
}

impl Utterance {
    /// Whether other people's services are needed for it (SPEC, section 1).
    pub(crate) fn is_external(&self) -> bool {
        is_external(&self.intent)
    }
}

/// The official test for intents of other people's services, on any text (`ext` of the SPEC).
pub(crate) fn is_external(text: &str) -> bool {
    const WORDS: [&str; 6] = ["weather", "news_query", "qa", "stock", "general", "currency"];
    WORDS.iter().any(|word| text.contains(word))
}
