/* local-mirror.js - a mirror on the thread of its client, for programs and small pages; the page itself has one in a worker */
import { Mirror, readHeader, readPlanes } from './mirror.js';

export class LocalMirror extends Mirror {
  order = Promise.resolve();                 /* messages are applied in their order, although inflating takes its time */
  turn = 0;

  begin(client) { this.client = client; }

  message(buffer) {
    const bytes = new Uint8Array(buffer);
    this.next(async turn => {
      const head = readHeader(bytes);
      const planes = head && 'plainLength' in head ? await readPlanes(bytes, head) : null;
      if (head && turn === this.turn) this.apply(head, planes);
    });
  }

  sync({ revision, points, hash }) {
    this.next(() => {
      if (points !== this.points || hash !== this.hash)
        throw new Error(`the mirror has ${this.points} points and hash ${this.hash}, the server ${points} and ${hash}`);
      this.client?.held({ epoch: this.epoch, revision });
    });
  }

  reset() {
    this.turn++;
    this.order = Promise.resolve();
    this.clear(null);
  }

  next(step) {
    const turn = this.turn;
    this.order = this.order.then(() => turn === this.turn && step(turn)).catch(why => {
      if (turn === this.turn) this.client?.broken(why.message);
    });
  }
}
