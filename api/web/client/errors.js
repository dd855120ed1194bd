/* errors.js - what can go wrong, as classes; `final`: to try again is of no use */

export class RecondError extends Error {
  constructor(message, { type = 'error', status = 0, final = true } = {}) {
    super(message);
    this.name = new.target.name;
    this.type = type;
    this.status = status;
    this.final = final;
  }
}

/** A problem document of REST; `fields` are its `errors`. */
export class Problem extends RecondError {
  constructor(status, body = {}, retryAfter = 0) {
    const type = String(body.type ?? '').replace('urn:recond:problem:', '') || 'http-' + status;
    const fields = body.errors ?? [];
    const detail = body.detail || fields.map(f => `${f.pointer ?? f.parameter ?? ''} ${f.detail}`).join('; ');
    super([body.title ?? 'HTTP ' + status, detail].filter(Boolean).join(': '), { type, status, final: status !== 503 });
    this.fields = fields;
    this.retryAfter = retryAfter;
  }
}

/** An `error` of the stream, or the end of a connection that says why. */
export class StreamError extends RecondError {}

/** The server does not answer: no network, another address, a certificate that the browser does not take. */
export class Unreachable extends RecondError {
  constructor(message = 'the server does not answer') {
    super(message, { type: 'unreachable', final: false });
  }
}

/** Frames without an answer fill what is kept for them. */
export class StoreFull extends RecondError {
  constructor(message) {
    super(message, { type: 'store-full', final: false });
  }
}
