/* gl.js - what every part of the drawing asks of WebGL 2: programs with their uniforms, and a target to draw into */

/** A program and its uniforms by name. What does not compile is a fault of ours or of the driver, and said in its words. */
export function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
  const uniforms = {};
  for (let i = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS) - 1; i >= 0; i--) {
    const {name} = gl.getActiveUniform(made, i);
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return {made, uniforms};
}

/** A texture that is read texel by texel. */
export function table(gl, unit, format, width, height) {
  const texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0 + unit);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
  for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
  for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  return texture;
}

/** Units of textures, one for each thing that shaders read. */
export const UNIT = {rows: 0, places: 1, picture: 2, depths: 3, scratch: 4};

/** A picture and its depths, off the screen. */
export class Target {
  constructor(gl, width, height) {
    Object.assign(this, {gl, width, height});
    this.picture = table(gl, UNIT.scratch, gl.RGBA8, width, height);
    this.depths = table(gl, UNIT.scratch, gl.DEPTH_COMPONENT24, width, height);
    this.frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.picture, 0);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.depths, 0);
  }

  /** Draws go here from now on. */
  bind(clear) {
    const {gl} = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.viewport(0, 0, this.width, this.height);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    if (clear) {
      gl.clearColor(0, 0, 0, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    }
  }

  /** Shaders read it from now on. */
  show() {
    const {gl} = this;
    gl.activeTexture(gl.TEXTURE0 + UNIT.picture);
    gl.bindTexture(gl.TEXTURE_2D, this.picture);
    gl.activeTexture(gl.TEXTURE0 + UNIT.depths);
    gl.bindTexture(gl.TEXTURE_2D, this.depths);
  }

  close() {
    this.gl.deleteFramebuffer(this.frame);
    this.gl.deleteTexture(this.picture);
    this.gl.deleteTexture(this.depths);
  }
}
