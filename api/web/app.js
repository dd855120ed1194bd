/* app.js - the page begins here: what the address asks for, and the part of the page that shows it
 *
 *   #/          the scans that there are, and a button that begins one
 *   #/s/ID      one scan
 *   #t=TICKET   a link that was shared: the ticket is exchanged for a token, and leaves the address before anything else happens */
import { Rest } from './client/recond.js';
import { keepSession, tokenOf, userToken } from './page/access.js';
import { el, say } from './page/dom.js';
import { problem } from './page/sentences.js';
import { home } from './page/home.js';
import { sessionPage } from './page/session.js';

const main = document.getElementById('main'), state = document.getElementById('state');
let leave = null;

/** What the parts of the page need of it. */
const app = {
  rest: (token = userToken()) => new Rest({ token }),
  restOf: id => new Rest({ token: tokenOf(id) }),
  say: text => say(state, text),
  go: hash => { location.hash = hash; },
  show: (...children) => main.replaceChildren(...children),
};

async function open(ticket) {
  app.say('Opening the link …');
  try {
    const { session, scope, token } = await app.rest('').exchange(ticket);
    keepSession(session, { [scope]: token });
    history.replaceState(null, '', '#/s/' + session);
    return show();
  } catch (why) {
    app.show(el('section', { class: 'note', role: 'alert' }, el('h2', {}, 'This link does not open'), el('p', {}, problem(why)),
      el('p', {}, el('a', { href: '#/' }, 'All scans'))));
    app.say('');
  }
  return null;
}

async function show() {
  leave?.();
  leave = null;
  const hash = location.hash, ticket = /^#t=([A-Za-z0-9_-]+)$/.exec(hash)?.[1], id = /^#\/s\/([a-z2-7]+)$/.exec(hash)?.[1];
  if (ticket) {
    history.replaceState(null, '', location.pathname + '#/');
    return open(ticket);
  }
  app.say('');
  leave = id ? sessionPage(app, id) : home(app);
  main.focus({ preventScroll: true });
  return null;
}

addEventListener('hashchange', show);
show();
