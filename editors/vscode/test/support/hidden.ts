// Running a program where paths of this machine are not there: in a mount namespace of its own, with nothing laid over
// them. What is hidden from whom is for the tests.

import { spawnSync } from "node:child_process";
import { userInfo } from "node:os";

const UNSHARE = ["unshare", ...(userInfo().uid === 0 ? [] : ["--map-root-user"]), "--mount"];

/** `sh -c THIS sh FOLDER AS HIDDEN… -- PROGRAM…`: the folder is at another place too, before what has it is hidden. */
const HIDE = `set -eu
mount --bind "$1" "$2"
cd "$2"
shift 2
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mount -t tmpfs none "$1"; elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi
    shift
done
shift
exec "$@"`;

/** Why this machine cannot hide anything; undefined where it can. */
export function cannotHide(): string | undefined {
  const { status, error, stderr } = spawnSync(UNSHARE[0] ?? "", [...UNSHARE.slice(1), "mount", "-t", "tmpfs", "none", "/mnt"], {
    encoding: "utf8",
  });
  return status === 0 ? undefined : `no mount namespace can be made here: ${error?.message ?? stderr.trim()}`;
}

/** A command that runs another one, with its process id, where these paths are empty and `folder` is also at `as`. */
export function hiding(paths: string[], folder: string, as: string, command: string[]): string[] {
  return [...UNSHARE, "sh", "-c", HIDE, "sh", folder, as, ...paths, "--", ...command];
}
