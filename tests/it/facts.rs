//! The two kinds of models of the compaction tests: the usual one, and one as VS Code's `vscode.lm` provides
//! it. Every request is checked against what each can do.

use engine::prompt::item::Role;
use engine::prompt::request::Request;
use protocol::message::Part;
use protocol::model::{ModelCompleteParams, ModelPurpose, ToolChoice};
use protocol::prompt::{PromptMessage, PromptRole};
use serde_json::{Value, json};
use session::settings::ModelFacts;
use threadhold::convert;

/// The name of the model that has only the roles user and assistant, cannot be told to use no tools, and
/// reports no usage.
pub const LM: &str = "lm";

/// A client's description of both models, with this window.
pub fn models(window: u32) -> [Value; 2] {
    [
        json!({ "name": "m", "window": window }),
        json!({ "name": LM, "window": window, "roles": ["user", "assistant"], "toolChoiceNone": false,
                "usage": false, "countTokens": true }),
    ]
}

/// The model's name.
pub fn name(model: &Value) -> &str {
    model["name"].as_str().expect("a name")
}

/// `true` for the model of `vscode.lm`.
pub fn is_lm(model: &Value) -> bool {
    model["name"] == LM
}

/// Checks that both models can be sent an engine's request.
pub fn can_be_asked(request: &Request, purpose: ModelPurpose) {
    let asked = |request: &Request, model: &ModelFacts| {
        let params = convert::complete_params(request, purpose, model.name.as_deref());
        ModelCompleteParams { messages: convert::fit(params.messages, model), ..params }
    };
    let usual = asked(request, &ModelFacts::default());
    pairs_stand(&usual.messages);
    assert_eq!(usual.tools.len(), request.tools.len(), "a cached prefix depends on them");
    let lm =
        ModelFacts { tool_choice_none: false, system_role: false, tool_role: false, ..ModelFacts::default() };
    let lm = asked(&request.clone().without_forbidden_tools(), &lm);
    suits_lm(&lm);
    if request.items.first().is_some_and(|item| item.role == Role::System) {
        assert_eq!(lm.messages[0].parts, usual.messages[0].parts, "the system text is the user's first");
    }
}

/// Checks a request to a model of `vscode.lm`.
pub fn suits_lm(params: &ModelCompleteParams) {
    knows_its_roles(&params.messages);
    assert_eq!(params.tool_choice, ToolChoice::Auto, "it cannot be told to use none");
    if params.purpose == ModelPurpose::Summary {
        assert_eq!(params.tools, [], "tools that it must not use are left out");
    }
}

/// Checks messages to such a model.
pub fn knows_its_roles(messages: &[PromptMessage]) {
    let mut roles = messages.iter().map(|message| message.role);
    assert_eq!(roles.next(), Some(PromptRole::User), "a user is first");
    assert!(roles.all(|role| matches!(role, PromptRole::User | PromptRole::Assistant)), "{messages:?}");
    pairs_stand(messages);
}

/// Checks that every call has its result before the next answer, and every result its call.
fn pairs_stand(messages: &[PromptMessage]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        assert!(message.role != PromptRole::Assistant || open.is_empty(), "no result of {open:?}");
        for part in &message.parts {
            match part {
                Part::ToolCall { id, .. } => open.push(id),
                Part::ToolResult { tool_call_id, .. } => {
                    let at = open.iter().position(|call| call == tool_call_id);
                    open.remove(at.unwrap_or_else(|| panic!("{tool_call_id} was never called")));
                }
                _ => {}
            }
        }
    }
    assert!(open.is_empty(), "no result of {open:?}");
}
