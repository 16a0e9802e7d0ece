//! `read_scope`: what sessions of a work scope share.

use super::{About, Context, Ran};
use engine::prompt::item::ToolKind;
use serde_json::json;

pub(super) fn about() -> About {
    About {
        description: "Returns the work scope: plan, todos, pins and artifacts, which this session shares with the agents and \
                      stages of the same work. Others may have changed it since it was last shown.",
        properties: json!({}),
        required: &[],
        kind: ToolKind::Other,
        guidelines: None,
    }
}

pub(super) fn run(context: Context<'_>) -> Ran {
    Ran::says([context.scope.whole()])
}
