//! Everything that a deployment writes down, says or sends: rows, objects, pages, messages, files.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use regatta_tests::Deployment;
use regatta_tests::deployment_roles::connect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A place where a secret may have been left, and all that is in it.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Place {
    /// Of `bytes`, and of what they are decompressed.
    pub(crate) fn of(name: impl Into<String>, bytes: &[u8]) -> Self {
        let plain = zstd::decode_all(bytes).unwrap_or_default();
        let text = [bytes, b"\n", &plain].concat();
        Self { name: name.into(), text: String::from_utf8_lossy(&text).into_owned() }
    }
}

/// All rows of all tables; columns of bytes also decompressed.
pub(crate) async fn rows(deployment: &Deployment) -> Vec<Place> {
    let client = connect(deployment.database_url()).await.unwrap();
    let texts = async |query: &str| -> Vec<String> {
        client.query(query, &[]).await.unwrap().iter().filter_map(|row| row.get(0)).collect()
    };
    let of_public = "FROM information_schema.columns WHERE table_schema = 'public'";
    let mut places = Vec::new();
    for table in texts(&format!("SELECT DISTINCT table_name::text {of_public}")).await {
        let rows = texts(&format!("SELECT t::text FROM \"{table}\" t")).await;
        places.push(Place::of(format!("table {table}"), rows.join("\n").as_bytes()));
        let columns =
            format!("SELECT column_name::text {of_public} AND table_name = '{table}' AND data_type = 'bytea'");
        for column in texts(&columns).await {
            let found = client.query(&format!("SELECT \"{column}\" FROM \"{table}\""), &[]).await.unwrap();
            let values = found.iter().filter_map(|row| row.get::<_, Option<Vec<u8>>>(0));
            places.extend(values.map(|value| Place::of(format!("column {table}.{column}"), &value)));
        }
    }
    places
}

/// All objects of the bucket.
pub(crate) async fn objects(deployment: &Deployment) -> Vec<Place> {
    let (client, bucket) = (deployment.s3().client(), &deployment.s3().bucket);
    let mut pages = client.list_objects_v2().bucket(bucket).into_paginator().send();
    let mut places = Vec::new();
    while let Some(page) = pages.next().await {
        for object in page.unwrap().contents() {
            let key = object.key().unwrap();
            let body = client.get_object().bucket(bucket).key(key).send().await.unwrap().body;
            places.push(Place::of(format!("object {key}"), &body.collect().await.unwrap().into_bytes()));
        }
    }
    places
}

/// All pages below `/ui` that the first one leads to.
pub(crate) async fn pages(deployment: &Deployment, token: &str) -> Vec<Place> {
    let mut found = vec!["/ui/".to_owned()];
    let mut places = Vec::new();
    while let Some(path) = found.get(places.len()).cloned() {
        let shown = page(deployment, token, &path).await;
        let links = shown.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for link in links.map(|link| link.replace("&amp;", "&")).filter(|link| link.starts_with("/ui/")) {
            let link = link.split('#').next().unwrap_or_default().to_owned();
            if link != "/ui/logout" && !found.contains(&link) {
                found.push(link);
            }
        }
        places.push(Place::of(format!("page {path}"), shown.as_bytes()));
    }
    places
}

async fn page(deployment: &Deployment, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(deployment.api()).await.unwrap();
    let head = format!("host: {}\r\nauthorization: Bearer {token}", deployment.api());
    stream.write_all(format!("GET {path} HTTP/1.0\r\n{head}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.0 200"), "{path}: {answer}");
    answer
}

/// All files below `folder`.
pub(crate) fn files(folder: &Path) -> Vec<Place> {
    let (mut places, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        for path in entries {
            if path.is_dir() {
                folders.push(path);
            } else {
                places.push(Place::of(format!("file {}", path.display()), &std::fs::read(&path).unwrap()));
            }
        }
    }
    places
}

/// Between the roles and their broker: passes on all bytes, and remembers them.
pub(crate) struct Tap {
    /// AMQP URL of the broker behind it.
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Stream>>>,
}

/// All bytes of one direction of a connection.
type Stream = Arc<Mutex<Vec<u8>>>;

impl Tap {
    /// Before the broker at `url`.
    pub(crate) async fn before(url: &str) -> Self {
        let (login, rest) = url.split_once('@').unwrap();
        let (broker, path) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{login}@{}/{path}", listener.local_addr().unwrap());
        let (heard, broker) = (Arc::new(Mutex::new(Vec::new())), broker.to_owned());
        let all = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let broker = TcpStream::connect(&broker).await.unwrap();
                let ((from_client, to_client), (from_broker, to_broker)) = (client.into_split(), broker.into_split());
                let streams = [Stream::default(), Stream::default()];
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(streams.clone());
                let [out, back] = streams;
                tokio::spawn(pass(from_client, to_broker, out));
                tokio::spawn(pass(from_broker, to_client, back));
            }
        });
        Self { url, heard }
    }

    /// Everything that was said until now, one direction of a connection after the other, with the messages that were compressed.
    pub(crate) fn heard(&self) -> Place {
        let mut all = Vec::new();
        for stream in self.heard.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let bytes = stream.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend_from_slice(&bytes);
            for at in positions(&bytes, &ZSTD_MAGIC) {
                // A message of several frames of the protocol is not whole here; what can be read of it counts.
                if let Ok(decoder) = zstd::Decoder::new(&bytes[at..]) {
                    let _ = decoder.single_frame().read_to_end(&mut all);
                }
            }
            all.push(b'\n');
        }
        Place::of("messages", &all)
    }
}

/// Beginning of what zstd has compressed.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn positions(bytes: &[u8], wanted: &[u8; 4]) -> Vec<usize> {
    bytes.windows(wanted.len()).enumerate().filter(|(_, window)| window == wanted).map(|(at, _)| at).collect()
}

async fn pass(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf, heard: Stream) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        heard.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..length]);
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}
