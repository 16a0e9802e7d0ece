//! Warnings about a compaction, beside its record: messages were left out without a summary, it outlasts the
//! budget that it was made for, the user's answer about it could not be used. A render gets a diagnostic,
//! otherwise the session a notice.

use super::job::{Job, Then};
use super::terms::model_of;
use crate::core::{Conversation, Core};
use crate::values::refusal::Diagnostic;
use engine::compact::record::{Compaction, Mode};
use engine::message::{COMPACTION_DROPPED, COMPACTION_LASTS, Message, REVIEW_UNUSABLE};
use std::sync::Arc;

/// Requests named in a warning, at most.
const MOST_NAMED: usize = 20;

/// Adds a diagnostic to the render, or a notice to the session.
fn warn(core: &mut Core<'_>, job: &mut Job, kind: &'static str, message: String) {
    match &mut job.then {
        Then::Render(rendering) => rendering.diagnostics.push(Diagnostic { kind, message }),
        Then::Generate | Then::Report(_) | Then::Rest => core.notify_later(kind, message),
    }
}

/// Warns the user that the answer about a compaction could not be used.
pub(super) fn warn_of_review(core: &mut Core<'_>, job: &mut Job, why: &str) {
    let why = format!("your answer about the compaction was not used, so it holds as it was shown: {why}");
    warn(core, job, REVIEW_UNUSABLE, why);
}

/// Adds the warnings for a record that came into force.
pub(super) fn warn_of(core: &mut Core<'_>, record: &Compaction, job: &mut Job) {
    if record.mode == Mode::Dropped {
        let message = left_out(core, record);
        warn(core, job, COMPACTION_DROPPED, message);
    }
    let Then::Render(rendering) = &job.then else { return };
    let Some(ceiling) = rendering.render.ceiling else { return };
    let model = model_of(core, &rendering.render);
    let Ok(budget) = core.budget_in(core.scale(model), model, None) else { return };
    if record.tokens_before <= budget.limit {
        let message = format!(
            "compaction \"{}\" was made for a budget of {ceiling} tokens; it also applies to later prompts of this \
             session, whatever their budget, until context/undo undoes it",
            record.id
        );
        warn(core, job, COMPACTION_LASTS, message);
    }
}

/// Text about the messages that a prompt under this record neither shows nor sums up.
fn left_out(conversation: &Conversation, record: &Compaction) -> String {
    let transcript = conversation.transcript();
    let messages = record.dropped.map_or(0, |span| {
        let is_out = |message: &&Arc<Message>| {
            let is_kept = [&record.kept_users, &record.open_requests]
                .into_iter()
                .any(|kept| kept.contains(&message.ord));
            !message.is_hidden() && !is_kept && !transcript.is_excluded(message.ord)
        };
        transcript.range(span.from, span.to).iter().filter(is_out).count()
    });
    let requests = record.reported_users.iter().filter_map(|ord| transcript.message(*ord));
    let requests: Vec<&str> = requests.map(|message| message.id.as_str()).collect();
    let named = requests.iter().rev().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let of_user = match requests.len() {
        0 => String::new(),
        all if all > MOST_NAMED => {
            format!(", {all} requests of the user among them, the newest: {named}")
        }
        all => format!(", {all} requests of the user among them: {named}"),
    };
    let shortened = record.actions.len();
    format!(
        "there was no room for a summary: {messages} messages are left out of the prompt{of_user}, and {shortened} \
         results are shown shortened. Nothing is lost: context/recall and context/search find it, context/undo \
         takes compaction {} back",
        record.id
    )
}
