//! The request to review a compaction, and the user's answer. The session decides what follows.

use super::answer::view;
use protocol::methods::{self, read_result};
use protocol::review::{CompactionReviewParams, DroppedMessage, ReviewDecision};
use serde_json::Value;
use session::Session;
use session::effect::AskReview;
use session::input::Review;
use tower_lsp::jsonrpc::Error;

/// The parameters of `compaction/review`.
pub(in crate::server) fn question(session: &Session, ask: &AskReview) -> CompactionReviewParams {
    let transcript = session.transcript();
    let dropped = ask.dropped.iter().filter_map(|(ord, bytes)| {
        let message = transcript.message(*ord)?;
        let message_id = message.id.as_str().to_owned();
        Some(DroppedMessage { message_id, ord: ord.0, bytes: *bytes as u64 })
    });
    CompactionReviewParams {
        session_id: session.id().as_str().to_owned(),
        compaction: view(transcript, &ask.record),
        dropped: dropped.collect(),
    }
}

/// Parses the answer; `None` if the client answers with an error or `null`, which means that it cannot ask the user.
pub(in crate::server) fn answer(outcome: Result<Value, Error>) -> Option<Review> {
    let result = match read_result::<methods::CompactionReview>(outcome.ok()?) {
        Ok(result) => result?,
        Err(error) => {
            tracing::warn!(%error, "an answer about a compaction could not be used");
            return Some(Review::Unusable(
                "it is no answer that is known: accept, edit with a text, or refuse".into(),
            ));
        }
    };
    match (result.decision, result.text) {
        (ReviewDecision::Accept, _) => Some(Review::Accept),
        (ReviewDecision::Refuse, _) => Some(Review::Refuse),
        (ReviewDecision::Edit, Some(text)) => Some(Review::Edit(text)),
        (ReviewDecision::Edit, None) => Some(Review::Unusable("an edit came without its text".into())),
    }
}
