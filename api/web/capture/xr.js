/* xr.js - pictures with poses from the phone's own tracking: WebXR, immersive-ar with raw camera access
 *
 * The camera's picture is a texture of the moment; it is drawn smaller, read, and encoded like any other. Its pose is the view's, in the
 * axes of `opengl`, and its intrinsics follow from the view's projection. When the tracker begins a new world, `world` counts up. */
import { Encoder } from './encoder.js';
import { Thrift, rateFor } from './thrift.js';
import { sizeFor } from './intrinsics.js';

const LONG = 640, QUALITY = 85, NORMAL = 3, LIMITED = 2;

export async function xrSupported() {
  try {
    return 'XRWebGLBinding' in globalThis && !!await navigator.xr?.isSessionSupported('immersive-ar');
  } catch {
    return false;
  }
}

/** [fx, fy, cx, cy] of a picture of this size, from a projection matrix by columns; the picture's first row is its top. */
export function intrinsicsOfProjection(p, width, height) {
  return [p[0] * width / 2, p[5] * height / 2, (1 - p[8]) * width / 2 - 0.5, (1 + p[9]) * height / 2 - 0.5];
}

/** A camera's texture as pixels of this size, top row first. */
class Reader {
  constructor(gl) {
    this.gl = gl;
    this.from = gl.createFramebuffer();
    this.to = gl.createFramebuffer();
    this.texture = gl.createTexture();
  }

  size(width, height) {
    const { gl } = this;
    if (this.width === width && this.height === height) return;
    Object.assign(this, { width, height, pixels: new Uint8ClampedArray(4 * width * height) });
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, this.to);
    gl.framebufferTexture2D(gl.DRAW_FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
  }

  read(texture, { width: w, height: h }, width, height) {
    const { gl } = this;
    this.size(width, height);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.from);
    gl.framebufferTexture2D(gl.READ_FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, this.to);
    gl.blitFramebuffer(0, 0, w, h, 0, height, width, 0, gl.COLOR_BUFFER_BIT, gl.LINEAR);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.to);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, this.pixels);
    return new ImageData(this.pixels.slice(), width, height);
  }
}

export class XrScanner {
  /**
   * @param {import('../client/recond.js').Client} client
   * @param {{ onfull: (why: Error) => void, onlost: () => void, world: () => number }} to world: the next number of a world of this phone
   */
  constructor(client, { onfull, onlost, world }) {
    Object.assign(this, { client, onfull, onlost, nextWorld: world });
    this.encoder = new Encoder();
    this.thrift = new Thrift();
    this.taken = 0;
    this.running = false;
    this.tracking = '';
    this.due = 0;
  }

  /** Ask for the session. A browser wants that to be a user's doing. */
  async open(root = document.body) {
    this.session = await navigator.xr.requestSession('immersive-ar', {
      requiredFeatures: ['camera-access', 'local'], optionalFeatures: ['dom-overlay'], domOverlay: { root },
    }).catch(why => { throw Object.assign(new Error(why.message), { type: why.name === 'SecurityError' ? 'press' : why.name }); });
    const gl = document.createElement('canvas').getContext('webgl2', { xrCompatible: true });
    await gl.makeXRCompatible();
    this.session.updateRenderState({ baseLayer: new XRWebGLLayer(this.session, gl) });
    this.binding = new XRWebGLBinding(this.session, gl);
    const reader = new Reader(gl);
    this.read = (view, width, height) => reader.read(this.binding.getCameraImage(view.camera), view.camera, width, height);
    this.space = await this.session.requestReferenceSpace('local');
    this.space.addEventListener('reset', () => { this.world = this.nextWorld(); });
    this.session.addEventListener('end', () => this.running && this.onlost());
    root.classList.add('ar');
    this.root = root;
    return { name: 'tracked camera', video: document.createElement('span'), hasTorch: false };
  }

  start() {
    this.running = true;
    this.world = this.nextWorld();
    const tick = (now, frame) => {
      if (!this.running) return;
      this.session.requestAnimationFrame(tick);
      this.take(now, frame);
    };
    this.session.requestAnimationFrame(tick);
  }

  close() {
    this.running = false;
    this.root?.classList.remove('ar');
    this.encoder.close();
    this.thrift.close();
    this.session?.end().catch(() => {});
  }

  get rate() {
    return rateFor({
      server: this.client.rate, encodeMs: this.encoder.ms, battery: this.thrift.battery, pressure: this.thrift.pressure,
      online: this.client.state === 'open',
    });
  }

  /** A picture of this moment, if one is due and there is room. A texture is good within its moment alone, so it is read at once. */
  take(now, frame) {
    const pose = frame.getViewerPose(this.space), view = pose?.views.find(v => v.camera);
    this.tracking = pose ? '' : 'lost';
    if (!view || now < this.due || this.encoder.busy || this.client.state === 'open' && !this.client.roomy) return null;
    this.due = now + 1000 / this.rate;
    const [width, height] = sizeFor(view.camera.width, view.camera.height, LONG);
    const { position: t, orientation: q } = view.transform;
    const about = {
      width, height, tNs: BigInt(Math.round((performance.timeOrigin + now) * 1000)) * 1000n, world: this.world,
      intrinsics: intrinsicsOfProjection(view.projectionMatrix, width, height), tracking: pose.emulatedPosition ? LIMITED : NORMAL,
      pose: { q: [q.x, q.y, q.z, q.w], t: [t.x, t.y, t.z] },
    };
    return this.send(this.read(view, width, height), about);
  }

  async send(picture, about) {
    try {
      const jpeg = await this.encoder.encode(picture, about.width, about.height, (this.client.jpeg ?? QUALITY) / 100);
      if (!this.running) return;
      this.client.feed({ ...about, jpeg });
      this.taken++;
    } catch (why) {
      if (why.type === 'store-full') this.onfull(why);
    }
  }
}
