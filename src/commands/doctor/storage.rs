//! `threadhold doctor --storage`: reports faults of the database in a storage folder and of the files that its
//! sessions have in their workspaces, and repairs them. The store and the module of these files do the checks.

use crate::commands::files::print;
use crate::commands::{BAD, Failure, SUCCESS, UNFIT};
use crate::trajectory::check as trajectories;
use crate::trajectory::{FileError, Folder};
use engine::id::SessionId;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use store::place::Options;
use store::sqlite::check::{self, Checked, Dropped};

/// Returns [`UNFIT`] if faults remain at the end.
pub(super) fn run(folder: &Path, repair: bool) -> Result<u8, Failure> {
    let options = Options::in_folder(folder);
    let found = check::check(&options)?;
    let folders: Vec<Folder> = found.workspaces.iter().filter_map(|path| Folder::of(path)).collect();
    let files = SessionFiles::check(&folders);
    let mut report = told(&found) + &files.told();
    let is_repairable = found.faults.iter().any(|damage| damage.repair.is_some());
    let repairs = repair && (is_repairable || files.is_repairable());
    let (left, left_files) = match repairs {
        true => {
            // The findings are printed even if the repair fails.
            print(&std::mem::take(&mut report))?;
            let left = if is_repairable {
                let (left, copy) = check::repair(&options)?;
                copied(&mut report, &copy);
                left
            } else {
                // A sidecar would write its sessions' files meanwhile.
                check::is_unused(&options)?;
                found
            };
            let left_files = files.repair(&mut report);
            for what in left.faults.iter().map(|damage| damage.what.clone()).chain(left_files.what()) {
                let _ = writeln!(report, "left     {what}");
            }
            (left, left_files)
        }
        false => (found, files),
    };
    let is_repairable =
        left.faults.iter().any(|damage| damage.repair.is_some()) || left_files.is_repairable();
    let is_whole = left.faults.is_empty() && left_files.what().next().is_none();
    report += match is_whole {
        true if repairs => "ok       everything was repaired\n",
        true => "ok       no problems found\n",
        false if is_repairable && !repair => {
            "advice   Close every program that uses the folder, then run again with --repair. A copy is made first.\n"
        }
        false => {
            "advice   Unreadable rows are skipped when their session is opened; the rest loads. Export what matters, or restore a \
             copy of the file.\n"
        }
    };
    print(&report)?;
    Ok(if is_whole { SUCCESS } else { UNFIT })
}

fn copied(report: &mut String, copy: &Path) {
    let _ = writeln!(report, "copy     {}, made before the repair", copy.display());
}

fn told(checked: &Checked) -> String {
    let mut report = format!("file     {}\n", checked.path.display());
    let _ = match checked.is_older {
        true => writeln!(
            report,
            "schema   {}, upgraded on the next start; only the pages of the file were checked",
            checked.schema
        ),
        false => writeln!(
            report,
            "schema   {}\nholds    {} sessions, {} messages; {} revisions of sessions",
            checked.schema, checked.sessions, checked.messages, checked.revisions
        ),
    };
    for damage in &checked.faults {
        let _ = writeln!(report, "wrong    {}", damage.what);
        if let Some(repair) = damage.repair {
            let _ = writeln!(report, "repair   {}", repair.name());
        }
    }
    let damaged: BTreeSet<&SessionId> =
        checked.faults.iter().filter_map(|damage| damage.session.as_ref()).collect();
    for session in damaged {
        let _ = writeln!(report, "drop     --drop {session} deletes it with all that is left of it");
    }
    report
}

/// Deletes a damaged session or revision. Returns [`UNFIT`] if faults remain.
pub(super) fn drop_session(folder: &Path, session: &str) -> Result<u8, Failure> {
    let options = Options::in_folder(folder);
    let (left, copy) = match check::drop_session(&options, &SessionId::new(session))? {
        Dropped::Done(left, copy) => (left, copy),
        Dropped::NotDamaged => {
            print(&format!(
                "wrong    no damaged session {session:?}; nothing was deleted; run without --drop to see the damage\n"
            ))?;
            return Ok(BAD);
        }
    };
    let mut report = String::new();
    copied(&mut report, &copy);
    let _ = writeln!(report, "dropped  {session}");
    for damage in &left.faults {
        let _ = writeln!(report, "left     {}", damage.what);
    }
    if left.faults.is_empty() {
        report += "ok       no problems found\n";
    }
    print(&report)?;
    Ok(if left.faults.is_empty() { SUCCESS } else { UNFIT })
}

/// The sessions' own files, by workspace.
struct SessionFiles(Vec<(Folder, trajectories::Checked)>);

impl SessionFiles {
    fn check(folders: &[Folder]) -> Self {
        Self(folders.iter().map(|folder| (folder.clone(), trajectories::check(folder))).collect())
    }

    fn is_repairable(&self) -> bool {
        self.0.iter().flat_map(|(_, checked)| &checked.faults).any(|fault| fault.id.is_some())
    }

    /// The faults, each with its file.
    fn what(&self) -> impl Iterator<Item = String> {
        let faults = self.0.iter().flat_map(|(_, checked)| &checked.faults);
        faults.map(|fault| format!("{}: {}", fault.path.display(), fault.what))
    }

    fn told(&self) -> String {
        let mut report = String::new();
        for (folder, checked) in self.0.iter().filter(|(_, checked)| checked.files > 0) {
            let _ = writeln!(report, "files    {} in {}", checked.files, folder.path().display());
        }
        let faults = self.0.iter().flat_map(|(_, checked)| &checked.faults);
        for (what, fault) in self.what().zip(faults) {
            let _ = writeln!(report, "wrong    {what}");
            if let Some(id) = &fault.id {
                let _ = writeln!(report, "repair   set the id in the file to {id:?}");
            }
        }
        report
    }

    /// Repairs the files, and checks them again.
    fn repair(&self, report: &mut String) -> Self {
        for (folder, checked) in &self.0 {
            for id in checked.faults.iter().filter_map(|fault| fault.id.as_deref()) {
                match trajectories::set_id(folder, id) {
                    Ok(copy) => copied(report, &copy),
                    Err(FileError::OtherId { .. }) => {}
                    Err(error) => drop(writeln!(report, "failed   {error}")),
                }
            }
        }
        Self(self.0.iter().map(|(folder, _)| (folder.clone(), trajectories::check(folder))).collect())
    }
}
