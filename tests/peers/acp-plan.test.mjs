// The mode `plan` over ACP: a turn that ends with a plan asks whether to carry it out.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, faults, ground } from "./acp.mjs";

const PLAN = "So:\n\n1. Write b.txt\n2. Read it again";
const write = { call: { name: "write_file", arguments: { path: "b.txt", text: "x" } } };

/** A session in the mode `plan`, whose user chooses this option about a plan. */
async function planning(t, answers, choose) {
  const on = await ground(t, { answers });
  const editor = new Editor(t, on.args);
  await editor.initialize();
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
  await editor.call("session/set_mode", { sessionId, modeId: "plan" });
  editor.handlers["session/request_permission"] = ({ toolCall, options }) => {
    if (toolCall.kind !== "switch_mode") return { outcome: { outcome: "selected", optionId: "allowOnce" } };
    return choose(toolCall, options);
  };
  return { editor, sessionId, file: join(on.workspace, "b.txt") };
}

const selected = (optionId) => ({ outcome: { outcome: "selected", optionId } });
const modes = (editor, sessionId) =>
  editor
    .updates(sessionId)
    .filter(({ sessionUpdate }) => sessionUpdate === "current_mode_update")
    .map(({ currentModeId }) => currentModeId);
const questions = (editor) =>
  editor.log.filter(({ message }) => message.method === "session/request_permission").map(({ message }) => message.params.toolCall.kind);

test("an accepted plan is carried out within the same prompt", async (t) => {
  const shown = [];
  const choose = (toolCall, options) => {
    shown.push(
      toolCall,
      options.map(({ optionId, kind }) => [optionId, kind]),
    );
    return selected("acceptPlan");
  };
  const { editor, sessionId, file } = await planning(t, [{ say: PLAN }, write, { say: "Written." }], choose);
  const { stopReason } = await editor.prompt(sessionId, "Make b.txt.");
  assert.deepEqual([stopReason, readFileSync(file, "utf8")], ["end_turn", "x"]);
  const [row, options] = shown;
  assert.deepEqual([row.title, row.kind], ["Accept the plan and carry it out?", "switch_mode"]);
  assert.equal(row.content[0].content.text, PLAN);
  assert.deepEqual(options, [
    ["acceptPlan", "allow_once"],
    ["keepPlanning", "reject_once"],
  ]);
  assert.deepEqual(modes(editor, sessionId), ["plan", "agent"]);
  assert.deepEqual(questions(editor), ["switch_mode", "edit"]);
  assert.deepEqual(faults(editor.log), []);
});

test("a plan that is not accepted ends the prompt, and the mode stays", async (t) => {
  const answers = [{ say: PLAN }, { say: "No steps." }, { say: PLAN }];
  const choices = [selected("keepPlanning"), { outcome: { outcome: "cancelled" } }];
  const { editor, sessionId, file } = await planning(t, answers, () => choices.shift());
  assert.equal((await editor.prompt(sessionId, "Make b.txt.")).stopReason, "end_turn");
  assert.equal((await editor.prompt(sessionId, "Why?")).stopReason, "end_turn");
  assert.equal((await editor.prompt(sessionId, "Again.")).stopReason, "cancelled");
  assert.deepEqual([questions(editor), modes(editor, sessionId), existsSync(file)], [["switch_mode", "switch_mode"], ["plan"], false]);
  assert.deepEqual(faults(editor.log), []);
});

test("a prompt that is cancelled while its plan is asked about ends", async (t) => {
  const { editor, sessionId } = await planning(t, [{ say: PLAN }], () => undefined);
  const prompt = editor.prompt(sessionId, "Make b.txt.");
  const { id } = await editor.until(({ method }) => method === "session/request_permission");
  editor.send({ method: "session/cancel", params: { sessionId } });
  assert.equal((await prompt).stopReason, "cancelled");
  await editor.until(({ method, params }) => method === "$/cancel_request" && params.requestId === id);
  assert.deepEqual(faults(editor.log), []);
});
