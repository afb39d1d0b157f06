//! A table as Parquet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use regatta_files::PrivateFile;

use super::{Column, Kind, Value};
use crate::error::ExportError;

/// Rows of a group. A group is in memory until it is written.
const GROUP_ROWS_MAX: usize = 50_000;
/// Text of a group, in bytes; a row that passes it is the group's last.
const GROUP_BYTES_MAX: usize = 32 << 20;

/// A file that is written one group of rows after the other.
pub(super) struct ParquetFile {
    path: PathBuf,
    writer: SerializedFileWriter<PrivateFile>,
    columns: Vec<Column>,
    group: Vec<Buffer>,
    rows: usize,
    bytes: usize,
}

/// Fields of one column that wait to be written; a level is 1 where there is a value.
struct Buffer {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Boolean(Vec<bool>),
}

impl ParquetFile {
    pub(super) fn create(path: PathBuf, name: &str, columns: &[Column]) -> Result<Self, ExportError> {
        let schema = schema(name, columns).map_err(ExportError::parquet(&path))?;
        let level = GzipLevel::try_new(6).map_err(ExportError::parquet(&path))?;
        let properties = WriterProperties::builder().set_compression(Compression::GZIP(level)).build();
        let file = PrivateFile::create(&path).map_err(ExportError::write(&path))?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(ExportError::parquet(&path))?;
        let group = columns.iter().map(|column| Buffer::of(column.kind)).collect();
        Ok(Self { path, writer, columns: columns.to_owned(), group, rows: 0, bytes: 0 })
    }

    pub(super) fn push(&mut self, row: &[Value]) -> Result<(), ExportError> {
        for ((buffer, column), value) in self.group.iter_mut().zip(&self.columns).zip(row) {
            self.bytes += buffer.push(value, column, &self.path)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX {
            self.write_group()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<PathBuf, ExportError> {
        self.write_group()?;
        let file = self.writer.into_inner().map_err(ExportError::parquet(&self.path))?;
        file.finish().map_err(ExportError::write(&self.path))?;
        Ok(self.path)
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let full =
            std::mem::replace(&mut self.group, self.columns.iter().map(|column| Buffer::of(column.kind)).collect());
        write(&mut self.writer, &full).map_err(ExportError::parquet(&self.path))?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn schema(name: &str, columns: &[Column]) -> Result<Type, ParquetError> {
    let mut fields = Vec::new();
    for column in columns {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (Physical::INT64, None),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Boolean => (Physical::BOOLEAN, None),
            Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        fields.push(Arc::new(field));
    }
    Type::group_type_builder(name).with_fields(fields).build()
}

fn write(writer: &mut SerializedFileWriter<PrivateFile>, group: &[Buffer]) -> Result<(), ParquetError> {
    let mut rows = writer.next_row_group()?;
    for buffer in group {
        let mut column =
            rows.next_column()?.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
        let levels = Some(buffer.levels.as_slice());
        match (column.untyped(), &buffer.values) {
            (ColumnWriter::ByteArrayColumnWriter(to), Values::Text(values)) => to.write_batch(values, levels, None)?,
            (ColumnWriter::Int64ColumnWriter(to), Values::Integer(values)) => to.write_batch(values, levels, None)?,
            (ColumnWriter::DoubleColumnWriter(to), Values::Float(values)) => to.write_batch(values, levels, None)?,
            (ColumnWriter::BoolColumnWriter(to), Values::Boolean(values)) => to.write_batch(values, levels, None)?,
            _ => return Err(ParquetError::General("a column has another type than its schema".to_owned())),
        };
        column.close()?;
    }
    rows.close()?;
    Ok(())
}

impl Buffer {
    fn of(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Integer | Kind::Time => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
        };
        Self { levels: Vec::new(), values }
    }

    /// Adds a field, and says how many bytes it has.
    fn push(&mut self, value: &Value, column: &Column, path: &Path) -> Result<usize, ExportError> {
        let bytes = match (&mut self.values, value) {
            (_, Value::Null) => {
                self.levels.push(0);
                return Ok(0);
            }
            (Values::Text(values), Value::Text(text)) => {
                values.push(ByteArray::from(text.as_str()));
                text.len()
            }
            (Values::Integer(values), Value::Integer(value)) => {
                let too_large =
                    |_| ExportError::TooLarge { path: path.to_owned(), column: column.name.clone(), value: *value };
                values.push(i64::try_from(*value).map_err(too_large)?);
                8
            }
            (Values::Integer(values), Value::Time(time)) => {
                values.push(Timestamp::as_microsecond(*time));
                8
            }
            (Values::Float(values), Value::Float(value)) => {
                values.push(*value);
                8
            }
            (Values::Boolean(values), Value::Boolean(value)) => {
                values.push(*value);
                1
            }
            (Values::Text(_) | Values::Integer(_) | Values::Float(_) | Values::Boolean(_), _) => {
                let problem = format!("the column {} takes no {value:?}", column.name);
                return Err(ExportError::parquet(path)(ParquetError::General(problem)));
            }
        };
        self.levels.push(1);
        Ok(bytes)
    }
}
