// Frames of a connection, inspected and held back by a test.

import type { Launch } from "../../src/node.js";

/** A message as it travels. */
export interface Frame {
  id?: number | string;
  method?: string;
  params?: { [key: string]: unknown };
  result?: { [key: string]: unknown };
}

/** Starts a process and drops what it says where `isDropped`. `sent` gets what is said to it. */
export function listeningIn(launch: Launch, isDropped: (frame: Frame) => boolean, sent: Frame[] = []): Launch {
  return async (onLine) => {
    const launched = await launch(onLine);
    const { reader, writer } = launched;
    const [listen, write] = [reader.listen.bind(reader), writer.write.bind(writer)];
    reader.listen = (callback) => listen((message) => void (isDropped(message as Frame) || callback(message)));
    writer.write = (message) => {
      sent.push(message as Frame);
      return write(message);
    };
    return launched;
  };
}
