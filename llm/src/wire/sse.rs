//! Decodes server-sent events from bytes. Source: the HTML standard, "Server-sent events". Beyond it, an event that the end of the stream
//! cuts off before its empty line is returned too, because some servers leave out that line.

use super::ServerEvent;

/// Decodes events from bytes. Lines end in LF, CR or CRLF, and chunks may be cut anywhere, even within a character.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Bytes received; those before `read` have been decoded.
    bytes: Vec<u8>,
    read: usize,
    /// Bytes after `read` without a line end, so that a long line is not searched again with every chunk.
    searched: usize,
    /// The previous line ended in CR, so an LF that follows belongs to it.
    after_cr: bool,
    is_begun: bool,
    name: String,
    data: String,
    has_data: bool,
    is_given: bool,
}

impl Events {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.read == self.bytes.len() {
            self.bytes.clear();
        } else {
            self.bytes.drain(..self.read);
        }
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that are kept of those received.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes.len() + self.name.len() + self.data.len()
    }

    /// The next complete event.
    pub(crate) fn next(&mut self) -> Option<ServerEvent<'_>> {
        self.begin();
        while let Some((start, end)) = self.line() {
            if self.field(start, end) {
                return self.give();
            }
        }
        None
    }

    /// The incomplete event at the end of the stream.
    pub(crate) fn last(&mut self) -> Option<ServerEvent<'_>> {
        self.begin();
        let (start, end) = (self.read, self.bytes.len());
        self.read = end;
        if start < end {
            self.field(start, end);
        }
        if self.has_data { self.give() } else { None }
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.is_given) {
            self.name.clear();
            self.data.clear();
            self.has_data = false;
        }
    }

    fn give(&mut self) -> Option<ServerEvent<'_>> {
        self.is_given = true;
        Some(ServerEvent { name: &self.name, data: &self.data })
    }

    /// Start and end of the next complete line.
    fn line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr && self.read < self.bytes.len() {
            self.after_cr = false;
            if self.bytes[self.read] == b'\n' {
                self.read += 1;
                self.searched = 0;
            }
        }
        let unread = self.bytes.get(self.read..).unwrap_or_default();
        let Some(found) = unread.iter().skip(self.searched).position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = unread.len();
            return None;
        };
        let (start, end) = (self.read, self.read + self.searched + found);
        self.after_cr = self.bytes[end] == b'\r';
        self.read = end + 1;
        self.searched = 0;
        Some((start, end))
    }

    /// Reads a line. Returns `true` at the end of an event.
    fn field(&mut self, start: usize, end: usize) -> bool {
        let mut line = &self.bytes[start..end];
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            if !self.has_data {
                self.name.clear();
            }
            return self.has_data;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(&value);
            }
            b"event" => value.as_ref().clone_into(&mut self.name),
            // Comments, ids and reconnection times have no effect on the answer.
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events of a stream that comes in `chunks`.
    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut events = Events::default();
        let mut read = Vec::new();
        let mut keep = |event: ServerEvent<'_>| read.push((event.name.to_owned(), event.data.to_owned()));
        for chunk in chunks {
            events.push(chunk);
            while let Some(event) = events.next() {
                keep(event);
            }
        }
        events.last().map(&mut keep);
        assert_eq!(events.last(), None);
        read
    }

    fn data(stream: &str) -> Vec<String> {
        read([stream.as_bytes()]).into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn lines_may_end_in_any_of_three_ways() {
        for end in ["\n", "\r", "\r\n"] {
            assert_eq!(data(&["data: a", "", "data:b", "data: c", "", ""].join(end)), ["a", "b\nc"], "{end:?}");
        }
    }

    #[test]
    fn comments_ids_and_unknown_fields_are_no_part_of_an_event() {
        assert_eq!(data(": ping\n\n:\n\nid: 7\nretry: 1\ndata: a\nother\n\n: ping\n\n"), ["a"]);
    }

    #[test]
    fn an_event_has_its_name_and_the_next_one_its_own() {
        let events = read([b"event: error\ndata: {}\n\ndata: 1\n\nevent: lost\n\ndata: 2\n\n".as_slice()]);
        assert_eq!(events, [("error", "{}"), ("", "1"), ("", "2")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn the_last_event_needs_no_empty_line() {
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
        assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    }

    #[test]
    fn a_byte_order_mark_and_broken_characters_do_no_harm() {
        assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(read([b"data: \xff\n\n".as_slice()])[0].1, "\u{fffd}");
    }

    #[test]
    fn an_empty_data_line_is_an_event_with_nothing_in_it() {
        assert_eq!(data("data\n\ndata: a\ndata\n\n"), ["", "a\n"]);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_a_stream_is_cut(
            stream in prop::collection::vec(prop::sample::select(vec![
                "data: é中", "data:", "event: x", ": ping", "\n", "\n\n", "\r", "\r\n", "\u{feff}", "x", "😀", "da",
            ]), 0..40).prop_map(|parts| parts.concat()),
            cuts in prop::collection::vec(1usize..9, 1..20),
        ) {
            let bytes = stream.as_bytes();
            let mut chunks = Vec::new();
            let (mut rest, mut cuts) = (bytes, cuts.iter().cycle());
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(read(chunks), read([bytes]));
        }
    }
}
