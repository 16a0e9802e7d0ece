//! What the server says of itself, and the system of its processes.

use std::fs;
use store::testing::postgres::Server;

/// Figures of a server at one moment.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Bytes of write-ahead log so far.
    pub log: f64,
    /// Bytes of the database.
    pub bytes: f64,
    pub connections: f64,
    /// Seconds of processor time of its processes, and mebibytes of memory of those that serve connections.
    pub processor: f64,
    pub memory: f64,
}

/// The figures now.
pub fn figures(server: &Server, database: &str) -> Figures {
    let ask = |sql: &str| server.sql_in("postgres", database, sql).expect("a figure");
    let number = |sql: &str| ask(sql).parse().expect("a number");
    let all = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()";
    let serving = format!("{all} AND backend_type = 'client backend'");
    let pids = |sql: &str| ask(sql).lines().map(str::to_owned).collect::<Vec<_>>();
    Figures {
        log: number("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
        bytes: number("SELECT pg_database_size(current_database())"),
        connections: pids(&serving).len() as f64,
        processor: pids(all).iter().filter_map(|pid| processor(pid)).sum(),
        memory: pids(&serving).iter().filter_map(|pid| memory(pid)).sum(),
    }
}

/// User and system time of a process, in seconds.
fn processor(pid: &str) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may have blanks; the times are fields 14 and 15, in hundredths of a second.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system) = (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?);
    Some((user + system) / 100.0)
}

/// Memory of a process, shared pages by their share, in mebibytes.
fn memory(pid: &str) -> Option<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
}
