//! Tests of the backend's internals: query plans, migrations, a full disk, changed rows. Tests of every
//! backend are in `crate::tests`.

use super::columns::MESSAGE_COLUMNS;
use super::erase::READ_AT_ONCE;
use super::*;
use engine::message::unreadable::is_unreadable;
use engine::message::{Body, NewMessage};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use serde_json::json;
use session::stored::{Driver, Prefix};
use std::env;
use std::fmt::Write as _;
use uuid::Uuid;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("threadhold-{}", Uuid::now_v7())))
    }

    fn options(&self) -> Options {
        Options::in_folder(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn head() -> Write {
    Write::Head(Box::new(session::stored::Head {
        id: session(),
        workspace: "w".into(),
        title: None,
        driver: Driver::Sidecar,
        kind: None,
        parent: None,
        work_scope: None,
        generation: Default::default(),
        cuts: 0,
        title_from: None,
        origin: Default::default(),
        accepted: 0,
        prefix: Prefix::default(),
        waits: false,
        carried: Default::default(),
        settings: json!({}),
        created_at: Time(1),
        updated_at: Time(1),
    }))
}

/// Assistant messages of these texts.
fn messages(texts: &[String]) -> Vec<Write> {
    let mut transcript = Transcript::new(session());
    for text in texts {
        transcript.append(NewMessage::new(Body::assistant(text, Vec::new())), &QuarterOfChars);
    }
    transcript
        .messages()
        .iter()
        .map(|message| Write::Message { turn: 0, message: Arc::clone(message) })
        .collect()
}

/// Opens a store with one session of these texts; returns its fence too.
fn store_with(folder: &Folder, texts: &[String]) -> (SqliteStore, Fence) {
    let mut store = SqliteStore::open(folder.options()).unwrap();
    let fence = store.acquire(&session(), Time(1)).unwrap();
    store.commit(&session(), fence, &[vec![head()], messages(texts)].concat()).unwrap();
    (store, fence)
}

#[test]
fn hot_statements_search_by_an_index_and_sort_nothing() {
    let folder = Folder::new();
    let (store, _) = store_with(&folder, &["a".to_owned()]);
    let connection = store.connection.as_ref().unwrap();
    let mut plans = String::new();
    for sql in [
        leases::LEASE,
        read::HEAD,
        read::PULSE,
        blobs::BLOB,
        read::FIND,
        blobs::PUT_BLOB,
        blobs::DROP_BLOB,
        &write::messages::later_requests(),
        waiting::QUEUED_BY_ID,
        waiting::NEXT_QUEUED,
        waiting::SAME_KEY,
        waiting::OLD_KEYS,
        &read::messages_sql("ASC"),
        &read::messages_sql("DESC"),
        read::list::LIST,
        read::list::NEXT_WORKSPACE,
        read::TURNS,
        read::COUNTED,
        &read::records::compactions_sql("DESC"),
        part::KEY,
        part::REQUEST_BEFORE,
        &part::message_sql(),
        read::LAST_STATUS,
        &read::records::compactions_sql("ASC"),
        read::records::RECORD,
        &write::newest_in_force_sql(),
        segments::OWN,
        segments::SHARES,
        segments::PLACE,
        tasks::WAITING,
        tasks::TASKS,
        revisions::REVISIONS,
    ] {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let mut rows = statement.query(rusqlite::params_from_iter(nothing)).unwrap();
        while let Some(row) = rows.next().unwrap() {
            writeln!(plans, "{}", row.get::<_, String>(3).unwrap()).unwrap();
        }
        plans.push('\n');
    }
    assert!(!plans.contains("SCAN"), "{plans}");
    assert!(!plans.contains("TEMP B-TREE"), "{plans}");
    assert!(plans.contains("chat_activity_recent"), "{plans}");
    for index in
        ["chat_messages_request", "chat_sessions_waiting", "chat_sessions_tasks", "chat_sessions_revisions"]
    {
        assert!(plans.contains(index), "{index}: {plans}");
    }
}

/// A page costs the same among ten thousand sessions as among a thousand. A text search walks the same index
/// row by row: nothing is sorted, so only the page is in memory.
#[test]
fn list_cost_depends_on_the_page_alone() {
    const LAST: u64 = 1_000_000;
    let [few, many] = [1_000, 10_000].map(|sessions: u64| {
        let folder = Folder::new();
        let (mut store, _) = store_with(&folder, &["a".to_owned()]);
        let others = format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {sessions})
             INSERT INTO chat_sessions (id, workspace, driver, generation, cuts, settings, prefix, created_at, summary)
             SELECT printf('s%05d', n), iif(n % 10 = 0, 'v', 'w'), 'sidecar', 0, 0, '{{}}', prefix, n,
                 printf('%.2000c summary %d', 'x', n) FROM n, (SELECT prefix FROM chat_sessions WHERE id = 's');
             INSERT INTO chat_activity (session, workspace, updated_at)
             SELECT id, workspace, {LAST} - created_at FROM chat_sessions WHERE id <> 's'"
        );
        // Reopened, so that no statistics of the small file are left.
        store.close().unwrap();
        let mut store = SqliteStore::open(folder.options()).unwrap();
        store.connection.as_ref().unwrap().execute_batch(&others).unwrap();
        // Virtual machine steps since the last call.
        let steps = |store: &SqliteStore| {
            [read::list::LIST, read::list::NEXT_WORKSPACE].map(|sql| {
                let statement = store.connection.as_ref().unwrap().prepare_cached(sql).unwrap();
                let of = |status| statement.reset_status(status);
                assert_eq!(of(rusqlite::StatementStatus::FullscanStep), 0, "{sql}");
                assert_eq!(of(rusqlite::StatementStatus::Sort), 0, "{sql}");
                of(rusqlite::StatementStatus::VmStep)
            })
        };
        let all = ListQuery { limit: 20, ..ListQuery::default() };
        let of_one = ListQuery { workspace: Some("w".into()), ..all.clone() };
        let first = store.list(&of_one).unwrap();
        assert_eq!(first.sessions.len(), 20);
        let of_first = steps(&store);
        let second = store.list(&ListQuery { after: first.next.clone(), ..of_one.clone() }).unwrap();
        assert!(second.sessions.iter().all(|row| row.updated_at < first.sessions[19].updated_at));
        let of_second = steps(&store);
        let both = store.list(&all).unwrap();
        assert_eq!(both.sessions.iter().filter(|row| row.workspace == "v").count(), 2);
        let of_both = steps(&store);
        let last = ListQuery { text: Some(format!("SUMMARY {sessions}")), ..all };
        assert_eq!(store.list(&last).unwrap().sessions.len(), 1);
        let [through_all, _] = steps(&store);
        (of_first, of_second, of_both, u64::try_from(through_all).unwrap() / sessions)
    });
    assert_eq!(few, many);
}

/// Steps show what no query plan does: how many rows a statement visits.
#[test]
fn first_prompt_steps_do_not_grow_with_the_session() {
    let steps = [50_u32, 500, 5_000].map(|rounds| {
        let folder = Folder::new();
        let texts: Vec<String> = (0..rounds).map(|round| format!("answer {round}")).collect();
        let (mut store, fence) = store_with(&folder, &texts);
        let record = json!({
            "id": "s/c0", "generation": 0, "anchor": { "roundId": "s/r0", "ord": 0, "hash": "h" },
            "covers": { "from": 0, "to": rounds - 20 }, "dropped": null, "sourceHash": "h", "block": "b",
            "blockTokens": 1, "narrative": null, "actions": {}, "keptUsers": [3], "reportedUsers": [],
            "openRequests": [5], "tokensBefore": 2, "tokensAfter": 1, "estimator": "e", "trigger": "manual",
            "modeRequested": "auto", "mode": "full", "strength": "low", "fallbacks": [], "model": null,
            "inputTruncated": false, "numRounds": 1, "previous": null, "status": "inForce",
        });
        let turn = json!({ "index": 0, "id": "s/t0", "status": "completed" });
        let writes = [
            Write::Turn(serde_json::from_value(turn).unwrap()),
            Write::Compaction(serde_json::from_value(record).unwrap()),
        ];
        store.commit(&session(), fence, &writes).unwrap();
        assert!(store.load_part(&session(), 0).unwrap().is_some());
        let connection = store.connection.as_ref().unwrap();
        let (message, messages) = (part::message_sql(), read::messages_sql("ASC"));
        let record = read::records::compactions_sql("DESC");
        let statements =
            [read::HEAD, read::TURNS, &record, segments::OWN, segments::SHARES, &message, &messages];
        let steps = statements.map(|sql| {
            let statement = connection.prepare_cached(sql).unwrap();
            let of = |status| statement.get_status(status);
            assert_eq!(of(rusqlite::StatementStatus::FullscanStep), 0, "{sql}");
            of(rusqlite::StatementStatus::VmStep)
        });
        assert!(steps.iter().all(|steps| *steps > 0), "{steps:?}");
        steps.iter().sum::<i32>()
    });
    assert!(steps.iter().all(|taken| *taken == steps[0]), "{steps:?}");
}

#[test]
fn migration_is_atomic_and_leaves_a_backup() {
    let folder = Folder::new();
    drop(store_with(&folder, &["a".to_owned()]));
    let path = folder.0.join(schema::FILE);
    let with = |more: &[&'static str]| [schema::MIGRATIONS, more].concat();
    let known = schema::MIGRATIONS.len() as u32;
    let more = "CREATE TABLE more (x INTEGER)";
    assert!(schema::open(&folder.options(), &with(&[more, more])).is_err());
    let connection = schema::open(&folder.options(), schema::MIGRATIONS).unwrap();
    assert_eq!(schema::version(&connection), Ok(known));
    drop(connection);
    let connection = schema::open(&folder.options(), &with(&[more])).unwrap();
    assert_eq!(schema::version(&connection), Ok(known + 1));
    drop(connection);
    let copy = Connection::open(schema::back_up_path(&path, known)).unwrap();
    assert_eq!(schema::version(&copy), Ok(known));
    let sessions: i64 = copy.query_row("SELECT count(*) FROM chat_sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(sessions, 1);
    // The current version refuses the newer schema.
    let refused = SqliteStore::open(folder.options()).unwrap_err();
    let is_newer = matches!(refused, StoreError::NewerSchema { found, known: here, .. } if (found, here) == (known + 1, known));
    assert!(is_newer, "{refused}");
}

#[test]
fn full_disk_rolls_a_step_back_until_retried() {
    let folder = Folder::new();
    let (mut store, fence) = store_with(&folder, &["a".to_owned()]);
    let before = store.load(&session()).unwrap();
    let limit = |store: &SqliteStore, pages: u32| {
        let pragma = format!("PRAGMA max_page_count = {pages}");
        store.connection.as_ref().unwrap().query_row(&pragma, [], |_| Ok(())).unwrap();
    };
    limit(&store, 1);
    let texts: Vec<String> = (0..100).map(|n| format!("{n} ").repeat(2000)).collect();
    let step = messages(&texts).split_off(1);
    let error = store.commit(&session(), fence, &step).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.load(&session()).unwrap(), before);
    limit(&store, 1_000_000);
    store.commit(&session(), fence, &step).unwrap();
    assert_eq!(store.load(&session()).unwrap().unwrap().messages.len(), 100);
}

#[test]
fn changed_row_is_left_out_and_the_rest_loads() {
    let folder = Folder::new();
    let texts: Vec<String> = (0..5).map(|n| format!("message number {n}")).collect();
    let (mut store, _) = store_with(&folder, &texts);
    let whole = store.load(&session()).unwrap().unwrap();
    let run = |store: &SqliteStore, sql: &str| store.connection.as_ref().unwrap().execute_batch(sql).unwrap();
    run(&store, "CREATE TEMP TABLE kept AS SELECT * FROM chat_messages WHERE ord = 2");
    for column in MESSAGE_COLUMNS.split(", ").filter(|column| !["ord", "rev", "check_sum"].contains(column)) {
        let other = match column {
            "turn" | "visible" | "tokens" => format!("abs(1 - {column})"),
            _ => format!("coalesce({column}, '') || 'x'"),
        };
        run(&store, &format!("UPDATE chat_messages SET {column} = {other} WHERE ord = 2"));
        let found = store.load(&session()).unwrap().unwrap();
        let (lost, left): (Vec<_>, Vec<_>) =
            found.messages.iter().partition(|(_, message)| is_unreadable(message));
        assert_eq!((lost.len(), left.len()), (1, 4), "{column}");
        assert!(left.iter().all(|message| whole.messages.contains(message)), "{column}");
        assert_eq!(found.unreadable, [format!("message 2: {}", columns::CHANGED)], "{column}");
        run(&store, "REPLACE INTO chat_messages SELECT * FROM kept");
    }
    assert_eq!(store.load(&session()).unwrap().unwrap(), whole);
}

#[test]
fn pragmas_are_set_on_file_and_connection() {
    let folder = Folder::new();
    let normal = Options { synchronous: Synchronous::Normal, ..folder.options() };
    for (options, synchronous) in [(folder.options(), 2), (normal, 1)] {
        let mut store = SqliteStore::open(options).unwrap();
        let connection = store.connection.as_ref().unwrap();
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let found = ["page_size", "synchronous", "foreign_keys", "secure_delete"].map(number);
        assert_eq!(found, [4096, synchronous, 1, 1]);
        let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(journal, "wal");
        store.close().unwrap();
    }
}

/// A replaced file, and one that a newer version has migrated, are not written any more.
#[test]
fn a_store_writes_only_the_file_that_it_opened() {
    let folder = Folder::new();
    let (mut store, fence) = store_with(&folder, &["a".to_owned()]);
    let path = store.path.clone();
    let newer = crate::schema::newest() + 1;
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", newer).unwrap();
    let refused = store.commit(&session(), fence, &[head()]).unwrap_err();
    assert!(matches!(refused, StoreError::NewerSchema { .. }), "{refused}");
    other.pragma_update(None, "user_version", newer - 1).unwrap();
    drop(other);
    store.commit(&session(), fence, &[head()]).unwrap();
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).unwrap();
    let refused = store.commit(&session(), fence, &[head()]).unwrap_err();
    assert!(matches!(refused, StoreError::Moved { .. }), "{refused}");
    std::fs::rename(&away, &path).unwrap();
    store.commit(&session(), fence, &[head()]).unwrap();
}

/// A large file is read once for all deletions, when the store is idle.
#[test]
fn large_file_is_erased_when_idle() {
    let folder = Folder::new();
    let (mut store, _) = store_with(&folder, &["a secret that nobody may find".to_owned()]);
    let filler = format!("INSERT INTO blobs VALUES ('filler', {READ_AT_ONCE}, zeroblob({READ_AT_ONCE}))");
    store.connection.as_ref().unwrap().execute_batch(&filler).unwrap();
    let deleted = store.delete(&session()).unwrap().unwrap();
    assert!(!deleted.scrubbed && store.traces != Traces::default());
    // Not between two jobs.
    store.tidy(true).unwrap();
    assert!(store.traces != Traces::default());
    store.tidy(false).unwrap();
    assert_eq!(store.traces, Traces::default());
    for file in std::fs::read_dir(folder.options().folder).unwrap() {
        let file = file.unwrap().path();
        let bytes = if file.is_file() { std::fs::read(&file).unwrap() } else { Vec::new() };
        assert!(!bytes.windows(8).any(|bytes| bytes == b"a secret"), "{}", file.display());
    }
}
