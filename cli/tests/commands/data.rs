//! Official data sets: fetched, and compared.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use super::{regatta, said, text};

const BAD_CONFIGURATION: Option<i32> = Some(78);

/// The address of a host that answers every request with `answer(path)`, or that there is no such file.
fn serving(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                // A client that has seen enough may be gone.
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                request.extend(byte);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let Some(path) = request.split(' ').nth(1) else { continue };
            let (status, body) = match answer(path) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

/// Standard error of `regatta data fetch autoslurp` from `mirror`, which fails with code 1.
fn failed(mirror: &str, to: &Path) -> String {
    let fetch = ["data", "fetch", "autoslurp", "--mirror", mirror, "--to", &to.display().to_string()];
    let output = regatta(&fetch);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_file_that_a_mirror_does_not_have_is_named_with_its_repository_and_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = failed(&serving(|_| None), folder.path());
    assert!(said.contains("at commit 86b7106529bc42c66f5d8983abc48648d0e89dc6"), "{said}");
    assert!(said.contains(".csv of lorashen/Auto-SLURP"), "{said}");
}

#[test]
fn a_mirror_is_asked_for_repository_commit_and_path_and_other_contents_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = serving(|path| {
        let path = path.strip_prefix("/github/lorashen/Auto-SLURP/86b7106529bc42c66f5d8983abc48648d0e89dc6/")?;
        let bytes = match path {
            "data/test.csv" => 10_718,
            "data/train.csv" => 101_466,
            "data_5k/test_1k.csv" => 102_591,
            "data_5k/train_5k.csv" => 520_937,
            _ => return None,
        };
        Some(vec![b'x'; bytes])
    });
    let said = failed(&format!("{other}/github/"), folder.path());
    assert!(said.contains("is not the official file") && said.contains("nothing is written"), "{said}");
    let has_files = |at: &str| std::fs::read_dir(folder.path().join(at)).is_ok_and(|mut files| files.next().is_some());
    assert!(!has_files("autoslurp/data") && !has_files("autoslurp/data_5k"));
}

#[test]
fn a_file_of_ones_own_is_not_replaced_and_nobody_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("autoslurp/data/test.csv");
    std::fs::create_dir_all(own.parent().expect("a folder")).expect("it can be made");
    std::fs::write(&own, "mine").expect("it can be written");
    let to = folder.path().display().to_string();
    // Nobody listens there, which would be another exit code.
    let output = regatta(&["data", "fetch", "autoslurp", "--mirror", "http://127.0.0.1:9", "--to", &to]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), BAD_CONFIGURATION, "{said}");
    assert!(said.contains("data/test.csv has 4 bytes, not 10718") && said.contains("--force"), "{said}");
    assert_eq!(std::fs::read_to_string(&own).expect("a file"), "mine");
}

#[test]
fn a_copy_is_said_to_be_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("worfbench/gold_traj/os");
    std::fs::create_dir_all(&copy).expect("it can be made");
    std::fs::write(copy.join("graph_eval.json"), "[]").expect("it can be written");
    let output = regatta(&["data", "verify", "--data", &folder.path().display().to_string()]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(shown.contains("0 of 9 official files as published"), "{shown}");
    assert!(shown.contains("different  gold_traj/os/graph_eval.json has 2 bytes, not 35972"), "{shown}");
    assert!(shown.contains("missing    gold_traj/wikihow/graph_eval.json"), "{shown}");
}

#[test]
fn a_benchmark_that_is_unknown_or_whose_data_are_nowhere_is_bad_configuration() {
    let output = regatta(&["data", "fetch", "worfbnech"]);
    assert_eq!(output.status.code(), BAD_CONFIGURATION);
    assert!(text(&output.stderr).contains("did you mean \"worfbench\"?"), "{}", text(&output.stderr));
    let output = regatta(&["data", "verify", "worfbench", "--data", "worfbench=no/such/directory"]);
    assert_eq!(output.status.code(), BAD_CONFIGURATION);
    assert!(text(&output.stderr).contains("regatta data fetch worfbench"), "{}", text(&output.stderr));
}

/// The published data, where there is a copy of them.
#[test]
fn a_whole_copy_in_whatever_folders_is_official() {
    let Some(shared) = std::env::var_os("REGATTA_SHARED") else {
        eprintln!("skipped: REGATTA_SHARED names no copy of the published data");
        return;
    };
    for name in ["appbench", "autoslurp", "orchestrationbench", "worfbench"] {
        let copy = Path::new(&shared).join("benchmarks").join(name).join("data");
        let (shown, _) = said(&["data", "verify", "--data", &format!("{name}={}", copy.display())]);
        assert!(!shown.contains("missing") && !shown.contains("different"), "{shown}");
    }
}
