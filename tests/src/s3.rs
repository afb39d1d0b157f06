//! A private S3 server on 127.0.0.1: the real protocol with signatures, over a temporary folder.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::HarnessError;
use crate::authority::ServerTls;
use crate::names::unique_name;
use crate::supervisor::{Supervisor, new_folder};

/// Settings of an S3 client. Addresses are path-style (`force_path_style`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Config {
    /// `http://127.0.0.1:port`, or that of another server.
    pub endpoint_url: String,
    /// The region that requests are signed for.
    pub region: String,
    /// The public half of the credentials.
    pub access_key: String,
    /// The secret half of the credentials.
    pub secret_key: String,
    /// A bucket that exists.
    pub bucket: String,
}

impl S3Config {
    /// A client of this server, with these credentials.
    #[must_use]
    pub fn client(&self) -> aws_sdk_s3::Client {
        use aws_smithy_http_client::{Builder, tls};
        let https = Builder::new().tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring));
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(https.build_https())
            .endpoint_url(&self.endpoint_url)
            .region(Region::new(self.region.clone()))
            .credentials_provider(Credentials::new(&self.access_key, &self.secret_key, None, None, "regatta-tests"))
            .force_path_style(true)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }
}

/// Makes an empty bucket on the server that `config` names, and returns `config` with it.
///
/// # Errors
/// When the server refuses.
pub async fn create_bucket(config: &S3Config) -> Result<S3Config, HarnessError> {
    // Bucket names have no underscores.
    let bucket = unique_name("regatta").replace('_', "-");
    let created = config.client().create_bucket().bucket(&bucket).send().await;
    created.map_err(HarnessError::refused(format!("create the bucket {bucket}")))?;
    Ok(S3Config { bucket, ..config.clone() })
}

/// Most bytes that are read of what is refused.
const REFUSED_BYTES_MAX: usize = 64 << 20;
/// Path at which MinIO tells anybody that it is ready.
const READY: &str = "/minio/health/ready";
/// Answer of MinIO to whoever writes to a full disk.
const DISK_IS_FULL: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>XMinioStorageFull</Code><Message>Storage backend has \
                            reached its minimum free drive threshold. Please delete a few objects to proceed.</Message></Error>";

/// A running server; dropping it stops it and removes all it stored.
pub struct S3Server {
    config: S3Config,
    service: S3Service,
    is_full: Arc<AtomicBool>,
    runtime: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: Supervisor,
}

impl S3Server {
    /// Starts a server of its own for the caller, with one bucket.
    ///
    /// # Errors
    /// When it cannot listen, or its folder cannot be made.
    pub async fn start() -> Result<Self, HarnessError> {
        let folder = Supervisor::of_folder("S3", new_folder("s3")?)?;
        let (access_key, secret_key) = ("regatta".to_owned(), unique_name("secret"));
        let files = s3s_fs::FileSystem::new(folder.folder()).map_err(|reason| HarnessError::NotReady {
            service: "S3",
            reason: format!("{reason:?}"),
            output: String::new(),
        })?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(access_key.clone(), secret_key.clone()));
        let service = service.build();

        let (listener, port) = listen()?;
        // A thread and a runtime of its own: a server shared by many tests must outlive the runtime of the first.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(HarnessError::io("make a runtime for the S3 server"))?;
        let (stop, mut stopped) = oneshot::channel();
        let handle = runtime.handle().clone();
        let is_full = Arc::new(AtomicBool::new(false));
        let served = (service.clone(), is_full.clone());
        let thread = std::thread::Builder::new().name("s3-server".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = &mut stopped => {}
                    () = serve(listener, None, served.0, served.1) => {}
                }
            });
        });
        let thread = thread.map_err(HarnessError::io("start the thread of the S3 server"))?;

        let config = S3Config {
            endpoint_url: format!("http://127.0.0.1:{port}"),
            region: "us-east-1".to_owned(),
            access_key,
            secret_key,
            bucket: String::new(),
        };
        let config = create_bucket(&config).await?;
        Ok(Self { config, service, is_full, runtime: handle, stop: Some(stop), thread: Some(thread), _folder: folder })
    }

    /// Listens at one more port, with TLS; returns its number.
    ///
    /// # Errors
    /// When it cannot listen, or a certificate is not usable.
    pub fn listen_with_tls(&self, tls: &ServerTls) -> Result<u16, HarnessError> {
        let (acceptor, (listener, port)) = (tls.acceptor()?, listen()?);
        self.runtime.spawn(serve(listener, Some(acceptor), self.service.clone(), self.is_full.clone()));
        Ok(port)
    }

    /// Fills the disk, or makes room again: writes are refused as MinIO does then, and everything can be read.
    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Address, credentials and a first bucket.
    #[must_use]
    pub fn config(&self) -> &S3Config {
        &self.config
    }
}

fn listen() -> Result<(TcpListener, u16), HarnessError> {
    let listen = || -> std::io::Result<(TcpListener, u16)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    };
    listen().map_err(HarnessError::io("listen on 127.0.0.1"))
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, service: S3Service, is_full: Arc<AtomicBool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        // A client that is gone before it is accepted is no trouble of ours.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (service, is_full, tls) = (service.clone(), is_full.clone(), tls.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let is_health_check = request.method() == Method::GET && request.uri().path() == READY;
            let is_refused = request.method() == Method::PUT && is_full.load(Ordering::Relaxed);
            let (service, mut request) = (service.clone(), request.map(s3s::Body::from));
            async move {
                if is_health_check {
                    return Ok(Response::new(s3s::Body::from(String::new())));
                }
                if !is_refused {
                    return service.call(request).await;
                }
                // Whoever is still sending hears no answer. What goes wrong with it is the client's to see.
                let _ = request.body_mut().store_all_limited(REFUSED_BYTES_MAX).await;
                let mut refusal = Response::new(s3s::Body::from(DISK_IS_FULL.to_owned()));
                *refusal.status_mut() = StatusCode::INSUFFICIENT_STORAGE;
                Ok(refusal)
            }
        });
        tokio::spawn(async move {
            // The client sees what went wrong with its connection.
            match tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                    }
                }
                None => {
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                }
            }
        });
    }
}

impl std::fmt::Debug for S3Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Server").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // The thread ends first, so that no request writes into a folder being removed.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
