//! The work scope in prompts: attached to a request where it first appears as it is then. Its text is
//! `engine::scope`'s.

use crate::carried::told::ScopeTold;
use crate::core::Core;
use crate::values::stored::Driver;
use engine::compact::record::Compaction;
use engine::message::attachment::Attachment;

/// Name of the attachment with the work scope.
const WORK_SCOPE: &str = "workScope";

/// The scope that a session shares with others, to be attached to the request that is appended next; `None` if prompts
/// show it already. An editor that runs the loop says itself what its prompts show.
pub(crate) fn scope_attachment(core: &mut Core<'_>) -> Option<Attachment> {
    let head = core.head();
    let is_shared = head.work_scope.is_some() || !core.agents().is_empty();
    let text = core.scope().brief().filter(|_| is_shared && head.driver == Driver::Sidecar)?;
    let shown_from = core.transcript().in_force().map(Compaction::resume_at).unwrap_or_default();
    if head.carried.told.as_ref().is_some_and(|told| told.holds(&text, shown_from)) {
        return None;
    }
    let told = ScopeTold::new(&text, core.next_ord());
    core.set_scope_told(told);
    Some(Attachment { name: WORK_SCOPE.to_owned(), text: text.into() })
}
