/* mirror-pages.js - the memory of a cloud: keys in pages of equal size, and which pages have changed
 *
 * A page holds up to PAGE_POINTS keys of one block, ascending. Pages are numbered from 0 and lie in
 * chunks of CHUNK_PAGES, which are added as the cloud grows and never moved: the copy on a graphics
 * card is one buffer a chunk, and a page has the same place in both. With each page stands a row of
 * four numbers for whoever draws it: x, y, z of its block, and slot << 8 | points, where the slot
 * says which transform places the block.
 */

export const PAGE_POINTS = 128;
export const PAGE_WORDS = 2 * PAGE_POINTS;
export const CHUNK_PAGES = 2048;
/** Bytes of a chunk on each side: keys, and rows. */
export const CHUNK_BYTES = CHUNK_PAGES * (4 * PAGE_WORDS + 16);

export class Pages {
  constructor() {
    this.clear();
  }

  /** Forgets all pages and gives their memory back. */
  clear() {
    /** @type {{keys: Uint32Array, rows: Int32Array, changed: Uint8Array, nChanged: number}[]} */
    this.chunks = [];
    this.free = [];
    this.used = 0;                     /* pages that were ever handed out */
    this.cursor = 0;                   /* the chunk from which take() goes on */
  }

  /** Bytes of all chunks on this side. */
  get bytes() {
    return this.chunks.length * (CHUNK_BYTES + CHUNK_PAGES);
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
          changed: new Uint8Array(CHUNK_PAGES), nChanged: 0,
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
    if (!chunk.changed[index]) {
      chunk.changed[index] = 1;
      chunk.nChanged++;
    }
  }

  /** Where a page's first word lies in the keys of its chunk. */
  at(page) {
    return (page & CHUNK_PAGES - 1) * PAGE_WORDS;
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
      for (let i = chunk.changed.indexOf(1); i >= 0 && n < ids.length; i = chunk.changed.indexOf(1, i + 1), n++) {
        chunk.changed[i] = 0;
        chunk.nChanged--;
        ids[n] = which * CHUNK_PAGES + i;
        rows.set(chunk.rows.subarray(4 * i, 4 * i + 4), 4 * n);
        keys.set(chunk.keys.subarray(i * PAGE_WORDS, (i + 1) * PAGE_WORDS), n * PAGE_WORDS);
      }
      if (chunk.nChanged) {
        this.cursor = which;
        return n;
      }
    }
    this.cursor = 0;
    return n;
  }
}
