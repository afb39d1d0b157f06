//! A container's log, which is the agent's standard output.

use super::api::{Api, Refusal, explained};
use crate::external::pipes::Head;

/// Bytes asked for beyond those that are kept, by which too much is noticed: the API may return somewhat more or less than it is asked for.
const MARGIN: usize = 16 << 10;

/// Output of an agent, as far as it was read.
pub(super) struct Output {
    pub(super) head: Head,
    bytes_max: usize,
    /// Bytes of the log that were read.
    pub(super) read: usize,
}

/// Position up to which a log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// To the end that it has for now.
    ToItsEnd,
    /// There is more of it than is kept.
    TooMuch,
    /// The connection broke, for this reason.
    Broken(String),
}

impl Output {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { head: Head::new(bytes_max), bytes_max, read: 0 }
    }

    /// Reads what was not read before; with `follow`, until the container ends. A log is only added to, so that one is begun anew after a
    /// connection broke.
    pub(super) async fn read(&mut self, api: &Api, container: (&str, &str), follow: bool) -> Result<Reading, Refusal> {
        let mut response = api.log(container, self.bytes_max.saturating_add(MARGIN), follow).await?;
        let mut known = self.read;
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => {
                    let new = bytes.get(known..).unwrap_or_default();
                    known = known.saturating_sub(bytes.len());
                    self.read += new.len();
                    if !self.head.take(new) {
                        return Ok(Reading::TooMuch);
                    }
                }
                Ok(None) => return Ok(Reading::ToItsEnd),
                Err(error) => return Ok(Reading::Broken(explained(&error))),
            }
        }
    }
}
