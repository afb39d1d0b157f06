//! Connections, transactions, and the errors after which a transaction is repeated.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::ledger::{LedgerError, StoreError};
use crate::tls::{CertificateFiles, is_this_machine, taken_from};

/// Options of a URL that name authorities, a certificate to show, and its key, as libpq calls them.
const CERTIFICATES: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

/// Most tries of a transaction that the server aborted in favour of another one.
const TRIES: u32 = 5;

/// Longest wait for a free connection.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time-out of connecting, per host, with TLS and log-in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Nothing in a transaction waits for anything outside the database, so a longer wait means that a process hangs, or is cut off: its locks
/// are released, before a lease that it may hold in a locked row is over for half as long again. Calls that wait for other locks fail.
const SESSION_SETTINGS: &str = "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '90s'";

/// Connection settings.
#[derive(Clone)]
pub struct PostgresConfig {
    /// `postgres://user:password@host:port/database`. Connections to other machines are encrypted, and the server's certificate and name
    /// are checked, unless `?sslmode=disable` is set; on the same machine only with `?sslmode=require` (`verify-ca` and `verify-full` mean
    /// the same). `sslrootcert=FILE` names authorities (PEM) in place of the system's, `sslcert=FILE&sslkey=FILE` a client certificate.
    pub url: String,
    /// Most connections of this process.
    pub pool_size: usize,
}

impl fmt::Debug for PostgresConfig {
    /// Leaves out the URL, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig").field("pool_size", &self.pool_size).finish_non_exhaustive()
    }
}

/// A failure of a call.
#[derive(Debug)]
pub(crate) enum Fault {
    Postgres(tokio_postgres::Error),
    Ledger(LedgerError),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}
impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}
impl Fault {
    pub(crate) fn during(self, action: &'static str) -> LedgerError {
        match self {
            Self::Postgres(error) => LedgerError::Store { action, source: StoreError::Postgres { source: error } },
            Self::Ledger(error) => error,
        }
    }

    /// `true` if the statement failed only because an earlier one of the transaction had failed.
    fn is_consequence(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
    }

    /// `true` if the server rolled the transaction back because of another one, so that it may succeed at once, and there have not been too
    /// many tries.
    pub(crate) fn is_worth_another(&self, action: &'static str, tried: u32) -> bool {
        let Self::Postgres(error) = self else { return false };
        let collided =
            matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED));
        if collided {
            tracing::debug!(ledger.action = action, ledger.tried = tried, "transaction collided with another one");
        }
        collided && tried < TRIES
    }
}

/// Combines the results of two statements that were sent together. Which of two errors the driver reports first is random, so an error that
/// is only a consequence of the other is ignored.
pub(super) fn both<A, B>(one: Result<A, Fault>, other: Result<B, Fault>) -> Result<(A, B), Fault> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(consequence), Err(reason)) if consequence.is_consequence() => Err(reason),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    }
}

/// The process's connections.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Pool);

impl Connections {
    pub(crate) fn prepare(config: &PostgresConfig) -> Result<(Self, String), LedgerError> {
        let (settings, encryption) = parse(&config.url)?;
        let location = location(&settings);
        let failed = |source| LedgerError::Open { location: location.clone(), source };
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match encryption {
            Some(files) => Manager::from_config(settings, tls(&files).map_err(failed)?, manager),
            None => Manager::from_config(settings, NoTls, manager),
        };
        let settle_in = Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(SESSION_SETTINGS).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(config.pool_size.max(1))
            .wait_timeout(Some(WAIT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .post_create(settle_in)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| failed(StoreError::Pool { source: Box::new(error) }))?;
        Ok((Self(pool), location))
    }

    pub(crate) async fn one(&self, action: &'static str) -> Result<Object, LedgerError> {
        let unavailable = |error| LedgerError::Store { action, source: StoreError::Pool { source: Box::new(error) } };
        self.0.get().await.map_err(unavailable)
    }
}

/// Runs a call outside of a transaction; each statement sees the committed state.
///
/// This and [`write!`] are macros, because a future that holds an async closure is not known to be `Send`.
macro_rules! read {
    ($connections:expr, $action:literal, $client:ident => $call:expr) => {{
        let client = $connections.one($action).await?;
        let $client = &client;
        $call.await.map_err(|fault: Fault| fault.during($action))
    }};
}
pub(crate) use read;

/// Runs a call in a transaction, and repeats it after a conflict with another one. It takes effect as a whole or not at all.
macro_rules! write {
    ($connections:expr, $action:literal, $tx:ident => $call:expr) => {{
        let mut tried = 1;
        loop {
            let mut client = $connections.one($action).await?;
            let call = async {
                let transaction = client.transaction().await?;
                let $tx = &transaction;
                let value = $call.await?;
                transaction.commit().await?;
                Ok::<_, Fault>(value)
            };
            match call.await {
                Err(fault) if fault.is_worth_another($action, tried) => tried += 1,
                result => break result.map_err(|fault| fault.during($action)),
            }
        }
    }};
}
pub(crate) use write;

/// `true` if the server is this machine's own: nobody else is on the way.
fn is_on_this_machine(settings: &Config) -> bool {
    let hosts = settings.get_hosts();
    let is_here = |host: &Host| match host {
        Host::Tcp(name) => is_this_machine(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    hosts.iter().all(is_here) && settings.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The driver's settings, and the certificates to encrypt with; `None` if the connection is not encrypted.
fn parse(url: &str) -> Result<(Config, Option<CertificateFiles>), LedgerError> {
    let (url, files) = taken_from(url, CERTIFICATES);
    // rustls always verifies in full, so the stricter modes, which the driver does not know, need nothing more.
    let known = url.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
    let mut settings: Config = known.parse().map_err(|error| LedgerError::Open {
        location: "of the Postgres URL".to_owned(),
        source: StoreError::Postgres { source: error },
    })?;
    // To the driver a password ends at its first `@`. What follows would be shown as the name of the host.
    let is_cut = |host: &Host| match host {
        Host::Tcp(name) => name.contains('@'),
        #[cfg(unix)]
        Host::Unix(_) => false,
    };
    if settings.get_hosts().iter().any(is_cut) {
        let problem = std::io::Error::other("its user or its password has an `@`; write %40 in place of it");
        return Err(LedgerError::Open { location: "of the Postgres URL".to_owned(), source: problem.into() });
    }
    // By what the driver has read: a password may hold the same words, and a value may be written in several ways.
    let encrypted = match settings.get_ssl_mode() {
        SslMode::Disable => false,
        // Also where the URL says nothing. The driver would let whoever is on the way decide.
        SslMode::Prefer => !is_on_this_machine(&settings),
        // Modes of newer drivers are stricter ones.
        _ => true,
    };
    settings.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
    if settings.get_application_name().is_none() {
        settings.application_name("regatta");
    }
    if settings.get_connect_timeout().is_none() {
        settings.connect_timeout(CONNECT_TIMEOUT);
    }
    Ok((settings, encrypted.then_some(files)))
}

/// `host/database`, for messages; never a password.
fn location(settings: &Config) -> String {
    let hosts: Vec<String> = settings
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    format!("{}/{}", hosts.join(","), settings.get_dbname().unwrap_or_default())
}

fn tls(files: &CertificateFiles) -> Result<MakeRustlsConnect, StoreError> {
    let config = files.client("sslcert and sslkey").map_err(|error| StoreError::Tls { source: error.into() })?;
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn beyond_this_machine_all_is_encrypted_unless_the_url_says_otherwise() {
        const ENCRYPTED: SslMode = SslMode::Require;
        const PLAIN: SslMode = SslMode::Disable;
        let table = [
            // Nothing is said: by where the server is.
            ("postgres://u:p@h/d", ENCRYPTED),
            ("postgres://u:p@10.0.0.5:5432/d", ENCRYPTED),
            ("postgres://u:p@[fd00::5]/d?connect_timeout=3", ENCRYPTED),
            ("postgres://u:p@localhost.example/d", ENCRYPTED),
            ("postgres://u:p@127.0.0.1:5432/d", PLAIN),
            ("postgres://u:p@[::1]/d", PLAIN),
            ("postgres://u:p@localhost/d", PLAIN),
            ("postgres://u:p@%2Frun%2Fpostgresql/d", PLAIN),
            // One host elsewhere is enough.
            ("postgres://u:p@localhost,h/d", ENCRYPTED),
            ("postgres://u:p@localhost/d?hostaddr=10.0.0.5", ENCRYPTED),
            // To prefer encryption is to leave it to whoever is on the way.
            ("postgres://u:p@h/d?sslmode=prefer", ENCRYPTED),
            ("postgres://u:p@h/d?sslmode=pref%65r", ENCRYPTED),
            ("postgres://u:p@localhost/d?sslmode=prefer", PLAIN),
            // What is said counts, wherever the server is.
            ("postgres://u:p@localhost/d?sslmode=require", ENCRYPTED),
            ("postgres://u:p@localhost/d?sslmode=verify-ca", ENCRYPTED),
            ("postgres://u:p@localhost/d?sslmode=verify-full&connect_timeout=3", ENCRYPTED),
            ("postgres://u:p@h/d?connect_timeout=3&sslmode=disable", PLAIN),
            // The words of a password are none of the URL.
            ("postgres://u:sslmode=disable@h/d", ENCRYPTED),
            ("postgres://u:sslmode=@h/d", ENCRYPTED),
            ("postgres://u:p@h/sslmode=x", ENCRYPTED),
            // As words instead of a URL.
            ("host=h user=u dbname=d", ENCRYPTED),
            ("host=h user=u sslmode='prefer'", ENCRYPTED),
            ("host=h user=u sslmode = disable", PLAIN),
            ("host=localhost user=u sslmode = require", ENCRYPTED),
        ];
        for (url, expected) in table {
            let (settings, files) = parse(url).unwrap();
            assert_eq!((settings.get_ssl_mode(), files.is_some()), (expected, expected == ENCRYPTED), "{url}");
        }
    }

    #[test]
    fn a_mode_that_does_not_exist_is_refused() {
        for url in ["postgres://u:secret@h/d?sslmode=allow", "postgres://u:secret@h/d?sslmode="] {
            let error = parse(url).unwrap_err();
            let told = regatta_proto::causes(&error);
            assert!(told.contains("invalid value for option `sslmode`") && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn certificates_are_named_as_libpq_names_them() {
        let url = "postgres://h/d?sslrootcert=/etc/ca.pem&connect_timeout=3&sslcert=%2Fme.pem&sslkey=/me.key";
        let (settings, files) = parse(url).unwrap();
        assert_eq!(settings.get_connect_timeout(), Some(&Duration::from_secs(3)));
        let files = files.unwrap();
        assert_eq!(files.authorities.as_deref(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(
            (files.certificate.as_deref(), files.key.as_deref()),
            (Some(Path::new("/me.pem")), Some(Path::new("/me.key")))
        );
        let error = tls(&files).err().unwrap();
        assert!(format!("{error:?}").contains("/etc/ca.pem"), "{error:?}");
    }

    #[test]
    fn messages_name_host_and_database_and_no_password() {
        let (settings, _) = parse("postgres://me:secret@db.example:5433/regatta").unwrap();
        assert_eq!(location(&settings), "db.example/regatta");
        let config = PostgresConfig { url: "postgres://me:secret@h/d".to_owned(), pool_size: 3 };
        assert!(!format!("{config:?}").contains("secret"));
    }

    #[test]
    fn a_password_in_which_a_character_is_not_escaped_is_refused_and_no_part_of_it_told() {
        for url in ["postgres://me:se@cret@h/d", "postgres://me:se@cret@cret@h:5432/d?sslmode=require"] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains("write %40 in place of it") && !error.contains("cret"), "{error}");
        }
        let (settings, _) = parse("postgres://me:se%40cret@h/d").unwrap();
        assert_eq!((settings.get_password(), location(&settings).as_str()), (Some(&b"se@cret"[..]), "h/d"));
    }

    #[test]
    fn a_url_that_is_none_is_refused_without_showing_it() {
        let error = parse("postgres://me:secret@h:notaport/d").unwrap_err().to_string();
        assert!(
            error.starts_with("failed to open the ledger of the Postgres URL: invalid connection string"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}
