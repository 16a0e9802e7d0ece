//! Liveness of the parent process. On Linux a process is identified by its id and start time, so that a reused id is
//! not mistaken for it. Elsewhere the standard library cannot check, and the end of input has to suffice.

/// A process that was alive when found.
#[derive(Debug)]
pub struct Parent {
    #[cfg(target_os = "linux")]
    pid: u32,
    #[cfg(target_os = "linux")]
    started: String,
}

#[cfg(target_os = "linux")]
impl Parent {
    /// Finds a process by its id; `None` if it has ended, or is invisible from here, as from inside a container.
    #[must_use]
    pub fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    /// Returns the process id.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// `true` if the process is still alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }
}

/// The start time of a process, in clock ticks since boot; `None` if it does not exist or is a zombie.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<String> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is the name in parentheses, which may contain anything.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    // The 22nd field of the line, the 20th after the name (proc(5)).
    let started = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| started.to_owned())
}

#[cfg(not(target_os = "linux"))]
impl Parent {
    /// Always `None`: processes cannot be checked on this system.
    #[must_use]
    pub const fn find(_: u32) -> Option<Self> {
        None
    }

    /// Never called, as no value exists.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        0
    }

    /// Never called, as no value exists.
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
    fn zombie_process_is_not_alive() {
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
    fn reused_process_id_is_not_the_parent() {
        let parent = Parent { pid: std::process::id(), started: "1".into() };
        assert!(!parent.is_alive());
    }
}
