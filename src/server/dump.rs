//! Requests as files, for people who want to see what a model reads: `serve --dump-prompts`. The form is the one of
//! `replay`. A file that cannot be written is no reason not to serve.

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

/// Makes the folder of `--dump-prompts`, with those above it, where there is none.
///
/// # Errors
/// It cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    // Nobody else on this machine is meant to look into it.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes such a file.
///
/// # Errors
/// It cannot be written.
pub fn write(file: &Path, text: &str) -> io::Result<()> {
    open_private(file)?.write_all(text.as_bytes())
}

/// Where requests are written; nowhere unless somebody wants it.
#[derive(Debug, Default)]
pub(super) struct Dump {
    folder: Option<PathBuf>,
    count: u64,
}

impl Dump {
    /// Requests are written into this folder, which is there.
    pub fn into_folder(folder: Option<PathBuf>) -> Self {
        Self { folder, count: 0 }
    }

    /// A request to a model of the client's.
    pub fn request(&mut self, session: &SessionId, purpose: ModelPurpose, request: &Request, tokens: u32) {
        let purpose = match purpose {
            ModelPurpose::Turn => "turn",
            ModelPurpose::Summary => "summary",
            ModelPurpose::Title => "title",
        };
        self.write(session, purpose, || dump_read(&request.items, &request.tools, tokens));
    }

    /// A prompt that the client sends by itself.
    pub fn prompt(&mut self, session: &SessionId, prompt: &Prompt) {
        self.write(session, "render", || dump(prompt));
    }

    fn write(&mut self, session: &SessionId, purpose: &str, value: impl FnOnce() -> Value) {
        let Some(folder) = &self.folder else { return };
        self.count += 1;
        // An id may hold what a file's name may not.
        let session: String =
            session.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let file = folder.join(format!("{:05}-{session}-{purpose}.json", self.count));
        if let Err(error) = write(&file, &value().to_string()) {
            tracing::warn!(file = %file.display(), %error, "a request could not be written down");
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_was_said_is_written_for_its_user_alone() {
        use std::os::unix::fs::PermissionsExt;

        let above = std::env::temp_dir().join(format!("threadhold-dump-{}", std::process::id()));
        let folder = above.join("prompts");
        make_folder(&folder).unwrap();
        let mut dump = Dump::into_folder(Some(folder.clone()));
        dump.request(&SessionId::new("s"), ModelPurpose::Turn, &Request::default(), 1);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let modes = [&*above, &folder, &folder.join("00001-s-turn.json")].map(mode);
        std::fs::remove_dir_all(&above).unwrap();
        assert_eq!(modes, [0o700, 0o700, 0o600]);
    }
}
