//! A table as CSV (RFC 4180, UTF-8).

use std::path::PathBuf;

use regatta_files::PrivateFile;

use super::{Column, Value};
use crate::error::ExportError;

/// A file that is written row by row.
pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<PrivateFile>,
}

impl CsvFile {
    pub(super) fn create(path: PathBuf, columns: &[Column]) -> Result<Self, ExportError> {
        let file = PrivateFile::create(&path).map_err(ExportError::write(&path))?;
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(columns.iter().map(|column| &column.name)).map_err(ExportError::write(&path))?;
        Ok(Self { path, writer })
    }

    pub(super) fn push(&mut self, row: &[Value]) -> Result<(), ExportError> {
        self.writer.write_record(row.iter().map(field)).map_err(ExportError::write(&self.path))
    }

    pub(super) fn finish(self) -> Result<PathBuf, ExportError> {
        let file = self.writer.into_inner().map_err(csv::IntoInnerError::into_error);
        file.and_then(PrivateFile::finish).map_err(ExportError::write(&self.path))?;
        Ok(self.path)
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => harmless(text),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Time(time) => time.to_string(),
    }
}

/// Beginnings of what spreadsheets compute, the wide forms of some locales among them.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// `text` as a field that no spreadsheet takes for a formula: what a model answered is opened by people who trust their own files.
fn harmless(text: &str) -> String {
    match text.starts_with(FORMULA) && text.parse::<f64>().is_err() {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_compute_is_marked_as_text() {
        assert_eq!(field(&Value::text("=HYPERLINK(\"http://x\")")), "'=HYPERLINK(\"http://x\")");
        assert_eq!(field(&Value::text("＝1+1")), "'＝1+1");
        assert_eq!(field(&Value::text("-1.5")), "-1.5");
    }

    #[test]
    fn what_is_not_known_is_an_empty_field() {
        assert_eq!(field(&Value::Null), "");
        assert_eq!(field(&Value::from(0_u64)), "0");
    }

    #[test]
    fn numbers_are_read_back_as_they_were() {
        let value = 0.1 + 0.2;
        assert_eq!(field(&Value::Float(value)).parse::<f64>().unwrap().to_bits(), f64::to_bits(value));
    }
}
