//! Objects in a bucket of S3, or of a service with the same protocol.

use std::error::Error;
use std::time::Duration;

use aws_config::meta::region::RegionProviderChain;
use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{RequestChecksumCalculation, ResponseChecksumValidation};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumAlgorithm;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_types::base64::encode as base64;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use regatta_proto::{Digest, TlsOptions, with_handshake_advice};

use super::key::fault;
use super::{BlobError, DatedObject, LISTED_KEYS_MAX, OBJECT_BYTES_MAX, ObjectStream, https};
use crate::tls::CertificateFiles;

/// Most tries of a request, including the first.
const TRIES: u32 = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time-out of one try. Enough for the largest object at 10 MB/s; a stalled stream is detected earlier.
const TRY_TIMEOUT: Duration = Duration::from_secs(120);
/// Region for services other than AWS, which need none.
const USUAL_REGION: &str = "us-east-1";

/// Location of a store in S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Config {
    /// Name of an existing bucket.
    pub bucket: String,
    /// Prefix of every key, which a `/` follows; may be empty.
    pub prefix: String,
    /// URL of a service other than AWS, as `https://host:port`.
    pub endpoint_url: Option<String>,
    /// Region for signing requests; `None` uses that of the environment or profile.
    pub region: Option<String>,
    /// Puts the bucket into the path instead of the host name; most services other than AWS need it.
    pub path_style: bool,
    /// Authorities in place of the system's, and a certificate to show.
    pub certificates: CertificateFiles,
}

/// A bucket, or a part of one.
#[derive(Debug, Clone)]
pub struct S3Blobs {
    client: Client,
    bucket: String,
    /// Empty, or ending in `/`.
    prefix: String,
}

impl S3Blobs {
    pub(super) async fn new(config: S3Config) -> Result<Self, BlobError> {
        Self::with_loader(config, aws_config::defaults(BehaviorVersion::latest())).await
    }

    /// Like [`Blobs::s3`](super::Blobs::s3), with a loader that may have credentials already.
    ///
    /// # Errors
    /// When bucket or prefix are not allowed.
    pub async fn with_loader(config: S3Config, loader: ConfigLoader) -> Result<Self, BlobError> {
        let S3Config { bucket, prefix, endpoint_url, region, path_style, certificates } = config;
        let trimmed = prefix.trim_matches('/');
        let bad = |reason| BlobError::BadPlace { bucket: bucket.clone(), prefix: prefix.clone(), reason };
        if bucket.is_empty() || bucket.contains('/') {
            return Err(bad("a bucket's name is not empty and has no '/'"));
        }
        if let Some(reason) = fault(trimmed).filter(|_| !trimmed.is_empty()) {
            return Err(bad(reason));
        }
        let regions = RegionProviderChain::first_try(region.map(Region::new));
        let regions = match endpoint_url {
            // Outside of AWS, the SDK's look-up of the region at the instance service takes seconds.
            Some(_) => {
                regions.or_else(aws_config::environment::EnvironmentVariableRegionProvider::new()).or_else(USUAL_REGION)
            }
            None => regions.or_default_provider(),
        };
        let http = if certificates.is_named() {
            https::client(certificates.client("certificate and key of the client")?, CONNECT_TIMEOUT)
        } else {
            let tls = Provider::Rustls(CryptoMode::Ring);
            aws_smithy_http_client::Builder::new().tls_provider(tls).build_https()
        };
        let loader = loader
            .region(regions)
            .http_client(http)
            .retry_config(RetryConfig::standard().with_max_attempts(TRIES))
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(CONNECT_TIMEOUT)
                    .operation_attempt_timeout(TRY_TIMEOUT)
                    .build(),
            );
        let loaded = match endpoint_url {
            Some(url) => loader.endpoint_url(url),
            None => loader,
        };
        // The SDK's default, a CRC in a trailer of every upload, is refused by services that do not support trailers. Uploads carry a
        // SHA-256 in a header instead; see `put`.
        let settings = aws_sdk_s3::config::Builder::from(&loaded.load().await)
            .force_path_style(path_style)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .build();
        let prefix = if trimmed.is_empty() { String::new() } else { format!("{trimmed}/") };
        Ok(Self { client: Client::from_conf(settings), bucket, prefix })
    }

    pub(super) fn place(&self, key: &str) -> String {
        format!("s3://{}/{}{key}", self.bucket, self.prefix)
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), BlobError> {
        let request = self.client.put_object().bucket(&self.bucket).key(self.full(key));
        let request = request.checksum_algorithm(ChecksumAlgorithm::Sha256).body(ByteStream::from(bytes));
        request.send().await.map(drop).map_err(|error| self.failed("write", key, &error))
    }

    pub(super) async fn put_file(&self, key: &str, path: &std::path::Path, digest: &Digest) -> Result<(), BlobError> {
        let body =
            ByteStream::from_path(path).await.map_err(|error| self.refused("read a file for", key, chain(&error)))?;
        let request = self.client.put_object().bucket(&self.bucket).key(self.full(key));
        // Sent in a header, because some servers do not accept checksums after the body.
        let request = request.checksum_sha256(base64(digest.bytes())).body(body);
        request.send().await.map(drop).map_err(|error| self.failed("write", key, &error))
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Bytes>, BlobError> {
        let Some((bytes, body)) = self.request(key).await? else { return Ok(None) };
        if bytes > OBJECT_BYTES_MAX {
            return Err(BlobError::TooLarge { place: self.place(key), bytes, limit: OBJECT_BYTES_MAX });
        }
        let body = body.collect().await;
        let body = body.map_err(|error| self.refused("read", key, chain(&error)))?;
        Ok(Some(body.into_bytes()))
    }

    pub(super) async fn open(&self, key: &str) -> Result<Option<ObjectStream>, BlobError> {
        let Some((bytes, body)) = self.request(key).await? else { return Ok(None) };
        let (store, key) = (self.clone(), key.to_owned());
        let pieces = stream::unfold(body, |mut body| async move { Some((body.next().await?, body)) });
        let pieces = pieces.map(move |piece| piece.map_err(|error| store.refused("read", &key, chain(&error))));
        Ok(Some(ObjectStream { bytes, pieces: pieces.boxed() }))
    }

    /// Size and body of an object; `None` if there is none.
    async fn request(&self, key: &str) -> Result<Option<(u64, ByteStream)>, BlobError> {
        match self.client.get_object().bucket(&self.bucket).key(self.full(key)).send().await {
            Ok(object) => {
                let bytes = u64::try_from(object.content_length().unwrap_or(0)).unwrap_or(0);
                Ok(Some((bytes, object.body)))
            }
            Err(error) if error.as_service_error().is_some_and(|error| error.is_no_such_key()) => Ok(None),
            Err(error) => Err(self.failed("read", key, &error)),
        }
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), BlobError> {
        let request = self.client.delete_object().bucket(&self.bucket).key(self.full(key));
        request.send().await.map(drop).map_err(|error| self.failed("delete", key, &error))
    }

    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>, BlobError> {
        match self.client.head_object().bucket(&self.bucket).key(self.full(key)).send().await {
            Ok(head) => Ok(Some(u64::try_from(head.content_length().unwrap_or(0)).unwrap_or(0))),
            Err(error) if error.as_service_error().is_some_and(|error| error.is_not_found()) => Ok(None),
            Err(error) => Err(self.failed("look at", key, &error)),
        }
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        Ok(self.list_dated(prefix).await?.into_iter().map(|object| object.key).collect())
    }

    pub(super) async fn list_dated(&self, prefix: &str) -> Result<Vec<DatedObject>, BlobError> {
        let request = self.client.list_objects_v2().bucket(&self.bucket).prefix(self.full(prefix));
        let mut pages = request.into_paginator().send();
        let mut objects: Vec<DatedObject> = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.failed("list", prefix, &error))?;
            objects.extend(page.contents.unwrap_or_default().iter().filter_map(|object| {
                let key = object.key()?.strip_prefix(&self.prefix)?.to_owned();
                let bytes = u64::try_from(object.size().unwrap_or(0)).unwrap_or(0);
                let written_at = object.last_modified().and_then(|time| Timestamp::from_second(time.secs()).ok());
                Some(DatedObject { key, bytes, written_at })
            }));
            if objects.len() > LISTED_KEYS_MAX {
                return Err(BlobError::TooMany { place: self.place(prefix), limit: LISTED_KEYS_MAX });
            }
        }
        // S3 sorts keys, but its directory buckets and some other services do not.
        objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn failed<E, R>(&self, action: &'static str, key: &str, error: &SdkError<E, R>) -> BlobError
    where
        E: ProvideErrorMetadata + Error + 'static,
        R: std::fmt::Debug,
    {
        let reason = match (error.code(), error.message()) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (Some(code), None) => code.to_owned(),
            _ => with_handshake_advice(chain(error), TLS_OPTIONS),
        };
        self.refused(action, key, reason)
    }

    fn refused(&self, action: &'static str, key: &str, reason: String) -> BlobError {
        BlobError::S3 { action, place: self.place(key), reason }
    }
}

const TLS_OPTIONS: TlsOptions =
    TlsOptions { authorities: "--s3-ca, or AWS_CA_BUNDLE", identity: Some("--s3-cert and --s3-key") };

/// An error with its causes, because the SDK's own text is just "dispatch failure".
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
