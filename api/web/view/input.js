/* input.js - mouse, touch, pen and keyboard become moves of the camera */

const TURN = 0.006, WHEEL = 0.0015, CLICK_PX = 5, CLICK_MS = 500, FLY_M_S = 1.2;
const FLY = {KeyW: [0, 0, 1], KeyS: [0, 0, -1], KeyA: [-1, 0, 0], KeyD: [1, 0, 0], KeyQ: [0, -1, 0], KeyE: [0, 1, 0]};

export class Input {
  /**
   * @param {HTMLElement} element takes the focus
   * @param {import('./camera.js').Camera} camera
   * @param {{moved: () => void, click: (u: number, v: number) => void, aim: (u: number, v: number) => void, key: (event: KeyboardEvent) => boolean}} to
   */
  constructor(element, camera, to) {
    Object.assign(this, {element, camera, to});
    this.pointers = new Map();
    this.held = new Set();
    this.end = new AbortController();
    const on = (name, handler, more = {}) => element.addEventListener(name, handler.bind(this), {signal: this.end.signal, ...more});
    on('pointerdown', this.down);
    on('pointermove', this.move);
    on('pointerup', this.up);
    on('pointercancel', this.up);
    on('wheel', this.wheel, {passive: false});
    on('dblclick', e => to.aim(e.offsetX, e.offsetY));
    on('contextmenu', e => e.preventDefault());
    on('keydown', this.keyDown);
    on('keyup', e => this.held.delete(e.code));
    on('blur', () => this.held.clear());
  }

  down(e) {
    this.element.setPointerCapture(e.pointerId);
    this.element.focus({preventScroll: true});
    this.pointers.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
    this.start = this.pointers.size === 1 ? {x: e.offsetX, y: e.offsetY, at: e.timeStamp} : null;
  }

  move(e) {
    const was = this.pointers.get(e.pointerId);
    if (!was) return;
    const others = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p), now = {x: e.offsetX, y: e.offsetY};
    this.pointers.set(e.pointerId, now);
    const dx = now.x - was.x, dy = now.y - was.y, height = this.element.clientHeight || 1;
    if (others.length) {
      const gap = p => Math.hypot(p.x - others[0].x, p.y - others[0].y) || 1;
      this.camera.zoom(gap(was) / gap(now));
      this.camera.pan(dx / 2 / height, dy / 2 / height);
    } else if (e.buttons & 6 || e.shiftKey) {
      this.camera.pan(dx / height, dy / height);
    } else {
      this.camera.turn(dx * TURN, -dy * TURN);
    }
    this.to.moved();
  }

  up(e) {
    this.pointers.delete(e.pointerId);
    const {start} = this;
    this.start = null;
    if (start && e.type === 'pointerup' && e.button === 0 && Math.hypot(e.offsetX - start.x, e.offsetY - start.y) < CLICK_PX && e.timeStamp - start.at < CLICK_MS)
      this.to.click(e.offsetX, e.offsetY);
  }

  wheel(e) {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 30 : e.deltaMode === 2 ? 600 : 1;
    this.camera.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * lines * WHEEL))));
    this.to.moved();
  }

  keyDown(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const {camera} = this, fly = camera.mode === 'fly' && FLY[e.code];
    const steps = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1]}[e.key];
    if (fly) this.held.add(e.code);
    else if (steps && e.shiftKey) camera.pan(-steps[0] / 2, -steps[1] / 2);
    else if (steps) camera.turn(steps[0], steps[1]);
    else if (e.key === '+' || e.key === '=') camera.zoom(0.85);
    else if (e.key === '-') camera.zoom(1 / 0.85);
    else {
      if (this.to.key(e)) e.preventDefault();
      return;
    }
    e.preventDefault();
    this.to.moved();
  }

  /** Moves one who flies; true while keys are held. */
  fly(seconds) {
    for (const code of this.held) this.camera.move(...FLY[code].map(x => x * seconds * FLY_M_S));
    if (this.held.size) this.to.moved();
    return this.held.size > 0;
  }

  close() {
    this.end.abort();
  }
}
