//! The editor's loop (source: 003): a history comes in, a prompt goes out, and metadata with it where it had to be
//! compacted. One render at a time; tools never run here, and results that came in stay whatever becomes of it.

use super::Step;
use super::breaks::BreakCause;
use super::compaction::Begin;
use super::effect::{Answer, Diagnostic, Refusal, Rendered};
use super::event::EventBody;
use super::history_turn::HistoryTurn;
use super::input::{Render, ReplyTo, Summarize};
use super::reconcile::{self, Reach, Report};
use super::settings::{ModelFacts, most_result};
use super::state::{Rendering, Rest, State, Then};
use super::stored::{TurnRow, TurnStatus, Write};
use super::turn::summary_failed;
use super::usage::{read_exceeded, read_prompt};
use engine::compact::metadata::{SummaryEntry, metadata};
use engine::compact::record::{Compaction, Trigger};
use engine::compact::restore::{Restored, Restoring, Verdict, restore};
use engine::compact::trigger::Next;
use engine::id::{CallId, Ordinal};
use engine::message::{Body, NewMessage};
use engine::prompt::{self, Source};
use engine::settings::{Budget, SettingsError};

impl Step<'_> {
    pub(super) fn render(&mut self, reply: ReplyTo, render: Render) {
        if !self.is_resting() {
            self.session.renders.push_back((reply, render));
            return;
        }
        let mut render = render;
        self.take_prefix(std::mem::take(&mut render.prefix));
        self.limit_results(&render);
        self.attach_to_render(&mut render);
        let report = match (render.history.take(), render.current.take()) {
            (None, None) => Report::default(),
            (Some(mut history), current) => {
                let names_current = current.is_some();
                history.extend(current);
                self.take(history, Reach::Whole, names_current)
            }
            (None, Some(current)) => self.take(vec![current], Reach::Running, true),
        };
        self.attach_rest(std::mem::take(&mut render.attachments));
        if self.session.transcript.turns().is_empty() {
            let why = "there is nothing to render: neither the session nor the request has a message";
            return self.reply(reply, Err(Refusal::Empty(why)));
        }
        let mut diagnostics = diagnostics(&report);
        diagnostics.append(&mut render.left_out);
        let rendering = Rendering { reply, render, fork: report.fork.clone(), diagnostics };
        let budget = match self.budget_of(&rendering.render) {
            Ok(budget) => budget,
            Err(error) => return self.reply(reply, Err(error.into())),
        };
        let moved = self.settle_placement(budget);
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        let scale = self.session.scale(self.model_of(&rendering.render));
        let next = self.session.next(source, self.model_of(&rendering.render));
        let (trigger, exceeded) = match (super::turn::read_next(next, scale), rendering.render.summarize) {
            (Next::Send(_), Summarize::Auto) | (Next::Send(_) | Next::Try(..), Summarize::Never) => {
                return self.rendered(rendering, moved, None);
            }
            (Next::Must(_, exceeded) | Next::Refuse(exceeded), Summarize::Never)
            | (Next::Refuse(exceeded), Summarize::Auto) => {
                return self.reply(reply, Err(exceeded.into()));
            }
            (Next::Try(trigger, _), Summarize::Auto) => (trigger, None),
            (Next::Must(trigger, exceeded), Summarize::Auto) => (trigger, Some(exceeded)),
            // What is asked for is a summary, whatever the policy says.
            (Next::Send(_) | Next::Try(..), Summarize::Force) => (Trigger::Manual, None),
            (Next::Must(_, exceeded) | Next::Refuse(exceeded), Summarize::Force) => {
                (Trigger::BudgetExceeded, Some(exceeded))
            }
        };
        let then = Then::Render(Box::new(rendering));
        self.begin_compaction(Begin { exceeded, ..Begin::new(trigger, then) });
    }

    /// Results that a render brings are shown under its own limit and its own model's window.
    fn limit_results(&mut self, render: &Render) {
        let settings = &self.session.settings;
        let window = render.model.as_ref().unwrap_or(&settings.model).window;
        let most = most_result(render.max_result.unwrap_or(settings.max_tool_result_tokens), window);
        self.session.transcript.limit_results(Some(most));
    }

    /// The budget of a render: its own model, under its own ceiling.
    pub(super) fn budget_of(&self, render: &Render) -> Result<Budget, SettingsError> {
        let model = self.model_of(render);
        self.session.budget_in(self.session.scale(model), model, render.ceiling)
    }

    /// The model that a render is for.
    pub(super) fn model_of<'r>(&'r self, render: &'r Render) -> &'r ModelFacts {
        render.model.as_ref().unwrap_or(&self.session.settings.model)
    }

    /// Answers a render. `made` is the compaction that was made for it, `nothing` why there was none to make.
    pub(super) fn rendered(
        &mut self,
        rendering: Rendering,
        made: Option<Compaction>,
        nothing: Option<String>,
    ) {
        let Rendering { reply, render, fork, mut diagnostics } = rendering;
        let budget = match self.budget_of(&render) {
            Ok(budget) => budget,
            Err(error) => return self.reply(reply, Err(error.into())),
        };
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        let model = self.model_of(&render).clone();
        let scale = self.session.scale(&model);
        let prompt = match prompt::render(source).map_err(|exceeded| read_exceeded(exceeded, scale)) {
            Ok(prompt) => prompt,
            Err(exceeded) => return self.reply(reply, Err(exceeded.into())),
        };
        self.goes_out(&prompt, model.name.as_deref());
        let raw = prompt.tokens;
        let prompt = read_prompt(prompt, scale);
        diagnostics.extend(nothing.map(|why| Diagnostic { kind: "nothingToSummarize", message: why }));
        let breakpoints = render.breakpoints && !summary_failed(made.as_ref());
        let unreadable = made.iter().flat_map(|record| self.session.unreadable(record));
        diagnostics.extend(unreadable.map(|message| Diagnostic { kind: "unreadableArguments", message }));
        let made = made.map(|record| {
            let metadata = metadata(&self.session.transcript, &record);
            (record, metadata)
        });
        self.tell_context(&prompt, raw);
        self.remember_model(&model);
        let rendered = Rendered {
            prompt,
            window: budget.window,
            estimator: scale.named(self.around.counter.name(), model.key()),
            model,
            breakpoints,
            made,
            fork,
            diagnostics,
        };
        self.reply(reply, Ok(Answer::Rendered(Box::new(rendered))));
    }

    /// Nothing runs any more: says so, and begins the render that waits longest.
    pub(super) fn rest_again(&mut self) {
        if !self.is_resting() {
            return;
        }
        let state = self.session.state.name();
        let turn = self.turn_id();
        self.emit(EventBody::RuntimeUpdated { state, turn, ended: None });
        while let Some((reply, render)) = self.session.renders.pop_front() {
            self.render(reply, render);
            if !self.is_resting() {
                break;
            }
        }
    }

    /// Renders that wait are not made any more.
    pub(super) fn refuse_renders(&mut self) {
        for (reply, _) in std::mem::take(&mut self.session.renders) {
            self.reply(reply, Err(Refusal::Cancelled));
        }
    }

    /// The editor's loop ran a round. The same round again only adds the results that are new.
    pub(super) fn append_round(&mut self, reply: ReplyTo, round: Vec<NewMessage>) {
        if self.session.transcript.turns().is_empty() {
            let why = "there is no turn that a round could belong to; begin one with turn/start";
            return self.reply(reply, Err(Refusal::Empty(why)));
        }
        let id = round.first().and_then(|message| message.external_id.as_deref());
        // An editor may count its rounds anew in each turn.
        let turn = self.session.transcript.turns().len() - 1;
        let newest = self.session.transcript.rounds().last().filter(|round| round.turn == turn);
        let is_known = newest.is_some_and(|known| id == Some(known.id.as_str()));
        let calls: Vec<String> = match round.first().map(|message| &message.body) {
            _ if is_known => self.session.unanswered().iter().map(|call| self.source_of(call)).collect(),
            Some(Body::Assistant { calls, .. }) => {
                calls.iter().map(|call| call.id.as_str().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let mut answered = round.iter().filter_map(|message| match &message.body {
            Body::Tool(result) => Some(&result.call),
            Body::User(_) | Body::Assistant { .. } | Body::Event { .. } => None,
        });
        if let Some(stray) = answered.find(|call| !calls.contains(call)) {
            let id = stray.clone();
            let refusal = match is_known && self.session.transcript.has_call(&CallId::new(&id)) {
                true => Refusal::Settled { what: "tool call", id },
                false => Refusal::Unknown { what: "tool call", id },
            };
            return self.reply(reply, Err(refusal));
        }
        let mut messages = Vec::new();
        for new in round.into_iter().skip(usize::from(is_known)) {
            let stamp = new.created_at.unwrap_or_else(|| self.around.stamp.to_owned());
            let ord = self.append(NewMessage { created_at: Some(stamp), ..new });
            messages.extend(self.session.transcript.message(ord).map(|message| message.id.clone()));
        }
        self.write_head();
        let round = self.session.transcript.rounds().last().map(|round| round.id.clone());
        self.reply(reply, Ok(Answer::RoundAppended { round, messages }));
    }

    fn source_of(&self, call: &CallId) -> String {
        self.session.transcript.source_id(call).unwrap_or_else(|| call.as_str().to_owned())
    }

    /// Takes in the history that an editor opens a session with. It may be older than ours.
    pub(super) fn take_history(&mut self, history: Vec<HistoryTurn>) -> Report {
        self.take(history, Reach::Older, false)
    }

    /// Compares a history with ours, and brings both and the store to the same. `names_current`: the last of it is the
    /// running turn; where it is not named, ours stays.
    fn take(&mut self, theirs: Vec<HistoryTurn>, reach: Reach, names_current: bool) -> Report {
        let ended: Vec<bool> =
            self.session.turns.iter().map(|row| row.status != TurnStatus::Running).collect();
        let ended = names_current.then_some(&*ended);
        let mut merge = reconcile::merge(&self.session.transcript, &theirs, reach, ended);
        let last = self.session.transcript.turns().last().map(|turn| turn.first);
        let runs = self.session.turns.last().is_some_and(|row| row.status == TurnStatus::Running);
        if !names_current && runs && merge.cut.is_some() && merge.cut == last && merge.append.is_empty() {
            merge.cut = None;
        }
        let mut report = Report::default();
        let before = self.session.transcript.messages().len();
        if let Some(from) = merge.cut {
            report.truncated = u32::try_from(before.saturating_sub(from.index())).unwrap_or(u32::MAX);
            report.fork = Some(self.fork());
        }
        let first = merge.cut.map_or(before, |from| from.index().min(before));
        for (at, (_, new)) in (first..).zip(&mut merge.append) {
            let ord = Ordinal(u32::try_from(at).unwrap_or(u32::MAX));
            self.bind_thinking(ord, new);
        }
        let (void, appended) = reconcile::apply(&mut self.session.transcript, &merge, self.around.counter);
        if let (Some(from), Some(fork)) = (merge.cut, report.fork.clone()) {
            self.announce(BreakCause::History);
            self.cut_off(from, &fork, &void);
        }
        report.given = u32::try_from(theirs.len()).unwrap_or(u32::MAX);
        for (ord, id) in merge.learned {
            self.learn(ord, &id);
        }
        report.appended = u32::try_from(appended.len()).unwrap_or(u32::MAX);
        report.void = void;
        for ord in appended {
            self.took_in(ord);
            if self.session.transcript.is_stray(ord)
                && let Some(Body::Tool(result)) = self.session.transcript.message(ord).map(|m| &m.body)
            {
                report.strays.push(result.call.clone());
            }
        }
        self.end_all_but(names_current);
        self.take_summaries(merge.first, theirs, &mut report);
        if report != Report::default() {
            self.write_head();
        }
        report
    }

    /// The editor's id of a request became known.
    fn learn(&mut self, ord: Ordinal, id: &str) {
        let transcript = &mut self.session.transcript;
        transcript.learn(ord, id);
        let turn = u32::try_from(transcript.turn_at(ord).unwrap_or_default()).unwrap_or(u32::MAX);
        if let Some(message) = transcript.message(ord).cloned() {
            self.write(Write::Message { turn, message: message.clone() });
            self.emit(EventBody::MessageUpdated(message));
        }
    }

    /// Turns of a history are over; the last one runs, where it was named as the running one.
    fn end_all_but(&mut self, last_runs: bool) {
        let turns = self.session.turns.len();
        for at in 0..turns {
            let is_running =
                self.session.turns.get(at).is_some_and(|row: &TurnRow| row.status == TurnStatus::Running);
            if is_running && !(last_runs && at + 1 == turns) && at + 1 < turns {
                self.set_turn(at, TurnStatus::Completed);
            }
        }
        if !last_runs && turns > 0 && matches!(self.session.state, State::Resting(Rest::Idle)) {
            let last = turns - 1;
            // How it ended was told, where it was.
            let is_open = self.session.turns.get(last).is_some_and(|row| row.status == TurnStatus::Running);
            let answered = is_open && self.session.transcript.rounds_of(last).last().is_some();
            if answered && self.session.unanswered().is_empty() {
                self.set_turn(last, TurnStatus::Completed);
            }
        }
    }

    /// Brings summaries back that the editor kept (source: 003).
    fn take_summaries(&mut self, first: usize, theirs: Vec<HistoryTurn>, report: &mut Report) {
        let entries: Vec<_> = theirs
            .into_iter()
            .enumerate()
            .flat_map(|(n, turn)| turn.metadata.into_iter().map(move |entry| (first + n, entry)))
            .collect();
        report.summaries = self.bring_back(&entries);
    }

    /// Makes records of summaries that were kept elsewhere, each with the place of its turn, and stores them.
    pub(super) fn bring_back(&mut self, entries: &[(usize, SummaryEntry)]) -> Vec<Restored> {
        if entries.is_empty() {
            return Vec::new();
        }
        let limit = self.session.budget().map_or(0, |budget| budget.limit);
        let user_budget = self.session.settings.policy.user_messages.of(limit);
        let with = Restoring { counter: self.around.counter, user_budget };
        let summaries = restore(&mut self.session.transcript, entries, with);
        let mut came_back = false;
        for restored in &summaries {
            let Verdict::Restored(id) = &restored.verdict else { continue };
            came_back = true;
            let record = self.session.transcript.compactions().iter().find(|record| record.id == *id);
            if let Some(record) = record.cloned() {
                self.effects.push(super::effect::Effect::Write(Write::Compaction(Box::new(record))));
            }
        }
        if came_back {
            self.announce(BreakCause::Restore);
        }
        summaries
    }
}

/// What a caller should know of what was taken in.
pub fn diagnostics(report: &Report) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    let mut say = |kind: &'static str, message: String| all.push(Diagnostic { kind, message });
    if let Some(fork) = &report.fork {
        let gone = report.truncated;
        say(
            "forked",
            format!("{gone} messages are no longer in the editor's history; session {fork} keeps them"),
        );
    }
    for id in &report.void {
        say("voidSummary", format!("summary {id} stood for messages that are gone; it is not applied"));
    }
    for call in &report.strays {
        say("strayResult", format!("the result for {call} answers no call of its round; it is not shown"));
    }
    for restored in &report.summaries {
        let round = &restored.round_id;
        match &restored.verdict {
            Verdict::Restored(_) | Verdict::Already(_) => {}
            Verdict::Stale(why) => {
                say("staleSummary", format!("the summary at {round} is not applied: {why}"))
            }
            Verdict::Orphan => {
                say("orphanSummary", format!("no round here is {round}, which a summary names"))
            }
            Verdict::Duplicate => say("duplicateSummary", format!("the summary at {round} is there already")),
            Verdict::Failure(why) => say("failedSummary", format!("a summary at {round:?}: {why}")),
        }
    }
    all
}
