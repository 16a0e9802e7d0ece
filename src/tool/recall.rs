//! `recall`: what was said, byte for byte and in pages, for a model that sees it cut or not at all any more.

use super::{About, Context, Ran, read, refusal};
use crate::engine::prompt::item::ToolKind;
use crate::engine::text::page;
use serde::Deserialize;
use serde_json::json;

/// Characters of a page.
const PAGE: usize = 8_000;

const EXPECTED: &str = r#"{"ref": "the id of a tool call or of a message", "offset": bytes from 0}"#;

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    offset: u64,
}

pub(super) fn about() -> About {
    About {
        description: "Gives a part of what was said earlier in this session, byte for byte: the result of a tool call by \
                      the call's id, or a message by its id. The answer says where the next part begins.",
        properties: json!({
            "ref": { "type": "string", "description": "The id of a tool call or of a message." },
            "offset": { "type": "integer", "minimum": 0, "description": "Where to begin, in bytes. Default: 0." },
        }),
        required: &["ref"],
        kind: ToolKind::Other,
        guidelines: Some(
            "Where a result says that bytes of it are not shown, or a summary stands for what you need word for word, \
             fetch it with the tool recall instead of doing the work again.",
        ),
    }
}

pub(super) fn run(arguments: &str, context: Context<'_>) -> Result<Ran, String> {
    let Arguments { reference, offset } = read(arguments, EXPECTED)?;
    let Some(whole) = (context.recall)(&reference) else {
        return Err(refusal(&format!("nothing here is called {reference:?}"), EXPECTED));
    };
    let offset = page(&whole, usize::try_from(offset).unwrap_or(usize::MAX), 0).offset;
    let most = PAGE.min(context.page).max(1);
    let rest = whole.get(offset..).unwrap_or_default();
    let bytes = rest.char_indices().nth(most).map_or(rest.len(), |(bytes, _)| bytes);
    let page = page(&whole, offset, bytes);
    let end = offset + page.text.len();
    let goes_on = match page.next {
        Some(next) => format!("it goes on at offset {next}"),
        None => "this is its end".to_owned(),
    };
    let note = format!("[bytes {offset} to {end} of {}; {goes_on}]", whole.len());
    Ok(Ran::says([page.text.to_owned(), note]))
}
