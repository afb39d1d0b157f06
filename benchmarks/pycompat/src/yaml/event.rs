//! From tokens to events: the grammar.

use std::collections::HashMap;

use super::YamlError;
use super::reader::Place;
use super::scanner::Scanner;
use super::token::{Directive, Tag, Token};

/// The prefix of YAML's own tags.
const STANDARD: &str = "tag:yaml.org,2002:";

/// A node, or the beginning or end of one.
#[derive(Debug)]
pub(super) enum Event {
    /// The node of an anchor, again.
    Alias(String),
    /// A scalar.
    Scalar {
        /// Anchor and tag before the scalar.
        properties: Properties,
        /// Text of the scalar.
        text: String,
        /// True if its text decides its type.
        implicit: bool,
    },
    /// A sequence begins.
    SequenceStart(Properties),
    /// A mapping begins.
    MappingStart(Properties),
    /// The innermost sequence or mapping ends.
    End,
}

/// Properties that may come before a node.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// A name to refer to it.
    pub(super) anchor: Option<String>,
    /// Tag in full; `None` for the usual one.
    pub(super) tag: Option<String>,
}

/// Production that is expected after the present node.
#[derive(Debug, Clone, Copy)]
enum State {
    BlockSequence,
    /// A sequence whose `-` are no further to the right than the key before it.
    IndentlessSequence,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequence {
        first: bool,
    },
    /// `[a: b]`: a mapping of one entry.
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingKey {
        first: bool,
    },
    FlowMappingValue,
    /// `{a}`: a key alone.
    FlowMappingNoValue,
}

/// The events of a text's only document.
#[derive(Debug)]
pub(super) struct Events {
    scanner: Scanner,
    states: Vec<State>,
    /// True if the document began with `---`.
    marked: bool,
    tag_handles: HashMap<String, String>,
}

impl Events {
    /// The events of the text's first document; `None` if it has none.
    pub(super) fn new(text: &str) -> Result<Option<Self>, YamlError> {
        let mut events =
            Self { scanner: Scanner::new(text)?, states: Vec::new(), marked: false, tag_handles: HashMap::new() };
        Ok(events.document_start(true)?.then_some(events))
    }

    /// Position at which the next token begins.
    pub(super) fn place(&mut self) -> Result<Place, YamlError> {
        self.scanner.place()
    }

    fn error<T>(&mut self, problem: &'static str) -> Result<T, YamlError> {
        Err(self.scanner.place()?.error(problem))
    }

    /// Passes the next token if it is this one.
    fn pass(&mut self, token: &Token) -> Result<bool, YamlError> {
        let passes = self.scanner.peek()? == token;
        if passes {
            self.scanner.take()?;
        }
        Ok(passes)
    }

    fn is_next(&mut self, tokens: &[Token]) -> Result<bool, YamlError> {
        self.scanner.peek().map(|next| tokens.contains(next))
    }

    /// True if there is a document. A second one may not begin without `---`; a `...` before the first is no document's end.
    fn document_start(&mut self, first: bool) -> Result<bool, YamlError> {
        let marked = matches!(self.scanner.peek()?, Token::Directive(_) | Token::DocumentStart | Token::StreamEnd);
        self.tag_handles = HashMap::from([("!".to_owned(), "!".to_owned()), ("!!".to_owned(), STANDARD.to_owned())]);
        if first && !marked {
            return Ok(true);
        }
        while self.pass(&Token::DocumentEnd)? {}
        if *self.scanner.peek()? == Token::StreamEnd {
            return Ok(false);
        }
        self.directives()?;
        if !self.pass(&Token::DocumentStart)? {
            return self.error("no '---' at the beginning of a document");
        }
        self.marked = true;
        Ok(true)
    }

    /// The first event of the document's node.
    pub(super) fn root(&mut self) -> Result<Event, YamlError> {
        let nothing = matches!(
            self.scanner.peek()?,
            Token::Directive(_) | Token::DocumentStart | Token::DocumentEnd | Token::StreamEnd
        );
        // Only after `---` may there be nothing.
        if self.marked && nothing { Ok(empty()) } else { self.node(true, false) }
    }

    /// An error if a second document follows the first.
    pub(super) fn finish(&mut self) -> Result<(), YamlError> {
        self.pass(&Token::DocumentEnd)?;
        if self.document_start(false)? { self.error("a second document") } else { Ok(()) }
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut version = false;
        let mut own: HashMap<String, String> = HashMap::new();
        while let Token::Directive(directive) = self.scanner.peek()? {
            match directive.clone() {
                Directive::Yaml(_) if version => return self.error("a second version"),
                Directive::Yaml(false) => return self.error("a version that is not 1"),
                Directive::Yaml(true) => version = true,
                Directive::Tag { handle, prefix } => {
                    if own.insert(handle, prefix).is_some() {
                        return self.error("a short form of a tag, again");
                    }
                }
                Directive::Other => {}
            }
            self.scanner.take()?;
        }
        self.tag_handles.extend(own);
        Ok(())
    }

    /// The next event after the node or border of the last one.
    pub(super) fn next(&mut self) -> Result<Event, YamlError> {
        match self.states.pop() {
            Some(State::BlockSequence) => self.block_sequence(),
            Some(State::IndentlessSequence) => self.indentless_sequence(),
            Some(State::BlockMappingKey) => self.block_mapping_key(),
            Some(State::BlockMappingValue) => self.block_mapping_value(),
            Some(State::FlowSequence { first }) => self.flow_sequence(first),
            Some(State::FlowPairKey) => {
                self.scanner.take()?;
                self.flow_child(State::FlowPairValue, &[Token::Value, Token::FlowEntry, Token::FlowSequenceEnd])
            }
            Some(State::FlowPairValue) => {
                self.flow_value(State::FlowPairEnd, &[Token::FlowEntry, Token::FlowSequenceEnd])
            }
            Some(State::FlowPairEnd) => Ok(Event::End),
            Some(State::FlowMappingKey { first }) => self.flow_mapping_key(first),
            Some(State::FlowMappingValue) => {
                let next = State::FlowMappingKey { first: false };
                self.flow_value(next, &[Token::FlowEntry, Token::FlowMappingEnd])
            }
            Some(State::FlowMappingNoValue) => {
                self.states.push(State::FlowMappingKey { first: false });
                Ok(empty())
            }
            None => self.error("nothing is open"),
        }
    }

    /// A node's first event. An alias has no properties and no content.
    fn node(&mut self, in_block: bool, indentless: bool) -> Result<Event, YamlError> {
        if let Token::Alias(name) = self.scanner.peek()? {
            let name = name.clone();
            self.scanner.take()?;
            return Ok(Event::Alias(name));
        }
        let (anchor, tag) = self.properties()?;
        // `!` alone makes a quoted text a plain one, and says nothing about the others.
        let unspecific = tag.as_deref() == Some("!");
        let implicit = tag.is_none() || unspecific;
        let bare = anchor.is_none() && tag.is_none();
        let properties = Properties { anchor, tag: tag.filter(|_| !unspecific) };
        if indentless && *self.scanner.peek()? == Token::BlockEntry {
            self.states.push(State::IndentlessSequence);
            return Ok(Event::SequenceStart(properties));
        }
        match self.scanner.peek()? {
            Token::Scalar { plain, .. } => {
                let implicit = unspecific || (*plain && properties.tag.is_none());
                let Token::Scalar { text, .. } = self.scanner.take()?.token else {
                    return self.error("no scalar");
                };
                Ok(Event::Scalar { properties, text, implicit })
            }
            Token::FlowSequenceStart => {
                self.states.push(State::FlowSequence { first: true });
                self.scanner.take()?;
                Ok(Event::SequenceStart(properties))
            }
            Token::FlowMappingStart => {
                self.states.push(State::FlowMappingKey { first: true });
                self.scanner.take()?;
                Ok(Event::MappingStart(properties))
            }
            Token::BlockSequenceStart if in_block => {
                self.states.push(State::BlockSequence);
                self.scanner.take()?;
                Ok(Event::SequenceStart(properties))
            }
            Token::BlockMappingStart if in_block => {
                self.states.push(State::BlockMappingKey);
                self.scanner.take()?;
                Ok(Event::MappingStart(properties))
            }
            _ if !bare => Ok(Event::Scalar { properties, text: String::new(), implicit }),
            _ => self.error("no node where one should be"),
        }
    }

    /// An anchor and a tag in either order, the tag in full.
    fn properties(&mut self) -> Result<(Option<String>, Option<String>), YamlError> {
        let mut anchor = self.anchor()?;
        let tag = if let Token::Tag(tag) = self.scanner.peek()? {
            let Tag { handle, suffix } = tag.clone();
            let place = self.scanner.place()?;
            self.scanner.take()?;
            if anchor.is_none() {
                anchor = self.anchor()?;
            }
            let prefix = match &handle {
                None => "",
                Some(handle) => {
                    self.tag_handles.get(handle).ok_or_else(|| place.error("an unknown short form of a tag"))?
                }
            };
            Some(format!("{prefix}{suffix}"))
        } else {
            None
        };
        Ok((anchor, tag))
    }

    fn anchor(&mut self) -> Result<Option<String>, YamlError> {
        let Token::Anchor(name) = self.scanner.peek()? else { return Ok(None) };
        let name = name.clone();
        self.scanner.take()?;
        Ok(Some(name))
    }

    fn block_sequence(&mut self) -> Result<Event, YamlError> {
        if self.pass(&Token::BlockEntry)? {
            self.states.push(State::BlockSequence);
            if self.is_next(&[Token::BlockEntry, Token::BlockEnd])? {
                return Ok(empty());
            }
            return self.node(true, false);
        }
        self.block_end()
    }

    fn block_end(&mut self) -> Result<Event, YamlError> {
        if self.pass(&Token::BlockEnd)? { Ok(Event::End) } else { self.error("something that fits no open block") }
    }

    fn indentless_sequence(&mut self) -> Result<Event, YamlError> {
        if !self.pass(&Token::BlockEntry)? {
            return Ok(Event::End);
        }
        self.states.push(State::IndentlessSequence);
        if self.is_next(&[Token::BlockEntry, Token::Key, Token::Value, Token::BlockEnd])? {
            return Ok(empty());
        }
        self.node(true, false)
    }

    fn block_mapping_key(&mut self) -> Result<Event, YamlError> {
        if self.pass(&Token::Key)? {
            return self.block_child(State::BlockMappingValue);
        }
        self.block_end()
    }

    fn block_mapping_value(&mut self) -> Result<Event, YamlError> {
        if self.pass(&Token::Value)? {
            return self.block_child(State::BlockMappingKey);
        }
        self.states.push(State::BlockMappingKey);
        Ok(empty())
    }

    /// A key or value of a block mapping, before what comes next.
    fn block_child(&mut self, next: State) -> Result<Event, YamlError> {
        self.states.push(next);
        if self.is_next(&[Token::Key, Token::Value, Token::BlockEnd])? {
            return Ok(empty());
        }
        self.node(true, true)
    }

    fn flow_sequence(&mut self, first: bool) -> Result<Event, YamlError> {
        if self.pass(&Token::FlowSequenceEnd)? {
            return Ok(Event::End);
        }
        if !first && !self.pass(&Token::FlowEntry)? {
            return self.error("neither ',' nor ']'");
        }
        if *self.scanner.peek()? == Token::Key {
            self.states.extend([State::FlowSequence { first: false }, State::FlowPairKey]);
            return Ok(Event::MappingStart(Properties::default()));
        }
        if self.pass(&Token::FlowSequenceEnd)? {
            return Ok(Event::End);
        }
        self.states.push(State::FlowSequence { first: false });
        self.node(false, false)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event, YamlError> {
        if self.pass(&Token::FlowMappingEnd)? {
            return Ok(Event::End);
        }
        if !first && !self.pass(&Token::FlowEntry)? {
            return self.error("neither ',' nor '}'");
        }
        if self.pass(&Token::Key)? {
            let ends = [Token::Value, Token::FlowEntry, Token::FlowMappingEnd];
            return self.flow_child(State::FlowMappingValue, &ends);
        }
        if self.pass(&Token::FlowMappingEnd)? {
            return Ok(Event::End);
        }
        self.states.push(State::FlowMappingNoValue);
        self.node(false, false)
    }

    /// The value after a `:`, or an empty one.
    fn flow_value(&mut self, next: State, ends: &[Token]) -> Result<Event, YamlError> {
        if self.pass(&Token::Value)? {
            return self.flow_child(next, ends);
        }
        self.states.push(next);
        Ok(empty())
    }

    fn flow_child(&mut self, next: State, ends: &[Token]) -> Result<Event, YamlError> {
        self.states.push(next);
        if self.is_next(ends)? { Ok(empty()) } else { self.node(false, false) }
    }
}

/// A node that is not there.
fn empty() -> Event {
    Event::Scalar { properties: Properties::default(), text: String::new(), implicit: true }
}
