// A process that starts a sidecar, says its number, and waits to be killed.

import { Client, sidecar } from "../../src/node.js";

const client = await Client.start({
  launch: sidecar({ command: process.argv[2] ?? "threadhold" }),
  client: { name: "parent" },
  storage: { backend: "memory" },
});
await client.openSession({ workspaceFolder: "/code" });
console.log(client.status.state === "running" ? client.status.pid : client.status.state);
setInterval(() => {}, 1000);
