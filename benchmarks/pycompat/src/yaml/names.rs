//! Anchors, aliases, tags and directives.

use super::YamlError;
use super::reader::{is_blank_or_end, is_break_or_end, is_name, is_space_or_end};
use super::scanner::Scanner;
use super::token::{Directive, Tag};

/// Most digits that Python turns into an integer before it refuses.
const INT_DIGITS_MAX: usize = 4300;

impl Scanner {
    /// The name of an anchor or alias, after its sign.
    pub(super) fn name(&mut self) -> Result<String, YamlError> {
        self.reader.advance(1);
        let name = self.letters("a name is missing")?;
        if is_blank_or_end(self.reader.next()) || "?:,]}%@`".contains(self.reader.next()) {
            return Ok(name);
        }
        self.error("a name ends with a character that may not occur")
    }

    /// One letter, digit, `-` or `_` or more.
    fn letters(&mut self, missing: &'static str) -> Result<String, YamlError> {
        match self.reader.count(is_name) {
            0 => self.error(missing),
            count => Ok(self.reader.take(count)),
        }
    }

    /// A tag in any of its forms.
    pub(super) fn tag(&mut self) -> Result<Tag, YamlError> {
        let tag = match self.reader.ahead(1) {
            '<' => {
                self.reader.advance(2);
                let suffix = self.uri()?;
                if self.reader.next() != '>' {
                    return self.error("a tag has no '>'");
                }
                self.reader.advance(1);
                Tag { handle: None, suffix }
            }
            c if is_blank_or_end(c) => {
                self.reader.advance(1);
                Tag { handle: None, suffix: "!".to_owned() }
            }
            _ => {
                let mut ahead = 1;
                while !is_space_or_end(self.reader.ahead(ahead)) && self.reader.ahead(ahead) != '!' {
                    ahead += 1;
                }
                let handle = if self.reader.ahead(ahead) == '!' {
                    self.tag_handle()?
                } else {
                    self.reader.advance(1);
                    "!".to_owned()
                };
                Tag { handle: Some(handle), suffix: self.uri()? }
            }
        };
        if is_space_or_end(self.reader.next()) { Ok(tag) } else { self.error("no space after a tag") }
    }

    /// `!`, `!!` or `!name!`.
    fn tag_handle(&mut self) -> Result<String, YamlError> {
        if self.reader.next() != '!' {
            return self.error("no '!' where a tag should be");
        }
        if self.reader.ahead(1) == ' ' {
            return Ok(self.reader.take(1));
        }
        let mut length = 1;
        while is_name(self.reader.ahead(length)) {
            length += 1;
        }
        if self.reader.ahead(length) != '!' {
            self.reader.advance(length);
            return self.error("a tag's name has no '!' at its end");
        }
        Ok(self.reader.take(length + 1))
    }

    /// The characters of an address, its escapes resolved.
    fn uri(&mut self) -> Result<String, YamlError> {
        let mut uri = String::new();
        loop {
            let plain = self.reader.count(|c| is_name(c) || ";/?:@&=+$,_.!~*'()[]".contains(c));
            uri.push_str(&self.reader.take(plain));
            if self.reader.next() != '%' {
                break;
            }
            uri.push_str(&self.uri_escapes()?);
        }
        if uri.is_empty() { self.error("an address is missing") } else { Ok(uri) }
    }

    fn uri_escapes(&mut self) -> Result<String, YamlError> {
        let place = self.reader.place();
        let mut bytes = Vec::new();
        while self.reader.next() == '%' {
            self.reader.advance(1);
            let digits = (self.reader.ahead(0).to_digit(16), self.reader.ahead(1).to_digit(16));
            let (Some(high), Some(low)) = digits else { return self.error("no two hexadecimal digits after '%'") };
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            self.reader.advance(2);
        }
        String::from_utf8(bytes).map_err(|_| place.error("escapes that are no UTF-8"))
    }

    /// A directive with its line.
    pub(super) fn directive(&mut self) -> Result<Directive, YamlError> {
        self.reader.advance(1);
        let name = self.letters("a directive's name is missing")?;
        if !is_space_or_end(self.reader.next()) {
            return self.error("a directive's name ends with a character that may not occur");
        }
        let directive = match name.as_str() {
            "YAML" => Directive::Yaml(self.version()?),
            "TAG" => self.tag_directive()?,
            _ => {
                self.reader.skip_line();
                Directive::Other
            }
        };
        self.rest_of_line()?;
        Ok(directive)
    }

    /// Nothing but a comment may follow.
    pub(super) fn rest_of_line(&mut self) -> Result<(), YamlError> {
        self.reader.skip_spaces();
        if self.reader.next() == '#' {
            self.reader.skip_line();
        }
        if !is_break_or_end(self.reader.next()) {
            return self.error("neither a comment nor the end of the line");
        }
        self.reader.take_break();
        Ok(())
    }

    fn version(&mut self) -> Result<bool, YamlError> {
        self.reader.skip_spaces();
        let major = self.version_number()?;
        if self.reader.next() != '.' {
            return self.error("no '.' in a version");
        }
        self.reader.advance(1);
        self.version_number()?;
        if !is_space_or_end(self.reader.next()) {
            return self.error("a version ends with a character that may not occur");
        }
        Ok(major.trim_start_matches('0') == "1")
    }

    fn version_number(&mut self) -> Result<String, YamlError> {
        match self.reader.count(|c| c.is_ascii_digit()) {
            0 => self.error("no digit in a version"),
            1..=INT_DIGITS_MAX => {
                let count = self.reader.count(|c| c.is_ascii_digit());
                Ok(self.reader.take(count))
            }
            _ => Err(YamlError::Exception { kind: "ValueError" }),
        }
    }

    fn tag_directive(&mut self) -> Result<Directive, YamlError> {
        self.reader.skip_spaces();
        let handle = self.tag_handle()?;
        if self.reader.next() != ' ' {
            return self.error("no space after a tag's short form");
        }
        self.reader.skip_spaces();
        let prefix = self.uri()?;
        if !is_space_or_end(self.reader.next()) {
            return self.error("a tag's address ends with a character that may not occur");
        }
        Ok(Directive::Tag { handle, prefix })
    }
}
