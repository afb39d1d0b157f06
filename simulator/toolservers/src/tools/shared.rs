//! State that all requests share, and the tools' answers to them.

use regatta_autoslurp::ServedTools;
use regatta_benchmarks::ToolRequest;
use regatta_proto::Simulation;
use tokio_util::sync::CancellationToken;

use super::delivery::{Delivery, Outcome};
use super::refused::Refused;
use super::sessions::{SessionName, Sessions};

/// State that all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) tools: ServedTools,
    pub(super) simulation: Simulation,
    pub(super) sessions: Sessions,
    pub(super) stopping: CancellationToken,
    /// The port that serves everything.
    #[cfg(feature = "mcp")]
    pub(super) port: u16,
    /// Only this machine can connect.
    #[cfg(feature = "mcp")]
    pub(super) is_local: bool,
}

impl Shared {
    /// Answers a request, logs it, and waits for its latency. `seen` is the URL as the client knows it.
    pub(super) async fn play(
        &self,
        session: Option<&SessionName>,
        request: ToolRequest,
        seen: &str,
    ) -> Result<Outcome, Refused> {
        let admitted = self.sessions.admit(session)?;
        let Delivery { delay, outcome } = Delivery::draw(&self.simulation, &admitted, self.tools.answer(&request));
        self.sessions.log(session, &admitted, outcome.exchange(&request.method, seen, request.body.as_deref()));
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        Ok(outcome)
    }
}
