//! Files of data sets, by content: uploaded on the way to a disk, never held in memory whole.

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use regatta_proto::{Digest, OwnerName};
use regatta_serving::{SharedTurns, Turn, hold_until_sent};
use serde::Serialize;
use tempfile::NamedTempFile;

use super::Problem;
use crate::CoordinatorError;

/// Largest file, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 256 << 20;
/// Files received at once, which bounds the disk that they take on their way, and the memory: that of one piece each. So they need none of
/// the budget of bytes, for which they would have to wait together with requests that have to be held whole.
const UPLOADS_MAX: usize = 4;
/// Files and lists sent at once. A file has a piece in memory; a list, and an input of a sweep, whose digest is checked first, the whole of it.
const DOWNLOADS_MAX: usize = 4;
/// Answers about one sweep or one schedule that are made and sent at once: one with fifty thousand cells has some tens of megabytes in memory.
const ANSWERS_MAX: usize = 4;
/// Diagnoses made at once, apart from other answers, which may wait for what a diagnosis is asked about.
const DIAGNOSES_MAX: usize = 2;
/// Submissions planned at once, of different owners: each has its data sets in memory, and may take minutes.
const PLANS_MAX: usize = 2;
/// Longest wait for one's turn, and longest pause between two pieces of a body.
const TURN_MAX: Duration = Duration::from_secs(30);

/// Lets pages load and run nothing. Reports hold what models wrote, and are served from where the API is.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// Turns at what takes memory or disk. Nobody has all of a kind, where there are several, so that who sends or reads slowly holds nobody else up.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    uploads: SharedTurns<OwnerName>,
    downloads: SharedTurns<OwnerName>,
    answers: SharedTurns<OwnerName>,
    diagnoses: SharedTurns<OwnerName>,
    plans: SharedTurns<OwnerName>,
}

impl Default for Turns {
    fn default() -> Self {
        let of = |all: usize| SharedTurns::new(all, (all - 1).max(1));
        Self {
            uploads: of(UPLOADS_MAX),
            downloads: of(DOWNLOADS_MAX),
            answers: of(ANSWERS_MAX),
            diagnoses: of(DIAGNOSES_MAX),
            plans: of(PLANS_MAX),
        }
    }
}

impl Turns {
    pub(super) async fn plan(&self, owner: &OwnerName) -> Result<Turn, Response> {
        turn(&self.plans, owner, "sweeps being planned").await
    }

    pub(super) async fn download(&self, owner: &OwnerName) -> Result<Turn, Response> {
        turn(&self.downloads, owner, "files and lists being fetched").await
    }

    pub(super) async fn answer(&self, owner: &OwnerName) -> Result<Turn, Response> {
        turn(&self.answers, owner, "sweeps and schedules being looked at").await
    }

    pub(super) async fn diagnosis(&self, owner: &OwnerName) -> Result<Turn, Response> {
        turn(&self.diagnoses, owner, "diagnoses being made").await
    }
}

async fn turn(turns: &SharedTurns<OwnerName>, owner: &OwnerName, what: &str) -> Result<Turn, Response> {
    turns.take(owner.clone(), TURN_MAX).await.ok_or_else(|| {
        let problem = Problem { error: format!("too many {what} at once; try again in a moment") };
        (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "5")], Json(problem)).into_response()
    })
}

/// A file that was received, on its way to the blob store. It has a turn, and is gone when this is dropped.
pub(super) struct Received {
    file: NamedTempFile,
    /// Size.
    pub(super) bytes: u64,
    _turn: Turn,
}

impl Received {
    /// Place on the disk.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Receives the content of `digest` from `owner`.
pub(super) async fn receive(
    turns: &Turns,
    owner: &OwnerName,
    digest: Digest,
    body: Body,
) -> Result<Received, Response> {
    let turn = turn(&turns.uploads, owner, "uploads").await?;
    let refused = |status, error: String| (status, Json(Problem { error })).into_response();
    let broken = |error: io::Error| {
        tracing::error!(%error, "failed to write an upload");
        refused(StatusCode::SERVICE_UNAVAILABLE, format!("failed to write the upload on its way: {error}"))
    };
    let mut file = NamedTempFile::new().map_err(broken)?;
    let (mut pieces, mut hasher, mut bytes) = (body.into_data_stream(), Digest::hasher(), 0_u64);
    loop {
        let piece = match tokio::time::timeout(TURN_MAX, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => {
                return Err(refused(StatusCode::BAD_REQUEST, format!("the upload broke off: {error}")));
            }
            Ok(None) => break,
            Err(_) => {
                let problem = format!("the upload paused for {} s; send it again", TURN_MAX.as_secs());
                return Err(refused(StatusCode::REQUEST_TIMEOUT, problem));
            }
        };
        bytes += piece.len() as u64;
        if bytes > FILE_BYTES_MAX {
            let problem = format!(
                "a file has at most {FILE_BYTES_MAX} bytes; split it, or leave out what the benchmark does not need"
            );
            return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, problem));
        }
        hasher.update(&piece);
        file.write_all(&piece).map_err(broken)?;
    }
    if hasher.finish() != digest {
        let problem = format!("the content does not have the digest {digest}");
        return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, problem));
    }
    Ok(Received { file, bytes, _turn: turn })
}

/// A file of `length` bytes as an answer that keeps `turn` until it is sent, or breaks off.
pub(super) fn send<E>(
    length: u64,
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    media_type: &'static str,
    turn: Turn,
) -> Response
where
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
{
    (headers(length, media_type), Body::from_stream(hold_until_sent(pieces, turn))).into_response()
}

/// Answers `question` as JSON, once there is a turn, which is kept until the answer is sent.
pub(super) async fn answer<T: Serialize>(
    turn: impl Future<Output = Result<Turn, Response>>,
    question: impl Future<Output = Result<T, CoordinatorError>>,
) -> Result<Response, Response> {
    let turn = turn.await?;
    let found = question.await.map_err(IntoResponse::into_response)?;
    Ok(send_json(&found, turn))
}

/// A list, or what has one, as an answer that keeps `turn` until it is sent: it may be as long as a file.
pub(super) fn send_json<T: Serialize + ?Sized>(value: &T, turn: Turn) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let (length, whole) = (text.len() as u64, stream::iter([Ok::<_, Infallible>(Bytes::from(text))]));
            send(length, whole, "application/json", turn)
        }
        Err(error) => CoordinatorError::from(error).into_response(),
    }
}

/// Headers of a file of `length` bytes.
pub(super) fn headers(length: u64, media_type: &'static str) -> [(header::HeaderName, String); 4] {
    [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::to_bytes;
    use regatta_backends::Blobs;
    use tokio::sync::Barrier;
    use tokio::time::Instant;

    use super::*;

    /// Size of a piece of an upload, in bytes.
    const PIECE_BYTES: usize = 64 << 10;

    /// Bytes of pieces that are in memory, and the most that were.
    #[derive(Debug, Default)]
    struct InMemory {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    /// A piece that is counted until it is dropped.
    struct Piece(Vec<u8>, Arc<InMemory>);

    impl Piece {
        fn bytes(of: u8, memory: &Arc<InMemory>) -> Bytes {
            let now = memory.now.fetch_add(PIECE_BYTES, Ordering::SeqCst) + PIECE_BYTES;
            memory.most.fetch_max(now, Ordering::SeqCst);
            Bytes::from_owner(Self(vec![of; PIECE_BYTES], Arc::clone(memory)))
        }
    }

    fn owner(name: &str) -> OwnerName {
        name.parse().unwrap()
    }

    impl AsRef<[u8]> for Piece {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Piece {
        fn drop(&mut self) {
            self.1.now.fetch_sub(self.0.len(), Ordering::SeqCst);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn uploads_have_one_piece_each_in_memory_and_four_of_them_at_once_however_many_come() {
        const UPLOADS: u8 = 32;
        const PIECES: usize = 16;
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let (turns, memory) = (Turns::default(), Arc::new(InMemory::default()));
        // In the middle each waits for as many as have a turn: so many are under way at once.
        let together = Arc::new(Barrier::new(UPLOADS_MAX));
        let uploads = (0..UPLOADS).map(|of| {
            let digest = Digest::of(&vec![of; PIECES * PIECE_BYTES]);
            let (blobs, turns) = (blobs.clone(), turns.clone());
            let (memory, together) = (Arc::clone(&memory), Arc::clone(&together));
            tokio::spawn(async move {
                let pieces = stream::iter(0..PIECES).then(move |number| {
                    let (memory, together) = (Arc::clone(&memory), Arc::clone(&together));
                    async move {
                        if number == PIECES / 2 {
                            together.wait().await;
                        }
                        Ok::<_, Infallible>(Piece::bytes(of, &memory))
                    }
                });
                let owner = owner(&format!("owner-{of}"));
                let received = receive(&turns, &owner, digest, Body::from_stream(pieces)).await.unwrap();
                blobs.put_content_file(&digest, received.path(), received.bytes).await.unwrap();
                let stored = blobs.content_size(&digest).await.unwrap();
                assert_eq!(stored, Some((PIECES * PIECE_BYTES) as u64));
            })
        });
        for upload in uploads.collect::<Vec<_>>() {
            upload.await.unwrap();
        }
        let most = memory.most.load(Ordering::SeqCst);
        assert!(most <= UPLOADS_MAX * PIECE_BYTES, "{most} bytes of {UPLOADS} uploads were in memory at once");
        assert_eq!(memory.now.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn an_answer_keeps_its_turn_until_it_is_sent() {
        let turns = Turns::default();
        let turn = turns.download(&owner("alice")).await.unwrap();
        let file = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"file"))]);
        let mut pieces = send(4, file, "text/plain", turn).into_body().into_data_stream();
        assert_eq!(pieces.next().await.unwrap().unwrap(), "file");
        assert_eq!(turns.downloads.free(), DOWNLOADS_MAX - 1);
        assert!(pieces.next().await.is_none());
        assert_eq!(turns.downloads.free(), DOWNLOADS_MAX);
    }

    #[tokio::test]
    async fn a_list_keeps_its_turn_until_it_is_sent() {
        let turns = Turns::default();
        let turn = turns.download(&owner("alice")).await.unwrap();
        let list = send_json(&["a", "b"], turn);
        assert_eq!(list.headers()[header::CONTENT_TYPE], "application/json");
        assert_eq!(turns.downloads.free(), DOWNLOADS_MAX - 1);
        assert_eq!(to_bytes(list.into_body(), 100).await.unwrap(), r#"["a","b"]"#);
        assert_eq!(turns.downloads.free(), DOWNLOADS_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_gets_no_turn_in_time_is_told_to_come_back() {
        let turns = Turns::default();
        let mut held = Vec::new();
        for number in 0..UPLOADS_MAX {
            held.push(turn(&turns.uploads, &owner(&format!("owner-{number}")), "uploads").await.unwrap());
        }
        let refused = receive(&turns, &owner("alice"), Digest::of(b"file"), Body::from("file")).await.err().unwrap();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_turn_in_time_is_told_to_come_back() {
        let turns = Turns::default();
        let mut held = Vec::new();
        for number in 0..DOWNLOADS_MAX {
            held.push(turns.download(&owner(&format!("owner-{number}"))).await.unwrap());
        }
        let begun = Instant::now();
        let refused = turns.download(&owner("alice")).await.unwrap_err();
        assert_eq!((refused.status(), begun.elapsed()), (StatusCode::TOO_MANY_REQUESTS, TURN_MAX));
        assert_eq!(refused.headers()[header::RETRY_AFTER], "5");
        held.pop();
        drop(turns.download(&owner("alice")).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_sweep_that_is_long_in_planning_holds_up_its_owners_others_alone() {
        let (turns, slow, other) = (Turns::default(), owner("slow"), owner("other"));
        let planning = turns.plan(&slow).await.unwrap();
        let begun = Instant::now();
        drop(turns.plan(&other).await.unwrap());
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(turns.plan(&slow).await.unwrap_err().status(), StatusCode::TOO_MANY_REQUESTS);
        drop(planning);
        drop(turns.plan(&slow).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_and_reads_for_ever_holds_nobody_else_up() {
        let (turns, slow, other) = (Turns::default(), owner("slow"), owner("other"));
        // A body that begins and never ends, as often as there are turns.
        let uploads: Vec<_> = (0..UPLOADS_MAX)
            .map(|_| {
                let (turns, slow) = (turns.clone(), slow.clone());
                tokio::spawn(async move {
                    let drops = stream::unfold((), |()| async {
                        tokio::time::sleep(TURN_MAX / 2).await;
                        Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
                    });
                    receive(&turns, &slow, Digest::of(b"file"), Body::from_stream(drops)).await.map(drop)
                })
            })
            .collect();
        let mut unread = Vec::new();
        for _ in 0..DOWNLOADS_MAX - 1 {
            unread.push(turns.download(&slow).await.unwrap());
            unread.push(turns.answer(&slow).await.unwrap());
        }
        tokio::time::sleep(TURN_MAX * 2).await;
        assert_eq!(turns.download(&slow).await.unwrap_err().status(), StatusCode::TOO_MANY_REQUESTS);
        let begun = Instant::now();
        let received = receive(&turns, &other, Digest::of(b"file"), Body::from("file")).await;
        assert_eq!(received.map(|file| file.bytes).unwrap(), 4);
        drop(turns.download(&other).await.unwrap());
        drop(turns.answer(&other).await.unwrap());
        drop(turns.diagnosis(&slow).await.unwrap());
        assert_eq!(begun.elapsed(), Duration::ZERO);
        uploads.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
