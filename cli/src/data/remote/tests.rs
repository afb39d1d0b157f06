use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use super::*;

const CONTENT: &[u8] = b"{\"q\": \"2+2?\", \"a\": \"4\"}\n";

/// A host that gives one answer to whoever asks first.
fn served(status: &'static str, headers: &'static str, body: &'static [u8]) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/test.jsonl", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.extend_from_slice(&byte);
        }
        let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
    });
    url.parse().unwrap()
}

fn file(url: &str) -> RemoteFile {
    RemoteFile { path: "fetched/c0ffee00/test.jsonl".to_owned(), url: url.to_owned(), sha256: Digest::of(CONTENT) }
}

fn told(rules: EgressRules, url: &Url) -> String {
    format!("{:#}", transferred(rules, url, &file(url.as_str())).unwrap_err())
}

#[test]
fn a_file_with_the_right_digest_is_taken_and_another_one_refused_with_both_digests() {
    let url = served("200 OK", "", CONTENT);
    assert_eq!(transferred(EgressRules::open(), &url, &file(url.as_str())).unwrap(), CONTENT);
    let other = served("200 OK", "", b"something else");
    let said = told(EgressRules::open(), &other);
    assert!(said.contains("has another file") && said.contains(&Digest::of(b"something else").to_string()), "{said}");
    assert!(said.contains(&Digest::of(CONTENT).to_string()), "{said}");
}

#[test]
fn private_addresses_are_not_asked_whether_named_or_led_to() {
    let url: Url = "http://127.0.0.1:9/test.jsonl".parse().unwrap();
    let said = told(EgressRules::default(), &url);
    assert!(said.contains("127.0.0.1 is a private address"), "{said}");
    let url = served("302 Found", "location: http://169.254.169.254/latest\r\n", b"");
    let said = told(EgressRules::open(), &url);
    assert!(said.contains("link-local or metadata address"), "{said}");
}

#[test]
fn a_host_without_the_file_is_told_with_its_status() {
    let url = served("404 Not Found", "", b"");
    let said = told(EgressRules::open(), &url);
    assert_eq!(said, "failed to fetch fetched/c0ffee00/test.jsonl from 127.0.0.1: it answered 404 Not Found");
}

#[test]
fn a_file_that_is_there_is_not_fetched_again_and_a_damaged_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = file("https://nowhere.invalid/test.jsonl");
    let at = folder.path().join(&file.path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(&at, CONTENT).unwrap();
    assert_eq!(content(folder.path(), &file).unwrap(), CONTENT);
    std::fs::write(&at, "damaged").unwrap();
    let said = format!("{:#}", content(folder.path(), &file).unwrap_err());
    assert!(said.contains("is damaged; remove it to fetch it again"), "{said}");
}

#[test]
fn a_fetched_file_is_kept_in_the_folder_and_not_where_a_link_leads() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = folder.path().join(file("https://nowhere.invalid/test.jsonl").path);
    let fetched = folder.path().join("fetched");
    symlink(elsewhere.path(), &fetched).unwrap();
    let said = keep(folder.path(), &at, CONTENT).unwrap_err().to_string();
    assert!(said.contains("leads out of the benchmark's folder"), "{said}");
    assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);

    std::fs::remove_file(&fetched).unwrap();
    keep(folder.path(), &at, CONTENT).unwrap();
    assert_eq!(std::fs::read(&at).unwrap(), CONTENT);
}
