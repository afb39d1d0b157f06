use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Weak;

use futures::future::BoxFuture;
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_proto::ChatRequest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::connection::{Connection, Stream};
use crate::open::Sessions;
use crate::session::{Answered, BridgedSession, Refused};

/// Tells when a call begins, which never ends.
struct Silent(mpsc::UnboundedSender<()>);

impl BridgedSession for Silent {
    fn call(&self, _: ChatRequest, _: &str) -> BoxFuture<'_, Result<Answered, Refused>> {
        self.0.send(()).unwrap();
        std::future::pending().boxed()
    }

    fn serve(&self, _: ToolRequest) -> ToolAnswer {
        ToolAnswer::not_found()
    }
}

/// Memory that can be watched.
struct Watched(Arc<Vec<u8>>);

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[tokio::test]
async fn while_a_call_is_waited_for_its_body_is_not_kept() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::bind(address).await.unwrap();
    let connection = Connection::new(Stream::Tcp(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap()));
    let (sender, mut begun) = mpsc::unbounded_channel();
    let sessions = Arc::new(Sessions::new().unwrap());
    let budget = regatta_memory::ByteBudget::new(1 << 30);
    let open = sessions.open("http://127.0.0.1:1", Arc::new(Silent(sender)), budget.holder());
    let opened = sessions.find(open.base_url().rsplit('/').next().unwrap()).unwrap();
    let memory = Arc::new(br#"{"model": "m", "messages": [{"role": "user", "content": "x"}]}"#.to_vec());
    let watched: Weak<Vec<u8>> = Arc::downgrade(&memory);
    let (peer, headers) = (connection.peer(), HeaderMap::new());
    let asked = Asked {
        opened: &opened,
        member: None,
        format: Format::Chat,
        headers: &headers,
        body: Bytes::from_owner(Watched(memory)),
        expanded: Expanded::default(),
        held: budget.holder().read(),
        peer: &peer,
        created: 0,
        place: Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap(),
    };
    tokio::select! {
        _ = asked.answer() => panic!("answered"),
        _ = begun.recv() => assert!(watched.upgrade().is_none()),
    }
}
