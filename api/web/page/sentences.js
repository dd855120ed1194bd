/* sentences.js - what is going on, and what to do about it, in words */

const STATES = {
  created: 'waits for the first picture', streaming: 'is under way', idle: 'rests: it goes on with the next picture',
  suspended: 'rests: it goes on with the next picture', recovering: 'is coming back after a restart of the server', closed: 'is finished',
};
export const sessionState = state => STATES[state] ?? state;

const REASONS = {
  no_motion: 'The picture shows nothing new. Move on, slowly.',
  overload: 'The server has more pictures than it can use; it leaves some out.',
  pace: 'Pictures come faster than the session takes them; some are left out.',
  tracking: 'The phone has lost track of where it is. Go back to a place that it has seen, slowly, with light.',
  bad_pose: 'The session needs to know where the camera is, and this browser cannot tell. Start a new scan from this page.',
  no_camera: 'The camera’s field of view is missing. Set it below.',
  decode_error: 'The server could not read a picture.',
  closed: 'This scan is finished and takes no more pictures.',
  ended: 'This scan is finished and takes no more pictures.',
  storage: 'The server’s disk is full: pictures are not taken. Its operator has to make room.',
  memory: 'The scan has reached the memory that the server allows it.',
  fault: 'A device of the server failed on a picture. If that goes on, tell the operator.',
  shutdown: 'The server is stopping.',
  poison: 'A picture has ended the server’s process; the operator has it.',
  worlds: 'The scan has as many separate worlds as the server allows.',
};
export const reason = word => REASONS[word] ?? (word ? `Pictures are refused: ${word}.` : '');

/** What happened, and what to do. */
export function problem(why) {
  if (!why) return '';
  switch (why.type) {
    case 'unreachable': return 'The server does not answer. Check the network; this page goes on by itself. If it stays so, look at this device’s date and time: with wrong ones HTTPS does not work.';
    case 'unauthorized': return 'The token is not valid (any more), or the link was used or has expired. Ask for a new one.';
    case 'forbidden': return 'This token may not do that. ' + why.message;
    case 'foreign-origin': return 'The server does not let this address ask. Open the page at the server’s own address.';
    case 'misdirected': return 'Without tokens the server serves this machine alone. Open it as http://localhost, or ask its operator for tokens.';
    case 'not-found': case 'not_found': return 'There is no such scan, or it was deleted.';
    case 'busy': case 'unavailable': return 'The server has no room now: ' + why.message;
    case 'store-full': return `Pictures that wait for the server fill this device’s room for them (${why.message}). Scanning pauses until it has them.`;
    case 'NotAllowedError': return 'The camera was refused. Allow it in the browser’s settings for this address (the camera sign beside the address), then press Scan again.';
    case 'NotFoundError': case 'OverconstrainedError': return 'There is no camera that this browser can use. Plug one in, or open this page on a phone.';
    case 'NotReadableError': return 'Another program has the camera. Close it, then press Scan again.';
    case 'insecure': return insecure();
    case 'no-tracking': return 'This scan takes its poses from a phone’s tracking, which this browser does not give. Watch it here, or begin a new scan.';
    case 'press': return 'Press Scan to go on.';
    case 'AbortError': case 'TimeoutError': return 'The camera did not start. Press Scan again.';
    case 'bye': return why.final ? 'The server has ended this stream: the scan is over, or another page feeds it now.' : 'The server is stopping or moving; this page comes back by itself.';
    default: return why.message ?? String(why);
  }
}

/** A page that did not come over HTTPS gets no camera. */
export function insecure() {
  return `Browsers give the camera only to pages that come over HTTPS, or from the machine itself. This one is ${location.origin}. `
    + 'The operator sets [tls] in recond.conf (a certificate of your own is enough: accept it once), or puts a proxy with HTTPS in front. '
    + 'Watching works without.';
}

const CLOCK_MS = 120_000;

/** What a wrong clock of this device means, '' if it is right. Scans do not lean on it: pictures are timed by a clock that does not jump. */
export function clockWrong(skewMs) {
  const minutes = Math.round(Math.abs(skewMs ?? 0) / 60_000), hours = Math.round(minutes / 60), days = Math.round(hours / 24);
  if (Math.abs(skewMs ?? 0) < CLOCK_MS) return '';
  const off = minutes < 120 ? `${minutes} minutes` : hours < 48 ? `${hours} hours` : `${days} days`;
  return `This device’s clock is ${off} ${skewMs < 0 ? 'behind' : 'ahead of'} the server’s. The scan does not suffer, but the times shown here do, and `
    + 'HTTPS may refuse to connect: let the device set its date and time by itself.';
}

/** One sentence on the stream: what the header says. */
export function streamState(client, session) {
  switch (client.state) {
    case 'connecting': return 'Connecting …';
    case 'waiting': return client.why ? problem(client.why) : session?.state === 'recovering'
      ? 'The scan is coming back after a restart of the server …' : 'The connection is lost; trying again …';
    case 'over': return client.why ? problem(client.why) : 'Left.';
    default: return '';
  }
}
