//! Removes messages or changes them in place. Nothing that a user typed or saw is lost: a fork keeps the
//! session as it stood.

use crate::carried::Carried;
use crate::context::pins::pins_follow;
use crate::context::records::{self, tell_record};
use crate::core::Core;
use crate::values::effect::{Effect, Made};
use crate::values::event::EventBody;
use crate::values::stored::{Head, Write};
use engine::id::{CompactionId, Ordinal, SessionId};
use engine::message::Body;
use engine::text::sha256_hex;
use engine::words::Origin;

/// Bytes of an id up to which its forks' ids begin with it; longer ones are hashed.
const LONGEST_ROOT: usize = 80;

/// Keeps the session as it stands under another id, and returns that.
pub(crate) fn fork(core: &mut Core<'_>) -> SessionId {
    let head = core.head();
    // With its creation time: a session that was deleted and made again has forks of other names.
    let made = format!("~{}.{:x}", core.transcript().cuts() + 1, head.created_at.0);
    let to = SessionId::new(match head.id.as_str() {
        // Ids of forks of forks, too, must be short enough for clients to send.
        long if long.len() > LONGEST_ROOT => format!("{:.32}{made}", sha256_hex(long.as_bytes())),
        short => format!("{short}{made}"),
    });
    let head = Head {
        id: to.clone(),
        parent: Some(head.id.clone()),
        origin: Origin::Rewind,
        waits: false,
        carried: Carried::default(),
        ..head.clone()
    };
    let transcript = core.transcript();
    let in_force = transcript.in_force();
    let made = Made {
        head,
        messages: count(transcript.messages().len()),
        turns: count(transcript.turns().len()),
        summary: in_force.map(|record| record.block.clone()),
        summarized: in_force.map_or(0, |record| record.resume_at().0),
    };
    core.write(Write::Fork { to: to.clone() });
    core.push(Effect::Made(Box::new(made)));
    to
}

/// Removes everything from this message on; `fork` keeps it. Returns the compactions that went out of force.
pub(crate) fn cut(core: &mut Core<'_>, from: Ordinal, fork: &SessionId) -> Vec<CompactionId> {
    let void = core.transcript_mut().truncate(from);
    cut_off(core, from, fork, &void);
    void
}

/// Stores and emits a cut that the transcript has taken already.
pub(crate) fn cut_off(core: &mut Core<'_>, from: Ordinal, fork: &SessionId, void: &[CompactionId]) {
    let turns = core.cut_turns(from);
    core.write(Write::Truncate { from, turns });
    core.write_head();
    core.emit(EventBody::MessagesTruncated { from, fork: Some(fork.clone()) });
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
    let counter = core.counter();
    let void = core.transcript_mut().revise(ord, body, counter);
    core.write_head();
    let Some(message) = core.write_message(ord) else { return };
    core.emit(match is_removed {
        true => EventBody::MessageRemoved { message: message.id.clone() },
        false => EventBody::MessageUpdated(message),
    });
    records::void(core, &void);
    pins_follow(core);
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
