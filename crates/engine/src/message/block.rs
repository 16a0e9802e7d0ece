//! Provider's own blocks that the engine tells from others by their types; all else in them is the wires' affair.

use serde_json::Value;

/// `true` for a compaction of the provider. It stands for everything that the prompt shows before it.
pub fn is_provider_compaction(wire: &Value) -> bool {
    wire.get("type").is_some_and(|kind| kind == "compaction")
}

/// `true` for a block of type `message` without content, which only notes what belongs to the text before it, such as its
/// phase. It goes back with the text, says nothing to a reader, weighs nothing and is not part of a hash.
pub fn is_note_of_text(wire: &Value) -> bool {
    wire.get("type").is_some_and(|kind| kind == "message") && wire.get("content").is_none()
}

#[cfg(test)]
mod tests {
    use crate::delta::{Delta, Draft};
    use crate::message::Body;
    use crate::tokens::QuarterOfChars;
    use serde_json::json;

    #[test]
    fn note_of_text_says_and_weighs_nothing() {
        let answer = |deltas: Vec<Delta>| -> Body {
            let mut draft = Draft::default();
            deltas.into_iter().for_each(|delta| draft.fold(delta).unwrap());
            draft.body()
        };
        let text = || Delta::AppendContent("I look.".to_owned());
        let note = || Delta::AddServerContentBlock(json!({ "type": "message", "phase": "commentary" }));
        let found = || Delta::AddServerContentBlock(json!({ "type": "found" }));
        let (plain, noted) = (answer(vec![text(), found()]), answer(vec![text(), note(), found()]));
        let of = |body: &Body| (body.hash(), body.tokens(&QuarterOfChars), body.said());
        assert_eq!(of(&plain), of(&noted));
        assert!(answer(vec![note()]).is_empty() && !answer(vec![found()]).is_empty());
    }
}
