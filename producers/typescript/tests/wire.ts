/** A wire between the client and a gateway, which a test can cut or hold. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** It takes connections on a port of its own, and hands bytes on as fast as both ends read. */
export class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Bytes that came from the gateway. */
  received = 0;
  connections = 0;
  /** The beginning of each piece that came from the client. */
  readonly asked: string[] = [];

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      this.connections += 1;
      const far = connect(Number(target.port), target.hostname);
      for (const [from, to] of [[near, far], [far, near]] as const) {
        this.#sockets.add(from);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
      far.on("data", (bytes: Buffer) => {
        this.received += bytes.length;
        if (!near.write(bytes)) far.pause();
      });
      near.on("drain", () => far.resume());
      near.on("data", (bytes: Buffer) => this.asked.push(bytes.toString("latin1", 0, 200)));
      near.pipe(far);
    });
  }

  static async to(url: string): Promise<Wire> {
    const wire = new Wire(new URL(url));
    wire.#server.listen(0, "127.0.0.1");
    await once(wire.#server, "listening");
    return wire;
  }

  /** Ends of connections that are open. */
  get open(): number {
    return this.#sockets.size;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Break every connection; new ones are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Say nothing more on the connections that there are; new ones are taken. */
  hold(): void {
    for (const socket of this.#sockets) socket.removeAllListeners("data").pause();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }
}
