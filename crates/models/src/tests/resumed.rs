//! Recorded streams that are cut at random places, over real connections: each answer ends whole, from what had come or
//! from another request, and nothing of it is there twice.

use super::faults::{ask, at};
use super::{draft, recordings};
use crate::testing::{Act, Asked, Reply, Server};
use engine::delta::Draft;
use engine::endpoint::Wire;
use futures_util::future::join_all;
use std::path::Path;
use std::time::Duration;

/// Longer than any answer here takes.
const IDLE: Duration = Duration::from_secs(60);
/// Cuts of each recording.
const CUTS: usize = 50;

/// The wire and the bytes of a recorded stream; `None` for other recordings.
fn stream(path: &Path) -> Option<(Wire, Vec<u8>)> {
    let name = path.file_name()?.to_str()?;
    let wires = [
        ("anthropic-", Wire::Anthropic),
        ("openai-responses-", Wire::OpenaiResponses),
        ("openai-chat-", Wire::OpenaiChat),
        ("copilot-", Wire::OpenaiChat),
        ("llamacpp-", Wire::OpenaiChat),
        ("openrouter-", Wire::OpenaiChat),
        ("ollama-", Wire::Ollama),
    ];
    let (_, wire) = wires.into_iter().find(|(prefix, _)| name.starts_with(prefix))?;
    let is_event = name.ends_with(".events.jsonl");
    if !is_event && !name.ends_with(".sse") && !name.ends_with(".ndjson") {
        return None;
    }
    let text = std::fs::read_to_string(path).expect("a recording");
    let as_event = |line: &str| if is_event { format!("data: {line}\n\n") } else { format!("{line}\n") };
    Some((wire, text.lines().map(as_event).collect::<String>().into_bytes()))
}

/// The number of the cut in a request's path.
fn cut_of(asked: &Asked) -> usize {
    let path = asked.line.split('/').nth(1).expect("a path");
    path.parse().expect("a number")
}

#[tokio::test]
async fn randomly_cut_answers_end_whole_and_are_never_doubled() {
    let Some(folder) = recordings() else { return };
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("recordings").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let (mut streams, mut resumed, mut seed) = (0, 0, 7u64);
    for path in paths {
        let Some((wire, bytes)) = stream(&path) else { continue };
        let server = Server::replies(vec![Reply::stream(vec![Act::Send(bytes.clone())])]);
        let (whole, _) = ask(&mut at(server.url(), wire, IDLE).without_retries()).await;
        // Recorded errors have no answer to resume.
        let Ok(end) = whole.end else { continue };
        let whole = draft(&whole.deltas);
        let cuts: Vec<usize> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bytes.len()
        })
        .take(CUTS)
        .collect();
        let (of_server, bytes) = (cuts.clone(), bytes.clone());
        let mut asked_before = [false; CUTS];
        let server = Server::start(move |_, asked| {
            let cut = cut_of(asked);
            if std::mem::replace(&mut asked_before[cut], true) {
                return Reply::stream(vec![Act::Send(bytes.clone())]);
            }
            let mut acts = vec![Act::Send(bytes[..of_server[cut]].to_vec())];
            acts.extend(match cut % 3 {
                0 => Some(Act::Cut),
                1 => Some(Act::Reset),
                _ => None,
            });
            Reply::stream(
                acts.into_iter().filter(|act| !matches!(act, Act::Send(sent) if sent.is_empty())).collect(),
            )
        });
        let answers = cuts.iter().enumerate().map(async |(number, cut)| {
            let url = format!("{}/{number}", server.url());
            let (heard, retrying) = ask(&mut at(url, wire, IDLE)).await;
            (number, *cut, heard, retrying)
        });
        for (number, cut, heard, retrying) in join_all(answers).await {
            let at = format!("{} cut at {cut}, way {}", path.display(), number % 3);
            let answer = heard.end.unwrap_or_else(|error| panic!("{at}: {error}"));
            let said = draft(&heard.deltas);
            assert!(retrying.len() <= 1, "{at}: {retrying:?}");
            if retrying.is_empty() {
                // Whole before the cut; its usage may be missing.
                let of = |draft: &Draft| (draft.said(), draft.asked());
                assert_eq!((of(&said), answer.stop), (of(&whole), end.stop), "{at}");
            } else {
                assert_eq!((&said, &answer), (&whole, &end), "{at}");
                resumed += 1;
            }
        }
        streams += 1;
    }
    println!("{streams} streams, {resumed} of {} cuts resumed", streams * CUTS);
    assert!(streams >= 10 && resumed > streams * CUTS / 2, "{streams} streams, {resumed} resumed");
}
