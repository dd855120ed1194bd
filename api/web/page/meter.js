/* meter.js - what a stream does, in numbers: pictures a second, delay, bytes; and what its last answers said */

const SPAN_MS = 3000, REASON_MS = 5000;

export class Meter {
  constructor(client) {
    this.used = [];                          /* times of answers */
    this.sent = new Map();                   /* when a frame was fed, by seq */
    this.delayMs = 0;
    this.before = 0;                         /* answers that came before anything of a cloud */
    this.answers = { used: 0, dropped: 0, refused: 0 };
    this.said = { word: '', at: -Infinity };
    this.client = client;
    client.on('ack', m => this.ack(m));
  }

  fed(seq) {
    this.begun ??= performance.now();
    this.sent.set(seq, performance.now());
    if (this.sent.size > 2000) this.sent.delete(this.sent.keys().next().value);
  }

  ack(m) {
    const now = performance.now(), begun = this.sent.get(m.seq);
    this.answers[m.status] = (this.answers[m.status] ?? 0) + 1;
    if (!this.client.blocks) this.before++;
    if (begun !== undefined) this.delayMs += (now - begun - this.delayMs) / 8;
    this.sent.delete(m.seq);
    if (m.status === 'used') this.used.push(now);
    else if (m.reason && m.reason !== 'duplicate') this.said = { word: m.reason, at: now };
  }

  /** Milliseconds from the first picture to the first points that came after it, null as long as there are none. */
  points(n) {
    if (n && this.begun !== undefined) this.firstMs ??= Math.round(performance.now() - this.begun);
    return this.firstMs ?? null;
  }

  /** Pictures a second that the server uses. */
  get rate() {
    const from = performance.now() - SPAN_MS;
    while (this.used.length && this.used[0] < from) this.used.shift();
    return this.used.length / (SPAN_MS / 1000);
  }

  /** Why pictures are not used just now, '' if they are. */
  get reason() {
    return performance.now() - this.said.at < REASON_MS ? this.said.word : '';
  }
}
