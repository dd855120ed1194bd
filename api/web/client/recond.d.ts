/* recond.d.ts - types of the client package; README.md beside this file is its page */

export type Pose = { q: [number, number, number, number]; t: [number, number, number] };
/** [fx, fy, cx, cy] in pixels, pixel centres at integers. */
export type Intrinsics = [number, number, number, number];

export interface Part {
  type: number;
  codec: number;
  data: ArrayBuffer | Uint8Array;
  width?: number;
  height?: number;
  camera?: number;
  unit?: number;
  /** A server that does not know it refuses the frame instead of passing over it. */
  needed?: boolean;
}

export interface Frame {
  jpeg?: ArrayBuffer | Uint8Array;
  width?: number;
  height?: number;
  camera?: number;
  /** When it was taken, nanoseconds of any clock that does not jump; Client.now() is one. */
  tNs: bigint | number;
  intrinsics?: Intrinsics;
  /** Camera to world, axes as `pose` of the options says. */
  pose?: Pose;
  tracking?: 0 | 1 | 2 | 3;
  /** Counts up when the tracker begins a new world. */
  world?: number;
  parts?: Part[];
}

/** What keeps the cloud: Mirror in a worker, LocalMirror, or one of your own. */
export interface MirrorOfClient {
  begin?(client: Client): void;
  message(buffer: ArrayBuffer): void;
  sync(sync: Sync): void;
  reset?(): void;
}

export interface ClientOptions {
  url: string;
  token?: string;
  role?: 'view' | 'ingest';
  source?: string;
  pose?: 'opengl' | 'cv';
  codecs?: ('deflate-raw' | 'raw')[];
  features?: string[];
  depth?: true | { every: number };
  mirror?: MirrorOfClient;
  store?: Store;
  /** Frames without an answer that are kept where there is no store; 64. */
  maxWaiting?: number;
  /** Asked why a handshake was refused, which a browser does not tell. */
  rest?: Rest;
}

export interface Sync { revision: number; points: number; hash: string }
export interface Ack {
  seq: number;
  status: 'used' | 'dropped' | 'refused';
  reason?: string;
  detail?: string;
  again?: true;
  keyframe?: true;
  revision?: number;
  submap?: number;
  pose?: [number, number, number, number, number, number, number];
  quality?: number;
  server_us?: number;
}
export interface Ready {
  session: string;
  epoch: number;
  revision: number;
  codec: string;
  step_m: number;
  limits: { window: number; max_frame_bytes: number; message_s: number; rate?: number };
  net: [number, number];
  features: string[];
  resumed?: true;
  last_seq?: number;
  rate?: number;
  jpeg?: number;
}
/** A thing in the world that an enrolled object was recognised in. */
export interface Thing {
  id: number;
  object: string;
  class?: string;
  state: 'new' | 'seen' | 'lost';
  submap: number;
  /** [qx, qy, qz, qw, tx, ty, tz]: from the object's own axes to those of the submap. */
  pose: [number, number, number, number, number, number, number];
  /** The object in its own axes: lowest corner, highest corner. */
  box: [number, number, number, number, number, number];
  score: number;
  support: number;
  seq: number;
  revision: number;
}
export type StateName = 'new' | 'connecting' | 'open' | 'waiting' | 'over';

export interface Events {
  state: { state: StateName; why: RecondError | null; retryMs: number };
  ready: Ready;
  ack: Ack;
  poses: { revision: number; seqs: number[]; poses: number[][] };
  /** Things as they are now; all that are known with each connection. */
  objects: Thing[];
  sync: Sync;
  ended: { revision: number };
  closed: { revision: number };
  error: RecondError;
  bye: { action: 'resume' | 'reconnect' | 'disconnect'; retry_ms?: number; reason?: string };
  /** The result of a frame, for instance a depth map, as it came. */
  result: ArrayBuffer;
  clock: { offsetUs: number; roundTripUs: number };
  pace: { rate: number | null; jpeg: number | null };
}

export class Client {
  constructor(options: ClientOptions);
  readonly state: StateName;
  readonly why: RecondError | null;
  readonly role: 'view' | 'ingest';
  readonly ready: Ready | null;
  readonly rate: number | null;
  readonly jpeg: number | null;
  readonly backlog: number;
  readonly roomy: boolean;
  readonly offsetUs: number | null;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Block messages that came. */
  readonly blocks: number;
  /** What the next connection goes on with; a second client with the same mirror takes it over. */
  resume: { epoch: number; revision: number; block?: [number, number, number, number] } | null;
  on<E extends keyof Events>(name: E, handler: (value: Events[E]) => void): () => void;
  now(): bigint;
  start(): Promise<void>;
  stop(): void;
  declareCamera(camera: { id: number; model: 'pinhole'; width: number; height: number; params: Intrinsics; rig?: number[] }): void;
  /** @throws StoreFull */
  feed(frame: Frame): number;
  end(): void;
  held(at: { epoch: number; revision: number }): void;
  broken(why: string): void;
}

export class Store {
  constructor(name: string, options?: { maxBytes?: number; maxFrames?: number });
  readonly bytes: number;
  open(): Promise<[number, ArrayBuffer][]>;
  fits(bytes: number): boolean;
  put(seq: number, message: ArrayBuffer): Promise<void>;
  forget(seq: number): Promise<void>;
  close(): void;
  static remove(name: string): Promise<void>;
}

export const readHeader: (bytes: Uint8Array) => any;
export const readPlanes: (bytes: Uint8Array, head: any) => Uint8Array;
export class Mirror {
  readonly points: number;
  readonly hash: string;
  readonly epoch: number | null;
  readonly revision: number;
}
export class LocalMirror extends Mirror implements MirrorOfClient {
  begin(client: Client): void;
  message(buffer: ArrayBuffer): void;
  sync(sync: Sync): void;
  reset(): void;
}

export class Rest {
  constructor(options?: { base?: string; token?: string; fetch?: typeof fetch });
  /** This device's date less the server's, milliseconds, by the last answer; null where none told it. */
  readonly skewMs: number | null;
  sessions(limit?: number, cursor?: number): Promise<{ sessions: any[]; next?: string }>;
  create(options?: object): Promise<any>;
  session(id: string): Promise<any>;
  close(id: string): Promise<any>;
  remove(id: string): Promise<null>;
  submaps(id: string): Promise<any>;
  place(id: string, submap: number, pose: number[]): Promise<null>;
  ready(): Promise<any>;
  ticket(id: string, scope?: 'view' | 'ingest'): Promise<{ ticket: string; scope: string; expires_s: number }>;
  exchange(ticket: string): Promise<{ session: string; scope: 'view' | 'ingest'; token: string; stream_url: string }>;
  file(id: string, what: 'cloud' | 'trajectory'): Promise<Blob>;
  json(method: string, path: string, options?: { body?: unknown; token?: string }): Promise<any>;
}

export class RecondError extends Error {
  readonly type: string;
  readonly status: number;
  /** To try again is of no use. */
  readonly final: boolean;
}
export class Problem extends RecondError {
  readonly fields: { pointer?: string; parameter?: string; detail: string }[];
  readonly retryAfter: number;
}
export class StreamError extends RecondError {}
export class Unreachable extends RecondError {}
export class StoreFull extends RecondError {}

export const COLOUR: 1, DEPTH: 2, CONFIDENCE: 3, MASK: 4, INERTIAL: 5, POSITION: 6;
export const RAW: 0, DEFLATE: 1, JPEG: 3, PNG: 4;
export const TRACKING: { unknown: 0; lost: 1; limited: 2; normal: 3 };
export function bearer(token: string): string;
export function encodeFrame(frame: Frame & { seq: number }): ArrayBuffer;
