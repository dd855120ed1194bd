/* dom.js - elements from what they hold; texts of others are only ever text */

/** el('p', {class: 'x', onclick: fn}, 'text', child...) */
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name in e && typeof value !== 'string') e[name] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return e;
}

/** Put text into an element only when it is another: a screen reader would read it again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A question in a dialog; resolves to the value of the button, '' for none. */
export function ask(question, buttons) {
  return new Promise(resolve => {
    const dialog = el('dialog', { 'aria-label': question },
      el('form', { method: 'dialog' }, el('p', {}, question),
        el('p', { class: 'row' }, buttons.map(([value, label, kind]) => el('button', { value, class: kind }, label)))));
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Hand a blob to the browser as a file. */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export const number = n => Number(n).toLocaleString('en', { maximumFractionDigits: 1 });
export const megabytes = n => (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + ' MB';
