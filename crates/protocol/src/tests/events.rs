//! Golden wire forms, one of each event: a change of `events.jsonl` is a change of the protocol.

use crate::check::fault_in;
use crate::event::{EVENTS, SessionEvent};
use crate::methods::read;
use crate::schema::schema;
use expect_test::expect_file;
use serde_json::{Value, json};

fn message() -> Value {
    json!({
        "id": "s/m1", "externalId": "e", "ord": 1, "rev": 0, "turnId": "s/t0", "roundId": "s/r0", "role": "assistant",
        "parts": [
            {"type": "reasoning", "text": "Look.", "signature": "x", "block": {"index": 0}},
            {"type": "raw", "wire": {"type": "web_search_result", "content": []}},
            {"type": "text", "text": "Let me look."},
            {"type": "toolCall", "id": "c", "name": "read", "arguments": "{}", "sourceId": "b"},
        ],
        "visibleToModel": true, "createdAt": "2026-01-02T03:04:05.678Z", "tokens": 20,
        "usage": {"inputTokens": 60}, "citations": [{"url": "https://example.org"}], "extra": {"ms": 12}
    })
}

fn metadata() -> Value {
    let summary = json!({"toolCallRoundId": "s/r0", "text": "block", "threadhold": "{}"});
    json!({"summary": summary, "summaries": [summary]})
}

fn compaction() -> Value {
    json!({
        "id": "s/c0", "status": "inForce", "mode": "full", "modeRequested": "auto", "trigger": "budgetExceeded",
        "anchorRoundId": "s/r0", "coversFromOrd": 0, "coversToOrd": 7, "placement": "userAtBoundary", "block": "block", "tokensBefore": 9000,
        "tokensAfter": 4000, "estimator": "o200k", "numRounds": 3, "model": "m",
        "fallbacks": [{"mode": "limitHistory", "reason": "not enough"}], "strength": "medium",
        "createdAt": "2026-01-02T03:04:05.678Z", "durationMs": 1200, "turnId": "s/t0",
        "metadata": metadata()["summary"]
    })
}

fn report() -> Value {
    json!({
        "source": "both", "restored": ["s/c0"], "already": [],
        "stale": [{"toolCallRoundId": "s/r1", "reason": "its source has changed"}],
        "orphans": [], "duplicates": [], "failures": [], "revision": "s~1", "truncatedMessages": 4,
        "appendedMessages": 2, "unreadable": [], "diagnostics": [{"kind": "ignoredPart", "message": "left out"}]
    })
}

fn scope() -> Value {
    json!({
        "revision": 2, "todos": [{"content": "Fix it", "status": "inProgress"}], "plan": "First this",
        "pins": [{"id": "p1", "text": "Never force"}],
        "artifacts": [{"id": "a", "name": "Report", "kind": "report", "contentRef": "out.md"}]
    })
}

fn waiting() -> Value {
    json!({
        "itemId": "s/q1", "method": "turn/start", "priority": true, "turnId": "s/t.q1", "messageId": "s/m.q1",
        "content": [{"type": "text", "text": "next"}]
    })
}

fn spent() -> Value {
    json!({"dollars": 0.25, "reported": true, "table": "2026-11-22", "incomplete": 1})
}

fn snapshot() -> Value {
    let call = json!({"toolCallId": "c", "turnId": "s/t0", "name": "read", "arguments": "{}"});
    let reason =
        json!({"toolCallId": "c", "name": "read", "arguments": "{}", "cause": "tool", "reason": "ask"});
    json!({
        "sessionId": "s", "stream": "p1", "seq": 0, "state": "paused", "driver": "sidecar", "title": "Parser",
        "generation": 1, "parentId": "p", "origin": "branch", "scope": scope(),
        "messages": [message()],
        "turns": [{
            "id": "s/t0", "externalId": "q", "status": "running",
            "rounds": [{"id": "s/r0", "externalId": "r", "assistant": "s/m1", "results": ["s/m2"], "summary": "block"}],
            "metadata": metadata(), "usage": {"inputTokens": 60}, "cost": 0.25, "spent": spent(),
            "durationMs": 1500
        }],
        "queue": [waiting()],
        "compression": {"running": true, "phase": "summarizing", "mode": "full"},
        "streaming": {"messageId": "s/m3", "parts": [{"type": "text", "text": "It"}],
            "usage": {"inputTokens": 60}, "citations": [7], "extra": {"ms": 12}},
        "draft": "unsent", "pause": {"reasons": [reason]}, "pendingCalls": [call],
        "compactions": [compaction()], "summary": "block", "summarizedCount": 8,
        "settings": {"model": {"name": "m", "window": 128_000}, "threshold": 0.5, "summaryMode": "auto"},
        "usage": {"inputTokens": 60, "outputTokens": 12, "cachedInputTokens": 0}
    })
}

/// An event of each type, in the order of [`EVENTS`].
fn all() -> Vec<Value> {
    let storage = json!({"kind": "StorageError", "cause": "full", "path": "sessions.db"});
    let error = json!({"code": -33_010, "message": "the disk is full", "data": storage});
    vec![
        json!({"type": "snapshot", "snapshot": snapshot()}),
        json!({"type": "turnStarted", "turnId": "s/t0", "externalId": "q"}),
        json!({"type": "turnCompleted", "turnId": "s/t0", "outcome": "cancelled", "interrupted": true,
            "usage": {"inputTokens": 60}, "cost": 0.25, "spent": spent(), "compactions": ["s/c0"], "durationMs": 1500}),
        json!({"type": "streamStarted", "messageId": "s/m1", "turnId": "s/t0"}),
        json!({"type": "streamDelta", "messageId": "s/m1", "ops": [
            {"op": "appendReasoning", "text": "Look."}, {"op": "appendContent", "text": "Let me look."},
            {"op": "setToolCalls", "toolCalls": [{"id": "c", "name": "read", "arguments": ""}]},
            {"op": "appendToolArguments", "callId": "c", "text": "{}"},
            {"op": "setThinkingBlocks", "blocks": [{"type": "thinking", "index": 0, "signature": "x"}]},
            {"op": "addCitation", "citation": {"url": "https://example.org"}},
            {"op": "addServerContentBlock", "block": {"type": "web_search_result", "content": []}},
            {"op": "setUsage", "usage": {"inputTokens": 60}}, {"op": "mergeExtra", "extra": {"ms": 12}},
        ]}),
        json!({"type": "streamReset", "messageId": "s/m1"}),
        json!({"type": "streamFinished", "messageId": "s/m1", "stopReason": "toolUse"}),
        json!({"type": "messageAdded", "message": message()}),
        json!({"type": "messageUpdated", "message": message()}),
        json!({"type": "messageRemoved", "messageId": "s/m1"}),
        json!({"type": "messagesTruncated", "fromOrd": 4, "revision": "s~1"}),
        json!({"type": "threadUpdated", "title": "Parser", "generation": 1, "draft": "unsent", "scope": scope(),
            "settings": {"policy": "default"}}),
        json!({"type": "queueUpdated", "queue": [waiting()],
            "failed": {"itemId": "s/q0", "error": error.clone()}}),
        json!({"type": "runtimeUpdated", "state": "error", "turnId": "s/t0", "status": "failed", "error": error,
            "metadata": metadata()}),
        json!({"type": "toolProgress", "toolCallId": "c", "progress": 1.5, "total": 4.0, "message": "reads"}),
        json!({"type": "pauseRequired", "reasons": [
            {"toolCallId": "c", "name": "read", "arguments": "{}", "cause": "tool", "reason": "ask"}],
            "agent": {"name": "Lexer", "parentId": "p"}}),
        json!({"type": "pauseCleared"}),
        json!({"type": "agentUpdated", "agent": {"sessionId": "s-agent-1", "name": "Lexer", "kind": "agent",
            "state": "paused", "status": "running"}}),
        json!({"type": "compactionUpdated", "compactionId": "s/c0", "status": "completed", "phase": "accepted", "mode": "full", "trigger": "budgetExceeded",
            "tokensBefore": 9000, "tokensAfter": 4000,
            "reason": "done", "compaction": compaction(), "metadata": metadata()}),
        json!({"type": "contextUpdated", "tokens": 4000, "limit": 9000, "tokensUntilCompaction": 5000,
            "sections": [{"channel": "system", "name": "tools", "tokens": 100}], "estimator": "o200k_base"}),
        json!({"type": "prefixBroken", "causes": ["compaction", "edit"], "reusedTokens": 900, "lostTokens": 100}),
        json!({"type": "restoreReported", "report": report()}),
        json!({"type": "sessionTakenOver"}),
    ]
}

fn numbered() -> Vec<Value> {
    let events = all().into_iter().enumerate();
    events
        .map(|(at, event)| {
            let mut whole = json!({"sessionId": "s", "stream": "p1", "seq": at + 1});
            whole.as_object_mut().expect("an object").extend(event.as_object().expect("an object").clone());
            whole
        })
        .collect()
}

#[test]
fn events_match_their_golden_wire_form() {
    let schema = schema();
    let mut lines = String::new();
    for (event, name) in numbered().into_iter().zip(EVENTS) {
        let typed: SessionEvent = read(event.clone()).expect(name);
        let written = serde_json::to_value(&typed).unwrap();
        assert_eq!(written, event, "{name}");
        assert_eq!(written["type"], **name);
        assert_eq!(fault_in(&schema, &json!({"$ref": "#/$defs/SessionEvent"}), &written), None, "{name}");
        lines += &format!("{}\n", serde_json::to_string(&typed).unwrap());
    }
    assert_eq!(all().len(), EVENTS.len());
    expect_file!["events.jsonl"].assert_eq(&lines);
}

/// Fields whose content is kept as received, whatever it holds.
const OTHERS: &[&str] = &["metadata", "block", "blocks", "wire", "citation", "citations", "extra"];

/// Adds an unknown field to every object whose fields the protocol defines.
fn with_more(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !OTHERS.contains(&name.as_str()) {
                    with_more(field);
                }
            }
            fields.insert("fromALaterVersion".into(), json!({"type": "x", "op": 1}));
        }
        Value::Array(items) => items.iter_mut().for_each(with_more),
        _ => {}
    }
}

#[test]
fn unknown_fields_of_events_are_ignored() {
    for event in numbered() {
        let mut more = event.clone();
        with_more(&mut more);
        assert_ne!(more, event);
        let plain: SessionEvent = read(event).unwrap();
        assert_eq!(read::<SessionEvent>(more).unwrap(), plain);
    }
}

#[test]
fn an_event_of_an_unknown_type_is_kept() {
    let event = json!({"sessionId": "s", "stream": "p1", "seq": 9, "type": "confetti", "colours": 3});
    let typed: SessionEvent = read(event.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), event);
    let bad = json!({"sessionId": "s", "stream": "p1", "seq": 9, "type": "streamStarted", "messageId": 1});
    let error = read::<SessionEvent>(bad).unwrap_err();
    assert!(
        error.message.starts_with("messageId: must be a string") || error.message.starts_with("turnId"),
        "{error}"
    );
}
