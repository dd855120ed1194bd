/* gl-lines.js - lines of any width above the cloud: the phone's way, its frustum, boxes, what is measured */
import {LINE_FRAGMENT, LINE_VERTEX} from './shaders.js';
import {UNIT, program} from './gl.js';

const BYTES = 28;

export class Lines {
  constructor(gl) {
    this.gl = gl;
    this.program = program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.buffer = gl.createBuffer();
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    [[3, gl.FLOAT, false, 0], [3, gl.FLOAT, false, 12], [4, gl.UNSIGNED_BYTE, true, 24]].forEach(([n, type, unit, at], i) => {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, n, type, unit, BYTES, at);
      gl.vertexAttribDivisor(i, 1);
    });
    gl.bindVertexArray(null);
    this.n = 0;
  }

  /** @param {{a: number[], b: number[], colour: number[]}[]} segments colours are four numbers of 255 */
  set(segments) {
    const {gl} = this, bytes = new ArrayBuffer(BYTES * segments.length), f = new Float32Array(bytes), c = new Uint8Array(bytes);
    segments.forEach(({a, b, colour}, i) => {
      f.set(a, 7 * i);
      f.set(b, 7 * i + 3);
      c.set(colour, BYTES * i + 24);
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    this.n = segments.length;
  }

  /** Draws above what was shaded; depths of the cloud are read from their texture. */
  draw(lens, width, height, near, pixels) {
    if (!this.n) return;
    const {gl, program: {made, uniforms: u}} = this;
    gl.useProgram(made);
    gl.uniformMatrix4fv(u.lens, false, lens);
    gl.uniform2f(u.size, width, height);
    gl.uniform1f(u.width, pixels);
    gl.uniform1f(u.near, near);
    gl.uniform1i(u.depths, UNIT.depths);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindVertexArray(this.array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.n);
    gl.bindVertexArray(null);
  }
}
