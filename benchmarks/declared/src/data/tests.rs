use regatta_proto::FileSet;

use super::*;

fn read_one(path: &str, content: impl Into<Vec<u8>>) -> Result<Vec<Record>, String> {
    let text = format!("v: 1\ndata: {{ test: {path} }}\nprompt: {{ turns: [user: hi] }}\nscorers: {{}}\n");
    let mut files = FileSet::from_origin("folder");
    files.insert("benchmark.yaml", text);
    files.insert(path, content.into());
    let source = Source::of(&files).unwrap();
    let definition = source.read().map_err(|error| error.to_string())?;
    let mut splits = read(&source, &definition, &files).map_err(|error| error.to_string())?;
    Ok(splits.remove("test").unwrap().records)
}

#[test]
fn jsonl_and_csv_become_records_with_their_lines() {
    let jsonl = read_one("a.jsonl", "{\"b\": 1, \"a\": [2]}\n\n{\"a\": null}\n").unwrap();
    let names: Vec<&str> = jsonl[0].fields.keys().map(String::as_str).collect();
    assert_eq!((jsonl.len(), jsonl[1].line, names), (2, 3, vec!["b", "a"]));
    let csv = read_one("a.csv", "\u{feff}q,a\n\"one,\ntwo\",1\nx,2\n").unwrap();
    assert_eq!(csv[0].fields["q"], "one,\ntwo");
    assert_eq!((csv[1].line, csv[1].fields["a"].as_str()), (4, Some("2")));
}

#[test]
fn whatever_is_malformed_is_named_with_its_file_and_line() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(40), "]".repeat(40));
    let cases: [(&str, Vec<u8>); 10] = [
        ("a.jsonl", b"{\"a\": 1}\n{\"a\": \n".to_vec()),
        ("a.jsonl", b"[1]".to_vec()),
        ("a.jsonl", b"{\"a\": \"\xff\"}".to_vec()),
        ("a.jsonl", b"\n".to_vec()),
        ("a.jsonl", b"{\"setting\": 1}".to_vec()),
        ("a.jsonl", deep.into_bytes()),
        ("a.csv", b"a,a\n1,2\n".to_vec()),
        ("a.csv", b"a,b\n1\n".to_vec()),
        ("a.csv", b"a\n\xff\n".to_vec()),
        ("../a.csv", b"a\n1\n".to_vec()),
    ];
    let said: Vec<String> = cases.into_iter().map(|(path, content)| read_one(path, content).unwrap_err()).collect();
    insta::assert_snapshot!(said.join("\n"));
}
