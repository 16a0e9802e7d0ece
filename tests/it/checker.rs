//! Checks dumped prompts against their source file. Reads the dumps, the line of `replay --json` for the
//! compactions' ranges, and the source through its own reader. Shares no code with importers and engine
//! except the token counter, so its results are independent.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod excerpts;
mod reading;
pub(crate) mod source;

use engine::tokens::TokenCount;
use reading::{asks, blocks, is_part, list, name, number, places, says, texts};
use serde_json::{Value, json};
use source::{Said, Source, Speaker};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use threadhold::tokenizer::O200k;

/// Replaces a result that was never recorded.
const NO_RESULT: &str = "[no result was recorded: the call was interrupted]";
/// Replaces a result that a newer one repeats.
const REPEATED: &str = "[the same as in a newer message below]";
/// From this window on, every user message must be shown.
const ROOM_FOR_WORDS: u64 = 32_000;
/// The most tokens that a wire adds per message, call or tool.
const MOST_OVERHEAD: u32 = 10;

/// Kinds of faults of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    /// A message is missing, there twice, or there although it is covered, hidden or later.
    Account,
    /// A message differs from its source.
    Bytes,
    /// A call without exactly one result directly behind it, a result without its call, or a repeated id.
    Pairs,
    /// The current user message or the newest round of its turn is missing.
    Current,
    /// Messages are out of order.
    Order,
    /// A prompt does not extend the one before it.
    Extension,
    /// A system message anywhere but at the start, not the source's, or tools that were not offered.
    System,
    /// A compaction block that is missing, repeated, of another compaction, or has an excerpt with a line that no
    /// covered message has.
    Block,
    /// More tokens than the limit.
    Limit,
    /// A stated count that is wrong.
    Recount,
    /// A user message that is not in the last prompt, in a window with room for all.
    Words,
    /// Figures of the `--json` line that do not match the prompts.
    Figures,
}

/// A fault of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) check: Check,
    pub(crate) render: usize,
    pub(crate) what: String,
}

/// A compaction from the `--json` line.
struct Compacted {
    id: String,
    render: usize,
    covers: Option<(usize, usize)>,
}

/// Checks the prompts of one replay in order.
pub(crate) struct Checker<'a> {
    source: &'a Source,
    line: &'a Value,
    assistants: Vec<usize>,
    compactions: Vec<Compacted>,
    faults: Vec<Fault>,
    counts: HashMap<String, u32>,
    blocks_read: BTreeSet<String>,
    previous: Option<Value>,
    seen: Vec<usize>,
    /// Counts of the newest prompt: raw, shortened, covered or dropped, hidden, unaccounted messages; then
    /// shown user messages.
    tally: [u64; 5],
    words: u64,
}

/// A prompt with its context.
struct View<'p> {
    render: usize,
    items: &'p [Value],
    /// The index of the assistant message that it was rendered for; only messages before it exist.
    end: usize,
    newest: Option<&'p Compacted>,
}

impl View<'_> {
    /// `true` if the newest compaction covers the message.
    fn covers(&self, ord: usize) -> bool {
        self.newest.and_then(|compacted| compacted.covers).is_some_and(|(from, to)| from <= ord && ord <= to)
    }

    /// Position, role, source and presentation of each item.
    fn shown(&self) -> impl Iterator<Item = (usize, &str, usize, &str)> {
        self.items.iter().enumerate().flat_map(|(at, item)| {
            let sources = list(&item["sources"]).iter();
            sources.map(move |source| (at, name(&item["role"]), number(&source["ord"]), name(&source["as"])))
        })
    }
}

impl<'a> Checker<'a> {
    /// A checker for a replay of `source` that printed `line`.
    pub(crate) fn new(source: &'a Source, line: &'a Value) -> Self {
        let compactions = list(&line["compactions"]).iter().map(|of| Compacted {
            id: name(&of["id"]).to_owned(),
            render: number(&of["render"]),
            covers: of["coversToOrd"].as_u64().map(|to| (number(&of["coversFromOrd"]), to as usize)),
        });
        Self {
            source,
            line,
            assistants: source.assistants(),
            compactions: compactions.collect(),
            faults: Vec::new(),
            counts: HashMap::new(),
            blocks_read: BTreeSet::new(),
            previous: None,
            seen: Vec::new(),
            tally: [0; 5],
            words: 0,
        }
    }

    /// Checks the next prompt.
    pub(crate) fn prompt(&mut self, render: usize, prompt: Value) {
        let Some(end) = self.assistants.get(render).copied() else {
            self.faults.push(Fault {
                check: Check::Figures,
                render,
                what: "no such assistant message".into(),
            });
            return;
        };
        let compactions = std::mem::take(&mut self.compactions);
        let view = View {
            render,
            items: list(&prompt["messages"]),
            end,
            newest: compactions.iter().rev().find(|compacted| compacted.render <= render),
        };
        self.seen.push(render);
        self.system(&view, &prompt);
        self.account(&view);
        self.bytes(&view);
        self.pairs(&view);
        self.current(&view);
        self.order(&view);
        self.block(&view, &prompt);
        self.weight(&view, &prompt);
        self.extension(&view, &prompt);
        self.compactions = compactions;
        self.previous = Some(prompt);
    }

    /// Checks the replay as a whole; returns all faults.
    pub(crate) fn finish(mut self) -> Vec<Fault> {
        let render = self.seen.last().copied().unwrap_or_default();
        let unfit: BTreeSet<usize> =
            list(&self.line["cannotFit"]).iter().map(|of| number(&of["render"])).collect();
        let due: Vec<usize> = (0..self.assistants.len()).filter(|render| !unfit.contains(render)).collect();
        let found = json!([self.assistants.len(), self.seen]);
        self.expect(Check::Figures, render, "renders", &found, &json!([self.line["renders"], due]));
        let breaks: BTreeSet<usize> = self.compactions.iter().map(|compacted| compacted.render).collect();
        let stated = self.line["prefix"]["breaks"].clone();
        self.expect(Check::Figures, render, "breaks", &json!(breaks.len()), &stated);
        if self.seen.is_empty() {
            return self.faults;
        }
        let said = |at: &usize| self.source.messages[*at].speaker == Speaker::User;
        let total = (0..self.assistants[render]).filter(said).count() as u64;
        let coverage = &self.line["coverage"];
        let out_of_sight = coverage["covered"].as_u64().unwrap() + coverage["dropped"].as_u64().unwrap();
        let stated = json!({
            "messages": coverage["messages"], "raw": coverage["raw"], "shortened": coverage["shortened"],
            "outOfSight": out_of_sight, "hidden": coverage["hidden"], "unaccounted": coverage["unaccounted"],
            "users": self.line["userMessages"],
        });
        let [raw, shortened, covered, hidden, unaccounted] = self.tally;
        let found = json!({
            "messages": self.assistants[render], "raw": raw, "shortened": shortened,
            "outOfSight": covered, "hidden": hidden, "unaccounted": unaccounted,
            "users": {"total": total, "verbatim": self.words, "reported": total - self.words},
        });
        self.expect(Check::Figures, render, "coverage and user messages", &found, &stated);
        if self.line["window"].as_u64().unwrap() >= ROOM_FOR_WORDS && self.words != total {
            self.fault(Check::Words, render, format!("{} of {total} user messages", self.words));
        }
        self.faults
    }

    fn fault(&mut self, check: Check, render: usize, what: String) {
        // One defect can spoil all later prompts; the first hundred faults suffice.
        if self.faults.len() < 100 {
            self.faults.push(Fault { check, render, what });
        }
    }

    fn expect(&mut self, check: Check, render: usize, of: &str, found: &Value, stated: &Value) {
        if found != stated {
            self.fault(check, render, format!("{of}: found {found}, stated {stated}"));
        }
    }

    /// Checks that the source's first system row, if any, is the first message and the only system message.
    fn system(&mut self, view: &View<'_>, prompt: &Value) {
        let systems: Vec<usize> = places(view.items, "system").collect();
        let wanted: &[usize] = if self.source.system().is_some() { &[0] } else { &[] };
        if systems != wanted {
            self.fault(Check::System, view.render, format!("system messages at {systems:?}"));
        }
        if let Some(words) = self.source.system()
            && view.items.first().is_none_or(|item| texts(&item["content"]).concat() != words)
        {
            self.fault(Check::System, view.render, "the system text is not the source's".into());
        }
        let names: Vec<&str> = list(&prompt["tools"]).iter().map(|tool| name(&tool["name"])).collect();
        if !names.iter().copied().eq(self.source.tools.iter().map(String::as_str)) {
            self.fault(Check::System, view.render, format!("tools {names:?}"));
        }
    }

    /// Checks that every message before the render is shown in one place or covered.
    fn account(&mut self, view: &View<'_>) {
        let mut shown: BTreeMap<usize, &str> = BTreeMap::new();
        let mut faults = Vec::new();
        for (at, role, ord, how) in view.shown() {
            let said = self.source.messages.get(ord).filter(|said| ord < view.end && !said.is_hidden());
            let fits = match (said.map(|said| said.speaker), how) {
                (Some(Speaker::User), "kept") => role == "user" && view.covers(ord),
                (Some(Speaker::User | Speaker::Program), "raw") => role == "user" && !view.covers(ord),
                (Some(Speaker::Assistant), "raw") => role == "assistant" && !view.covers(ord),
                (Some(Speaker::Tool), "raw" | "shortened") => role == "tool" && !view.covers(ord),
                _ => false,
            };
            if !fits {
                faults.push(format!("item {at}, a {role}, shows {ord} as {how}"));
            }
            if shown.insert(ord, how).is_some() {
                faults.push(format!("{ord} stands twice"));
            }
        }
        for (at, item) in view.items.iter().enumerate() {
            let sources = list(&item["sources"]).len();
            let is_made = at == 0 || matches!(name(&item["role"]), "user" | "tool");
            if sources > 1 || (sources == 0 && !is_made) {
                faults.push(format!("item {at} has {sources} sources"));
            }
        }
        self.tally = [0; 5];
        self.words = 0;
        for (ord, said) in self.source.messages[..view.end].iter().enumerate() {
            let slot = match shown.get(&ord) {
                Some(&"shortened") => 1,
                Some(_) => 0,
                None if said.is_hidden() => 3,
                None if view.covers(ord) => 2,
                None => 4,
            };
            self.tally[slot] += 1;
            self.words += u64::from(slot == 0 && said.speaker == Speaker::User);
            if slot == 4 {
                faults.push(format!("{ord} is lost"));
            }
        }
        faults.into_iter().for_each(|what| self.fault(Check::Account, view.render, what));
    }

    /// Checks that raw messages equal their source, and that shortened ones are a part of it or of a newer
    /// copy.
    fn bytes(&mut self, view: &View<'_>) {
        let source = self.source;
        let faulty = |&(at, role, ord, how): &(usize, &str, usize, &str)| {
            let item = &view.items[at];
            match source.messages.get(ord) {
                Some(said) if how == "shortened" => {
                    role != "tool" || !is_part(&item["content"], said) && !is_repeated(view, at, said, source)
                }
                Some(said) => !says(&item["content"], said) || !asks(&item["toolCalls"], said),
                None => true,
            }
        };
        let faults: Vec<String> = view
            .shown()
            .filter(faulty)
            .map(|(at, role, ord, how)| {
                format!("item {at}, a {role}, shows {ord} as {how} and says otherwise")
            })
            .collect();
        faults.into_iter().for_each(|what| self.fault(Check::Bytes, view.render, what));
    }

    /// Checks that each assistant item is followed by one tool item per call, and that there are no other
    /// tool items.
    fn pairs(&mut self, view: &View<'_>) {
        let mut faults = Vec::new();
        let mut ids = BTreeSet::new();
        let mut expected = BTreeSet::new();
        for (at, item) in view.items.iter().enumerate() {
            let calls = list(&item["toolCalls"]);
            if calls.is_empty() && item.get("toolCallId").is_none() && name(&item["role"]) != "tool" {
                continue;
            }
            for call in calls {
                if !ids.insert(name(&call["id"])) {
                    faults.push(format!("the id {} stands twice", call["id"]));
                }
            }
            let behind: Vec<&Value> =
                view.items[at + 1..].iter().take_while(|item| item["role"] == "tool").collect();
            let answers: Vec<&str> = behind.iter().map(|item| name(&item["toolCallId"])).collect();
            if !calls.is_empty() {
                let mut asked: Vec<&str> = calls.iter().map(|call| name(&call["id"])).collect();
                let mut answered = answers.clone();
                asked.sort_unstable();
                answered.sort_unstable();
                if asked != answered {
                    faults.push(format!("item {at} asks {asked:?}, and {answered:?} are answered"));
                }
                expected.extend(at + 1..=at + behind.len());
                let said = list(&item["sources"])
                    .first()
                    .and_then(|of| self.source.messages.get(number(&of["ord"])));
                let known = said.map_or(&[][..], |said| &said.calls);
                for (call, known) in calls.iter().zip(known) {
                    let answer = answers.iter().position(|id| *id == call["id"]).map(|at| behind[at]);
                    let ord =
                        answer.and_then(|item| list(&item["sources"]).first()).map(|of| number(&of["ord"]));
                    let stands_in = answer.is_some_and(|item| item["content"] == NO_RESULT);
                    if ord != known.answered_by || (ord.is_none() && !stands_in) {
                        faults.push(format!("item {at}: {} is answered by {ord:?}", call["id"]));
                    }
                }
            } else if !expected.contains(&at) {
                faults.push(format!("item {at}, a {}, answers no call before it", item["role"]));
            }
        }
        faults.into_iter().for_each(|what| self.fault(Check::Pairs, view.render, what));
    }

    /// Checks that the last user message and the newest answer to it are there once and whole.
    fn current(&mut self, view: &View<'_>) {
        let before = &self.source.messages[..view.end];
        let is_user = |said: &Said| said.speaker == Speaker::User;
        let last = before.iter().rposition(is_user);
        let first = last.map(|last| {
            let earlier = before[..last].iter().rev().take_while(|said| is_user(said) || said.is_hidden());
            last - earlier.count()
        });
        let mut due: Vec<usize> = match first.zip(last) {
            Some((first, last)) => (first..=last).filter(|ord| is_user(&before[*ord])).collect(),
            None => Vec::new(),
        };
        let newest = before.iter().rposition(|said| said.speaker == Speaker::Assistant && !said.is_hidden());
        due.extend(newest.filter(|newest| last.is_some_and(|last| last < *newest)));
        let faults: Vec<String> = due
            .into_iter()
            .filter(|ord| {
                let times = view.shown().filter(|(at, _, shown, _)| {
                    shown == ord && says(&view.items[*at]["content"], &before[*ord])
                });
                times.count() != 1
            })
            .map(|ord| format!("{ord} is of the current turn and does not stand once and whole"))
            .collect();
        faults.into_iter().for_each(|what| self.fault(Check::Current, view.render, what));
    }

    /// Checks that messages are in order, and that nothing generated follows the first one that is not kept.
    fn order(&mut self, view: &View<'_>) {
        let ords: Vec<usize> =
            view.shown().filter(|(_, role, ..)| *role != "tool").map(|(_, _, ord, _)| ord).collect();
        if !ords.is_sorted_by(|a, b| a < b) {
            self.fault(Check::Order, view.render, format!("{ords:?}"));
        }
        let first_raw = view.shown().find(|(.., how)| *how != "kept").map(|(at, ..)| at);
        let block = blocks(view.items).next();
        if first_raw.zip(block).is_some_and(|(raw, block)| raw < block) {
            self.fault(Check::Order, view.render, format!("the block stands behind item {first_raw:?}"));
        }
    }

    /// Checks for one block, of the newest compaction, whose excerpts quote covered messages.
    fn block(&mut self, view: &View<'_>, prompt: &Value) {
        let found: Vec<usize> = blocks(view.items).collect();
        // A compaction that only shortens may have no block.
        let least = usize::from(view.newest.is_some_and(|compacted| compacted.covers.is_some()));
        let most = usize::from(view.newest.is_some());
        let id = view.newest.map(|compacted| compacted.id.as_str());
        if !(least..=most).contains(&found.len()) || prompt.get("compactionId").and_then(Value::as_str) != id
        {
            let what =
                format!("blocks at {found:?} of {:?}, the newest is {id:?}", prompt.get("compactionId"));
            self.fault(Check::Block, view.render, what);
        }
        let (Some(block), Some(id)) = (found.first(), id) else { return };
        let words = texts(&view.items[*block]["content"]).concat();
        if !self.blocks_read.insert(format!("{id}\n{words}")) {
            return;
        }
        let covered =
            self.source.messages[..view.end].iter().enumerate().filter(|(ord, _)| view.covers(*ord));
        let covered = covered.map(|(_, message)| message);
        let invented = excerpts::invented(&words, covered).into_iter();
        let faults: Vec<String> = invented.map(|line| format!("no covered message has {line:?}")).collect();
        faults.into_iter().for_each(|what| self.fault(Check::Block, view.render, what));
    }

    /// Checks that the stated count is right and within the limit.
    fn weight(&mut self, view: &View<'_>, prompt: &Value) {
        let stated = prompt["tokens"].as_u64().unwrap();
        let limit = prompt["limit"].as_u64().unwrap();
        self.expect(Check::Limit, view.render, "limit", &prompt["limit"], &self.line["limit"].clone());
        if stated > limit {
            self.fault(Check::Limit, view.render, format!("{stated} of {limit} tokens"));
        }
        let mut count = 0;
        let mut pieces = 0;
        for item in view.items {
            pieces += 1;
            for words in texts(&item["content"]) {
                count += self.count(words);
            }
            for call in list(&item["toolCalls"]) {
                pieces += 1;
                count += self.count(name(&call["name"])) + self.count(&call["arguments"].to_string());
            }
        }
        for tool in list(&prompt["tools"]) {
            pieces += 1;
            let schema = tool["inputSchema"].to_string();
            count += [name(&tool["name"]), name(&tool["description"]), &schema]
                .map(|text| self.count(text))
                .iter()
                .sum::<u32>();
        }
        let (low, high) = (count * 97 / 100, count * 103 / 100 + pieces * MOST_OVERHEAD);
        if stated < u64::from(low) || stated > u64::from(high) {
            self.fault(
                Check::Recount,
                view.render,
                format!("{stated} tokens stated, counted {low} to {high}"),
            );
        }
    }

    fn count(&mut self, text: &str) -> u32 {
        if let Some(count) = self.counts.get(text) {
            return *count;
        }
        let count = O200k.count(text);
        self.counts.insert(text.to_owned(), count);
        count
    }

    /// Checks that without a compaction a prompt extends the one before it.
    fn extension(&mut self, view: &View<'_>, prompt: &Value) {
        let Some(previous) = self.previous.take() else { return };
        let changed = previous.get("compactionId") != prompt.get("compactionId");
        let before = list(&previous["messages"]);
        if !changed && (!view.items.starts_with(before) || previous["tools"] != prompt["tools"]) {
            let same = before.iter().zip(view.items).take_while(|(a, b)| a == b).count();
            let what = format!("{same} of {} items are those of the prompt before", before.len());
            self.fault(Check::Extension, view.render, what);
        }
    }
}

/// `true` if the item refers to a newer result that is equal.
fn is_repeated(view: &View<'_>, at: usize, said: &Said, source: &Source) -> bool {
    let whole = said.text();
    let behind = view.shown().filter(|(place, role, _, how)| *place > at && *role == "tool" && *how == "raw");
    view.items[at]["content"] == REPEATED
        && behind
            .filter_map(|(_, _, ord, _)| source.messages.get(ord))
            .any(|newer| newer.text().contains(&whole))
}
