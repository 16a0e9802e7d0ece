//! The ledger of all that the compaction in force hides, in pages: it names what the compaction's block has
//! no room for. Made on request and stored nowhere; `compact::ledger` reads the calls.

use crate::core::Conversation;
use crate::ledger::{LedgerPage, LedgerQuery};
use crate::values::ledger::Cursor;
use crate::values::refusal::Refusal;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger::reader::LedgerReader;

/// Returns a page of the ledger of what the compaction in force hides.
///
/// # Errors
/// [`Refusal::Unusable`] if the cursor is of a compaction that is no longer in force.
pub(crate) fn ledger(conversation: &Conversation, query: LedgerQuery) -> Result<LedgerPage, Refusal> {
    let in_force = conversation.transcript().in_force();
    let skip = match query.from {
        Some(from) if in_force.is_some_and(|record| record.id == *from.compaction()) => from.skip(),
        Some(_) => {
            let why = "is of a compaction that is no longer in force; request the first page again";
            return Err(Refusal::Unusable { field: "cursor", why });
        }
        None => 0,
    };
    let Some(record) = in_force else { return Ok(LedgerPage::default()) };
    let kinds =
        Kinds { named: &conversation.settings().policy.tool_kinds, declared: &conversation.fixed().tools };
    let whole = LedgerReader::hidden(conversation.transcript(), kinds).of(record);
    let page = whole.page(skip, query.limit);
    Ok(LedgerPage {
        compaction: Some(record.id.clone()),
        span: record.dropped.or(record.covers),
        next: page.next.map(|skip| Cursor::new(record.id.clone(), skip)),
        page,
    })
}
