/* gl-cloud.js - the cloud on the card: the mirror's chunks as buffers, brought up to date page by page
 *
 * A chunk is one buffer that is made once and never moved, and one row of the table of pages. Of a batch of changed pages those that
 * stand in a row are one transfer. Drawing each n-th point is a matter of the attribute's stride: no point is looked at that is not
 * drawn, and since keys ascend along a curve that fills space, what is drawn is spread evenly.
 */
import {CHUNK_PAGES, PAGE_POINTS, PAGE_WORDS} from '../client/mirror-pages.js';
import {POINT_FRAGMENT, POINT_VERTEX} from './shaders.js';
import {UNIT, program, table} from './gl.js';

const PAGE_BYTES = 4 * PAGE_WORDS, CHUNK_POINTS = CHUNK_PAGES * PAGE_POINTS, SLOTS = 1024;
/* WebGL allows a stride of 255 bytes. */
export const EVERY_MOST = 16;

export class CloudBuffers {
  constructor(gl) {
    this.gl = gl;
    this.program = program(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.places = table(gl, UNIT.places, gl.RGBA32F, 2, SLOTS);
    this.placesData = new Float32Array(8 * SLOTS);
    this.chunks = [];
    this.tableRows = 0;
    this.rows = null;
  }

  /** Forgets all points. */
  clear() {
    for (const {buffer, array} of this.chunks) {
      this.gl.deleteBuffer(buffer);
      this.gl.deleteVertexArray(array);
    }
    this.chunks = [];
  }

  /** Bytes on the card. */
  get bytes() {
    return this.chunks.length * CHUNK_PAGES * PAGE_BYTES + this.tableRows * CHUNK_PAGES * 16;
  }

  addChunk() {
    const {gl} = this, buffer = gl.createBuffer(), array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, CHUNK_PAGES * PAGE_BYTES, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    this.chunks.push({buffer, array, used: 0, rows: new Int32Array(4 * CHUNK_PAGES), from: CHUNK_PAGES, to: 0, every: 0, first: 0});
    if (this.chunks.length > this.tableRows) this.growTable();
  }

  /* The table doubles, and is filled again from its copy here. */
  growTable() {
    const {gl} = this;
    gl.deleteTexture(this.rows);
    this.tableRows = Math.max(4, 2 * this.tableRows);
    this.rows = table(gl, UNIT.rows, gl.RGBA32I, CHUNK_PAGES, this.tableRows);
    for (const chunk of this.chunks) Object.assign(chunk, {from: 0, to: chunk.used});
    this.flushRows();
  }

  /** Takes a batch of pages: ids ascending within a chunk, four numbers and PAGE_WORDS keys for each. */
  take({n, ids, rows, keys}) {
    const {gl} = this;
    for (let i = 0; i < n;) {
      const which = Math.floor(ids[i] / CHUNK_PAGES), index = ids[i] % CHUNK_PAGES;
      let end = i + 1;
      while (end < n && ids[end] === ids[end - 1] + 1 && ids[end] % CHUNK_PAGES !== 0) end++;
      while (this.chunks.length <= which) this.addChunk();
      const chunk = this.chunks[which], pages = end - i;
      gl.bindBuffer(gl.ARRAY_BUFFER, chunk.buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, index * PAGE_BYTES, keys, i * PAGE_WORDS, pages * PAGE_WORDS);
      chunk.rows.set(rows.subarray(4 * i, 4 * end), 4 * index);
      chunk.used = Math.max(chunk.used, index + pages);
      chunk.from = Math.min(chunk.from, index);
      chunk.to = Math.max(chunk.to, index + pages);
      i = end;
    }
    this.flushRows();
  }

  flushRows() {
    const {gl} = this;
    gl.activeTexture(gl.TEXTURE0 + UNIT.rows);
    this.chunks.forEach((chunk, y) => {
      if (chunk.from >= chunk.to) return;
      gl.texSubImage2D(gl.TEXTURE_2D, 0, chunk.from, y, chunk.to - chunk.from, 1, gl.RGBA_INTEGER, gl.INT, chunk.rows, 4 * chunk.from);
      chunk.from = CHUNK_PAGES;
      chunk.to = 0;
    });
  }

  /** Where submaps lie: [{slot, q, t, shown}]. */
  place(submaps) {
    const {gl, placesData: d} = this;
    d.fill(0);
    for (const s of submaps) d.set([...s.q, ...s.t, s.shown ? 1 : 0], 8 * s.slot);
    gl.activeTexture(gl.TEXTURE0 + UNIT.places);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 2, SLOTS, gl.RGBA, gl.FLOAT, d);
  }

  /** Points that one picture looks at if each of them is drawn. */
  get slots() {
    return this.chunks.reduce((sum, c) => sum + c.used * PAGE_POINTS, 0);
  }

  /**
   * Draws each `every`-th point from `first` on into what is bound.
   * @param {{lens: Float32Array, step: number, size: number, widest: number, least: number, most: number, look: number, up: number[],
   *   clip: {min: number[], max: number[]}|null, heights: number[]}} how
   */
  draw(how, every, first) {
    const {gl, program: {made, uniforms: u}} = this;
    gl.useProgram(made);
    gl.uniform1i(u.rows, UNIT.rows);
    gl.uniform1i(u.places, UNIT.places);
    gl.uniformMatrix4fv(u.lens, false, how.lens);
    gl.uniform1f(u.step_m, how.step);
    gl.uniform1f(u.size, how.size);
    gl.uniform1f(u.widest, how.widest);
    gl.uniform1f(u.least, how.least);
    gl.uniform1f(u.most, how.most);
    gl.uniform1i(u.look, how.look);
    gl.uniform3fv(u.up, how.up);
    gl.uniform3fv(u.clip_min, how.clip?.min ?? [-1e30, -1e30, -1e30]);
    gl.uniform3fv(u.clip_max, how.clip?.max ?? [1e30, 1e30, 1e30]);
    gl.uniform2fv(u.heights, how.heights);
    gl.uniform1i(u.every, every);
    gl.uniform1i(u.first, first);
    this.chunks.forEach((chunk, i) => {
      gl.bindVertexArray(chunk.array);
      if (chunk.every !== every || chunk.first !== first) {
        gl.bindBuffer(gl.ARRAY_BUFFER, chunk.buffer);
        gl.vertexAttribIPointer(0, 2, gl.UNSIGNED_INT, 8 * every, 8 * first);
        Object.assign(chunk, {every, first});
      }
      gl.uniform1i(u.chunk, i);
      gl.drawArrays(gl.POINTS, 0, Math.floor(Math.min(chunk.used * PAGE_POINTS, CHUNK_POINTS) / every));
    });
    gl.bindVertexArray(null);
  }
}
