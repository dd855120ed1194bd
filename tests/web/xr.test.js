/* xr.test.js - the phone's own tracking, by a made-up navigator.xr: what a frame brings of its pose, its camera and its picture */
import { xrSupported, XrScanner } from '../../api/web/capture/xr.js';
import { frame, READY, withClient } from './socket.js';
import { near, same } from './tap.js';

/* Camera to world: turned by 90 degrees about +y, then moved. WebXR and `opengl` have x right, y up, z back; matrices of WebXR stand by columns. */
const S = Math.SQRT1_2, POSE = { q: [0, S, 0, S], t: [1, 1.5, -2] };
const T_WC = [[0, 0, 1, 1], [0, 1, 0, 1.5], [-1, 0, 0, -2], [0, 0, 0, 1]];
/* 60 degrees high, 4 : 3, the principal point 0.1 to the left of the middle in clip space. */
const PROJECTION = new Float32Array([1.299038, 0, 0, 0, 0, 1.732051, 0, 0, -0.1, 0, -1, -1, 0, 0, -0.2, 0]);
const WIDTH = 64, HEIGHT = 48;

class Session extends EventTarget {
  callbacks = [];
  state = null;
  space = new EventTarget();
  updateRenderState(state) { this.state = state; }
  async requestReferenceSpace(kind) { return kind === 'local' ? this.space : Promise.reject(new Error(kind)); }
  requestAnimationFrame(callback) { this.callbacks.push(callback); }
  async end() { this.dispatchEvent(new Event('end')); }

  /** A moment of the session; returns what the scanner's last step returned. */
  tick(now, pose) {
    const { callbacks } = this, seen = { getViewerPose: space => space === this.space ? pose : null };
    this.callbacks = [];
    callbacks.forEach(call => call(now, seen));
  }
}

/* A camera's picture as a texture: the first row in memory is the bottom. The upper half is red, the lower half blue. */
function picture(gl) {
  const data = new Uint8Array(4 * WIDTH * HEIGHT), texture = gl.createTexture();
  for (let i = 0; i < WIDTH * HEIGHT; i++) data.set(i >= WIDTH * HEIGHT / 2 ? [255, 0, 0, 255] : [0, 0, 255, 255], 4 * i);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, WIDTH, HEIGHT, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
  return texture;
}

/** A browser with tracking: `asked` is what requestSession() was asked for. */
async function withXr(test, refuse = null) {
  const session = new Session(), asked = [], before = Object.getOwnPropertyDescriptor(navigator, 'xr'), { XRWebGLBinding, XRWebGLLayer } = globalThis;
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function context(kind, more) {
    const gl = getContext.call(this, kind, more?.xrCompatible ? {} : more);
    return gl && more?.xrCompatible ? Object.assign(gl, { makeXRCompatible: async () => {} }) : gl;
  };
  Object.defineProperty(navigator, 'xr', { configurable: true, value: {
    isSessionSupported: async mode => mode === 'immersive-ar',
    async requestSession(mode, options) {
      asked.push(mode, ...options.requiredFeatures);
      if (refuse) throw new DOMException('no', refuse);
      return session;
    },
  } });
  Object.assign(globalThis, {
    XRWebGLLayer: class {},
    XRWebGLBinding: class {
      constructor(_, gl) { this.gl = gl; }
      getCameraImage() { return this.texture ??= picture(this.gl); }
    },
  });
  try {
    await test(session, asked);
  } finally {
    HTMLCanvasElement.prototype.getContext = getContext;
    if (before) Object.defineProperty(navigator, 'xr', before);
    else delete navigator.xr;
    Object.assign(globalThis, { XRWebGLBinding, XRWebGLLayer });
    if (!XRWebGLBinding) delete globalThis.XRWebGLBinding;
  }
}

const seen = (more = {}) => ({
  emulatedPosition: false,
  views: [{
    camera: { width: WIDTH, height: HEIGHT }, projectionMatrix: PROJECTION,
    transform: { position: { x: POSE.t[0], y: POSE.t[1], z: POSE.t[2] }, orientation: { x: POSE.q[0], y: POSE.q[1], z: POSE.q[2], w: POSE.q[3] } },
  }],
  ...more,
});

const sent = ws => ws.sent.filter(m => m instanceof ArrayBuffer);

async function until(condition) {
  for (let i = 0; !condition(); i++) {
    if (i > 2000) throw new Error(`never: ${condition}`);
    await new Promise(then => setTimeout(then, 5));
  }
}

/* T_wc by rows, of the seven numbers of a frame's header. */
function matrixOf(message) {
  const v = new DataView(message), [x, y, z, w, a, b, c] = Array.from({ length: 7 }, (_, i) => v.getFloat32(48 + 4 * i, true));
  return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), a], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), b],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), c], [0, 0, 0, 1]];
}

export const tests = {
  'tracked pictures bring T_wc, intrinsics, world and the picture upright': () => withXr((session, asked) => withClient({ pose: 'opengl' }, async (client, ws) => {
    if (!document.createElement('canvas').getContext('webgl2')) return;   /* a browser that draws nothing reads no texture */
    ws().open();
    same(ws().said('start')[0].pose, 'opengl', 'the axes are told');
    ws().tell({ ...READY, limits: { window: 8 } });
    let world = 6, lost = 0;
    const scanner = new XrScanner(client, { onfull() {}, onlost: () => { lost++; }, world: () => ++world });
    same(await xrSupported(), true, 'supported');
    await scanner.open(document.createElement('div'));
    same(asked.join(), 'immersive-ar,camera-access,local', 'asked for');
    scanner.start();
    session.tick(1000, seen());
    await until(() => sent(ws()).length === 1);
    const [message] = sent(ws()), v = new DataView(message);
    matrixOf(message).flat().forEach((x, i) => near(x, T_WC.flat()[i], `T_wc[${i >> 2}][${i & 3}]`, 1e-6));
    same(v.getUint32(4, true), 1 | 2 | 3 << 2, 'a pose, a camera, tracked as it should be');
    same(v.getUint32(24, true), 7, 'world');
    [1.299038 * 32, 1.732051 * 24, 1.1 * 32 - 0.5, 24 - 0.5].forEach((x, i) => near(v.getFloat32(32 + 4 * i, true), x, `intrinsics ${i}`, 1e-3));
    const bitmap = await createImageBitmap(new Blob([message.slice(96)], { type: 'image/jpeg' })), canvas = document.createElement('canvas').getContext('2d');
    canvas.drawImage(bitmap, 0, 0);
    same(`${bitmap.width} x ${bitmap.height}`, `${WIDTH} x ${HEIGHT}`, 'size');
    const at = y => [...canvas.getImageData(32, y, 1, 1).data].map(x => Math.round(x / 255)).join();
    same(`${at(8)} ${at(40)}`, '1,0,0,1 0,0,1,1', 'red is above');
    /* the tracker guesses, begins a new world, sees nothing, is taken away */
    session.tick(2000, seen({ emulatedPosition: true }));
    await until(() => sent(ws()).length === 2);
    session.space.dispatchEvent(new Event('reset'));
    session.tick(3000, seen());
    await until(() => sent(ws()).length === 3);
    const [, guessed, anew] = sent(ws()).map(m => new DataView(m));
    same(guessed.getUint32(4, true) >> 2, 2, 'limited');
    same(anew.getUint32(24, true), 8, 'the next world');
    session.tick(4000, null);
    same(scanner.tracking, 'lost', 'lost is said');
    await session.end();
    same(lost, 1, 'an end from outside is told');
    scanner.close();
    session.tick(5000, seen());
    same(sent(ws()).length, 3, 'nothing after the end');
  })),

  'tracking that is refused says why': () => withXr(async () => {
    const said = async () => {
      const scanner = new XrScanner({ feed: frame }, { onfull() {}, onlost() {}, world: () => 0 });
      try { await scanner.open(document.createElement('div')); } catch (why) { return why.type; } finally { scanner.close(); }
      return 'opened';
    };
    same(await said(), 'press', 'without a press');
  }, 'SecurityError'),
};
