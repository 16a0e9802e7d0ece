//! Requests to a client's model and its answers, streamed or whole.

use super::message::{body_parts, wire_call};
use super::prompt::prompt_messages;
use super::tool::tool;
use super::{ConvertError, Reading};
use engine::delta::{Delta, Draft};
use engine::message::{Beside, ToolCall};
use engine::prompt::request::{Answer, Request, StopReason};
use protocol::model::{
    DeltaOp, ModelCompleteParams, ModelCompleteResult, ModelOptions, ModelPurpose, ToolCall as WireCall,
};
use protocol::snapshot::Streaming;

/// Reads the result of `model/complete`. Text and calls that it omits are those of the deltas.
pub fn answer(result: &ModelCompleteResult) -> Result<Answer, ConvertError> {
    let mut reading = Reading::new();
    let (parts, mut calls) = match &result.content {
        Some(content) => {
            let said = reading.field("content", |reading| reading.said(content))?;
            (Some(said.parts), said.calls)
        }
        None => (None, Vec::new()),
    };
    let stated = result.tool_calls.as_deref().unwrap_or_default();
    reading.field("toolCalls", |reading| {
        reading.each(stated, |reading, call| match call.id.as_str() {
            "" => Err(reading.field("id", |reading| reading.fail("must not be empty"))),
            _ => Ok(()),
        })
    })?;
    for call in stated {
        // A call in both the content and the list is one call.
        if calls.iter().all(|known: &ToolCall| known.id.as_str() != call.id) {
            calls.push(our_call(call));
        }
    }
    let states_calls = !calls.is_empty() || result.tool_calls.is_some();
    let default = if calls.is_empty() { StopReason::End } else { StopReason::ToolUse };
    Ok(Answer {
        parts,
        calls: states_calls.then_some(calls),
        stop: result.stop_reason.map_or(default, StopReason::from),
        usage: result.usage,
    })
}

fn our_call(call: &WireCall) -> ToolCall {
    ToolCall::new(&call.id, &call.name, &call.arguments.0)
}

/// Converts an operation; `None` if this version does not know it.
pub fn delta(op: &DeltaOp) -> Option<Delta> {
    Some(match op {
        DeltaOp::AppendContent { text } => Delta::AppendContent(text.clone()),
        DeltaOp::AppendReasoning { text } => Delta::AppendReasoning(text.clone()),
        DeltaOp::SetToolCalls { tool_calls } => {
            Delta::SetToolCalls(tool_calls.iter().map(our_call).collect())
        }
        DeltaOp::AppendToolArguments { call_id, text } => {
            Delta::AppendToolArguments { call: call_id.clone(), text: text.clone() }
        }
        DeltaOp::SetThinkingBlocks { blocks } => Delta::SetThinkingBlocks(blocks.clone()),
        DeltaOp::AddCitation { citation } => Delta::AddCitation(citation.clone()),
        DeltaOp::AddServerContentBlock { block } => Delta::AddServerContentBlock(block.clone()),
        DeltaOp::SetUsage { usage } => Delta::SetUsage(*usage),
        DeltaOp::MergeExtra { extra } => Delta::MergeExtra(extra.clone()),
        DeltaOp::Unknown(_) => return None,
    })
}

/// Converts a delta for the wire.
pub fn delta_op(delta: &Delta) -> DeltaOp {
    match delta {
        Delta::AppendContent(text) => DeltaOp::AppendContent { text: text.clone() },
        Delta::AppendReasoning(text) => DeltaOp::AppendReasoning { text: text.clone() },
        Delta::SetToolCalls(calls) => {
            DeltaOp::SetToolCalls { tool_calls: calls.iter().map(wire_call).collect() }
        }
        Delta::AppendToolArguments { call, text } => {
            DeltaOp::AppendToolArguments { call_id: call.clone(), text: text.clone() }
        }
        Delta::SetThinkingBlocks(blocks) => DeltaOp::SetThinkingBlocks { blocks: blocks.clone() },
        Delta::AddCitation(citation) => DeltaOp::AddCitation { citation: citation.clone() },
        Delta::AddServerContentBlock(block) => DeltaOp::AddServerContentBlock { block: block.clone() },
        Delta::SetUsage(usage) => DeltaOp::SetUsage { usage: (*usage) },
        Delta::MergeExtra(extra) => DeltaOp::MergeExtra { extra: extra.clone() },
    }
}

/// Converts an answer that is being streamed, for a snapshot.
pub fn streaming(message_id: &str, draft: &Draft) -> Streaming {
    let Beside { citations, usage, extra, .. } = draft.beside.clone();
    Streaming {
        message_id: message_id.to_owned(),
        parts: body_parts(&draft.body()),
        usage,
        citations: (!citations.is_empty()).then_some(citations),
        extra: (!extra.is_empty()).then_some(extra),
    }
}

/// Parameters of `model/complete`; the caller sets `requestId`, `sessionId` and `turnId`.
pub fn complete_params(request: &Request, purpose: ModelPurpose, model: Option<&str>) -> ModelCompleteParams {
    ModelCompleteParams {
        request_id: String::new(),
        session_id: String::new(),
        turn_id: None,
        purpose,
        model: model.map(str::to_owned),
        messages: prompt_messages(&request.items, &request.cache_breakpoints),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: request.tool_choice,
        options: ModelOptions {
            temperature: request.temperature_zero.then_some(0.0),
            max_output_tokens: request.max_output,
        },
    }
}
