use std::sync::Mutex;

use regatta_proto::Digest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::named_hosts::tests::AllAt;

const OFFICIAL: &[u8] = b"what was published, to the last byte of it";

/// A host of one file, and the first bytes that it was asked for, by connection.
struct Served {
    host: Host,
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Served {
    /// It has `content`. The n-th connection ends after as many bytes as the n-th of `cuts` says, later ones with the content.
    async fn start(content: &'static [u8], cuts: &[usize]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = Host::at(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (noted, cuts) = (Arc::clone(&asked), cuts.to_vec());
        tokio::spawn(async move {
            let mut cuts = cuts.into_iter();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                answer(stream, content, cuts.next().unwrap_or(usize::MAX), &noted).await;
            }
        });
        Self { host, asked }
    }

    async fn fetch(&self, path: &str, at: &Path) -> anyhow::Result<()> {
        let file = SourceFile { path: path.to_owned(), ..file() };
        self.host.fetch(&repository(), &file, at, &ProgressBar::hidden()).await
    }

    fn asked(&self) -> Vec<usize> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one request, and answers with at most `cut` bytes of what it asks for.
async fn answer(mut stream: TcpStream, content: &[u8], cut: usize, asked: &Mutex<Vec<usize>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let request = String::from_utf8(request).unwrap().to_ascii_lowercase();
    let range = request.lines().find_map(|line| line.strip_prefix("range: bytes=")?.strip_suffix('-'));
    let from: usize = range.map_or(0, |from| from.parse().unwrap());
    asked.lock().unwrap().push(from);
    let is_there = request.starts_with("get /owner/name/c0ffee/data/a.json ");
    let (status, body) = match content.get(from..) {
        _ if !is_there => ("404 Not Found", &content[..0]),
        Some(rest) if !rest.is_empty() && range.is_some() => ("206 Partial Content", rest),
        Some(rest) if range.is_none() => ("200 OK", rest),
        Some(_) | None => ("416 Range Not Satisfiable", &content[..0]),
    };
    let range = format!("content-range: bytes {from}-{}/{}", content.len().saturating_sub(1), content.len());
    let head = format!("HTTP/1.1 {status}\r\n{range}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body[..cut.min(body.len())]).await.unwrap();
    stream.shutdown().await.unwrap();
}

fn file() -> SourceFile {
    SourceFile { path: "data/a.json".to_owned(), bytes: OFFICIAL.len() as u64, sha256: Digest::of(OFFICIAL) }
}

fn repository() -> Repository {
    Repository {
        repository: "owner/name".to_owned(),
        commit: "c0ffee".to_owned(),
        licence: "MIT".to_owned(),
        files: Vec::new(),
    }
}

/// Names of the files in `folder`.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

#[tokio::test]
async fn a_file_is_fetched_whole_into_folders_that_are_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("data/a.json");
    let served = Served::start(OFFICIAL, &[]).await;
    served.fetch("data/a.json", &at).await.unwrap();
    assert_eq!(std::fs::read(&at).unwrap(), OFFICIAL);
    assert_eq!((served.asked(), names(at.parent().unwrap())), (vec![0], vec!["a.json".to_owned()]));
}

#[tokio::test]
async fn a_connection_that_is_cut_off_is_continued_at_once_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a.json");
    let served = Served::start(OFFICIAL, &[10, 20]).await;
    served.fetch("data/a.json", &at).await.unwrap();
    assert_eq!((std::fs::read(&at).unwrap().as_slice(), served.asked()), (OFFICIAL, vec![0, 10, 30]));
}

#[tokio::test]
async fn what_was_cut_off_for_good_is_continued_by_the_next_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a.json");
    let served = Served::start(OFFICIAL, &[10, 0]).await;
    let error = served.fetch("data/a.json", &at).await.unwrap_err().to_string();
    assert!(error.contains("data/a.json of owner/name") && error.contains("the same command again"), "{error}");
    assert!(!at.exists());
    served.fetch("data/a.json", &at).await.unwrap();
    assert_eq!((std::fs::read(&at).unwrap().as_slice(), served.asked()), (OFFICIAL, vec![0, 10, 10]));
    assert_eq!(names(folder.path()), ["a.json"], "nothing is left of the part");
}

#[tokio::test]
async fn a_part_that_is_damaged_is_fetched_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a.json");
    std::fs::write(part_of(&at, &file()), "other").unwrap();
    let served = Served::start(OFFICIAL, &[]).await;
    served.fetch("data/a.json", &at).await.unwrap();
    assert_eq!((std::fs::read(&at).unwrap().as_slice(), served.asked()), (OFFICIAL, vec![5, 0]));
}

#[tokio::test]
async fn another_file_than_the_official_one_is_refused_and_nothing_is_kept_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a.json");
    let others: [(&[u8], &str); 3] = [
        (b"what was PUBLISHED, to the last byte of it", "has the SHA-256"),
        (b"what was published, to the last byte of it, and more", "is larger at"),
        (b"what was published", "has no more than 18 bytes"),
    ];
    for (other, problem) in others {
        let error = Served::start(other, &[]).await.fetch("data/a.json", &at).await.unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("nothing is written"), "{problem}: {error}");
        assert!(names(folder.path()).is_empty(), "{problem}: {:?}", names(folder.path()));
    }
}

#[tokio::test]
async fn a_file_that_the_host_does_not_have_is_named_with_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(OFFICIAL, &[]).await;
    let error = served.fetch("data/b.json", &folder.path().join("b.json")).await.unwrap_err().to_string();
    assert!(error.contains("has no data/b.json of owner/name at commit c0ffee"), "{error}");
}

#[test]
fn a_mirror_leads_to_public_addresses_alone_and_not_out_of_https() {
    let problem = |from: &str, to: &str| leads_astray(&from.parse().unwrap(), &to.parse().unwrap());
    for (from, to) in [
        ("https://mirror.example/x", "https://files.example/x"),
        ("http://mirror.example/x", "https://files.example/x"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/y"),
    ] {
        assert_eq!(problem(from, to), None, "{from} {to}");
    }
    for to in ["https://127.0.0.1:8000/x", "https://localhost/x", "https://10.0.0.1/x", "https://169.254.169.254/x"] {
        assert!(
            problem("https://mirror.example/x", to).is_some_and(|problem| problem.contains("no public address")),
            "{to}"
        );
    }
    let unencrypted = problem("https://mirror.example/x", "http://files.example/x").unwrap();
    assert!(unencrypted.contains("not encrypted"), "{unencrypted}");
}

/// Address of a mirror that leads the first who asks to `elsewhere`.
async fn leading_to(elsewhere: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 302 Found\r\nlocation: {elsewhere}/owner/name/c0ffee/data/a.json\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(head.as_bytes()).await.unwrap();
    });
    address
}

#[tokio::test]
async fn a_redirection_to_a_service_of_this_machine_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let inside = Served::start(OFFICIAL, &[]).await;
    let host = Host::at(&leading_to(inside.host.base.clone()).await).unwrap();
    let at = folder.path().join("a.json");
    let error = host.fetch(&repository(), &file(), &at, &ProgressBar::hidden()).await.unwrap_err().to_string();
    assert!(error.contains("it leads to 127.0.0.1, which is no public address"), "{error}");
    assert!(inside.asked().is_empty() && names(folder.path()).is_empty());
}

#[tokio::test]
async fn a_redirection_to_a_name_that_leads_to_this_machine_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let inside = Served::start(OFFICIAL, &[]).await;
    let port = inside.host.base.rsplit(':').next().unwrap();
    let mirror = leading_to(format!("http://files.example:{port}")).await;
    let hosts = |host: &str| NamedHosts::by(EgressRules::default(), &[host], &|_| None, Arc::new(AllAt("127.0.0.1")));
    let host = Host::by(&mirror, hosts).unwrap();
    let at = folder.path().join("a.json");
    let error = host.fetch(&repository(), &file(), &at, &ProgressBar::hidden()).await.unwrap_err().to_string();
    assert!(error.contains("files.example resolves to 127.0.0.1, which is no public address"), "{error}");
    assert!(inside.asked().is_empty() && names(folder.path()).is_empty());
}

#[test]
fn an_address_that_is_refused_is_not_told() {
    for (address, problem) in [
        ("hunter2", "is no address"),
        ("ftp://user:hunter2@x.example", "is not of https or http"),
        ("https://x.example/?token=hunter2", "has a part after ? or #"),
    ] {
        let error = Host::at(address).err().unwrap();
        let said = error.to_string();
        assert!(error.downcast_ref::<BadConfiguration>().is_some());
        assert!(said.contains(problem) && !said.contains("hunter2"), "{said}");
    }
}
