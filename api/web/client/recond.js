/* recond.js - a session's stream: frames go in, the cloud comes out, whatever the network does
 *
 *   const client = new Client({ url: session.stream_url, token, role: 'ingest', mirror });
 *   client.on('ack', m => ...);
 *   await client.start();
 *   client.feed({ jpeg, width, height, tNs: client.now(), intrinsics: [fx, fy, cx, cy] });
 *
 * It keeps what was not answered, comes back by itself and resumes, follows window, rate and `later`, and says when it is over.
 * README.md beside this file is its page; types are in recond.d.ts. */
import { bearer, encodeFrame, isBlock, isResult } from './wire.js';
import { readHeader, PUT, DELETE, CLEAR } from './mirror.js';
import { RecondError, StoreFull, StreamError, Unreachable } from './errors.js';

export { Rest } from './rest.js';
export { Mirror, readHeader, readPlanes } from './mirror.js';
export { Store } from './store.js';
export { LocalMirror } from './local-mirror.js';
export * from './errors.js';
export * from './wire.js';

const SILENCE_MS = 3000, DEAD_MS = 8000;    /* a ping goes out; what says nothing then, and takes nothing, is left */
const RETRY_MS = 100, RETRY_MAX_MS = 5000;
const FINAL_CODES = new Set([1002, 1007, 1009]);

export class Client {
  /** @param {import('./recond.js').ClientOptions} options */
  constructor(options) {
    this.options = { role: 'view', pose: 'opengl', codecs: ['deflate-raw', 'raw'], features: [], maxWaiting: 64, ...options };
    this.role = this.options.role;
    this.mirror = options.mirror ?? null;
    this.store = options.store ?? null;
    this.state = 'new';
    this.why = null;
    this.retryMs = 0;
    this.rate = null;                        /* frames a second that are of use, and JPEG quality, as the server says */
    this.jpeg = null;
    this.ready = null;                       /* the last `ready` */
    this.resume = null;                      /* { epoch, revision, block } that the mirror has reached: of a sync, or of a block on the way to it */
    this.offsetUs = null;                    /* server's clock less ours */
    this.sentBytes = 0;
    this.receivedBytes = 0;
    this.blocks = 0;                         /* block messages that came */
    this.waiting = new Map();                /* messages of frames without an answer, by seq, in their order */
    this.seq = 0;
    this.cameras = new Map();
    this.handlers = new Map();
    this.ws = null;
    this.ending = null;                      /* 'asked' | 'sent' | 'done' */
    this.resetConnection();
  }

  resetConnection() {
    this.sent = new Set();                   /* of `waiting`, those that went out on this connection */
    this.window = 0;
    this.later = null;                       /* { seq, ms }: nothing goes out before the others are answered and ms are over */
    this.heard = performance.now();
    this.pinged = null;
    this.lastError = null;
    this.farewell = undefined;               /* undefined: none; null: final; a number: come back after it */
    this.malformed = 0;
  }

  // ------------------------------------------------------------------------- what the page calls

  /** Listen: state ready ack poses sync ended closed error bye result clock pace. Returns a function that stops it. */
  on(name, handler) {
    const list = this.handlers.get(name) ?? this.handlers.set(name, new Set()).get(name);
    list.add(handler);
    return () => list.delete(handler);
  }

  tell(name, value) {
    for (const handler of this.handlers.get(name) ?? []) handler(value);
  }

  /** Nanoseconds of a clock that does not jump, for `tNs`; it goes on over reloads as far as the machine's clock does. */
  now() {
    return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
  }

  /** Take up what the store has kept, and connect. */
  async start() {
    if (this.state !== 'new') return;
    this.become('connecting');
    for (const [seq, message] of this.store ? await this.store.open() : []) {
      this.waiting.set(seq, message);
      this.seq = Math.max(this.seq, seq);
    }
    this.mirror?.begin?.(this);
    this.watch = setInterval(() => this.look(), 1000);
    this.online = () => this.state === 'waiting' && this.connect();
    globalThis.addEventListener?.('online', this.online);
    this.connect();
  }

  /** Leave for good. Frames without an answer stay in the store. */
  stop() {
    this.finish(null);
  }

  /** Declare a camera that parts of frames name (PROTOCOL.md, "Control messages"); it is told again on each connection. */
  declareCamera(camera) {
    this.cameras.set(camera.id, camera);
    if (this.ready && this.state === 'open') this.say({ op: 'camera', ...camera });
  }

  /**
   * Send a frame; it is kept until it has its answer.
   * @returns {number} its seq
   * @throws {StoreFull} where nothing more can be kept
   */
  feed(frame) {
    if (this.role !== 'ingest') throw new RecondError('a viewer feeds nothing');
    if (this.ending) throw new RecondError('no frame comes behind the end');
    const seq = this.seq + 1, message = encodeFrame({ ...frame, seq });
    if (this.waiting.size >= (this.store?.maxFrames ?? this.options.maxWaiting) || this.store && !this.store.fits(message.byteLength))
      throw new StoreFull(`${this.waiting.size} frames wait for the server, and there is no room for more`);
    this.seq = seq;
    this.waiting.set(seq, message);
    this.store?.put(seq, message).catch(why => this.tell('error', why));
    this.pump();
    return seq;
  }

  /** How many frames wait for their answer. */
  get backlog() { return this.waiting.size; }

  /** Is there room on the way for a frame right now? A camera that cannot wait asks this before it encodes. */
  get roomy() {
    return this.state === 'open' && this.window > 0 && !this.later && this.waiting.size < this.window;
  }

  /** No more frames come: `ended` follows when all are answered. */
  end() {
    this.ending ??= 'asked';
    this.pump();
  }

  /** The mirror has reached a sync, and its hash is the server's. */
  held({ epoch, revision }) {
    this.resume = { epoch, revision };
  }

  /** A block that did not change since `ready`: the server has sent all that come before it (PROTOCOL.md, "Resume"). */
  reached(data) {
    if (this.state !== 'open' || !this.ready.features?.includes('order')) return;
    let head = null;
    try {
      head = readHeader(new Uint8Array(data));
    } catch {
      return;                                 /* the mirror says what is wrong with it */
    }
    if (head?.op === CLEAR) this.resume = null;
    else if (head?.op >= PUT && head.op <= DELETE && head.revision <= this.ready.revision)
      this.resume = { epoch: head.epoch, revision: head.revision, block: [head.submap, head.x, head.y, head.z] };
  }

  /** What came does not fit: begin anew, without resume. */
  broken(why) {
    this.resume = null;
    this.tell('error', new StreamError(String(why), { type: 'broken', final: false }));
    this.drop(RETRY_MS);
  }

  // ------------------------------------------------------------------------- connections

  become(state, why = null) {
    this.state = state;
    this.why = why;
    this.tell('state', { state, why, retryMs: this.retryMs });
  }

  connect() {
    clearTimeout(this.timer);
    if (this.state === 'over') return;
    this.endsAgain();
    this.resetConnection();
    this.become('connecting', this.why);
    const protocols = ['recon.v1', ...this.options.token ? [bearer(this.options.token)] : []];
    const ws = this.ws = new WebSocket(this.options.url, protocols);
    ws.binaryType = 'arraybuffer';
    ws.onopen = () => this.opened();
    ws.onmessage = event => this.message(event.data);
    ws.onclose = event => this.closed(event.code);
  }

  /** A client that has said `end` and has all answers comes back as a viewer: as a feeder it would drive away the one that feeds now. */
  endsAgain() {
    if (this.ending !== 'sent') return;
    if (this.waiting.size) this.ending = 'asked';
    else this.role = 'view';
  }

  opened() {
    const { codecs, pose, features, depth, source } = this.options;
    const resume = this.mirror && this.resume;
    if (!resume) this.mirror?.reset?.();
    this.say({
      op: 'start', role: this.role, codecs, pose,
      ...source && this.role === 'ingest' && { source }, ...features.length && { features },
      ...depth && { depth }, ...resume && { resume },
    });
    for (const camera of this.cameras.values()) this.say({ op: 'camera', ...camera });
  }

  say(message) {
    if (this.ws?.readyState !== WebSocket.OPEN) return;
    const text = JSON.stringify(message);
    this.sentBytes += text.length;
    this.ws.send(text);
  }

  /** Take the socket away: what it still says is of no interest. */
  detach() {
    const ws = this.ws;
    this.ws = null;
    if (!ws) return;
    ws.onopen = ws.onmessage = ws.onclose = null;
    ws.close();
  }

  drop(retryMs) {
    this.detach();
    this.again(retryMs);
  }

  finish(why) {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    globalThis.removeEventListener?.('online', this.online);
    this.detach();
    this.store?.close();
    if (this.state !== 'over') this.become('over', why);
  }

  again(retryMs) {
    this.failures = (this.failures ?? 0) + 1;
    const pause = Math.min(RETRY_MS * 2 ** (this.failures - 1), RETRY_MAX_MS) * (1 - Math.random() / 2);
    this.retryMs = Math.round(retryMs ?? pause);
    this.window = 0;
    this.become('waiting', this.why);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), this.retryMs);
  }

  async closed(code) {
    const wasReady = this.state === 'open';
    this.ws = null;
    if (this.state === 'over') return;
    if (this.farewell === null) return this.finish(this.lastError);
    if (this.farewell !== undefined) return this.again(this.farewell);
    if (FINAL_CODES.has(code) || code === 1008 && this.malformed > 1)
      return this.finish(this.lastError ?? new StreamError(`the server ended the connection with ${code}`, { type: 'protocol', status: code }));
    if (wasReady || !this.options.rest) return this.again();
    this.window = 0;
    const final = await this.ask();           /* a browser does not show why a handshake was refused: REST says it */
    if (this.state === 'over' || this.ws) return;
    if (final) this.finish(final);
    else this.again();
  }

  async ask() {
    const id = /\/v1\/sessions\/([a-z2-7]+)\/stream/.exec(this.options.url)?.[1];
    try {
      await this.options.rest.json('GET', `/v1/sessions/${id}`, { token: this.options.token });
      this.why = null;
    } catch (why) {
      if (why.final) return why;
      this.why = why instanceof Unreachable ? why : null;
    }
    return null;
  }

  /** Once a second: a connection that neither speaks nor takes anything is dead, although no close came. */
  look() {
    if (this.state !== 'open') return;
    const silent = performance.now() - this.heard;
    if (silent < SILENCE_MS) return;
    if (!this.pinged) {
      this.pinged = { at: performance.now(), queued: this.ws.bufferedAmount };
      this.say({ op: 'ping', t: Math.round(performance.now() * 1000) });
    } else if (performance.now() - this.pinged.at > DEAD_MS) {
      if (this.ws.bufferedAmount >= this.pinged.queued) this.drop();
      else this.pinged = { at: performance.now(), queued: this.ws.bufferedAmount };
    }
  }

  // ------------------------------------------------------------------------- messages

  message(data) {
    this.heard = performance.now();
    this.pinged = null;
    if (typeof data !== 'string') {
      this.receivedBytes += data.byteLength;
      const first = data.byteLength ? new Uint8Array(data, 0, 1)[0] : 0;
      if (isBlock(first)) {
        this.blocks++;
        this.mirror?.message(data);
        this.reached(data);
      } else if (isResult(first)) this.tell('result', data);
      return;
    }
    this.receivedBytes += data.length;
    const m = JSON.parse(data), handle = this['on_' + m.op];
    if (handle) handle.call(this, m);
  }

  on_ready(m) {
    this.ready = m;
    this.failures = 0;
    this.window = m.limits.window;
    if (m.last_seq !== undefined) this.seq = Math.max(this.seq, m.last_seq);
    this.pace(m);
    this.become('open');
    this.say({ op: 'ping', t: Math.round(performance.now() * 1000) });
    this.tell('ready', m);
    if (this.ending === 'sent' && this.role === 'view') this.on_ended(m);
    this.pump();
  }

  on_ack(m) {
    this.sent.delete(m.seq);
    this.pace(m);
    if (m.status === 'later') {
      if (!this.later || m.seq < this.later.seq) this.later = { seq: m.seq, ms: m.retry_ms };
    } else {
      this.waiting.delete(m.seq);
      this.store?.forget(m.seq);
      this.tell('ack', m);
    }
    this.pump();
  }

  on_poses(m) { this.tell('poses', m); }

  on_objects(m) { this.tell('objects', m.objects); }

  on_sync(m) {
    this.mirror?.sync(m);
    this.tell('sync', m);
  }

  on_ended(m) {
    this.ending = 'done';
    this.role = 'view';                      /* to come back as a feeder would drive away the one that feeds now */
    this.tell('ended', m);
  }

  on_closed(m) { this.tell('closed', m); }

  on_pong(m) {
    const now = performance.now() * 1000;
    this.offsetUs = m.server_us - (m.t + now) / 2;
    this.roundTripUs = now - m.t;
    this.tell('clock', { offsetUs: this.offsetUs, roundTripUs: this.roundTripUs });
  }

  on_error(m) {
    const ends = m.status !== undefined && !['malformed', 'conflict', 'view_only', 'unknown_op'].includes(m.type);
    this.lastError = new StreamError([m.title, m.detail].filter(Boolean).join(': '), { type: m.type, status: m.status, final: ends && m.retry_ms === undefined });
    if (m.type === 'malformed') this.malformed++;
    if (m.retry_ms !== undefined) this.farewell = m.retry_ms;
    else if (['unauthorized', 'forbidden', 'not_found'].includes(m.type)) this.farewell = null;
    else if (m.type === 'invalid_fields' && this.state !== 'open') this.farewell = null;
    this.tell('error', this.lastError);
    if (this.farewell === null && m.type === 'invalid_fields') this.finish(this.lastError);
  }

  on_bye(m) {
    this.farewell = m.action === 'disconnect' ? null : m.retry_ms;
    this.lastError = new StreamError(m.reason ?? 'the server has said goodbye', { type: 'bye', final: m.action === 'disconnect' });
    this.tell('bye', m);
  }

  /** The server says how many frames a second are of use, and how good they need be. */
  pace(m) {
    if (m.rate === undefined && m.jpeg === undefined) return;
    this.rate = m.rate ?? this.rate;
    this.jpeg = m.jpeg ?? this.jpeg;
    this.tell('pace', { rate: this.rate, jpeg: this.jpeg });
  }

  /** Send what may go out now: in the order of seq, no more than the window without an answer. */
  pump() {
    if (this.state !== 'open' || !this.window || this.role !== 'ingest') return;
    if (this.later) {
      if (this.sent.size || this.later.timed) return;
      this.later.timed = true;
      const { ws, later } = this;
      setTimeout(() => {
        if (this.ws !== ws || this.later !== later) return;
        this.later = null;
        this.pump();
      }, later.ms);
      return;
    }
    for (const [seq, message] of this.waiting) {
      if (this.sent.size >= this.window) break;
      if (this.sent.has(seq)) continue;
      this.sent.add(seq);
      this.sentBytes += message.byteLength;
      this.ws.send(message);
    }
    if (this.ending === 'asked' && !this.waiting.size) {
      this.ending = 'sent';
      this.say({ op: 'end' });
    }
  }
}
