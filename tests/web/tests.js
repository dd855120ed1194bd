/* tests.js - runs the test files of this folder and leaves their lines in `window.tap` */
import * as line from './line.test.js';
import * as mirror from './mirror.test.js';
import * as page from './page.test.js';
import * as things from './things.test.js';
import * as view from './view.test.js';
import * as xr from './xr.test.js';
import {tap} from './tap.js';

async function golden(name) {
  const text = await (await fetch(`/tests/golden/wire/${name}.hex`)).text();
  return Uint8Array.from(text.trim().split(/\s+/), byte => parseInt(byte, 16));
}

window.tap = await tap({...mirror.tests, ...page.tests, ...line.tests, ...xr.tests, ...view.tests, ...things.tests}, golden);
