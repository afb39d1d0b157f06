use super::*;

/// Written by pyarrow: texts, numbers, lists, groups and a map, compressed by snappy; and the columns `when` (nanoseconds) and `raw` (bytes).
const ROWS: &[u8] = include_bytes!("rows.parquet");

fn jsonl(content: &[u8]) -> Result<String, String> {
    let file = SourceLocation::file("folder", "rows.parquet");
    let read = as_jsonl(&file, content.to_vec()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(read).unwrap())
}

#[test]
fn rows_become_lines_without_the_columns_that_json_has_no_form_for() {
    let expected = r#"{"question":"2+2?","answer":4,"score":0.1,"right":true,"choices":["3","4"],"turns":[{"role":"user","content":"hi"},{"role":"assistant","content":null}],"meta":{"level":1},"allowed":{"a":1}}
{"question":"größer\nals 3?","answer":5,"score":null,"right":false,"choices":[],"turns":[{"role":"user","content":"x"}],"meta":{"level":2},"allowed":{}}
{"question":null,"answer":-6,"score":2.5,"right":null,"choices":null,"turns":[],"meta":null,"allowed":{"b":2,"c":3}}
"#;
    assert_eq!(jsonl(ROWS).unwrap(), expected);
}

#[test]
fn what_is_no_whole_file_is_refused_with_its_name() {
    for wrong in [&ROWS[..ROWS.len() / 2], b"{\"a\": 1}\n", b"", b"PAR1"] {
        let said = jsonl(wrong).unwrap_err();
        assert!(said.starts_with("folder: rows.parquet, whole file: "), "{said}");
    }
}

#[test]
fn a_compression_that_is_not_read_is_named_with_those_that_are() {
    assert_eq!(check_compression(Compression::SNAPPY), Ok(()));
    assert_eq!(check_compression(Compression::UNCOMPRESSED), Ok(()));
    let said = check_compression(Compression::LZ4_RAW).unwrap_err();
    assert_eq!(said, "is compressed by lz4; write it with snappy, gzip or none");
}

#[test]
fn columns_of_the_same_name_are_refused_also_where_one_of_them_would_be_left_out() {
    let column = |name: &str, converted| {
        let built = Type::primitive_type_builder(name, Physical::INT64).with_converted_type(converted).build();
        std::sync::Arc::new(built.unwrap())
    };
    let said = |names: [&str; 2]| {
        let fields = vec![column(names[0], ConvertedType::INT_64), column(names[1], ConvertedType::TIMESTAMP_MILLIS)];
        let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
        check_names(&SchemaDescriptor::new(std::sync::Arc::new(schema)))
    };
    assert_eq!(said(["answer", "when"]), Ok(()));
    assert_eq!(said(["answer", "answer"]), Err("the column \"answer\" is there twice".to_owned()));
}

#[test]
fn a_table_of_bytes_alone_has_nothing_that_a_template_could_use() {
    let bytes = Type::primitive_type_builder("raw", Physical::BYTE_ARRAY).build().unwrap();
    let schema = Type::group_type_builder("schema").with_fields(vec![std::sync::Arc::new(bytes)]).build().unwrap();
    let said = readable(&schema).unwrap_err();
    assert_eq!(said, "has no column of texts, numbers, yes and no, or lists and groups of these");
}
