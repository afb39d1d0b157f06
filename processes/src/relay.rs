//! The way of a program in a container without a network to a socket outside of it.
//!
//! The relay is the first program in the container: it listens on the loopback interface there, leaves a process behind that passes each
//! connection on to the socket, and becomes the program. So the program speaks TCP, as its libraries do, and reaches nothing else.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use crate::pod::{self, RELAY};

/// Second argument of each of its three starts in a container. In a pod of Kubernetes they are those of [`pod`].
const ENTER: &str = "enter";
const DETACH: &str = "detach";
const FORWARD: &str = "forward";
/// Exit code of a shell that cannot run a program.
const NOT_RUN: u8 = 126;

/// Arguments of a relay that listens at `port`, passes connections on to `socket`, is started as `own` once more, and becomes `command`.
pub fn relay_arguments(port: u16, socket: &str, own: &[String], command: &[String]) -> Vec<String> {
    let mut words: Vec<String> = [RELAY, ENTER].map(str::to_owned).to_vec();
    words.extend([port.to_string(), socket.to_owned(), own.len().to_string()]);
    words.extend(own.iter().chain(command).cloned());
    words
}

/// Is a relay, if the arguments of this process (its name first) say so; returns only when that failed, and `None` when they do not.
pub fn be_relay(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != RELAY {
        return None;
    }
    let error = match run(&arguments.collect::<Vec<_>>()) {
        Ok(()) => return Some(ExitCode::SUCCESS),
        Err(error) => error,
    };
    // There is no log in a container; what the program writes to standard error is kept.
    let _ = io::Write::write_all(&mut io::stderr(), format!("container-relay: {error}\n").as_bytes());
    Some(ExitCode::from(NOT_RUN))
}

fn run(arguments: &[OsString]) -> io::Result<()> {
    let bad = || io::Error::new(io::ErrorKind::InvalidInput, "bad arguments");
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str()).ok_or_else(bad);
    match word(0)? {
        ENTER => {
            let (port, socket) = (word(1)?.parse().map_err(|_| bad())?, word(2)?);
            let count: usize = word(3)?.parse().map_err(|_| bad())?;
            let (own, command) = arguments[4..].split_at_checked(count).ok_or_else(bad)?;
            Err(enter(port, socket, own, command))
        }
        DETACH => start(FORWARD, arguments, Stdio::inherit()).map(|_| ()),
        FORWARD => {
            let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
            forward(&listener, Arc::new(PathBuf::from(arguments.get(1).ok_or_else(bad)?)))
        }
        pod::INSTALL => pod::install(Path::new(word(1)?)),
        pod::BECOME => {
            let files = word(3)?.parse().map_err(|_| bad())?;
            Err(pod::become_program(Path::new(word(1)?), Path::new(word(2)?), files, &arguments[4..]))
        }
        _ => Err(bad()),
    }
}

/// Leaves the forwarder behind, and becomes `command`. The forwarder is started by a process that ends at once, so that it is no child of
/// the command's, which may wait for its children.
fn enter(port: u16, socket: &str, own: &[OsString], command: &[OsString]) -> io::Error {
    let prepare = || -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let mut arguments = vec![ENTER.into(), socket.into()];
        arguments.extend_from_slice(own);
        match start(DETACH, &arguments, OwnedFd::from(listener).into())?.wait()?.success() {
            true => Ok(()),
            false => Err(io::Error::other("the forwarder cannot be started")),
        }
    };
    if let Err(error) = prepare() {
        return error;
    }
    let Some((program, arguments)) = command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    let error = Command::new(program).args(arguments).exec();
    io::Error::new(error.kind(), format!("failed to start {}: {error}", program.display()))
}

/// Starts this program once more, in the role `role`; `arguments` are role, socket, and how this program is started.
fn start(role: &str, arguments: &[OsString], listener: Stdio) -> io::Result<std::process::Child> {
    let [_, socket, program, further @ ..] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let again = [program.clone()].into_iter().chain(further.iter().cloned());
    Command::new(program)
        .args(further)
        .args([RELAY, role])
        .arg(socket)
        .args(again)
        .env_clear()
        .stdin(listener)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn forward(listener: &TcpListener, socket: Arc<PathBuf>) -> io::Result<()> {
    loop {
        let (inside, _) = listener.accept()?;
        let socket = Arc::clone(&socket);
        // What cannot be passed on is closed, and its client told so by that. The container's limit of processes bounds the threads.
        let _ = std::thread::Builder::new().spawn(move || pass_on(&inside, &socket));
    }
}

fn pass_on(inside: &TcpStream, socket: &Path) -> io::Result<()> {
    inside.set_nodelay(true)?;
    let outside = UnixStream::connect(socket)?;
    let (mut read, mut written) = (inside.try_clone()?, outside.try_clone()?);
    let there = std::thread::Builder::new().spawn(move || {
        // A side that broke has ended.
        let _ = io::copy(&mut read, &mut written);
        let _ = written.shutdown(Shutdown::Write);
    })?;
    let (mut read, mut written) = (&outside, inside);
    // The same here.
    let _ = io::copy(&mut read, &mut written);
    let _ = inside.shutdown(Shutdown::Both);
    let _ = there.join();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_no_relay_is_left_alone() {
        assert!(be_relay(["regatta", "run"].map(OsString::from)).is_none());
        assert!(be_relay(["regatta"].map(OsString::from)).is_none());
    }

    #[test]
    fn a_connection_is_passed_on_both_ways_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let outside = UnixListener::bind(&socket).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::thread::spawn(move || forward(&listener, Arc::new(socket)));
        client.write_all(b"a question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut server, _) = outside.accept().unwrap();
        let mut said = String::new();
        server.read_to_string(&mut said).unwrap();
        assert_eq!(said, "a question");
        server.write_all(b"an answer").unwrap();
        drop(server);
        said.clear();
        client.read_to_string(&mut said).unwrap();
        assert_eq!(said, "an answer");
    }
}
