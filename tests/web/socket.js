/* socket.js - a client on a socket that the test holds, and time that passes when the test says so */
import { Client } from '../../api/web/client/recond.js';

export class Socket extends EventTarget {
  static all = [];
  static OPEN = 1;
  constructor(url, protocols) {
    super();
    Object.assign(this, { url, protocols, readyState: 0, sent: [], bufferedAmount: 0 });
    Socket.all.push(this);
  }

  send(data) { this.sent.push(typeof data === 'string' ? JSON.parse(data) : data); }
  close() { this.readyState = 3; }
  open() {
    this.readyState = 1;
    this.onopen();
  }

  tell(message) { this.onmessage({ data: typeof message === 'object' && !(message instanceof ArrayBuffer) ? JSON.stringify(message) : message }); }
  end(code = 1006) {
    this.readyState = 3;
    this.onclose({ code });
  }

  said(op) { return this.sent.filter(m => m.op === op); }
  get seqs() { return this.sent.filter(m => m instanceof ArrayBuffer).map(m => Number(new DataView(m).getBigUint64(8, true))); }
}

export const READY = { op: 'ready', session: 's', epoch: 1, revision: 0, limits: { window: 2 }, net: [0, 0], features: [] };
export const frame = () => ({ jpeg: new Uint8Array([0xff, 0xd8, 0xff, 0xd9]), width: 640, height: 480, tNs: 1n });

/** A started client on a Socket, within a page whose WebSocket is that. */
export async function withClient(options, test) {
  const real = globalThis.WebSocket;
  globalThis.WebSocket = Socket;
  Socket.all = [];
  const client = new Client({ url: 'ws://a/v1/sessions/s/stream', role: 'ingest', ...options });
  try {
    await client.start();
    await test(client, () => Socket.all.at(-1));
  } finally {
    client.stop();
    globalThis.WebSocket = real;
  }
}

export const again = async client => {
  clearTimeout(client.timer);
  client.connect();
};

/** Runs a test whose timers, and whose performance.now(), go on by pass(ms) alone. */
export async function withTime(test) {
  const names = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'], real = Object.fromEntries(names.map(n => [n, globalThis[n]]));
  const timers = new Map(), { random } = Math, clock = performance.now;
  let now = 1000, number = 0;
  const add = (call, ms, every) => timers.set(++number, { call, at: now + Math.max(0, ms ?? 0), every }) && number;
  Object.assign(globalThis, {
    setTimeout: (call, ms) => add(call, ms, 0), setInterval: (call, ms) => add(call, ms, Math.max(1, ms)),
    clearTimeout: n => timers.delete(n), clearInterval: n => timers.delete(n),
  });
  performance.now = () => now;
  Math.random = () => 0;
  const pass = ms => {
    for (const end = now + ms; ;) {
      const [n, timer] = [...timers].filter(([, t]) => t.at <= end).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0] ?? [];
      if (!timer) {
        now = end;
        return;
      }
      now = Math.max(now, timer.at);
      if (timer.every) timer.at += timer.every;
      else timers.delete(n);
      timer.call();
    }
  };
  try {
    await test(pass, () => now);
  } finally {
    Object.assign(globalThis, real);
    performance.now = clock;
    Math.random = random;
  }
}
