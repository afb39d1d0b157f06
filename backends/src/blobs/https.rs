//! HTTPS to a store with authorities of its own or that asks for a certificate: the SDK's own client can show none.

use std::error::Error as _;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;

/// A pool of connections.
#[derive(Debug, Clone)]
struct Pool(Client<HttpsConnector<TcpConnector>, SdkBody>);

/// A client whose connections are encrypted as `tls` says; one takes at most `connect_max` to come about.
pub(super) fn client(tls: ClientConfig, connect_max: Duration) -> SharedHttpClient {
    let mut tcp = TcpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_max));
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
    let pool = SharedHttpConnector::new(Pool(Client::builder(TokioExecutor::new()).build(https)));
    http_client_fn(move |_: &HttpConnectorSettings, _: &_| pool.clone())
}

impl HttpConnector for Pool {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let answer = self.0.request(request);
        HttpConnectorFuture::new(async move {
            let response = answer.await.map_err(failed)?.map(SdkBody::from_body_1_x);
            HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Error of a connection. One that was never made, or that ended before the request was sent, is marked as such, so that the SDK tries
/// again.
fn failed(error: Error) -> ConnectorError {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    let never_connected = error.is_connect() || cause.is_some_and(hyper::Error::is_canceled);
    let error = ConnectorError::io(error.into());
    if never_connected { error.never_connected() } else { error }
}
