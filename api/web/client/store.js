/* store.js - frames without an answer, kept until it is there
 *
 * In memory a page that is loaded again has lost them; a Store keeps them in IndexedDB as well. Both are bounded by bytes and by
 * frames: what does not fit is refused by the client with StoreFull, and the frames that are kept stay. */
import { StoreFull } from './errors.js';

const FRAMES = 'frames';

const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

export class Store {
  /**
   * @param {string} name of the session and the source; each has a database of its own
   * @param {{ maxBytes?: number, maxFrames?: number }} [options]
   */
  constructor(name, { maxBytes = 64 << 20, maxFrames = 600 } = {}) {
    this.name = 'recond-' + name;
    this.maxBytes = maxBytes;
    this.maxFrames = maxFrames;
    this.sizes = new Map(); /* bytes by seq, of what is kept */
    this.bytes = 0;
    this.db = null;
  }

  /** Open it, and return what is kept: [seq, message] in the order of seq. */
  async open() {
    const request = indexedDB.open(this.name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(FRAMES);
    this.db = await done(request);
    const frames = this.db.transaction(FRAMES).objectStore(FRAMES);
    const [keys, values] = await Promise.all([done(frames.getAllKeys()), done(frames.getAll())]);
    keys.forEach((seq, i) => this.count(seq, values[i].byteLength));
    return keys.map((seq, i) => [seq, values[i]]);
  }

  count(seq, bytes) {
    this.sizes.set(seq, bytes);
    this.bytes += bytes;
  }

  /** Is there room for one more frame of so many bytes? */
  fits(bytes) {
    return this.sizes.size < this.maxFrames && this.bytes + bytes <= this.maxBytes;
  }

  /** Keep a frame. Rejects with StoreFull where the browser has no room. */
  async put(seq, message) {
    this.count(seq, message.byteLength);
    try {
      await done(this.db.transaction(FRAMES, 'readwrite').objectStore(FRAMES).put(message, seq));
    } catch (why) {
      throw new StoreFull(why?.name === 'QuotaExceededError' ? 'the browser gives this page no more room' : String(why?.message ?? why));
    }
  }

  async forget(seq) {
    this.bytes -= this.sizes.get(seq) ?? 0;
    this.sizes.delete(seq);
    if (this.db) await done(this.db.transaction(FRAMES, 'readwrite').objectStore(FRAMES).delete(seq)).catch(() => {});
  }

  close() {
    this.db?.close();
    this.db = null;
  }

  /** Forget everything that was kept under this name. */
  static async remove(name) {
    await done(indexedDB.deleteDatabase('recond-' + name)).catch(() => {});
  }
}
