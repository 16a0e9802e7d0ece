//! `prompt/render`: the history and the running turn that an editor gives.

use super::prefix;
use crate::convert::{self, Reading};
use crate::server::settings::{model_facts, result_tokens};
use engine::message::{Body, NewMessage, ToolResult};
use protocol::error::ProtocolError;
use protocol::prompt::{PromptRenderParams, RenderSummarize};
use protocol::restore::TurnMetadata;
use protocol::turn;
use session::effect::Diagnostic;
use session::history_turn::HistoryTurn;
use session::input::{Render, Summarize};

/// The kind of diagnostic that reports ignored fields.
const IGNORED_FIELD: &str = "ignoredField";

/// Parses the render. Results are merged into the rounds that made the calls.
pub(in crate::server) fn render(params: PromptRenderParams) -> Result<Render, ProtocolError> {
    let mut reading = Reading::new();
    let history = params.history.as_deref();
    let history = history
        .map(|history| reading.field("history", |reading| convert::history(reading, history)))
        .transpose()?;
    let mut ignored = Vec::new();
    let has_rounds = params.rounds.is_some() || params.tool_results.is_some();
    let current = match params.input {
        Some(input) => {
            let given = turn::Turn {
                external_id: input.external_id,
                request: Some(input.content),
                meta: input.meta,
                variables: params.variables,
                notebook: params.notebook,
                rounds: params.rounds,
                metadata: params.metadata,
                ..turn::Turn::default()
            };
            let mut turn = convert::turn(&mut reading, &given)?;
            turn.detailed = has_rounds;
            let results = params.tool_results.unwrap_or_default();
            let results = reading.field("toolResults", |reading| {
                reading.each(&results, |reading, result| reading.result(result))
            })?;
            results.into_iter().for_each(|result| merge_result(&mut turn, result));
            Some(turn)
        }
        None if has_rounds => {
            return Err(ProtocolError::invalid("input", "is missing; rounds and toolResults need it"));
        }
        None => {
            // They belong to a request, which is in the session already with what came beside it.
            let given = [
                ("variables", params.variables.is_some_and(|all| !all.is_empty())),
                ("notebook", params.notebook.is_some_and(|all| !all.is_empty())),
                ("metadata", params.metadata.is_some_and(|metadata| metadata != TurnMetadata::default())),
            ];
            let fields = given.into_iter().filter_map(|(field, is_given)| is_given.then_some(field));
            ignored.extend(fields.map(|field| Diagnostic {
                kind: IGNORED_FIELD,
                message: format!("{field}: is ignored without `input`"),
            }));
            None
        }
    };
    ignored.extend(reading.left_out());
    Ok(Render {
        history,
        current,
        prefix: prefix(params.sections.as_deref(), params.tools.as_deref())?,
        model: params.model.as_ref().map(model_facts).transpose()?,
        ceiling: params.budget,
        max_result: params
            .max_tool_result_tokens
            .map(|tokens| result_tokens("maxToolResultTokens", tokens))
            .transpose()?,
        summarize: match params.summarize {
            Some(RenderSummarize::Force) => Summarize::Force,
            Some(RenderSummarize::Never) => Summarize::Never,
            Some(RenderSummarize::Auto) | None => Summarize::Auto,
        },
        breakpoints: params.cache_breakpoints.unwrap_or(true),
        attachments: convert::attachments(params.attachments.as_deref()),
        left_out: ignored,
    })
}

/// Inserts a result after the newest round that made the call, unless it is there. A result without a call goes
/// last, and is reported as a stray.
fn merge_result(turn: &mut HistoryTurn, result: ToolResult) {
    let messages = &mut turn.messages;
    let called = messages.iter().rposition(|message| match &message.body {
        Body::Assistant { calls, .. } => calls.iter().any(|call| call.id.as_str() == result.call),
        Body::User(_) | Body::Tool(_) | Body::Event { .. } => false,
    });
    // Several rounds of a turn may use one id, the empty one above all.
    let from = called.map_or(0, |at| at + 1);
    let is_it = |m: &NewMessage| matches!(&m.body, Body::Tool(known) if known.call == result.call);
    if messages.iter().skip(from).any(is_it) {
        return;
    }
    let after = called.map_or(messages.len(), |_| {
        from + messages.iter().skip(from).take_while(|m| matches!(m.body, Body::Tool(_))).count()
    });
    messages.insert(after, NewMessage::new(Body::Tool(result)));
}
