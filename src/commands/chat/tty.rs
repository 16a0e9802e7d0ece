//! The terminal itself: its size, its echo, keys that nobody has read yet.

/// Size of the terminal that standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// The size where the terminal states none.
const USUAL: Size = Size { columns: 80, rows: 24 };

pub(super) use inner::{Modes, Silence, forget_keys, size};

#[cfg(unix)]
mod inner {
    use super::{Size, USUAL};
    use rustix::stdio::{stdin, stdout};
    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetwinsize, tcsetattr,
    };

    /// The code of a key that is switched off.
    const DISABLED: u8 = 0;

    /// The size now: a user may change it at any time.
    pub fn size() -> Size {
        match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => USUAL,
        }
    }

    /// Drops keys that were pressed and not read.
    pub fn forget_keys() {
        // Without a terminal there are none.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// The modes of the terminal.
    #[derive(Debug)]
    pub struct Modes(Termios);

    impl Modes {
        pub fn now() -> Option<Self> {
            tcgetattr(stdin()).ok().map(Self)
        }

        pub fn restore(&self) {
            // A terminal that is gone has none.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// The terminal does not show keys until this is dropped; they are kept for the next line. Ctrl-C works.
    #[derive(Debug)]
    pub struct Silence {
        before: Modes,
    }

    impl Silence {
        pub fn begin() -> Option<Self> {
            let before = Modes::now()?;
            let mut silent = before.0.clone();
            silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            // A shell that comes back would find it silent.
            for key in [SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
                silent.special_codes[key] = DISABLED;
            }
            tcsetattr(stdin(), OptionalActions::Drain, &silent).ok()?;
            Some(Self { before })
        }
    }

    impl Drop for Silence {
        fn drop(&mut self) {
            self.before.restore();
        }
    }
}

#[cfg(not(unix))]
mod inner {
    use super::{Size, USUAL};

    pub fn size() -> Size {
        USUAL
    }

    pub fn forget_keys() {}

    /// Nothing: the modes are the library's affair.
    #[derive(Debug)]
    pub struct Modes {}

    impl Modes {
        pub fn now() -> Option<Self> {
            None
        }

        pub fn restore(&self) {}
    }

    /// Nothing: the echo stays on.
    #[derive(Debug)]
    pub struct Silence {}

    impl Silence {
        pub fn begin() -> Option<Self> {
            None
        }
    }
}
