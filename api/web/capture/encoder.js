/* encoder.js - a <video>'s picture as JPEG: in a worker where the browser can, else on a canvas of the page */

export class Encoder {
  constructor() {
    this.waiting = new Map();
    this.number = 0;
    this.worker = null;
    if (globalThis.OffscreenCanvas?.prototype.convertToBlob && globalThis.createImageBitmap) {
      this.worker = new Worker(new URL('./encode-worker.js', import.meta.url), { type: 'module' });
      this.worker.onmessage = ({ data }) => this.done(data);
      this.worker.onerror = () => this.giveUp();
    }
    this.ms = 0;                             /* what a picture takes, averaged */
  }

  /** Pictures under way. */
  get busy() { return this.waiting.size; }

  done({ id, jpeg, error }) {
    const { resolve, reject, begun } = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    this.ms += (performance.now() - begun - this.ms) / 8;
    if (jpeg) resolve?.(jpeg);
    else reject?.(new Error(error));
  }

  /** The worker does not work: what waits is lost, and the page encodes from now on. */
  giveUp() {
    this.worker?.terminate();
    this.worker = null;
    for (const { reject } of this.waiting.values()) reject(new Error('the encoder has failed'));
    this.waiting.clear();
  }

  /**
   * @param {HTMLVideoElement | ImageData} source
   * @returns {Promise<ArrayBuffer>}
   */
  async encode(source, width, height, quality) {
    if (!this.worker) return this.onPage(source, width, height, quality);
    const id = ++this.number, begun = performance.now();
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, begun }));
    try {
      const picture = source instanceof ImageData ? source
        : globalThis.VideoFrame ? new VideoFrame(source) : await createImageBitmap(source);
      this.worker.postMessage({ id, picture, width, height, quality }, source instanceof ImageData ? [picture.data.buffer] : [picture]);
    } catch (why) {
      this.done({ id, error: String(why?.message ?? why) });
    }
    return answer;
  }

  async onPage(source, width, height, quality) {
    const begun = performance.now();
    this.canvas ??= document.createElement('canvas');
    Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext('2d', { alpha: false });
    if (source instanceof ImageData) context.putImageData(source, 0, 0);
    else context.drawImage(source, 0, 0, width, height);
    const blob = await new Promise(resolve => this.canvas.toBlob(resolve, 'image/jpeg', quality));
    if (!blob) throw new Error('the canvas gives no JPEG');
    this.ms += (performance.now() - begun - this.ms) / 8;
    return blob.arrayBuffer();
  }

  close() {
    this.giveUp();
  }
}
