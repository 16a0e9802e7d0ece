//! Tenants see nothing of each other: through no method, and in SQL as a role of their own.

use super::{open, unique};
use crate::list::ListQuery;
use crate::postgres::PostgresStore;
use crate::testing::{compaction, enqueue, head, keep, key, message, piece, postgres, session, step, user};
use crate::{Fence, Store};
use engine::id::{Ordinal, Time};
use engine::memory::{MemoryPatch, MemoryQuery};
use engine::scope::ScopePatch;
use engine::search::{Query, Words};
use session::part::Claims;
use session::stored::{Always, Origin, Write};
use std::sync::Arc;

/// Tables that have rows of tenants.
const TABLES: [&str; 20] = [
    "approvals",
    "blob_refs",
    "blobs",
    "chat_activity",
    "chat_drafts",
    "chat_keys",
    "chat_messages",
    "chat_queue",
    "chat_sessions",
    "chat_streamed",
    "chat_turns",
    "compactions",
    "holders",
    "leases",
    "memories",
    "scopes",
    "search_pieces",
    "search_stale",
    "segments",
    "shares",
];

fn always() -> Always {
    Always { tool: "run".into(), pattern: Some("p".into()), rejected: false }
}

/// Fills every table, under the same names in each tenant.
fn fill(store: &mut PostgresStore, word: &str) -> Fence {
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    let mut first = head("s");
    (first.title, first.waits) = (Some(word.to_owned()), true);
    let mut child = head("child");
    (child.parent, child.origin, child.waits) = (Some(s.clone()), Origin::Background, true);
    let large = format!("{word} ").repeat(5000);
    let writes = [
        vec![Write::Head(Box::new(first))],
        step("s", 0, 4).split_off(1),
        vec![
            enqueue("q", false, &large),
            key("k", word),
            Write::Draft(Some(word.into())),
            piece(word),
            Write::Compaction(Box::new(compaction("s/c0", 1))),
        ],
    ]
    .concat();
    store.commit(&s, fence, &writes).unwrap();
    store.index(&s).unwrap();
    let mut edit = message(1, user("says"));
    edit.rev = 1;
    let edit = Write::Message { turn: 0, message: Arc::new(edit) };
    store.commit(&s, fence, &[edit, keep("revision")]).unwrap();
    let of_child = store.acquire(&session("child"), Time(1)).unwrap();
    store.commit(&session("child"), of_child, &[Write::Head(Box::new(child))]).unwrap();
    let patch = ScopePatch { plan: Some(word.into()), ..ScopePatch::default() };
    store.put_scope("w", "scope", &patch, None).unwrap();
    store.approve("w", &always()).unwrap();
    let patch = MemoryPatch { text: Some(word.into()), ..MemoryPatch::default() };
    store.put_memory("w", "m", patch, Time(3)).unwrap();
    fence
}

/// The results of every reading method.
fn shown(store: &mut PostgresStore) -> Vec<String> {
    let s = session("s");
    let list = ListQuery { limit: 9, ..ListQuery::default() };
    let words = Query { words: Words::of("says"), before: None, skip: 0, limit: 9, hidden: true };
    let claims = Claims { key: Some("k".into()), external_id: Some("s-0".into()) };
    vec![
        format!("{:?}", store.load(&s).unwrap()),
        format!("{:?}", store.load_part(&s, 1).unwrap()),
        format!("{:?}", store.load_rest(&s, Ordinal(2)).unwrap()),
        format!("{:?}", store.messages(&s, None, 9).unwrap()),
        format!("{:?}", store.is_known(&s, &claims, Ordinal(9)).unwrap()),
        format!("{:?}", store.find(&["s-0".into()], "w").unwrap()),
        format!("{:?}", store.workspace(&s).unwrap()),
        format!("{:?}", store.revisions(&s, None, 9).unwrap()),
        format!("{:?}", store.list(&list).unwrap()),
        format!("{:?}", store.search(&s, &words).unwrap()),
        format!("{:?}", store.waiting("w").unwrap()),
        format!("{:?}", store.tasks(&s).unwrap()),
        format!("{:?}", store.follow(&s, None).unwrap()),
        format!("{:?}", store.scope("w", "scope").unwrap()),
        format!("{:?}", store.approvals("w").unwrap()),
        format!("{:?}", store.memories("w", &MemoryQuery::default()).unwrap()),
        format!("{:?}", store.diagnostics().map(|found| (found.sessions, found.messages)).unwrap()),
    ]
}

#[test]
fn no_method_shows_or_changes_what_another_tenant_has() {
    let Some(server) = postgres::server() else { return };
    let (mut a, mut b) = (open(server, &unique("a")), open(server, &unique("b")));
    let nothing = shown(&mut b);
    let fence = fill(&mut a, "alpha");
    assert_eq!(shown(&mut b), nothing);
    let of_a = shown(&mut a);
    // A part is not read while an answer is in progress.
    let silent = (0..of_a.len()).filter(|method| of_a[*method] == nothing[*method]);
    assert_eq!(silent.collect::<Vec<_>>(), [1], "all others show something");
    let of_b = fill(&mut b, "beta");
    assert_eq!(of_b, fence, "leases are those of another session");
    assert_eq!(shown(&mut a), of_a);
    // All that is changed and deleted there leaves this tenant as it was.
    let s = session("s");
    b.commit(&s, of_b, &[Write::Truncate { from: Ordinal(1), turns: 1 }]).unwrap();
    b.release(&s, of_b).unwrap();
    b.take_over(&s, Time(9)).unwrap();
    b.revoke("w", &always()).unwrap();
    assert!(b.delete_memory("w", "m").unwrap());
    assert!(b.delete(&s).unwrap().is_some());
    b.close().unwrap();
    assert_eq!(shown(&mut a), of_a);
    assert_eq!(a.holds(&s, fence), Ok(()));
}

#[test]
fn deletion_leaves_no_row() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("gone");
    let mut store = open(server, &tenant);
    fill(&mut store, "alpha");
    store.delete(&session("s")).unwrap().unwrap();
    store.delete(&session("child")).unwrap().unwrap();
    let of_workspace = ["approvals", "holders", "memories", "scopes"];
    for table in TABLES.iter().filter(|table| !of_workspace.contains(table)) {
        let sql = format!("SELECT count(*) FROM {table} WHERE tenant = '{tenant}'");
        assert_eq!(server.sql_in("postgres", "threadhold", &sql), Ok("0".to_owned()), "{table}");
    }
}

#[test]
fn a_role_of_a_tenant_selects_no_row_of_another() {
    let Some(server) = postgres::server() else { return };
    let (one, other) = (unique("one"), unique("other"));
    let (mut a, mut b) = (open(server, &one), open(server, &other));
    fill(&mut a, "alpha");
    fill(&mut b, "beta");
    let role = format!("r{}", one.replace('-', "_"));
    let all = |sql: &str| server.sql_in("postgres", "threadhold", sql).unwrap();
    all(&format!(
        "CREATE ROLE {role} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
         REVOKE INSERT, UPDATE, DELETE ON tenant_roles, threadhold_schema FROM {role};
         INSERT INTO tenant_roles (role, tenant) VALUES ('{role}', '{one}')"
    ));
    let known = all("SELECT count(*) FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name = 'tenant' AND table_name <> 'tenant_roles'");
    assert_eq!(known, (TABLES.len() + 1).to_string(), "compaction_statuses is the one that is empty here");
    for table in TABLES {
        let count = |sql: &str| server.sql_in(&role, "threadhold", sql).unwrap();
        let own = count(&format!("SELECT count(*) > 0 FROM {table}"));
        // Naming another tenant does not make the role one of it.
        let others = count(&format!(
            "SET threadhold.tenant = '{other}'; SELECT count(*) FROM {table} WHERE tenant <> '{one}'"
        ));
        assert_eq!((own.as_str(), others.as_str()), ("t", "0"), "{table}");
        let gone = format!(
            "WITH gone AS (DELETE FROM {table} WHERE tenant = '{other}' RETURNING 1) SELECT count(*) FROM gone"
        );
        assert_eq!(count(&gone), "0", "{table}");
    }
    let forged = format!("INSERT INTO scopes VALUES ('{other}', 'w', 'forged', 1, 1, '')");
    let error = server.sql_in(&role, "threadhold", &forged).unwrap_err();
    assert!(error.contains("row-level security"), "{error}");
    // The owner of the tables sees only the tenant that it names.
    let owner = "SELECT count(*) FROM chat_sessions";
    assert_eq!(server.sql_in("threadhold", "threadhold", owner), Ok("0".to_owned()));
}
