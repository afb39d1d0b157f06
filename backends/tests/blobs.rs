//! Rules that every blob store obeys, checked with a directory and an S3 server; then rules of one store alone.
#![expect(clippy::unwrap_used, reason = "a test's own steps fail the test")]

#[cfg(not(feature = "cluster"))]
compile_error!("the conformance suites need every implementation: scripts/test -p regatta-backends");

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::join_all;
use regatta_backends::blobs::{S3Blobs, S3Config};
use regatta_backends::{BlobError, Blobs};
use regatta_proto::Digest;
use regatta_tests::{S3Server, unique_name};
use tempfile::TempDir;
use tokio::sync::OnceCell;

macro_rules! conformance {
    ($($rule:ident),* $(,)?) => {
        mod directory {
            $(#[tokio::test]
            async fn $rule() {
                let folder = tempfile::tempdir().unwrap();
                super::$rule(&super::in_directory(&folder)).await;
            })*
        }
        mod s3 {
            $(#[tokio::test]
            async fn $rule() {
                super::$rule(&super::in_s3(&super::unique_name("blobs")).await).await;
            })*
        }
    };
}

conformance![
    what_is_put_is_got,
    what_is_put_is_read_in_small_pieces,
    the_last_put_wins,
    an_object_that_was_never_put_is_none,
    what_is_deleted_is_gone_and_may_be_deleted_again,
    keys_are_listed_in_order_and_by_prefix,
    more_than_a_thousand_keys_are_listed_whole,
    objects_are_listed_with_their_sizes_and_ages,
    content_is_found_by_its_digest_and_stored_once,
    content_in_a_file_is_stored_as_if_it_had_been_in_memory,
    content_that_was_never_stored_is_an_error_that_says_so,
    damaged_content_is_never_returned,
    content_of_a_wrong_size_is_repaired_by_storing_it_again,
    keys_that_lead_elsewhere_are_refused,
    many_writers_of_one_key_leave_one_of_their_values,
];

async fn what_is_put_is_got(blobs: &Blobs) {
    for (key, bytes) in [("empty", vec![]), ("a/b c/ü+%&=?#.json", b"{}".to_vec()), ("large", vec![7; 6 << 20])] {
        blobs.put(key, bytes.clone().into()).await.unwrap();
        assert!(blobs.get(key).await.unwrap().unwrap() == bytes, "{key}");
    }
}

async fn what_is_put_is_read_in_small_pieces(blobs: &Blobs) {
    let content: Vec<u8> = (0..3 << 20).map(|number: u32| number.to_le_bytes()[1]).collect();
    for (key, bytes) in [("empty", vec![]), ("large", content)] {
        blobs.put(key, bytes.clone().into()).await.unwrap();
        let object = blobs.open(key).await.unwrap().unwrap();
        assert_eq!(object.bytes, bytes.len() as u64, "{key}");
        let pieces: Vec<Bytes> = object.pieces.map(Result::unwrap).collect().await;
        assert!(pieces.iter().all(|piece| piece.len() <= 1 << 20), "{key}: {} pieces", pieces.len());
        assert!(pieces.concat() == bytes, "{key}");
    }
    assert!(blobs.open("k").await.unwrap().is_none());
    assert!(matches!(blobs.open("../a").await.err(), Some(BlobError::BadKey { .. })));
}

async fn objects_are_listed_with_their_sizes_and_ages(blobs: &Blobs) {
    for (key, bytes) in [("b/2", b"four".as_slice()), ("b/1", b"a".as_slice()), ("c", b"".as_slice())] {
        blobs.put(key, Bytes::from_static(bytes)).await.unwrap();
    }
    let listed = blobs.list_dated("b/").await.unwrap();
    assert_eq!(listed.iter().map(|of| (of.key.as_str(), of.bytes)).collect::<Vec<_>>(), [("b/1", 1), ("b/2", 4)]);
    assert!(listed.iter().all(|of| of.written_at.is_some()), "{listed:?}");
    assert!(blobs.list_dated("none/").await.unwrap().is_empty());
}

async fn the_last_put_wins(blobs: &Blobs) {
    blobs.put("k", Bytes::from_static(b"a longer first value")).await.unwrap();
    blobs.put("k", Bytes::from_static(b"second")).await.unwrap();
    assert_eq!(blobs.get("k").await.unwrap().unwrap(), "second");
}

async fn an_object_that_was_never_put_is_none(blobs: &Blobs) {
    assert_eq!(blobs.get("k").await.unwrap(), None);
    assert_eq!(blobs.list("nothing/").await.unwrap(), Vec::<String>::new());
}

async fn what_is_deleted_is_gone_and_may_be_deleted_again(blobs: &Blobs) {
    for key in ["a/1", "a/2"] {
        blobs.put(key, Bytes::from_static(b"x")).await.unwrap();
    }
    for _ in 0..2 {
        blobs.delete("a/1").await.unwrap();
        assert_eq!(blobs.list("").await.unwrap(), ["a/2"]);
    }
    blobs.put("a/1", Bytes::from_static(b"y")).await.unwrap();
    assert_eq!(blobs.get("a/1").await.unwrap().unwrap(), "y");
    assert!(matches!(blobs.delete("../a").await, Err(BlobError::BadKey { .. })));
}

async fn keys_are_listed_in_order_and_by_prefix(blobs: &Blobs) {
    for key in ["b/2", "a/10", "a/9", "a/b/c", "ab", "a-b"] {
        blobs.put(key, Bytes::from_static(b"x")).await.unwrap();
    }
    assert_eq!(blobs.list("").await.unwrap(), ["a-b", "a/10", "a/9", "a/b/c", "ab", "b/2"]);
    assert_eq!(blobs.list("a/").await.unwrap(), ["a/10", "a/9", "a/b/c"]);
    assert_eq!(blobs.list("a").await.unwrap(), ["a-b", "a/10", "a/9", "a/b/c", "ab"]);
    assert_eq!(blobs.list("a/1").await.unwrap(), ["a/10"]);
    assert_eq!(blobs.list("a/9").await.unwrap(), ["a/9"]);
    assert_eq!(blobs.list("c").await.unwrap(), Vec::<String>::new());
}

async fn more_than_a_thousand_keys_are_listed_whole(blobs: &Blobs) {
    const KEYS: usize = 1_050;
    let keys: Vec<String> = (0..KEYS).map(|n| format!("many/{n:05}")).collect();
    for some in keys.chunks(50) {
        for put in join_all(some.iter().map(|key| blobs.put(key, Bytes::from_static(b"x")))).await {
            put.unwrap();
        }
    }
    assert_eq!(blobs.list("many/").await.unwrap(), keys);
}

async fn content_is_found_by_its_digest_and_stored_once(blobs: &Blobs) {
    let content = Bytes::from_static(b"some content");
    let digest = blobs.put_content(content.clone()).await.unwrap();
    assert_eq!(digest, Digest::of(&content));
    assert_eq!(blobs.put_content(content.clone()).await.unwrap(), digest);
    assert_eq!(blobs.get_content(&digest).await.unwrap(), content);
    assert_eq!(blobs.list("").await.unwrap(), [format!("content/{digest}")]);
    let empty = blobs.put_content(Bytes::new()).await.unwrap();
    assert_eq!(blobs.get_content(&empty).await.unwrap(), Bytes::new());
}

async fn content_in_a_file_is_stored_as_if_it_had_been_in_memory(blobs: &Blobs) {
    let (content, file) = (Bytes::from(vec![7; 300_000]), tempfile::NamedTempFile::new().unwrap());
    std::fs::write(file.path(), &content).unwrap();
    let digest = Digest::of(&content);
    assert_eq!(blobs.content_size(&digest).await.unwrap(), None);
    for _ in 0..2 {
        blobs.put_content_file(&digest, file.path(), content.len() as u64).await.unwrap();
        assert_eq!(blobs.get_content(&digest).await.unwrap(), content);
        assert_eq!(blobs.content_size(&digest).await.unwrap(), Some(content.len() as u64));
    }
}

async fn content_that_was_never_stored_is_an_error_that_says_so(blobs: &Blobs) {
    let digest = Digest::of(b"never stored");
    let error = blobs.get_content(&digest).await.unwrap_err();
    assert!(matches!(&error, BlobError::MissingContent { digest: found, .. } if *found == digest), "{error}");
    assert!(error.to_string().contains(&blobs.place(&format!("content/{digest}"))), "{error}");
}

async fn damaged_content_is_never_returned(blobs: &Blobs) {
    let digest = blobs.put_content(Bytes::from_static(b"right")).await.unwrap();
    blobs.put(&format!("content/{digest}"), Bytes::from_static(b"wrong")).await.unwrap();
    let error = blobs.get_content(&digest).await.unwrap_err();
    assert!(matches!(&error, BlobError::Corrupt { found, .. } if *found == Digest::of(b"wrong")), "{error}");
}

async fn content_of_a_wrong_size_is_repaired_by_storing_it_again(blobs: &Blobs) {
    let content = Bytes::from_static(b"whole");
    let digest = blobs.put_content(content.clone()).await.unwrap();
    blobs.put(&format!("content/{digest}"), Bytes::from_static(b"who")).await.unwrap();
    blobs.put_content(content.clone()).await.unwrap();
    assert_eq!(blobs.get_content(&digest).await.unwrap(), content);
}

async fn keys_that_lead_elsewhere_are_refused(blobs: &Blobs) {
    let long = "x".repeat(701);
    for key in ["", "/", "/etc/passwd", "a/../../b", "..", ".", "a//b", "a/", "a\\b", "a\0", ".unfinished/1-0", &long] {
        let refused = |result: Option<BlobError>| {
            assert!(matches!(&result, Some(BlobError::BadKey { .. })), "{key:?}: {result:?}");
        };
        refused(blobs.put(key, Bytes::new()).await.err());
        refused(blobs.get(key).await.err());
    }
    assert!(matches!(blobs.list("../").await, Err(BlobError::BadKey { .. })));
    assert_eq!(blobs.list("").await.unwrap(), Vec::<String>::new());
}

async fn many_writers_of_one_key_leave_one_of_their_values(blobs: &Blobs) {
    let values: Vec<Bytes> = (0..16_u8).map(|n| vec![n; 100_000 + usize::from(n)].into()).collect();
    for put in join_all(values.iter().map(|value| blobs.put("contested", value.clone()))).await {
        put.unwrap();
    }
    let left = blobs.get("contested").await.unwrap().unwrap();
    assert!(values.contains(&left));
}

// Only in a directory.

#[tokio::test]
async fn nothing_unfinished_is_left_behind_or_listed() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = in_directory(&folder);
    // Left by a crash of another process with the same id.
    let stale = folder.path().join(".unfinished").join(format!("{}-0", std::process::id()));
    std::fs::write(&stale, b"half").unwrap();
    blobs.put("a", Bytes::from_static(b"whole")).await.unwrap();
    assert_eq!(blobs.list("").await.unwrap(), ["a"]);
    assert_eq!(blobs.get("a").await.unwrap().unwrap(), "whole");
    let left: Vec<_> = std::fs::read_dir(folder.path().join(".unfinished")).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[tokio::test]
async fn two_stores_on_one_folder_see_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (in_directory(&folder), in_directory(&folder));
    let (a, b) = tokio::join!(one.put("a", Bytes::from_static(b"1")), two.put("b", Bytes::from_static(b"2")));
    a.and(b).unwrap();
    assert_eq!(one.get("b").await.unwrap().unwrap(), "2");
    assert_eq!(two.list("").await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_key_that_is_only_the_beginning_of_others_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = in_directory(&folder);
    blobs.put("k/below", Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(blobs.get("k").await.unwrap(), None);
    assert_eq!(blobs.get("k/below/further").await.unwrap(), None);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let error = Blobs::directory(file.join("below")).unwrap_err();
    assert!(error.to_string().contains("file/below"), "{error}");
}

// Only in S3.

#[tokio::test]
async fn stores_with_different_prefixes_do_not_see_each_other() {
    let prefix = unique_name("blobs");
    let (one, two) = (in_s3(&format!("{prefix}/one/")).await, in_s3(&format!("/{prefix}/two")).await);
    let whole = in_s3(&prefix).await;
    one.put("k", Bytes::from_static(b"1")).await.unwrap();
    two.put("k", Bytes::from_static(b"2")).await.unwrap();
    assert_eq!(one.get("k").await.unwrap().unwrap(), "1");
    assert_eq!(one.list("").await.unwrap(), ["k"]);
    assert_eq!(whole.list("").await.unwrap(), ["one/k", "two/k"]);
}

#[tokio::test]
async fn an_error_of_the_service_names_the_object_and_the_reason() {
    let server = server().await;
    let wrong = regatta_tests::S3Config { secret_key: "wrong".to_owned(), ..server.clone() };
    let blobs = Blobs::S3(S3Blobs::with_loader(config(server, "p"), loader(&wrong)).await.unwrap());
    let place = format!("s3://{}/p/k", server.bucket);
    let error = blobs.put("k", Bytes::from_static(b"x")).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("failed to write {place}: SignatureDoesNotMatch")), "{error}");
    // Not "there is no such object", which would be a wrong answer.
    assert!(matches!(blobs.get("k").await, Err(BlobError::S3 { .. })));
    assert!(matches!(blobs.put_content(Bytes::new()).await, Err(BlobError::S3 { .. })));
}

#[tokio::test]
async fn an_unreachable_service_is_an_error_with_its_cause() {
    let server = server().await;
    let config = S3Config { endpoint_url: Some("http://127.0.0.1:1".to_owned()), ..config(server, "") };
    let loader = loader(server).retry_config(aws_sdk_s3::config::retry::RetryConfig::disabled());
    let blobs = Blobs::S3(S3Blobs::with_loader(config, loader).await.unwrap());
    let error = blobs.get("k").await.unwrap_err().to_string();
    assert!(error.contains("s3://") && error.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_bucket_or_prefix_that_cannot_be_one_is_refused() {
    let server = server().await;
    for (bucket, prefix) in [("", ""), ("a/b", ""), ("bucket", "a//b"), ("bucket", "../a")] {
        let config = S3Config { bucket: bucket.to_owned(), ..config(server, prefix) };
        assert!(matches!(Blobs::s3(config).await, Err(BlobError::BadPlace { .. })), "{bucket:?} {prefix:?}");
    }
}

// Helpers of the rules above.

fn in_directory(folder: &TempDir) -> Blobs {
    Blobs::directory(folder.path()).unwrap()
}

async fn in_s3(prefix: &str) -> Blobs {
    let server = server().await;
    Blobs::S3(S3Blobs::with_loader(config(server, prefix), loader(server)).await.unwrap())
}

fn config(server: &regatta_tests::S3Config, prefix: &str) -> S3Config {
    S3Config {
        bucket: server.bucket.clone(),
        prefix: prefix.to_owned(),
        endpoint_url: Some(server.endpoint_url.clone()),
        region: Some(server.region.clone()),
        path_style: true,
        certificates: regatta_backends::CertificateFiles::default(),
    }
}

/// The one difference to production: credentials come from the test, not from the environment.
fn loader(server: &regatta_tests::S3Config) -> aws_config::ConfigLoader {
    let credentials = aws_sdk_s3::config::Credentials::new(&server.access_key, &server.secret_key, None, None, "test");
    aws_config::defaults(aws_config::BehaviorVersion::latest()).credentials_provider(credentials)
}

async fn server() -> &'static regatta_tests::S3Config {
    static SERVER: OnceCell<S3Server> = OnceCell::const_new();
    SERVER.get_or_try_init(S3Server::start).await.unwrap().config()
}
