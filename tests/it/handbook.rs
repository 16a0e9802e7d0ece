//! The protocol's handbook (`docs/protocol`): generated sections match the types, examples can be parsed as
//! the types, links lead somewhere.

mod answers;

use expect_test::expect_file;
use protocol::check::fault_in;
use protocol::error::ErrorData;
use protocol::methods::read;
use protocol::schema::markdown::{CLOSING, sections};
use protocol::schema::schema;
use protocol::server::InitializeOptions;
use protocol::tool::Tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use threadhold::convert::{self, acceptance};
use threadhold::tool::OwnTool;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocol");

/// The sidecar's tools as a model gets them.
pub fn own_tools() -> Vec<Tool> {
    OwnTool::ALL.map(|tool| convert::tool(&tool.definition())).into()
}

/// The pages, by path, with their text.
fn pages() -> BTreeMap<PathBuf, String> {
    let files = std::fs::read_dir(FOLDER).expect("docs/protocol is there");
    let paths = files.map(|file| file.expect("a file").path());
    paths.map(|path| (path.clone(), std::fs::read_to_string(&path).expect("a text"))).collect()
}

/// `UPDATE_EXPECT=1` rewrites the sections in their pages.
#[test]
fn generated_sections_of_the_handbook_are_up_to_date() {
    let pages = pages();
    let mut filled = pages.clone();
    for section in sections(&acceptance(), &own_tools()) {
        let opening = section.opening();
        let mut places = filled.values_mut().filter(|text| text.contains(&opening));
        let text = places.next().unwrap_or_else(|| panic!("no page has {opening}"));
        assert_eq!((text.matches(&opening).count(), places.next()), (1, None), "{opening}");
        let (before, rest) = text.split_once(&opening).expect("it is there");
        let (_, after) = rest.split_once(CLOSING).unwrap_or_else(|| panic!("{opening} is not closed"));
        *text = format!("{before}{opening}{}{CLOSING}{after}", section.text);
    }
    let markers: usize = pages.values().map(|text| text.matches(&format!("\n{CLOSING}")).count()).sum();
    assert_eq!(
        markers,
        sections(&acceptance(), &own_tools()).len(),
        "a page has a section that nothing generates"
    );
    for (path, text) in filled {
        expect_file![path].assert_eq(&text);
    }
}

#[test]
fn every_example_of_the_handbook_can_be_read() {
    let schema = schema();
    let mut seen = 0;
    for page in pages().values() {
        let mut asked = Vec::new();
        for block in page.split("```json\n").skip(1) {
            let text = block.split("```").next().unwrap_or_default();
            let message: Value = serde_json::from_str(text).expect(text);
            seen += 1;
            let Some(name) = message["method"].as_str() else {
                let Some(result) = message.get("result") else {
                    read::<ErrorData>(message["error"]["data"].clone()).expect(text);
                    continue;
                };
                let (_, of) = asked.iter().find(|(id, _)| *id == message["id"]).expect("it was asked before");
                assert_eq!(fault_in(&schema, of, result), None, "{text}");
                continue;
            };
            if name == "initialize" {
                let options = message["params"]["initializationOptions"]["threadhold"].clone();
                read::<InitializeOptions>(options).expect(text);
                continue;
            }
            let list = schema["methods"].as_array().expect("a list");
            let method = list.iter().find(|method| method["name"] == name).expect(name);
            assert_eq!(fault_in(&schema, &method["params"], &message["params"]), None, "{text}");
            if let Some(result) = method.get("result") {
                asked.push((message["id"].clone(), result.clone()));
            }
        }
    }
    assert_eq!(seen, 26);
    let body = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
    let frame = format!("Content-Length: {}\\r\\n\n\\r\\n\n{body}\n", body.len());
    assert!(pages().values().any(|page| page.contains(&frame)));
}

/// A heading as its anchor.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

#[test]
fn every_link_of_the_handbook_leads_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)").expect("a pattern");
    let mut broken = Vec::new();
    for (path, text) in pages() {
        for found in link.captures_iter(&text) {
            let target = if found[1].is_empty() { path.clone() } else { path.with_file_name(&found[1]) };
            let is_there = match (std::fs::read_to_string(&target), found.get(2)) {
                (Ok(page), Some(wanted)) => page
                    .lines()
                    .filter_map(|line| line.trim_start_matches('#').strip_prefix(' '))
                    .any(|heading| anchor(heading) == wanted.as_str()),
                (page, _) => page.is_ok(),
            };
            if !is_there {
                broken.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
