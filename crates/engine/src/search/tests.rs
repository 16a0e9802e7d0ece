//! Ranking over a session in memory.

use super::*;
use crate::message::{Body, NewMessage, ToolCall};
use crate::tokens::QuarterOfChars;
use crate::transcript::Transcript;

fn session(bodies: Vec<Body>) -> Transcript {
    let mut transcript = Transcript::new(crate::id::SessionId::new("s"));
    for body in bodies {
        transcript.append(NewMessage::new(body), &QuarterOfChars);
    }
    transcript
}

fn query(words: &str) -> Query {
    Query { words: Words::of(words), before: None, skip: 0, limit: 10, hidden: true }
}

fn search(transcript: &Transcript, query: &Query) -> SearchPage {
    find(transcript.messages().iter().rev().map(|message| &**message), query)
}

fn user(text: &str) -> Body {
    NewMessage::user(text).body
}

fn places(transcript: &Transcript, words: &str) -> Vec<u32> {
    search(transcript, &query(words)).hits.iter().map(|hit| hit.ord.0).collect()
}

#[test]
fn rare_words_rank_first_and_newest_breaks_ties() {
    let transcript = session(vec![
        user("the parser reads a token"),
        user("the lexer reads one"),
        user("the printer reads two"),
        user("the lexer reads one again"),
        user("nothing of that kind"),
    ]);
    // Any word may miss.
    assert_eq!(places(&transcript, "does the parser read a token stream"), [0, 2, 1, 3]);
    assert_eq!(places(&transcript, "lexer"), [1, 3], "the shorter first");
    assert_eq!(places(&transcript, "printer lexer"), [2, 1, 3]);
    let same = session(vec![user("alpha beta one"), user("alpha beta two"), user("x"), user("y"), user("z")]);
    assert_eq!(places(&same, "alpha"), [1, 0]);
}

#[test]
fn pieces_of_long_messages_are_hits_with_their_offset() {
    let lines: Vec<String> = (0..200).map(|n| format!("line {n} of the long result é")).collect();
    let text = format!("{}\nthe needle is here\n{}", lines.join("\n"), lines.join("\n"));
    let call = ToolCall::new("c", "edit", r#"{"path":"src/status.rs","old":"let a = \"x\";\n\tlet b;"}"#);
    let transcript =
        session(vec![user("go"), Body::assistant("I edit it.", vec![call]), Body::result("c", &text)]);
    let page = search(&transcript, &query("needle"));
    let [hit] = &page.hits[..] else { panic!("{page:?}") };
    assert!(
        hit.excerpt.text.contains("the needle is here") && hit.excerpt.text.len() <= 3 * pieces::MOST_BYTES
    );
    let rest = text.get(hit.excerpt.offset..).expect("a character begins there");
    assert!(rest.starts_with(&hit.excerpt.text));
    assert_eq!(hit.bytes, text.len());
    // Arguments are shown without their escapes, and are found by their file.
    let found = search(&transcript, &query("status.rs"));
    let [hit] = &found.hits[..] else { panic!("{found:?}") };
    assert!(hit.excerpt.text.contains("let a = \"x\";\n\tlet b;"), "{}", hit.excerpt.text);
    // A text of one line, and one without a place to cut.
    for text in ["word ".repeat(5000), "é".repeat(5000)] {
        let long = session(vec![user(&text)]);
        let cut = pieces::pieces(&long.messages()[0]);
        assert!(cut.len() > 5 && cut.iter().all(|piece| piece.text.len() <= pieces::MOST_BYTES));
        assert_eq!(cut.into_iter().map(|piece| piece.text).collect::<String>(), text);
    }
}

#[test]
fn repeated_text_is_one_hit_and_pages_add_up() {
    let file = "fn main() {\n    let total = count();\n    println!(\"{total}\");\n}";
    let mut bodies: Vec<Body> = (0..3).map(|n| Body::result("c", &format!("  {n}\t{file}"))).collect();
    bodies.extend((0..30).map(|n| user(&format!("number {n} counts the needle"))));
    let transcript = session(bodies);
    assert_eq!(places(&transcript, "println"), [2], "the newest");
    let (mut skip, mut all) = (0, Vec::new());
    loop {
        let page = search(&transcript, &Query { skip, ..query("needle") });
        all.extend(page.hits.iter().map(|hit| hit.ord.0));
        match page.next {
            Some(next) => skip = next,
            None => break,
        }
    }
    assert_eq!(all, (3..33).rev().collect::<Vec<_>>());
}

#[test]
fn parts_of_words_are_found_if_no_word_is() {
    let transcript = session(vec![user("commit a3f9c2e1 => done"), user("updatePendingMessages at once")]);
    for (words, found) in [
        ("a3f9", &[0][..]),
        ("=>", &[0]),
        ("dingMess", &[1]),
        ("pendingMessages", &[1]),
        ("", &[]),
        ("* OR \"", &[]),
    ] {
        assert_eq!(places(&transcript, words), found, "{words}");
    }
}

#[test]
fn harness_noise_is_not_found() {
    let transcript = session(vec![
        user("<command-name>/compact</command-name>"),
        user("\n<local-command-stdout>compacted</local-command-stdout>"),
        user("[Request interrupted by user]"),
        user("explain <command-name> and [Request interrupted by user]"),
        Body::result("c", "<command-name> in a file"),
    ]);
    assert_eq!(places(&transcript, "command name compacted request interrupted"), [3, 4]);
    assert_eq!(places(&transcript, "ompact"), [0_u32; 0]);
}

#[test]
fn hidden_messages_are_found_only_on_request() {
    let notice = Body::Event { kind: "notice".into(), text: "a needle".into() };
    let transcript = session(vec![user("needle"), notice]);
    assert_eq!(places(&transcript, "needle").len(), 2);
    let shown = search(&transcript, &Query { hidden: false, ..query("needle") });
    assert_eq!(shown.hits.len(), 1);
}
