/* line.test.js - what the client makes of a line that is away, or silent, for ten seconds: time passes when the test says so */
import { OFFLINE_RATE } from '../../api/web/capture/thrift.js';
import { frame, READY, Socket, withClient, withTime } from './socket.js';
import { same } from './tap.js';

/* Seconds pass, each with the pictures that are taken while there is no line. */
function walk(client, pass, seconds) {
  for (let i = 0; i < seconds * OFFLINE_RATE; i++) {
    client.feed(frame());
    pass(1000 / OFFLINE_RATE);
  }
}

export const tests = {
  'a line that is cut for ten seconds: each picture is kept, asked for again ever more slowly, and sent once': () => withTime((pass, now) => withClient({ mirror: { message() {}, sync() {} } }, async (client, ws) => {
    ws().open();
    ws().tell({ ...READY, limits: { window: 4 } });
    client.held({ epoch: 1, revision: 7 });
    client.feed(frame());
    ws().tell({ op: 'ack', seq: 1, status: 'used' });
    client.feed(frame());
    const cut = now(), first = ws(), tries = [];
    first.end();
    same(client.state, 'waiting', 'at once');
    for (const end = cut + 10_000; now() < end;) {
      const before = Socket.all.length;
      walk(client, pass, 1 / OFFLINE_RATE);
      for (const socket of Socket.all.slice(before)) {
        tries.push(now());
        socket.end();
      }
    }
    same(tries.length >= 4 && tries.length <= 8, true, `${tries.length} tries in ten seconds`);
    same(client.backlog, 1 + 10 * OFFLINE_RATE, 'nothing is lost');
    const after = Socket.all.length;
    pass(5000);
    same(Socket.all.length, after + 1, 'it is tried again within five seconds');
    ws().open();
    const start = ws().said('start')[0];
    same(JSON.stringify([start.role, start.resume]), '["ingest",{"epoch":1,"revision":7}]', 'it goes on where it was');
    ws().tell({ ...READY, limits: { window: 4 }, last_seq: 1 });
    for (let seq = 2; client.backlog; seq++) ws().tell({ op: 'ack', seq, status: 'used' });
    same(ws().seqs.join(), Array.from({ length: 1 + 10 * OFFLINE_RATE }, (_, i) => i + 2).join(), 'all in their order, each once');
    same(client.feed(frame()), 3 + 10 * OFFLINE_RATE, 'the next number');
  })),

  'a line that is silent for ten seconds but not cut is kept: nothing is sent twice': () => withTime(pass => withClient({}, async (client, ws) => {
    ws().open();
    ws().tell(READY);
    client.feed(frame());
    const pings = ws().said('ping').length;
    walk(client, pass, 10);
    same(client.state, 'open', 'state');
    same(ws().said('ping').length, pings + 1, 'it asked whether anybody is there');
    same(ws().seqs.join(), '1,2', 'no more than the window');
    ws().tell({ op: 'pong', t: 1, server_us: 1 });
    for (let seq = 1; client.backlog; seq++) ws().tell({ op: 'ack', seq, status: 'used' });
    same(ws().seqs.join(), Array.from({ length: 1 + 10 * OFFLINE_RATE }, (_, i) => i + 1).join(), 'each once');
    same(Socket.all.length, 1, 'one connection');
  })),

  'a line that is silent for longer is left, and what was under way goes again': () => withTime(pass => withClient({}, async (client, ws) => {
    ws().open();
    ws().tell(READY);
    client.feed(frame());
    pass(12_500);
    same(Socket.all.length, 2, 'a second connection');
    ws().open();
    ws().tell(READY);
    same(ws().seqs.join(), '1', 'again');
  })),

  'a clock that jumps by hours changes nothing: no time of the client is the wall\'s': () => withTime(pass => withClient({}, async (client, ws) => {
    const date = Date.now;
    try {
      ws().open();
      ws().tell(READY);
      const before = client.now();
      Date.now = () => date() - 5 * 3600_000;
      client.feed(frame());
      pass(2000);
      same(client.now() - before, 2_000_000_000n, 'nanoseconds of the clock for pictures');
      same(`${client.state} ${Socket.all.length}`, 'open 1', 'the line');
      ws().tell({ op: 'ack', seq: 1, status: 'later', retry_ms: 500 });
      pass(500);
      same(ws().seqs.join(), '1,1', 'sent again when that was over');
      ws().tell({ op: 'ack', seq: 1, status: 'used' });
      same(client.backlog, 0, 'its answer counts');
    } finally {
      Date.now = date;
    }
  })),
};
