/* mirror-pages.js - the memory of a cloud: keys in pages of equal size, and which pages have changed
 *
 * A page holds up to PAGE_POINTS keys of one block, ascending. Pages are numbered from 0 and lie in
 * chunks of CHUNK_PAGES, which are added as the cloud grows and never moved: the copy on a graphics
 * card is one buffer a chunk, and a page has the same place in both. With each page stands a row of
 * four numbers for the view that draws it: x, y, z of its block, and slot << 8 | points, where the slot
 * says which transform places the block. In what collect() gives out, spacing << 18 comes to that: about
 * how far apart the page's points are, in steps, so that they can be drawn without gaps.
 */
import {gather} from './mirror-keys.js';

export const PAGE_POINTS = 128;
export const PAGE_WORDS = 2 * PAGE_POINTS;
export const CHUNK_PAGES = 2048;
/** Bytes of a chunk on each side: keys, and rows. */
export const CHUNK_BYTES = CHUNK_PAGES * (4 * PAGE_WORDS + 16);

/* Points that lie in a row on the curve through space, of which the spacing is measured: every second group of so many. */
const GROUP = 16, SPACING_MOST = 4095;

export class Pages {
  constructor() {
    this.spacings = new Float64Array(PAGE_POINTS / GROUP);
    this.clear();
  }

  /** Forgets all pages and gives their memory back. */
  clear() {
    /** @type {{keys: Uint32Array, rows: Int32Array, changed: Uint8Array, spacings: Uint16Array, nChanged: number}[]} */
    this.chunks = [];
    this.free = [];
    this.used = 0;                     /* pages that were ever handed out */
    this.cursor = 0;                   /* the chunk from which take() goes on */
  }

  /** Bytes of all chunks on this side. */
  get bytes() {
    return this.chunks.length * (CHUNK_BYTES + 3 * CHUNK_PAGES);
  }

  chunk(page) {
    return this.chunks[page >>> 11];
  }

  /** A free page, whose row is that of a block. */
  take(block, slot) {
    let page = this.free.pop();
    if (page === undefined) {
      page = this.used++;
      if (page >>> 11 === this.chunks.length) {
        this.chunks.push({
          keys: new Uint32Array(CHUNK_PAGES * PAGE_WORDS), rows: new Int32Array(4 * CHUNK_PAGES),
          changed: new Uint8Array(CHUNK_PAGES), spacings: new Uint16Array(CHUNK_PAGES), nChanged: 0,
        });
      }
    }
    const rows = this.chunk(page).rows, at = 4 * (page & CHUNK_PAGES - 1);
    rows[at] = block.x;
    rows[at + 1] = block.y;
    rows[at + 2] = block.z;
    rows[at + 3] = slot << 8;
    return page;
  }

  put(page) {
    this.resize(page, 0);
    this.free.push(page);
  }

  /** Points of a page. */
  points(page) {
    return this.chunk(page).rows[4 * (page & CHUNK_PAGES - 1) + 3] & 0xff;
  }

  /** Says how many points a page has, and that it has changed. */
  resize(page, n) {
    const chunk = this.chunk(page), index = page & CHUNK_PAGES - 1;
    chunk.rows[4 * index + 3] = chunk.rows[4 * index + 3] & ~0xff | n;
    chunk.spacings[index] = 0;
    this.touch(page);
  }

  /** Says that a page has changed, but not where its points are nor how many. */
  touch(page) {
    const chunk = this.chunk(page), index = page & CHUNK_PAGES - 1;
    if (chunk.changed[index]) return;
    chunk.changed[index] = 1;
    chunk.nChanged++;
  }

  /** Where a page's first word lies in the keys of its chunk. */
  at(page) {
    return (page & CHUNK_PAGES - 1) * PAGE_WORDS;
  }

  /** Is a page's key (-1: its last) below, equal to or above another one? Below 0, 0 or above. */
  order(page, index, low, high) {
    const {keys} = this.chunk(page), at = this.at(page) + 2 * (index < 0 ? this.points(page) - 1 : index);
    return keys[at + 1] - high || keys[at] - low;
  }

  /** Writes keys[2 * from] ... as the content of a page. */
  write(page, keys, from, to) {
    this.chunk(page).keys.set(keys.subarray(2 * from, 2 * to), this.at(page));
    this.resize(page, to - from);
  }

  /** All pages count as changed: the other side has lost its copy. */
  changeAll() {
    for (let page = 0; page < this.used; page++) this.resize(page, this.points(page));
  }

  /** Pages that have changed since they were collected. */
  get nChanged() {
    return this.chunks.reduce((sum, c) => sum + c.nChanged, 0);
  }

  /**
   * Copies changed pages out, up to the room there is, and forgets that they have changed. No page waits for ever:
   * the next call goes on where this one ended.
   * @param {Uint32Array} ids ascending within a chunk
   * @param {Int32Array} rows four numbers a page
   * @param {Uint32Array} keys PAGE_WORDS a page
   * @returns {number} pages that were copied
   */
  collect(ids, rows, keys) {
    let n = 0;
    for (let turn = 0; turn < this.chunks.length && n < ids.length; turn++) {
      const which = (this.cursor + turn) % this.chunks.length, chunk = this.chunks[which];
      for (let i = chunk.changed.indexOf(1); i >= 0 && n < ids.length; i = chunk.changed.indexOf(1, i)) {
        let end = i;
        while (end < CHUNK_PAGES && chunk.changed[end] && n + end - i < ids.length) end++;
        this.copy(which * CHUNK_PAGES, chunk, i, end, n, {ids, rows, keys});
        n += end - i;
        i = end;
      }
      if (chunk.nChanged) {
        this.cursor = which;
        return n;
      }
    }
    this.cursor = 0;
    return n;
  }

  /* Pages from ... end - 1 of a chunk become those from n on of what is given out. */
  copy(first, chunk, from, end, n, {ids, rows, keys}) {
    keys.set(chunk.keys.subarray(from * PAGE_WORDS, end * PAGE_WORDS), n * PAGE_WORDS);
    rows.set(chunk.rows.subarray(4 * from, 4 * end), 4 * n);
    chunk.changed.fill(0, from, end);
    chunk.nChanged -= end - from;
    for (let i = from; i < end; i++, n++) {
      ids[n] = first + i;
      chunk.spacings[i] ||= this.spacing(chunk, i);
      rows[4 * n + 3] |= chunk.spacings[i] << 18;
    }
  }

  /* The median over groups of points of the root of the largest face of their box, shared by as many points. */
  spacing(chunk, index) {
    const points = chunk.rows[4 * index + 3] & 0xff, at = index * PAGE_WORDS, {spacings} = this;
    let groups = 0;
    for (let from = 0; from < points; from += 2 * GROUP) {
      const n = Math.min(GROUP, points - from);
      let x0 = 1023, y0 = 1023, z0 = 1023, x1 = 0, y1 = 0, z1 = 0;
      for (let i = at + 2 * from + 1; i < at + 2 * (from + n); i += 2) {
        const m = chunk.keys[i] >>> 2, x = gather(m), y = gather(m >>> 1), z = gather(m >>> 2);
        if (x < x0) x0 = x;
        if (x > x1) x1 = x;
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
        if (z < z0) z0 = z;
        if (z > z1) z1 = z;
      }
      const x = x1 - x0 + 1, y = y1 - y0 + 1, z = z1 - z0 + 1;
      if (n > 1) spacings[groups++] = Math.sqrt(Math.max(x * y, y * z, z * x) / n);
    }
    if (!groups) return 8;
    return Math.min(SPACING_MOST, Math.max(1, Math.round(spacings.subarray(0, groups).sort()[groups - 1 >> 1])));
  }
}
