/* capture.js - the camera's part of a scan's page: its picture, its settings, what the user is told of it */
import { Scanner } from '../capture/scanner.js';
import { XrScanner, xrSupported } from '../capture/xr.js';
import { degreesAllowed, keepView, viewOf } from '../capture/intrinsics.js';
import { calibrate } from './calibration.js';
import { el } from './dom.js';
import { reason } from './sentences.js';

const FULL_MS = 4000;

export class Capture {
  constructor(page) {
    this.page = page;
    this.fullWhy = null;
    this.fullAt = 0;
    this.lost = '';
    this.scanner = null;
  }

  /** Why pictures cannot be kept just now, or null. */
  get full() { return performance.now() - this.fullAt < FULL_MS ? this.fullWhy : null; }
  set full(why) {
    this.fullWhy = why;
    this.fullAt = performance.now();
  }

  /** What the user should know of the camera, '' if nothing. */
  get note() {
    return this.lost || (this.scanner.tracking === 'lost' ? reason('tracking') : '') || this.scanner.thrift.sentence;
  }

  async open() {
    const { page } = this;
    const client = { get state() { return page.client.state; }, get roomy() { return page.client.roomy; }, get ready() { return page.client.ready; },
      get rate() { return page.client.rate; }, get jpeg() { return page.client.jpeg; }, feed: frame => this.feed(frame) };
    const to = {
      onfull: why => { this.full = why; },
      onlost: () => { this.lost = 'The camera was taken away. Press Pause, then Scan.'; },
      world: () => this.nextWorld(),
    };
    const tracked = page.session.options.pose_source === 'device';
    if (tracked && !await xrSupported()) throw Object.assign(new Error('no tracking'), { type: 'no-tracking' });
    this.scanner = tracked ? new XrScanner(client, to) : new Scanner(client, to);
    const camera = await this.scanner.open();
    page.cameraPlace.replaceChildren(camera.video);
    page.cameraPlace.hidden = tracked;
    page.buttons.torch.hidden = !camera.hasTorch;
    if (!tracked) this.settings(camera);
  }

  /** Worlds of this phone's tracker are counted over reloads: a number stands for one world alone. */
  nextWorld() {
    const key = 'recond.world.' + this.page.id;
    try {
      const n = Number(localStorage.getItem(key) ?? -1) + 1;
      localStorage.setItem(key, String(n));
      return n;
    } catch {
      return Math.floor(Date.now() / 1000);
    }
  }

  feed(frame) {
    const { page } = this, seq = page.client.feed(frame);
    page.meter.fed(seq);
    const [fx, fy, cx, cy] = frame.intrinsics, { width, height } = frame;
    page.view.intrinsics({ fx, fy, cx, cy, width, height });
  }

  settings(camera) {
    const { scanner, page } = this, { degrees, known } = viewOf(camera.name);
    const field = el('input', { type: 'number', id: 'degrees', min: 20, max: 150, step: 0.5, value: String(degrees), inputMode: 'decimal' });
    field.addEventListener('change', () => {
      const value = Number.parseFloat(field.value);
      if (!degreesAllowed(value)) return;
      scanner.degrees = value;
      keepView(camera.name, value);
    });
    const measure = async () => {
      scanner.stop();                        /* a board is no part of the scan */
      const found = await calibrate(camera.video);
      if (found !== null) {
        field.value = found.toFixed(1);
        field.dispatchEvent(new Event('change'));
      }
      if (this === page.capture) scanner.start();
    };
    page.settings.replaceChildren(el('details', {}, el('summary', {}, 'Camera'),
      el('p', {}, el('label', { for: 'degrees' }, 'Field of view along the longer side, degrees '), field, ' ',
        el('button', { type: 'button', id: 'measure', onclick: measure }, 'Measure it')),
      el('p', { class: 'quiet' }, known ? 'As it was set for this camera.'
        : 'Most phones have 60 to 75. Where the maker names a focal length as for 35 mm film, f: 26 mm is 69 degrees, 24 mm 74, 28 mm 65.')));
    page.settings.hidden = false;
  }

  start() {
    this.scanner.start();
  }

  async toggleTorch(button) {
    const on = button.getAttribute('aria-pressed') !== 'true';
    try {
      await this.scanner.camera.torch(on);
      button.setAttribute('aria-pressed', String(on));
    } catch {
      button.hidden = true;
    }
  }

  close() {
    const { page } = this;
    this.scanner?.close();
    page.cameraPlace.replaceChildren();
    page.cameraPlace.hidden = page.buttons.torch.hidden = page.settings.hidden = true;
  }
}

