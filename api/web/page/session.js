/* session.js - one scan: its cloud as it grows, the camera that feeds it, what can be done with it */
import { Client, LocalMirror, Store } from '../client/recond.js';
import { forgetSession, mayFeed, tokenOf } from './access.js';
import { ask, download, el, megabytes, number, say } from './dom.js';
import { Meter } from './meter.js';
import { clockWrong, problem, reason, sessionState, streamState } from './sentences.js';
import { share } from './share.js';
import { Capture } from './capture.js';

const REFRESH_MS = 2000, NUMBERS_MS = 500, STORE_BYTES = 96 << 20;

/** The view if the browser can run it, else a mirror alone: counts, hash and download work without a picture. */
async function openCloud(element, onstate) {
  try {
    const { openView } = await import('../view/view.js');
    return await openView(element, { touch: matchMedia('(pointer: coarse)').matches, onstate });
  } catch (why) {
    console.warn('no picture of the cloud:', why.message);
  }
  const mirror = new LocalMirror();
  element.replaceChildren(el('p', { class: 'note' }, 'This browser cannot draw the cloud. Numbers and downloads work.'));
  const look = () => onstate({ points: mirror.points, hash: mirror.hash, equal: mirror.client?.resume && !mirror.client.resume.block ? true : null, revision: mirror.revision, lost: true });
  const timer = setInterval(look, 250);
  return { mirror, camera() {}, corrected() {}, intrinsics() {}, up() {}, close: () => clearInterval(timer) };
}

/** A phone's name among those that feed the scan, the same after a reload. */
function sourceName(id) {
  const key = 'recond.source.' + id;
  try {
    const name = localStorage.getItem(key) ?? 'page-' + Math.random().toString(36).slice(2, 8);
    localStorage.setItem(key, name);
    return name;
  } catch {
    return 'page-' + Math.random().toString(36).slice(2, 8);
  }
}

/* The path is asked for no more often. */
const PATH_MS = 5000;

class SessionPage {
  constructor(app, id) {
    Object.assign(this, { app, id, over: false, session: null, client: null, meter: null, capture: null, cloud: {}, resume: null });
    this.rest = app.restOf(id);
    this.draw();
    this.begin().catch(why => this.fail(why));
  }

  // ------------------------------------------------------------------------- what stands on the page

  draw() {
    const b = this.buttons = {};
    const button = (name, label, onclick, more = {}) => { b[name] = el('button', { type: 'button', id: name, onclick, ...more }, label); };
    this.title = el('h2', { id: 'title' }, 'Scan');
    this.cloudPlace = el('div', { class: 'cloud' });
    this.cameraPlace = el('div', { class: 'camera', hidden: true });
    this.tellPlace = el('p', { class: 'tell', role: 'status', 'aria-live': 'polite', id: 'tell' });
    this.clockPlace = el('p', { class: 'note', id: 'clock', hidden: true });
    this.numbersPlace = el('div', { class: 'numbers', id: 'numbers' });
    button('scan', 'Scan', () => this.toggle(), { class: 'main', hidden: true, disabled: true });
    button('torch', 'Light', () => this.capture?.toggleTorch(b.torch), { hidden: true, 'aria-pressed': 'false' });
    button('share', 'Share', () => share(this.app, this.id), { hidden: true });
    button('finish', 'Finish', () => this.finish(), { hidden: true });
    button('save', 'Download', () => this.save());
    button('remove', 'Delete', () => this.remove(), { class: 'danger', hidden: true });
    this.settings = el('div', { id: 'settings', hidden: true });
    this.app.show(this.title, el('div', { class: 'stage' }, this.cloudPlace, this.cameraPlace), this.tellPlace, this.clockPlace, this.numbersPlace,
      el('div', { class: 'row' }, b.scan, b.torch, b.share, b.finish, b.save, b.remove), this.settings);
    document.getElementById('main').classList.add('whole');
  }

  tell(text, bad = false) {
    say(this.tellPlace, text);
    this.tellPlace.classList.toggle('bad', bad && !!text);
  }

  fail(why) {
    if (this.over) return;
    this.failure = why;
    this.tell(problem(why), true);
  }

  /** What the user should know first. */
  describe() {
    const { client, session, meter, capture } = this;
    if (this.failure) return [problem(this.failure), true];
    const line = client && streamState(client, session);
    if (line) return [line, client.state !== 'connecting'];
    if (session?.fault || session?.damaged) return [session.fault || session.damaged, true];
    if (capture?.full) return [problem(capture.full), true];
    if (capture) {
      const why = reason(meter?.reason ?? '');
      if (why) return [why, false];
      if (capture.note) return [capture.note, false];
      if (!this.cloud.points) return ['Walk slowly, with the camera on what you want to keep.', false];
      return ['Scanning.', false];
    }
    if (!session) return ['', false];
    return [`This scan ${sessionState(session.state)}.`, false];
  }

  numbers() {
    if (this.over) return;
    const { client, meter, cloud } = this;
    this.tell(...this.describe());
    const parts = [`${number(cloud.points ?? 0)} points`];
    if (this.capture) parts.push(`${number(meter.rate)} pictures/s`, `${number(meter.delayMs / 1000)} s delay`);
    if (client?.backlog) parts.push(`${client.backlog} pictures wait`);
    if (client) parts.push(`${megabytes(client.sentBytes)} up`, `${megabytes(client.receivedBytes)} down`);
    if (this.session) parts.push(`${this.session.clients.view + this.session.clients.ingest} connected`);
    const text = parts.join('\n');
    if (this.numbersText !== text) {
      this.numbersText = text;
      this.numbersPlace.replaceChildren(...parts.map(p => el('span', {}, p)));
    }
    const data = document.body.dataset;
    Object.assign(data, {
      points: cloud.points ?? 0, hash: cloud.hash ?? '', equal: String(cloud.equal ?? null), stream: client?.state ?? '',
      first: meter?.points(cloud.points) ?? '', before: meter?.before ?? '', used: meter?.answers.used ?? 0, scanning: String(!!this.capture), waiting: client?.backlog ?? 0, session: this.session?.state ?? '',
    });
  }

  // ------------------------------------------------------------------------- life

  async begin() {
    this.refresh();
    this.ticker = setInterval(() => this.numbers(), NUMBERS_MS);
    this.view = await openCloud(this.cloudPlace, state => {
      this.cloud = state;
      this.numbers();
    });
    if (this.over) return this.view.close();
    this.session ??= await this.rest.session(this.id);
    this.view.up(this.session.options.up);
    this.showSession();
    this.path();
    try {
      await this.connect('view');
    } finally { // who scans takes over this connection: before it is there a press would be lost
      this.buttons.scan.disabled = false;
    }
    if (this.app.scanNow === this.id || sessionStorage.getItem('recond.scanning') === this.id) await this.toggle();
    return null;
  }

  async refresh() {
    clearTimeout(this.timer);
    try {
      this.session = await this.rest.session(this.id);
      if (this.failure?.type === 'unreachable') this.failure = null;
      this.showSession();
    } catch (why) {
      if (why.final) return this.fail(why);
    }
    if (!this.over) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
    return null;
  }

  showSession() {
    const { session } = this, open = session.state !== 'closed', feeds = mayFeed(this.id), clock = clockWrong(this.rest.skewMs);
    say(this.clockPlace, clock);
    this.clockPlace.hidden = !clock;
    say(this.title, session.name || 'Scan of ' + new Date(session.created).toLocaleString());
    this.buttons.scan.hidden = !(feeds && (open || this.capture));
    this.buttons.finish.hidden = !(feeds && open);
    this.buttons.share.hidden = this.buttons.remove.hidden = !feeds;
  }

  /** A stream in this role; the cloud that is held stays, and is gone on with. */
  async connect(role) {
    const before = this.client;
    const source = role === 'ingest' ? sourceName(this.id) : undefined;
    const store = source && 'indexedDB' in window ? new Store(`${this.id}.${source}`, { maxBytes: STORE_BYTES }) : undefined;
    const pose = this.session.options.pose_source === 'device' ? 'opengl' : 'cv';
    const client = this.client = new Client({
      url: this.session.stream_url, token: tokenOf(this.id), role, source, pose, store, mirror: this.view.mirror, rest: this.rest,
    });
    client.resume = before?.resume ?? null;
    before?.stop();
    this.meter = new Meter(client);
    client.on('state', () => this.numbers());
    client.on('ack', m => m.pose && this.view.camera({ source, seq: m.seq, ...placed(m, pose) }));
    client.on('poses', m => this.view.corrected(m.seqs.map((seq, i) => ({ seq, ...placed({ pose: m.poses[i] }, pose) })), source));
    client.on('ready', () => this.view.recognised(null));
    client.on('objects', list => this.view.recognised(list));
    client.on('error', why => { if (why.type === 'store-full' && this.capture) this.capture.full = why; });
    client.on('closed', () => this.refresh());
    client.on('ended', () => this.numbers());
    await client.start().catch(async why => {
      if (!store) throw why;                 /* a browser without room for the store: the frames are kept in memory alone */
      client.store = null;
      client.state = 'new';
      await client.start();
    });
  }

  async toggle() {
    this.app.scanNow = null;
    this.failure = null;
    this.buttons.scan.disabled = true;
    try {
      if (this.capture) await this.pause();
      else await this.record();
    } catch (why) {
      this.drop();
      this.fail(why);
    }
    this.buttons.scan.disabled = false;
    this.numbers();
  }

  async record() {
    const capture = new Capture(this);
    await capture.open();
    if (this.over) return capture.close();
    if (this.client.role !== 'ingest') await this.connect('ingest');
    this.capture = capture;
    capture.start();
    say(this.buttons.scan, 'Pause');
    sessionStorage.setItem('recond.scanning', this.id);
    return null;
  }

  /** The camera goes; what it took is still sent. */
  async pause() {
    this.drop();
    this.showSession();
  }

  drop() {
    this.capture?.close();
    this.capture = null;
    say(this.buttons.scan, 'Scan');
    sessionStorage.removeItem('recond.scanning');
  }

  // ------------------------------------------------------------------------- what can be done with it

  async finish() {
    const sure = await ask('Finish this scan? It takes no more pictures then, and can be looked at and downloaded.', [
      ['yes', 'Finish', 'main'], ['', 'Go on']]);
    if (sure !== 'yes') return;
    this.drop();
    this.client.end();
    await this.rest.close(this.id).then(s => { this.session = s; this.showSession(); }).catch(why => this.fail(why));
  }

  /** The camera's path on a page that does not feed: asked for again while the cloud changes, the more seldom the longer that takes. */
  async path(drawn = null) {
    const start = performance.now(), revision = this.view.state?.revision ?? 0;
    if (revision !== drawn && !this.capture) {
      try {
        const text = await (await this.rest.file(this.id, 'trajectory')).text();
        if (!this.over && !this.capture) this.view.trajectory?.(text);
      } catch { /* no path yet: it is asked for again */ }
    }
    if (!this.over) setTimeout(() => this.path(revision), Math.max(PATH_MS, 50 * (performance.now() - start)));
  }

  async save() {
    const what = await ask('Download', [['cloud', 'Points (PLY)', 'main'], ['trajectory', 'Path of the camera (TUM)'], ['', 'Nothing']]);
    if (!what) return;
    this.tell('Downloading …');
    try {
      const name = (this.session?.name || this.id).replace(/[^\w.-]+/g, '-');
      download(await this.rest.file(this.id, what), name + (what === 'cloud' ? '.ply' : '.txt'));
    } catch (why) {
      this.fail(why);
    }
  }

  async remove() {
    const sure = await ask('Delete this scan, its pictures and its points, for everybody? This cannot be undone.', [
      ['yes', 'Delete', 'danger'], ['', 'Keep it', 'main']]);
    if (sure !== 'yes') return;
    this.drop();
    try {
      await this.rest.remove(this.id);
      await Store.remove(`${this.id}.${sourceName(this.id)}`);
      forgetSession(this.id);
      this.app.go('#/');
    } catch (why) {
      this.fail(why);
    }
  }

  leave() {
    this.over = true;
    clearTimeout(this.timer);
    clearInterval(this.ticker);
    this.drop();
    this.client?.stop();
    this.view?.close();
    document.getElementById('main').classList.remove('whole');
  }
}

/** An answer's pose in the axes of the convention `cv`: x right, y down, z forward. */
export function placed({ pose: [x, y, z, w, ...t], submap = 0, quality = 0 }, convention) {
  const q = convention === 'opengl' ? [w, z, -y, -x] : [x, y, z, w];
  return { q, t, submap, quality };
}

export function sessionPage(app, id) {
  const page = new SessionPage(app, id);
  return () => page.leave();
}
