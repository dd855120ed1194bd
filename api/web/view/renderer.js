/* renderer.js - pictures of the cloud, each within its time
 *
 * A picture is drawn off the screen, then shaded onto it, with lines above. If the card cannot draw all points in time, a picture
 * of a moving camera shows each n-th point, somewhat larger. Once the camera rests, n pictures add up to the whole, which is shown
 * when it is complete. No picture is begun before the card has finished the one before it (a fence says so): then nothing piles up,
 * and the page's thread never waits for the card. How long fences take sets n.
 */
import {CloudBuffers, EVERY_MOST} from './gl-cloud.js';
import {Lines} from './gl-lines.js';
import {SCREEN_VERTEX, SHADE_FRAGMENT} from './shaders.js';
import {Target, UNIT, program} from './gl.js';

/* A picture that takes longer than SLOW_MS lets every second point go; CALM pictures below FAST_MS bring them back. */
const SLOW_MS = 45, FAST_MS = 20, CALM = 12, PIXELS_MOST = 2560 * 1600;

export class Renderer {
  /** @throws {Error} where there is no WebGL 2 */
  constructor(canvas) {
    const gl = canvas.getContext('webgl2', {alpha: false, antialias: false, depth: false, powerPreference: 'high-performance'});
    if (!gl) throw new Error('this browser has no WebGL 2, or it is switched off');
    this.canvas = canvas;
    this.gl = gl;
    this.lost = false;
    this.open();
  }

  /** Makes all that lies on the card; again after the card was lost. */
  open() {
    const {gl} = this;
    this.lost = false;
    this.cloud = new CloudBuffers(gl);
    this.lines = new Lines(gl);
    this.shade = program(gl, SCREEN_VERTEX, SHADE_FRAGMENT);
    this.empty = gl.createVertexArray();
    this.front = this.back = null;
    this.every = 1;
    this.calm = 0;
    this.patience = CALM;
    this.fence = null;
    this.pass = null;                  /* the picture that is adding up: {every, next} */
    this.partial = false;              /* what is shown lacks points */
    this.stale = true;                 /* what is shown is not the newest */
    this.lensShown = '';
    this.drawn = 0;
    this.pictures = 0;
  }

  /** Points or their look have changed. */
  touch() {
    this.stale = true;
  }

  resize() {
    const {canvas} = this, ratio = Math.min(devicePixelRatio, 2), w = canvas.clientWidth * ratio, h = canvas.clientHeight * ratio;
    const shrink = Math.min(1, Math.sqrt(PIXELS_MOST / Math.max(1, w * h))), width = Math.max(1, Math.round(w * shrink)), height = Math.max(1, Math.round(h * shrink));
    if (this.front?.width === width && this.front?.height === height) return;
    canvas.width = width;
    canvas.height = height;
    this.front?.close();
    this.back?.close();
    this.front = new Target(this.gl, width, height);
    this.back = new Target(this.gl, width, height);
    this.front.bind(true);
    this.pass = null;
    this.stale = true;
    this.lensShown = '';
  }

  /* Whether the card is done with the last picture; how long that took sets how many points the next one has. */
  ready(now) {
    if (!this.fence) return true;
    const {gl, fence} = this, state = gl.clientWaitSync(fence.sync, 0, 0);
    if (state === gl.TIMEOUT_EXPIRED) return false;
    gl.deleteSync(fence.sync);
    this.fence = null;
    const took = now - fence.since;
    if (took > SLOW_MS) {
      if (this.calm < this.patience && this.every > 1) this.patience = Math.min(20 * CALM, 2 * this.patience);
      this.every = Math.min(EVERY_MOST, 2 * this.every);
      this.calm = 0;
    } else if (took <= FAST_MS && ++this.calm >= this.patience && this.every > 1) {
      this.every /= 2;
      this.calm = 0;
    }
    return true;
  }

  /**
   * Draws what is due.
   * @param {object} how of CloudBuffers.draw(), with `near`, `far`, `background`, `strength`, `linesChanged`
   * @returns {'wait'|'more'|'idle'} the card is busy; there is more to draw; all is shown
   */
  picture(how, now) {
    if (this.lost) return 'idle';
    if (!this.ready(now)) return 'wait';
    this.resize();
    const key = how.lens.join() + how.background + how.strength + how.look, moved = key !== this.lensShown;
    this.lensShown = key;
    if (moved) this.begin(how, this.every, true);
    else if (this.pass) this.add(how);
    else if (this.stale || this.partial) this.begin(how, this.every, false);
    else if (!how.linesChanged) return 'idle';
    this.finish(how);
    this.fence = {sync: this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0), since: now};
    this.gl.flush();
    this.pictures++;
    return this.pass || this.stale || this.partial ? 'more' : 'idle';
  }

  /* The first part of a picture. If the camera moves it is shown at once, with as many points as it has. */
  begin(how, every, atOnce) {
    this.stale = false;
    this.pass = {every, next: 0, drawn: 0};
    this.back.bind(true);
    this.add(how, atOnce ? Math.sqrt(every) : 1);
    if (!atOnce || !this.pass) return;
    this.partial = true;
    this.show();
  }

  add(how, larger = 1) {
    const {pass} = this;
    this.back.bind(false);
    this.cloud.draw({...how, size: how.size * this.back.height * larger, least: how.least * larger, most: how.most * larger}, pass.every, pass.next);
    if (++pass.next < pass.every) return;
    this.partial = false;
    this.show();
  }

  show() {
    [this.front, this.back] = [this.back, this.front];
    this.pass = null;
  }

  finish(how) {
    const {gl, front, shade: {made, uniforms: u}} = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, front.width, front.height);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    front.show();
    gl.useProgram(made);
    gl.uniform1i(u.picture, UNIT.picture);
    gl.uniform1i(u.depths, UNIT.depths);
    gl.uniform3fv(u.background, how.background);
    gl.uniform2f(u.reach, how.near, how.far);
    gl.uniform1f(u.strength, how.strength);
    gl.uniform1i(u.radius, Math.max(1, Math.round(front.height / 900)));
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    this.lines.draw(how.lens, front.width, front.height, how.near, Math.max(1.5, front.height / 500));
  }

  /** Bytes on the card, pictures and points. */
  get bytes() {
    return this.cloud.bytes + (this.front ? 16 * this.front.width * this.front.height : 0);
  }
}
