/* access.js - tokens that the page holds: of the user, and of sessions that were made or opened here
 *
 * They live in sessionStorage, which outlasts a reload and ends with the tab; with "remember" in localStorage. Never in an address,
 * never in IndexedDB beside frames. */

const USER = 'recond.token', SESSIONS = 'recond.sessions', MOST = 50;

function stores() {
  const all = [];
  for (const name of ['sessionStorage', 'localStorage']) {
    try {
      all.push(window[name]);
    } catch { /* a browser that keeps nothing for pages throws here */ }
  }
  return all;
}

function read(key) {
  for (const s of stores()) {
    const text = s.getItem(key);
    if (text) return text;
  }
  return '';
}

function write(key, text, keep) {
  const [now, always] = stores();
  try {
    now?.setItem(key, text);
    if (keep) always?.setItem(key, text);
  } catch { /* full: it holds until the page is left */ }
}

const held = { token: read(USER), sessions: {} };
try {
  held.sessions = JSON.parse(read(SESSIONS) || '{}');
} catch { /* another program's */ }

export const remembers = () => !!stores()[1]?.getItem(USER);
export const userToken = () => held.token;

export function setUserToken(token, keep) {
  held.token = token;
  write(USER, token, keep);
}

/** The best token for a session: its own, else the user's. */
export const tokenOf = id => held.sessions[id]?.ingest ?? held.sessions[id]?.view ?? held.token;
/** May this page feed the session? A user's token is tried; the server says no if not. */
export const mayFeed = id => !!held.sessions[id]?.ingest || !held.sessions[id]?.view;
export const ownSessions = () => Object.keys(held.sessions);

export function keepSession(id, tokens) {
  delete held.sessions[id];
  held.sessions[id] = tokens;
  for (const old of Object.keys(held.sessions).slice(0, -MOST)) delete held.sessions[old];
  write(SESSIONS, JSON.stringify(held.sessions), remembers());
}

export function forgetSession(id) {
  delete held.sessions[id];
  write(SESSIONS, JSON.stringify(held.sessions), remembers());
}

export function forgetAll() {
  held.token = '';
  held.sessions = {};
  for (const s of stores()) {
    s.removeItem(USER);
    s.removeItem(SESSIONS);
  }
}
