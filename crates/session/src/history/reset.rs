//! A new chat under the same id; a revision keeps all of the old one.

use super::cut::{cut_off, keep};
use crate::context::figures::tell_next_context;
use crate::context::pins::clear_pins;
use crate::context::prefix::renew;
use crate::core::Core;
use crate::values::effect::Effect;
use crate::values::stored::TitleFrom;
use engine::id::{Ordinal, SessionId};
use engine::scope::ScopePatch;
use engine::words::{BreakCause, RevisionCause, StateName};

/// Begins a new chat; nothing may run. Returns the revision, if the session had messages.
pub(crate) fn reset(core: &mut Core<'_>) -> Option<SessionId> {
    *core.restraint_mut() = Default::default();
    *core.limits_mut().0 = Default::default();
    let is_empty = core.transcript().messages().is_empty();
    let revision = (!is_empty).then(|| keep(core, RevisionCause::Reset, Ordinal(0)));
    core.announce(BreakCause::Reset);
    let void = core.transcript_mut().reset();
    clear_pins(core);
    core.set_generation(core.transcript().generation());
    if core.head().title_from != Some(TitleFrom::Client) {
        core.set_title(None, None);
    }
    renew(core);
    if let Some(revision) = &revision {
        cut_off(core, Ordinal(0), revision, &void);
    } else {
        core.write_head();
    }
    if core.head().work_scope.is_none() {
        // Only the session's own scope: todos and plan belong to the old chat.
        let patch = ScopePatch { todos: Some(Vec::new()), plan: Some("".into()), ..ScopePatch::default() };
        core.push(Effect::ChangeScope(patch));
    }
    core.emit_thread();
    core.emit_state(StateName::Idle, None);
    tell_next_context(core);
    revision
}
