//! From events to nodes: aliases become the nodes that they name.

use std::collections::HashMap;

use super::YamlError;
use super::event::{Event, Events, Properties};
use super::reader::Place;
use super::resolve::{Tag, resolve};

/// Greatest depth of nested sequences and mappings, as Python's recursion limit of 1000 allows.
pub(super) const DEPTH_MAX: usize = 491;

/// A node's number.
pub(super) type Id = usize;

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Type of the node.
    pub(super) tag: Tag,
    /// Text or members of the node.
    pub(super) content: Content,
    /// Position at which it begins.
    pub(super) place: Place,
}

/// Content of a node.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A text.
    Scalar(String),
    /// Nodes.
    Sequence(Vec<Id>),
    /// Pairs of nodes.
    Mapping(Vec<(Id, Id)>),
}

/// All nodes of the text's only document, the first being its root; none if there is no document.
pub(super) fn compose(text: &str) -> Result<Vec<Node>, YamlError> {
    let Some(mut events) = Events::new(text)? else { return Ok(Vec::new()) };
    let mut composer = Composer::default();
    let place = events.place()?;
    let root = events.root()?;
    composer.add(root, place)?;
    while !composer.open.is_empty() {
        let place = events.place()?;
        let event = events.next()?;
        composer.add(event, place)?;
    }
    events.finish()?;
    Ok(composer.nodes)
}

/// The nodes so far.
#[derive(Debug, Default)]
struct Composer {
    nodes: Vec<Node>,
    anchors: HashMap<String, Id>,
    /// The sequences and mappings that are not yet over, and the key of the mapping's next value.
    open: Vec<(Id, Option<Id>)>,
}

impl Composer {
    fn add(&mut self, event: Event, place: Place) -> Result<(), YamlError> {
        match event {
            Event::Alias(name) => {
                let id = *self.anchors.get(&name).ok_or_else(|| place.error("an alias without an anchor"))?;
                self.attach(id);
            }
            Event::Scalar { properties, text, implicit } => {
                let tag = match &properties.tag {
                    Some(tag) => Tag::named(tag),
                    None if implicit => resolve(&text),
                    None => Tag::Str,
                };
                self.push(properties, tag, Content::Scalar(text), place)?;
            }
            Event::SequenceStart(properties) => {
                let tag = properties.tag.as_deref().map_or(Tag::Seq, Tag::named);
                let id = self.push(properties, tag, Content::Sequence(Vec::new()), place)?;
                self.open.push((id, None));
            }
            Event::MappingStart(properties) => {
                let tag = properties.tag.as_deref().map_or(Tag::Map, Tag::named);
                let id = self.push(properties, tag, Content::Mapping(Vec::new()), place)?;
                self.open.push((id, None));
            }
            Event::End => {
                self.open.pop();
            }
        }
        if self.open.len() > DEPTH_MAX {
            return Err(YamlError::Exception { kind: "RecursionError" });
        }
        Ok(())
    }

    fn push(&mut self, properties: Properties, tag: Tag, content: Content, place: Place) -> Result<Id, YamlError> {
        let id = self.nodes.len();
        if let Some(name) = properties.anchor
            && self.anchors.insert(name, id).is_some()
        {
            return Err(place.error("an anchor again"));
        }
        self.nodes.push(Node { tag, content, place });
        self.attach(id);
        Ok(id)
    }

    /// Makes a node a member of the innermost sequence or mapping.
    fn attach(&mut self, id: Id) {
        let Some((parent, key)) = self.open.last_mut() else { return };
        match self.nodes.get_mut(*parent).map(|node| &mut node.content) {
            Some(Content::Sequence(members)) => members.push(id),
            Some(Content::Mapping(entries)) => match key.take() {
                Some(key) => entries.push((key, id)),
                None => *key = Some(id),
            },
            Some(Content::Scalar(_)) | None => {}
        }
    }
}
