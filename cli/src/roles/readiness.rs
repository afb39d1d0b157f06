//! `/readyz` of a role: whether it is connected to all it needs, and consumes what it has to; if not, what it waits for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use regatta_backends::Consuming;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Pause after the first look at what a role that starts needs, if something is lacking; it doubles with each further one.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Pause between two looks at the stores.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Longest time that a store may take to answer a look.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// State of a role's start, life and end; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness(Arc<Mutex<State>>);

#[derive(Debug, Clone, Default)]
struct State {
    /// Names what the role lacks; empty when it has everything.
    lacks: Lacks,
    /// Routes that are served once the role has what they need.
    routes: Option<axum::Router>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Lacks {
    Nothing,
    Something(String),
}

impl Default for Lacks {
    fn default() -> Self {
        Self::Something("it starts".to_owned())
    }
}

impl Readiness {
    /// The role lacks something; `why` completes the sentence "not ready: ".
    pub(crate) fn lacks(&self, why: impl Into<String>) {
        self.change(|state| state.lacks = Lacks::Something(why.into()));
    }

    /// The role works, and serves `routes` too. It is ready after the first look at its stores ([`Self::follow`]).
    pub(crate) fn works(&self, routes: axum::Router) {
        let lacks = Lacks::Something("it looks at its stores".to_owned());
        self.change(|state| *state = State { lacks, routes: Some(routes) });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> State {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `/readyz` alone.
    pub(crate) fn probe(&self) -> axum::Router {
        let ready = self.clone();
        axum::Router::new().route("/readyz", get(move || async move { ready.answer() }))
    }

    /// `/readyz`, and whatever the role serves once it works.
    pub(crate) fn routes(&self) -> axum::Router {
        let late = self.clone();
        self.probe().fallback(move |request: Request| async move { late.serve(request).await })
    }

    fn answer(&self) -> Response {
        match self.state().lacks {
            Lacks::Nothing => "ready".into_response(),
            Lacks::Something(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}")).into_response(),
        }
    }

    async fn serve(&self, request: Request) -> Response {
        match self.state().routes {
            // A router never fails.
            Some(routes) => routes.oneshot(request).await.into_response(),
            None => self.answer(),
        }
    }

    /// Looks again and again whether the stores answer, until `leaving` fires; from then on the role is not ready any more.
    pub(crate) async fn follow<F>(self, leaving: CancellationToken, look: F)
    where
        F: Fn() -> BoxFuture<'static, anyhow::Result<()>>,
    {
        let mut pause = LOOK_AGAIN_AFTER;
        loop {
            let looked = tokio::time::timeout(LOOK_TIMEOUT, look());
            let Some(looked) = leaving.run_until_cancelled(looked).await else { return self.lacks("it leaves") };
            let looked = looked
                .unwrap_or_else(|_| Err(anyhow::anyhow!("a store did not answer within {} s", LOOK_TIMEOUT.as_secs())));
            match looked {
                Ok(()) => {
                    self.change(|state| state.lacks = Lacks::Nothing);
                    pause = LOOK_EVERY;
                }
                Err(error) => self.lacks(regatta_proto::causes(error.as_ref())),
            }
            if leaving.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return self.lacks("it leaves");
            }
            pause = (pause * 2).min(LOOK_EVERY);
        }
    }
}

/// Fails unless a role consumes all that it has to.
pub(crate) fn all_is_consumed(consuming: &Consuming) -> anyhow::Result<()> {
    match consuming.missing() {
        Some(missing) => Err(anyhow::anyhow!(missing)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, to_bytes};
    use regatta_backends::Subscriptions;

    async fn ask(readiness: &Readiness, path: &str) -> (u16, String) {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let response = readiness.routes().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        (status, String::from_utf8(to_bytes(response.into_body(), 1000).await.unwrap().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_role_is_ready_when_it_works_and_says_before_what_it_waits_for() {
        let readiness = Readiness::default();
        assert_eq!(ask(&readiness, "/readyz").await, (503, "not ready: it starts".to_owned()));
        readiness.lacks("waiting for RabbitMQ: connection refused");
        assert_eq!(ask(&readiness, "/v1/sweeps").await.1, "not ready: waiting for RabbitMQ: connection refused");
        readiness.works(axum::Router::new().route("/v1/sweeps", get(|| async { "[]" })));
        assert_eq!(ask(&readiness, "/readyz").await, (503, "not ready: it looks at its stores".to_owned()));
        assert_eq!(ask(&readiness, "/v1/sweeps").await, (200, "[]".to_owned()));
        assert_eq!(ask(&readiness, "/elsewhere").await.0, 404);
        let leaving = CancellationToken::new();
        let following = readiness.clone().follow(leaving.clone(), || Box::pin(async { Ok(()) }));
        let (_, readyz) = tokio::join!(following, async {
            tokio::task::yield_now().await;
            let readyz = ask(&readiness, "/readyz").await;
            leaving.cancel();
            readyz
        });
        assert_eq!(readyz, (200, "ready".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_that_has_not_begun_to_consume_is_looked_at_again_soon_and_says_what_it_lacks() {
        let (readiness, leaving) = (Readiness::default(), CancellationToken::new());
        readiness.works(axum::Router::new());
        let consuming = Consuming::awaiting("reports");
        let look = {
            let consuming = consuming.clone();
            move || -> BoxFuture<'static, anyhow::Result<()>> {
                let consuming = consuming.clone();
                Box::pin(async move { all_is_consumed(&consuming) })
            }
        };
        let following = tokio::spawn(readiness.clone().follow(leaving.clone(), look));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(
            ask(&readiness, "/readyz").await,
            (503, "not ready: reports: not consumed: it has not begun".to_owned())
        );
        consuming.consumes("reports", Subscriptions::default());
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        assert_eq!(ask(&readiness, "/readyz").await.0, 200);
        consuming.lacks("reports", "the broker refuses".to_owned());
        tokio::time::sleep(LOOK_EVERY).await;
        let refused = (503, "not ready: reports: not consumed: the broker refuses".to_owned());
        assert_eq!(ask(&readiness, "/readyz").await, refused);
        leaving.cancel();
        following.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_whose_store_goes_away_is_not_ready_until_it_is_back_and_serves_meanwhile() {
        let readiness = Readiness::default();
        readiness.works(axum::Router::new().route("/v1/sweeps", get(|| async { "[]" })));
        let (leaving, is_away) = (CancellationToken::new(), Arc::new(Mutex::new(true)));
        let look = {
            let is_away = is_away.clone();
            move || -> BoxFuture<'static, anyhow::Result<()>> {
                let is_away = *is_away.lock().unwrap();
                Box::pin(async move { if is_away { Err(anyhow::anyhow!("the ledger is away")) } else { Ok(()) } })
            }
        };
        let following = tokio::spawn(readiness.clone().follow(leaving.clone(), look));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(ask(&readiness, "/readyz").await, (503, "not ready: the ledger is away".to_owned()));
        assert_eq!(ask(&readiness, "/v1/sweeps").await.0, 200);
        *is_away.lock().unwrap() = false;
        tokio::time::sleep(LOOK_EVERY).await;
        assert_eq!(ask(&readiness, "/readyz").await.0, 200);
        leaving.cancel();
        following.await.unwrap();
        assert_eq!(ask(&readiness, "/readyz").await, (503, "not ready: it leaves".to_owned()));
    }
}
