//! Configuration of a private RabbitMQ node and its command line tool: folders, ports, names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::HarnessError;
use crate::authority::ServerTls;
use crate::names::unique_name;
use crate::port::Port;

/// Of the broker's user; unlike any other word, so that a search finds it wherever it was written down.
pub(crate) const PASSWORD: &str = "broker5b1e0c47password";
/// Folders in which the server's own start script may lie. The wrapper on the `PATH` of Debian insists on the user `rabbitmq` and on
/// system folders, so it is the last choice.
const SCRIPTS: [&str; 2] = ["/usr/lib/rabbitmq/bin", "/usr/lib/rabbitmq/lib"];

/// Keeps Erlang nodes from listening on every address of the machine.
const LISTEN_HERE: &str = "-kernel inet_dist_use_interface {127,0,0,1}";

/// Two schedulers are plenty, and ones that do not spin leave the processors to the tests.
const SMALL: &str = "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none";

/// A node's name, programs and ports.
#[derive(Debug)]
pub(crate) struct Node {
    name: String,
    server: PathBuf,
    /// Port for clients.
    amqp: Port,
    /// Port for clients with TLS, if there is TLS.
    amqps: Port,
    /// Port that the tool connects to.
    node: Port,
    /// Port that the tool listens on while it works.
    tool: Port,
    /// Port of Erlang's port mapper.
    mapper: Port,
}

impl Node {
    /// A node with a name and ports that no other has.
    ///
    /// # Errors
    /// When RabbitMQ is not installed, or no port is free.
    pub(crate) fn new() -> Result<Self, HarnessError> {
        let server = find_server()
            .ok_or(HarnessError::NotInstalled { service: "RabbitMQ", variable: "REGATTA_TEST_AMQP_URL" })?;
        let name = format!("{}@localhost", unique_name("regatta"));
        let (amqp, amqps) = (Port::reserve()?, Port::reserve()?);
        let (node, tool, mapper) = (Port::reserve()?, Port::reserve()?, Port::reserve()?);
        Ok(Self { name, server, amqp, amqps, node, tool, mapper })
    }

    /// Port for clients.
    pub(crate) fn amqp_port(&self) -> u16 {
        self.amqp.number()
    }

    /// Port for clients with TLS.
    pub(crate) fn tls_port(&self) -> u16 {
        self.amqps.number()
    }

    /// Port on which Erlang's port mapper has to listen before the node starts.
    pub(crate) fn mapper_port(&self) -> u16 {
        self.mapper.number()
    }

    /// Writes the configuration that [`Node::server_command`] names.
    ///
    /// # Errors
    /// When `folder` cannot be written to.
    pub(crate) fn configure(&self, folder: &Path, tls: Option<&ServerTls>) -> Result<(), HarnessError> {
        // The memory limit is absolute, or 40 % of a large machine would be one test's; the log of a quorum queue is
        // small, for the broker keeps it in memory. A disk with little space left must not block publishers. The time-out of consumers
        // is that of `deploy/rabbitmq.conf`.
        let mut config = format!(
            "listeners.tcp.local = 127.0.0.1:{}\n\
             default_user = regatta\n\
             default_pass = {PASSWORD}\n\
             vm_memory_high_watermark.absolute = 1GB\n\
             disk_free_limit.absolute = 50MB\n\
             consumer_timeout = 1800000\n\
             raft.wal_max_size_bytes = 16777216\n\
             log.file = false\n\
             log.console = true\n\
             log.console.level = info\n",
            self.amqp_port()
        );
        if let Some(ServerTls { identity, client_authority }) = tls {
            config.push_str(&format!(
                "listeners.ssl.local = 127.0.0.1:{}\n\
                 ssl_options.certfile = {}\n\
                 ssl_options.keyfile = {}\n",
                self.tls_port(),
                identity.certificate.display(),
                identity.key.display(),
            ));
            if let Some(authority) = client_authority {
                config.push_str(&format!(
                    "ssl_options.cacertfile = {}\n\
                     ssl_options.verify = verify_peer\n\
                     ssl_options.fail_if_no_peer_cert = true\n",
                    authority.display(),
                ));
            }
        }
        for (name, text) in
            [("rabbitmq.conf", config.as_str()), ("enabled_plugins", "[].\n"), ("rabbitmq-env.conf", "")]
        {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(HarnessError::io(format!("write {}", path.display())))?;
        }
        Ok(())
    }

    /// Runs the broker in the foreground.
    pub(crate) fn server_command(&self, folder: &Path) -> Command {
        let mut command = self.command(&self.server, folder);
        command
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", format!("{LISTEN_HERE} {SMALL}"))
            // Makes the script replace itself by the Erlang machine, so that signals reach that one.
            .env("RUNNING_UNDER_SYSTEMD", "true");
        command
    }

    /// Runs `rabbitmqctl` against the running broker; one at a time.
    pub(crate) fn tool_command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.named_tool_command("rabbitmqctl", folder);
        command.args(arguments);
        command
    }

    /// The same of any tool, as `rabbitmq-diagnostics`; they lie beside the server.
    pub(crate) fn named_tool_command(&self, tool: &str, folder: &Path) -> Command {
        let mut command = self.command(&self.server.with_file_name(tool), folder);
        command.env("RABBITMQ_CTL_ERL_ARGS", LISTEN_HERE);
        command
    }

    fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        clear_environment(&mut command);
        command
            .env("HOME", folder) // The Erlang cookie lies there.
            .env("ERL_EPMD_PORT", self.mapper.number().to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", &self.name)
            .env("RABBITMQ_DIST_PORT", self.node.number().to_string())
            .env("RABBITMQ_CTL_DIST_PORT_MIN", self.tool.number().to_string())
            .env("RABBITMQ_CTL_DIST_PORT_MAX", self.tool.number().to_string())
            .env("RABBITMQ_CONF_ENV_FILE", folder.join("rabbitmq-env.conf"))
            .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"))
            .env("RABBITMQ_CONFIG_FILES", folder.join("conf.d"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", folder.join("advanced.config"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"))
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_LOG_BASE", folder.join("log"))
            .env("RABBITMQ_SCHEMA_DIR", folder.join("schema"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", folder.join("config"))
            .env("RABBITMQ_PID_FILE", folder.join("pid"));
        command
    }
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

/// Keeps a broker of the machine, configured by environment, out of ours.
pub(crate) fn clear_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["RABBITMQ_", "ERL_", "NOTIFY_SOCKET", "RUNNING_UNDER_SYSTEMD"].iter().any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
}
