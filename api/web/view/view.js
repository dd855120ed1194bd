/* view.js - the live cloud in a page: openView() fills an element with it
 *
 *   const view = await openView(element, {touch, onstate});
 *   client = new Client({..., mirror: view.mirror});
 *
 * Messages go to a worker (mirror-worker.js), which keeps the cloud; changed pages come from there as pictures have room for them.
 * What is drawn and when is renderer.js, from where camera.js. Without WebGL 2, or after the card was lost, counts and hash go on.
 */
import {Camera} from './camera.js';
import {Controls, LOOKS} from './controls.js';
import {Input} from './input.js';
import {MirrorLink} from './mirror-link.js';
import {Renderer} from './renderer.js';
import {Scene, fromOpengl} from './scene.js';
import {add, boxAround, corners, dot, project, rotate, scale, turned} from './math.js';
import {rayOf} from './pick.js';

const UPS = {'+x': [1, 0, 0], '-x': [-1, 0, 0], '+y': [0, 1, 0], '-y': [0, -1, 0], '+z': [0, 0, 1], '-z': [0, 0, -1]};
/* A point is so much larger than the points around it are apart, and at most so large. */
const COVER = 1.25, WIDEST_M = 0.05;
const PICK_PX = 4, FOLLOW_SHARE_S = 4, SHADING = 4;

class View {
  constructor(element, {touch = false, onstate = () => {}}) {
    this.onstate = onstate;
    this.options = {
      look: 'colour', mode: 'orbit', size: touch ? 1.4 : 1, shading: 1, trail: true, boxes: false, unplaced: false, before: false, clip: false,
      clipShare: {min: [0, 0, 0], max: [1, 1, 1]},
    };
    this.cameraPose = 'cv';
    this.step = 0.001;
    this.state = {points: 0, blocks: 0, revision: 0, epoch: null, hash: '0000000000000000', equal: null, bytes: 0, drawn: 0, submaps: [], core: [], lost: false};
    this.box = null;
    this.tracked = new Map();
    this.own = false;                  /* a hand has moved the camera: it is not fitted any more */
    this.linesStale = true;
    this.measuring = false;
    this.eye = new Camera();
    this.scene = new Scene();
    this.controls = new Controls(element, this.options, {change: name => this.change(name), home: () => this.home(), measure: () => this.measure(!this.measuring)});
    this.canvas = this.controls.canvas;
    this.mirror = new MirrorLink({onpages: (batch, anew) => this.pages(batch, anew), onstate: state => this.took(state)});
    this.mirror.onready = ready => { this.step = ready.step_m ?? this.step; };
    this.input = new Input(this.canvas, this.eye, {
      moved: () => this.moved(), click: (u, v) => this.click(u, v), aim: (u, v) => this.aim(u, v), key: e => this.key(e),
    });
    this.openCard();
    this.watch(element);
    this.draw = this.draw.bind(this);
    this.timer = requestAnimationFrame(this.draw);
    this.before = performance.now();
  }

  openCard() {
    try {
      this.renderer = new Renderer(this.canvas);
      this.paint();
    } catch (error) {
      this.renderer = null;
      this.state.lost = true;
      this.controls.say(`The cloud cannot be drawn: ${error.message}. Switch on hardware acceleration, or open this page in another browser. The scan goes on.`);
    }
  }

  watch(element) {
    this.resizing = new ResizeObserver(() => this.wake());
    this.resizing.observe(element);
    this.theme = matchMedia('(prefers-color-scheme: dark)');
    this.onTheme = () => this.paint();
    this.theme.addEventListener('change', this.onTheme);
    this.canvas.addEventListener('webglcontextlost', event => {
      event.preventDefault();
      this.state.lost = this.renderer.lost = true;
      this.controls.say('The graphics card was taken away from this page. The cloud is kept and comes back by itself; if it does not, load the page again. The scan goes on.');
      this.onstate(this.state);
    });
    this.canvas.addEventListener('webglcontextrestored', () => {
      this.renderer.open();
      this.state.lost = false;
      this.controls.say(null);
      this.places();
      this.linesStale = true;
      this.mirror.repeat();
      this.onstate(this.state);
    });
  }

  /** Colours of the page hold for the picture, too. */
  paint() {
    const rgb = getComputedStyle(this.canvas).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0];
    this.background = rgb.slice(0, 3).map(x => x / 255);
  }

  /* ----------------------------------------------------------------------- what comes from the session */

  /** A phone's pose: camera to submap. */
  camera({source, seq, submap, q, t}) {
    this.scene.camera({source, seq, submap, q: this.cameraPose === 'opengl' ? fromOpengl(q) : q, t});
    this.linesStale = true;
  }

  corrected(poses, source) {
    this.scene.corrected(poses, source);
    this.linesStale = true;
    this.controls.enable('before', this.hasBefore);
  }

  trajectory(text) {
    this.scene.trajectory(text);
    this.linesStale = true;
  }

  intrinsics(camera) {
    this.scene.intrinsics = camera;
    this.linesStale = true;
  }

  up(word) {
    if (UPS[word]) this.eye.setUp(UPS[word]);
  }

  get hasBefore() {
    return this.scene.hasBefore || this.state.submaps.some(s => s.before);
  }

  pages(batch, anew) {
    if (this.renderer && !this.renderer.lost) {
      if (anew) this.renderer.cloud.clear();
      this.renderer.cloud.take(batch);
      this.renderer.touch();
    }
    this.left = batch.left;
  }

  took({op, spent, changed, bytes, ...state}) {
    Object.assign(this.state, state, {bytes: bytes + (this.renderer?.bytes ?? 0), worker: {spent, changed, bytes}});
    this.places();
    this.linesStale = true;
    if (!this.own && this.options.mode === 'orbit') this.fit();
    this.controls.enable('before', this.hasBefore);
    this.onstate(this.state);
    this.tell();
  }

  /** Where a submap lies in the world as it is shown, or null if it is hidden. */
  place(id) {
    const s = this.state.submaps.find(one => one.id === id);
    if (!s) return id === 0 ? {q: [0, 0, 0, 1], t: [0, 0, 0]} : null;
    if (!s.placed && !this.options.unplaced) return null;
    return this.options.before && s.before ? s.before : {q: s.q, t: s.t};
  }

  places() {
    const shown = this.state.submaps.map(s => ({...s, ...(this.place(s.id) ?? {}), shown: this.place(s.id) !== null}));
    this.renderer?.cloud.place(shown);
    this.renderer?.touch();
    this.boxes = shown.filter(s => s.shown && s.box).map(s => ({
      q: s.q, t: s.t, id: s.id, points: s.points, box: {min: scale(s.box.min, this.step), max: scale(s.box.max, this.step)},
    }));
    this.box = boxAround(this.boxes);
    this.core = this.state.core.flatMap(c => {
      const place = this.place(c.submap);
      return place ? [boxAround([{...place, box: {min: scale(c.min, this.step), max: scale(c.max, this.step)}}])] : [];
    });
    if (!this.box) return;
    const {min, max} = this.options.clipShare, part = (share, i) => this.box.min[i] + share[i] * (this.box.max[i] - this.box.min[i]);
    this.clip = this.options.clip ? {min: [0, 1, 2].map(i => part(min, i)), max: [0, 1, 2].map(i => part(max, i))} : null;
  }

  /* ----------------------------------------------------------------------- what a hand does */

  change(name) {
    this.controls.show(name);
    if (name === 'mode') this.eye.mode = this.options.mode;
    this.places();
    this.linesStale = true;
    this.tell();
  }

  set(name, value) {
    this.options[name] = value;
    this.change(name);
  }

  moved() {
    this.own = true;
    if (this.options.mode === 'follow') this.set('mode', 'orbit');
  }

  home() {
    this.own = false;
    if (this.options.mode !== 'orbit') this.set('mode', 'orbit');
    this.fit();
  }

  fit() {
    if (this.core?.length) this.eye.fit(this.core, this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight));
  }

  measure(on) {
    this.measuring = on;
    this.scene.measured = [];
    this.linesStale = true;
    this.controls.measuring(on);
    this.tell();
  }

  async pick(u, v) {
    const ray = rayOf(this.eye, u, v, this.canvas.clientWidth, this.canvas.clientHeight, PICK_PX);
    const hit = await this.mirror.pick({...ray, step: this.step, clip: this.clip ?? null, before: this.options.before, unplaced: this.options.unplaced});
    return hit?.point ?? null;
  }

  async click(u, v) {
    if (!this.measuring) return;
    const point = await this.pick(u, v);
    if (!point) return;
    this.scene.measure(point);
    this.linesStale = true;
    this.tell();
  }

  async aim(u, v) {
    const point = await this.pick(u, v);
    if (point) this.eye.lookAt(point);
    this.moved();
  }

  key(e) {
    const middle = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    const mode = {o: 'orbit', g: 'fly', f: 'follow'}[e.key.toLowerCase()], look = LOOKS[Number(e.key) - 1];
    if (mode) this.set('mode', mode);
    else if (look) this.set('look', look);
    else if (e.key === 'h' || e.key === 'Home') this.home();
    else if (e.key === 'm') this.measure(!this.measuring);
    else if (e.key === 'x') this.set('clip', !this.options.clip);
    else if (e.key === 'b') this.set('boxes', !this.options.boxes);
    else if (e.key === 't') this.set('trail', !this.options.trail);
    else if (e.key === 'Enter' && this.measuring) this.click(...middle);
    else if (e.key === 'Escape') this.measure(false);
    else return false;
    return true;
  }

  /* ----------------------------------------------------------------------- pictures */

  draw(now) {
    this.timer = requestAnimationFrame(this.draw);
    const seconds = Math.min(0.1, (now - this.before) / 1000);
    this.before = now;
    this.mirror.pull();
    this.input.fly(seconds);
    if (this.options.mode === 'follow') this.follow(seconds);
    if (!this.renderer || this.renderer.lost || !this.canvas.clientWidth) return;
    const how = this.how();
    if (this.linesStale) this.layLines(how);
    if (this.renderer.picture(how, now) === 'wait') return;
    how.linesChanged = this.linesStale = false;
    this.state.drawn = this.renderer.partial ? Math.round(this.state.points / this.renderer.every) : this.state.points;
    this.layLabels(how.lens);
  }

  /** The page was away or has another size. */
  wake() {
    this.renderer?.touch();
  }

  follow(seconds) {
    const phone = this.scene.phoneInWorld(id => this.place(id));
    if (phone) this.eye.follow(phone, 1 - Math.exp(-FOLLOW_SHARE_S * seconds));
  }

  /** Tracked objects, as they are now: `objects` of the stream. A connection that begins tells all anew: `null`. */
  recognised(list) {
    if (!list) this.tracked.clear();
    for (const one of list ?? []) this.tracked.set(one.id, one);
    this.linesStale = true;
    this.renderer?.touch();
    this.tell();
  }

  /** The boxes of present objects, in the world as it is shown. */
  trackedBoxes() {
    return [...this.tracked.values()].filter(one => one.state !== 'lost' && this.place(one.submap)).map(one => {
      const where = this.place(one.submap), q = one.pose.slice(0, 4), t = add(rotate(where.q, one.pose.slice(4)), where.t);
      return {id: one.id, name: one.class ? `${one.object} (${one.class})` : one.object, q: turned(where.q, q), t, box: {min: one.box.slice(0, 3), max: one.box.slice(3)}};
    });
  }

  how() {
    const {canvas, eye, options, box} = this;
    if (box) eye.reachFor(box);
    const heights = box ? corners(box).map(c => dot(c, eye.up)) : [0, 1];
    return {
      lens: eye.lens(canvas.clientWidth / Math.max(1, canvas.clientHeight)), step: this.step, size: options.size * COVER / (2 * Math.tan(eye.fov / 2)),
      widest: WIDEST_M, least: 1.4 * options.size, most: 24 * options.size, look: LOOKS.indexOf(options.look), up: eye.up, clip: this.clip ?? null,
      heights: [Math.min(...heights), Math.max(...heights)], near: eye.reach.near, far: eye.reach.far, background: this.background,
      strength: SHADING * options.shading, linesChanged: this.linesStale,
    };
  }

  layLines() {
    const objects = this.state.objects ?? [], boxes = this.boxes ?? [];
    const moved = objects.map(o => ({...boxes.find(b => b.id === o.id), object: true})).filter(o => o.box);
    this.renderer.lines.set(this.scene.segments({
      place: id => this.place(id), boxes: [...boxes.filter(b => !moved.some(o => o.id === b.id)), ...moved], tracked: this.trackedBoxes(), clip: this.clip ?? null, show: this.options,
    }));
  }

  layLabels(lens) {
    const list = [], {measured, metres} = this.scene, put = (key, text, p) => {
      const [x, y, , w] = project(lens, p);
      if (w > 0) list.push({key, text, x: (x / w + 1) / 2 * this.canvas.clientWidth, y: (1 - y / w) / 2 * this.canvas.clientHeight});
    };
    if (metres !== null) put('metres', `${metres.toFixed(3)} m`, scale(add(measured[0], measured[1]), 0.5));
    const objects = new Set((this.state.objects ?? []).map(o => o.id));
    if (this.options.boxes) for (const b of this.boxes ?? []) put(`box${b.id}`, `${objects.has(b.id) ? 'object' : 'submap'} ${b.id}`, add(rotate(b.q, b.box.max), b.t));
    for (const b of this.trackedBoxes()) put(`thing${b.id}`, b.name, add(rotate(b.q, b.box.max), b.t));
    this.controls.label(list);
  }

  /** The state as text, for all who do not see the picture. */
  tell() {
    const {state, scene, options} = this, hidden = state.submaps.filter(s => !this.place(s.id)).length, number = n => n.toLocaleString('en');
    const size = this.box ? this.box.max.map((x, i) => (x - this.box.min[i]).toFixed(1)).join(' × ') + ' m' : 'nothing yet';
    const first = [`${number(state.points)} points in ${state.submaps.length} ${state.submaps.length === 1 ? 'submap' : 'submaps'}, ${size}`], parts = [];
    if (hidden) first.push(`${hidden} of them hidden: their place is not known ("More" shows them)`);
    if (state.equal === false) first.push('not the same as the server\'s; it is fetched anew');
    parts.push(state.equal ? `the same as the server's at revision ${state.revision}` : `revision ${state.revision}`);
    const names = this.trackedBoxes().map(b => b.name);
    if (names.length) parts.push(`recognised: ${names.join(', ')}`);
    parts.push(`colours: ${options.look}; camera: ${options.mode}`);
    if (scene.metres !== null) first.push(`measured: ${scene.metres.toFixed(3)} m`);
    else if (this.measuring) first.push(`measuring: ${scene.measured.length} of 2 points`);
    const text = list => list.map(p => p[0].toUpperCase() + p.slice(1)).join('. ') + '.';
    this.controls.tell(text(first), text(parts), performance.now());
  }

  close() {
    cancelAnimationFrame(this.timer);
    this.resizing.disconnect();
    this.theme.removeEventListener('change', this.onTheme);
    this.input.close();
    this.mirror.close();
    this.renderer?.gl.getExtension('WEBGL_lose_context')?.loseContext();
    this.canvas.parentElement?.replaceChildren();
  }
}

/**
 * Fills an element, which must have a height, with a view of a cloud.
 * @param {HTMLElement} element
 * @param {{touch?: boolean, onstate?: (state: object) => void}} options
 * @returns {Promise<View>}
 */
export async function openView(element, options = {}) {
  return new View(element, options);
}
