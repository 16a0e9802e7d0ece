//! Concurrent writes of ours and of others: none is lost.

use super::*;
use std::cell::RefCell;
use std::io::{Seek, Write};
use std::rc::Rc;
use uuid::Uuid;

/// Reported sessions, each with the title in its file.
type Told = Rc<RefCell<Vec<(String, Option<String>)>>>;

struct Workspace {
    workspace: PathBuf,
    folder: Folder,
    told: Told,
}

impl Workspace {
    fn new() -> Self {
        let workspace = std::env::temp_dir().join(format!("trajectories-{}", Uuid::now_v7()));
        let folder = Folder::of(workspace.to_str().unwrap()).unwrap();
        Self { workspace, folder, told: Told::default() }
    }

    /// The worker's state after a first write, without a watcher.
    fn files(&self) -> Files<impl Fn(Done)> {
        let told = self.told.clone();
        let tell = move |done| {
            if let Done::News(News { id, found: Some(Found { trajectory: Ok(trajectory), .. }), .. }) = done {
                told.borrow_mut().push((id, trajectory.title));
            }
        };
        let mut files = Files {
            watcher: None,
            followed: BTreeSet::new(),
            seen: BTreeMap::new(),
            ours: BTreeMap::new(),
            replaced: BTreeMap::new(),
            tell,
        };
        files.write(&self.folder, &content("first"));
        files
    }

    fn file(&self) -> PathBuf {
        self.folder.file("s").unwrap()
    }

    /// The title in the file.
    fn title(&self) -> Option<String> {
        self.folder.read("s").unwrap().unwrap().trajectory("s").unwrap().title
    }

    /// The state after a second write, and the replaced file, open for writing.
    fn replaced(&self) -> (Files<impl Fn(Done)>, fs::File) {
        let mut files = self.files();
        let old = fs::OpenOptions::new().write(true).open(self.file()).unwrap();
        files.write(&self.folder, &content("second"));
        (files, old)
    }

    fn told(&self) -> Vec<(String, Option<String>)> {
        self.told.take()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.workspace));
    }
}

fn content(title: &str) -> Content {
    let at = "2026-01-01T00:00:00Z".to_owned();
    Content {
        id: "s".to_owned(),
        title: Some(title.to_owned()),
        created_at: at.clone(),
        updated_at: at,
        messages: Vec::new(),
        summaries: Vec::new(),
    }
}

const THEIRS: &str = r#"{"id":"s","title":"theirs","messages":[]}"#;

fn theirs() -> Vec<(String, Option<String>)> {
    vec![("s".to_owned(), Some("theirs".to_owned()))]
}

fn overwrite(mut file: &fs::File, text: &str) {
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes())).unwrap();
}

#[test]
fn a_change_during_our_own_write_is_not_written_over() {
    let ground = Workspace::new();
    let mut files = ground.files();
    let prepared = files.prepare(&ground.folder, &content("second")).unwrap();
    fs::write(ground.file(), THEIRS).unwrap();
    assert_eq!(files.put(&ground.folder, "s", prepared), Err(Refused::Changed));
    assert_eq!(ground.title(), Some("theirs".to_owned()));
    // The staged file is removed.
    assert_eq!(fs::read_dir(ground.folder.path()).unwrap().count(), 1);
    files.write(&ground.folder, &content("second"));
    assert_eq!((ground.told(), ground.title()), (theirs(), Some("theirs".to_owned())));
}

#[test]
fn file_created_during_our_first_write_is_kept() {
    let ground = Workspace::new();
    let mut files = ground.files();
    fs::remove_file(ground.file()).unwrap();
    let prepared = files.prepare(&ground.folder, &content("second")).unwrap();
    fs::write(ground.file(), THEIRS).unwrap();
    assert_eq!(files.put(&ground.folder, "s", prepared), Err(Refused::Changed));
    assert_eq!(ground.title(), Some("theirs".to_owned()));
}

#[test]
fn write_into_the_replaced_file_is_restored_and_reported() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    assert_eq!(ground.title(), Some("second".to_owned()));
    overwrite(&old, THEIRS);
    files.look_at(&ground.folder, "s", false);
    assert_eq!((ground.told(), ground.title()), (theirs(), Some("theirs".to_owned())));
    // Neither that again nor our own writes are reported.
    files.look_at(&ground.folder, "s", false);
    assert_eq!(ground.told(), []);
}

#[test]
fn half_written_replaced_file_is_put_back_once_whole() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    for half in ["", r#"{"id":"s","ti"#] {
        overwrite(&old, half);
        files.look_at(&ground.folder, "s", false);
        assert_eq!((ground.told(), ground.title()), (vec![], Some("second".to_owned())));
    }
    overwrite(&old, THEIRS);
    files.look_at(&ground.folder, "s", false);
    assert_eq!((ground.told(), ground.title()), (theirs(), Some("theirs".to_owned())));
    assert!(files.replaced.is_empty());
}

#[test]
fn replaced_file_that_stays_unreadable_is_let_go() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    overwrite(&old, "");
    for _ in 0..100 {
        files.look_at(&ground.folder, "s", false);
    }
    assert!(files.replaced.is_empty());
}

#[test]
fn replaced_file_is_not_put_over_a_newer_version() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    let beside = ground.workspace.join("beside.json");
    fs::write(&beside, THEIRS.replace("theirs", "newer")).unwrap();
    fs::rename(&beside, ground.file()).unwrap();
    overwrite(&old, THEIRS);
    files.look_at(&ground.folder, "s", false);
    let newer = Some("newer".to_owned());
    assert_eq!((ground.told(), ground.title()), (vec![("s".to_owned(), newer.clone())], newer));
}

#[test]
fn write_into_a_file_replaced_twice_is_put_back() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    files.write(&ground.folder, &content("third"));
    overwrite(&old, THEIRS);
    files.look_at(&ground.folder, "s", false);
    assert_eq!((ground.told(), ground.title()), (theirs(), Some("theirs".to_owned())));
}

#[test]
fn write_into_the_replaced_file_stops_our_next_write() {
    let ground = Workspace::new();
    let (mut files, old) = ground.replaced();
    overwrite(&old, THEIRS);
    files.write(&ground.folder, &content("third"));
    assert_eq!((ground.told(), ground.title()), (theirs(), Some("theirs".to_owned())));
}

#[test]
fn unreported_change_is_found_by_a_check() {
    let ground = Workspace::new();
    let mut files = ground.files();
    files.look_at(&ground.folder, "s", false);
    assert_eq!(ground.told(), []);
    // Same size and time as ours: only the inode differs.
    let (ours, about) = (fs::read(ground.file()).unwrap(), fs::metadata(ground.file()).unwrap());
    let text = String::from_utf8(ours).unwrap().replace("first", "other");
    let beside = ground.workspace.join("beside.json");
    fs::write(&beside, text).unwrap();
    let beside_file = fs::File::options().write(true).open(&beside).unwrap();
    beside_file.set_modified(about.modified().unwrap()).unwrap();
    fs::rename(&beside, ground.file()).unwrap();
    files.look_at(&ground.folder, "s", false);
    assert_eq!(ground.told(), [("s".to_owned(), Some("other".to_owned()))]);
}
