//! Steering of a deployment's sweeps from their pages. Whoever serves these decides who may, and has it done: pages know neither owners nor rights.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, StatusCode};
use futures::future::BoxFuture;
use regatta_proto::{EndpointName, Money, OwnerName, SweepId};

use crate::access;

/// Credentials that came with a request for a page.
pub struct Asker {
    /// The token of the header or the cookie.
    pub token: Option<String>,
    /// Extensions of the request, among which a listener may have put a client certificate.
    pub extensions: Extensions,
}

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self { token: access::given(&parts.headers), extensions: parts.extensions.clone() })
    }
}

/// A change of a sweep that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Begin nothing more of it.
    Pause,
    /// Go on with it, if it is paused or has ended, and set its budget to `budget` if one is given.
    Resume {
        /// The whole budget from now on.
        budget: Option<Money>,
    },
    /// Make at most `calls` calls at once at `endpoint`; `None` is as many as the spec allows.
    Throttle {
        /// Name of the endpoint in the spec.
        endpoint: EndpointName,
        /// Most calls at once.
        calls: Option<u32>,
    },
    /// End it.
    Cancel,
}

/// An order that was not obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Status of the answer.
    pub status: StatusCode,
    /// A sentence that says why.
    pub reason: String,
}

/// Steers sweeps for people who look at their pages.
pub trait Steering: Send + Sync {
    /// `true` if `asker` may steer sweeps of `owner`, so that the page of one shows forms.
    fn allows<'a>(&'a self, asker: &'a Asker, owner: Option<&'a OwnerName>) -> BoxFuture<'a, bool>;

    /// Does what `order` says, if `asker` may, and notes who asked for it.
    ///
    /// # Errors
    /// When `asker` may not, the sweep does not allow it, or a store fails.
    fn steer<'a>(
        &'a self,
        asker: &'a Asker,
        sweep: &'a SweepId,
        order: &'a Order,
    ) -> BoxFuture<'a, Result<(), Refused>>;
}
