//! A private RabbitMQ: own node, own port mapper, own folders, on 127.0.0.1 only.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::HarnessError;
use crate::authority::ServerTls;
use crate::rabbitmq_node::{Node, PASSWORD};
use crate::supervisor::{Supervisor, new_folder};
use crate::vhost::{Tracing, VirtualHost, run};

/// A port found free may be taken before the service has it.
const START_ATTEMPTS: u32 = 3;

/// The first bytes of an AMQP 0-9-1 connection, by section 4.2.2 of its specification.
const AMQP_HEADER: &[u8] = b"AMQP\x00\x00\x09\x01";

/// A running broker; dropping it stops it and removes all it wrote.
#[derive(Debug)]
pub struct RabbitMq {
    broker: Supervisor,
    /// Erlang's port mapper. Left alone, the broker would start one for the whole machine that outlives it.
    _port_mapper: Supervisor,
    node: Node,
    /// The command line tool listens on the one port it has while it works: one at a time.
    tool: Mutex<()>,
}

impl RabbitMq {
    /// Starts a broker of its own for the caller, and returns when it accepts connections.
    ///
    /// # Errors
    /// When RabbitMQ is not installed, or does not come up.
    pub async fn start() -> Result<Self, HarnessError> {
        Self::start_as(None).await
    }

    /// The same, with a second port for TLS.
    ///
    /// # Errors
    /// When RabbitMQ is not installed, or does not come up.
    pub async fn start_with_tls(tls: &ServerTls) -> Result<Self, HarnessError> {
        Self::start_as(Some(tls)).await
    }

    async fn start_as(tls: Option<&ServerTls>) -> Result<Self, HarnessError> {
        let mut attempt = 1;
        loop {
            match Self::try_start(tls).await {
                Err(HarnessError::NotReady { .. }) if attempt < START_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_start(tls: Option<&ServerTls>) -> Result<Self, HarnessError> {
        let node = Node::new()?;
        let mapper_port = node.mapper_port();
        let port_mapper = Supervisor::new("epmd", new_folder("epmd")?, "KILL", node.mapper_command())?;
        port_mapper.start().await?;
        port_mapper.ready(async || TcpStream::connect(("127.0.0.1", mapper_port)).await.is_ok()).await?;

        let folder = new_folder("rabbitmq")?;
        let command = node.server_command(&folder);
        let broker = Supervisor::new("RabbitMQ", folder, "KILL", command)?;
        node.configure(broker.folder(), tls)?;
        let started = Self { broker, _port_mapper: port_mapper, node, tool: Mutex::new(()) };
        started.restart().await?;
        Ok(started)
    }

    /// `amqp://user:password@127.0.0.1:port/%2f`: all rights on the default virtual host.
    #[must_use]
    pub fn amqp_url(&self) -> String {
        format!("amqp://regatta:{PASSWORD}@127.0.0.1:{}/%2f", self.node.amqp_port())
    }

    /// Number of the port for TLS of a broker that was started with one.
    #[must_use]
    pub fn tls_port(&self) -> u16 {
        self.node.tls_port()
    }

    /// Has the broker, which was started with TLS, show and ask for something else from now on.
    ///
    /// # Errors
    /// When it does not come up again.
    pub async fn show(&self, tls: &ServerTls) -> Result<(), HarnessError> {
        self.kill().await?;
        self.node.configure(self.broker.folder(), Some(tls))?;
        self.restart().await
    }

    /// Makes a virtual host, for queues that have the same names in every test, and returns its URL.
    ///
    /// # Errors
    /// When RabbitMQ's command line tool fails.
    pub async fn create_vhost(&self) -> Result<String, HarnessError> {
        self.create(VirtualHost::new(&self.amqp_url(), Tracing::Off)).await
    }

    /// Makes `vhost`, and returns its URL.
    pub(crate) async fn create(&self, vhost: VirtualHost) -> Result<String, HarnessError> {
        let folder = self.broker.folder();
        // From a file: the tool of RabbitMQ 4 does not read its input.
        let write = || -> std::io::Result<tempfile::NamedTempFile> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(vhost.definitions.as_bytes())?;
            Ok(file)
        };
        let file = write().map_err(HarnessError::io("write the definitions of a virtual host"))?;
        let mut import = self.node.tool_command(folder, &["import_definitions", "--quiet"]);
        import.arg(file.path());
        let _turn = self.tool.lock().await;
        run(import.into(), "", "create a virtual host with rabbitmqctl").await?;
        Ok(vhost.url)
    }

    /// Runs a command line tool of RabbitMQ, as `rabbitmq-diagnostics`, to its end. It finds this broker by its variables.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run_tool(&self, tool: &str, arguments: &[String]) -> Result<Output, HarnessError> {
        let mut command = tokio::process::Command::from(self.node.named_tool_command(tool, self.broker.folder()));
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let _turn = self.tool.lock().await;
        command.output().await.map_err(HarnessError::io(format!("run {tool}")))
    }

    /// Has the quorum queue `name` of the default virtual host answer nobody, as one that has no leader, or answer again.
    ///
    /// # Errors
    /// When RabbitMQ's command line tool fails, or there is no such queue.
    pub async fn silence_queue(&self, name: &str, is_silent: bool) -> Result<(), HarnessError> {
        let change = if is_silent { "suspend" } else { "resume" };
        let script = format!(
            "{{ok, Queue}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"{name}\">>)), \
             {{Name, _}} = amqqueue:get_pid(Queue), ok = sys:{change}(Name)."
        );
        let tool = self.node.tool_command(self.broker.folder(), &["eval", "--quiet", &script]);
        let _turn = self.tool.lock().await;
        run(tool.into(), "", "silence a queue with rabbitmqctl").await
    }

    /// A script that imports into this broker what it reads, one caller at a time, for other processes that share the broker.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn import_script(&self) -> Result<PathBuf, HarnessError> {
        let folder = self.broker.folder();
        let tool = self.node.tool_command(folder, &["import_definitions", "--quiet"]);
        let quoted = |text: &OsStr| format!("'{}'", text.to_string_lossy().replace('\'', r"'\''"));
        let mut script = String::from("#!/bin/sh\n");
        for (name, value) in tool.get_envs() {
            script.push_str(&match value {
                Some(value) => format!("export {}={}\n", name.to_string_lossy(), quoted(value)),
                None => format!("unset {}\n", name.to_string_lossy()),
            });
        }
        let words: Vec<String> = std::iter::once(tool.get_program()).chain(tool.get_args()).map(quoted).collect();
        let lock = quoted(folder.join("tool.lock").as_os_str());
        // The files go with the folder.
        let template = quoted(folder.join("definitions.XXXXXX").as_os_str());
        script.push_str(&format!("file=$(mktemp {template}) && cat >\"$file\" || exit\n"));
        script.push_str(&format!("exec flock {lock} {} \"$file\"\n", words.join(" ")));
        let path = folder.join("import-definitions");
        let written = std::fs::write(&path, script)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)));
        written.map_err(HarnessError::io(format!("write {}", path.display())))?;
        Ok(path)
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
        self.broker.ready(|| answers_amqp(self.node.amqp_port())).await
    }
}

/// True if a broker on this port greets with `Connection.Start`; the port alone may be open long before.
async fn answers_amqp(port: u16) -> bool {
    let greet = async || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(AMQP_HEADER).await?;
        stream.read_u8().await
    };
    // A method frame has type 1; a broker that is not ready closes the connection, or names another protocol version.
    greet().await.is_ok_and(|frame_type| frame_type == 1)
}
