//! What a client asks for becomes a command of a session, or a job of a store. Parameters are converted here and
//! nowhere deeper; a session never sees the wire.

use super::folder::spelled;
use super::inbox::{Ask, Event, Session};
use super::main_loop::{MainLoop, Slot, wire};
use super::opening::{New, given_id, new_id};
use super::queued::{Opens, Queued};
use super::settings::{model_facts, result_tokens};
use super::shared::Shared;
use super::wire_session::Asked;
use super::{context, editing, loops, memory, shared, stores, tasks, transfer, wire_session};
use crate::convert::{self, Reading};
use engine::id::{Ordinal, SessionId};
use engine::message::{Body, Content, NewMessage, ToolResult};
use protocol::error::ProtocolError;
use protocol::prompt::{PromptRenderParams, RenderSummarize, Section};
use protocol::session::{SessionListParams, SessionMessagesParams, SessionOpenParams};
use protocol::tool::Tool;
use protocol::turn::{self, TurnStartParams};
use session::effect::Diagnostic;
use session::history_turn::HistoryTurn;
use session::input::{Command, GivenPrefix, Open, Render, ReplyTo, StartTurn, Summarize};
use session::stored::{Driver, TurnStatus};
use store::error::StoreError;
use store::list::ListQuery;

/// Sessions of a page where nobody says how many.
const PAGE: u32 = 50;
/// The most that a page holds.
const MOST_PAGE: u32 = 500;

/// Carries out what a client asks for, or begins to.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Ask) -> Result<(), ProtocolError> {
    match ask {
        Ask::Session(ask) => session(main, to, ask),
        Ask::Edit(ask) => editing::ask(main, to, ask),
        Ask::Context(ask) => context::ask(main, to, ask),
        Ask::Sharing(ask) => shared::ask(main, to, ask),
        Ask::Remembering(ask) => memory::ask(main, to, ask),
        Ask::Transfer(ask) => transfer::ask(main, to, ask),
        Ask::Looping(ask) => loops::ask(main, to, ask),
        Ask::Tasking(ask) => tasks::ask(main, to, ask),
    }
}

fn session(main: &mut MainLoop, to: ReplyTo, ask: Session) -> Result<(), ProtocolError> {
    match ask {
        Session::Open(params) => open(main, to, params),
        Session::List(params) => list(main, to, &params),
        Session::Messages(params) => messages(main, to, &params),
        Session::Subscribe(params) => {
            let since = params.stream.zip(params.since_seq);
            let newest = params.snapshot_messages;
            command(main, to, &params.session_id, Command::Subscribe { since, newest })
        }
        Session::TakeOver(params) => {
            let folder = params.workspace_folder.as_deref().map(spelled);
            if let Some(folder) = &folder {
                main.enter_folder(folder);
                main.stores.enter(folder);
            }
            hand(main, &params.session_id, Queued::TakeOver(to, folder))
        }
        Session::Close(params) => hand(main, &params.session_id, Queued::Close(to)),
        Session::Delete(params) => hand(main, &params.session_id, Queued::Delete(to)),
        Session::Configure(params) => {
            let id = params.session_id.clone();
            hand(main, &id, Queued::Configure(to, Box::new(params)))
        }
        Session::StartTurn(params) => start_turn(main, to, params),
        Session::EndTurn(params) => {
            is_about(main, to, params.turn_id);
            let status = params.status.map_or(TurnStatus::Completed, TurnStatus::from);
            command(main, to, &params.session_id, Command::EndTurn(status))
        }
        Session::AppendRound(params) => {
            is_about(main, to, params.turn_id);
            let round = Reading::new().field("round", |reading| reading.round(&params.round))?;
            command(main, to, &params.session_id, Command::AppendRound(round))
        }
        Session::Render(params) => render(main, to, params),
        Session::Decide(params) => {
            let decisions = wire_session::decisions(&params.decisions)?;
            command(main, to, &params.session_id, Command::Decide(decisions))
        }
        Session::ToolResult(params) => {
            let session = params.session_id.clone();
            let result = Reading::new().late_result(&params)?;
            command(main, to, &session, Command::ToolResult(result))
        }
        Session::Diagnostics(_) => super::diagnostics::answer(main, to),
    }
}

fn hand(main: &mut MainLoop, id: &str, item: Queued) -> Result<(), ProtocolError> {
    let id = given_id(id)?;
    main.hand(&id, item);
    Ok(())
}

/// Notes which form the answer has.
pub(super) fn form(main: &mut MainLoop, to: ReplyTo, asked: Asked) {
    if let Some(waiting) = main.waiting.get_mut(&to) {
        waiting.asked = asked;
    }
}

pub(super) fn command(
    main: &mut MainLoop,
    to: ReplyTo,
    id: &str,
    command: Command,
) -> Result<(), ProtocolError> {
    let id = given_id(id)?;
    main.command(to, &id, command);
    Ok(())
}

/// Notes the turn that a request names. It is compared once the session is here.
fn is_about(main: &mut MainLoop, to: ReplyTo, turn: Option<String>) {
    if let Some(waiting) = main.waiting.get_mut(&to) {
        waiting.turn = turn;
    }
}

fn open(main: &mut MainLoop, to: ReplyTo, params: SessionOpenParams) -> Result<(), ProtocolError> {
    let id = params.session_id.as_deref().map_or_else(|| Ok(new_id()), given_id)?;
    let folder = spelled(&params.workspace_folder);
    main.enter_folder(&folder);
    main.stores.enter(&folder);
    // A value that cannot be used is said before anything is stored.
    let settings = main.given(to, params.settings.as_ref())?;
    main.layers.effective(&folder, &settings.clone().unwrap_or_default())?;
    let command = Command::Open(Box::new(Open {
        history: turns(params.history.as_deref())?,
        prefix: prefix(params.sections.as_deref(), params.tools.as_deref())?,
        title: params.title,
        newest: params.snapshot_messages,
    }));
    let new = New {
        driver: params.driver.map_or(Driver::Sidecar, Driver::from),
        kind: params.kind,
        parent: params.parent_id.as_deref().map(given_id).transpose()?,
        work_scope: params.work_scope,
    };
    let folder = Some(folder);
    let follow = params.follow.unwrap_or_default();
    let opens = Opens { command, folder, new, settings, follow };
    main.hand(&id, Queued::Open(to, Box::new(opens)));
    Ok(())
}

/// How many a page holds: as many as are asked for, and never more than `most`.
pub(super) fn page_limit(asked: Option<u32>, usual: u32, most: u32) -> Result<u32, ProtocolError> {
    match asked {
        Some(0) => Err(ProtocolError::invalid("limit", "must be at least 1")),
        asked => Ok(asked.unwrap_or(usual).min(most)),
    }
}

fn list(main: &mut MainLoop, to: ReplyTo, params: &SessionListParams) -> Result<(), ProtocolError> {
    let after = params.cursor.as_deref().map(str::parse).transpose();
    let after =
        after.map_err(|error: store::list::NoCursor| ProtocolError::invalid("cursor", error.to_string()))?;
    let folder = params.workspace_folder.as_deref().map(spelled);
    let query = ListQuery {
        workspace: folder.clone(),
        text: params.query.clone(),
        after,
        limit: page_limit(params.limit, PAGE, MOST_PAGE)?,
    };
    let store = main.stores.of(folder.as_deref())?;
    let pending = main.pending(to);
    store.submit(
        move |store| store.list(&query),
        move |page| {
            let value =
                page.map_err(|error| stores::error(&error)).and_then(|page| wire_session::page(&page));
            pending.answer(value);
        },
    );
    // After the list itself: whatever comes later is told.
    let name = main.stores.name(folder.as_deref().unwrap_or(main.stores.home()));
    main.watch_list(&name);
    Ok(())
}

/// What was said is the store's to tell, whether the session is open or not: behind all that is on its way there.
fn messages(main: &mut MainLoop, to: ReplyTo, params: &SessionMessagesParams) -> Result<(), ProtocolError> {
    let id = given_id(&params.session_id)?;
    let (before, limit) = (params.before.map(Ordinal), page_limit(params.limit, PAGE, MOST_PAGE)?);
    let store = match main.sessions.get(&id) {
        Some(Slot::Live(live)) => live.store.as_ref().map(|(store, _)| store.clone()),
        Some(Slot::Opening(_)) | None => None,
    };
    let name = params.workspace_folder.clone().or_else(|| main.stores.candidates(&id).into_iter().next());
    let store = store.map_or_else(|| main.stores.of(name.as_deref()), Ok)?;
    let pending = main.pending(to);
    store.submit(
        move |store| Ok((store.messages(&id, before, limit)?, id)),
        move |done| {
            let value = done.map_err(|error| stores::error(&error));
            let value = value.and_then(|(page, id)| wire_session::messages(&id, page));
            pending.answer(value);
        },
    );
    Ok(())
}

fn start_turn(main: &mut MainLoop, to: ReplyTo, params: TurnStartParams) -> Result<(), ProtocolError> {
    let mut content = Reading::new().field("content", |reading| reading.content(&params.content))?;
    let files = params.context_files.into_iter().flatten();
    content.extend(files.map(|file| Content::ContextFile { path: file.path, text: file.text.into() }));
    let start = StartTurn {
        content,
        attachments: convert::attachments(params.attachments.as_deref()),
        external_id: params.external_id,
        prefix: prefix(params.sections.as_deref(), params.tools.as_deref())?,
        model: match &params.model {
            Some(model) => Some((model_facts(model)?, wire(model)?)),
            None => None,
        },
        priority: params.priority.unwrap_or_default(),
        key: params.idempotency_key,
    };
    form(main, to, Asked::Turn);
    command(main, to, &params.session_id, Command::StartTurn(Box::new(start)))
}

/// A render goes to the session that it names, else to the one that holds its history, else to none: then it is made
/// for this answer and kept nowhere.
fn render(main: &mut MainLoop, to: ReplyTo, mut params: PromptRenderParams) -> Result<(), ProtocolError> {
    if let Some(waiting) = main.waiting.get_mut(&to) {
        waiting.progress = params.work_done_token.take().map(|token| (token, false));
    }
    params.workspace_folder = params.workspace_folder.as_deref().map(spelled);
    if let Some(folder) = &params.workspace_folder {
        main.enter_folder(folder);
    }
    if let Some(id) = &params.session_id {
        let id = given_id(id)?;
        let folder = params.workspace_folder.clone();
        let begins = params.history.is_some() || params.input.is_some();
        let command = Command::Render(Box::new(render_of(params)?));
        if begins {
            let new = New { driver: Driver::Editor, ..New::default() };
            let opens = Opens { command, folder, new, settings: None, follow: false };
            main.hand(&id, Queued::Open(to, Box::new(opens)));
        } else {
            main.command(to, &id, command);
        }
        return Ok(());
    }
    if params.history.is_none() && params.input.is_none() {
        return Err(ProtocolError::invalid(
            "sessionId",
            "either a session or a history with an input is needed",
        ));
    }
    let ids: Vec<String> =
        params.history.iter().flatten().filter_map(|turn| turn.external_id.clone()).collect();
    if ids.is_empty() {
        return passing(main, to, params);
    }
    let folder = params.workspace_folder.clone();
    let store = main.stores.of(folder.as_deref())?;
    let workspace = folder.unwrap_or_else(|| main.stores.home().to_owned());
    let pending = main.pending(to);
    store.submit(
        move |store| store.find(&ids, &workspace),
        move |found| pending.send(Event::Found(to, Box::new(params), found)),
    );
    Ok(())
}

/// A prompt of a history that nobody keeps.
fn passing(main: &mut MainLoop, to: ReplyTo, params: PromptRenderParams) -> Result<(), ProtocolError> {
    let id = new_id();
    let new = New { driver: Driver::Editor, ..New::default() };
    let head = main.head(&id, params.workspace_folder.as_deref(), new);
    let render = render_of(params)?;
    main.begin(head, None, None, Shared::default(), None)?;
    main.command(to, &id, Command::Render(Box::new(render)));
    Ok(())
}

impl MainLoop {
    /// The store looked for the session of a history.
    pub fn found(
        &mut self,
        to: ReplyTo,
        mut params: PromptRenderParams,
        found: Result<Option<SessionId>, StoreError>,
    ) {
        if !self.waiting.contains_key(&to) {
            return;
        }
        let done = match found {
            Ok(Some(id)) => {
                params.session_id = Some(id.as_str().to_owned());
                let folder = params.workspace_folder.as_deref().unwrap_or(self.stores.home());
                let name = self.stores.name(folder);
                self.stores.remember(&id, name);
                render_of(params).map(|render| {
                    self.command(to, &id, Command::Render(Box::new(render)));
                })
            }
            Ok(None) => passing(self, to, params),
            // The history is all here: a store that fails is no reason to send no prompt.
            Err(error) => {
                self.log(format!("the store could not be asked for a session: {error}"));
                passing(self, to, params)
            }
        };
        if let Err(error) = done {
            self.answer(to, Err(error));
        }
    }
}

fn turns(history: Option<&[turn::Turn]>) -> Result<Option<Vec<HistoryTurn>>, ProtocolError> {
    let read = |history| Reading::new().field("history", |reading| reading.history(history));
    Ok(history.map(read).transpose()?)
}

pub(super) fn prefix(
    sections: Option<&[Section]>,
    tools: Option<&[Tool]>,
) -> Result<GivenPrefix, ProtocolError> {
    let mut reading = Reading::new();
    Ok(GivenPrefix {
        sections: sections
            .map(|sections| reading.field("sections", |reading| reading.sections(sections)))
            .transpose()?,
        tools: tools.map(|tools| reading.field("tools", |reading| reading.tools(tools))).transpose()?,
    })
}

/// The running turn of a render: what the editor gives of it, results merged into the rounds that called (source: 003).
fn render_of(params: PromptRenderParams) -> Result<Render, ProtocolError> {
    let mut reading = Reading::new();
    let history = params.history.as_deref();
    let history =
        history.map(|history| reading.field("history", |reading| reading.history(history))).transpose()?;
    let has_rounds = params.rounds.is_some() || params.tool_results.is_some();
    let current = match params.input {
        Some(input) => {
            let given = turn::Turn {
                external_id: input.external_id,
                request: Some(input.content),
                variables: params.variables,
                notebook: params.notebook,
                rounds: params.rounds,
                metadata: params.metadata,
                ..turn::Turn::default()
            };
            let mut turn = reading.current(&given)?;
            turn.detailed = has_rounds;
            let results = params.tool_results.unwrap_or_default();
            let results = reading.field("toolResults", |reading| {
                reading.each(&results, |reading, result| reading.result(result))
            })?;
            results.into_iter().for_each(|result| merge_result(&mut turn, result));
            Some(turn)
        }
        None if has_rounds => {
            return Err(ProtocolError::invalid(
                "input",
                "rounds and results belong to a request, which is missing",
            ));
        }
        None => None,
    };
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
        left_out: reading
            .ignored
            .into_iter()
            .map(|ignored| Diagnostic { kind: convert::IGNORED_PART, message: ignored.message })
            .collect(),
    })
}

/// Puts a result behind the round that called, unless it is there. One that nobody called for stays last, and is
/// reported as a stray.
fn merge_result(turn: &mut HistoryTurn, result: ToolResult) {
    let messages = &mut turn.messages;
    let is_there = messages.iter().any(|m| matches!(&m.body, Body::Tool(known) if known.call == result.call));
    if is_there {
        return;
    }
    let called = messages.iter().rposition(|message| match &message.body {
        Body::Assistant { calls, .. } => calls.iter().any(|call| call.id.as_str() == result.call),
        Body::User(_) | Body::Tool(_) | Body::Event { .. } => false,
    });
    let after = called.map_or(messages.len(), |at| {
        let results = messages.iter().skip(at + 1).take_while(|m| matches!(m.body, Body::Tool(_))).count();
        at + 1 + results
    });
    messages.insert(after, NewMessage::new(Body::Tool(result)));
}
