/* intrinsics.js - focal length and centre of a camera's pictures, from its field of view
 *
 * Browsers tell neither. What is kept for a camera is its field of view along the longer side of the picture, in degrees: it is
 * the same upright and turned, and at every size that a picture is made smaller to. */

const KEY = 'recond.view.', LEAST = 20, MOST = 150;
/** Of most phones' main cameras, within a few degrees. */
export const USUAL_DEGREES = 67;

export const degreesAllowed = d => Number.isFinite(d) && d >= LEAST && d <= MOST;

/** @returns {{ degrees: number, known: boolean }} */
export function viewOf(camera) {
  let kept = NaN;
  try {
    kept = Number.parseFloat(localStorage.getItem(KEY + camera));
  } catch { /* a browser that keeps nothing */ }
  return degreesAllowed(kept) ? { degrees: kept, known: true } : { degrees: USUAL_DEGREES, known: false };
}

export function keepView(camera, degrees) {
  if (!degreesAllowed(degrees)) return;
  try {
    localStorage.setItem(KEY + camera, String(degrees));
  } catch { /* it holds until the page is left */ }
}

/** [fx, fy, cx, cy] in pixels of a picture of this size; pixel centres at integers. */
export function intrinsicsOf(degrees, width, height) {
  const f = Math.max(width, height) / 2 / Math.tan(degrees * Math.PI / 360);
  return [f, f, (width - 1) / 2, (height - 1) / 2];
}

/** The field of view that a focal length of f pixels means. */
export function degreesOf(f, width, height) {
  return 2 * Math.atan(Math.max(width, height) / 2 / f) * 180 / Math.PI;
}

/** The size that a picture is sent at: no larger than it is, its longer side at most `long`, both even. */
export function sizeFor(width, height, long) {
  const scale = Math.min(1, long / Math.max(width, height));
  const even = x => Math.max(16, 2 * Math.round(x * scale / 2));
  return [even(width), even(height)];
}
