//! The hostile endpoint as a program: `regatta-hostile [PORT]` says where it listens and what it plays, and goes on until it is killed.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use regatta_hostile::{Event, Hostile, Wire, ways};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let port = match env::args().nth(1).map(|port| port.parse::<u16>()) {
        None => 0,
        Some(Ok(port)) => port,
        Some(Err(error)) => return failed(&format!("the port cannot be read: {error}")),
    };
    let hostile = match Hostile::start(port).await {
        Ok(hostile) => hostile,
        Err(error) => return failed(&format!("cannot listen on port {port} of loopback: {error}")),
    };
    if let Err(error) = list(&hostile, &mut io::stdout().lock()) {
        return failed(&format!("cannot say what is played: {error}"));
    }
    match tokio::signal::ctrl_c().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&format!("cannot wait for the signal to end: {error}")),
    }
}

/// A line for each way of each event on each wire: its address, and what it is.
fn list(hostile: &Hostile, out: &mut impl Write) -> io::Result<()> {
    for event in Event::ALL {
        for wire in Wire::ALL {
            for (number, way) in ways(event, wire).iter().enumerate() {
                writeln!(out, "{}  {}", hostile.base_url(event, number, wire), way.name)?;
            }
        }
    }
    out.flush()
}

fn failed(problem: &str) -> ExitCode {
    // Nobody is left to tell when that fails, too.
    let _ = writeln!(io::stderr(), "{problem}");
    ExitCode::FAILURE
}
