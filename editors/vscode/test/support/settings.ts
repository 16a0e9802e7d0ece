// Settings that the end-to-end tests share: the sidecar under test, and the scripted model of the editor.

export const SCRIPTED = {
  "threadhold.binary": process.env["THREADHOLD_BIN"],
  "threadhold.model": "probe/scripted",
  "threadhold.approve.editor": "allow",
  // As the user ticks it; of the editor's own tools none is offered by itself.
  "threadhold.tools.editor": ["probe_read"],
  // Its definition takes the room that tests with small windows have measured out.
  "threadhold.tools.todo": false,
};

export const PACKAGES = ["dist/threadhold.vsix", "test/extension/dist/probe.vsix"];
