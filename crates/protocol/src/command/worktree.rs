//! Snapshots of a folder's files, and what changed between two of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `worktree/snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeSnapshotParams {
    /// Folder whose files are stored, without those that git ignores.
    pub workspace_folder: String,
}

/// Result of `worktree/snapshot`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeSnapshotResult {
    /// Name of the snapshot. It is known until the sidecar ends, or until 64 newer ones of the folder were taken. Absent
    /// if none can be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// Reason why none can be taken, as a phrase for the user: git is missing, the folder is a home folder or too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Parameters of `worktree/changes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChangesParams {
    /// Folder of the snapshots.
    pub workspace_folder: String,
    /// The earlier snapshot.
    pub from: String,
    /// The later snapshot.
    pub to: String,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Result of `worktree/changes`: up to 1,000 changes, or about 8 MB of earlier contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChangesResult {
    /// Changes in the order of their paths.
    pub changes: Vec<WorktreeChange>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChange {
    /// Path from the folder on, with slashes.
    pub path: String,
    /// Whether the file was there before and after.
    pub kind: WorktreeChangeKind,
    /// The contents before, in base64. Absent if nothing was there, if it was a link or larger than 5 MB, and if the
    /// user's repository no longer has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// `true` if the file before may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// SHA-256 of the contents after, in hexadecimal. Absent if nothing is there, if it is a link or larger than 5 MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Whether a file was there before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorktreeChangeKind {
    /// It is new.
    Created,
    /// It was there and is there.
    Modified,
    /// It is gone.
    Deleted,
}
