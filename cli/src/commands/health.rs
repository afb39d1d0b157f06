//! `regatta health`: ask a process on this machine whether it is ready. Probes of containers without a shell run it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::args::HealthArgs;
use crate::output;

/// A process that does not answer within this time is not ready.
const PATIENCE: Duration = Duration::from_secs(4);
/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

pub(crate) async fn run(args: HealthArgs) -> anyhow::Result<ExitCode> {
    let (address, path) = (args.address, if args.alive { "/healthz" } else { "/readyz" });
    let asked = tokio::time::timeout(PATIENCE, ask(&reachable(address), path)).await;
    let asked = asked.with_context(|| format!("no answer within {} s", PATIENCE.as_secs())).flatten();
    let (status, body) = asked.with_context(|| format!("failed to ask {address}; give another --address"))?;
    if status != 200 {
        bail!("{address}{path} answered {status}: {body}");
    }
    output::line(&body);
    Ok(ExitCode::SUCCESS)
}

/// Status and body of an answer. Not by the HTTP client: that reads all certificate authorities first, and probes run every few seconds.
async fn ask(addresses: &[SocketAddr], path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(addresses).await?;
    let host = stream.peer_addr()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: {host}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    read(&String::from_utf8_lossy(&answer)).context("it does not speak HTTP")
}

fn read(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// Addresses at which a process is asked, one after another until one answers. A process that listens on all addresses is asked on the
/// loopback interface: on that of IPv4 too, where `[::]` stands for both families, and for IPv4 alone on a kernel without IPv6.
fn reachable(listens: SocketAddr) -> Vec<SocketAddr> {
    let (four, six) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let asked = match listens.ip() {
        ip if !ip.is_unspecified() => vec![ip],
        IpAddr::V4(_) => vec![four],
        IpAddr::V6(_) => vec![six, four],
    };
    asked.into_iter().map(|ip| SocketAddr::new(ip, listens.port())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let answer = "HTTP/1.0 503 Service Unavailable\r\ncontent-length: 20\r\n\r\nnot ready: it starts";
        assert_eq!(read(answer), Some((503, "not ready: it starts".to_owned())));
        assert!(["", "SSH-2.0-OpenSSH", "HTTP/1.1 200 OK\r\n"].iter().all(|answer| read(answer).is_none()));
    }

    #[test]
    fn a_process_that_listens_everywhere_is_asked_on_the_loopback_interface() {
        let asked = |address: &str| {
            let addresses = reachable(address.parse().unwrap());
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(asked("0.0.0.0:8080"), ["127.0.0.1:8080"]);
        assert_eq!(asked("[::]:8080"), ["[::1]:8080", "127.0.0.1:8080"]);
        assert_eq!(asked("10.0.0.7:8080"), ["10.0.0.7:8080"]);
    }
}
