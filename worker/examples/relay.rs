//! The relay of agents in containers as a program of its own, for tests: the product has it in its one program.

use std::process::ExitCode;

fn main() -> ExitCode {
    regatta_processes::be_relay(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
