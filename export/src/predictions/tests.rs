use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

fn log(samples: &[Value]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for sample in samples {
        let name = format!("samples/{}_epoch_{}.json", sample["id"], sample["epoch"]);
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(sample.to_string().as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn sample(id: Value, epoch: u32, said: Value) -> Value {
    json!({"id": id, "epoch": epoch, "output": {"choices": [{"message": {"role": "assistant", "content": said}}]}})
}

fn path(text: &str) -> FieldPath {
    text.parse().unwrap()
}

#[test]
fn answers_of_a_log_are_texts_without_the_thoughts_before_them() {
    let parts = json!([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "two"}]);
    let log = log(&[sample(json!("a"), 1, json!("one")), sample(json!(7), 1, parts)]);
    let read = Predictions::of_log(&log, None).unwrap();
    assert_eq!(read.to_lines(), "{\"item\":\"a\",\"output\":\"one\"}\n{\"item\":\"7\",\"output\":\"two\"}\n");
}

#[test]
fn a_sample_that_ended_with_an_error_is_left_out_and_counted() {
    let mut failed = sample(json!("a"), 1, json!(""));
    failed["error"] = json!({"message": "no connection"});
    let read = Predictions::of_log(&log(&[failed, sample(json!("b"), 1, json!("x"))]), None).unwrap();
    assert_eq!((read.predictions.len(), read.failed), (1, 1));
}

#[test]
fn of_several_epochs_one_is_chosen() {
    let log = log(&[sample(json!("a"), 1, json!("one")), sample(json!("a"), 2, json!("two"))]);
    let error = Predictions::of_log(&log, None).unwrap_err().to_string();
    assert_eq!(error, "the log has 2 epochs; choose one of 1 to 2 with --epoch");
    let read = Predictions::of_log(&log, Some(2)).unwrap();
    assert_eq!(read.predictions, [Prediction { item: "a".to_owned(), output: Some("two".to_owned()) }]);
}

#[test]
fn a_log_is_read_up_to_so_many_files_and_bytes_and_no_further() {
    let log = log(&[sample(json!("a"), 1, json!("one")), sample(json!("b"), 1, json!("two"))]);
    let read = |limits| eval::read(Cursor::new(&log[..]), None, limits).map_err(|error| error.to_string());
    let each = sample(json!("a"), 1, json!("one")).to_string().len() as u64;
    let enough = LogLimits { members: 2, sample_bytes: each, bytes: 2 * each };
    assert_eq!(read(enough).unwrap().predictions.len(), 2);
    let problems = [
        LogLimits { members: 1, ..enough },
        LogLimits { sample_bytes: each - 1, ..enough },
        LogLimits { bytes: 2 * each - 1, ..enough },
    ];
    let problems = problems.map(|limits| read(limits).unwrap_err());
    insta::assert_snapshot!(problems.join("\n"), @r#"
    the log: it has 2 files, at most 1 are read; split it
    samples/"a"_epoch_1.json: it has more than 91 bytes
    the log: its samples have more than 183 bytes together; split it
    "#);
}

#[test]
fn lines_are_read_by_the_way_to_their_fields() {
    let lines = "{\"doc\": {\"id\": 3}, \"resps\": [[\"yes\"]]}\n\n{\"doc\": {\"id\": \"b\"}, \"resps\": [[null]]}\n";
    let read = Predictions::of_lines(lines.as_bytes(), &path("doc.id"), &path("resps.0.0")).unwrap();
    assert_eq!(read.to_lines(), "{\"item\":\"3\",\"output\":\"yes\"}\n{\"item\":\"b\",\"output\":null}\n");
}

#[test]
fn what_is_wrong_with_a_line_is_told_with_its_place() {
    let error =
        |lines: &str| Predictions::of_lines(lines.as_bytes(), &path("id"), &path("output")).unwrap_err().to_string();
    assert_eq!(
        error("{\"id\": 1, \"output\": \"x\"}\n{\"id\": 2, \"answer\": \"x\"}"),
        "line 2: there is no \"output\" on the way to output; there is id, answer"
    );
    assert_eq!(error("{\"id\": 1, \"output\": 5}"), "line 1: the answer must be a text or null, found 5");
    assert_eq!(
        error("{\"id\": 1, \"output\": \"x\"}\n{\"id\": 1, \"output\": \"y\"}"),
        "item \"1\": the item is in prediction 1 too; keep one prediction an item"
    );
    assert_eq!(error("\n"), "failed to find predictions: the file has none");
    assert!(
        Predictions::of_log(b"PK\x03\x04", None)
            .unwrap_err()
            .to_string()
            .contains("it is damaged, or not one of Inspect")
    );
}

/// Zips have a number for Zstandard that our writer does not know, so it is put where the member says how it is compressed.
fn compressed_by_zstandard(sample: &Value) -> Vec<u8> {
    let plain = sample.to_string();
    let compressed = zstd::bulk::compress(plain.as_bytes(), 3).unwrap();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("samples/a_epoch_1.json", stored).unwrap();
    zip.write_all(&compressed).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    let directory = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    for (method, size) in [(8, 22), (directory + 10, directory + 24)] {
        bytes[method..method + 2].copy_from_slice(&93_u16.to_le_bytes());
        bytes[size..size + 4].copy_from_slice(&u32::try_from(plain.len()).unwrap().to_le_bytes());
    }
    bytes
}

#[test]
fn a_log_of_today_is_compressed_by_zstandard_and_read() {
    let log = compressed_by_zstandard(&sample(json!("a"), 1, json!("one")));
    let read = Predictions::of_log(&log, None).unwrap();
    assert_eq!(read.to_lines(), "{\"item\":\"a\",\"output\":\"one\"}\n");
}
