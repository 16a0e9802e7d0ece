// Settings that the end-to-end tests share: the sidecar under test, and the scripted model of the editor.

export const SCRIPTED = {
  "threadhold.binary": process.env["THREADHOLD_BIN"],
  "threadhold.model": "probe/scripted",
  "threadhold.approve.editor": "allow",
  // The editor's own tools would fill half of the small windows here.
  "threadhold.tools.exclude": [
    ...["copilot_*", "vscode_*", "run_in_terminal", "run_task", "run_vscode*", "runTests"],
    ...["get_*", "create_*", "manage_*", "terminal_*", "*Subagent"],
  ],
};

export const PACKAGES = ["dist/threadhold.vsix", "test/extension/dist/probe.vsix"];
