//! Whether the process that asked for us still lives. On Linux a process is known by its number and the time when it was
//! started, so that a number that was given out again is not taken for it. Elsewhere the standard library has no way to
//! ask, and the end of input is what tells.

/// A process that was there when it was looked at.
#[derive(Debug)]
pub struct Parent {
    #[cfg(target_os = "linux")]
    pid: u32,
    #[cfg(target_os = "linux")]
    started: String,
}

#[cfg(target_os = "linux")]
impl Parent {
    /// The process of this number. There is none if it ended, or if it lives where we cannot see it, as behind the
    /// wall of a container.
    #[must_use]
    pub fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    /// Its number.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }
}

/// When a process was started, in ticks since the machine was. Nothing of a process that is not there or has ended and
/// was not yet waited for.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<String> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is the name in brackets, and a name may hold anything.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    // The 22nd field of the line, the 20th after the name (proc(5)).
    let started = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| started.to_owned())
}

#[cfg(not(target_os = "linux"))]
impl Parent {
    /// Nothing: there is no way to ask.
    #[must_use]
    pub const fn find(_: u32) -> Option<Self> {
        None
    }

    /// Never asked, for there is none.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        0
    }

    /// Never asked, for there is none.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends_even_if_nobody_waits_for_it() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let parent = Parent::find(child.id()).unwrap();
        assert!(parent.is_alive());
        child.kill().unwrap();
        while parent.is_alive() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(Parent::find(child.id()).is_none());
    }

    #[test]
    fn another_process_of_the_same_number_is_another() {
        let parent = Parent { pid: std::process::id(), started: "1".into() };
        assert!(!parent.is_alive());
    }
}
