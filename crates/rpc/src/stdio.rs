//! Standard input and output without a thread for each: pipes and sockets are waited for by the runtime, anything else
//! (files, terminals, other systems) by tokio's blocking pool. Bytes only.

use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// Standard input.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output, and what is to be undone at the end.
pub struct Stdio {
    /// Standard input.
    pub input: Input,
    /// Standard output.
    pub output: Output,
    /// Undoes what was done to them when it is dropped.
    pub undo: Undo,
}

/// Makes standard input and output blocking again when it is dropped, if they were: whether they are is a property of
/// what they were opened as, and others may have it too, such as the shell that started us. Drop it inside the runtime.
#[derive(Debug)]
pub struct Undo {
    #[cfg(unix)]
    ends: Vec<unix::End>,
}

/// Opens standard input and output. Call it inside the runtime.
///
/// # Errors
/// When one of them is closed, or cannot be waited for.
#[cfg(unix)]
pub fn open() -> io::Result<Stdio> {
    let mut ends = Vec::new();
    let input = unix::input(&mut ends)?;
    let output = unix::output(&mut ends)?;
    Ok(Stdio { input, output, undo: Undo { ends } })
}

/// Opens standard input and output. Call it inside the runtime.
///
/// # Errors
/// None on this system.
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

/// What the standard library and tokio know of descriptors.
#[cfg(unix)]
mod unix {
    use super::{Input, Output};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    /// What a descriptor leads to.
    enum Kind {
        Pipe,
        /// Node's `spawn` gives sockets; tokio's type for pipes refuses them.
        Socket,
        /// A terminal is among these: it is never made non-blocking, for the shell has it too.
        Other,
    }

    /// A descriptor that was made non-blocking by us.
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

    /// Whether reading and writing wait. Linux tells; elsewhere it is taken to be so, as it is for nearly every process.
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
