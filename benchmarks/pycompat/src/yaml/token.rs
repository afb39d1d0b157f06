//! Tokens of a text.

use super::reader::Place;

/// A piece of a text, or a border that its indentation implies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// The text is over.
    StreamEnd,
    /// `%…`
    Directive(Directive),
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// The indentation of a sequence begins.
    BlockSequenceStart,
    /// The indentation of a mapping begins.
    BlockMappingStart,
    /// An indentation ends.
    BlockEnd,
    /// `[`
    FlowSequenceStart,
    /// `]`
    FlowSequenceEnd,
    /// `{`
    FlowMappingStart,
    /// `}`
    FlowMappingEnd,
    /// `,`
    FlowEntry,
    /// `-`
    BlockEntry,
    /// `?`, or before something that a `:` follows.
    Key,
    /// `:`
    Value,
    /// `*name`
    Alias(String),
    /// `&name`
    Anchor(String),
    /// `!…`
    Tag(Tag),
    /// A text.
    Scalar {
        /// Text of the scalar.
        text: String,
        /// True if it has neither quotes nor an indicator.
        plain: bool,
    },
}

/// A tag as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    /// `!`, `!!` or `!name!`; `None` where the suffix is all.
    pub(super) handle: Option<String>,
    /// The rest.
    pub(super) suffix: String,
}

/// A directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Directive {
    /// `%YAML`: whether the major version is 1.
    Yaml(bool),
    /// `%TAG`.
    Tag {
        /// The short form.
        handle: String,
        /// Prefix that it stands for.
        prefix: String,
    },
    /// Any other.
    Other,
}

/// A token and where it begins.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// The token.
    pub(super) token: Token,
    /// Position at which it begins.
    pub(super) place: Place,
}
