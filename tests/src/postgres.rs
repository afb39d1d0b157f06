//! A private PostgreSQL: a cluster of its own in a temporary folder, on 127.0.0.1 only.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio_postgres::NoTls;

use crate::HarnessError;
use crate::authority::ServerTls;
use crate::names::unique_name;
use crate::port::Port;
use crate::supervisor::{Supervisor, new_folder};

/// A port found free may be taken before the service has it.
const START_ATTEMPTS: u32 = 3;

/// Folder in which Debian keeps the programs of each major version; the newest wins over what is on the `PATH`.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A crash of the machine may lose everything, so nothing waits for the disk. Shared memory lies in the folder and not in
/// `/dev/shm`, where it would stay when the server is killed.
const SETTINGS: [&str; 9] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "shared_buffers=32MB",
    "dynamic_shared_memory_type=mmap",
    "timezone=UTC",
];

/// A running server; dropping it stops it and removes all it wrote.
#[derive(Debug)]
pub struct Postgres {
    server: Supervisor,
    port: Port,
    user: ServerUser,
}

impl Postgres {
    /// Starts a server of its own for the caller, and returns when it answers queries.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not come up.
    pub async fn start() -> Result<Self, HarnessError> {
        Self::start_as(None).await
    }

    /// The same; who connects with TLS gets it as `tls` says, and needs a certificate where that names an authority.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not come up.
    pub async fn start_with_tls(tls: &ServerTls) -> Result<Self, HarnessError> {
        Self::start_as(Some(tls)).await
    }

    async fn start_as(tls: Option<&ServerTls>) -> Result<Self, HarnessError> {
        let programs = find_programs()
            .ok_or(HarnessError::NotInstalled { service: "PostgreSQL", variable: "REGATTA_TEST_POSTGRES_URL" })?;
        let mut attempt = 1;
        loop {
            match Self::try_start(&programs, tls).await {
                Err(HarnessError::NotReady { .. }) if attempt < START_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_start(programs: &Path, tls: Option<&ServerTls>) -> Result<Self, HarnessError> {
        let port = Port::reserve()?;
        let folder = new_folder("postgres")?;
        let data = folder.join("data");
        let user = ServerUser::for_folder(&folder)?;

        let mut command = user.command(&programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-p").arg(port.number().to_string());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if tls.is_some() {
            for (setting, file) in [("cert", "server.pem"), ("key", "server.key"), ("ca", "clients.pem")] {
                command.arg("-c").arg(format!("ssl_{setting}_file={}", folder.join(file).display()));
            }
            command.args(["-c", "ssl=on"]);
        }
        // From here on the folder is looked after. SIGQUIT is the server's way to stop at once with all its processes.
        let server = Supervisor::new("PostgreSQL", folder, "QUIT", command)?;
        initialise(programs, &user, server.folder(), &data).await?;
        let started = Self { server, port, user };
        if let Some(tls) = tls {
            started.write_tls(tls)?;
        }
        started.server.start().await?;
        let url = started.url();
        started.server.ready(async || tokio_postgres::connect(&url, NoTls).await.is_ok()).await?;
        Ok(started)
    }

    /// `postgres://user:password@127.0.0.1:port/postgres`: a superuser, on the database that is always there.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://regatta:regatta@127.0.0.1:{}/postgres", self.port.number())
    }

    /// Has the server, which was started with TLS, show and ask for something else from now on.
    ///
    /// # Errors
    /// When it does not come up again.
    pub async fn show(&self, tls: &ServerTls) -> Result<(), HarnessError> {
        self.write_tls(tls)?;
        self.kill().await?;
        self.restart().await
    }

    fn write_tls(&self, tls: &ServerTls) -> Result<(), HarnessError> {
        let folder = self.server.folder();
        let authority = tls.client_authority.as_ref();
        let files = [
            ("server.pem", &tls.identity.certificate),
            ("server.key", &tls.identity.key),
            ("clients.pem", authority.unwrap_or(&tls.identity.certificate)),
        ];
        for (name, from) in files {
            let place = folder.join(name);
            let written = std::fs::copy(from, &place)
                .and_then(|_| std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o600)));
            written.map_err(HarnessError::io(format!("write {}", place.display())))?;
            self.user.give(&place)?;
        }
        let certificate = if authority.is_some() { "clientcert=verify-ca" } else { "" };
        let rules = format!(
            "hostssl all all 127.0.0.1/32 scram-sha-256 {certificate}\nhostnossl all all 127.0.0.1/32 scram-sha-256\n"
        );
        let place = folder.join("data/pg_hba.conf");
        std::fs::write(&place, rules).map_err(HarnessError::io(format!("write {}", place.display())))
    }

    /// Number of the port that the server listens at.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// A program of PostgreSQL's clients, as `pg_isready`. It finds this server's port by `PGPORT`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed.
    pub fn client(&self, name: &str) -> Result<tokio::process::Command, HarnessError> {
        let mut command = tokio::process::Command::new(client_program(name)?);
        command.env("PGPORT", self.port().to_string()).stdin(Stdio::null()).kill_on_drop(true);
        Ok(command)
    }

    /// Ends the server at once, as a crash would. What it committed is there after [`Postgres::restart`].
    ///
    /// # Errors
    /// When the shell that looks after the server is gone.
    pub async fn kill(&self) -> Result<(), HarnessError> {
        self.server.stop("QUIT").await
    }

    /// Starts the server again after [`Postgres::kill`], and returns when it answers queries.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn restart(&self) -> Result<(), HarnessError> {
        self.server.start().await?;
        let url = self.url();
        self.server.ready(async || tokio_postgres::connect(&url, NoTls).await.is_ok()).await
    }
}

/// Makes an empty database on the server that `url` names, and returns its URL.
///
/// # Errors
/// When the server refuses.
pub async fn create_database(url: &str) -> Result<String, HarnessError> {
    copy_database(url, "template0").await
}

/// Makes a copy of the database `template`, to which nobody is connected, on the server that `url` names, and returns its URL.
///
/// # Errors
/// When the server refuses.
pub(crate) async fn copy_database(url: &str, template: &str) -> Result<String, HarnessError> {
    let name = unique_name("regatta");
    let action = format!("create the database {name}");
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(HarnessError::refused(&action))?;
    let connection = tokio::spawn(connection);
    let created = client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
    created.map_err(HarnessError::refused(&action))?;
    drop(client);
    // The connection ends by itself with its client; what it returns adds nothing to what the query said.
    let _ = connection.await;
    Ok(with_database(url, &name))
}

/// The same URL with another database; what follows a `?` stays.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, ""), |(address, _)| (address, &url[address.len()..]));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    format!("{}/{name}{options}", &address[..end])
}

/// User that the server runs as: ourselves or, since it refuses to run as root, a user without rights.
#[derive(Debug)]
enum ServerUser {
    Ourselves,
    Other { name: &'static str, uid: u32, gid: u32 },
}

impl ServerUser {
    fn for_folder(folder: &Path) -> Result<Self, HarnessError> {
        // Who owns a folder that we just made, is who we are.
        let metadata = std::fs::metadata(folder).map_err(HarnessError::io(format!("look at {}", folder.display())))?;
        if metadata.uid() != 0 {
            return Ok(Self::Ourselves);
        }
        let users = std::fs::read_to_string("/etc/passwd").map_err(HarnessError::io("read /etc/passwd"))?;
        let found = ["postgres", "nobody"].into_iter().find_map(|name| {
            let mut fields =
                users.lines().map(|line| line.split(':')).find(|line| line.clone().next() == Some(name))?;
            let uid = fields.nth(2)?.parse().ok()?;
            Some(Self::Other { name, uid, gid: fields.next()?.parse().ok()? })
        });
        let missing = || std::io::Error::other("neither `postgres` nor `nobody` is in /etc/passwd");
        found.ok_or_else(|| HarnessError::io("find a user to run PostgreSQL as, which refuses root")(missing()))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = match self {
            Self::Ourselves => Command::new(program),
            Self::Other { uid, gid, .. } => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
                command.arg("--").arg(program);
                command
            }
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(&name);
            }
        }
        command.env("LC_ALL", "C");
        command
    }

    fn give(&self, path: &Path) -> Result<(), HarnessError> {
        let Self::Other { name, uid, gid } = self else { return Ok(()) };
        let given = std::os::unix::fs::chown(path, Some(*uid), Some(*gid));
        given.map_err(HarnessError::io(format!("give {} to the user {name}", path.display())))
    }
}

async fn initialise(programs: &Path, user: &ServerUser, folder: &Path, data: &Path) -> Result<(), HarnessError> {
    let password = folder.join("password");
    let prepare = || -> std::io::Result<()> {
        std::fs::create_dir(data)?;
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700))?;
        std::fs::write(&password, "regatta\n")
    };
    prepare().map_err(HarnessError::io(format!("prepare {}", data.display())))?;
    user.give(data)?;
    user.give(&password)?;

    let mut initdb = user.command(&programs.join("initdb"));
    initdb.arg("-D").arg(data).arg("--pwfile").arg(&password).args([
        "--username=regatta",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    let mut initdb = tokio::process::Command::from(initdb);
    let run = initdb.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = run.map_err(HarnessError::io(format!("run {}", programs.join("initdb").display())))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(HarnessError::NotReady {
        service: "PostgreSQL",
        reason: format!("initdb ended with {}", output.status),
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// A program of PostgreSQL's clients, of the version of the servers that are started here.
///
/// # Errors
/// When PostgreSQL is not installed.
pub(crate) fn client_program(name: &str) -> Result<PathBuf, HarnessError> {
    let programs = find_programs();
    let missing = HarnessError::NotInstalled { service: "PostgreSQL", variable: "REGATTA_TEST_POSTGRES_URL" };
    programs.map(|folder| folder.join(name)).ok_or(missing)
}

/// The folder with `initdb` and `postgres`: of the newest version that Debian installed, or on the `PATH`.
fn find_programs() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(VERSIONS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let newest_first = versions.into_iter().rev().map(|(_, folder)| folder);
    newest_first.chain(on_path).find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_a_url_changes() {
        let cases = [
            ("postgres://u:p@h:1/a", "postgres://u:p@h:1/new"),
            ("postgres://u:p@h:1/a?sslmode=disable", "postgres://u:p@h:1/new?sslmode=disable"),
            ("postgres://h", "postgres://h/new"),
            ("postgresql://h?connect_timeout=1", "postgresql://h/new?connect_timeout=1"),
        ];
        for (url, expected) in cases {
            assert_eq!(with_database(url, "new"), expected);
        }
    }
}
