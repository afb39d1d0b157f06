//! A private RabbitMQ: own node, own port mapper, own folders, on 127.0.0.1 only.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::HarnessError;
use crate::names::unique_name;
use crate::port::Port;
use crate::supervisor::{Supervisor, new_folder};

/// A port found free may be taken before the service has it.
const START_ATTEMPTS: u32 = 3;

/// The first bytes of an AMQP 0-9-1 connection, by section 4.2.2 of its specification.
const AMQP_HEADER: &[u8] = b"AMQP\x00\x00\x09\x01";

/// Where the server's own start script lies. The wrapper on the `PATH` of Debian insists on the user `rabbitmq` and on
/// system folders, so it is the last choice.
const SCRIPTS: [&str; 2] = ["/usr/lib/rabbitmq/bin", "/usr/lib/rabbitmq/lib"];

/// A running broker; dropping it stops it and removes all it wrote.
#[derive(Debug)]
pub struct RabbitMq {
    broker: Supervisor,
    /// Erlang's port mapper. Left alone, the broker would start one for the whole machine that outlives it.
    _port_mapper: Supervisor,
    ports: Ports,
}

#[derive(Debug)]
struct Ports {
    /// Where clients connect.
    amqp: Port,
    /// Where other nodes and the command line tools would connect.
    node: Port,
    /// Where the port mapper listens.
    mapper: Port,
}

impl RabbitMq {
    /// Starts a broker of its own for the caller, and returns when it accepts connections.
    ///
    /// # Errors
    /// When RabbitMQ is not installed, or does not come up.
    pub async fn start() -> Result<Self, HarnessError> {
        let server = find_server()
            .ok_or(HarnessError::NotInstalled { service: "RabbitMQ", variable: "REGATTA_TEST_AMQP_URL" })?;
        let mut attempt = 1;
        loop {
            match Self::try_start(&server).await {
                Err(HarnessError::NotReady { .. }) if attempt < START_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_start(server: &Path) -> Result<Self, HarnessError> {
        let ports = Ports { amqp: Port::reserve()?, node: Port::reserve()?, mapper: Port::reserve()? };
        let mapper_port = ports.mapper.number();

        let mut epmd = Command::new("epmd");
        epmd.args(["-address", "127.0.0.1", "-port", &mapper_port.to_string()]);
        clear_environment(&mut epmd);
        let port_mapper = Supervisor::new("epmd", new_folder("epmd")?, "KILL", epmd)?;
        port_mapper.start().await?;
        port_mapper.ready(async || TcpStream::connect(("127.0.0.1", mapper_port)).await.is_ok()).await?;

        let folder = new_folder("rabbitmq")?;
        let command = server_command(server, &folder, &ports)?;
        let broker = Supervisor::new("RabbitMQ", folder, "KILL", command)?;
        let started = Self { broker, _port_mapper: port_mapper, ports };
        started.restart().await?;
        Ok(started)
    }

    /// `amqp://user:password@127.0.0.1:port/%2f`: all rights on the default virtual host.
    #[must_use]
    pub fn amqp_url(&self) -> String {
        format!("amqp://regatta:regatta@127.0.0.1:{}/%2f", self.ports.amqp.number())
    }

    /// Shuts the broker down in order. Durable queues and the URL stay the same for [`RabbitMq::restart`].
    ///
    /// # Errors
    /// When the shell that looks after the broker is gone.
    pub async fn stop(&self) -> Result<(), HarnessError> {
        self.broker.stop("TERM").await
    }

    /// Kills the broker as a power failure would. What it confirmed before is there after [`RabbitMq::restart`].
    ///
    /// # Errors
    /// When the shell that looks after the broker is gone.
    pub async fn kill(&self) -> Result<(), HarnessError> {
        self.broker.stop("KILL").await
    }

    /// Starts the broker again after [`RabbitMq::stop`] or [`RabbitMq::kill`], and returns when it accepts connections.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn restart(&self) -> Result<(), HarnessError> {
        self.broker.start().await?;
        self.broker.ready(|| answers_amqp(self.ports.amqp.number())).await
    }
}

/// Whether a broker on this port greets with `Connection.Start`; a port alone may be open long before.
async fn answers_amqp(port: u16) -> bool {
    let greet = async || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(AMQP_HEADER).await?;
        stream.read_u8().await
    };
    // A method frame has type 1; a broker that is not ready closes the connection, or names another protocol version.
    greet().await.is_ok_and(|frame_type| frame_type == 1)
}

fn find_server() -> Option<PathBuf> {
    let [bin, lib] = SCRIPTS;
    let mut unpacked: Vec<PathBuf> = std::fs::read_dir(lib)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("sbin/rabbitmq-server"))
        .collect();
    unpacked.sort();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join("rabbitmq-server"));
    std::iter::once(Path::new(bin).join("rabbitmq-server"))
        .chain(unpacked.into_iter().rev())
        .chain(on_path)
        .find(|path| path.exists())
}

fn server_command(server: &Path, folder: &Path, ports: &Ports) -> Result<Command, HarnessError> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(HarnessError::io(format!("write {}", path.display()))).map(|()| path)
    };
    // The memory limit is absolute, or 40 % of a large machine would be one test's; the log of a quorum queue is small, for
    // the broker maps it whole. A disk with little space left must not block publishers.
    let config = write(
        "rabbitmq.conf",
        &format!(
            "listeners.tcp.local = 127.0.0.1:{}\n\
             default_user = regatta\n\
             default_pass = regatta\n\
             vm_memory_high_watermark.absolute = 1GB\n\
             disk_free_limit.absolute = 50MB\n\
             raft.wal_max_size_bytes = 16777216\n\
             log.file = false\n\
             log.console = true\n\
             log.console.level = info\n",
            ports.amqp.number()
        ),
    )?;
    let plugins = write("enabled_plugins", "[].\n")?;
    let no_environment = write("rabbitmq-env.conf", "")?;

    let mut command = Command::new(server);
    clear_environment(&mut command);
    command
        .env("HOME", folder) // The Erlang cookie lies there.
        .env("ERL_EPMD_PORT", ports.mapper.number().to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_NODENAME", format!("{}@localhost", unique_name("regatta")))
        .env("RABBITMQ_DIST_PORT", ports.node.number().to_string())
        .env("RABBITMQ_CONF_ENV_FILE", no_environment)
        .env("RABBITMQ_CONFIG_FILE", config)
        .env("RABBITMQ_CONFIG_FILES", folder.join("conf.d"))
        .env("RABBITMQ_ADVANCED_CONFIG_FILE", folder.join("advanced.config"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins)
        .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
        .env("RABBITMQ_LOG_BASE", folder.join("log"))
        .env("RABBITMQ_SCHEMA_DIR", folder.join("schema"))
        .env("RABBITMQ_GENERATED_CONFIG_DIR", folder.join("config"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"))
        // Two schedulers are plenty, and ones that do not spin leave the processors to the tests.
        .env(
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        )
        // Makes the script replace itself by the Erlang machine, so that signals reach that one.
        .env("RUNNING_UNDER_SYSTEMD", "true");
    Ok(command)
}

/// Keeps a broker of the machine, configured by environment, out of ours.
fn clear_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["RABBITMQ_", "ERL_", "NOTIFY_SOCKET"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}
