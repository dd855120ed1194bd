/* camera.js - the camera that looks away from the user, as a <video> whose pictures can be taken */

/** An error that the page has a sentence for. */
function fail(type, message) {
  return Object.assign(new Error(message), { type });
}

export class Camera {
  /**
   * Ask for the camera. The browser asks the user.
   * @param {{ long?: number, device?: string }} [wish] long: pixels of the longer side
   */
  static async open({ long = 1280, device = '' } = {}) {
    if (!window.isSecureContext || !navigator.mediaDevices?.getUserMedia) throw fail('insecure', 'no camera for pages without HTTPS');
    const size = { width: { ideal: long }, height: { ideal: Math.round(long * 3 / 4) }, frameRate: { ideal: 30 } };
    const which = device ? { deviceId: { exact: device } } : { facingMode: { ideal: 'environment' } };
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { ...size, ...which }, audio: false });
    } catch (why) {
      throw fail(why.name, why.message);
    }
    const camera = new Camera(stream);
    camera.video.srcObject = stream;
    await camera.video.play();
    return camera;
  }

  constructor(stream) {
    this.stream = stream;
    this.track = stream.getVideoTracks()[0];
    this.video = document.createElement('video');
    Object.assign(this.video, { muted: true, playsInline: true });
    this.video.setAttribute('aria-label', 'What the camera sees');
    this.ended = null;
    this.track.addEventListener('ended', () => this.ended?.());
  }

  /** The camera's name: what was learned about it is kept by this. */
  get name() { return this.track.label || 'camera'; }
  get hasTorch() { return !!this.track.getCapabilities?.().torch; }

  async torch(on) {
    await this.track.applyConstraints({ advanced: [{ torch: on }] });
  }

  close() {
    this.video.srcObject = null;
    for (const track of this.stream.getTracks()) track.stop();
  }
}

/** Keep the screen on while pictures are taken; a browser takes the lock away when the page is hidden. */
export class WakeLock {
  constructor() {
    this.wanted = false;
    document.addEventListener('visibilitychange', () => this.wanted && document.visibilityState === 'visible' && this.take());
  }

  async take() {
    this.wanted = true;
    this.lock = await navigator.wakeLock?.request('screen').catch(() => null);
  }

  release() {
    this.wanted = false;
    this.lock?.release();
    this.lock = null;
  }
}
