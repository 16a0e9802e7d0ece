//! A restored revision brings back messages, turns and summaries; the state before is kept, so that the restore can
//! be undone.

use crate::effect::{Answer, Effect};
use crate::input::{At, Command};
use crate::stored::{RevisionCause, TurnStatus, Write};
use crate::tests::history::rewinding::compacted;
use crate::tests::machine::model::Model;
use engine::compact::record::Status;
use engine::id::{CompactionId, SessionId, TurnId};
use engine::message::{Content, Message};
use std::sync::Arc;

/// Messages, turns and records with their status.
type View = (Vec<Arc<Message>>, Vec<(TurnId, TurnStatus)>, Vec<(CompactionId, Status)>);

fn view(model: &Model) -> View {
    let session = &model.bench.session;
    let turns = session.kept().turns().iter().map(|row| (row.id.clone(), row.status));
    let records = session.transcript().compactions().iter().map(|record| (record.id.clone(), record.status));
    (session.transcript().messages().to_vec(), turns.collect(), records.collect())
}

/// Sends a command; returns the revision that it leaves behind, with its cause.
fn kept(model: &mut Model, command: Command) -> Option<(SessionId, RevisionCause)> {
    let answer = model.command(command);
    assert!(matches!(answer, Some(Ok(Answer::Accepted(_) | Answer::Reset(..)))), "{answer:?}");
    model.bench.effects.iter().find_map(|effect| match effect {
        Effect::Write(Write::Revision(revision)) => Some((revision.id.clone(), revision.cause)),
        _ => None,
    })
}

fn restore(model: &mut Model, revision: &SessionId) -> Option<(SessionId, RevisionCause)> {
    let to = Box::new(model.bench.rows.load(revision).expect("a stored revision"));
    kept(model, Command::Revert { to, key: None })
}

#[test]
fn restore_brings_back_everything_and_can_be_undone() {
    let content = vec![Content::Text("other words".into())];
    type Rewind = fn(At, Vec<Content>) -> Command;
    let commands: [(RevisionCause, Rewind); 4] = [
        (RevisionCause::Edit, |message, content| Command::Update {
            message,
            content,
            regenerate: false,
            key: None,
        }),
        (RevisionCause::Remove, |message, _| Command::Remove { message, key: None }),
        (RevisionCause::Truncate, |from, _| Command::Truncate { from, key: None }),
        (RevisionCause::Reset, |_, _| Command::Reset { keep_queue: false, key: None }),
    ];
    for (cause, command) in commands {
        let mut model = compacted();
        let before = view(&model);
        assert!(before.2.iter().any(|(_, status)| *status == Status::InForce));
        let (first, why) = kept(&mut model, command(At::Index(0), content.clone())).expect("a revision");
        assert_eq!(why, cause);
        let rewound = view(&model);
        assert!(rewound != before, "{cause:?}");

        let (undo, why) = restore(&mut model, &first).expect("a revision");
        assert_eq!(why, RevisionCause::Restore);
        assert!(view(&model) == before, "{cause:?}");
        assert_eq!(restore(&mut model, &first), None, "{cause:?}: nothing is left to restore");
        model.another_process(false);
        assert!(view(&model) == before, "{cause:?}: also in another process");

        assert!(restore(&mut model, &undo).is_some());
        assert!(view(&model) == rewound, "{cause:?}: undone");
        model.another_process(false);
        assert!(view(&model) == rewound, "{cause:?}: undone in another process");
    }
}

/// Messages of a restored revision keep their ids, and later ones get ids of their own.
#[test]
fn a_restored_session_goes_on_with_new_ids() {
    let mut model = compacted();
    let (first, _) =
        kept(&mut model, Command::Truncate { from: At::Index(0), key: None }).expect("a revision");
    model.asks("something else");
    model.answers(&[]);
    model.comes_to_rest();
    restore(&mut model, &first).expect("a revision");
    model.asks("go on");
    model.answers(&[]);
    model.comes_to_rest();
    let messages = model.bench.session.transcript().messages();
    let ids: std::collections::BTreeSet<_> = messages.iter().map(|message| &message.id).collect();
    assert_eq!(ids.len(), messages.len());
}
