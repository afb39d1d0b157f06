//! From nodes to values, in the order in which PyYAML makes them: it decides which of several errors is raised.

use std::collections::{HashMap, HashSet, VecDeque};

use super::node::{Content, Id, Node};
use super::resolve::Tag;
use super::scalar::{Timestamp, binary, boolean, timestamp};
use super::{Collection, HashKey, Value, YamlError, number};

/// Most entries that merges (`<<`) may add.
const MERGED_MAX: usize = 1_000_000;

/// Largest size of the value once its aliases are written out: 16 for every value, and the bytes of texts.
const SIZE_MAX: usize = 64_000_000;

/// Greatest depth of the value once its aliases are written out: more than a text without them can have.
const DEPTH_MAX: usize = 500;

/// Longest chain of merges that lead to merges. Python's recursion limit allows more.
const MERGE_DEPTH_MAX: usize = 300;

/// Most keys `=` that a text may be behind. Python's recursion limit allows about this many.
const DEFAULT_DEPTH_MAX: usize = 980;

/// The value of the first node.
pub(super) fn construct(nodes: Vec<Node>) -> Result<Value, YamlError> {
    if nodes.is_empty() {
        return Ok(Value::None);
    }
    let made = nodes.iter().map(|_| None).collect();
    let mut constructor = Constructor { nodes, made, waiting: VecDeque::new(), merged: 0 };
    constructor.make(0)?;
    while let Some(id) = constructor.waiting.pop_front() {
        constructor.fill(id)?;
    }
    Writer { made: &constructor.made, frames: Vec::new(), open: HashSet::new(), size: 0 }.value(0)
}

/// Value made of a node: the members of collections are other nodes.
#[derive(Debug)]
enum Made {
    /// A value that holds no others.
    Leaf(Value),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Set(Vec<Id>),
    Pairs(Vec<(Id, Id)>),
}

impl Made {
    /// Kind of collection that stands for it inside itself.
    const fn kind(&self) -> Collection {
        match self {
            Self::Dict(_) => Collection::Dict,
            Self::Set(_) => Collection::Set,
            Self::Leaf(_) | Self::List(_) | Self::Pairs(_) => Collection::List,
        }
    }
}

struct Constructor {
    nodes: Vec<Node>,
    made: Vec<Option<Made>>,
    /// Collections that are still empty, in the order of their making.
    waiting: VecDeque<Id>,
    /// Number of entries that merges have added.
    merged: usize,
}

impl Constructor {
    fn node(&self, id: Id) -> Result<&Node, YamlError> {
        self.nodes.get(id).ok_or(YamlError::TooLarge)
    }

    fn error<T>(&self, id: Id, problem: &'static str) -> Result<T, YamlError> {
        Err(self.node(id)?.place.error(problem))
    }

    /// Makes the node's value, a collection without its members.
    fn make(&mut self, id: Id) -> Result<(), YamlError> {
        if self.made.get(id).is_none_or(Option::is_some) {
            return Ok(());
        }
        let tag = self.node(id)?.tag;
        let made = match tag {
            Tag::Seq => Made::List(Vec::new()),
            Tag::Map => Made::Dict(Vec::new()),
            Tag::Set => Made::Set(Vec::new()),
            Tag::Omap | Tag::Pairs => Made::Pairs(Vec::new()),
            Tag::Merge | Tag::Value | Tag::Unknown => return self.error(id, "a type of which no value can be made"),
            Tag::Null | Tag::Bool | Tag::Int | Tag::Float | Tag::Binary | Tag::Timestamp | Tag::Str => {
                Made::Leaf(self.leaf(id, tag)?)
            }
        };
        if !matches!(made, Made::Leaf(_)) {
            self.waiting.push_back(id);
        }
        if let Some(place) = self.made.get_mut(id) {
            *place = Some(made);
        }
        Ok(())
    }

    fn leaf(&self, id: Id, tag: Tag) -> Result<Value, YamlError> {
        let text = self.text(id)?;
        Ok(match tag {
            Tag::Null => Value::None,
            Tag::Bool => Value::Bool(boolean(text)?),
            Tag::Int => Value::Int(number::int(text)?),
            Tag::Float => Value::Float(number::float(text)?),
            Tag::Binary => match binary(text) {
                Some(bytes) => Value::Bytes(bytes),
                None => return self.error(id, "no base 64"),
            },
            Tag::Timestamp => match timestamp(text)? {
                Timestamp::Date(date) => Value::Date(date),
                Timestamp::DateTime(moment) => Value::DateTime(moment),
            },
            _ => Value::Str(text.to_owned()),
        })
    }

    /// The text of a scalar, or of the value of the key `=` of a mapping.
    fn text(&self, id: Id) -> Result<&str, YamlError> {
        let mut id = id;
        for _ in 0..DEFAULT_DEPTH_MAX {
            let entries = match &self.node(id)?.content {
                Content::Scalar(text) => return Ok(text),
                Content::Mapping(entries) => entries,
                Content::Sequence(_) => return self.error(id, "a sequence where a text should be"),
            };
            let is_default = |(key, _): &&(Id, Id)| self.nodes.get(*key).is_some_and(|key| key.tag == Tag::Value);
            match entries.iter().find(is_default) {
                Some((_, value)) => id = *value,
                None => return self.error(id, "a mapping where a text should be"),
            }
        }
        Err(YamlError::Exception { kind: "RecursionError" })
    }

    /// Makes the members of a collection.
    fn fill(&mut self, id: Id) -> Result<(), YamlError> {
        let filled = match self.node(id)?.tag {
            Tag::Seq => {
                let Content::Sequence(members) = &self.node(id)?.content else {
                    return self.error(id, "no sequence");
                };
                let members = members.clone();
                for member in &members {
                    self.make(*member)?;
                }
                Made::List(members)
            }
            Tag::Map => Made::Dict(self.entries(id)?),
            Tag::Set => Made::Set(self.entries(id)?.into_iter().map(|(key, _)| key).collect()),
            _ => Made::Pairs(self.pairs(id)?),
        };
        if let Some(place) = self.made.get_mut(id) {
            *place = Some(filled);
        }
        Ok(())
    }

    /// The entries of a mapping, those of merged ones first.
    fn entries(&mut self, id: Id) -> Result<Vec<(Id, Id)>, YamlError> {
        if matches!(self.node(id)?.content, Content::Mapping(_)) {
            self.merge(id, 0)?;
        }
        let Content::Mapping(entries) = &self.node(id)?.content else { return self.error(id, "no mapping") };
        let entries = entries.clone();
        for (key, value) in &entries {
            self.make(*key)?;
            if !matches!(self.made.get(*key), Some(Some(Made::Leaf(_)))) {
                return self.error(*key, "a key that has no hash");
            }
            self.make(*value)?;
        }
        Ok(entries)
    }

    /// Puts the entries that a mapping's `<<` names before its own. It stays so, also for others that merge this one.
    fn merge(&mut self, id: Id, depth: usize) -> Result<(), YamlError> {
        if depth > MERGE_DEPTH_MAX {
            return Err(YamlError::TooLarge);
        }
        let mut merged: Vec<(Id, Id)> = Vec::new();
        let mut at = 0;
        while let Some((key, value)) = self.mapping(id).get(at).copied() {
            match self.node(key)?.tag {
                Tag::Merge => {
                    if let Some(Node { content: Content::Mapping(entries), .. }) = self.nodes.get_mut(id) {
                        entries.remove(at);
                    }
                    merged.extend(self.merged_entries(value, depth)?);
                }
                Tag::Value => {
                    if let Some(key) = self.nodes.get_mut(key) {
                        key.tag = Tag::Str;
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        if !merged.is_empty()
            && let Some(Node { content: Content::Mapping(entries), .. }) = self.nodes.get_mut(id)
        {
            entries.splice(0..0, merged);
        }
        Ok(())
    }

    fn mapping(&self, id: Id) -> &[(Id, Id)] {
        match self.nodes.get(id).map(|node| &node.content) {
            Some(Content::Mapping(entries)) => entries,
            _ => &[],
        }
    }

    /// The entries of the mapping, or of the mappings, that a `<<` names; of several, the first comes last and wins.
    fn merged_entries(&mut self, id: Id, depth: usize) -> Result<Vec<(Id, Id)>, YamlError> {
        let parts = match &self.node(id)?.content {
            Content::Mapping(_) => vec![id],
            Content::Sequence(parts) => parts.clone(),
            Content::Scalar(_) => return self.error(id, "nothing that can be merged"),
        };
        let mut collected = Vec::new();
        for part in parts {
            if !matches!(self.node(part)?.content, Content::Mapping(_)) {
                return self.error(part, "no mapping to merge");
            }
            self.merge(part, depth + 1)?;
            self.merged += self.mapping(part).len();
            if self.merged > MERGED_MAX {
                return Err(YamlError::TooLarge);
            }
            collected.push(self.mapping(part).to_vec());
        }
        Ok(collected.into_iter().rev().flatten().collect())
    }

    /// The members of `!!omap` and `!!pairs`: each a mapping of one entry.
    fn pairs(&mut self, id: Id) -> Result<Vec<(Id, Id)>, YamlError> {
        let Content::Sequence(members) = &self.node(id)?.content else { return self.error(id, "no sequence") };
        let mut pairs = Vec::new();
        for member in members.clone() {
            let &[(key, value)] = self.mapping(member) else {
                return self.error(member, "no mapping of one entry");
            };
            self.make(key)?;
            self.make(value)?;
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}

/// Writes the values out: every alias becomes a copy. Without recursion: the stack may be small.
struct Writer<'a> {
    made: &'a [Option<Made>],
    /// The collections that the present value stands inside of, the innermost last.
    frames: Vec<Frame>,
    /// The same.
    open: HashSet<Id>,
    size: usize,
}

/// A collection being written.
struct Frame {
    id: Id,
    /// The keys of a dict.
    keys: Vec<Value>,
    /// Members still to be written, the next one last; of pairs, both.
    members: Vec<Id>,
    written: Vec<Value>,
}

impl Writer<'_> {
    fn value(&mut self, root: Id) -> Result<Value, YamlError> {
        let mut written = self.begin(root)?;
        loop {
            let Some(frame) = self.frames.last_mut() else { return written.ok_or(YamlError::TooLarge) };
            frame.written.extend(written.take());
            written = match frame.members.pop() {
                Some(member) => self.begin(member)?,
                None => self.end(),
            };
        }
    }

    /// The value, unless it holds others.
    fn begin(&mut self, id: Id) -> Result<Option<Value>, YamlError> {
        let made = self.made.get(id).and_then(Option::as_ref).ok_or(YamlError::TooLarge)?;
        if let Made::Leaf(value) = made {
            return self.leaf(value).map(Some);
        }
        self.count(0)?;
        if !self.open.insert(id) {
            return Ok(Some(Value::Cycle(made.kind())));
        }
        if self.open.len() > DEPTH_MAX {
            return Err(YamlError::TooLarge);
        }
        let (keys, mut members) = match made {
            Made::List(members) => (Vec::new(), members.clone()),
            Made::Pairs(pairs) => (Vec::new(), pairs.iter().flat_map(|(key, value)| [*key, *value]).collect()),
            Made::Dict(entries) => self.entries(entries.iter().copied())?,
            Made::Set(members) => {
                let (members, _) = self.entries(members.iter().map(|member| (*member, *member)))?;
                self.open.remove(&id);
                return Ok(Some(Value::Set(members)));
            }
            Made::Leaf(_) => Default::default(),
        };
        members.reverse();
        self.frames.push(Frame { id, keys, written: Vec::with_capacity(members.len()), members });
        Ok(None)
    }

    /// The innermost collection, which is complete.
    fn end(&mut self) -> Option<Value> {
        let frame = self.frames.pop()?;
        self.open.remove(&frame.id);
        Some(match self.made.get(frame.id)?.as_ref()? {
            Made::Dict(_) => Value::Dict(frame.keys.into_iter().zip(frame.written).collect()),
            Made::Pairs(_) => {
                let (mut pairs, mut written) = (Vec::new(), frame.written.into_iter());
                while let (Some(key), Some(value)) = (written.next(), written.next()) {
                    pairs.push(Value::Pair(Box::new((key, value))));
                }
                Value::List(pairs)
            }
            _ => Value::List(frame.written),
        })
    }

    /// The keys, and the values as they are to be written: of entries with equal keys the first gives the key, the last the value.
    fn entries(&mut self, entries: impl Iterator<Item = (Id, Id)>) -> Result<(Vec<Value>, Vec<Id>), YamlError> {
        let mut positions: HashMap<HashKey, usize> = HashMap::new();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let Some(Some(Made::Leaf(key))) = self.made.get(key) else { continue };
            let key = self.leaf(key)?;
            let Some(hash) = key.hash_key() else { continue };
            match positions.get(&hash).and_then(|at| values.get_mut(*at)) {
                Some(old) => *old = value,
                None => {
                    positions.insert(hash, keys.len());
                    keys.push(key);
                    values.push(value);
                }
            }
        }
        Ok((keys, values))
    }

    fn leaf(&mut self, value: &Value) -> Result<Value, YamlError> {
        self.count(match value {
            Value::Str(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Int(int) => int.decimal().len(),
            _ => 0,
        })?;
        Ok(value.clone())
    }

    /// Counts a value and the bytes of its text.
    fn count(&mut self, bytes: usize) -> Result<(), YamlError> {
        self.size += 16 + bytes;
        if self.size > SIZE_MAX { Err(YamlError::TooLarge) } else { Ok(()) }
    }
}
