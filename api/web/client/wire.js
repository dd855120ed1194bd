/* wire.js - bytes of frames and tokens, as docs/PROTOCOL.md has them */

export const COLOUR = 1, DEPTH = 2, CONFIDENCE = 3, MASK = 4, INERTIAL = 5, POSITION = 6;
export const RAW = 0, DEFLATE = 1, JPEG = 3, PNG = 4;
export const TRACKING = { unknown: 0, lost: 1, limited: 2, normal: 3 };

const HEADER = 80, ENTRY = 16, MAX_PARTS = 16;
const FLAG_POSE = 1, FLAG_CAMERA = 2;

/** The subprotocol that carries a token, since a page cannot set headers of a WebSocket. */
export function bearer(token) {
  const text = btoa(String.fromCharCode(...new TextEncoder().encode(token)));
  return 'bearer.recon.' + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The parts of a frame: its picture first, then what else it brings. */
function partsOf(frame) {
  const picture = { type: COLOUR, codec: JPEG, data: frame.jpeg, width: frame.width, height: frame.height, camera: frame.camera };
  return [...frame.jpeg ? [picture] : [], ...frame.parts ?? []];
}

/**
 * A frame's message. `frame`: see Frame in recond.d.ts.
 * @returns {ArrayBuffer}
 */
export function encodeFrame(frame) {
  const parts = partsOf(frame);
  if (parts.length < 1 || parts.length > MAX_PARTS) throw new RangeError(`a frame has 1 to ${MAX_PARTS} parts`);
  const bytes = parts.map(p => p.data instanceof Uint8Array ? p.data : new Uint8Array(p.data));
  let at = HEADER + ENTRY * parts.length;
  const out = new Uint8Array(bytes.reduce((sum, b) => sum + b.length, at));
  const v = new DataView(out.buffer);
  const flags = (frame.pose ? FLAG_POSE : 0) | (frame.intrinsics ? FLAG_CAMERA : 0) | (frame.tracking ?? 0) << 2;
  v.setUint8(0, 1);
  v.setUint8(1, 1);
  v.setUint16(2, HEADER, true);
  v.setUint32(4, flags, true);
  v.setBigUint64(8, BigInt(frame.seq), true);
  v.setBigUint64(16, BigInt(frame.tNs), true);
  v.setUint32(24, frame.world ?? 0, true);
  v.setUint16(28, parts.length, true);
  v.setUint16(30, ENTRY, true);
  const numbers = [...frame.intrinsics ?? [0, 0, 0, 0], ...frame.pose?.q ?? [0, 0, 0, 0], ...frame.pose?.t ?? [0, 0, 0]];
  numbers.forEach((x, i) => v.setFloat32(32 + 4 * i, x, true));
  parts.forEach((p, i) => {
    const entry = HEADER + ENTRY * i;
    v.setUint8(entry, p.type);
    v.setUint8(entry + 1, p.codec);
    v.setUint16(entry + 2, p.needed ? 1 << 15 : 0, true);
    v.setUint16(entry + 4, p.width ?? 0, true);
    v.setUint16(entry + 6, p.height ?? 0, true);
    v.setUint16(entry + 8, p.camera ?? 0, true);
    v.setUint16(entry + 10, p.unit ?? 0, true);
    v.setUint32(entry + 12, bytes[i].length, true);
    out.set(bytes[i], at);
    at += bytes[i].length;
  });
  return out.buffer;
}

/** Is this binary message one of the cloud, whose mirror gets it? Else it is the result of a frame, or of a later version. */
export const isBlock = first => first >= 0x10 && first <= 0x15;
export const isResult = first => first >= 0x20 && first <= 0x2f;
