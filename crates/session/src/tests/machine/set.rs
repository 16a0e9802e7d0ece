//! Settings of the random test with the changes made to them, and what its editor sends.

use crate::history_turn::HistoryTurn;
use crate::settings::{Client, ModelFacts, Settings, Titles};
use crate::stored::Always;
use crate::tests::bench::{result, settings, text, tool};
use crate::tests::machine::happening::Set;
use engine::compact::policy::{Consent, Policy};
use engine::message::attachment::Attachment;
use engine::message::{Body, NewMessage, ToolCall};
use engine::prompt::item::{Approval, EndsTurn, Tool, ToolKind};
use engine::settings::PerMille;

pub fn editors_tools(all: bool) -> Vec<Tool> {
    let run = Tool { kind: Some(ToolKind::Execute), ..tool("run", Approval::Ask) };
    let finish = Tool { ends_turn: Some(EndsTurn::Completed), ..tool("finish", Approval::Allow) };
    let mut tools =
        vec![tool("read", Approval::Allow), tool("rm", Approval::Ask), tool("no", Approval::Deny), run];
    tools.extend(all.then_some(finish));
    tools
}

pub fn base() -> Settings {
    let ends = |name, ends_turn| Tool { ends_turn: Some(ends_turn), ..tool(name, Approval::Allow) };
    Settings {
        model: ModelFacts { window: 3000, ..settings().model },
        round_limit: 2,
        own_tools: vec![
            tool("note", Approval::Allow),
            ends("done", EndsTurn::Completed),
            ends("ask", EndsTurn::WaitingUserInput),
        ],
        ..settings()
    }
}

fn with_policy(change: impl FnOnce(&mut Policy)) -> Settings {
    let mut settings = base();
    change(&mut settings.policy);
    settings
}

pub fn set(what: Set) -> Settings {
    let client = settings().client;
    let of_client = |client: Client| Settings { client, ..base() };
    let window = |window: u32| ModelFacts { window, ..base().model };
    match what {
        Set::Same => base(),
        Set::Rounds(most) => Settings { round_limit: u32::from(most) * 3 + 1, ..base() },
        Set::Interval => Settings { delta_interval_ms: 0, ..base() },
        Set::Titles => Settings { titles: Titles::Model, ..base() },
        Set::NoModel => of_client(Client { completes: false, ..client }),
        Set::NoTools => of_client(Client { invokes: false, ..client }),
        Set::Permits => of_client(Client { permits: true, ..client }),
        Set::Window(small) => Settings { model: window(if small { 1500 } else { 60_000 }), ..base() },
        Set::Off => with_policy(|policy| policy.enabled = false),
        Set::Ask => with_policy(|policy| policy.consent = Consent::Ask),
        Set::NoConsent => with_policy(|policy| policy.consent = Consent::Off),
        Set::Idle => with_policy(|policy| policy.triggers.idle_secs = Some(0)),
        Set::Exit => with_policy(|policy| policy.budget_exit = Some(PerMille::new(10))),
        Set::OwnTools(none) => Settings { own_tools: if none { vec![] } else { base().own_tools }, ..base() },
    }
}

/// A standing approval or rejection.
pub fn always(tool: &str, pattern: Option<&str>, rejected: bool) -> Always {
    Always { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), rejected }
}

/// Volatile context of an editor: often none, and not always the same.
pub fn attachments(size: u16) -> Vec<Attachment> {
    let named = |name: &str| Attachment::new(name, &format!("it is {}", size / 5));
    ["openFiles", "date"].into_iter().take(usize::from(size % 4 % 3)).map(named).collect()
}

/// An editor's history: turns by number, so that the same number is the same turn.
pub fn editors(turns: u8, resent: bool, rounds: u8, size: u16) -> Vec<HistoryTurn> {
    let turn = |n: u8| {
        let id = if resent && n + 1 == turns { format!("again{n}") } else { format!("t{n}") };
        let mut messages =
            vec![NewMessage { external_id: Some(id.clone()), ..NewMessage::user(&text(u16::from(n))) }];
        for round in 0..rounds {
            let call = format!("{id}-{round}");
            let body = Body::assistant("", vec![ToolCall::new(&call, "read", "{}")]);
            messages.push(NewMessage { external_id: Some(format!("r{call}")), ..NewMessage::new(body) });
            messages.push(NewMessage::new(Body::Tool(result(&call, &text(size)))));
        }
        HistoryTurn { external_id: Some(id), detailed: rounds > 0, messages, metadata: Vec::new() }
    };
    (0..turns).map(turn).collect()
}
