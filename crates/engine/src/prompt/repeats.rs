//! References in place of files and attachments that the prompt shows above. Only messages marked for it when they were
//! appended are changed, and only where all marked parts are in sight: a compaction may cover the message that had them.
//! A prompt only grows between compactions, so a reference stays valid until the next prefix break.

use super::item::{Item, ItemPart, Role, Shown};
use super::{Cut, CutReason, Prompt};
use crate::message::repeats::{self, Name, Repeats};
use crate::message::{Body, Content, Message, Text, meta};
use crate::transcript::Transcript;
use std::collections::BTreeMap;

/// Replaces repeated parts of user messages by references, and reports them.
pub(super) fn fold(prompt: &mut Prompt, transcript: &Transcript) {
    let message = |item: &Item| match item.sources[..] {
        [source] if item.role == Role::User => transcript.message(source.ord),
        _ => None,
    };
    let marked = |message: &Message| message.shown.map(|cut| cut.repeats).filter(|marked| !marked.is_empty());
    if !prompt.items.iter().any(|item| message(item).is_some_and(|message| marked(message).is_some())) {
        return;
    }
    let mut newest: BTreeMap<Name<'_>, &Text> = BTreeMap::new();
    for section in &mut prompt.plan.sections {
        let Some(items) = prompt.items.get_mut(section.items.clone()) else { continue };
        for item in items {
            let Some(message) = message(item) else { continue };
            let Body::User(parts) = &message.body else { continue };
            // One that a compaction shortened shows less than its content.
            let is_whole = item.sources.iter().all(|source| source.shown != Shown::Shortened);
            let mut seen = Repeats::default();
            for (at, part) in parts.iter().enumerate() {
                let Some((name, text)) = repeats::named(part) else { continue };
                match is_whole {
                    true if newest.insert(name, text) == Some(text) => seen.insert(at),
                    true => {}
                    false => drop(newest.remove(&name)),
                }
            }
            let Some((cut, marked)) = message.shown.zip(marked(message)) else { continue };
            if !is_whole || !seen.holds(marked) {
                continue;
            }
            prompt.cuts.push(refer(item, message, parts, marked));
            section.tokens = section.tokens.saturating_sub(item.tokens.saturating_sub(cut.tokens));
            item.tokens = cut.tokens;
        }
    }
}

/// Puts references in place of the marked parts.
fn refer(item: &mut Item, message: &Message, parts: &[Content], marked: Repeats) -> Cut {
    let bytes = |part: &Content| match repeats::named(part) {
        Some((_, text)) => text.len(),
        None => part.text().map_or(0, |text| text.len()),
    };
    let mut kept_bytes = 0;
    for ((at, part), shown) in meta::without(parts).zip(&mut item.parts) {
        match marked.has(at) {
            true => *shown = ItemPart::Content(repeats::reference(part)),
            false => kept_bytes += bytes(part),
        }
    }
    item.sources.iter_mut().for_each(|source| source.shown = Shown::Shortened);
    let original_bytes = parts.iter().map(bytes).sum();
    Cut { ord: Some(message.ord), reason: CutReason::Repeated, original_bytes, kept_bytes, section: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::ladder::Step;
    use crate::id::Ordinal;
    use crate::message::NewMessage;
    use crate::message::attachment::Attachment;
    use crate::prompt::{self, Source};
    use crate::testing::{SUMMARY, Session, answered, filler};
    use crate::tokens::QuarterOfChars;
    use proptest::prelude::*;

    /// Adds a request of these parts and an answer.
    fn asks(session: &mut Session, text: &str, parts: Vec<Content>) {
        let parts = [vec![Content::Text(text.into())], parts].concat();
        session.transcript.append(NewMessage::new(Body::User(parts)), &QuarterOfChars);
        session.says("Done.");
    }

    fn file(seed: &str) -> Content {
        Content::ContextFile { path: "src/a.rs".into(), text: filler(seed, 600).into() }
    }

    fn rules(seed: &str) -> Content {
        Content::Attachment(Attachment::new("rules", &filler(seed, 600)))
    }

    /// The prompt, whose figures must be those of its items.
    fn rendered(session: &Session) -> Prompt {
        let prompt = session.render().expect("fits");
        let of_items: u32 = prompt.items.iter().map(|item| item.tokens).sum();
        assert_eq!(prompt.tokens, of_items, "no tools");
        for item in prompt.items.iter().filter(|item| item.role == Role::User && !item.sources.is_empty()) {
            let content = item.parts.iter().map(|part| match part {
                ItemPart::Content(content) => content.tokens(&QuarterOfChars),
                other => panic!("{other:?}"),
            });
            assert_eq!(item.tokens, content.sum::<u32>() + crate::tokens::PER_MESSAGE, "{item}");
        }
        prompt
    }

    /// For each user message that the prompt shows, the number of parts whose content it shows whole.
    fn whole(prompt: &Prompt) -> Vec<usize> {
        let asked = prompt.items.iter().filter(|item| item.role == Role::User && !item.sources.is_empty());
        let is_whole = |part: &&ItemPart| match part {
            ItemPart::Content(part) => repeats::named(part).is_some_and(|(_, text)| text.len() >= 600),
            _ => false,
        };
        asked.map(|item| item.parts.iter().filter(is_whole).count()).collect()
    }

    fn cut(prompt: &Prompt) -> Vec<(Option<Ordinal>, CutReason, usize, usize)> {
        let cuts = prompt.cuts.iter();
        cuts.map(|cut| (cut.ord, cut.reason, cut.original_bytes, cut.kept_bytes)).collect()
    }

    #[test]
    fn three_copies_of_one_file_are_one_below_the_budget() {
        let mut session = Session::new(100_000);
        asks(&mut session, "One.", vec![file("a"), file("a"), file("a")]);
        let prompt = rendered(&session);
        assert_eq!((whole(&prompt), session.transcript.compactions()), (vec![1], &[][..]));
        assert_eq!(cut(&prompt), [(Some(Ordinal(0)), CutReason::Repeated, 1804, 604)], "one line");
    }

    #[test]
    fn unchanged_attachments_are_sent_once_and_prompts_only_grow() {
        let mut session = Session::new(100_000);
        let mut before = Prompt { items: Vec::new(), ..rendered(&session) };
        for turn in 0..4 {
            asks(&mut session, &format!("Turn {turn}."), vec![rules("r"), file("a")]);
            let prompt = rendered(&session);
            assert_eq!(prompt.items[..before.items.len()], before.items[..], "turn {turn}");
            before = prompt;
        }
        assert_eq!(whole(&before), [2, 0, 0, 0]);
        let folded = before.items[3].parts.iter().map(|part| match part {
            ItemPart::Content(Content::Text(text) | Content::ContextFile { text, .. }) => text.to_string(),
            ItemPart::Content(Content::Attachment(attachment)) => attachment.text.to_string(),
            other => panic!("{other:?}"),
        });
        let above = "[the same as above, where it is shown whole]";
        assert_eq!(folded.collect::<Vec<_>>(), ["Turn 1.", above, above]);
        let reported = cut(&before).into_iter().map(|(ord, ..)| ord.map_or(0, |ord| ord.0));
        assert_eq!(reported.collect::<Vec<_>>(), [2, 4, 6]);
    }

    #[test]
    fn changed_and_restored_content_is_sent_again() {
        let mut session = Session::new(100_000);
        for seed in ["a", "b", "a", "a"] {
            asks(&mut session, "Go on.", vec![file(seed)]);
        }
        assert_eq!(whole(&rendered(&session)), [1, 1, 1, 0]);
    }

    #[test]
    fn content_is_whole_again_once_a_compaction_covers_the_first() {
        let mut session = Session::new(8000);
        session.policy.limit_history = crate::compact::policy::Stage::Off;
        session.policy.user_messages = crate::settings::PerMille::new(0);
        session.user("Hello.").says("Hi.");
        asks(&mut session, "Read.", vec![rules("r")]);
        session.reads("src/parser.rs", 9000).reads("src/lib.rs", 9000);
        for _ in 0..3 {
            asks(&mut session, "Go on.", vec![rules("r")]);
        }
        let before = prompt::draft(Source { ..session.source() }, None);
        assert_eq!(whole(&before), [0, 1, 0, 0, 0]);
        let record = session.compact(Some(answered(SUMMARY)));
        assert!(record.covers(Ordinal(2)) && !record.kept_users.contains(&Ordinal(2)), "{record:?}");
        let after = rendered(&session);
        let shown = whole(&after);
        assert_eq!(shown.iter().sum::<usize>(), 1, "{shown:?}");
        assert_eq!(shown.iter().find(|whole| **whole > 0), Some(&1), "the first of those that stay");
    }

    #[test]
    fn fold_of_older_copies_leaves_references_alone() {
        let mut session = Session::new(100_000);
        for _ in 0..3 {
            asks(&mut session, "Go on.", vec![file("a")]);
        }
        let actions = crate::prompt::limit::fold_repeats(
            &session.transcript,
            Ordinal(0),
            Ordinal(u32::MAX),
            &QuarterOfChars,
        );
        assert!(actions.is_empty(), "{actions:?}");
    }

    /// Checks that each reference has the content of its message above it.
    fn references_are_true(session: &Session, prompt: &Prompt) {
        let mut above: BTreeMap<Name<'_>, &str> = BTreeMap::new();
        for item in prompt.items.iter().filter(|item| item.role == Role::User) {
            let [source] = item.sources[..] else { continue };
            let Body::User(own) = &session.transcript.messages()[source.ord.index()].body else { continue };
            for (shown, own) in item.parts.iter().zip(own) {
                let ItemPart::Content(shown) = shown else { panic!("{shown:?}") };
                let Some((name, text)) = repeats::named(own) else { continue };
                if *shown == repeats::reference(own) {
                    assert_eq!(above.get(&name), Some(&&**text), "{prompt}");
                } else if shown == own {
                    above.insert(name, text);
                } else {
                    // A compaction folded it into a newer copy.
                    above.remove(&name);
                }
            }
        }
    }

    /// A request with parts, each a file or an attachment with one of two contents; `None` is a compaction.
    fn act() -> impl Strategy<Value = Option<Vec<(bool, bool)>>> {
        let parts = prop::collection::vec(any::<(bool, bool)>(), 0..4);
        prop_oneof![6 => parts.prop_map(Some), 1 => Just(None)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn references_are_true_and_prompts_grow_between_compactions(acts in prop::collection::vec(act(), 1..24)) {
            let mut session = Session::new(6000);
            let mut before: Vec<Item> = Vec::new();
            for act in acts {
                match act {
                    Some(parts) => {
                        let seed = |other: bool| if other { "b" } else { "a" };
                        let parts = parts.into_iter().map(|(is_file, other)| if is_file { file(seed(other)) } else { rules(seed(other)) });
                        asks(&mut session, "Go on.", parts.collect());
                    }
                    None => {
                        if let Step::Accepted(record) = session.descend(None) {
                            session.transcript.record(*record);
                            before.clear();
                        }
                    }
                }
                let prompt = prompt::draft(session.source(), session.transcript.in_force());
                references_are_true(&session, &prompt);
                prop_assert!(prompt.items.starts_with(&before), "{}", prompt);
                prop_assert_eq!(prompt.tokens, prompt.items.iter().map(|item| item.tokens).sum::<u32>());
                before = prompt.items;
            }
        }
    }
}
