//! `regatta simulate tools`.

use clap::{Args, ValueEnum};
use jiff::civil::Date;
use regatta_toolservers::ToolPort;

#[derive(Debug, Args)]
pub(crate) struct SimulateToolsArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: std::net::SocketAddr,
    /// Serve others too, where the address is one that they reach: simulators know no tokens and no TLS
    #[arg(long)]
    pub(crate) no_token: bool,
    /// Give every server its official port too (3000 to 3020), on the same host
    #[arg(long, value_name = "WHICH")]
    ports: Option<Ports>,
    /// Give a server a port of its own too, as `alarm=4000`; 0 takes a free one
    #[arg(long = "port", value_name = "NAME=PORT", value_parser = name_and_port)]
    port: Vec<ToolPort>,
    /// The day on which everything happens
    #[arg(long, value_name = "DATE", default_value = "2025-05-28")]
    pub(crate) today: Date,
    /// Seed, latency and faults, as in the spec's `simulation` (YAML or JSON), inline or as @FILE
    #[arg(long, value_name = "YAML")]
    pub(crate) simulation: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ports {
    Official,
}

impl SimulateToolsArgs {
    /// The ports that servers get for themselves. Where both say something of a server, the one that names it counts.
    pub(crate) fn tool_ports(&self) -> Vec<ToolPort> {
        let is_named = |official: &ToolPort| self.port.iter().any(|named| named.server == official.server);
        let mut ports = match self.ports {
            Some(Ports::Official) => ToolPort::official(),
            None => Vec::new(),
        };
        ports.retain(|official| !is_named(official));
        ports.extend(self.port.iter().cloned());
        ports
    }
}

fn name_and_port(text: &str) -> Result<ToolPort, String> {
    let (server, port) = text.split_once('=').ok_or("must be NAME=PORT")?;
    let port = port.parse().map_err(|_| format!("{port:?} is no port"))?;
    Ok(ToolPort { server: server.to_owned(), port })
}
