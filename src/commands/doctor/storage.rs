//! `threadhold doctor --storage`: reports faults of the database in a storage folder, and repairs them. The
//! store does the checks.

use crate::commands::files::print;
use crate::commands::{Failure, SUCCESS, UNFIT};
use std::fmt::Write;
use std::path::Path;
use store::place::Options;
use store::sqlite::check::{self, Checked};

/// Returns [`UNFIT`] if faults remain at the end.
pub(super) fn run(folder: &Path, repair: bool) -> Result<u8, Failure> {
    let options = Options::in_folder(folder);
    let found = check::check(&options)?;
    let mut report = told(&found);
    let can_be_repaired = found.faults.iter().any(|damage| damage.repair.is_some());
    let left = match repair && can_be_repaired {
        true => {
            // The findings are printed even if the repair fails.
            print(&std::mem::take(&mut report))?;
            let (left, copy) = check::repair(&options)?;
            let _ = writeln!(report, "copy     {}, made before the repair", copy.display());
            for damage in &left.faults {
                let _ = writeln!(report, "left     {}", damage.what);
            }
            left
        }
        false => found,
    };
    let is_repairable = left.faults.iter().any(|damage| damage.repair.is_some());
    report += match left.faults.is_empty() {
        true if repair && can_be_repaired => "ok       everything was repaired\n",
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
    Ok(if left.faults.is_empty() { SUCCESS } else { UNFIT })
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
            "schema   {}\nholds    {} sessions, {} messages",
            checked.schema, checked.sessions, checked.messages
        ),
    };
    for damage in &checked.faults {
        let _ = writeln!(report, "wrong    {}", damage.what);
        if let Some(repair) = damage.repair {
            let _ = writeln!(report, "repair   {}", repair.name());
        }
    }
    report
}
