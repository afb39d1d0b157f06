//! Parquet, which becomes JSONL before it is part of a data set. A page of a few bytes can stand for gigabytes, so that the format is read
//! where a benchmark's folder is, and by no process that others give data sets to.

use std::collections::HashSet;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::{SchemaDescriptor, Type};
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use serde_json::{Map, Number, Value};

use super::RECORDS_MAX;

/// Bytes with which every file begins.
pub(super) const MAGIC: &[u8] = b"PAR1";
/// Most text that comes of a file.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// Longest message of the library that is shown: some have the whole value in them.
const SHOWN: usize = 200;

/// The rows of `content` as JSONL, the n-th in line n.
///
/// # Errors
/// When it cannot be read, or has more than a data set may have.
pub(super) fn as_jsonl(file: &SourceLocation<'_>, content: Vec<u8>) -> Result<Vec<u8>, DataError> {
    // The library answers some damaged files with a panic.
    match std::panic::catch_unwind(|| lines(content)) {
        Ok(lines) => lines.map_err(|problem| file.problem(problem)),
        Err(_) => Err(file.problem("cannot be read, and may be damaged; write it anew, or convert it to JSONL")),
    }
}

fn lines(content: Vec<u8>) -> Result<Vec<u8>, String> {
    let reader = SerializedFileReader::new(Bytes::from(content)).map_err(|error| unreadable(&error))?;
    let metadata = reader.metadata();
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        check_compression(column.compression())?;
    }
    check_names(metadata.file_metadata().schema_descr())?;
    let schema = readable(metadata.file_metadata().schema())?;
    let mut text = Vec::new();
    let rows = reader.get_row_iter(Some(schema)).map_err(|error| unreadable(&error))?;
    for (row, number) in rows.zip(1..) {
        if number > RECORDS_MAX {
            return Err(format!("has more than {RECORDS_MAX} records"));
        }
        let row = row.map_err(|error| unreadable(&error))?;
        let fields = object(&row).map_err(|problem| format!("row {number}: {problem}"))?;
        serde_json::to_writer(&mut text, &Value::Object(fields)).map_err(|error| error.to_string())?;
        text.push(b'\n');
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("makes more than {TEXT_BYTES_MAX} bytes of JSONL; divide it, or leave columns out"));
        }
    }
    Ok(text)
}

fn unreadable(error: &parquet::errors::ParquetError) -> String {
    let shown: String = error.to_string().chars().take(SHOWN).collect();
    format!("not valid Parquet: {shown}")
}

fn check_compression(compression: Compression) -> Result<(), String> {
    let other = match compression {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) => return Ok(()),
        Compression::ZSTD(_) => "zstd",
        Compression::BROTLI(_) => "brotli",
        Compression::LZ4 | Compression::LZ4_RAW => "lz4",
        Compression::LZO => "lzo",
    };
    Err(format!("is compressed by {other}; write it with snappy, gzip or none"))
}

/// Refuses columns of the same name: the library would read one of them in the place of the other, also where that is left out here.
fn check_names(schema: &SchemaDescriptor) -> Result<(), String> {
    let mut seen = HashSet::new();
    match schema.columns().iter().find(|column| !seen.insert(column.path().parts())) {
        Some(column) => Err(format!("the column {:?} is there twice", column.path().string())),
        None => Ok(()),
    }
}

/// The columns of `schema` that JSON has a form for, all others left out.
fn readable(schema: &Type) -> Result<Type, String> {
    let fields: Vec<_> = schema.get_fields().iter().filter(|field| is_readable(field)).cloned().collect();
    if fields.is_empty() {
        return Err("has no column of texts, numbers, yes and no, or lists and groups of these".to_owned());
    }
    Type::group_type_builder(schema.name()).with_fields(fields).build().map_err(|error| unreadable(&error))
}

fn is_readable(field: &Type) -> bool {
    let info = field.get_basic_info();
    match field {
        Type::GroupType { fields, .. } => !fields.is_empty() && fields.iter().all(|field| is_readable(field)),
        Type::PrimitiveType { physical_type, .. } => {
            // Of nanoseconds the older annotation says nothing.
            let is_plain = matches!(
                info.logical_type_ref(),
                None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json | LogicalType::Integer(_))
            );
            is_plain && is_value(*physical_type, info.converted_type())
        }
    }
}

/// `true` for texts, numbers, and yes and no; not for bytes, decimals, dates and times.
fn is_value(physical: Physical, converted: ConvertedType) -> bool {
    match physical {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
        Physical::INT32 => matches!(
            converted,
            ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
        ),
        Physical::INT64 => {
            matches!(converted, ConvertedType::NONE | ConvertedType::INT_64 | ConvertedType::UINT_64)
        }
        Physical::BYTE_ARRAY => {
            matches!(converted, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
        }
        Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => false,
    }
}

fn object(row: &Row) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for (name, field) in row.get_column_iter() {
        if fields.insert(name.clone(), value(field)?).is_some() {
            return Err(format!("the column {name:?} is there twice"));
        }
    }
    Ok(fields)
}

fn value(field: &Field) -> Result<Value, String> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::from(*value),
        Field::Byte(value) => Value::from(*value),
        Field::Short(value) => Value::from(*value),
        Field::Int(value) => Value::from(*value),
        Field::Long(value) => Value::from(*value),
        Field::UByte(value) => Value::from(*value),
        Field::UShort(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::ULong(value) => Value::from(*value),
        // Its shortest decimal: 0.1 and not 0.10000000149011612.
        Field::Float(value) => value.to_string().parse().map_or(Value::Null, number),
        Field::Double(value) => number(*value),
        Field::Str(text) => Value::from(text.as_str()),
        Field::Group(row) => Value::Object(object(row)?),
        Field::ListInternal(list) => Value::Array(list.elements().iter().map(value).collect::<Result<_, _>>()?),
        Field::MapInternal(map) => {
            let mut fields = Map::new();
            for (key, field) in map.entries() {
                let Field::Str(key) = key else { return Err("has a map whose keys are no texts".to_owned()) };
                fields.insert(key.clone(), value(field)?);
            }
            Value::Object(fields)
        }
        Field::Float16(_)
        | Field::Decimal(_)
        | Field::Bytes(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_) => return Err("has a value that JSON has no form for".to_owned()),
    })
}

/// A number; what is none, as tables have it where a value is missing, is `null`.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
