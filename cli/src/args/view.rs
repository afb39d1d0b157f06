//! Arguments of `view`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use regatta_viewer::annotations::Annotator;

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Directories of runs, or folders with such directories; unfinished runs too [default: runs]
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    /// Address to listen on, of this machine alone; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Name under which you annotate sessions [default: that of USER, if there is one]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) annotator: Option<Annotator>,
}
