//! A TCP proxy that cuts, delays and swallows what goes through it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::HarnessError;

/// Treatment of what comes to a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// Everything.
    Passes,
    /// Connections are closed, new ones too.
    IsCut,
    /// Each piece waits.
    Takes(Duration),
    /// Nothing goes on until this ends; no connection is closed.
    IsHeld,
    /// Requests reach the server, answers are lost; its connections are closed when that ends.
    LosesAnswers,
}

/// One process's way to one service. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Proxy {
    /// Address at which it listens.
    pub address: SocketAddr,
    traffic: watch::Sender<Traffic>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy before `server`.
    ///
    /// # Errors
    /// When it cannot listen on loopback.
    pub async fn to(server: SocketAddr) -> Result<Self, HarnessError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(HarnessError::io("listen on 127.0.0.1"))?;
        let address = listener.local_addr().map_err(HarnessError::io("listen on 127.0.0.1"))?;
        let (traffic, watched) = watch::channel(Traffic::Passes);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, server, watched.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, traffic, task })
    }

    /// A proxy before the server of `url`, and the URL that goes through it.
    ///
    /// # Errors
    /// When the URL names no address and port of this machine.
    pub async fn before(url: &str) -> Result<(Self, String), HarnessError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
        let unusable = HarnessError::refused(format!("use {host}, which is no loopback address and port"));
        let proxy = Self::to(host.parse().map_err(unusable)?).await?;
        let at = if user.is_empty() { String::new() } else { format!("{user}@") };
        let url = format!("{scheme}://{at}{}{path}", proxy.address);
        Ok((proxy, url))
    }

    /// Treats everything like this from now on.
    pub fn set(&self, traffic: Traffic) {
        self.traffic.send_replace(traffic);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries one connection until either side ends it, it is cut, or its answers were lost.
async fn serve(client: TcpStream, server: SocketAddr, traffic: watch::Receiver<Traffic>) {
    let mut cut = traffic.clone();
    let cut = async {
        // Both end the connection; the sender lives as long as the proxy.
        let _ = cut.wait_for(|traffic| *traffic == Traffic::IsCut).await;
    };
    let carry = async {
        let Ok(server) = TcpStream::connect(server).await else { return };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            () = carry(from_client, to_server, traffic.clone(), false) => {}
            () = carry(from_server, to_client, traffic, true) => {}
        }
    };
    tokio::select! {
        () = cut => {}
        () = carry => {}
    }
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut traffic: watch::Receiver<Traffic>,
    are_answers: bool,
) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length) = from.read(&mut piece).await {
        if length == 0 {
            return;
        }
        let now = *traffic.borrow_and_update();
        match now {
            Traffic::Takes(time) => tokio::time::sleep(time).await,
            Traffic::IsHeld => {
                if traffic.wait_for(|traffic| *traffic != Traffic::IsHeld).await.is_err() {
                    return;
                }
            }
            Traffic::LosesAnswers if are_answers => {
                // A stream with a hole in it is of no use afterwards.
                let _ = traffic.wait_for(|traffic| *traffic != Traffic::LosesAnswers).await;
                return;
            }
            Traffic::IsCut => return,
            Traffic::Passes | Traffic::LosesAnswers => {}
        }
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each byte with the same one, and counts them.
    async fn echo() -> (SocketAddr, watch::Receiver<usize>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (count, counted) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let count = count.clone();
                tokio::spawn(async move {
                    while let Ok(byte) = stream.read_u8().await {
                        count.send_modify(|count| *count += 1);
                        if stream.write_u8(byte).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        (address, counted)
    }

    #[tokio::test]
    async fn it_passes_and_cuts() {
        let (server, _) = echo().await;
        let proxy = Proxy::to(server).await.unwrap();
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        client.write_u8(7).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 7);
        proxy.set(Traffic::IsCut);
        assert!(client.read_u8().await.is_err());
        let mut refused = TcpStream::connect(proxy.address).await.unwrap();
        assert!(refused.read_u8().await.is_err());
    }

    #[tokio::test]
    async fn what_is_held_goes_on_once_it_may() {
        let (server, counted) = echo().await;
        let proxy = Proxy::to(server).await.unwrap();
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        client.write_u8(6).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 6);
        proxy.set(Traffic::IsHeld);
        client.write_u8(7).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(200), client.read_u8()).await;
        assert!(early.is_err(), "{early:?}");
        assert_eq!(*counted.borrow(), 1);
        proxy.set(Traffic::Passes);
        assert_eq!(client.read_u8().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn requests_arrive_whose_answers_are_lost() {
        let (server, mut counted) = echo().await;
        let proxy = Proxy::to(server).await.unwrap();
        proxy.set(Traffic::LosesAnswers);
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        client.write_u8(7).await.unwrap();
        counted.wait_for(|count| *count == 1).await.unwrap();
        // Whether or not the answer has come as far as the proxy, it goes no further.
        proxy.set(Traffic::IsCut);
        assert!(client.read_u8().await.is_err(), "closed without the answer");
    }
}
