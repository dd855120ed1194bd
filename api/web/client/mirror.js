/* mirror.js - a copy of a session's cloud, kept by its block messages
 *
 * The rules are those of docs/PROTOCOL.md, section "Block messages". A point takes 8 bytes here: its key, in a page of a
 * block's (mirror-pages.js). A patch touches the pages in which keys go or come. A page that overflows is cut in equal
 * parts, and a block whose pages are less than three quarters full is written anew, so a point never takes more than a third
 * beyond its key but in small blocks. The hash follows each change. Nothing here knows of documents, workers or graphics.
 */
import {InflateError, inflate} from './inflate.js';
import {Sum64, blockSalt, gather, BLOCK_STEPS} from './mirror-keys.js';
import {PAGE_POINTS, Pages} from './mirror-pages.js';
import {WireError, planesLength, readKeys, readRemoved} from './mirror-planes.js';

export {WireError};
export const PUT = 0x10, PATCH = 0x11, DELETE = 0x12, CLEAR = 0x13, SUBMAP = 0x14, OBJECT = 0x15;
const HEADER = 16, NAME = 32, PLANES = 56, TRANSFORM = 48;
const POINTS_MAX = 1 << 20, MESSAGE_MAX = 16 << 20, SUBMAPS_MAX = 1024, COORDINATE_MAX = 1 << 21;
/* Points that a page gets when a block is written: the rest is room for keys to come. */
const PAGE_FILL = 120;
/* A block of more than two pages has so many points a page at least. */
const PAGE_LEAST = 96;

/** Planes of a message are at most so long. */
export const PLAIN_MAX = planesLength(POINTS_MAX, POINTS_MAX);

function u64(view, at) {
  const value = view.getUint32(at + 4, true) * 0x100000000 + view.getUint32(at, true);
  if (value > Number.MAX_SAFE_INTEGER) throw new WireError('a revision of 2^53 or above');
  return value;
}

/**
 * The header of a block message.
 * @param {Uint8Array} bytes
 * @returns {object|null} null if the message is one of a later version, which is passed over
 */
export function readHeader(bytes) {
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 1 || bytes[0] < PUT || bytes[0] > OBJECT) return null;
  if (bytes.length < HEADER || bytes.length > MESSAGE_MAX) throw new WireError('a block message of a wrong length');
  if (bytes[1] !== 1) throw new WireError('a block message of another version');
  const head = {op: bytes[0], codec: bytes[2], epoch: v.getUint32(4, true), revision: u64(v, 8)};
  if (head.op === SUBMAP || head.op === OBJECT) return readTransform(v, bytes, head);
  if (bytes[3] !== 0) throw new WireError('flags where there are none');
  if (head.op === CLEAR) {
    if (bytes.length !== HEADER) throw new WireError('a clear of a wrong length');
    return head;
  }
  if (bytes.length < NAME) throw new WireError('a block message without its name');
  Object.assign(head, {submap: v.getUint32(16, true), x: v.getInt32(20, true), y: v.getInt32(24, true), z: v.getInt32(28, true)});
  if ([head.x, head.y, head.z].some(c => c < -COORDINATE_MAX || c >= COORDINATE_MAX)) throw new WireError('a block out of the world');
  if (head.op === DELETE) {
    if (bytes.length !== NAME) throw new WireError('a delete of a wrong length');
    return head;
  }
  return readCounts(v, bytes, head);
}

function readTransform(v, bytes, head) {
  if (bytes.length !== TRANSFORM) throw new WireError('a transform of a wrong length');
  const f = Array.from({length: 7}, (_, i) => v.getFloat32(20 + 4 * i, true));
  head.id = v.getUint32(16, true);
  head.placed = head.op === OBJECT || (bytes[3] & 1) === 0;
  const norm = Math.hypot(...f.slice(0, 4));
  if (head.placed && !(f.every(Number.isFinite) && Math.abs(norm - 1) < 0.01)) throw new WireError('a transform that is none');
  head.q = head.placed ? f.slice(0, 4).map(x => x / norm) : [0, 0, 0, 1];
  head.t = head.placed ? f.slice(4) : [0, 0, 0];
  return head;
}

function readCounts(v, bytes, head) {
  if (bytes.length < PLANES) throw new WireError('a block message without its planes');
  Object.assign(head, {
    nPoints: v.getUint32(32, true), nRemoved: v.getUint32(36, true), nAdded: v.getUint32(40, true),
    base: u64(v, 44), plainLength: v.getUint32(52, true),
  });
  const {nPoints, nRemoved, nAdded, base} = head;
  if (head.codec > 1) throw new WireError('a codec that was not offered');
  if (nPoints > POINTS_MAX || nRemoved > POINTS_MAX || nAdded > POINTS_MAX || nAdded > nPoints) throw new WireError('counts out of range');
  if (head.op === PUT ? nRemoved || base || nAdded !== nPoints : base >= head.revision) throw new WireError('counts that contradict the message');
  if (head.plainLength !== planesLength(nRemoved, nAdded)) throw new WireError('planes of another length');
  if (head.codec === 0 && bytes.length !== PLANES + head.plainLength) throw new WireError('planes of another length');
  return head;
}

/* Planes that were inflated last: room for them is made once, and those of the next message lie in the same. */
let room = new Uint8Array(1 << 16);

/**
 * The planes of a put or patch, inflated. They hold until the next call.
 * @param {Uint8Array} bytes the whole message
 * @param {{codec: number, plainLength: number}} head
 * @returns {Uint8Array}
 */
export function readPlanes(bytes, head) {
  if (head.codec === 0) return bytes.subarray(PLANES);
  if (room.length < head.plainLength) room = new Uint8Array(2 ** Math.ceil(Math.log2(head.plainLength)));
  const planes = room.subarray(0, head.plainLength);
  try {
    inflate(bytes.subarray(PLANES), planes);
  } catch (error) {
    if (!(error instanceof InflateError)) throw error;
    throw new WireError(`planes that cannot be inflated: ${error.message}`);
  }
  return planes;
}

export class Mirror {
  constructor() {
    this.pages = new Pages();
    this.removed = new Uint32Array(1024);
    this.added = new Uint32Array(2048);
    this.merged = new Uint32Array(4096);
    this.gone = new Uint32Array(2048);
    /** Counts calls of clear(): who keeps a copy of the pages starts anew with each. */
    this.generation = 0;
    this.clear(null);
  }

  /** Forgets everything. The next message says the epoch if none is given. */
  clear(epoch) {
    this.epoch = epoch;
    this.revision = 0;                 /* the highest that came */
    this.points = 0;
    this.sum = new Sum64();
    this.blocks = new Map();
    this.submaps = new Map();
    this.objects = new Map();
    this.slots = [];
    this.placing = 0;                  /* counts changes of submaps' places */
    this.pages.clear();
    this.generation++;
  }

  get hash() {
    return this.sum.toString();
  }

  /** Bytes that are kept for the cloud on this side. */
  get bytes() {
    return this.pages.bytes + this.removed.byteLength + this.added.byteLength + this.merged.byteLength + this.gone.byteLength;
  }

  /**
   * Applies a message.
   * @param {object} head of readHeader()
   * @param {Uint8Array|null} planes of readPlanes() for put and patch
   * @throws {WireError} after which this mirror is of no use until clear()
   */
  apply(head, planes) {
    if (head.op === CLEAR) {
      this.clear(head.epoch);
      return;
    }
    this.epoch ??= head.epoch;
    if (head.epoch !== this.epoch) throw new WireError('a message of another epoch');
    if (head.op === SUBMAP) this.place(head);
    else if (head.op === OBJECT) this.objects.set(head.id, {q: head.q, t: head.t});
    else this.change(head, planes);
  }

  submap(id) {
    let submap = this.submaps.get(id);
    if (!submap) {
      if (this.slots.length === SUBMAPS_MAX) throw new WireError('more submaps than there may be');
      submap = {id, slot: this.slots.length, placed: id === 0, q: [0, 0, 0, 1], t: [0, 0, 0], points: 0, before: null};
      this.submaps.set(id, submap);
      this.slots.push(submap);
      this.placing++;
    }
    return submap;
  }

  place(head) {
    const submap = this.submap(head.id), moved = [...submap.q, ...submap.t].some((x, i) => x !== [...head.q, ...head.t][i]);
    if (submap.placed && head.placed && moved && submap.points) submap.before = {q: submap.q, t: submap.t};
    Object.assign(submap, {placed: head.placed, q: head.q, t: head.t});
    this.placing++;
  }

  change(head, planes) {
    const name = `${head.submap},${head.x},${head.y},${head.z}`;
    let block = this.blocks.get(name);
    if (block && head.revision <= block.revision) return;
    if (head.op === PATCH && head.base !== (block?.revision ?? 0)) throw new WireError('a patch of another revision');
    const submap = this.submap(head.submap);
    if (!block) {
      const salt = blockSalt(head.submap, head.x, head.y, head.z);
      block = {
        x: head.x, y: head.y, z: head.z, submap, revision: 0, points: 0, pages: [], sum: new Sum64(),
        saltLow: salt[0], saltHigh: salt[1], box: null,
      };
      this.blocks.set(name, block);
    }
    const before = block.points;
    if (head.op === PATCH) this.patch(block, head, planes);
    else this.put(block, head, planes);
    block.revision = head.revision;
    block.box = null;
    submap.points += block.points - before;
    this.points += block.points - before;
    this.revision = Math.max(this.revision, head.revision);
  }

  /** Room for n numbers in a scratch array. */
  room(name, n) {
    if (this[name].length < n) this[name] = new Uint32Array(2 ** Math.ceil(Math.log2(n)));
    return this[name];
  }

  put(block, head, planes) {
    const n = head.op === DELETE ? 0 : head.nAdded, keys = this.room('added', 2 * n);
    if (n) readKeys(planes, 0, n, keys);
    this.sum.add(block.sum, -1);
    block.sum = new Sum64();
    block.sum.addKeys(keys, 0, n, block.saltLow, block.saltHigh);
    this.sum.add(block.sum);
    this.write(block, keys, n);
  }

  /** Makes keys the content of a block. */
  write(block, keys, n) {
    const parts = n <= PAGE_POINTS ? Math.min(n, 1) : Math.ceil(n / PAGE_FILL), each = Math.ceil(n / (parts || 1));
    while (block.pages.length > parts) this.pages.put(block.pages.pop());
    while (block.pages.length < parts) block.pages.push(this.pages.take(block, block.submap.slot));
    for (let i = 0; i < parts; i++) this.pages.write(block.pages[i], keys, i * each, Math.min(n, (i + 1) * each));
    block.points = n;
  }

  patch(block, head, planes) {
    const {nRemoved, nAdded} = head;
    if (block.points - nRemoved + nAdded !== head.nPoints) throw new WireError('counts that contradict the block');
    const removed = this.room('removed', nRemoved), added = this.room('added', 2 * nAdded);
    readRemoved(planes, nRemoved, block.points, removed);
    readKeys(planes, 4 * nRemoved, nAdded, added);
    this.room('gone', 2 * nRemoved);
    if (!block.pages.length) this.write(block, added, nAdded);
    else this.merge(block, nRemoved, nAdded);
    block.points = head.nPoints;
    this.sum.add(block.sum, -1);
    block.sum.addKeys(this.gone, 0, nRemoved, block.saltLow, block.saltHigh, -1);
    block.sum.addKeys(added, 0, nAdded, block.saltLow, block.saltHigh);
    this.sum.add(block.sum);
    if (block.pages.length > Math.max(2, Math.ceil(block.points / PAGE_LEAST))) this.repack(block);
  }

  /*
   * Walks over the pages to the next one from which keys go. Most changes are of points' colours or confidence: then the added keys that
   * come next belong where those stand, nothing moves, and no page that was passed has to be looked at. Where that is not so, each page is
   * merged from the last one on that was written: what is added next may belong behind what was written there, but not before.
   */
  merge(block, nRemoved, nAdded) {
    const {pages, removed} = this, next = [], last = block.pages.length - 1;
    for (let p = 0, base = 0, r = 0, a = 0, written = -1; p <= last;) {
      let q = p, first = base, rEnd = r;
      while (q < last && (r === nRemoved || removed[r] >= first + pages.points(block.pages[q]))) first += pages.points(block.pages[q++]);
      const end = first + pages.points(block.pages[q]);
      while (rEnd < nRemoved && removed[rEnd] < end) rEnd++;
      const aEnd = a + rEnd - r, before = q > p ? block.pages[q - 1] : next[next.length - 1];
      if ((q === last ? aEnd === nAdded : aEnd <= nAdded) && this.fits(block, q, before, first, r, rEnd, a, nRemoved)) {
        this.replace(block.pages[q], first, r, rEnd, a);
        while (p <= q) next.push(block.pages[p++]);
        written = first;
        base = end;
        r = rEnd;
        a = aEnd;
        continue;
      }
      if (written >= 0) {
        next.pop();
        p--;
        base = written;
        written = -1;
      }
      for (; p <= q; p++) [base, r, a] = this.mergeOne(block, p, base, r, a, nRemoved, nAdded, next);
    }
    block.pages = next;
  }

  /* Does each of the next added keys have the place in space of the removed one, and stand in order there? */
  fits(block, q, before, first, r, rEnd, a, nRemoved) {
    const {removed, added, pages} = this, page = block.pages[q], behind = block.pages[q + 1], points = pages.points(page);
    const {keys} = pages.chunk(page), at = pages.at(page);
    for (let j = r; j < rEnd; j++) {
      const index = removed[j] - first, low = added[2 * (a + j - r)], high = added[2 * (a + j - r) + 1];
      if (keys[at + 2 * index + 1] >>> 2 !== high >>> 2) return false;
      /* neighbours that are replaced as well ascend among themselves */
      if (!(j > 0 && removed[j - 1] === removed[j] - 1)) {
        if (index ? pages.order(page, index - 1, low, high) > 0 : before !== undefined && pages.order(before, -1, low, high) > 0) return false;
      }
      if (!(j + 1 < nRemoved && removed[j + 1] === removed[j] + 1)) {
        if (index + 1 < points ? pages.order(page, index + 1, low, high) < 0 : behind !== undefined && pages.order(behind, 0, low, high) < 0) return false;
      }
    }
    return true;
  }

  /* Added keys from a on take the places of the removed ones r ... rEnd. */
  replace(page, first, r, rEnd, a) {
    const {removed, added, gone, pages} = this, {keys} = pages.chunk(page), at = pages.at(page) - 2 * first;
    if (r === rEnd) return;
    for (let j = r, from = 2 * a; j < rEnd; j++, from += 2) {
      const i = at + 2 * removed[j];
      gone[2 * j] = keys[i];
      gone[2 * j + 1] = keys[i + 1];
      keys[i] = added[from];
      keys[i + 1] = added[from + 1];
    }
    pages.touch(page);
  }

  /* Merges what goes from page p of a block and what comes into it; where the next one begins in the points, removed and added keys. */
  mergeOne(block, p, base, r, a, nRemoved, nAdded, next) {
    const {pages, removed, added} = this, page = block.pages[p], end = base + pages.points(page), behind = block.pages[p + 1];
    let rEnd = r, aEnd = behind === undefined ? nAdded : a;
    while (rEnd < nRemoved && removed[rEnd] < end) rEnd++;
    while (aEnd < nAdded && pages.order(behind, 0, added[2 * aEnd], added[2 * aEnd + 1]) > 0) aEnd++;
    if (rEnd === r && aEnd === a) next.push(page);
    else this.cut(block, page, this.mergePage(page, base, r, rEnd, a, aEnd), next);
    return [end, rEnd, aEnd];
  }

  /* A page without the removed keys r ... rEnd and with the added ones a ... aEnd, into `merged`: how many. */
  mergePage(page, base, r, rEnd, a, aEnd) {
    const {removed, added, gone, pages} = this, keys = pages.chunk(page).keys, at = pages.at(page), points = pages.points(page);
    const out = this.room('merged', 2 * (points + aEnd - a));
    let n = 0;
    for (let i = 0; i < points; i++) {
      const low = keys[at + 2 * i], high = keys[at + 2 * i + 1];
      if (r < rEnd && removed[r] === base + i) {
        gone[2 * r] = low;
        gone[2 * r + 1] = high;
        r++;
        continue;
      }
      while (a < aEnd && (added[2 * a + 1] < high || (added[2 * a + 1] === high && added[2 * a] < low))) {
        out[2 * n] = added[2 * a];
        out[2 * n++ + 1] = added[2 * a++ + 1];
      }
      out[2 * n] = low;
      out[2 * n++ + 1] = high;
    }
    out.set(added.subarray(2 * a, 2 * aEnd), 2 * n);
    return n + aEnd - a;
  }

  /* Writes the n merged keys to a page and, if they are too many, to new ones behind it. */
  cut(block, page, n, next) {
    if (n === 0) {
      this.pages.put(page);
      return;
    }
    const parts = Math.ceil(n / PAGE_POINTS), each = Math.ceil(n / parts);
    for (let from = 0; from < n; from += each) {
      const where = from ? this.pages.take(block, block.submap.slot) : page;
      this.pages.write(where, this.merged, from, Math.min(n, from + each));
      next.push(where);
    }
  }

  repack(block) {
    const all = this.room('merged', 2 * block.points);
    let n = 0;
    for (const page of block.pages) {
      const at = this.pages.at(page), points = this.pages.points(page);
      all.set(this.pages.chunk(page).keys.subarray(at, at + 2 * points), 2 * n);
      n += points;
    }
    this.write(block, all, n);
  }

  /**
   * The smallest box around the points of each submap, in steps and in the submap's own axes. Blocks that have not
   * changed since the last call are not looked at again.
   * @returns {Map<number, {min: number[], max: number[]}>} by submap
   */
  boxes() {
    const boxes = new Map();
    for (const block of this.blocks.values()) {
      if (!block.points) continue;
      block.box ??= this.blockBox(block);
      const box = boxes.get(block.submap.id);
      if (!box) boxes.set(block.submap.id, {min: block.box.slice(0, 3), max: block.box.slice(3)});
      else
        for (let i = 0; i < 3; i++) {
          box.min[i] = Math.min(box.min[i], block.box[i]);
          box.max[i] = Math.max(box.max[i], block.box[3 + i]);
        }
    }
    return boxes;
  }

  /**
   * Boxes of the fullest blocks of each submap, until they have a share of its points: what flies about far away is not among them.
   * @param {number} share
   * @param {number} most so many blocks of all submaps together
   * @returns {{submap: number, min: number[], max: number[]}[]}
   */
  core(share, most) {
    const taken = new Map(), fuller = [...this.blocks.values()].sort((a, b) => b.points - a.points).filter(({submap, points}) => {
      const before = taken.get(submap) ?? 0;
      taken.set(submap, before + points);
      return before < share * submap.points;
    });
    return fuller.slice(0, most).map(b => {
      b.box ??= this.blockBox(b);
      return {submap: b.submap.id, min: b.box.slice(0, 3), max: b.box.slice(3)};
    });
  }

  blockBox(block) {
    let x0 = BLOCK_STEPS, y0 = BLOCK_STEPS, z0 = BLOCK_STEPS, x1 = 0, y1 = 0, z1 = 0;
    for (const page of block.pages) {
      const keys = this.pages.chunk(page).keys, at = this.pages.at(page), end = at + 2 * this.pages.points(page);
      for (let i = at + 1; i < end; i += 2) {
        const m = keys[i] >>> 2, x = gather(m), y = gather(m >>> 1), z = gather(m >>> 2);
        x0 = Math.min(x0, x);
        y0 = Math.min(y0, y);
        z0 = Math.min(z0, z);
        x1 = Math.max(x1, x);
        y1 = Math.max(y1, y);
        z1 = Math.max(z1, z);
      }
    }
    const [x, y, z] = [block.x, block.y, block.z].map(c => c * BLOCK_STEPS);
    return [x + x0, y + y0, z + z0, x + x1, y + y1, z + z1];
  }
}

