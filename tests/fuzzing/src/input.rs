//! Inputs taken apart.

use std::borrow::Cow;

/// Separates the texts of an input that has several: ASCII's record separator, which no format here uses.
const RECORD: u8 = 0x1e;

/// An input of which a part has been taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// Takes the next byte; 0 at the end.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Takes a byte that chooses one of `choices`, which must not be empty.
    pub(crate) fn choose<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[usize::from(self.byte()) % choices.len()]
    }

    /// The rest as a text; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// The rest as records.
    pub(crate) fn records(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == RECORD)
    }

    /// The rest as texts.
    pub(crate) fn texts(self) -> impl Iterator<Item = Cow<'a, str>> {
        self.records().map(String::from_utf8_lossy)
    }

    /// The rest as two parts.
    pub(crate) fn halves(self) -> (&'a [u8], &'a [u8]) {
        let mut parts = self.0.splitn(2, |byte| *byte == RECORD);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }
}
