//! Scopes and standing approvals of a workspace, on each backend.

use crate::Store;
use crate::error::StoreError;
use crate::testing::{Bench, head, keep, on_each, session};
use engine::id::Time;
use engine::scope::{Artifact, Pin, Scope, ScopePatch, Todo, TodoStatus};
use session::stored::{Always, Inherited, Write};

fn todos(content: &str) -> ScopePatch {
    let todo = Todo { content: content.into(), status: TodoStatus::InProgress, ..Todo::default() };
    ScopePatch { todos: Some(vec![todo]), ..ScopePatch::default() }
}

/// A second stage reads what the first one wrote, through any store.
#[test]
fn scope_is_shared_by_its_name() {
    on_each(|bench| {
        assert_eq!(bench.store().scope("w", "loop"), Ok(Scope::default()));
        // An empty change creates nothing.
        assert_eq!(
            bench.store().put_scope("w", "loop", &ScopePatch::default(), Some(0)),
            Ok(Scope::default())
        );
        let first = bench.store().put_scope("w", "loop", &todos("漢 \u{0}"), None).unwrap();
        assert_eq!((first.revision, first.todos.len()), (1, 1));
        let mut other = bench.another();
        assert_eq!(other.scope("w", "loop"), Ok(first.clone()));
        let artifact = |id: &str, name: &str| Artifact {
            id: id.into(),
            name: name.into(),
            kind: "plan".into(),
            content_ref: "plan.md".into(),
        };
        let more = ScopePatch {
            plan: Some("p".repeat(100_000).into()),
            pins: Some(vec![Pin { id: "p".into(), text: "always".into() }]),
            artifacts: Some(vec![artifact("a", "first"), artifact("b", "second")]),
            ..ScopePatch::default()
        };
        let second = other.put_scope("w", "loop", &more, Some(1)).unwrap();
        assert_eq!((second.revision, &second.todos), (2, &first.todos));
        assert_eq!(bench.store().put_scope("w", "loop", &more, None), Ok(second.clone()), "nothing new");
        bench.reopen();
        assert_eq!(bench.store().scope("w", "loop"), Ok(second.clone()));
        // Other names and workspaces are separate.
        assert_eq!(bench.store().scope("w", "LOOP"), Ok(Scope::default()));
        assert_eq!(bench.store().scope("v", "loop"), Ok(Scope::default()));
        let patch = ScopePatch { artifacts: Some(vec![artifact("a", "again")]), ..ScopePatch::default() };
        let third = bench.store().put_scope("w", "loop", &patch, Some(2)).unwrap();
        assert_eq!(
            (third.revision, third.artifacts.len(), third.artifacts[0].name.as_str()),
            (3, 2, "again")
        );
    });
}

#[test]
fn stale_scope_change_is_refused() {
    on_each(|bench| {
        let put = |bench: &mut Bench, text: &str, revision| {
            bench.store().put_scope("w", "s", &todos(text), revision).map(|scope| scope.revision)
        };
        let stale = |expected, found| Err(StoreError::StaleScope { scope: "s".into(), expected, found });
        assert_eq!(put(bench, "a", Some(1)), stale(1, 0));
        assert_eq!(put(bench, "a", Some(0)), Ok(1));
        assert_eq!(put(bench, "b", Some(0)), stale(0, 1));
        assert_eq!(put(bench, "b", Some(u64::MAX)), stale(u64::MAX, 1));
        assert_eq!(bench.store().scope("w", "s").unwrap().todos[0].content, "a");
        assert_eq!(put(bench, "b", Some(1)), Ok(2));
        assert_eq!(put(bench, "c", None), Ok(3));
    });
}

#[test]
fn scope_goes_with_its_last_session() {
    on_each(|bench| {
        let mut make = |id: &str, workspace: &str, scope: Option<&str>| {
            let mut head = head(id);
            head.workspace = workspace.into();
            head.work_scope = scope.map(str::to_owned);
            bench.write(id, &[Write::Head(Box::new(head))]);
        };
        make("parent", "w", None);
        make("child", "w", Some("parent"));
        make("one", "w", Some("loop"));
        make("two", "w", Some("loop"));
        make("elsewhere", "v", Some("loop"));
        for (workspace, name) in [("w", "parent"), ("w", "loop"), ("v", "loop"), ("w", "nobody's")] {
            bench.store().put_scope(workspace, name, &todos("t"), None).unwrap();
        }
        let left = |bench: &mut Bench| {
            [("w", "parent"), ("w", "loop"), ("v", "loop"), ("w", "nobody's")]
                .map(|(workspace, name)| bench.store().scope(workspace, name).unwrap().revision)
        };
        bench.delete("parent");
        bench.delete("one");
        assert_eq!(left(bench), [1, 1, 1, 1]);
        bench.delete("child");
        assert_eq!(left(bench), [0, 1, 1, 1]);
        bench.delete("two");
        assert_eq!(left(bench), [0, 0, 1, 1]);
        bench.delete("elsewhere");
        assert_eq!(left(bench), [0, 0, 0, 1]);
    });
}

#[test]
fn approval_holds_for_its_workspace_until_revoked() {
    on_each(|bench| {
        let always = |tool: &str, pattern: Option<&str>| Always {
            tool: tool.into(),
            pattern: pattern.map(str::to_owned),
            rejected: tool == "write",
        };
        let all = [
            always("run", None),
            always("run", Some("")),
            always("run", Some("npm *\u{0}")),
            always("write", None),
        ];
        for always in all.iter().rev().chain(&all) {
            bench.store().approve("w", always).unwrap();
        }
        bench.store().approve("v", &all[2]).unwrap();
        bench.reopen();
        assert_eq!(bench.store().approvals("w").unwrap(), all);
        assert_eq!(bench.another().approvals("v").unwrap(), all[2..3]);
        assert_eq!(bench.store().approvals("nobody's").unwrap(), []);
        for _ in 0..2 {
            bench.store().revoke("w", &all[0]).unwrap();
        }
        bench.store().revoke("nobody's", &all[1]).unwrap();
        bench.reopen();
        assert_eq!(bench.store().approvals("w").unwrap(), all[1..]);
        assert_eq!(bench.store().approvals("v").unwrap(), all[2..3]);
        // The opposite takes its place.
        let rejected = Always { rejected: true, ..all[2].clone() };
        bench.store().approve("v", &rejected).unwrap();
        bench.reopen();
        assert_eq!(bench.store().approvals("v").unwrap(), [rejected]);
    });
}

#[test]
fn a_closed_store_shares_nothing() {
    on_each(|bench| {
        let fence = bench.store().acquire(&session("s"), Time(1)).unwrap();
        bench.store().close().unwrap();
        let always = Always { tool: "t".into(), pattern: None, rejected: false };
        let store: &mut dyn Store = bench.store();
        assert_eq!(store.scope("w", "s"), Err(StoreError::Closed));
        assert_eq!(store.put_scope("w", "s", &todos("t"), None), Err(StoreError::Closed));
        assert_eq!(store.approvals("w"), Err(StoreError::Closed));
        assert_eq!(store.approve("w", &always), Err(StoreError::Closed));
        assert_eq!(store.revoke("w", &always), Err(StoreError::Closed));
        assert_eq!(store.commit(&session("s"), fence, &[]), Err(StoreError::Closed));
    });
}

/// Rewinds and branches keep the to-do list: each copy has its own from then on.
#[test]
fn copied_session_copies_its_own_scope() {
    on_each(|bench| {
        bench.write("s", &[Write::Head(Box::new(head("s")))]);
        let workspace = head("s").workspace;
        let kept = bench.store().put_scope(&workspace, "s", &todos("mend it"), None).unwrap();
        let branch = vec![Write::Head(Box::new(head("b")))];
        bench.write(
            "s",
            &[keep("f"), Write::Branch { to: session("b"), inherited: Inherited::default(), writes: branch }],
        );
        let emptied = ScopePatch { todos: Some(Vec::new()), ..ScopePatch::default() };
        bench.store().put_scope(&workspace, "s", &emptied, None).unwrap();
        bench.reopen();
        for copy in ["f", "b"] {
            assert_eq!(bench.store().scope(&workspace, copy).unwrap().todos, kept.todos, "{copy}");
        }
        assert_eq!(bench.store().scope(&workspace, "s").unwrap().todos, []);
    });
}
