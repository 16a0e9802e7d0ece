// Everything of this library that needs no Node: what a webview, an editor's extension or another host may use. What
// starts a process is in `node.ts`, which gives all of this too.

export * from "./chat-context.js";
export * from "./client.js";
export type { Answer, LogMessage, Progress, Streams, Told, WorkspaceFolder } from "./connection.js";
export type { Disposable } from "./emitter.js";
export * from "./errors.js";
export { fold, UnknownCall } from "./fold.js";
export { argumentsOf, type Handlers, ModelStream } from "./handlers.js";
export * from "./language-model.js";
export type { Launch, Launched } from "./launch.js";
export { joinedMetadata } from "./metadata.js";
export * from "./protocol.js";
export { type Ask, type AskOptions, type Freshness, Session, type SessionMethod, type WithoutSession } from "./session.js";
export type { ClientStatus, RestartOptions } from "./supervisor.js";
export * from "./view.js";
