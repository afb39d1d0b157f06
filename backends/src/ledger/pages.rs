//! Pages of lists that grow. The place where a page ends is a value of the last row itself, so that the next page begins there whatever was
//! added or deleted meanwhile.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use regatta_proto::SweepId;

use super::{SweepRow, TokenRow};

/// Last row of a page of a list in the order of creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMark {
    /// Time at which the row was created.
    pub created_at: Timestamp,
    /// Id of the row, which orders rows of the same time.
    pub id: String,
}

/// A text that is no [`PageMark`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a page mark of this API; follow the link that came with the page before")]
pub struct PageMarkError(String);

impl fmt::Display for PageMark {
    /// `NANOSECONDS.ID`, in characters that mean nothing in an address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at.as_nanosecond(), self.id)
    }
}

impl FromStr for PageMark {
    type Err = PageMarkError;
    fn from_str(text: &str) -> Result<Self, PageMarkError> {
        let mark = || {
            let (nanoseconds, id) = text.split_once('.')?;
            // Only what a row can hold: what databases refuse would look like their failure.
            let nanoseconds: i64 = nanoseconds.parse().ok()?;
            let created_at = Timestamp::from_nanosecond(nanoseconds.into()).ok()?;
            // Ids of tokens have the characters of those of sweeps.
            let id: SweepId = id.parse().ok()?;
            Some(Self { created_at, id: id.to_string() })
        };
        mark().ok_or_else(|| PageMarkError(text.to_owned()))
    }
}

impl From<&SweepRow> for PageMark {
    fn from(row: &SweepRow) -> Self {
        Self { created_at: row.created_at, id: row.id.to_string() }
    }
}

impl From<&TokenRow> for PageMark {
    fn from(row: &TokenRow) -> Self {
        Self { created_at: row.created_at, id: row.id.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_page_is_read_as_it_is_written() {
        let mark = PageMark { created_at: "2026-01-02T03:04:05.000000006Z".parse().unwrap(), id: "a.b-c_1".to_owned() };
        assert_eq!(mark.to_string(), "1767323045000000006.a.b-c_1");
        assert_eq!(mark.to_string().parse(), Ok(mark));
        let long = format!("1.{}", "x".repeat(201));
        let beyond_a_column = "99999999999999999999.a";
        for bad in ["", "x", "1", ".a", "1.", "1e3.a", beyond_a_column, "1.a/b", "1.a\0", "1..", long.as_str()] {
            assert!(bad.parse::<PageMark>().unwrap_err().to_string().contains("follow the link"), "{bad}");
        }
    }
}
