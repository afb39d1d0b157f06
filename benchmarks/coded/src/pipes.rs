//! Line-based exchange with a process, bounded in time and size, while its standard error is drained.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};

/// Bytes that there is room for before a read, and whose memory is kept between calls.
const CHUNK: usize = 64 << 10;
/// Bytes of standard error that are kept, the last ones.
const ERRORS_KEPT: usize = 8 << 10;

/// The three pipes of a process.
pub(crate) struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    /// Bytes that were read: the line of the last exchange, and what came after it.
    heard: Vec<u8>,
    /// Length of that line, without its end; `None` until a line was read.
    line: Option<usize>,
    errors: VecDeque<u8>,
    are_errors_open: bool,
}

/// Reason why no line was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The process closed its standard output.
    Closed,
    /// The time limit passed.
    Late,
    /// The line is longer than the limit.
    Flood,
    /// A read or write failed, with the system's message.
    Broken(String),
}

impl From<Errno> for Silence {
    fn from(error: Errno) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Pipes {
    pub(crate) fn new(stdin: ChildStdin, stdout: ChildStdout, stderr: ChildStderr) -> io::Result<Self> {
        for pipe in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            stdin,
            stdout,
            stderr,
            heard: Vec::new(),
            line: None,
            errors: VecDeque::new(),
            are_errors_open: true,
        })
    }

    /// The line of the last exchange, without its end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.heard[..self.line.unwrap_or(0)]
    }

    /// Forgets the line of the last exchange, and gives back the memory that a long one took: a process may be idle for long.
    pub(crate) fn forget(&mut self) {
        if let Some(length) = self.line.take() {
            self.heard.drain(..=length);
            self.heard.shrink_to(CHUNK);
        }
    }

    /// Writes `line` and reads a line of at most `bytes_max` bytes, within `time`; [`Pipes::line`] has it.
    pub(crate) fn exchange(&mut self, line: &[u8], time: Duration, bytes_max: usize) -> Result<(), Silence> {
        let deadline = Instant::now() + time;
        self.forget();
        // A program that waits for its next call has room for it, so that most lines are written without a look beforehand.
        let (mut unwritten, mut searched) = (self.hand(line)?, 0);
        loop {
            if let Some(end) = self.heard[searched..].iter().position(|byte| *byte == b'\n') {
                let length = searched + end;
                if length > bytes_max {
                    return Err(Silence::Flood);
                }
                self.line = Some(length);
                return Ok(());
            }
            searched = self.heard.len();
            if searched > bytes_max {
                return Err(Silence::Flood);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Silence::Late);
            }
            let ready = self.wait(!unwritten.is_empty(), left)?;
            if ready.stdin {
                unwritten = self.hand(unwritten)?;
            }
            if ready.stderr {
                self.listen();
            }
            if ready.stdout && take(self.stdout.as_fd(), &mut self.heard)? == Some(0) {
                return Err(Silence::Closed);
            }
        }
    }

    /// Writes as much of `line` as the pipe takes at once, and returns the rest.
    fn hand<'l>(&self, line: &'l [u8]) -> Result<&'l [u8], Silence> {
        match write(&self.stdin, line) {
            Ok(written) => Ok(&line[written..]),
            // A process that does not read its input may still have answered, or said on standard error why it ends.
            Err(Errno::PIPE) => Ok(&[]),
            Err(Errno::AGAIN | Errno::INTR) => Ok(line),
            Err(error) => Err(error.into()),
        }
    }

    fn wait(&self, has_unwritten: bool, left: Duration) -> Result<Ready, Silence> {
        let mut fds = vec![PollFd::new(&self.stdout, PollFlags::IN)];
        if self.are_errors_open {
            fds.push(PollFd::new(&self.stderr, PollFlags::IN));
        }
        if has_unwritten {
            fds.push(PollFd::new(&self.stdin, PollFlags::OUT));
        }
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let after = 1 + usize::from(self.are_errors_open);
        Ok(Ready {
            stdout: is_ready(0),
            stderr: self.are_errors_open && is_ready(1),
            stdin: has_unwritten && is_ready(after),
        })
    }

    /// Reads the available part of standard error.
    fn listen(&mut self) {
        let mut heard = Vec::new();
        // A pipe that can no longer be read counts as closed.
        if !matches!(take(self.stderr.as_fd(), &mut heard), Ok(Some(1..) | None)) {
            self.are_errors_open = false;
        }
        self.errors.extend(&heard);
        self.errors.drain(..self.errors.len().saturating_sub(ERRORS_KEPT));
    }

    /// Returns the last bytes of standard error of a process that has ended.
    pub(crate) fn last_errors(&mut self) -> String {
        // A process left behind may hold the pipe and keep writing, so no more than a pipe's capacity is read.
        for _ in 0..CHUNKS_LEFT_MAX {
            let before = self.errors.len();
            if self.are_errors_open {
                self.listen();
            }
            if !self.are_errors_open || (self.errors.len() == before && before < ERRORS_KEPT) {
                break;
            }
        }
        String::from_utf8_lossy(self.errors.make_contiguous()).into_owned()
    }
}

/// Most chunks that a pipe can still hold.
const CHUNKS_LEFT_MAX: usize = 32;

struct Ready {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

/// Appends the available bytes to `to` and returns their number: 0 at the end of the pipe, `None` if none are
/// available yet.
fn take(from: BorrowedFd<'_>, to: &mut Vec<u8>) -> Result<Option<usize>, Errno> {
    to.reserve(CHUNK);
    match read(from, spare_capacity(to)) {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sleeps for `time`.
pub(crate) fn pause(time: Duration) {
    // A signal may end the sleep early, which does no harm.
    let _ = poll(&mut [], Some(&timespec(time)));
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Write as _, pipe};
    use std::os::fd::OwnedFd;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Pipes of a process that has written `said`, which fits into a pipe, and closed its output; and the end at which it reads.
    fn after(said: &[u8]) -> (Pipes, PipeReader) {
        let ((reads, stdin), (stdout, mut writes), (stderr, _)) = (pipe().unwrap(), pipe().unwrap(), pipe().unwrap());
        writes.write_all(said).unwrap();
        let (stdin, stdout, stderr) = (OwnedFd::from(stdin), OwnedFd::from(stdout), OwnedFd::from(stderr));
        (Pipes::new(stdin.into(), stdout.into(), stderr.into()).unwrap(), reads)
    }

    #[test]
    fn a_long_line_leaves_no_memory_behind() {
        let ((_reads, stdin), (stdout, mut writes), (stderr, _)) = (pipe().unwrap(), pipe().unwrap(), pipe().unwrap());
        let (stdin, stdout, stderr) = (OwnedFd::from(stdin), OwnedFd::from(stdout), OwnedFd::from(stderr));
        let mut pipes = Pipes::new(stdin.into(), stdout.into(), stderr.into()).unwrap();
        std::thread::scope(|scope| {
            // More than a pipe holds.
            scope.spawn(move || writes.write_all(&[vec![b'x'; 1 << 20], b"\n".to_vec()].concat()).unwrap());
            pipes.exchange(b"call\n", PATIENCE, 2 << 20).unwrap();
        });
        assert_eq!(pipes.line().len(), 1 << 20);
        pipes.forget();
        assert_eq!(pipes.line(), b"");
        assert!(pipes.heard.capacity() <= CHUNK, "{}", pipes.heard.capacity());
    }

    proptest! {
        #[test]
        fn lines_within_the_limit_are_read_as_they_were_written_and_then_the_end(
            said in vec(prop_oneof![select(&b"\n\r{\0"[..]), any::<u8>()], 0..300), bytes_max in 0..400_usize,
        ) {
            let (mut pipes, _reads) = after(&said);
            let mut lines: Vec<&[u8]> = said.split(|byte| *byte == b'\n').collect();
            let unfinished = lines.pop().unwrap_or_default();
            for line in lines {
                let read = pipes.exchange(b"call\n", PATIENCE, bytes_max).map(|()| pipes.line().to_vec());
                if line.len() > bytes_max {
                    prop_assert_eq!(read, Err(Silence::Flood));
                    return Ok(());
                }
                prop_assert_eq!(read, Ok(line.to_vec()));
            }
            let end = if unfinished.len() > bytes_max { Silence::Flood } else { Silence::Closed };
            prop_assert_eq!(pipes.exchange(b"call\n", PATIENCE, bytes_max), Err(end));
        }
    }
}
