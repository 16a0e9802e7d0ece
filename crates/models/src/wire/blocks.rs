//! Blocks that a provider made: each says who made it, and goes back to nobody else. What a block holds is its wire's.

use super::content::called;
use crate::Said;
use engine::delta::Delta;
use engine::endpoint::Wire;
use engine::message::MADE_BY;
use engine::prompt::item::Tool;
use serde_json::{Map, Value};

/// What was said, with its calls by the names that the tools have and not by those that a provider takes.
pub(crate) fn named_back(mut said: Said, tools: &[Tool]) -> Said {
    if let Said::Delta(Delta::SetToolCalls(calls)) = &mut said {
        for call in calls {
            let name = called(&call.name, tools);
            if name != &*call.name {
                call.name = name.into();
            }
        }
    }
    said
}

/// What was said, with a word in a provider's own blocks on who made them.
pub fn stamped(mut said: Said, wire: Wire, model: &str) -> Said {
    let stamp = |block: &mut Map<String, Value>| {
        block.insert(MADE_BY.to_owned(), maker(wire, model).into());
    };
    match &mut said {
        Said::Delta(Delta::SetThinkingBlocks(blocks)) => blocks.iter_mut().for_each(stamp),
        Said::Delta(Delta::AddServerContentBlock(Value::Object(block))) => stamp(block),
        Said::Delta(_) | Said::Alive | Said::Retrying(_) => {}
    }
    said
}

/// A block as its provider made it; nothing for one of another wire or, where `model` is given, of another model: what
/// one of them signed or encrypted is of no use to another. A block of nobody in particular, from a client or an import,
/// may be anybody's: its form must tell.
pub(super) fn own(block: &Map<String, Value>, wire: Wire, model: Option<&str>) -> Option<Map<String, Value>> {
    let is_own = match (block.get(MADE_BY).and_then(Value::as_str), model) {
        (None, _) => true,
        (Some(made_by), Some(model)) => made_by == maker(wire, model),
        (Some(made_by), None) => made_by.split('/').next() == Some(wire.name()),
    };
    is_own.then(|| {
        let mut block = block.clone();
        block.shift_remove(MADE_BY);
        block
    })
}

fn maker(wire: Wire, model: &str) -> String {
    format!("{}/{model}", wire.name())
}
