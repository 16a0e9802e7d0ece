//! Standard input and output without a thread for each: the runtime polls pipes and sockets; tokio's blocking
//! pool handles anything else (files, terminals, other systems). Bytes only.

use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// Standard input.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output, with a guard that restores their mode.
pub struct Stdio {
    /// Standard input.
    pub input: Input,
    /// Standard output.
    pub output: Output,
    /// Restores blocking mode on drop.
    pub undo: Undo,
}

/// Restores blocking mode of standard input and output on drop, if they had it. The mode belongs to the open
/// file description, which other processes may share, such as the shell that started the sidecar. Drop it
/// inside the runtime.
#[derive(Debug)]
pub struct Undo {
    #[cfg(unix)]
    ends: Vec<unix::End>,
}

/// Opens standard input and output. Must be called inside the runtime.
///
/// # Errors
/// If one of them is closed, or cannot be polled.
#[cfg(unix)]
pub fn open() -> io::Result<Stdio> {
    let mut ends = Vec::new();
    let input = unix::input(&mut ends)?;
    let output = unix::output(&mut ends)?;
    Ok(Stdio { input, output, undo: Undo { ends } })
}

/// Opens standard input and output. Must be called inside the runtime.
///
/// # Errors
/// Never fails on this system.
#[cfg(not(unix))]
pub fn open() -> io::Result<Stdio> {
    let (input, output) = (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
    Ok(Stdio { input, output, undo: Undo {} })
}

#[cfg(unix)]
impl Drop for Undo {
    fn drop(&mut self) {
        for end in self.ends.drain(..) {
            if let Err(error) = end.make_blocking() {
                tracing::debug!(%error, "standard input or output stays non-blocking");
            }
        }
    }
}

/// Descriptors by means of the standard library and tokio alone.
#[cfg(unix)]
mod unix {
    use super::{Input, Output};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    /// The kind of file behind a descriptor.
    enum Kind {
        Pipe,
        /// Node's `spawn` uses sockets, which tokio's pipe types reject.
        Socket,
        /// Includes terminals, which are never made non-blocking, because the shell shares them.
        Other,
    }

    /// A descriptor that the sidecar made non-blocking.
    #[derive(Debug)]
    pub(super) enum End {
        Input(OwnedFd),
        Output(OwnedFd),
        Socket(std::os::unix::net::UnixStream),
    }

    impl End {
        pub(super) fn make_blocking(self) -> io::Result<()> {
            match self {
                Self::Input(end) => pipe::Receiver::from_owned_fd(end)?.into_blocking_fd().map(drop),
                Self::Output(end) => pipe::Sender::from_owned_fd(end)?.into_blocking_fd().map(drop),
                Self::Socket(end) => end.set_nonblocking(false),
            }
        }
    }

    pub(super) fn input(ends: &mut Vec<End>) -> io::Result<Input> {
        let stdin = io::stdin();
        let owned = || stdin.as_fd().try_clone_to_owned();
        let was_blocking = is_blocking(stdin.as_fd());
        Ok(match kind(stdin.as_fd())? {
            Kind::Pipe => {
                if was_blocking {
                    ends.push(End::Input(owned()?));
                }
                Box::new(pipe::Receiver::from_owned_fd(owned()?)?)
            }
            Kind::Socket => Box::new(socket(owned()?, was_blocking, ends)?),
            Kind::Other => Box::new(tokio::io::stdin()),
        })
    }

    pub(super) fn output(ends: &mut Vec<End>) -> io::Result<Output> {
        let stdout = io::stdout();
        let owned = || stdout.as_fd().try_clone_to_owned();
        let was_blocking = is_blocking(stdout.as_fd());
        Ok(match kind(stdout.as_fd())? {
            Kind::Pipe => {
                if was_blocking {
                    ends.push(End::Output(owned()?));
                }
                Box::new(pipe::Sender::from_owned_fd(owned()?)?)
            }
            Kind::Socket => Box::new(socket(owned()?, was_blocking, ends)?),
            Kind::Other => Box::new(tokio::io::stdout()),
        })
    }

    fn socket(owned: OwnedFd, was_blocking: bool, ends: &mut Vec<End>) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::from(owned);
        if was_blocking {
            ends.push(End::Socket(socket.try_clone()?));
        }
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    fn kind(end: BorrowedFd<'_>) -> io::Result<Kind> {
        let kind = File::from(end.try_clone_to_owned()?).metadata()?.file_type();
        Ok(match () {
            () if kind.is_fifo() => Kind::Pipe,
            () if kind.is_socket() => Kind::Socket,
            () => Kind::Other,
        })
    }

    /// `true` if reads and writes block. Known on Linux; assumed elsewhere, as it holds for nearly every process.
    fn is_blocking(end: BorrowedFd<'_>) -> bool {
        /// `O_NONBLOCK` of Linux.
        const NONBLOCK: u64 = 0o4000;
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", end.as_raw_fd()));
        let flags = info.ok().and_then(|info| {
            let line = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            u64::from_str_radix(line.trim(), 8).ok()
        });
        flags.is_none_or(|flags| flags & NONBLOCK == 0)
    }
}
