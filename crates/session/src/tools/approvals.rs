//! Approval of calls: by the tool's own rules, and by what the user approved or rejected before, in the session or for good in
//! the workspace.

use crate::core::{Conversation, Core};
use crate::values::decision::{Always, AskCause, AskedCall, Decision};
use crate::values::effect::Effect;
use engine::approval::{self, Approval};
use engine::id::CallId;
use engine::message::ToolCall;
use engine::prompt::item::ToolKind;
use engine::text::json;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Calls that the user approved or rejected before.
#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    /// For good, in the workspace.
    workspace: Arc<[Always]>,
    /// Approved in this session, until it is closed. Never stored.
    session: Vec<Always>,
}

impl From<Vec<Always>> for Approvals {
    fn from(always: Vec<Always>) -> Self {
        Self { workspace: always.into(), session: Vec::new() }
    }
}

impl Approvals {
    pub fn set(&mut self, always: Arc<[Always]>) {
        self.workspace = always;
    }

    /// What the user approved or rejected for good in the workspace.
    pub fn for_good(&self) -> &[Always] {
        &self.workspace
    }

    /// What the user approved in this session.
    pub fn for_session(&self) -> &[Always] {
        &self.session
    }

    /// Revokes what was approved in this session, then adds approvals to it.
    pub fn change_session(&mut self, added: Vec<Always>, revoked: &[Always]) {
        let is_revoked = |known: &Always| {
            revoked.iter().any(|always| (&always.tool, &always.pattern) == (&known.tool, &known.pattern))
        };
        self.session.retain(|known| !is_revoked(known));
        for always in added {
            self.remember_in_session(always);
        }
    }

    /// Decides about a call; also returns the rule that decided, if one did.
    pub fn decide<'c>(
        &self,
        conversation: &'c Conversation,
        tool: &str,
        arguments: &str,
    ) -> (Approval, Option<&'c str>) {
        match self.is_rejected(tool, arguments) {
            true => (Approval::Deny, None),
            false => self.by_policy(conversation, tool, arguments),
        }
    }

    /// Decides about a call that the user does not reject for good.
    pub fn by_policy<'c>(
        &self,
        conversation: &'c Conversation,
        tool: &str,
        arguments: &str,
    ) -> (Approval, Option<&'c str>) {
        if conversation.is_own(tool) && !is_json(arguments) {
            // Own tools touch nothing outside, and answer arguments that they cannot read with what they expect.
            return (Approval::Allow, None);
        }
        let known = conversation.tool(tool);
        let (policy, rules) = known.map_or((Approval::Allow, &[][..]), |tool| (tool.approval, &*tool.rules));
        // What was approved for good in a folder that was trusted then says nothing about what is in it now.
        let is_harmless = conversation.is_own(tool) || known.is_none();
        let is_trusted = conversation.settings().is_trusted || is_harmless;
        let named = approved_name(conversation, tool);
        let is_approved = |values: &Value| {
            let is_whole = || self.allowed(&named).any(|always| always.pattern.is_none());
            is_trusted && (is_whole() || approval::is_allowed_by(self.patterns(&named), values))
        };
        let (approval, rule) = approval::decide(policy, rules, arguments, is_approved);
        if is_trusted { (approval, rule) } else { (approval.max(Approval::Ask), rule) }
    }

    /// What the user approved of a tool, in the session or for good.
    fn allowed<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Always> + Clone {
        let all = self.workspace.iter().chain(&self.session);
        all.filter(move |always| !always.rejected && always.tool == tool)
    }

    /// The patterns of what the user approved of a tool. Those by the beginnings of commands need a POSIX shell,
    /// and to cmd.exe quotes mean something else.
    fn patterns<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        let patterns = self.allowed(tool).filter_map(|always| always.pattern.as_deref());
        patterns.filter(|pattern| !cfg!(windows) || approval::beginnings(pattern).is_none())
    }

    /// The pattern that would approve a command for good by its beginnings.
    fn proposed(&self, conversation: &Conversation, name: &str, arguments: &str) -> Option<String> {
        let kind = conversation.tool(name).and_then(|tool| tool.kind);
        if cfg!(windows) || kind != Some(ToolKind::Execute) || !conversation.settings().is_trusted {
            return None;
        }
        approval::proposed(self.patterns(&approved_name(conversation, name)), &json::read(arguments).ok()?)
    }

    /// `true` if the user rejected such calls for good. Holds in a workspace that is not trusted too.
    pub fn is_rejected(&self, tool: &str, arguments: &str) -> bool {
        let mut rejections =
            self.workspace.iter().filter(|always| always.rejected && always.tool == tool).peekable();
        // Most sessions have none, and need not read the arguments here.
        if rejections.peek().is_none() {
            return false;
        }
        let values = json::read(arguments).unwrap_or_default();
        rejections.any(|always| always.pattern.as_ref().is_none_or(|p| approval::is_rejected_by(p, &values)))
    }

    /// Why a call waits for the user.
    fn cause(&self, conversation: &Conversation, name: &str, arguments: &str) -> AskCause {
        match self.decide(conversation, name, arguments) {
            (_, Some(rule)) => AskCause::Rule(rule.to_owned()),
            (_, None) if !conversation.settings().is_trusted => AskCause::Untrusted,
            (_, None) if is_json(arguments) => AskCause::Tool,
            (_, None) => AskCause::NotJson,
        }
    }

    /// Calls that wait for the user.
    pub fn asked(&self, conversation: &Conversation, open: &BTreeSet<CallId>) -> Vec<AskedCall> {
        let asked = |call: ToolCall| AskedCall {
            cause: self.cause(conversation, &call.name, &call.arguments),
            pattern: self.proposed(conversation, &call.name, &call.arguments),
            call,
        };
        conversation.newest_calls(open.iter()).into_iter().map(asked).collect()
    }

    /// Those of these calls that the user must decide about first.
    pub fn to_ask(&self, conversation: &Conversation, calls: &BTreeSet<CallId>) -> BTreeSet<CallId> {
        let asks = conversation.newest_calls(calls.iter()).into_iter();
        let asks =
            asks.filter(|call| self.decide(conversation, &call.name, &call.arguments).0 == Approval::Ask);
        asks.map(|call| call.id).collect()
    }

    /// Adds what the user approved or rejected with these decisions: such calls are not asked about again. In a workspace
    /// that is not trusted an approval counts once.
    pub fn remember(&mut self, core: &mut Core<'_>, decisions: &[Decision]) {
        let is_trusted = core.settings().is_trusted;
        for decision in decisions.iter().filter(|decision| is_trusted || !decision.approved) {
            for always in always(core, decision) {
                if decision.is_for_session && decision.approved {
                    self.remember_in_session(always);
                } else if !self.workspace.contains(&always) {
                    let is_other =
                        |known: &&Always| (&known.tool, &known.pattern) != (&always.tool, &always.pattern);
                    let known = self.workspace.iter().filter(is_other).cloned();
                    self.workspace = known.chain([always.clone()]).collect();
                    core.push(Effect::Remember(always));
                }
            }
        }
    }

    fn remember_in_session(&mut self, always: Always) {
        if !self.session.contains(&always) {
            self.session.push(always);
        }
    }
}

/// The approvals or rejections of later calls in a decision: of the client's pattern, or else of every call of the tool. A tool
/// that runs commands is approved or rejected for this command alone.
fn always(conversation: &Conversation, decision: &Decision) -> Vec<Always> {
    let call = conversation.newest_calls(std::iter::once(&decision.call)).pop();
    let (Some(asked), Some(call)) = (&decision.always, call) else { return Vec::new() };
    let kind = conversation.tool(&call.name).map(|tool| tool.kind);
    let runs = matches!(kind, Some(Some(ToolKind::Execute)));
    let read = json::read(decision.arguments.as_ref().unwrap_or(&call.arguments)).unwrap_or_default();
    let exact = || runs.then(|| approval::exactly(&read));
    let patterns = match asked.pattern.clone().or_else(exact) {
        Some(pattern) => approval::each_beginning(&pattern).into_iter().map(Some).collect(),
        None => vec![None],
    };
    // A rejection holds for every server of this name, an approval for the one that runs the tool now.
    let tool = match decision.approved {
        true => approved_name(conversation, &call.name).into_owned(),
        false => call.name.to_string(),
    };
    let with = |pattern| Always { tool: tool.clone(), pattern, rejected: !decision.approved };
    patterns.into_iter().map(with).collect()
}

/// The name under which approvals of a tool are kept: with the hash of the server's definition for a tool of a server, so
/// that an approval does not pass to another server of the same name.
fn approved_name<'n>(conversation: &Conversation, tool: &'n str) -> Cow<'n, str> {
    match conversation.tool(tool).and_then(|tool| tool.origin.as_ref()) {
        Some(origin) => format!("{tool}@{origin}").into(),
        None => tool.into(),
    }
}

fn is_json(arguments: &str) -> bool {
    arguments.trim().is_empty() || json::read::<Value>(arguments).is_ok()
}
