//! A PostgreSQL server for tests: made by `initdb` in a temporary folder, reached over a socket in it, and ended with the
//! process, however that ends.

use crate::postgres::Options;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Where Debian's packages are, beside what is in `PATH`.
const PACKAGES: &str = "/usr/lib/postgresql";

/// Runs a server with further settings until standard input ends, then ends it at once. The folder goes with it, unless told
/// otherwise.
const WATCH: &str = r#"
programs=$1; folder=$2; shift 2
"$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
    -c max_connections=300 -c shared_buffers=64MB -c logging_collector=off "$@" >>"$folder/log" 2>&1 </dev/null &
server=$!
read -r word
kill -QUIT $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$folder"
"#;

/// A server. Its folder is removed when it is dropped, or its process ends.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<String>,
    settings: Vec<String>,
    watch: Mutex<Option<(Child, ChildStdin)>>,
}

/// The server that the tests of this process share; `None` where PostgreSQL is not installed.
///
/// # Panics
/// If it is not installed and `CI` is set, or if it cannot be started.
pub fn server() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(Server::start).as_ref()
}

impl Server {
    /// A server of its own, for tests that stop it; `None` where PostgreSQL is not installed.
    ///
    /// # Panics
    /// As [`server`].
    pub fn start() -> Option<Self> {
        Self::start_with(|_| Vec::new())
    }

    /// A server of its own that writes to the disk as one in use does, for measurements.
    ///
    /// # Panics
    /// As [`server`].
    pub fn durable() -> Option<Self> {
        Self::start_with(|_| ["fsync=on", "full_page_writes=on"].map(str::to_owned).into())
    }

    /// As [`Server::start`], with these further settings, each as `name=value`. They may name files that are made before
    /// in its folder, by [`Server::run`].
    ///
    /// # Panics
    /// As [`server`].
    pub fn start_with(settings: impl FnOnce(&Self) -> Vec<String>) -> Option<Self> {
        let Some(programs) = programs() else {
            let missing = "PostgreSQL (initdb, postgres) is not installed; tests of its store did not run";
            assert!(env::var_os("CI").is_none(), "{missing}");
            #[allow(clippy::print_stderr, reason = "a test that did not run must say so")]
            {
                eprintln!("{missing}");
            }
            return None;
        };
        // Short, for the path of a socket may have a hundred bytes.
        let id = Uuid::now_v7().as_u128() & 0xffff_ffff_ffff;
        let folder = env::temp_dir().join(format!("th-pg-{id:012x}"));
        fs::create_dir(&folder).expect("a folder");
        let (user, watch) = (unprivileged(), Mutex::new(None));
        let mut server = Self { programs, folder, user, settings: Vec::new(), watch };
        if let Some(user) = &server.user {
            let owner = Command::new("chown").arg(user).arg(&server.folder).status();
            assert!(owner.is_ok_and(|status| status.success()), "the folder of the server is not {user}'s");
        }
        let made = server
            .program("initdb")
            .args([
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
                "-D",
            ])
            .arg(server.folder.join("data"))
            .output()
            .expect("initdb");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.settings = settings(&server);
        server.resume();
        server.sql("CREATE ROLE threadhold LOGIN CREATEROLE");
        server.sql("CREATE DATABASE threadhold OWNER threadhold");
        Some(server)
    }

    /// Starts it again.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn resume(&self) {
        let mut watch = self.run("sh");
        watch.arg("-c").arg(WATCH).arg("sh").args([&self.programs, &self.folder]);
        watch.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            // A key that ends the tests must not end it before its folder is removed.
            std::os::unix::process::CommandExt::process_group(&mut watch, 0);
        }
        let mut watch = watch.spawn().expect("sh");
        let input = watch.stdin.take().expect("its standard input");
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some((watch, input));
        let deadline = Instant::now() + Duration::from_secs(60);
        let ready = || self.program("pg_isready").arg("-q").arg("-h").arg(&self.folder).status();
        while !ready().is_ok_and(|status| status.success()) {
            assert!(Instant::now() < deadline, "the server does not answer: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once, as a crash would: open transactions are lost.
    ///
    /// # Panics
    /// If its process cannot be waited for.
    pub fn crash(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut watch, mut input)) = watch {
            input.write_all(b"keep\n").expect("its standard input");
            drop(input);
            watch.wait().expect("its end");
        }
    }

    /// Runs SQL as the superuser, in its own database.
    ///
    /// # Panics
    /// If it fails.
    pub fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", "postgres", sql).expect("sql")
    }

    /// Runs SQL as a role in a database. Returns what it selects, a line for each row.
    ///
    /// # Errors
    /// The server's words.
    ///
    /// # Panics
    /// If `psql` is missing.
    pub fn sql_in(&self, role: &str, database: &str, sql: &str) -> Result<String, String> {
        let run = self
            .program("psql")
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                role,
                "-d",
                database,
                "-c",
                sql,
                "-h",
            ])
            .arg(&self.folder)
            .output()
            .expect("psql");
        let words = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        if run.status.success() { Ok(words(run.stdout)) } else { Err(words(run.stderr)) }
    }

    /// Makes an empty database; returns its name.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn database(&self) -> String {
        let name = format!("d{}", Uuid::now_v7().simple());
        self.sql(&format!("CREATE DATABASE {name} OWNER threadhold"));
        name
    }

    /// The URL of a database, as a role.
    pub fn url(&self, role: &str, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{folder}/{database}")
    }

    /// Options for a tenant in the database that tests share. Its owner is no superuser, so policies hold for it.
    ///
    /// # Panics
    /// If the tenant's name is none.
    pub fn options(&self, tenant: &str) -> Options {
        Options::new(&self.url("threadhold", "threadhold"), None, tenant).expect("options")
    }

    /// The folder, which has the socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The server's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// One of PostgreSQL's programs.
    fn program(&self, name: &str) -> Command {
        self.run(&self.programs.join(name).display().to_string())
    }

    /// A command in the server's folder, as the user that the server runs as: it refuses to run as root.
    pub fn run(&self, program: &str) -> Command {
        let mut command = match &self.user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir(&self.folder);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut watch, input)) = watch {
            drop(input);
            let _ = watch.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of PostgreSQL's programs: of the newest package, or in `PATH`.
fn programs() -> Option<PathBuf> {
    let mut packages: Vec<PathBuf> = fs::read_dir(PACKAGES)
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    packages.sort();
    let in_path = || {
        let path = env::var_os("PATH")?;
        env::split_paths(&path)
            .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
    };
    packages.pop().or_else(in_path)
}

/// The user to run as, if this process is root's.
fn unprivileged() -> Option<String> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&id.stdout).trim() != "0" {
        return None;
    }
    let is_known = |user: &&str| Command::new("id").arg(user).output().is_ok_and(|id| id.status.success());
    ["postgres", "nobody"].iter().find(|user| is_known(user)).map(|user| (*user).to_owned())
}
