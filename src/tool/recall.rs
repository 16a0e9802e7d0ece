//! `recall`: finds messages by words, and returns them byte for byte in pages, for a model that sees them
//! truncated or no more.

use super::{About, Context, Ran, read, refusal};
use engine::id::Ordinal;
use engine::prompt::item::ToolKind;
use engine::search::{HITS, Query, SearchPage, Words};
use engine::text::page;
use serde::Deserialize;
use serde_json::json;

/// Characters per page.
const PAGE: usize = 8_000;

const EXPECTED: &str = r#"{"ref": "the id of a tool call or of a message", "offset": bytes from 0} or {"query": "words", "before": the number that an earlier answer gave}"#;

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    offset: u64,
    query: Option<String>,
    before: Option<u32>,
}

pub(super) fn about() -> About {
    About {
        description: "Searches or reads earlier messages of this session, including those that a summary replaced. `query` \
                      returns the messages that contain all words, newest first; `ref` returns the exact bytes of one \
                      message, page by page.",
        properties: json!({
            "ref": { "type": "string", "description": "The id of a message, or of a tool call to read its result." },
            "offset": { "type": "integer", "minimum": 0, "description": "Byte offset to start at. Default: 0." },
            "query": {
                "type": "string",
                "description": "Words that a message must contain, ignoring case. Parts of names and paths match.",
            },
            "before": { "type": "integer", "minimum": 0, "description": "Continues a query with older messages: the number that the previous page returned." },
        }),
        required: &[],
        kind: ToolKind::Other,
        guidelines: Some(
            "When a result is truncated, or a summary replaced text that you need verbatim, fetch it with the tool \
             recall instead of repeating the work.",
        ),
    }
}

/// The search that a call by words needs.
pub(super) fn looks_for(arguments: &str) -> Option<Query> {
    let Arguments { reference: None, query: Some(query), before, .. } = read(arguments, EXPECTED).ok()?
    else {
        return None;
    };
    let before = before.map(Ordinal);
    Some(Query { words: Words::of(&query), before, limit: HITS, hidden: false })
}

pub(super) fn run(arguments: &str, context: Context<'_>) -> Result<Ran, String> {
    let Arguments { reference, offset, query, .. } = read(arguments, EXPECTED)?;
    let most = PAGE.min(context.page).max(1);
    match (reference, query, context.found) {
        (Some(reference), None, _) => part(&reference, offset, context, most),
        (None, Some(query), Some(found)) => Ok(hits(&query, found, most)),
        _ => Err(refusal("give exactly one of `ref` and `query`", EXPECTED)),
    }
}

/// One page of a message.
fn part(reference: &str, offset: u64, context: Context<'_>, most: usize) -> Result<Ran, String> {
    let Some(whole) = (context.recall)(reference) else {
        return Err(refusal(&format!("no message or tool call {reference:?}"), EXPECTED));
    };
    let offset = page(&whole, usize::try_from(offset).unwrap_or(usize::MAX), 0).offset;
    let rest = whole.get(offset..).unwrap_or_default();
    let bytes = rest.char_indices().nth(most).map_or(rest.len(), |(bytes, _)| bytes);
    let page = page(&whole, offset, bytes);
    let end = offset + page.text.len();
    let goes_on = match page.next {
        Some(next) => format!("continues at offset {next}"),
        None => "end of the message".to_owned(),
    };
    let note = format!("[bytes {offset} to {end} of {}; {goes_on}]", whole.len());
    Ok(Ran::says([page.text.to_owned(), note]))
}

/// The hits that fit into `most` characters; the first is shown even if it does not.
fn hits(query: &str, found: &SearchPage, most: usize) -> Ran {
    if found.hits.is_empty() {
        let query = engine::text::one_line(query, 100);
        return Ran::says([format!("[no message contains all of these words: {query}]")]);
    }
    let (mut shown, mut chars, mut next) = (Vec::new(), 0, found.next);
    for hit in &found.hits {
        let (id, offset) = (&hit.id, hit.excerpt.offset);
        let who = format!("{:?}", hit.role).to_lowercase();
        let bytes = hit.bytes;
        let text = format!("[ref {id}, {who}, {bytes} bytes, from byte {offset}]\n{}", hit.excerpt.text);
        chars += text.chars().count() + 1;
        if chars > most && !shown.is_empty() {
            next = shown.last().map(|(ord, _)| *ord);
            break;
        }
        shown.push((hit.ord, text));
    }
    let note = match next {
        Some(next) => format!("[more results: repeat the query with before {next}]"),
        None => "[no more results]".to_owned(),
    };
    Ran::says([shown.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n"), note])
}
