//! The csv files (docs/benchmarks/autoslurp.md §2.2, §2.3).

use std::collections::{BTreeMap, HashSet};

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::FileSet;

use super::setting::Dataset;

/// Longest field accepted, in bytes; the longest of the published data has some 300.
const FIELD_BYTES_MAX: usize = 16 << 10;
/// Columns that are read; some files have two more, one has one.
const COLUMNS: [&str; 4] = ["id", "query", "intent", "slots"];

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// Column `id`.
    pub(crate) iid: String,
    /// Column `text`: the request as the person says it.
    pub(crate) text: String,
    /// The gold intent; several are joined by `,` or `;`.
    pub(crate) intent: String,
    /// The gold slots as they stand in the file: mostly, but not always, a Python list of texts.
    pub(crate) slots: String,
    /// The domain; empty where the file has none, and in one row of the 1k set.
    pub(crate) domain: String,
}

impl Utterance {
    /// `true` if other people's services are needed for it (docs/benchmarks/autoslurp.md §1).
    pub(crate) fn is_external(&self) -> bool {
        is_external(&self.intent)
    }
}

/// The official test for intents of other people's services, on any text (docs/benchmarks/autoslurp.md §1).
pub(crate) fn is_external(text: &str) -> bool {
    const WORDS: [&str; 6] = ["weather", "news_query", "qa", "stock", "general", "currency"];
    WORDS.iter().any(|word| text.contains(word))
}

/// The files that there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    datasets: BTreeMap<Dataset, Vec<Utterance>>,
}

impl Data {
    /// The rows of a file, if it is there.
    pub(crate) fn rows(&self, dataset: Dataset) -> Option<&[Utterance]> {
        self.datasets.get(&dataset).map(Vec::as_slice)
    }

    /// Every row with its file and its number there, counted from 0.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Dataset, u32, &Utterance)> {
        self.datasets
            .iter()
            .flat_map(|(dataset, rows)| (0..).zip(rows).map(|(row, utterance)| (*dataset, row, utterance)))
    }
}

/// True if the file at `path` belongs to the data set.
pub(crate) fn wants(path: &str) -> bool {
    Dataset::at(path).is_some()
}

/// Reads the files that are there; one is enough.
///
/// # Errors
/// With file, line and field of what cannot be read, or when there is no file at all.
pub(crate) fn load(files: &FileSet) -> Result<Data, DataError> {
    let mut data = Data::default();
    for dataset in Dataset::ALL {
        if let Some(content) = files.get(dataset.path()) {
            let place = SourceLocation::file(files.origin(), dataset.path());
            data.datasets.insert(dataset, read(&place, content)?);
        }
    }
    if data.datasets.is_empty() {
        return Err(DataError::MissingFile {
            origin: files.origin().to_owned(),
            path: Dataset::Test.path().to_owned(),
            hint: "give the directory of the official repository, which holds data/ and data_5k/".to_owned(),
        });
    }
    Ok(data)
}

fn read(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<Utterance>, DataError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content);
    let mut records = reader.byte_records();
    let header = records.next().ok_or_else(|| file.problem("is empty; its first line names the columns"))?;
    let header = header.map_err(|error| file.problem(error))?;
    for (position, wanted) in COLUMNS.into_iter().enumerate() {
        let found = header.get(position).map(String::from_utf8_lossy);
        // The training set calls it so.
        let is_it = found.as_deref() == Some(wanted) || (wanted == "query" && found.as_deref() == Some("sentence"));
        if !is_it {
            let found = found.map_or_else(|| "missing".to_owned(), |found| format!("{found:?}"));
            return Err(file.line(0).error(wanted, format!("column {} must be called so, is {found}", position + 1)));
        }
    }
    let domain = header.iter().position(|name| name == b"domain");
    let mut rows = Vec::new();
    let mut ids = HashSet::new();
    for record in records {
        let record = record.map_err(|error| file.problem(error))?;
        let start = record.position().map_or(0, csv::Position::byte);
        let line = || file.line(line_of(content, start));
        if record.len() != header.len() {
            let problem = format!("has {} fields, the header has {}", record.len(), header.len());
            return Err(line().problem(problem));
        }
        let field = |position: usize, name: &str| {
            let bytes = record.get(position).unwrap_or_default();
            if bytes.len() > FIELD_BYTES_MAX {
                return Err(
                    line().error(name, format!("is longer than {FIELD_BYTES_MAX} bytes; is a quote not closed?"))
                );
            }
            let text = std::str::from_utf8(bytes).map_err(|_| line().error(name, "is not UTF-8"))?;
            match text.contains(['\n', '\r']) {
                true => Err(line().error(name, "spans several lines; is a quote not closed?")),
                false => Ok(text.to_owned()),
            }
        };
        let utterance = Utterance {
            iid: field(0, "id")?,
            text: field(1, "query")?,
            intent: field(2, "intent")?,
            slots: field(3, "slots")?,
            domain: domain.map_or_else(|| Ok(String::new()), |position| field(position, "domain"))?,
        };
        if utterance.iid.is_empty() || !utterance.iid.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(line().error("id", format!("must be digits, is {:?}", utterance.iid)));
        }
        if !ids.insert(utterance.iid.clone()) {
            return Err(line().error("id", format!("{} is the id of an earlier line, too", utterance.iid)));
        }
        for (name, text) in [("query", &utterance.text), ("intent", &utterance.intent)] {
            if text.trim().is_empty() {
                return Err(line().error(name, "is empty"));
            }
        }
        rows.push(utterance);
    }
    Ok(rows)
}

/// The line, counted from 0, of the record that begins at byte `start`. The reader's own count is one short where lines end in CR LF, since
/// it takes the LF for the beginning of the next record.
fn line_of(content: &[u8], start: u64) -> usize {
    let start = usize::try_from(start).unwrap_or(usize::MAX).min(content.len());
    let (before, rest) = content.split_at(start);
    before.iter().chain(rest.first()).filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, content: &[u8]) -> FileSet {
        let mut files = FileSet::from_origin("here");
        files.insert(path, content.to_vec());
        files
    }

    fn files(test: &str) -> FileSet {
        of("data/test.csv", test.as_bytes())
    }

    fn problem(test: &str) -> String {
        load(&files(test)).unwrap_err().to_string()
    }

    #[test]
    fn quotes_are_doubled_inside_quotes_and_lines_end_as_on_windows() {
        let text =
            "id,query,intent,slots,domain,action\r\n7,say it,qa_factoid,\"[\"\"content:it's\"\"]\",qa,factoid\r\n";
        let data = load(&files(text)).unwrap();
        let row = &data.rows(Dataset::Test).unwrap()[0];
        assert_eq!((row.slots.as_str(), row.domain.as_str()), ("[\"content:it's\"]", "qa"));
        assert!(row.is_external() && data.rows(Dataset::Train).is_none());
    }

    #[test]
    fn the_training_set_has_other_names_and_no_domain() {
        let data = load(&files("id,sentence,intent,slots,action\r\n7,hi,general_greet,[],greet\r\n")).unwrap();
        assert_eq!(data.rows(Dataset::Test).unwrap()[0].domain, "");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_line_and_field() {
        const HEAD: &str = "id,query,intent,slots,domain,action\r\n";
        insta::assert_snapshot!(
            [
                problem(""),
                problem("id,text,intent,slots\r\n"),
                problem(&format!("{HEAD}1,a,b,[],c\r\n")),
                problem(&format!("{HEAD}1,a,b,[],c,d\r\nx,a,b,[],c,d\r\n")),
                problem(&format!("{HEAD}1,a,b,[],c,d\r\n1,a,b,[],c,d\r\n")),
                problem(&format!("{HEAD}1,,b,[],c,d\r\n")),
                problem(&format!("{HEAD}1,a,b,\"[],c,d\r\n2,a,b,[],c,d\r\n")),
                problem(&format!("{HEAD}1,a,b,\"[\r\n]\",c,d\r\n")),
                problem(&format!("{HEAD}1,a,b,{},c,d\r\n", "x".repeat(FIELD_BYTES_MAX + 1))),
            ]
            .join("\n")
        );
        let not_text = of("data/test.csv", b"id,query,intent,slots\r\n1,\xff,b,[]\r\n");
        assert_eq!(load(&not_text).unwrap_err().to_string(), "here: data/test.csv, line 2, field query: is not UTF-8");
    }

    #[test]
    fn without_any_file_it_says_what_to_give() {
        let none = FileSet::from_origin("here");
        assert!(load(&none).unwrap_err().to_string().contains("data/test.csv is missing"));
    }
}
