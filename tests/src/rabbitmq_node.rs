//! Configuration of a private RabbitMQ node and its command line tool: folders, ports, names.

use std::ffi::OsString;
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

/// Names a folder in which Debian's packages of RabbitMQ and Erlang are unpacked, as `scripts/rabbitmq` makes it; its server is taken instead of
/// this machine's.
const FOLDER: &str = "REGATTA_TEST_RABBITMQ";

/// Settings that a deployment's broker has.
const SETTINGS: &str = include_str!("../../deploy/rabbitmq.conf");
/// The first version that knows them all. Older ones refuse to start with a setting that they do not know.
const KNOWS_ALL_SETTINGS: (u32, u32) = (3, 13);
/// The setting that they all know.
const KNOWN_TO_ALL: &str = "consumer_timeout ";

/// Keeps Erlang nodes from listening on every address of the machine.
const LISTEN_HERE: &str = "-kernel inet_dist_use_interface {127,0,0,1}";

/// Two schedulers are plenty, and ones that do not spin leave the processors to the tests.
const SMALL: &str = "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none";

/// A node's name, programs and ports.
#[derive(Debug)]
pub(crate) struct Node {
    name: String,
    server: Server,
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
        let server = Server::find()?;
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
        // small, for the broker keeps it in memory. A disk with little space left must not block publishers.
        let mut config = format!(
            "listeners.tcp.local = 127.0.0.1:{}\n\
             default_user = regatta\n\
             default_pass = {PASSWORD}\n\
             vm_memory_high_watermark.absolute = 1GB\n\
             disk_free_limit.absolute = 50MB\n\
             raft.wal_max_size_bytes = 16777216\n\
             log.file = false\n\
             log.console = true\n\
             log.console.level = info\n",
            self.amqp_port()
        );
        let knows_all = self.server.version() >= Some(KNOWS_ALL_SETTINGS);
        for line in SETTINGS.lines().filter(|line| knows_all || line.starts_with(KNOWN_TO_ALL)) {
            config.push_str(line);
            config.push('\n');
        }
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
        let mut command = self.command(&self.server.script, folder);
        command
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", format!("{LISTEN_HERE} {SMALL}"))
            // Makes the script replace itself by the Erlang machine, so that signals reach that one.
            .env("RUNNING_UNDER_SYSTEMD", "true");
        command
    }

    /// Runs Erlang's port mapper in the foreground.
    pub(crate) fn mapper_command(&self) -> Command {
        let mut command = Command::new(self.server.mapper());
        command.args(["-address", "127.0.0.1", "-port", &self.mapper_port().to_string()]);
        clear_environment(&mut command);
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
        let mut command = self.command(&self.server.script.with_file_name(tool), folder);
        command.env("RABBITMQ_CTL_ERL_ARGS", LISTEN_HERE);
        command
    }

    fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        clear_environment(&mut command);
        if let Some(path) = self.server.path() {
            command.env("PATH", path);
        }
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

/// A RabbitMQ that is installed, or unpacked.
#[derive(Debug)]
struct Server {
    /// Start script of the server itself.
    script: PathBuf,
    /// Folder of the programs of its own Erlang; `None` if it takes that of the `PATH`.
    erlang: Option<PathBuf>,
}

impl Server {
    /// The one that the environment names, or else that of this machine.
    fn find() -> Result<Self, HarnessError> {
        match std::env::var_os(FOLDER) {
            Some(folder) => Self::below(Path::new(&folder)),
            None => find_server()
                .map(|script| Self { script, erlang: None })
                .ok_or(HarnessError::NotInstalled { service: "RabbitMQ", variable: "REGATTA_TEST_AMQP_URL" }),
        }
    }

    /// The one that is unpacked in `folder`. Without one there it is an error and not a reason to skip tests: somebody wants that server.
    fn below(folder: &Path) -> Result<Self, HarnessError> {
        let [bin, _] = SCRIPTS;
        let script = folder.join(bin.trim_start_matches('/')).join("rabbitmq-server");
        let erlang = folder.join("usr/bin");
        for program in [&script, &erlang.join("epmd")] {
            let action = format!("find {}, in the folder that {FOLDER} names", program.display());
            std::fs::metadata(program).map_err(HarnessError::io(action))?;
        }
        Ok(Self { script, erlang: Some(erlang) })
    }

    /// Erlang's port mapper.
    fn mapper(&self) -> PathBuf {
        self.erlang.as_ref().map_or_else(|| PathBuf::from("epmd"), |erlang| erlang.join("epmd"))
    }

    /// Folders in which its scripts look for programs; `None` if those of this process do.
    fn path(&self) -> Option<OsString> {
        let mut path = self.erlang.as_ref()?.clone().into_os_string();
        if let Some(others) = std::env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        Some(path)
    }

    /// The first two numbers of its version, by the folder in which its script lies; `None` where that says nothing.
    fn version(&self) -> Option<(u32, u32)> {
        let script = self.script.canonicalize().ok()?;
        let folder = script.parent()?.parent()?.file_name()?.to_str()?;
        let mut numbers = folder.strip_prefix("rabbitmq_server-")?.split('.').map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
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
fn clear_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["RABBITMQ_", "ERL_", "NOTIFY_SOCKET", "RUNNING_UNDER_SYSTEMD"].iter().any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as packages of this version lay it.
    fn unpacked(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path().join(format!("usr/lib/rabbitmq/lib/rabbitmq_server-{version}/sbin"));
        let (bin, programs) = (folder.path().join("usr/lib/rabbitmq/bin"), folder.path().join("usr/bin"));
        for place in [&scripts, &bin, &programs] {
            std::fs::create_dir_all(place).unwrap();
        }
        for program in [scripts.join("rabbitmq-server"), programs.join("epmd")] {
            std::fs::write(program, "").unwrap();
        }
        std::os::unix::fs::symlink(scripts.join("rabbitmq-server"), bin.join("rabbitmq-server")).unwrap();
        folder
    }

    #[test]
    fn a_server_that_is_unpacked_is_taken_with_its_own_erlang_and_has_the_version_of_its_folder() {
        let folder = unpacked("4.0.5");
        let server = Server::below(folder.path()).unwrap();
        assert_eq!(server.script, folder.path().join("usr/lib/rabbitmq/bin/rabbitmq-server"));
        assert_eq!(server.mapper(), folder.path().join("usr/bin/epmd"));
        let path = server.path().unwrap();
        assert_eq!(std::env::split_paths(&path).next().unwrap(), folder.path().join("usr/bin"));
        assert_eq!(server.version(), Some((4, 0)));
    }

    #[test]
    fn a_setting_is_given_to_versions_that_know_it() {
        // Versions are numbers: 3.9 is before 3.13.
        let all = ["3.9.27", "3.10.8", "3.13.0", "4.0.5"].map(|version| {
            let folder = unpacked(version);
            Server::below(folder.path()).unwrap().version() >= Some(KNOWS_ALL_SETTINGS)
        });
        assert_eq!(all, [false, false, true, true]);
        assert_eq!(SETTINGS.lines().filter(|line| line.starts_with(KNOWN_TO_ALL)).count(), 1);
    }

    #[test]
    fn a_folder_without_a_server_is_an_error_that_names_it_and_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let error = Server::below(folder.path()).unwrap_err();
        assert!(matches!(error, HarnessError::Io { .. }), "no reason to skip: {error}");
        let missing = folder.path().join("usr/lib/rabbitmq/bin/rabbitmq-server");
        let expected = format!("failed to find {}, in the folder that REGATTA_TEST_RABBITMQ names", missing.display());
        assert_eq!(error.to_string(), expected);
    }
}
