//! Session files of Codex, in its two forms: the log of its terminal interface, with events and deltas, and
//! rollouts, with whole items, with and without an envelope. This file reads the log; `rollout` reads rollouts, `keys` the typed line, and
//! `talk` assembles messages.

mod keys;
mod rollout;
mod talk;

use super::json::{Object, arguments, code, each_record, flag, needed, number, object, owned, text};
use super::parts::contents;
use super::{Format, Import};
use engine::message::{Content, ToolResult, Usage, Verdict};
use keys::{Line, Typed};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use talk::{Assembler, TextKind};

/// Reads every record, of either form.
pub(super) fn read(bytes: &[u8]) -> Import {
    let mut import = Import::new(Format::Codex);
    let mut log = Log::default();
    each_record(bytes, &mut import, |import, place, record| {
        log.talk.at(text(record, "ts").or(text(record, "timestamp")));
        if record.contains_key("dir") {
            log.take(import, place, record)
        } else {
            rollout::take(&mut log.talk, import, place, record)
        }
    });
    log.end(&mut import);
    log.talk.finish(&mut import);
    import
}

/// Record kinds without conversation content.
const KNOWN: [&str; 10] = [
    "app_event",
    "clear_ui",
    "file_search_result",
    "file_search_start",
    "insert_history",
    "insert_history_cell",
    "log_line",
    "new_session",
    "session_end",
    "session_start",
];

/// Event types without conversation content, or that repeat other events.
const KNOWN_EVENTS: [&str; 32] = [
    "agent_message_content_delta",
    "background_event",
    "context_compacted",
    "deprecation_notice",
    "elicitation_request",
    "entered_review_mode",
    "exited_review_mode",
    "get_history_entry_response",
    "history_entry_response",
    "item_completed",
    "item_started",
    "list_custom_prompts_response",
    "list_skills_response",
    "mcp_list_tools_response",
    "mcp_startup_complete",
    "mcp_startup_update",
    "raw_response_item",
    "reasoning_content_delta",
    "reasoning_raw_content_delta",
    "request_user_input",
    "session_configured",
    "shutdown_complete",
    "skills_update_available",
    "stream_error",
    "terminal_interaction",
    "thread_name_updated",
    "turn_diff",
    "undo_completed",
    "undo_started",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
];

#[derive(Default)]
struct Log {
    talk: Assembler,
    /// The line being typed.
    line: Line,
    /// The last submitted line, until it is known to have become a request.
    sent: Option<Typed>,
    /// The place of a task's start whose request is still missing.
    owed: Option<String>,
    is_running: bool,
    /// The last call that needed the user's approval.
    asked: Option<String>,
    /// The user's decisions, by call.
    verdicts: BTreeMap<String, Verdict>,
}

impl Log {
    fn take(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        match needed(record, "kind")? {
            "codex_event" => {
                let msg = object(record, "payload").and_then(|payload| object(payload, "msg"));
                self.event(import, place, msg.ok_or("has no `payload.msg`")?)
            }
            "op" => self.op(import, place, object(record, "payload").ok_or("has no `payload`")?),
            // While a task runs, its status replaces the input line, and keys do not reach it.
            "key_event" | "paste" if self.is_running => Ok(()),
            "key_event" => {
                if let Some(typed) = self.line.key(needed(record, "event")?) {
                    self.sent = Some(typed);
                }
                Ok(())
            }
            "paste" => {
                self.line.paste(needed(record, "text")?);
                Ok(())
            }
            // The typed line was a command of the program.
            "slash_command" => {
                self.line = Line::default();
                self.sent = None;
                Ok(())
            }
            known if KNOWN.contains(&known) => Ok(()),
            unknown => Err(format!("is a record of an unknown kind, `{unknown}`")),
        }
    }

    fn event(&mut self, import: &mut Import, place: &str, msg: &Object) -> Result<(), String> {
        match needed(msg, "type")? {
            "task_started" | "turn_started" => self.begin(import, place),
            "task_complete" | "turn_complete" => {
                if let Some(words) = text(msg, "last_agent_message") {
                    self.talk.last_words(words);
                }
                self.stop();
            }
            "turn_aborted" => self.stop(),
            "error" => {
                self.talk.event("error", needed(msg, "message")?);
                self.stop();
            }
            "user_message" => {
                let parts = vec![Content::Text(needed(msg, "message")?.into())];
                // The request may already be known from its submission.
                if self.talk.last_user() != Some(&parts) {
                    self.user(parts);
                }
            }
            "agent_message" => self.talk.whole(TextKind::Words, needed(msg, "message")?),
            "agent_message_delta" => self.talk.delta(TextKind::Words, needed(msg, "delta")?),
            "agent_reasoning" => self.talk.whole(TextKind::Summary, needed(msg, "text")?),
            "agent_reasoning_delta" => self.talk.delta(TextKind::Summary, needed(msg, "delta")?),
            "agent_reasoning_section_break" => self.talk.section(TextKind::Summary),
            "agent_reasoning_raw_content" => self.talk.whole(TextKind::Thinking, needed(msg, "text")?),
            "agent_reasoning_raw_content_delta" => self.talk.delta(TextKind::Thinking, needed(msg, "delta")?),
            "exec_approval_request" | "apply_patch_approval_request" => {
                self.begin_call(msg)?;
                self.asked = owned(msg, "call_id");
            }
            "exec_command_begin" | "patch_apply_begin" | "mcp_tool_call_begin" => self.begin_call(msg)?,
            "exec_command_output_delta" => {
                self.talk.output(needed(msg, "call_id")?, &bytes(msg.get("chunk")));
            }
            "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => {
                self.end_call(import, place, msg)?
            }
            "plan_update" => self.talk.event("plan", &arguments(msg.get("plan"))),
            "token_count" => self.talk.used(usage(msg)),
            "web_search_end" => {
                return Err("is a search that the provider ran; its results are missing".into());
            }
            "thread_rolled_back" => {
                return Err("reverted turns; they are imported anyway".to_owned());
            }
            known if KNOWN_EVENTS.contains(&known) => {}
            unknown => return Err(format!("is an event of an unknown type, `{unknown}`")),
        }
        Ok(())
    }

    /// Handles an operation that the interface sent to the agent.
    fn op(&mut self, import: &mut Import, place: &str, op: &Object) -> Result<(), String> {
        match needed(op, "type")? {
            "user_input" | "user_turn" => {
                let parts = contents(op.get("items"), place, import)?;
                self.user(parts);
            }
            "exec_approval" | "patch_approval" => {
                let call = self.asked.take().ok_or("decides about an unknown call")?;
                let is_no = matches!(text(op, "decision"), Some("denied" | "abort"));
                let verdict = Some(Verdict::new(!is_no, None));
                if is_no {
                    let content = vec![Content::Text("The user did not allow it.".into())];
                    let result =
                        ToolResult { call, content, is_error: true, verdict, ..ToolResult::default() };
                    self.talk.result(result);
                } else if let Some(verdict) = verdict {
                    self.verdicts.insert(call, verdict);
                }
            }
            // No other operation affects the conversation.
            _ => {}
        }
        Ok(())
    }

    /// Adds a user's request and drops a pending typed line, which is the same request.
    fn user(&mut self, parts: Vec<Content>) {
        (self.sent, self.owed) = (None, None);
        self.talk.user(parts);
    }

    /// Handles the start of a task; a pending typed line becomes its request.
    fn begin(&mut self, import: &mut Import, place: &str) {
        self.talk.close();
        self.tell_owed(import);
        self.is_running = true;
        match self.sent.take() {
            Some(typed) => self.typed(import, place, typed),
            None if self.talk.last_user().is_none() => self.owed = Some(place.to_owned()),
            None => {}
        }
    }

    fn typed(&mut self, import: &mut Import, place: &str, typed: Typed) {
        if let Some(key) = typed.unknown {
            let reason =
                format!("has a request that was rebuilt from its keys; the effect of `{key}` is unknown");
            import.skip(place, reason);
        }
        self.user(vec![Content::Text(typed.text.into())]);
    }

    fn tell_owed(&mut self, import: &mut Import) {
        if let Some(place) = self.owed.take() {
            import.skip(place, "begins a task whose request is not in the file");
        }
    }

    fn stop(&mut self) {
        self.is_running = false;
        self.talk.close();
    }

    /// Keeps a request that was submitted last before the log was cut off.
    fn end(&mut self, import: &mut Import) {
        self.tell_owed(import);
        if let Some(typed) = self.sent.take().filter(|typed| !typed.text.starts_with('/')) {
            self.typed(import, "the end", typed);
        }
    }

    /// Adds a call with the name and arguments that the model gave, as far as the event states them.
    fn begin_call(&mut self, msg: &Object) -> Result<(), String> {
        let id = needed(msg, "call_id")?;
        let some = |pairs: &[(&str, Option<&Value>)]| {
            let there = pairs.iter().filter_map(|(key, value)| Some(((*key).to_owned(), (*value)?.clone())));
            Value::Object(there.collect::<Map<_, _>>())
        };
        if let Some(invocation) = object(msg, "invocation") {
            let name = format!("{}__{}", needed(invocation, "server")?, needed(invocation, "tool")?);
            self.talk.call(id, &name, &arguments(invocation.get("arguments")));
        } else if let changes @ Some(_) = msg.get("changes") {
            self.talk.call(id, "apply_patch", &arguments(Some(&some(&[("changes", changes)]))));
        } else if let command @ Some(_) = msg.get("command") {
            let given = some(&[("command", command), ("workdir", msg.get("cwd"))]);
            self.talk.call(id, "shell", &arguments(Some(&given)));
        } else {
            return Err("is a call that does not say what it does".into());
        }
        Ok(())
    }

    fn end_call(&mut self, import: &mut Import, place: &str, msg: &Object) -> Result<(), String> {
        let id = needed(msg, "call_id")?;
        // Newer versions repeat the call at its end; if its start was cut off, that is the only record of it.
        if !self.talk.is_open(id)
            && ["invocation", "changes", "command"].iter().any(|key| msg.contains_key(*key))
        {
            self.begin_call(msg)?;
        }
        let mut result = ToolResult { call: id.to_owned(), ..ToolResult::default() };
        if let Some(outcome) = object(msg, "result") {
            let (content, failed) = outcome_of(outcome, place, import)?;
            (result.content, result.is_error) = (content, failed);
        } else {
            let whole = text(msg, "aggregated_output").filter(|output| !output.is_empty()).map(str::to_owned);
            let both = || ["stdout", "stderr"].into_iter().filter_map(|key| text(msg, key)).collect();
            result.content = vec![Content::Text(whole.unwrap_or_else(both).into())];
            result.exit_code = code(msg, "exit_code");
            result.is_error = msg.get("success") == Some(&json!(false));
        }
        result.verdict = self.verdicts.remove(id);
        self.talk.result(result);
        Ok(())
    }
}

/// The result of a server's tool: `Ok` with content, or `Err` with a message; `true` if the tool failed.
fn outcome_of(outcome: &Object, place: &str, import: &mut Import) -> Result<(Vec<Content>, bool), String> {
    if let Some(words) = text(outcome, "Err") {
        return Ok((vec![Content::Text(words.into())], true));
    }
    let given = object(outcome, "Ok").ok_or("has a `result` that is neither `Ok` nor `Err`")?;
    let failed = flag(given, "is_error") || flag(given, "isError");
    Ok((contents(given.get("content"), place, import)?, failed))
}

/// The usage of the last model call.
fn usage(msg: &Object) -> Option<Usage> {
    let last = object(msg, "info").and_then(|info| object(info, "last_token_usage"))?;
    let usage = Usage {
        input_tokens: number(last, "input_tokens"),
        output_tokens: number(last, "output_tokens"),
        cached_input_tokens: number(last, "cached_input_tokens"),
        reasoning_tokens: number(last, "reasoning_output_tokens"),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}

/// Bytes of an output: a list of numbers, or base64 in later versions; empty for anything else.
fn bytes(chunk: Option<&Value>) -> Vec<u8> {
    match chunk {
        Some(Value::Array(numbers)) => {
            numbers.iter().filter_map(|n| n.as_u64().and_then(|n| u8::try_from(n).ok())).collect()
        }
        Some(Value::String(text)) => {
            let digits = text.bytes().map_while(|byte| match byte {
                b'A'..=b'Z' => Some(byte - b'A'),
                b'a'..=b'z' => Some(byte - b'a' + 26),
                b'0'..=b'9' => Some(byte - b'0' + 52),
                b'+' => Some(62),
                b'/' => Some(63),
                _ => None,
            });
            let (mut held, mut bits, mut out) = (0u32, 0u32, Vec::new());
            for digit in digits {
                (held, bits) = ((held << 6) | u32::from(digit), bits + 6);
                if bits >= 8 {
                    bits -= 8;
                    out.extend(u8::try_from((held >> bits) & 0xff));
                }
                held &= (1 << bits) - 1;
            }
            out
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
