//! A small source of every format, for tests that corrupt them.

use crate::Format;
use serde_json::{Value, json};

/// A source of each format that uses most of the fields its reader knows.
pub(super) fn samples() -> Vec<(Format, Vec<Value>)> {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}});
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let claude = vec![
        json!({"type": "user", "uuid": "1", "message": {"role": "user", "content": ["x", {"type": "text", "text": "t"}, image]}}),
        json!({"type": "assistant", "uuid": "2", "message": {"id": "m", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "tool_use", "id": "c", "name": "n", "input": {"a": [1]}}]}}),
        json!({"type": "user", "uuid": "3", "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "Exit code 1"}], "is_error": true}]}}),
        json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "2", "compactMetadata": {"preTokens": 9}}),
        json!({"type": "user", "uuid": "4", "isCompactSummary": true, "message": {"content": "sum"}}),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "p"}}),
        json!({"type": "summary", "summary": "title", "leafUuid": "2"}),
    ];
    let pi = vec![
        json!({"type": "session", "id": "s", "cwd": "/"}),
        json!({"type": "message", "id": "a", "message": {"role": "user", "content": "u"}}),
        json!({"type": "message", "id": "b", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "n", "arguments": {}}]}}),
        json!({"type": "message", "id": "d", "message": {"role": "toolResult", "toolCallId": "c", "isError": true, "content": [{"type": "text", "text": "Command exited with code 2"}]}}),
        json!({"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 1}}),
        json!({"type": "compaction", "summary": "s", "firstKeptEntryId": "b", "tokensBefore": 1}),
        json!({"type": "branch_summary", "summary": "s"}),
    ];
    let vscode = json!({"requests": [{"requestId": "q", "message": {"text": "t"}, "timestamp": 1759432900204_u64,
        "isCanceled": true,
        "response": [{"value": "a"}, {"kind": "toolInvocationSerialized"}, {"kind": "inlineReference", "inlineReference": {"path": "/a"}}],
        "result": {"metadata": {
            "toolCallRounds": [{"id": "r", "response": "a", "thinking": {"text": ["t"]}, "toolCalls": [{"id": "c", "name": "n", "arguments": "{}"}], "summary": "s"}],
            "toolCallResults": {"c__vscode-1": {"content": [{"value": "v"}, {"value": {"node": {"children": [{"text": "x", "lineBreakBefore": true}]}}}]}},
            "summaries": [{"toolCallRoundId": "r", "text": "z"}], "summary": {"toolCallRoundId": "?", "text": "y"}}}}]});
    let said = json!([{"role": 0, "content": [{"type": 1, "text": "s"}]}, {"role": 1, "content": [{"type": 1, "text": "u"}, {"type": 3}]}]);
    let more = json!([{"role": 0, "content": "s"}, {"role": 1, "content": "<conversation-summary>x</conversation-summary>"},
        {"role": 2, "content": [{"type": 2, "value": {"type": "thinking", "thinking": {"text": "t"}}}], "toolCalls": [call]}, {"role": 3, "toolCallId": "c", "content": "r"}]);
    let request = |messages: &Value| {
        json!({"kind": "request", "name": "n", "metadata": {"startTime": "t", "tools": [{"function": {"name": "f", "parameters": {}}}]},
        "requestMessages": {"messages": messages}, "response": {"type": "success", "message": ["m"]}})
    };
    let tool = json!({"kind": "toolCall", "id": "c__vscode-1", "tool": "f", "args": "{}", "response": ["r"]});
    let replay =
        json!({"prompts": [{"prompt": "p", "logs": [request(&said), tool, request(&more), request(&said)]}]});
    let swe = json!({"history": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:a;base64,b"}}]},
        {"role": "assistant", "content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "t"}], "tool_calls": [call]},
        {"role": "tool", "content": "r", "tool_call_ids": ["c"]}]});
    let event = |msg: Value| json!({"ts": "t", "dir": "to_tui", "kind": "codex_event", "payload": {"id": "1", "msg": msg}});
    let codex = vec![
        json!({"ts": "t", "dir": "meta", "kind": "session_start", "cwd": "/"}),
        json!({"ts": "t", "dir": "to_tui", "kind": "key_event", "event": "KeyEvent { code: Char('h'), modifiers: KeyModifiers(0x0), kind: Press, state: KeyEventState(0x0) }"}),
        json!({"ts": "t", "dir": "to_tui", "kind": "key_event", "event": "KeyEvent { code: Enter, modifiers: KeyModifiers(0x0), kind: Press, state: KeyEventState(0x0) }"}),
        event(json!({"type": "task_started"})),
        event(json!({"type": "agent_message_delta", "delta": "a"})),
        event(json!({"type": "agent_reasoning_section_break"})),
        event(json!({"type": "agent_message", "message": "ab"})),
        event(json!({"type": "exec_approval_request", "call_id": "c", "command": ["ls"], "cwd": "/"})),
        json!({"ts": "t", "dir": "from_tui", "kind": "op", "payload": {"type": "exec_approval", "id": "1", "decision": "denied"}}),
        event(json!({"type": "exec_command_begin", "call_id": "c", "command": ["ls"], "cwd": "/"})),
        event(json!({"type": "exec_command_output_delta", "call_id": "c", "chunk": [104]})),
        event(
            json!({"type": "exec_command_end", "call_id": "c", "stdout": "h", "stderr": "", "exit_code": 1}),
        ),
        event(
            json!({"type": "mcp_tool_call_end", "call_id": "m", "invocation": {"server": "s", "tool": "t"}, "result": {"Ok": {"content": [{"type": "text", "text": "r"}]}}}),
        ),
        event(json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 1}}})),
        event(json!({"type": "task_complete", "last_agent_message": "ab"})),
        json!({"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]}}),
        json!({"timestamp": "t", "type": "response_item", "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "content": null}}),
        json!({"timestamp": "t", "type": "response_item", "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}}),
        json!({"timestamp": "t", "type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "{\"output\":\"o\",\"metadata\":{\"exit_code\":0}}"}}),
        json!({"timestamp": "t", "type": "compacted", "payload": {"message": "sum"}}),
    ];
    let cline = json!({"version": 1, "sessionId": "s", "messages": [
        {"id": "1", "role": "user", "ts": 1, "content": [{"type": "text", "text": "t"}, {"type": "file", "path": "/a", "content": "f"}, image]},
        {"id": "2", "role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "tool_use", "id": "c", "name": "n", "input": {"a": [1]}}],
            "metrics": {"inputTokens": 3, "outputTokens": 1}, "modelInfo": {"id": "m"}},
        {"id": "3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"query": "q", "result": "r"}]}, {"type": "text", "text": "t"}]},
        {"id": "4", "role": "user", "content": "sum", "metadata": {"kind": "compaction_summary", "summary": "s", "tokensBefore": 4}}],
        "system_prompt": "s"});
    let openhands = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a\n\n<function=f>\n<parameter=n>1</parameter>\n<parameter=t>\nx\ny\n</parameter>\n</function>"},
        {"role": "user", "content": "EXECUTION RESULT of [f]:\nr\n[Command finished with exit code 1]"},
        {"role": "assistant", "content": null, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}}],
        "response": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "<function=finish>\n<parameter=message>d"}}], "usage": {"prompt_tokens": 2}}});
    let own = vec![
        json!({"type": "session", "format": "threadhold", "version": 1, "title": "t", "tools": [{"name": "f", "kind": "read", "inputSchema": {}}]}),
        json!({"type": "message", "role": "tool", "parts": [{"type": "toolResult", "toolCallId": "c", "exitCode": 1, "content": [], "effects": [{"path": "p", "sha256": "s"}]}]}),
        json!({"type": "message", "role": "event", "kind": "system", "parts": [{"type": "text", "text": "t"}]}),
        json!({"type": "compaction", "text": "t", "tokensBefore": 1, "afterExternalId": "x"}),
    ];
    let trajectory = json!({"id": "t", "title": "t", "version": 3, "later": [1], "summaries": [{"toolCallRoundId": "r", "text": "s"}],
        "messages": [{"id": "t/m0", "turnId": "t/t0", "role": "user", "parts": [{"type": "text", "text": "u"}], "mark": 7},
            {"role": "assistant", "content": "a", "tool_calls": [call], "usage": {"prompt_tokens": 3}},
            {"role": "tool", "tool_call_id": "c", "content": "r"}, {"role": "plan", "content": "p"}]});
    let api_history = json!([{"role": "user", "content": [{"type": "text", "text": "<task>\nt\n</task>"}, {"type": "text", "text": "<environment_details>e</environment_details>"}], "ts": 1},
        {"role": "assistant", "content": "<f>\n<p>1</p>\n</f>", "metrics": {"tokens": {"prompt": 3, "completion": 1, "cached": 2}}, "modelInfo": {"modelId": "m"}},
        {"role": "user", "content": [{"type": "text", "text": "[f for '1'] Result:"}, {"type": "text", "text": "The user denied this operation."}]}]);
    let gemini = json!({"sessionId": "s", "projectHash": "h", "summary": "t", "messages": [
        {"id": "1", "timestamp": "t", "type": "user", "content": [{"text": "u"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
        {"id": "2", "timestamp": "t", "type": "gemini", "content": "a", "thoughts": [{"subject": "s", "description": "d"}], "tokens": {"input": 3, "output": 1, "cached": 0, "thoughts": 1, "total": 5}, "model": "m",
            "toolCalls": [{"id": "c", "name": "n", "args": {"a": 1}, "status": "success", "result": [{"functionResponse": {"id": "c", "name": "n", "response": {"output": "r"}}}]}]},
        {"id": "3", "timestamp": "t", "type": "info", "content": "i"}]});
    let checkpoint = json!({"history": [{"role": "user", "parts": [{"text": "<state_snapshot>s</state_snapshot>"}]},
        {"role": "model", "parts": [{"text": "t", "thought": true}, {"functionCall": {"name": "n", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "n", "response": {"error": "r"}}}]}]});
    let opencode = json!({"info": {"id": "s", "title": "t"}, "messages": [
        {"info": {"id": "1", "role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "u"}, {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"}, {"type": "compaction", "tail_start_id": "1"}]},
        {"info": {"id": "2", "role": "assistant", "modelID": "m", "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 1, "write": 0}}}, "parts": [{"type": "step-start"}, {"type": "reasoning", "text": "t"},
            {"type": "tool", "callID": "c", "tool": "n", "state": {"status": "completed", "input": {}, "output": "r", "metadata": {"exit": 0}}}, {"type": "step-finish", "tokens": {"input": 1}}]},
        {"info": {"id": "3", "role": "assistant", "summary": true, "error": {"name": "e"}}, "parts": [{"type": "text", "text": "s"}]}]});
    let records = vec![
        json!({"id": "m1", "sessionID": "s", "role": "user"}),
        json!({"id": "p1", "sessionID": "s", "messageID": "m1", "type": "text", "text": "u"}),
        json!({"id": "s", "projectID": "p", "directory": "/", "title": "t"}),
    ];
    let openai = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "u"}]},
        {"role": "assistant", "content": null, "tool_calls": [call], "usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}},
        {"role": "tool", "tool_call_id": "c", "content": "r"}], "tools": [{"function": {"name": "f"}}]});
    let anthropic = json!({"system": [{"type": "text", "text": "s"}], "messages": [{"role": "user", "content": "u"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}], "usage": {"input_tokens": 3}},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}]});
    let flat = vec![
        json!({"id": "s", "timestamp": "t", "instructions": "i"}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]}),
        json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "exec command rejected by user"}),
    ];
    vec![
        (Format::Codex, flat),
        (Format::Cline, vec![api_history]),
        (Format::GeminiCli, vec![gemini]),
        (Format::GeminiCli, vec![checkpoint]),
        (Format::OpenCode, vec![opencode]),
        (Format::OpenCode, records),
        (Format::OpenAi, vec![openai]),
        (Format::Anthropic, vec![anthropic]),
        (Format::ClaudeCode, claude),
        (Format::Pi, pi),
        (Format::VscodeChat, vec![vscode]),
        (Format::Chatreplay, vec![replay]),
        (Format::SweAgent, vec![swe]),
        (Format::Codex, codex),
        (Format::Cline, vec![cline]),
        (Format::OpenHands, vec![openhands]),
        (Format::Jsonl, own),
        (Format::Trajectory, vec![trajectory]),
    ]
}
