/* calibration.js - the dialog in which a checkerboard says what the camera's field of view is */
import { Calibration } from '../capture/calibrate.js';
import { sizeFor } from '../capture/intrinsics.js';
import { el, say } from './dom.js';

const LONG = 640, VIEWS = 6, VIEWS_MOST = 16, GOOD_DEGREES = 0.5;
const WORDS = {
  none: 'No board is seen. Bring all of it into the picture, with even light.',
  blurred: 'The board is blurred or bent. Hold still; lay it flat.',
  flat: 'Tilt the camera: look at the board from the side, from above, from a corner.',
  alike: 'That was seen. Look from another side.',
  taken: 'Good. Now from another side.',
};

/**
 * Ask the user for views of the board.
 * @param {HTMLVideoElement} video
 * @returns {Promise<number | null>} degrees along the longer side; null if the user left
 */
export function calibrate(video) {
  const canvas = el('canvas', { 'aria-label': 'What the camera sees, with the corners that were found', role: 'img', class: 'board' });
  const text = el('p', { role: 'status', 'aria-live': 'polite', id: 'board-says' }, WORDS.none), count = el('p', { class: 'quiet' });
  const dialog = el('dialog', { id: 'calibration', 'aria-label': 'Measure the field of view' },
    el('p', {}, 'Print ', el('a', { href: 'page/board.svg', target: '_blank', rel: 'noopener' }, 'the checkerboard'),
      ', or show it on a screen, and look at it from different sides. Its size does not matter.'),
    canvas, text, count, el('form', { method: 'dialog' }, el('button', {}, 'Cancel')));
  document.body.append(dialog);
  dialog.showModal();
  const worker = new Worker(new URL('../capture/board-worker.js', import.meta.url), { type: 'module' });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  let calibration = null;

  return new Promise(resolve => {
    let result = null, last = null;
    const look = () => {
      const [width, height] = sizeFor(video.videoWidth || LONG, video.videoHeight || LONG, LONG);
      if (calibration?.width !== width || calibration.height !== height) calibration = new Calibration(width, height);
      Object.assign(canvas, { width, height });
      context.drawImage(video, 0, 0, width, height);
      last = context.getImageData(0, 0, width, height);
      worker.postMessage(last);
    };
    worker.onmessage = ({ data: corners }) => {
      if (!dialog.open) return;
      const word = calibration.add(corners), now = calibration.result;
      context.fillStyle = word === 'taken' ? '#0c4' : '#f50';
      for (const c of corners ?? []) context.fillRect(c.x - 2, c.y - 2, 5, 5);
      say(text, WORDS[word]);
      say(count, `${calibration.views.length} of ${VIEWS} views` + (now ? `; ${now.degrees.toFixed(1)} degrees, to within ${now.error.toFixed(1)}` : ''));
      if (now && now.views >= VIEWS && (now.error < GOOD_DEGREES || now.views >= VIEWS_MOST)) {
        result = now.degrees;
        dialog.close();
      } else {
        setTimeout(look, word === 'taken' ? 500 : 100);
      }
    };
    dialog.addEventListener('close', () => {
      worker.terminate();
      dialog.remove();
      resolve(result);
    });
    look();
  });
}
