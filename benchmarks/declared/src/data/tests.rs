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

#[test]
fn parquet_is_read_as_the_jsonl_that_it_has_become_and_refused_as_it_was() {
    let rows = read_one("a.parquet", "{\"a\": 1}\n{\"a\": 2}\n").unwrap();
    assert_eq!((rows.len(), rows[1].line), (2, 2));
    let said = read_one("a.parquet", b"PAR1 and so on".to_vec()).unwrap_err();
    assert!(said.starts_with("folder: a.parquet, whole file: is Parquet still"), "{said}");
}

fn remote_of(data: &str) -> Result<Vec<RemoteFile>, String> {
    let text = format!("v: 1\ndata:\n  test: {data}\nprompt: {{ turns: [user: hi] }}\nscorers: {{}}\n");
    let mut files = FileSet::from_origin("folder");
    files.insert("benchmark.yaml", text);
    let source = Source::of(&files).unwrap();
    let definition = source.read().map_err(|error| error.to_string())?;
    assert!(super::files(&source, &definition).map_err(|error| error.to_string())?.is_empty());
    remote(&source, &definition).map_err(|error| error.to_string())
}

#[test]
fn a_file_at_an_address_has_a_digest_and_a_path_of_its_own() {
    let digest = regatta_proto::Digest::of(b"content");
    let found = remote_of(&format!("{{ url: \"https://example.org/a/test.jsonl?raw=1\", sha256: {digest} }}")).unwrap();
    let path = format!("fetched/{}/test.jsonl", digest.short());
    assert_eq!(found, [RemoteFile { path, url: "https://example.org/a/test.jsonl?raw=1".to_owned(), sha256: digest }]);
}

#[test]
fn two_files_that_would_lie_at_the_same_place_are_refused_and_one_file_of_two_splits_is_fetched_once() {
    let digest = |rest: &str| format!("9f86d081{}", rest.repeat(56));
    let two = |other: &str| {
        let at =
            |host: &str, sha256: &str| format!("{{ url: \"https://{host}.org/test.jsonl\", sha256: \"{sha256}\" }}");
        remote_of(&format!("{}\n  dev: {}", at("one", &digest("0")), at("other", other)))
    };
    assert_eq!(two(&digest("0")).unwrap().len(), 1);
    let said = two(&digest("1")).unwrap_err();
    assert!(said.starts_with("folder: benchmark.yaml, line 4, data.dev: another file has the same name"), "{said}");
}

#[test]
fn an_address_without_a_digest_or_of_no_file_is_refused_with_its_line_and_never_repeated() {
    let digest = regatta_proto::Digest::of(b"content");
    let with = |url: &str| remote_of(&format!("{{ url: \"{url}\", sha256: {digest} }}")).unwrap_err();
    for (url, reason) in [
        ("http://example.org/a.jsonl", "must begin with https://"),
        ("https://example.org", "must end in the name of a file"),
        ("https://example.org/data/", "must end in the name of a file"),
        ("https://example.org/.jsonl", "must end in the name of a file"),
        ("https://ada:hunter2@example.org/a.jsonl", "neither user nor password"),
        ("https://example.org/a.zip", "must end in .jsonl, .csv or .parquet"),
    ] {
        let said = with(url);
        assert!(said.starts_with("folder: benchmark.yaml, line 3, data.test: ") && said.contains(reason), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    for data in ["{ url: \"https://example.org/a.csv\" }", "{ url: \"https://example.org/a.csv\", sha256: abc }", "5"] {
        let said = remote_of(data).unwrap_err();
        assert!(said.contains("benchmark.yaml, line 3"), "{said}");
    }
}
