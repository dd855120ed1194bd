/* rest.js - sessions over REST (docs/API.md) */
import { Problem, Unreachable } from './errors.js';

export class Rest {
  /** @param {{ base?: string, token?: string, fetch?: typeof fetch }} [options] base: of the server, '' = the page's own */
  constructor({ base = '', token = '', fetch: ask } = {}) {
    this.base = base.replace(/\/$/, '');
    this.token = token;
    this.ask = ask ?? ((...args) => fetch(...args));
    this.skewMs = null;                      /* this device's date less the server's, of the last answer that told one */
  }

  /** One request. Returns the Response; throws a Problem or Unreachable. */
  async request(method, path, { body, token = this.token, accept, signal } = {}) {
    const headers = {};
    if (token) headers.Authorization = 'Bearer ' + token;
    if (accept) headers.Accept = accept;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let answer;
    try {
      answer = await this.ask(this.base + path, {
        method, headers, signal, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer',
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (why) {
      if (why.name === 'AbortError') throw why;
      throw new Unreachable();
    }
    const date = Date.parse(answer.headers.get('Date') ?? '');
    if (!Number.isNaN(date)) this.skewMs = Date.now() - date;
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({}));
    throw new Problem(answer.status, problem, Number(answer.headers.get('Retry-After')) || 0);
  }

  async json(method, path, options) {
    const answer = await this.request(method, path, options);
    return answer.status === 204 ? null : answer.json();
  }

  /** All sessions, a page of them at a time. */
  async sessions(limit = 50, cursor = 0) {
    return this.json('GET', `/v1/sessions?limit=${limit}` + (cursor ? `&cursor=${cursor}` : ''));
  }

  create(options = {}) { return this.json('POST', '/v1/sessions', { body: options }); }
  session(id) { return this.json('GET', `/v1/sessions/${id}`); }
  close(id) { return this.json('POST', `/v1/sessions/${id}/close`); }
  remove(id) { return this.json('DELETE', `/v1/sessions/${id}`); }
  submaps(id) { return this.json('GET', `/v1/sessions/${id}/submaps`); }
  place(id, submap, pose) { return this.json('PUT', `/v1/sessions/${id}/submaps/${submap}`, { body: { pose } }); }
  ready() { return this.json('GET', '/readyz'); }

  /** A one-time ticket for a session: { ticket, scope, expires_s }. */
  ticket(id, scope = 'view') { return this.json('POST', `/v1/sessions/${id}/tickets`, { body: { scope } }); }

  /** What a ticket is worth: { session, scope, token, stream_url }. It can be asked once. */
  exchange(ticket) { return this.json('POST', '/v1/tickets/exchange', { token: ticket }); }

  /** A file of a session: 'cloud' (PLY) or 'trajectory' (TUM). */
  async file(id, what) { return (await this.request('GET', `/v1/sessions/${id}/${what}`)).blob(); }
}
