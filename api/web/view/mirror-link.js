/* mirror-link.js - the worker's mirror as the page and the client see it, and its pages on their way to the card */
import {PAGE_WORDS} from '../client/mirror-pages.js';

/* Pages of one answer: a megabyte, which the card takes in a fraction of a picture's time. */
const BATCH = 1024;

export class MirrorLink {
  /**
   * @param {{onpages: (batch: object) => void, onstate: (state: object) => void}} to
   */
  constructor({onpages, onstate}) {
    this.worker = new Worker(new URL('mirror-worker.js', import.meta.url), {type: 'module'});
    this.client = null;
    this.picks = new Map();
    this.number = 0;
    this.buffers = {ids: new Uint32Array(BATCH), rows: new Int32Array(4 * BATCH), keys: new Uint32Array(PAGE_WORDS * BATCH)};
    this.generation = 0;
    this.onpages = onpages;
    this.onstate = onstate;
    this.worker.onmessage = ({data}) => this[`on_${data.op}`]?.(data);
  }

  /* What the client calls: README.md beside recond.js. */
  begin(client) {
    this.client = client;
    client.on?.('ready', ready => this.onready?.(ready));
  }

  message(buffer) {
    this.worker.postMessage({op: 'message', buffer}, [buffer]);
  }

  sync({revision, points, hash}) {
    this.worker.postMessage({op: 'sync', revision, points, hash});
  }

  reset() {
    this.worker.postMessage({op: 'reset'});
  }

  /* What the view calls. */

  /** Asks for changed pages, which come when there are any. One answer is under way at most. */
  pull() {
    if (!this.buffers) return;
    const {ids, rows, keys} = this.buffers;
    this.buffers = null;
    this.worker.postMessage({op: 'pull', ids, rows, keys, generation: this.generation}, [ids.buffer, rows.buffer, keys.buffer]);
  }

  /** The copy is lost: all pages come again. */
  repeat() {
    this.worker.postMessage({op: 'repeat'});
  }

  /** The point of the cloud on a ray; see pick.js. */
  pick(ray) {
    const number = ++this.number;
    this.worker.postMessage({op: 'pick', number, ray});
    return new Promise(resolve => this.picks.set(number, resolve));
  }

  close() {
    this.worker.terminate();
    for (const resolve of this.picks.values()) resolve(null);
    this.picks.clear();
  }

  on_held({epoch, revision}) {
    this.client?.held({epoch, revision});
  }

  on_broken({why}) {
    this.client?.broken(why);
  }

  on_state(state) {
    this.onstate(state);
  }

  on_picked({number, hit}) {
    this.picks.get(number)?.(hit);
    this.picks.delete(number);
  }

  on_pages(batch) {
    this.buffers = {ids: batch.ids, rows: batch.rows, keys: batch.keys};
    const anew = batch.generation !== this.generation;
    this.generation = batch.generation;
    this.onpages(batch, anew);
  }
}
