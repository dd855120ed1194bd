/* controls.js - the tool bar of the view, its clip box, its labels, and its state as text */

export const LOOKS = ['colour', 'height', 'confidence', 'normals', 'submaps'];
const MODES = {orbit: 'around', fly: 'fly (WASD QE)', follow: 'behind phone'};
const KEYS = 'Drag or arrow keys: turn. Right button, two fingers or Shift: move. Wheel, pinch, + and -: nearer, farther. Double click: look at that point. '
  + 'H: all of it. O, G, F: around a point, fly, behind the phone. 1 to 5: colours. M: measure, by clicks or with Enter in the middle. X: clip box. Escape: end it.';

/** An element with properties, attributes (`aria-...`, `role`, `for`) and children. */
export function make(name, about = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (key.includes('-') || key === 'role' || key === 'for') element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

export class Controls {
  /**
   * @param {HTMLElement} root
   * @param {object} options what is shown and how: changed here, and told by onchange(name)
   * @param {{change: (name: string) => void, home: () => void, measure: () => void}} to
   */
  constructor(root, options, to) {
    Object.assign(this, {options, to, inputs: {}, labels: new Map()});
    this.canvas = make('canvas', {className: 'view-canvas', tabIndex: 0, role: 'application', 'aria-label': 'The cloud. ' + KEYS});
    this.overlay = make('div', {className: 'view-labels', 'aria-hidden': 'true'});
    this.sentence = make('p', {className: 'view-sentence', role: 'alert', hidden: true});
    this.status = make('p', {className: 'view-status', role: 'status', 'aria-live': 'off'});
    this.clip = this.clipBox();
    this.bar = make('div', {className: 'view-bar', role: 'toolbar', 'aria-label': 'How the cloud is shown'},
      this.choice('look', 'Colours', Object.fromEntries(LOOKS.map(l => [l, l]))), this.choice('mode', 'Camera', MODES),
      this.button('home', 'All of it', () => to.home()), this.measureButton = this.button('measure', 'Measure', () => to.measure()),
      make('details', {className: 'view-more'}, make('summary', {textContent: 'More'}), make('div', {className: 'view-panel'},
        this.slider('size', 'Size of points', 0.3, 4, 0.1), this.slider('shading', 'Shading', 0, 2, 0.1), this.check('trail', "The phone's way"),
        this.check('boxes', 'Boxes of submaps and objects'), this.check('unplaced', 'Submaps without a place'),
        this.check('before', 'As it was before the last correction'), this.check('clip', 'Clip box'), this.clip, make('p', {textContent: KEYS}))));
    root.classList.add('view-root');
    root.replaceChildren(this.canvas, this.overlay, make('div', {className: 'view-top'}, this.bar, this.sentence), this.status);
    for (const name of Object.keys(this.inputs)) this.show(name);
  }

  row(label, input) {
    return make('label', {className: 'view-row'}, make('span', {textContent: label}), input);
  }

  bind(name, input, read) {
    this.inputs[name] = input;
    input.addEventListener('input', () => {
      this.options[name] = read(input);
      this.to.change(name);
    });
    return input;
  }

  choice(name, label, words) {
    return this.row(label, this.bind(name, make('select', {}, ...Object.entries(words).map(([value, textContent]) => make('option', {value, textContent}))), i => i.value));
  }

  slider(name, label, min, max, step) {
    const input = make('input', {type: 'range'});
    Object.assign(input, {min, max, step});
    return this.row(label, this.bind(name, input, i => Number(i.value)));
  }

  check(name, label) {
    return this.row(label, this.bind(name, make('input', {type: 'checkbox'}), i => i.checked));
  }

  button(name, textContent, onclick) {
    return make('button', {type: 'button', className: 'view-button', textContent, onclick});
  }

  clipBox() {
    const rows = ['x', 'y', 'z'].flatMap((axis, i) => ['min', 'max'].map(side => {
      const input = make('input', {type: 'range', min: 0, max: 1, step: 0.005, value: side === 'min' ? 0 : 1});
      input.addEventListener('input', () => {
        this.options.clipShare[side][i] = Number(input.value);
        this.to.change('clipShare');
      });
      return this.row(`${axis}, ${side === 'min' ? 'from' : 'to'}`, input);
    }));
    return make('fieldset', {className: 'view-clip', hidden: true}, make('legend', {textContent: 'Clip box'}), ...rows);
  }

  /** An option that was changed elsewhere. */
  show(name) {
    const input = this.inputs[name], value = this.options[name];
    if (input?.type === 'checkbox') input.checked = value;
    else if (input) input.value = value;
    this.clip.hidden = !this.options.clip;
  }

  /** Rows that make no sense now are greyed out. */
  enable(name, able) {
    if (this.inputs[name].disabled === able) this.inputs[name].disabled = !able;
  }

  measuring(on) {
    this.measureButton.setAttribute('aria-pressed', String(on));
    this.canvas.classList.toggle('view-measuring', on);
  }

  /** A sentence that stands until it is taken back; null takes it back. */
  say(text) {
    this.sentence.hidden = text === null;
    if (text !== null && this.sentence.textContent !== text) this.sentence.textContent = text;
  }

  /** The state as text; `more` is for those who do not see the picture. It is read aloud at most every ten seconds: numbers that run are no speech. */
  tell(text, more, now) {
    if (this.status.textContent === `${text} ${more}`) return;
    const aloud = now - (this.spoken ?? -Infinity) > 10000;
    if (aloud) this.spoken = now;
    this.status.setAttribute('aria-live', aloud ? 'polite' : 'off');
    this.status.replaceChildren(text, ' ', make('span', {className: 'view-unseen', textContent: more}));
  }

  /** Words in the picture: [{key, text, x, y}] in CSS pixels. */
  label(list) {
    const seen = new Set();
    for (const {key, text, x, y} of list) {
      let element = this.labels.get(key);
      if (!element) this.labels.set(key, element = this.overlay.appendChild(make('span', {className: 'view-label'})));
      if (element.textContent !== text) element.textContent = text;
      element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      seen.add(key);
    }
    for (const [key, element] of this.labels) {
      if (seen.has(key)) continue;
      element.remove();
      this.labels.delete(key);
    }
  }
}
