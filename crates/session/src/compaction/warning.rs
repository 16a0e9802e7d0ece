//! What a user is told of a compaction beside its record: that something was left out without a summary, that it holds
//! longer than what it was made for, that an answer about it could not be used. A render says so to its editor; else it
//! is a notice in the session. Nothing is decided here.

use super::job::{Job, Then};
use super::terms::model_of;
use crate::core::{Conversation, Core};
use crate::values::refusal::Diagnostic;
use engine::compact::record::{Compaction, Mode};
use engine::message::{COMPACTION_DROPPED, COMPACTION_LASTS, Message, REVIEW_UNUSABLE};
use std::sync::Arc;

/// Requests that are named in a warning, at most.
const MOST_NAMED: usize = 20;

/// Tells whoever follows a compaction.
fn warn(core: &mut Core<'_>, job: &mut Job, kind: &'static str, message: String) {
    match &mut job.then {
        Then::Render(rendering) => rendering.diagnostics.push(Diagnostic { kind, message }),
        Then::Generate | Then::Report(_) | Then::Rest => core.notify_later(kind, message),
    }
}

/// What the user answered about a compaction was of no use.
pub(super) fn warn_of_review(core: &mut Core<'_>, job: &mut Job, why: &str) {
    let why = format!("your answer about the compaction was not used, so it holds as it was shown: {why}");
    warn(core, job, REVIEW_UNUSABLE, why);
}

/// What is to be said of a record that holds from now on.
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
            "compaction {} was made for a budget of {ceiling} tokens alone; it holds for later prompts of this \
             session too, whatever their budget, until context/undo takes it back",
            record.id
        );
        warn(core, job, COMPACTION_LASTS, message);
    }
}

/// What a prompt under this record does not show and nothing stands for.
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
