//! `regatta health`: ask a process on this machine whether it is ready. Probes of containers without a shell run it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use crate::args::HealthArgs;
use crate::output;

/// A process that does not answer within this time is not ready.
const PATIENCE: Duration = Duration::from_secs(4);

pub(crate) async fn run(args: HealthArgs) -> anyhow::Result<ExitCode> {
    crate::embedded::install_tls();
    let path = if args.alive { "healthz" } else { "readyz" };
    let url = format!("http://{}/{path}", reachable(args.address));
    let http =
        reqwest::Client::builder().timeout(PATIENCE).no_proxy().build().context("failed to start the HTTP client")?;
    let answer = http.get(&url).send().await.with_context(|| format!("failed to ask {url}; give another --address"))?;
    let status = answer.status();
    let text = answer.text().await.unwrap_or_default();
    if !status.is_success() {
        anyhow::bail!("{url} answered {status}: {text}");
    }
    output::line(&text);
    Ok(ExitCode::SUCCESS)
}

/// A process that listens on all addresses is asked on the loopback interface.
fn reachable(listens: SocketAddr) -> SocketAddr {
    match listens.ip() {
        ip if !ip.is_unspecified() => listens,
        IpAddr::V4(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), listens.port()),
        IpAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), listens.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_listens_everywhere_is_asked_on_the_loopback_interface() {
        let asked = |address: &str| reachable(address.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(asked("[::]:8080"), "[::1]:8080");
        assert_eq!(asked("10.0.0.7:8080"), "10.0.0.7:8080");
    }
}
