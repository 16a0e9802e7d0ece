//! Removes messages or changes them in place. Nothing that a user typed or saw is lost: a revision keeps the
//! session as it stood.

use crate::context::pins::pins_follow;
use crate::context::records::{self, tell_record};
use crate::core::Core;
use crate::values::event::EventBody;
use crate::values::stored::{Revision, RevisionCause, Write};
use engine::id::{CompactionId, Ordinal, SessionId};
use engine::message::Body;
use engine::text::{head, sha256_hex};

/// Bytes of an id up to which its revisions' ids begin with it; longer ones are hashed.
const LONGEST_ROOT: usize = 80;

/// The most bytes of a removed text that a revision is listed with.
const MOST_WORDS: usize = 200;

/// Keeps the session as it stands as a revision, and returns its id. `from` is the first message that changes.
pub(crate) fn keep(core: &mut Core<'_>, cause: RevisionCause, from: Ordinal) -> SessionId {
    let own = core.head();
    // With its creation time: a session that was deleted and made again has revisions of other names.
    let made = format!("~{}.{:x}", core.transcript().cuts() + 1, own.created_at.0);
    let id = SessionId::new(match own.id.as_str() {
        // Ids of revisions, too, must be short enough for clients to send.
        long if long.len() > LONGEST_ROOT => format!("{:.32}{made}", sha256_hex(long.as_bytes())),
        short => format!("{short}{made}"),
    });
    let revision = Revision { id: id.clone(), cause, at: core.now(), words: first_words(core, from) };
    core.write(Write::Revision(revision));
    id
}

/// The beginning of the first text from this message on.
fn first_words(core: &Core<'_>, from: Ordinal) -> Option<String> {
    let messages = core.transcript().messages().iter().skip(from.index());
    let shown = messages.filter(|message| message.visible_to_model && !message.is_removed());
    let first = shown.flat_map(|message| message.body.texts()).map(|text| text.trim());
    first.into_iter().find(|text| !text.is_empty()).map(|text| head(text, MOST_WORDS).to_owned())
}

/// Removes everything from this message on; `revision` keeps it. Returns the compactions that went out of force.
pub(crate) fn cut(core: &mut Core<'_>, from: Ordinal, revision: &SessionId) -> Vec<CompactionId> {
    let void = core.transcript_mut().truncate(from);
    cut_off(core, from, revision, &void);
    void
}

/// Stores and emits a cut that the transcript has taken already.
pub(crate) fn cut_off(core: &mut Core<'_>, from: Ordinal, revision: &SessionId, void: &[CompactionId]) {
    let turns = core.cut_turns(from);
    core.write(Write::Truncate { from, turns });
    core.write_head();
    core.emit(EventBody::MessagesTruncated { from, revision: Some(revision.clone()) });
    core.add_up_turn(core.last_turn());
    records::void(core, void);
    pins_follow(core);
}

/// Revises messages and emits them. A compaction that stays in force is emitted again if its metadata
/// mentions one of them.
pub(crate) fn revise_all(core: &mut Core<'_>, versions: impl IntoIterator<Item = (Ordinal, Option<Body>)>) {
    let kept = core.kept_by_clients();
    for (ord, body) in versions {
        revise(core, ord, body);
    }
    for (id, now) in core.kept_by_clients() {
        if kept.get(&id).is_some_and(|before| *before != now) {
            tell_record(core, &id, Some("messages that it refers to were changed"));
        }
    }
}

/// Replaces or removes a message, and emits that.
fn revise(core: &mut Core<'_>, ord: Ordinal, body: Option<Body>) {
    let is_removed = body.is_none();
    let turn = core.transcript().turn_at(ord).unwrap_or_default();
    let rounds = core.round_ids(turn);
    let counter = core.counter();
    let void = core.transcript_mut().revise(ord, body, counter);
    core.write_head();
    let Some(message) = core.write_message(ord) else { return };
    core.emit(match is_removed {
        true => EventBody::MessageRemoved { message: message.id.clone() },
        false => EventBody::MessageUpdated(message, core.round_id(ord)),
    });
    core.tell_rounds(turn, &rounds, &[ord]);
    core.add_up_turn(turn);
    records::void(core, &void);
    pins_follow(core);
}
