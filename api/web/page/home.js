/* home.js - the scans that there are, the button that begins one, and the token where the server asks for one */
import { forgetAll, keepSession, ownSessions, setUserToken, userToken } from './access.js';
import { el, number } from './dom.js';
import { xrSupported } from '../capture/xr.js';
import { clockWrong, insecure, problem, sessionState } from './sentences.js';

const REFRESH_MS = 3000, LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

function tokenForm(again, why) {
  const token = el('input', { type: 'password', id: 'token', autocomplete: 'current-password', required: true, spellcheck: false });
  const keep = el('input', { type: 'checkbox', id: 'keep' });
  const submit = event => {
    event.preventDefault();
    setUserToken(token.value.trim(), keep.checked);
    again();
  };
  return el('form', { class: 'note', onsubmit: submit },
    el('h2', {}, 'This server asks for a token'),
    why && el('p', { role: 'alert' }, why),
    el('p', {}, 'Its operator makes one by “reconctl token new”. A link that was shared with you needs none.'),
    el('p', {}, el('label', { for: 'token' }, 'Token '), token),
    el('p', {}, keep, el('label', { for: 'keep' }, ' remember it on this device')),
    el('p', {}, el('button', { class: 'main', id: 'enter' }, 'Enter')));
}

function row(s) {
  const when = new Date(s.created), name = s.name || 'Scan of ' + when.toLocaleString();
  return el('li', {},
    el('a', { href: '#/s/' + s.id }, name),
    el('span', { class: 'quiet' }, ` ${sessionState(s.state)}; ${number(s.points)} points, ${number(s.counts.used)} pictures, `
      + `${s.clients.view + s.clients.ingest} connected`),
    (s.fault || s.damaged) && el('strong', {}, ' ' + (s.fault || s.damaged)));
}

/** Begin a scan, and go to it. Poses come with the pictures where the browser has them, else they follow from the pictures. */
export async function begin(app, name, posed) {
  const session = await app.rest().create({ ...name && { name }, pose_source: posed ? 'device' : 'learned' });
  keepSession(session.id, session.tokens);
  app.scanNow = session.id;
  app.go('#/s/' + session.id);
}

function beginForm(app, fail) {
  const name = el('input', { id: 'name', maxLength: 60, autocomplete: 'off' });
  const posed = el('input', { type: 'checkbox', id: 'posed' });
  const posedRow = el('p', { hidden: true }, posed, el('label', { for: 'posed' },
    ' let the phone’s own tracking say where it is (metres are true then)'));
  xrSupported().then(yes => { posedRow.hidden = !yes; posed.checked = yes; });
  const button = el('button', { class: 'main', id: 'begin' }, 'New scan');
  const submit = async event => {
    event.preventDefault();
    button.disabled = true;
    await begin(app, name.value.trim(), posed.checked).catch(fail);
    button.disabled = false;
  };
  return el('form', { class: 'begin', onsubmit: submit },
    el('p', {}, 'Walk through a room with the camera: a cloud of coloured points grows here and for everybody that the link is shared with.'),
    el('p', {}, el('label', { for: 'name' }, 'Name '), name, ' ', button), posedRow,
    !window.isSecureContext && el('p', { class: 'note' }, insecure()),
    LOOPBACK.test(location.hostname) && el('p', { class: 'quiet' }, 'This address is the server’s own machine. Phones open it under a name that they can reach, over HTTPS.'));
}

export function home(app) {
  const list = el('ul', { class: 'sessions' }), note = el('div', { role: 'status', 'aria-live': 'polite' });
  let over = false, timer, known = '';
  const fail = why => note.replaceChildren(el('p', { class: 'note', role: 'alert' }, problem(why)));

  const draw = sessions => {
    const text = JSON.stringify(sessions.map(s => [s.id, s.name, s.state, s.points, s.counts.used, s.clients, s.fault, s.damaged]));
    if (text === known) return;
    known = text;
    list.replaceChildren(...sessions.length ? sessions.map(row)
      : [el('li', { class: 'quiet' }, 'There is none yet. Press “New scan”, walk slowly, and watch it grow.')]);
  };
  const frame = () => app.show(beginForm(app, fail), note, el('h2', {}, 'Scans'), list,
    userToken() && el('p', {}, el('button', { id: 'leave', onclick: () => { forgetAll(); look(true); } }, 'Forget the token on this device')));

  /* A token of a session alone sees no list: then those that this page has opened. */
  const mine = async () => {
    const all = await Promise.allSettled(ownSessions().map(id => app.restOf(id).session(id)));
    return all.filter(a => a.status === 'fulfilled').map(a => a.value);
  };
  const look = async first => {
    clearTimeout(timer);
    try {
      const rest = app.rest(), { sessions } = await rest.sessions(100), clock = clockWrong(rest.skewMs);
      if (over) return;
      if (first) frame();
      draw(sessions.reverse());
      note.replaceChildren(...clock ? [el('p', { class: 'note', id: 'clock' }, clock)] : []);
    } catch (why) {
      if (over) return;
      if (why.status === 401) {
        const own = await mine();
        if (over) return;
        app.show(tokenForm(() => look(true), userToken() ? problem(why) : ''), own.length && el('h2', {}, 'Opened here'), own.length && list);
        draw(own);
        return;
      }
      if (first) frame();
      fail(why);
    }
    if (!over) timer = setTimeout(look, REFRESH_MS);
  };
  look(true);
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
