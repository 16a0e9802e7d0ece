//! Requests to models as files, for inspection: `serve --dump-prompts`. The form is that of `replay`. The
//! server serves even if a file cannot be written.

use crate::replay::dump::{dump, dump_read};
use engine::id::SessionId;
use engine::prompt::Prompt;
use engine::prompt::request::Request;
use protocol::model::ModelPurpose;
use rpc::record::open_private;
use serde_json::Value;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Creates the folder of `--dump-prompts` and its parents, unless they exist.
///
/// # Errors
/// Fails if it cannot be created.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    // Other users must not read it.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file that only its user can read.
///
/// # Errors
/// Fails if it cannot be written.
pub fn write(file: &Path, text: &str) -> io::Result<()> {
    open_private(file)?.write_all(text.as_bytes())
}

/// Writes request dumps; nothing without a folder.
#[derive(Debug, Default)]
pub(super) struct Dump {
    folder: Option<PathBuf>,
    count: u64,
}

impl Dump {
    /// Dumps into this folder, which exists. Numbers go on from the highest one in it: a process that takes the place of
    /// another overwrites nothing.
    pub fn into_folder(folder: Option<PathBuf>) -> Self {
        let count = folder.as_deref().map_or(0, highest_number);
        Self { folder, count }
    }

    /// Dumps a request to a model.
    pub fn request(&mut self, session: &SessionId, purpose: ModelPurpose, request: &Request, tokens: u32) {
        let purpose = match purpose {
            ModelPurpose::Turn => "turn",
            ModelPurpose::Summary => "summary",
            ModelPurpose::Title => "title",
        };
        self.write(session, purpose, || dump_read(&request.items, &request.tools, tokens));
    }

    /// Dumps a prompt that the client sends by itself.
    pub fn prompt(&mut self, session: &SessionId, prompt: &Prompt) {
        self.write(session, "render", || dump(prompt));
    }

    fn write(&mut self, session: &SessionId, purpose: &str, value: impl FnOnce() -> Value) {
        let Some(folder) = &self.folder else { return };
        self.count += 1;
        // An id may contain characters that a file name may not.
        let session: String =
            session.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let file = folder.join(format!("{:05}-{session}-{purpose}.json", self.count));
        if let Err(error) = write(&file, &value().to_string()) {
            tracing::warn!(file = %file.display(), %error, "request dump not written; the request is not affected");
        }
    }
}

/// The highest number with which a file of this folder begins; 0 if there is none, or the folder cannot be read.
fn highest_number(folder: &Path) -> u64 {
    let files = folder.read_dir().into_iter().flatten().flatten();
    let number = |name: &str| name.split_once('-')?.0.parse().ok();
    files.filter_map(|file| number(file.file_name().to_str()?)).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn dumps_are_private_to_their_user() {
        use std::os::unix::fs::PermissionsExt;

        let above = std::env::temp_dir().join(format!("threadhold-dump-{}", std::process::id()));
        let folder = above.join("prompts");
        make_folder(&folder).unwrap();
        let mut dump = Dump::into_folder(Some(folder.clone()));
        dump.request(&SessionId::new("s"), ModelPurpose::Turn, &Request::default(), 1);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let modes = [&*above, &folder, &folder.join("00001-s-turn.json")].map(mode);
        // The next process goes on.
        let mut next = Dump::into_folder(Some(folder.clone()));
        next.request(&SessionId::new("s"), ModelPurpose::Turn, &Request::default(), 1);
        let is_next = folder.join("00002-s-turn.json").exists();
        std::fs::remove_dir_all(&above).unwrap();
        assert_eq!((modes, is_next), ([0o700, 0o700, 0o600], true));
    }
}
