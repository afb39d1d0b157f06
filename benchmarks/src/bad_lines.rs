//! Lines of a file of predictions that cannot be scored. All of them are found before the file is refused, so that nobody corrects a file line by
//! line.

use std::fmt::Write as _;

use regatta_proto::counted;

use crate::DataError;
use crate::source_location::SourceLocation;

/// Lines of each kind that a message names; it counts all.
const NAMED: usize = 5;

/// Reason why a line cannot be scored.
#[derive(Debug)]
pub enum BadLine {
    /// It is of no item of the data set.
    Unknown(DataError),
    /// It is of an item that an earlier line is of.
    Repeated(DataError),
    /// It cannot be read.
    Unreadable(DataError),
}

impl From<DataError> for BadLine {
    fn from(error: DataError) -> Self {
        Self::Unreadable(error)
    }
}

/// Bad lines of one file.
#[derive(Debug, Default)]
pub struct BadLines {
    unknown: Few,
    repeated: Few,
    unreadable: Few,
}

/// Lines of one kind: how many, and the first ones.
#[derive(Debug, Default)]
struct Few {
    count: usize,
    first: Vec<DataError>,
}

impl Few {
    fn add(&mut self, error: DataError) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(error);
        }
    }
}

impl BadLines {
    /// The content of `line`, unless it is a bad one, which is noted.
    pub fn keep<T>(&mut self, line: Result<T, BadLine>) -> Option<T> {
        match line {
            Ok(content) => return Some(content),
            Err(BadLine::Unknown(error)) => self.unknown.add(error),
            Err(BadLine::Repeated(error)) => self.repeated.add(error),
            Err(BadLine::Unreadable(error)) => self.unreadable.add(error),
        }
        None
    }

    /// Refuses `file` if a line of it was bad.
    ///
    /// # Errors
    /// With the one bad line, or with the number of each kind and the first lines of it.
    pub fn refuse(mut self, file: &SourceLocation<'_>) -> Result<(), DataError> {
        let count = self.unknown.count + self.repeated.count + self.unreadable.count;
        if count <= 1 {
            let only = [&mut self.unknown, &mut self.repeated, &mut self.unreadable];
            return only.into_iter().find_map(|few| few.first.pop()).map_or(Ok(()), Err);
        }
        let mut problem = format!("{count} lines cannot be scored, so none is");
        for (few, one, many) in [
            (&self.unknown, "line is of no item of the data set", "lines are of no item of the data set"),
            (
                &self.repeated,
                "line is of an item that was predicted before",
                "lines are of items that were predicted before",
            ),
            (&self.unreadable, "line cannot be read", "lines cannot be read"),
        ] {
            if few.count == 0 {
                continue;
            }
            // Writing to a String cannot fail.
            let _ = write!(problem, "\n  {}:", counted(few.count as u64, one, many));
            for error in &few.first {
                let _ = write!(problem, "\n    {}", error.without_file());
            }
            if few.count > few.first.len() {
                let _ = write!(problem, "\n    … and {} more", few.count - few.first.len());
            }
        }
        Err(file.bad_lines(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> SourceLocation<'static> {
        SourceLocation::file("predictions", "p.jsonl")
    }

    #[test]
    fn a_file_without_a_bad_line_is_taken() {
        let mut bad = BadLines::default();
        assert_eq!(bad.keep(Ok(7)), Some(7));
        assert_eq!(bad.refuse(&file()), Ok(()));
    }

    #[test]
    fn one_bad_line_is_the_error_itself() {
        let mut bad = BadLines::default();
        assert_eq!(bad.keep::<()>(Err(BadLine::Repeated(file().line(1).problem("was there")))), None);
        assert_eq!(bad.refuse(&file()).unwrap_err().to_string(), "predictions: p.jsonl, line 2: was there");
    }

    #[test]
    fn all_bad_lines_are_counted_by_kind_and_the_first_five_of_each_named() {
        let mut bad = BadLines::default();
        for line in 0..7 {
            bad.keep::<()>(Err(BadLine::Unknown(file().line(line).error("item", "none such"))));
        }
        bad.keep::<()>(Err(BadLine::Repeated(file().line(7).error("item", "was there"))));
        bad.keep::<()>(Err(file().line(8).problem("not valid JSON").into()));
        assert_eq!(
            bad.refuse(&file()).unwrap_err().to_string(),
            "predictions: p.jsonl: 9 lines cannot be scored, so none is\n  7 lines are of no item of the data set:\n    \
             line 1, field item: none such\n    line 2, field item: none such\n    line 3, field item: none such\n    \
             line 4, field item: none such\n    line 5, field item: none such\n    … and 2 more\n  \
             1 line is of an item that was predicted before:\n    line 8, field item: was there\n  \
             1 line cannot be read:\n    line 9: not valid JSON"
        );
    }
}
