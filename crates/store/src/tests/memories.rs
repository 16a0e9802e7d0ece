//! Memories of a workspace on each backend: areas, order, search, and reloading in a new process.

use crate::testing::on_each;
use engine::id::Time;
use engine::memory::{MemoryPatch, MemoryQuery};
use engine::search::Words;

fn all() -> MemoryQuery {
    MemoryQuery { limit: 100, ..MemoryQuery::default() }
}

fn patch(text: &str, area: &str, importance: u8) -> MemoryPatch {
    MemoryPatch {
        text: Some(text.into()),
        area: Some(area.into()),
        importance: Some(importance),
        ..MemoryPatch::default()
    }
}

#[test]
fn memories_come_back_by_area_importance_and_words() {
    on_each(|bench| {
        let store = bench.store();
        store.put_memory("w", "a", patch("The Parser 漢字 \u{0} is small", "code", 2), Time(1)).unwrap();
        store.put_memory("w", "b", patch("Fridays", "team", 5), Time(2)).unwrap();
        store.put_memory("w", "c", patch("parserTable", "code", 2), Time(3)).unwrap();
        store.put_memory("v", "a", patch("of another folder: parser", "code", 1), Time(4)).unwrap();
        assert_eq!(store.put_memory("w", "d", MemoryPatch::default(), Time(5)), Ok(None));
        let off =
            MemoryPatch { active: Some(false), tags: Some(vec!["old".into()]), ..MemoryPatch::default() };
        store.put_memory("w", "c", off, Time(6)).unwrap();
        for _ in 0..2 {
            let mut ids = |query: MemoryQuery| -> Vec<String> {
                let page = bench.store().memories("w", &query).unwrap();
                page.memories.into_iter().map(|memory| memory.id).collect()
            };
            let words = |words: &str| MemoryQuery { words: Some(Words::of(words)), ..all() };
            assert_eq!(ids(all()), ["b", "c", "a"]);
            assert_eq!(ids(MemoryQuery { area: Some("code".into()), ..all() }), ["c", "a"]);
            assert_eq!(ids(MemoryQuery { active: Some(true), ..all() }), ["b", "a"]);
            assert_eq!(ids(words("PARSER")), ["c", "a"]);
            assert_eq!(ids(words("字")), ["a"]);
            assert_eq!(ids(words("old code")), ["c"]);
            assert_eq!(ids(MemoryQuery { active: Some(true), ..words("parser") }), ["a"]);
            for nothing in ["", "\" OR *", "another"] {
                assert_eq!(ids(words(nothing)), Vec::<String>::new(), "{nothing:?}");
            }
            let page = bench.store().memories("w", &MemoryQuery { limit: 2, ..all() }).unwrap();
            assert_eq!(page.next, Some(2));
            let rest = MemoryQuery { skip: 2, limit: 2, ..all() };
            assert_eq!(bench.store().memories("w", &rest).unwrap().next, None);
            bench.reopen();
        }
        let store = bench.store();
        assert_eq!((store.delete_memory("w", "a"), store.delete_memory("w", "a")), (Ok(true), Ok(false)));
        let words = MemoryQuery { words: Some(Words::of("parser")), ..all() };
        assert_eq!(store.memories("w", &words).unwrap().memories.len(), 1);
        assert_eq!(store.memories("v", &words).unwrap().memories.len(), 1);
        // Changed text is found by its new words alone.
        store.put_memory("w", "b", patch("Mondays", "team", 5), Time(9)).unwrap();
        let found = |store: &mut dyn crate::Store, text: &str| {
            let query = MemoryQuery { words: Some(Words::of(text)), ..all() };
            store.memories("w", &query).unwrap().memories.len()
        };
        assert_eq!((found(store, "fridays"), found(store, "mondays")), (0, 1));
    });
}
