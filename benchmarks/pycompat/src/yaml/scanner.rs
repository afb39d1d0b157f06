//! From characters to tokens: which borders the indentation implies, and what turns out to be a key when its `:` comes.

use std::collections::{BTreeMap, VecDeque};

use super::YamlError;
use super::reader::{Place, Reader, is_blank_or_end};
use super::token::{Placed, Token};

/// Largest distance from the beginning of a key without `?` to its `:`, in characters.
const SIMPLE_KEY_MAX: usize = 1024;

/// A text being divided into tokens.
#[derive(Debug)]
pub(super) struct Scanner {
    /// The text.
    pub(super) reader: Reader,
    /// Number of open brackets and braces. Negative if more were closed than opened: the parser refuses them later.
    pub(super) flow_level: i64,
    /// The column of the innermost block, -1 outside of all.
    pub(super) indent: i64,
    /// The columns of the blocks around it.
    outer_indents: Vec<i64>,
    /// True if a key without `?` may begin here.
    pub(super) simple_key_allowed: bool,
    /// Beginnings of texts that may yet become a key, by flow level.
    possible_keys: BTreeMap<i64, PossibleKey>,
    tokens: VecDeque<Placed>,
    /// Number of tokens that were taken.
    taken: usize,
    done: bool,
}

/// A token that becomes a key if a `:` follows.
#[derive(Debug)]
struct PossibleKey {
    /// The number of its first token in the text.
    token: usize,
    /// It stands where a block mapping goes on, so it must become a key.
    required: bool,
    place: Place,
}

impl Scanner {
    /// A scanner at the beginning of the text.
    pub(super) fn new(text: &str) -> Result<Self, YamlError> {
        Ok(Self {
            reader: Reader::new(text)?,
            flow_level: 0,
            indent: -1,
            outer_indents: Vec::new(),
            simple_key_allowed: true,
            possible_keys: BTreeMap::new(),
            tokens: VecDeque::new(),
            taken: 0,
            done: false,
        })
    }

    /// The next token, which stays; the last one stays for ever.
    pub(super) fn peek(&mut self) -> Result<&Token, YamlError> {
        self.fill()?;
        Ok(self.tokens.front().map_or(&Token::StreamEnd, |placed| &placed.token))
    }

    /// The next token, which is taken.
    pub(super) fn take(&mut self) -> Result<Placed, YamlError> {
        self.fill()?;
        let end = Placed { token: Token::StreamEnd, place: self.reader.place() };
        let Some(placed) = self.tokens.pop_front() else { return Ok(end) };
        self.taken += 1;
        Ok(placed)
    }

    /// Position at which the next token begins.
    pub(super) fn place(&mut self) -> Result<Place, YamlError> {
        self.fill()?;
        Ok(self.tokens.front().map_or(self.reader.place(), |placed| placed.place))
    }

    /// Reads on until it is certain what the next token is.
    fn fill(&mut self) -> Result<(), YamlError> {
        while !self.done {
            if !self.tokens.is_empty() {
                self.forget_stale_keys()?;
                if self.possible_keys.values().all(|key| key.token != self.taken) {
                    break;
                }
            }
            self.fetch()?;
        }
        Ok(())
    }

    fn in_flow(&self) -> bool {
        self.flow_level != 0
    }

    pub(super) fn column(&self) -> i64 {
        i64::try_from(self.reader.place().column).unwrap_or(i64::MAX)
    }

    pub(super) fn error<T>(&self, problem: &'static str) -> Result<T, YamlError> {
        Err(self.reader.place().error(problem))
    }

    fn push(&mut self, token: Token, place: Place) {
        self.tokens.push_back(Placed { token, place });
    }

    /// Passes so many characters, which are the token.
    fn push_mark(&mut self, token: Token, characters: usize) {
        self.push(token, self.reader.place());
        self.reader.advance(characters);
    }

    fn fetch(&mut self) -> Result<(), YamlError> {
        self.skip_to_token();
        self.forget_stale_keys()?;
        self.close_blocks(self.column());
        let place = self.reader.place();
        let followed = is_blank_or_end(self.reader.ahead(1));
        let marked = place.column == 0;
        match self.reader.next() {
            '\0' => self.fetch_end(),
            '%' if marked => self.fetch_directive(),
            '-' if marked && self.reader.at_mark('-') => self.fetch_document_mark(Token::DocumentStart),
            '.' if marked && self.reader.at_mark('.') => self.fetch_document_mark(Token::DocumentEnd),
            '[' => self.fetch_flow_start(Token::FlowSequenceStart),
            '{' => self.fetch_flow_start(Token::FlowMappingStart),
            ']' => self.fetch_flow_end(Token::FlowSequenceEnd),
            '}' => self.fetch_flow_end(Token::FlowMappingEnd),
            ',' => self.fetch_flow_entry(),
            '-' if followed => self.fetch_block_entry(),
            '?' if followed || self.in_flow() => self.fetch_key(),
            ':' if followed || self.in_flow() => self.fetch_value(),
            '*' => self.fetch_inline(|scanner| scanner.name().map(Token::Alias)),
            '&' => self.fetch_inline(|scanner| scanner.name().map(Token::Anchor)),
            '!' => self.fetch_inline(|scanner| scanner.tag().map(Token::Tag)),
            '|' if !self.in_flow() => self.fetch_block_scalar(false),
            '>' if !self.in_flow() => self.fetch_block_scalar(true),
            '\'' => self.fetch_scalar(false, |scanner| scanner.quoted(false)),
            '"' => self.fetch_scalar(false, |scanner| scanner.quoted(true)),
            '-' | '?' | ':' => self.fetch_scalar(true, Self::plain),
            '#' | '|' | '>' | '@' | '`' | '%' | '\t' => self.error("a character that begins nothing"),
            _ => self.fetch_scalar(true, Self::plain),
        }
    }

    /// Passes spaces (tabs are none), comments and ends of lines.
    fn skip_to_token(&mut self) {
        if self.reader.place().index == 0 && self.reader.next() == '\u{feff}' {
            self.reader.advance(1);
        }
        loop {
            self.reader.skip_spaces();
            if self.reader.next() == '#' {
                self.reader.skip_line();
            }
            if self.reader.take_break().is_none() {
                return;
            }
            if !self.in_flow() {
                self.simple_key_allowed = true;
            }
        }
    }

    /// A key without `?` stands on one line and is short.
    fn forget_stale_keys(&mut self) -> Result<(), YamlError> {
        let now = self.reader.place();
        let stale = |key: &PossibleKey| key.place.line != now.line || now.index - key.place.index > SIMPLE_KEY_MAX;
        if self.possible_keys.values().any(|key| key.required && stale(key)) {
            return self.error("no ':' after a key");
        }
        self.possible_keys.retain(|_, key| !stale(key));
        Ok(())
    }

    /// Notes that the next token may become a key. An error if one that had to become a key has not.
    fn remember_key(&mut self) -> Result<(), YamlError> {
        if self.simple_key_allowed {
            self.forget_key()?;
            let required = !self.in_flow() && self.indent == self.column();
            let key = PossibleKey { token: self.taken + self.tokens.len(), required, place: self.reader.place() };
            self.possible_keys.insert(self.flow_level, key);
        }
        Ok(())
    }

    /// Forgets the possible key of the present flow level. An error if it had to become one.
    fn forget_key(&mut self) -> Result<(), YamlError> {
        if self.possible_keys.remove(&self.flow_level).is_some_and(|key| key.required) {
            return self.error("no ':' after a key");
        }
        Ok(())
    }

    /// Ends the blocks that are further to the right.
    fn close_blocks(&mut self, column: i64) {
        while !self.in_flow() && self.indent > column {
            self.push(Token::BlockEnd, self.reader.place());
            self.indent = self.outer_indents.pop().unwrap_or(-1);
        }
    }

    /// Begins a block at this column and returns true, unless the present block is as far to the right.
    fn open_block(&mut self, column: i64) -> bool {
        let opens = self.indent < column;
        if opens {
            self.outer_indents.push(self.indent);
            self.indent = column;
        }
        opens
    }

    fn fetch_end(&mut self) -> Result<(), YamlError> {
        self.close_blocks(-1);
        self.forget_key()?;
        self.possible_keys.clear();
        self.push(Token::StreamEnd, self.reader.place());
        self.done = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), YamlError> {
        self.close_blocks(-1);
        self.forget_key()?;
        self.simple_key_allowed = false;
        let place = self.reader.place();
        let directive = self.directive()?;
        self.push(Token::Directive(directive), place);
        Ok(())
    }

    fn fetch_document_mark(&mut self, mark: Token) -> Result<(), YamlError> {
        self.close_blocks(-1);
        self.forget_key()?;
        self.simple_key_allowed = false;
        self.push_mark(mark, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, start: Token) -> Result<(), YamlError> {
        self.remember_key()?;
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.push_mark(start, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, end: Token) -> Result<(), YamlError> {
        self.forget_key()?;
        self.flow_level -= 1;
        self.simple_key_allowed = false;
        self.push_mark(end, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), YamlError> {
        self.simple_key_allowed = true;
        self.forget_key()?;
        self.push_mark(Token::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), YamlError> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return self.error("no sequence may begin here");
            }
            if self.open_block(self.column()) {
                self.push(Token::BlockSequenceStart, self.reader.place());
            }
        }
        self.simple_key_allowed = true;
        self.forget_key()?;
        self.push_mark(Token::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), YamlError> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return self.error("no key may begin here");
            }
            if self.open_block(self.column()) {
                self.push(Token::BlockMappingStart, self.reader.place());
            }
        }
        self.simple_key_allowed = !self.in_flow();
        self.forget_key()?;
        self.push_mark(Token::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), YamlError> {
        if let Some(key) = self.possible_keys.remove(&self.flow_level) {
            let position = key.token.saturating_sub(self.taken).min(self.tokens.len());
            self.tokens.insert(position, Placed { token: Token::Key, place: key.place });
            let column = i64::try_from(key.place.column).unwrap_or(i64::MAX);
            if !self.in_flow() && self.open_block(column) {
                self.tokens.insert(position, Placed { token: Token::BlockMappingStart, place: key.place });
            }
            self.simple_key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.simple_key_allowed {
                    return self.error("no value may begin here");
                }
                if self.open_block(self.column()) {
                    self.push(Token::BlockMappingStart, self.reader.place());
                }
            }
            self.simple_key_allowed = !self.in_flow();
            self.forget_key()?;
        }
        self.push_mark(Token::Value, 1);
        Ok(())
    }

    /// Scans a token that may become a key, or a part of one.
    fn fetch_inline(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token, YamlError>) -> Result<(), YamlError> {
        self.remember_key()?;
        self.simple_key_allowed = false;
        let place = self.reader.place();
        let token = scan(self)?;
        self.push(token, place);
        Ok(())
    }

    fn fetch_scalar(
        &mut self,
        plain: bool,
        scan: impl FnOnce(&mut Self) -> Result<String, YamlError>,
    ) -> Result<(), YamlError> {
        self.fetch_inline(|scanner| scan(scanner).map(|text| Token::Scalar { text, plain }))
    }

    fn fetch_block_scalar(&mut self, folded: bool) -> Result<(), YamlError> {
        self.simple_key_allowed = true;
        self.forget_key()?;
        let place = self.reader.place();
        let text = self.block(folded)?;
        self.push(Token::Scalar { text, plain: false }, place);
        Ok(())
    }
}
