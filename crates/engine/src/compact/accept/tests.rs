//! Shapes of model answers, each with the narrative read from it, and the answers that are refused.

use super::*;
use crate::tokens::QuarterOfChars;

/// A narrative in the requested form.
const AS_ASKED: &str = "## Goal\nMake the parser work.\n## Decisions\nA table, for it is short.\n## State\nHalf of it is \
                        done.\n## Next steps\n1. Write the other half.\n## Open questions\nNone.";

fn answered(text: &str) -> Completion {
    Completion { text: text.to_owned(), calls: 0, stop: StopReason::End, output_tokens: None }
}

fn judged(answer: &Completion) -> Result<String, Refusal> {
    accept(answer, 1000, 1000, &QuarterOfChars).map_err(|(refusal, _)| refusal)
}

/// The name of a shape, an answer of that shape, the expected narrative.
type Shape = (&'static str, String, String);

fn shapes() -> Vec<Shape> {
    let tagged = format!("<summary>\n{AS_ASKED}\n</summary>");
    let shape = |name, answer: &str, narrative: &str| (name, answer.to_owned(), narrative.to_owned());
    let as_asked = |name, answer: &str| shape(name, answer, AS_ASKED);
    let at_level = |marks: &str| AS_ASKED.replace("## ", marks);
    let numbered = |form: fn(usize, &str) -> String| {
        let mut n = 0;
        let line = |line: &str| match line.strip_prefix("## ") {
            Some(name) => {
                n += 1;
                form(n, name)
            }
            None => line.to_owned(),
        };
        AS_ASKED.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    let every = |form: fn(&str) -> String| {
        let line = |line: &str| line.strip_prefix("## ").map_or_else(|| line.to_owned(), form);
        AS_ASKED.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    vec![
        // Tags.
        as_asked("as asked", &tagged),
        as_asked("no tag", AS_ASKED),
        as_asked("unclosed tag", &format!("<summary>\n{AS_ASKED}")),
        as_asked("closing tag alone", &format!("{AS_ASKED}\n</summary>")),
        as_asked("preamble before the tag", &format!("Here is the summary you asked for:\n\n{tagged}")),
        as_asked("preamble before an unclosed tag", &format!("Sure!\n<summary>\n{AS_ASKED}\n")),
        as_asked("words after the tag", &format!("{tagged}\n\nLet me know if anything is missing.")),
        as_asked("nested tags", &format!("<summary>\n{tagged}\n</summary>")),
        as_asked("nested tags, one unclosed", &format!("<summary>\n{tagged}")),
        as_asked("upper-case tag", &format!("<SUMMARY>\n{AS_ASKED}\n</SUMMARY>")),
        as_asked("tag with an attribute", &format!("<summary lang=\"en\">\n{AS_ASKED}\n</summary >")),
        as_asked("tag named in the preamble", &format!("I answer with one `<summary>` element:\n{tagged}")),
        as_asked("template first", &format!("<summary>…</summary>\n{AS_ASKED}")),
        as_asked("empty tag first", &format!("<summary></summary>\n{AS_ASKED}")),
        as_asked("tag of the block", &format!("<conversation-summary>\n{AS_ASKED}\n</conversation-summary>")),
        // Analysis and thinking.
        as_asked("analysis before the tag", &format!("<analysis>\nLet me see.\n</analysis>\n\n{tagged}")),
        as_asked(
            "analysis that names the tag",
            &format!("<analysis>\n1. Goal\n<summary> comes last.\n</analysis>\n{tagged}"),
        ),
        as_asked("analysis without a tag", &format!("<analysis>\n## Goal\nHm.\n</analysis>\n{AS_ASKED}")),
        as_asked("preamble, analysis, tag", &format!("OK.\n<analysis>\nHm.\n</analysis>\n{tagged}")),
        as_asked("thinking before the tag", &format!("<think>\nThe user wants…\n</think>\n{tagged}")),
        as_asked("thinking without a tag", &format!("<think>The user wants…</think>\n{AS_ASKED}")),
        as_asked("thinking that was opened elsewhere", &format!("The user wants…\n</think>\n\n{AS_ASKED}")),
        shape(
            "analysis alone",
            "<analysis>\nThe parser works.\n</analysis>",
            "<analysis>\nThe parser works.\n</analysis>",
        ),
        // Code fences.
        as_asked("fence around the tag", &format!("```xml\n{tagged}\n```")),
        as_asked("fence around an unclosed tag", &format!("```\n<summary>\n{AS_ASKED}\n```")),
        as_asked("fence inside the tag", &format!("<summary>\n```markdown\n{AS_ASKED}\n```\n</summary>")),
        as_asked("fence without a tag", &format!("```md\n{AS_ASKED}\n```")),
        as_asked("fence of tildes", &format!("~~~\n{AS_ASKED}\n~~~")),
        shape(
            "fences that open and close",
            "```sh\n# build\nmake\n```\nworks, this does not:\n```sh\nmake test\n```",
            "```sh\n# build\nmake\n```\nworks, this does not:\n```sh\nmake test\n```",
        ),
        // Headings.
        as_asked("level one", &at_level("# ")),
        as_asked("level three", &at_level("### ")),
        as_asked("level six", &at_level("###### ")),
        as_asked("no space behind the marks", &at_level("##")),
        as_asked("closed headings", &every(|name| format!("## {name} ##"))),
        as_asked("bold", &every(|name| format!("**{name}**"))),
        as_asked("bold with a colon inside", &every(|name| format!("**{name}:**"))),
        as_asked("bold with a colon behind", &every(|name| format!("**{name}**:"))),
        as_asked("underscores", &every(|name| format!("__{name}__"))),
        as_asked("bold under marks", &every(|name| format!("### **{name}**"))),
        as_asked("a colon alone", &every(|name| format!("{name}:"))),
        as_asked("title case", &AS_ASKED.replace("Next steps", "Next Steps").replace("Open q", "Open Q")),
        as_asked("upper case", &every(|name| format!("## {}", name.to_uppercase()))),
        as_asked("a dash for the space", &AS_ASKED.replace("Next steps", "Next-Steps")),
        as_asked("numbered", &numbered(|n, name| format!("## {n}. {name}"))),
        as_asked("numbered with a bracket", &numbered(|n, name| format!("{n}) **{name}**"))),
        as_asked("numbered and bold", &numbered(|n, name| format!("**{n}. {name}**"))),
        as_asked("indented", &every(|name| format!("  ## {name}"))),
        as_asked("line ends of Windows", &tagged.replace('\n', "\r\n")),
        shape(
            "a title above",
            "# Conversation so far\n\n### Goal\nMake it work.",
            "## Conversation so far\n\n## Goal\nMake it work.",
        ),
        shape("one section", "<summary>## Goal\nMake it work.</summary>", "## Goal\nMake it work."),
        shape(
            "sections of its own",
            "<summary>\n### Primary Request\nMake it work.\n### Pending Tasks\nTests.\n</summary>",
            "## Goal\nMake it work.\n## Next steps\nTests.",
        ),
        shape(
            "localised",
            "<summary>\n## Ziel\nDer Parser läuft.\n## Nächste Schritte\nDie Tests.\n</summary>",
            "## Ziel\nDer Parser läuft.\n## Nächste Schritte\nDie Tests.",
        ),
        shape("another script", "# 目标\n让解析器工作。", "## 目标\n让解析器工作。"),
        shape("prose", "The parser works; its tests are next.", "The parser works; its tests are next."),
        shape(
            "prose with the names of sections",
            "State of things: half done.\nGoal reached? No.\nThe goal: make it work.",
            "State of things: half done.\nGoal reached? No.\nThe goal: make it work.",
        ),
        shape("a list", "- parser done\n- tests next", "- parser done\n- tests next"),
        shape("a comment in code", "```sh\n# Goal\nmake\n```\nThat.", "```sh\n# Goal\nmake\n```\nThat."),
        shape(
            "a line with a hash",
            "#1234 is fixed.\n#include is there.",
            "#1234 is fixed.\n#include is there.",
        ),
        shape(
            "a tag of another kind",
            "<summary>\nThe element <details> holds Vec<String>.\n</summary>",
            "The element <details> holds Vec<String>.",
        ),
    ]
}

/// Answers in the styles of ten families of models, each with its narrative.
const STYLES: [(&str, &str, &str); 10] = [
    (
        "analysis, then numbered sections of its own",
        "<analysis>\nLet me go through it.\n</analysis>\n\n<summary>\n1. Primary Request and Intent:\nA parser.\n\n2. Errors \
and fixes:\nThe regex was too slow.\n\n8. Current Work:\nThe lexer.\n</summary>",
        "## Goal\nA parser.\n\n## Dead ends\nThe regex was too slow.\n\n## In progress\nThe lexer.",
    ),
    (
        "markdown with bold labels",
        "**Goal:** A parser.\n**Current state:** half done\n**Next steps:**\n1. tests",
        "## Goal\nA parser.\n## State\nhalf done\n## Next steps\n1. tests",
    ),
    (
        "a list of labels",
        "*   **Objective:** A parser.\n*   **Key Decisions:** no regex\n*   **Pending Tasks:** tests",
        "## Goal\nA parser.\n## Decisions\nno regex\n## Next steps\ntests",
    ),
    (
        "thinking in front",
        "<think>\nThe user wants a summary. ## Goal?\n</think>\n\n### Goal\nA parser.\n### Status\nhalf done",
        "## Goal\nA parser.\n## State\nhalf done",
    ),
    (
        "a fence around everything",
        "```markdown\n## Goal\nA parser.\n## Key findings\nThe table has 3.2 MB.\n```",
        "## Goal\nA parser.\n## Findings\nThe table has 3.2 MB.",
    ),
    (
        "a preamble and a tag",
        "Here is the summary you asked for:\n\n<summary>\n## Goal\nA parser.\n</summary>\n\nLet me know if it helps!",
        "## Goal\nA parser.",
    ),
    (
        "prose alone",
        "The parser is half done; its tests come next.",
        "The parser is half done; its tests come next.",
    ),
    (
        "labels with colons",
        "Goal:\nA parser.\n\nConstraints:\n- no regex\n\nTODO:\n- tests",
        "## Goal\nA parser.\n\n## Constraints\n- no regex\n\n## Next steps\n- tests",
    ),
    (
        "a title with a rule",
        "# Session Summary\n\n---\n\n## 1. Task\nA parser.\n\n## 2. Remaining Work\ntests",
        "## Session Summary\n\n---\n\n## Goal\nA parser.\n\n## Next steps\ntests",
    ),
    (
        "an unclosed tag",
        "<summary>\n## Goal\nA parser.\n## Open issues\nWhich license?",
        "## Goal\nA parser.\n## Open questions\nWhich license?",
    ),
];

#[test]
fn headings_of_each_style_become_the_requested_ones() {
    for (style, answer, wanted) in STYLES {
        assert_eq!(judged(&answered(answer)), Ok(wanted.to_owned()), "{style}");
    }
}

#[test]
fn summary_is_taken_in_whatever_shape_it_comes() {
    let wrong: Vec<_> = shapes()
        .into_iter()
        .map(|(name, answer, narrative)| (name, judged(&answered(&answer)), Ok(narrative)))
        .filter(|(_, made, wanted)| made != wanted)
        .collect();
    assert_eq!(wrong, []);
}

#[test]
fn answer_that_says_nothing_is_empty() {
    let headings = "<summary>\n## Goal\n## Decisions\n## State\n## Next steps\n## Open questions\n</summary>";
    for said in [
        "",
        " \n\t\n",
        "<summary></summary>",
        "<summary>…</summary>",
        "<summary>\n---\n</summary>",
        "<summary>",
        "```\n```",
        "**Goal**\n\n**State**\n- \n",
        "1. Goal\n2. Decisions\n",
        "# Conversation so far",
        headings,
        &headings.replace("## ", "### "),
    ] {
        assert_eq!(judged(&answered(said)), Err(Refusal::Empty), "{said:?}");
    }
}

#[test]
fn answer_is_refused_for_how_it_ended() {
    let ended = |stop, calls| judged(&Completion { stop, calls, ..answered(AS_ASKED) });
    assert_eq!(ended(StopReason::Length, 0), Err(Refusal::Cut));
    assert_eq!(ended(StopReason::Cancelled, 0), Err(Refusal::Cut));
    assert_eq!(ended(StopReason::Failed, 0), Err(Refusal::Cut));
    assert_eq!(ended(StopReason::Refused, 0), Err(Refusal::Declined));
    assert_eq!(ended(StopReason::ToolUse, 1), Err(Refusal::ToolCall));
    assert_eq!(ended(StopReason::End, 1), Err(Refusal::ToolCall));
    assert_eq!(ended(StopReason::End, 0), Ok(AS_ASKED.to_owned()));
}

#[test]
fn answer_is_refused_for_its_size() {
    let tokens = QuarterOfChars.count(AS_ASKED);
    let sized = |most, covered| accept(&answered(AS_ASKED), most, covered, &QuarterOfChars);
    let most = tokens - 1;
    assert_eq!(sized(tokens, tokens), Ok(AS_ASKED.to_owned()));
    assert_eq!(
        sized(most, tokens),
        Err((Refusal::TooLarge { tokens, most }, Some(AS_ASKED.to_owned()))),
        "returned, so that a shorter one can be requested"
    );
    assert_eq!(sized(tokens, most), Err((Refusal::NoGain { tokens, covered: most }, None)));
}
