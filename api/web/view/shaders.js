/* shaders.js - the programs of the card: points out of keys, shading by depth, lines
 *
 * A point is its key, 8 bytes. Its page's row (mirror-pages.js) names the block and the transform's slot.
 */

export const POINT_VERTEX = `#version 300 es
precision highp float;
precision highp int;
precision highp isampler2D;
precision highp sampler2D;
layout(location = 0) in uvec2 key;
uniform isampler2D rows;               /* a row a chunk, a texel a page: block x y z, spacing << 18 | slot << 8 | points */
uniform sampler2D places;              /* a row a slot: rotation, translation and whether it is shown */
uniform int chunk, every, first;       /* each 'every'-th point is drawn, from the 'first' on */
uniform mat4 lens;
uniform float step_m, size, widest, least, most;
uniform int look;
uniform vec3 up, clip_min, clip_max;
uniform vec2 heights;
flat out vec3 colour;
flat out float disc;                   /* 1 where a point is so large that its corners show */

uint gather(uint m) {
  m &= 0x09249249u;
  m = (m | m >> 2) & 0x030c30c3u;
  m = (m | m >> 4) & 0x0300f00fu;
  m = (m | m >> 8) & 0x030000ffu;
  return (m | m >> 16) & 0x3ffu;
}

vec3 turn(vec4 q, vec3 p) {
  vec3 t = 2.0 * cross(q.xyz, p);
  return p + q.w * t + cross(q.xyz, t);
}

vec3 rainbow(float x) {                /* blue, green, yellow, red, of about equal lightness */
  x = clamp(x, 0.0, 1.0);
  return clamp(vec3(1.7 * x - 0.3, 0.25 + 1.4 * x * (1.25 - x), 1.05 - 2.3 * abs(x - 0.22)), 0.08, 1.0);
}

vec3 normal_of(uint code) {
  vec2 f = (vec2(float(code >> 6), float(code & 63u)) - 32.0) / 28.0;
  vec3 n = vec3(f, 1.0 - abs(f.x) - abs(f.y));
  if (n.z < 0.0) n.xy = (1.0 - abs(f.yx)) * vec2(f.x < 0.0 ? -1.0 : 1.0, f.y < 0.0 ? -1.0 : 1.0);
  return normalize(n);
}

void main() {
  int point = gl_VertexID * every + first;
  ivec4 row = texelFetch(rows, ivec2(point >> 7, chunk), 0);
  int slot = row.w >> 8 & 1023;
  vec4 q = texelFetch(places, ivec2(0, slot), 0), t = texelFetch(places, ivec2(1, slot), 0);
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = 1.0;
  colour = vec3(0.0);
  disc = 0.0;
  if ((point & 127) >= (row.w & 255) || t.w == 0.0) return;
  uint m = key.y >> 2, low = key.x;
  vec3 p = turn(q, vec3(row.xyz * 1024 + ivec3(gather(m), gather(m >> 1), gather(m >> 2))) * step_m) + t.xyz;
  if (any(lessThan(p, clip_min)) || any(greaterThan(p, clip_max))) return;
  gl_Position = lens * vec4(p, 1.0);
  gl_PointSize = clamp(size * min(widest, float(row.w >> 18) * step_m) / max(gl_Position.w, 1e-6), least, most);
  disc = gl_PointSize > 3.5 ? 1.0 : 0.0;
  uint code = (key.y & 3u) << 10 | low >> 22;
  if (look == 1) colour = rainbow((dot(p, up) - heights.x) / max(heights.y - heights.x, 1e-6));
  else if (look == 2) colour = rainbow(float(low & 15u) / 12.0);
  else if (look == 3) colour = code >> 6 == 0u || (code & 63u) == 0u ? vec3(0.35) : 0.5 + 0.5 * turn(q, normal_of(code));
  else if (look == 4) colour = 0.6 + 0.4 * cos(6.2832 * (float(slot) * 0.618 + vec3(0.0, 0.33, 0.67)));
  else colour = vec3(low >> 16 & 63u, low >> 10 & 63u, low >> 4 & 63u) / 63.0;
}`;

export const POINT_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec3 colour;
flat in float disc;
out vec4 result;
void main() {
  vec2 off = gl_PointCoord - 0.5;
  if (dot(off, off) * disc > 0.25) discard;
  result = vec4(colour, 1.0);
}`;

export const SCREEN_VERTEX = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }`;

/* Eye-dome shading: a pixel is the darker the more its neighbours are nearer, in octaves of distance; from a step on that is clearly an edge
 * it gets no darker, else single points would have black rims. */
export const SHADE_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D picture, depths;
uniform vec3 background;
uniform vec2 reach;                    /* near and far */
uniform float strength;
uniform int radius;
out vec4 result;

float octaves(float d) { return log2(reach.x * reach.y / (reach.y - d * (reach.y - reach.x))); }

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy), last = textureSize(depths, 0) - 1;
  float d = texelFetch(depths, at, 0).r, here, sum = 0.0;
  if (d >= 1.0) {
    result = vec4(background, 1.0);
    return;
  }
  here = octaves(d);
  for (int i = 0; i < 8 && strength > 0.0; i++) {
    ivec2 way = ivec2(round(1.3 * float(radius) * vec2(cos(0.7854 * float(i)), sin(0.7854 * float(i)))));
    float other = texelFetch(depths, clamp(at + way, ivec2(0), last), 0).r;
    if (other < 1.0) sum += clamp(here - octaves(other), 0.0, 0.05);
  }
  result = vec4(texelFetch(picture, at, 0).rgb * exp(-strength * sum), 1.0);
}`;

/* A line is a strip of four corners between its ends, cut off in front of the eye. */
export const LINE_VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec3 a;
layout(location = 1) in vec3 b;
layout(location = 2) in vec4 paint;
uniform mat4 lens;
uniform vec2 size;                     /* of the picture, pixels */
uniform float width, near;
out vec4 colour;
void main() {
  vec4 from = lens * vec4(a, 1.0), to = lens * vec4(b, 1.0);
  colour = paint;
  if (from.w < near && to.w < near) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  if (from.w < near) from = mix(from, to, (near - from.w) / (to.w - from.w));
  if (to.w < near) to = mix(to, from, (near - to.w) / (from.w - to.w));
  vec2 way = (to.xy / to.w - from.xy / from.w) * size;
  way = length(way) > 1e-6 ? normalize(way) : vec2(1.0, 0.0);
  vec4 end = (gl_VertexID & 1) == 0 ? from : to;
  end.xy += vec2(-way.y, way.x) * ((gl_VertexID & 2) == 0 ? 1.0 : -1.0) * width / size * end.w;
  gl_Position = end;
}`;

/* What is behind the cloud shows through faintly, but for lines that cover all. */
export const LINE_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D depths;
in vec4 colour;
out vec4 result;
void main() {
  float hidden = texelFetch(depths, ivec2(gl_FragCoord.xy), 0).r < gl_FragCoord.z - 1e-5 && colour.a < 0.99 ? 0.3 : 1.0;
  result = vec4(colour.rgb * colour.a * hidden, colour.a * hidden);
}`;
