/* scanner.js - from the camera to the client: a picture when one is due and there is room, encoded, with its intrinsics */
import { Camera, WakeLock } from './camera.js';
import { Encoder } from './encoder.js';
import { Thrift, rateFor } from './thrift.js';
import { intrinsicsOf, sizeFor, viewOf } from './intrinsics.js';

const LONG_MOST = 1280, LONG_LEAST = 480, LONG_USUAL = 640, QUALITY = 85;

export class Scanner {
  /**
   * @param {import('../client/recond.js').Client} client
   * @param {{ onfull: (why: Error) => void, onlost: () => void, fps?: number }} to
   */
  constructor(client, { onfull, onlost, fps }) {
    Object.assign(this, { client, onfull, onlost, fps });
    this.encoder = new Encoder();
    this.thrift = new Thrift();
    this.lock = new WakeLock();
    this.taken = 0;
    this.skipped = 0;
    this.running = false;
    this.degrees = null;
  }

  async open() {
    this.camera = await Camera.open();
    this.camera.ended = () => this.onlost();
    this.degrees = viewOf(this.camera.name).degrees;
    return this.camera;
  }

  start() {
    this.running = true;
    this.due = 0;
    this.lock.take();
    this.wait();
  }

  stop() {
    this.running = false;
    this.lock.release();
  }

  close() {
    this.stop();
    this.encoder.close();
    this.thrift.close();
    this.camera?.close();
  }

  /** Pictures a second that are taken now. */
  get rate() {
    const { client, thrift, encoder } = this;
    return rateFor({
      server: client.rate, most: this.fps, encodeMs: encoder.ms, battery: thrift.battery, pressure: thrift.pressure,
      online: client.state === 'open',
    });
  }

  wait() {
    const { video } = this.camera;
    if (video.requestVideoFrameCallback) video.requestVideoFrameCallback((now, meta) => this.take(meta.captureTime ?? now));
    else setTimeout(() => this.take(performance.now()), 1000 / 60);
  }

  async take(at) {
    if (!this.running) return;
    this.wait();
    if (at < this.due || this.encoder.busy) return;
    if (this.client.state === 'open' && !this.client.roomy) {
      this.skipped++;
      return;
    }
    const period = 1000 / this.rate;
    this.due = Math.max(this.due + period, at - period / 4);
    await this.shoot(at).catch(why => this.failed(why));
  }

  failed(why) {
    if (why.type === 'store-full') this.onfull(why);
    else if (this.running) console.warn('a picture was lost:', why.message);
  }

  async shoot(at) {
    const { video } = this.camera;
    if (!video.videoWidth) return;
    const net = Math.max(...this.client.ready?.net ?? [0]);
    const long = net ? Math.min(Math.max(2 * net, LONG_LEAST), LONG_MOST) : LONG_USUAL;
    const [width, height] = sizeFor(video.videoWidth, video.videoHeight, long);
    const tNs = BigInt(Math.round((performance.timeOrigin + at) * 1000)) * 1000n;
    const jpeg = await this.encoder.encode(video, width, height, (this.client.jpeg ?? QUALITY) / 100);
    if (!this.running) return;
    this.client.feed({ jpeg, width, height, tNs, intrinsics: intrinsicsOf(this.degrees, width, height) });
    this.taken++;
  }
}
