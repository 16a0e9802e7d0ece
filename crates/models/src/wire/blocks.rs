//! Provider blocks: each is stamped with its wire and model, and goes back only to these. Their content is
//! the wire's.

use super::content::called;
use crate::Progress;
use engine::delta::Delta;
use engine::endpoint::Wire;
use engine::message::MADE_BY;
use engine::prompt::item::Tool;
use serde_json::{Map, Value};

/// Replaces the provider's tool names in calls with the editor's.
pub(crate) fn named_back(mut said: Progress, tools: &[Tool]) -> Progress {
    if let Progress::Delta(Delta::SetToolCalls(calls)) = &mut said {
        for call in calls {
            let name = called(&call.name, tools);
            if name != &*call.name {
                call.name = name.into();
            }
        }
    }
    said
}

/// Stamps provider blocks with the wire and the model that made them.
pub fn stamped(mut said: Progress, wire: Wire, model: &str) -> Progress {
    let stamp = |block: &mut Map<String, Value>| {
        block.insert(MADE_BY.to_owned(), maker(wire, model).into());
    };
    match &mut said {
        Progress::Delta(Delta::SetThinkingBlocks(blocks)) => blocks.iter_mut().for_each(stamp),
        Progress::Delta(Delta::AddServerContentBlock(Value::Object(block))) => stamp(block),
        Progress::Delta(_) | Progress::Alive | Progress::Retrying(_) => {}
    }
    said
}

/// Returns a provider block without its stamp, or `None` if it was made on another wire or, where `model` is
/// given, by another model: signed or encrypted content is useless there. A block without a stamp, from a
/// client or an import, passes; its form must tell whose it is.
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

/// `true` if a provider block is stamped as made by this model on this wire. Such a block can go back even if its form
/// is not known here.
pub(super) fn is_of(block: &Map<String, Value>, wire: Wire, model: &str) -> bool {
    block.get(MADE_BY).and_then(Value::as_str) == Some(&*maker(wire, model))
}

fn maker(wire: Wire, model: &str) -> String {
    format!("{}/{model}", wire.name())
}
