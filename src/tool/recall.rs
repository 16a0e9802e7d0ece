//! `recall`: finds messages by words, and returns them byte for byte in pages, for a model that sees them
//! truncated or no more.

use super::{About, Context, Ran, read, refusal};
use engine::prompt::item::ToolKind;
use engine::search::{HITS, Query, SearchPage, Words};
use engine::text::page;
use serde::Deserialize;
use serde_json::json;

/// Characters per page.
const PAGE: usize = 8_000;

const EXPECTED: &str = r#"{"ref": "the id of a tool call or of a message", "offset": bytes from 0} or {"query": "words", "skip": hits that earlier answers gave}"#;

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    offset: u64,
    query: Option<String>,
    #[serde(default)]
    skip: usize,
}

pub(super) fn about() -> About {
    About {
        description: "Searches or reads earlier messages of this session, including those that a summary replaced. `query` \
                      returns the parts of messages, calls and results that match the words best; `ref` returns the exact \
                      bytes of one message, page by page.",
        properties: json!({
            "ref": { "type": "string", "description": "The id of a message, or of a tool call to read its result." },
            "offset": { "type": "integer", "minimum": 0, "description": "Byte offset to start at. Default: 0." },
            "query": {
                "type": "string",
                "description": "Words to look for, ignoring case, such as names, file names and words of the text. Not every word must occur; rare words count most.",
            },
            "skip": { "type": "integer", "minimum": 0, "description": "Continues a query: the number that the previous page returned. Default: 0." },
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
    let Arguments { reference: None, query: Some(query), skip, .. } = read(arguments, EXPECTED).ok()? else {
        return None;
    };
    Some(Query { words: Words::of(&query), before: None, skip, limit: HITS, hidden: false })
}

pub(super) fn run(arguments: &str, context: Context<'_>) -> Result<Ran, String> {
    let Arguments { reference, offset, query, skip } = read(arguments, EXPECTED)?;
    let most = PAGE.min(context.page).max(1);
    match (reference, query, context.found) {
        (Some(reference), None, _) => part(&reference, offset, context, most),
        (None, Some(query), Some(found)) => Ok(hits(&query, skip, found, most)),
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
fn hits(query: &str, skip: usize, found: &SearchPage, most: usize) -> Ran {
    if found.hits.is_empty() {
        let query = engine::text::one_line(query, 100);
        return Ran::says([format!("[no message contains any of these words: {query}]")]);
    }
    let (mut shown, mut chars, mut next) = (Vec::new(), 0, found.next);
    for hit in &found.hits {
        let (id, offset) = (&hit.id, hit.excerpt.offset);
        let who = format!("{:?}", hit.role).to_lowercase();
        let bytes = hit.bytes;
        let text = format!("[ref {id}, {who}, {bytes} bytes, from byte {offset}]\n{}", hit.excerpt.text);
        chars += text.chars().count() + 1;
        if chars > most && !shown.is_empty() {
            next = Some(skip.saturating_add(shown.len()));
            break;
        }
        shown.push(text);
    }
    let note = match next {
        Some(next) => format!("[more results: repeat the query with skip {next}]"),
        None => "[no more results]".to_owned(),
    };
    Ran::says([shown.join("\n"), note])
}
