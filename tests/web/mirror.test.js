/* mirror.test.js - api/web/client/mirror*.js beside a mirror of big numbers that is written as the page has it, and hostile messages */
import {Mirror, WireError, readHeader, readPlanes} from '../../api/web/client/mirror.js';
import {InflateError, inflate} from '../../api/web/client/inflate.js';
import {blockSalt, keyLook, mix64} from '../../api/web/client/mirror-keys.js';
import {PAGE_POINTS, PAGE_WORDS} from '../../api/web/client/mirror-pages.js';
import * as messages from './messages.js';
import {same} from './tap.js';

const u64 = v => BigInt.asUintN(64, v);
const big = halves => BigInt(halves[1]) << 32n | BigInt(halves[0]);
const halves = keys => new Uint32Array(BigUint64Array.from(keys).buffer);

function mixBig(v) {
  v = u64(v + 0x9e3779b97f4a7c15n);
  v = u64((v ^ v >> 30n) * 0xbf58476d1ce4e5b9n);
  v = u64((v ^ v >> 27n) * 0x94d049bb133111ebn);
  return v ^ v >> 31n;
}

function saltBig(submap, x, y, z) {
  const [s, a, b, c] = [submap, x, y, z].map(v => BigInt.asUintN(32, BigInt(v)));
  return mixBig(mixBig(s | a << 32n) ^ (b | c << 32n));
}

export async function apply(mirror, bytes) {
  const head = readHeader(bytes);
  mirror.apply(head, 'plainLength' in head ? readPlanes(bytes, head) : null);
}

/* The keys of a block of the mirror, in the order of its pages. */
function keysOf(mirror, name) {
  const block = mirror.blocks.get(name), out = [];
  for (const page of block?.pages ?? []) {
    const at = mirror.pages.at(page), n = mirror.pages.points(page);
    if (n < 1 || n > PAGE_POINTS) throw new Error(`a page of ${n} points`);
    for (let i = 0; i < n; i++) out.push(big(mirror.pages.chunk(page).keys.subarray(at + 2 * i, at + 2 * i + 2)));
  }
  return out;
}

async function refused(bytes, mirror = new Mirror()) {
  try {
    await apply(mirror, bytes);
  } catch (error) {
    if (error instanceof WireError) return;
    throw error;
  }
  throw new Error('taken although it is wrong');
}

const about = {block: [0, 0, 0], revision: 2};
const three = halves([messages.makeKey(1, 2, 3, 4, 5, 6, 1), messages.makeKey(5, 2, 3, 4, 5, 6, 1), messages.makeKey(9, 9, 9, 63, 0, 1, 3)]);

/** @type {Record<string, (golden: (name: string) => Promise<Uint8Array>) => Promise<void>>} */
export const tests = {
  async 'the example of the page, with its hashes'(golden) {
    const mirror = new Mirror(), deflated = new Mirror();
    for (const [name, points, hash] of [['put', 3, 'b82b17cbbde47667'], ['patch', 4, '222729c7329fd810'], ['delete', 0, '0000000000000000']]) {
      await apply(mirror, await golden(name));
      same(`${mirror.points} ${mirror.hash}`, `${points} ${hash}`, name);
    }
    await apply(mirror, await golden('clear'));
    same(mirror.epoch, 2, 'epoch after clear');
    await apply(deflated, await golden('put_deflate'));
    same(deflated.points, 40, 'points of the compressed one');
    const keys = keysOf(deflated, [...deflated.blocks.keys()][0]), salt = saltBig(...[...deflated.blocks.keys()][0].split(',').map(Number));
    same(BigInt('0x' + deflated.hash), keys.reduce((sum, k) => u64(sum + mixBig(k ^ salt)), 0n), 'its hash');
  },

  async 'what a key says'(golden) {
    const mirror = new Mirror();
    await apply(mirror, await golden('put'));
    const keys = halves(keysOf(mirror, '0,0,-1,2'));
    same(JSON.stringify(keyLook(keys[0], keys[1])), '{"x":1,"y":2,"z":3,"r":25,"g":37,"b":50,"confidence":1,"normal":2080}', 'first');
    same(JSON.stringify(keyLook(keys[4], keys[5])), '{"x":1023,"y":0,"z":512,"r":63,"g":0,"b":1,"confidence":3,"normal":0}', 'third');
  },

  async 'inflating is what the browser does, and what is damaged is refused'() {
    const next = messages.random(5), verdict = (bytes, length) => {
      try {
        const out = new Uint8Array(length);
        inflate(bytes, out);
        return out;
      } catch (error) {
        if (error instanceof InflateError) return null;
        throw error;
      }
    };
    const browsers = async bytes => {
      try {
        return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer());
      } catch {
        return null;
      }
    };
    for (let turn = 0; turn < 60; turn++) { /* noise, few symbols, runs, and what has codes longer than a look at a table */
      const plain = new Uint8Array([0, 1, 300, 70000][turn >> 2 & 3]);
      for (let i = 0; i < plain.length; i++) plain[i] = [next(), next() % 3, i % 7 ? plain[i - 1] : next(), 8 * Math.clz32(next())][turn & 3];
      const packed = await messages.deflate(plain), out = verdict(packed, plain.length);
      same(out?.join(), plain.join(), `turn ${turn}`);
      same(verdict(packed, plain.length + 1), null, 'less than was said');
      if (plain.length) same(verdict(packed, plain.length - 1), null, 'more than was said');
      for (let cut = 0; cut < packed.length; cut += 1 + (packed.length >> 3)) same(verdict(packed.subarray(0, cut), plain.length), null, `cut to ${cut}`);
      same(verdict(Uint8Array.from([...packed, 0]), plain.length), null, 'something behind the end');
      const damaged = packed.slice();
      damaged[next() % packed.length] ^= 1 << next() % 8;
      const theirs = await browsers(damaged);
      same(verdict(damaged, plain.length)?.join(), theirs?.length === plain.length ? theirs.join() : undefined, `damaged, turn ${turn}`);
    }
  },

  async 'submaps: placed, unplaced, the first one alone'(golden) {
    const mirror = new Mirror();
    await apply(mirror, await golden('submap'));
    await apply(mirror, await golden('submap_unplaced'));
    await apply(mirror, await golden('put'));
    same(JSON.stringify([3, 4, 0].map(n => [mirror.submaps.get(n).placed, mirror.submaps.get(n).t])),
      '[[true,[0.5,0,-1]],[false,[0,0,0]],[true,[0,0,0]]]', 'places');
  },

  async 'arithmetic of 64 bits'() {
    const next = messages.random(1);
    same(big(mix64(0, 0)), 0xe220a8397b1dcdafn, 'mix64(0)');
    for (let i = 0; i < 20000; i++) {
      const low = i % 7 ? next() : 0xffffffff, high = i % 5 ? next() : 0x80000000;
      same(big(mix64(low, high)), mixBig(big([low, high])), 'mix64');
    }
    for (const name of [[0, 0, 0, 0], [1, -1, -1, -1], [255, -2097152, 2097151, 7]]) same(big(blockSalt(...name)), saltBig(...name), 'salt');
  },

  async 'random patches of several blocks beside a mirror of big numbers'() {
    const next = messages.random(7), mirror = new Mirror(), blocks = [[0, 0, 0, 0], [0, -1, 5, 2], [3, 7, -9, 0]].map(name => ({name, keys: [], revision: 0}));
    const ascending = keys => keys.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    let sum = 0n;
    for (let revision = 1; revision <= 120; revision++) {
      const block = blocks[next() % 3], {name, keys} = block, many = revision % 10 === 0 ? 4000 : next() % 300, span = revision % 4 ? 1024 : 64;
      const added = ascending(Array.from({length: many}, () => messages.makeKey(next() % span, next() % span, next() % 16, next() & 63, next() & 63,
        next() & 63, 1 + next() % 15, next() & 4095)));
      const share = [0, 2, 10, 100][next() % 4], whole = next() % 25 === 0, gone = whole ? keys : keys.filter(() => next() % 100 < share);
      if (revision % 3 === 0) { /* looks alone: the same places with other low bits, some of them out of order with their neighbours */
        added.splice(0, added.length, ...ascending((whole ? [] : gone).map(k => k ^ BigInt(next() & (revision % 2 ? 15 : 0xffff)))));
      }
      const out = new Set(gone), removed = [...keys.keys()].filter(i => out.has(keys[i]));
      const where = {submap: name[0], block: name.slice(1), revision, base: block.revision, before: keys.length};
      const salt = saltBig(...name), kept = whole ? [] : keys.filter(k => !out.has(k));
      for (const [list, sign] of [[keys.filter(k => whole || out.has(k)), -1n], [added, 1n]]) for (const k of list) sum = u64(sum + sign * mixBig(k ^ salt));
      await apply(mirror, whole ? await messages.put({...where, base: 0}, halves(added), true) : await messages.patch(where, removed, halves(added), revision % 2 === 0));
      Object.assign(block, {keys: ascending([...kept, ...added]), revision});
      same(mirror.hash, sum.toString(16).padStart(16, '0'), `hash at revision ${revision}`);
      same(keysOf(mirror, name.join()).join(), block.keys.join(), `keys at revision ${revision}`);
      const {pages} = mirror.blocks.get(name.join());
      if (pages.length > Math.max(2, Math.ceil(block.keys.length / 96))) throw new Error(`${pages.length} pages for ${block.keys.length}`);
    }
    same(mirror.points, blocks.reduce((n, b) => n + b.keys.length, 0), 'points');
  },

  async 'changes of looks, with points of one place beside each other, and now and then one that goes or comes'() {
    const next = messages.random(11), mirror = new Mirror(), salt = saltBig(0, 0, 0, 0), hash = keys => keys.reduce((sum, k) => u64(sum + mixBig(k ^ salt)), 0n);
    const look = () => messages.makeKey(next() % 9, next() % 9, next() % 9, 0, 0, next() & 3, next() & 15);
    let keys = BigUint64Array.from({length: 3000}, look).sort();
    await apply(mirror, await messages.put({block: [0, 0, 0], revision: 1}, halves(keys)));
    for (let revision = 2; revision < 400; revision++) {
      const chosen = new Set(Array.from({length: 1 + next() % 12}, () => next() % keys.length));
      for (let n = revision % 5 ? 0 : 3, at = next() % keys.length; n > 0; n--) chosen.add(Math.min(keys.length - 1, at + n));
      const removed = [...chosen].sort((a, b) => a - b), added = BigUint64Array.from(removed, i => keys[i] ^ BigInt(next() & (next() % 3 ? 3 : 63)));
      if (revision % 4 === 0) added[next() % added.length] = look();
      const more = revision % 7 ? added.sort() : BigUint64Array.from([...added, look()]).sort(), before = keys.length;
      keys = BigUint64Array.from([...keys.filter((_, i) => !chosen.has(i)), ...more]).sort();
      await apply(mirror, await messages.patch({block: [0, 0, 0], revision, base: revision - 1, before}, removed, halves(more)));
      same(keysOf(mirror, '0,0,0,0').join(), keys.join(), `keys at revision ${revision}`);
    }
    same(mirror.hash, hash([...keys]).toString(16).padStart(16, '0'), 'hash');
  },

  async 'a copy of the pages that collects what changed is the mirror'() {
    const next = messages.random(3), mirror = new Mirror(), copy = new Map();
    const ids = new Uint32Array(7), rows = new Int32Array(28), keys = new Uint32Array(7 * PAGE_WORDS);
    let held = 0;
    for (let revision = 1; revision <= 60; revision++) {
      const added = Array.from({length: next() % 800}, () => messages.makeKey(next() & 1023, next() & 1023, next() & 1023, 1, 2, 3, 4)).sort((a, b) => (a < b ? -1 : 1));
      const removed = Array.from({length: held}, (_, i) => i).filter(() => next() % 3 === 0);
      await apply(mirror, await messages.patch({block: [1, 2, 3], revision, base: revision - 1, before: held}, removed, halves(added)));
      held += added.length - removed.length;
      for (let turn = 0; revision === 60 ? mirror.pages.nChanged : turn < 3; turn++) {
        const n = mirror.pages.collect(ids, rows, keys);
        for (let i = 0; i < n; i++)
          copy.set(ids[i], [...keys.subarray(i * PAGE_WORDS, i * PAGE_WORDS + 2 * (rows[4 * i + 3] & 0xff))].join());
      }
    }
    const {pages} = mirror.blocks.get('0,1,2,3');
    const whole = pages.map(p => [...mirror.pages.chunk(p).keys.subarray(mirror.pages.at(p), mirror.pages.at(p) + 2 * mirror.pages.points(p))].join());
    same(pages.map(p => copy.get(p)).join(';'), whole.join(';'), 'pages');
    for (const [id, content] of copy) if (!pages.includes(id) && content) throw new Error(`page ${id} is free and has points in the copy`);
  },

  async 'how far apart the points of a page are'() {
    for (const spacing of [1, 4, 20]) {
      const mirror = new Mirror(), n = Math.min(50, Math.floor(1024 / spacing)), keys = [];
      for (let x = 0; x < n; x++) for (let z = 0; z < n; z++) keys.push(messages.makeKey(x * spacing, 7, z * spacing, 1, 1, 1, 1));
      await apply(mirror, await messages.put({block: [0, 0, 0], revision: 1}, halves(keys.sort((a, b) => (a < b ? -1 : 1)))));
      const ids = new Uint32Array(50), rows = new Int32Array(200), pages = mirror.pages.collect(ids, rows, new Uint32Array(50 * PAGE_WORDS));
      const found = Array.from({length: pages}, (_, i) => rows[4 * i + 3] >> 18).sort((a, b) => a - b)[pages >> 1];
      if (Math.abs(found - spacing) > 0.3 * spacing) throw new Error(`${found} instead of ${spacing}`);
    }
  },

  async 'what came twice, or late, changes nothing'() {
    const mirror = new Mirror();
    await apply(mirror, await messages.put(about, three));
    const {hash} = mirror;
    await apply(mirror, await messages.put(about, three.slice(0, 2)));
    await apply(mirror, messages.remove({...about, revision: 1}));
    await apply(mirror, await messages.patch({...about, base: 0, before: 9}, [], three));
    same(mirror.hash, hash, 'hash');
    await apply(mirror, messages.remove({...about, revision: 3}));
    await apply(mirror, await messages.put(about, three));
    same(mirror.points, 0, 'a put below the revision of the delete');
  },

  async 'boxes of submaps'() {
    const mirror = new Mirror();
    await apply(mirror, await messages.put({block: [0, 0, -1], revision: 1}, three));
    await apply(mirror, await messages.put({block: [1, 0, 0], revision: 2}, three.slice(0, 2)));
    same(JSON.stringify([...mirror.boxes()]), '[[0,{"min":[1,2,-1021],"max":[1025,9,3]}]]', 'box');
    await apply(mirror, await messages.put({submap: 2, block: [50, 0, 0], revision: 3}, three.slice(0, 2)));
    same(JSON.stringify(mirror.core(0.4, 9)[0]), '{"submap":0,"min":[1,2,-1021],"max":[9,9,-1015]}', 'the block with most points');
    same([[0.4, 9], [1, 9], [1, 2]].map(([share, most]) => mirror.core(share, most).map(b => b.submap).join('')).join(), '02,002,00', 'so much of each submap');
  },

  async 'hostile messages are told as such'() {
    const good = await messages.put(about, three), change = (at, value) => Uint8Array.from(good, (b, i) => (i === at ? value : b));
    for (const [at, value] of [[1, 2], [2, 2], [2, 1], [3, 1], [14, 0xff], [15, 0xff], [23, 0x7f], [32, 2], [35, 1], [36, 1], [40, 2], [44, 1], [52, 31], [65, 255]])
      await refused(change(at, value));
    for (let length = 1; length < good.length; length++) await refused(good.slice(0, length));
    await refused(Uint8Array.from([...good, 0]));
    await refused(await messages.put(about, three, true).then(m => m.slice(0, -3)));
    await refused(await messages.put(about, three.map((half, i) => (i % 2 ? 4 : 9 - i))));
    await refused(messages.transform(1, [0, 0, 0, 2], [0, 0, 0]));
    await refused(messages.transform(1, [0, 0, 0, 1], [NaN, 0, 0]));
    const bomb = messages.pointsHeader(0x10, {...about, points: 3, added: 3});
    bomb[2] = 1;
    const zeros = new Blob([new Uint8Array(1 << 20)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    await refused(new Uint8Array(await new Blob([bomb, await new Response(zeros).arrayBuffer()]).arrayBuffer()));
  },

  async 'hostile patches of a block that is held'() {
    const fresh = async () => {
      const mirror = new Mirror();
      await apply(mirror, await messages.put(about, three));
      return mirror;
    };
    const patch = {...about, revision: 3, base: 2, before: 3};
    await refused(await messages.patch({...patch, base: 1}, [0], three), await fresh());
    await refused(await messages.patch({...patch, before: 4}, [0], three), await fresh());
    await refused(await messages.patch(patch, [3], three), await fresh());
    await refused(await messages.patch(patch, [1, 1], three), await fresh());
    await refused(await messages.patch({...patch, epoch: 2}, [0], three), await fresh());
    const mirror = await fresh();
    for (let id = 1; id < 1024; id++) await apply(mirror, messages.transform(id, [0, 0, 0, 1], [0, 0, 0]));
    await refused(messages.transform(1024, [0, 0, 0, 1], [0, 0, 0]), mirror);
    same(readHeader(new Uint8Array([0x1f, 1])), null, 'an op of a later version');
  },
};
