/* local-mirror.js - a mirror on the thread of its client, for programs and small pages; the page itself has one in a worker */
import { Mirror, readHeader, readPlanes, WireError } from './mirror.js';

export class LocalMirror extends Mirror {
  wrong = false;                             /* what comes is of no use until reset() */

  begin(client) { this.client = client; }

  message(buffer) {
    this.step(() => {
      const bytes = new Uint8Array(buffer), head = readHeader(bytes);
      if (head) this.apply(head, 'plainLength' in head ? readPlanes(bytes, head) : null);
    });
  }

  sync({ revision, points, hash }) {
    this.step(() => {
      if (points !== this.points || hash !== this.hash)
        throw new WireError(`the mirror has ${this.points} points and hash ${this.hash}, the server ${points} and ${hash}`);
      this.client?.held({ epoch: this.epoch, revision });
    });
  }

  reset() {
    this.wrong = false;
    this.clear(null);
  }

  step(action) {
    if (this.wrong) return;
    try {
      action();
    } catch (why) {
      if (!(why instanceof WireError)) throw why;
      this.wrong = true;
      this.client?.broken(why.message);
    }
  }
}
