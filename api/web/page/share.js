/* share.js - a link to one scan, as text and as a picture code; it holds a one-time ticket in its fragment, never a token */
import { el } from './dom.js';
import { problem } from './sentences.js';
import { qrPicture } from './qr.js';

/** The address that a ticket makes; a fragment is sent to no server. */
export const linkOf = ticket => location.origin + location.pathname + '#t=' + ticket;

export async function share(app, id) {
  const place = el('div', { id: 'link' }, el('p', {}, 'Making a link …'));
  const make = async scope => {
    try {
      const { ticket, expires_s } = await app.restOf(id).ticket(id, scope), link = linkOf(ticket);
      const field = el('input', { id: 'url', value: link, readOnly: true, 'aria-label': 'Link', onfocus: e => e.target.select() });
      place.replaceChildren(qrPicture(link, 'Picture code of the link'), el('p', {}, field),
        el('p', { class: 'quiet' }, `Opens once, within ${Math.round(expires_s / 60)} minutes, and lets its holder `
          + `${scope === 'view' ? 'watch this scan' : 'watch, scan, finish and delete this scan'}.`),
        el('p', { class: 'row' },
          navigator.clipboard && el('button', { type: 'button', onclick: () => navigator.clipboard.writeText(link) }, 'Copy'),
          navigator.share && el('button', { type: 'button', onclick: () => navigator.share({ url: link }).catch(() => {}) }, 'Send …'),
          el('button', { type: 'button', id: 'another', onclick: () => make(scope) }, 'Another link')));
    } catch (why) {
      place.replaceChildren(el('p', { role: 'alert' }, problem(why)));
    }
  };
  const choice = el('select', { id: 'scope', onchange: () => make(choice.value) },
    el('option', { value: 'view' }, 'to watch'), el('option', { value: 'ingest' }, 'to scan with another phone'));
  const dialog = el('dialog', { id: 'share-dialog', 'aria-label': 'Share' },
    el('p', {}, el('label', { for: 'scope' }, 'A link '), choice), place,
    el('form', { method: 'dialog' }, el('button', { class: 'main' }, 'Done')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  await make('view');
}
