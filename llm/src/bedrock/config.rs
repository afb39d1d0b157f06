//! Builds the SDK's client from an endpoint's spec.

use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{Credentials, StalledStreamProtectionConfig};
use aws_sdk_bedrockruntime::{Client, config};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::auth::AuthSchemeId;
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use regatta_proto::{EndpointName, EndpointSpec, Timeouts};
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::open::{headers, shown};
use crate::open_error::OpenError;
use crate::policy::{AllowedAddresses, EgressRules, Origin, OutboundPolicy, Withheld};
use crate::secret::Secret;

/// Region for gateways and other services that are not AWS, which need none.
const USUAL_REGION: &str = "us-east-1";

/// The variable with the secret key that signs requests.
const KEY: &str = "AWS_SECRET_ACCESS_KEY";
/// The variable with a key of Bedrock's own, which the SDK takes in place of a signature and sends as it is.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
/// The SDK's name of signatures.
const SIGNATURE: &str = "sigv4";

/// Settings of the SDK's client.
#[derive(Debug)]
pub(super) struct Settings {
    address: Option<String>,
    region: Option<String>,
    /// Credentials from the environment; `None` lets the SDK look where AWS's tools look.
    credentials: Option<Credentials>,
    /// Headers of every request, besides the SDK's own.
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
    /// Rules for the address of a spec. Those of AWS itself may lead anywhere, as into a network of one's own.
    egress: Option<Arc<EgressRules>>,
    /// Requests are signed, whatever other key there is: to an address of a spec goes none that the spec does not name.
    pub(super) signs: bool,
    /// The secret key of `credentials`, and what is sent beside or in place of signatures.
    pub(super) secret: Secret,
}

impl Settings {
    /// # Errors
    /// When the address is invalid, or a header cannot be sent; names the endpoint.
    pub(super) fn new(
        name: &EndpointName,
        spec: &EndpointSpec,
        env: &dyn Fn(&str) -> Option<String>,
        policy: &OutboundPolicy,
    ) -> Result<Self, OpenError> {
        let variable = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let bearer = variable(BEARER);
        let is_named = spec.api_key_env.as_deref() == Some(BEARER);
        if is_named && bearer.is_none() {
            return Err(OpenError::NoKey { endpoint: name.clone(), variable: BEARER.to_owned() });
        }
        if let Some(url) = &spec.base_url {
            let bad = |problem| OpenError::BadAddress { endpoint: name.clone(), url: shown(url), problem };
            let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err(bad(format!("its scheme is {:?}", parsed.scheme())));
            }
            policy
                .egress
                .check_url(&parsed)
                .map_err(|problem| OpenError::Unreachable { endpoint: name.clone(), problem })?;
            let origin = Origin::of(&parsed).ok_or_else(|| bad("it names no host".to_owned()))?;
            let (endpoint, key) = (name.clone(), if is_named { BEARER } else { KEY });
            let variable = key.to_owned();
            match policy.check_key(key, &origin, false) {
                Err(Withheld::Unbound) => return Err(OpenError::KeyWithheld { endpoint, variable, origin }),
                Err(Withheld::InTheClear) if is_named => {
                    return Err(OpenError::KeyInTheClear { endpoint, variable, origin });
                }
                // The secret that signs is never sent itself. A signed request can be forwarded to AWS, so that it needs a rule.
                Ok(()) | Err(Withheld::InTheClear) => {}
            }
        }
        let region = spec.region.clone().or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
        let secret_key = variable(KEY);
        let session = variable("AWS_SESSION_TOKEN");
        let credentials = variable("AWS_ACCESS_KEY_ID")
            .zip(secret_key.clone())
            .map(|(id, secret)| Credentials::new(id, secret, session.clone(), None, "environment of the endpoint"));
        let others = [session.as_deref(), bearer.as_deref()];
        Ok(Self {
            address: spec.base_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
            // Outside of AWS, the SDK's look-up of the region at the instance service takes seconds.
            region: region.or_else(|| spec.base_url.is_some().then(|| USUAL_REGION.to_owned())),
            credentials,
            headers: headers(name, spec)?,
            timeouts: spec.timeouts,
            egress: spec.base_url.is_some().then(|| Arc::clone(&policy.egress)),
            signs: spec.base_url.is_some() && !is_named,
            secret: secret_key.map(Secret::new).unwrap_or_default().beside(others.into_iter().flatten()),
        })
    }

    /// Creates the client, with the SDK's retries off, because Regatta retries.
    ///
    /// # Errors
    /// When the region is unknown.
    pub(super) async fn client(&self) -> Result<Client, String> {
        let millis = Duration::from_millis;
        let http = || aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring));
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http().build_https())
            .retry_config(RetryConfig::disabled())
            // A model may think for long between two tokens, so only the time-outs of the spec apply.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(millis(self.timeouts.connect_ms))
                    .read_timeout(millis(self.timeouts.first_byte_ms))
                    .build(),
            );
        if let Some(region) = &self.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(credentials) = &self.credentials {
            loader = loader.credentials_provider(credentials.clone());
        }
        if let Some(address) = &self.address {
            loader = loader.endpoint_url(address);
        }
        let loaded = loader.load().await;
        if loaded.region().is_none() {
            return Err("no region is known: set region of the endpoint, or AWS_REGION".to_owned());
        }
        let config = config::Builder::from(&loaded);
        let config = if self.signs { config.auth_scheme_preference([AuthSchemeId::from(SIGNATURE)]) } else { config };
        let config = match &self.egress {
            // The client of the service alone: where keys come from is this machine's own matter.
            Some(rules) => {
                config.http_client(http().build_with_resolver(Checked(AllowedAddresses::new(Arc::clone(rules)))))
            }
            None => config,
        };
        Ok(Client::from_conf(config.build()))
    }
}

/// Resolves names for the SDK.
#[derive(Debug, Clone)]
struct Checked(AllowedAddresses);

impl ResolveDns for Checked {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move {
            let found = self.0.of(name).await.map_err(ResolveDnsError::new)?;
            Ok(found.into_iter().map(|address| address.ip()).collect())
        })
    }
}
