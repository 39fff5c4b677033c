import type { Rgb } from "./colours";

/**
 * A point is one vertex. The fourth byte of its colour says how it is drawn: see `FAINT`, `PLAIN`
 * and `LIT`.
 */
const VERTEX = `#version 300 es
in vec2 place;
in vec4 colour;
uniform vec2 scale, shift;
uniform float size, alpha;
out vec4 tint;
flat out float side;
void main() {
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  float level = colour.a * 255.0;
  float opacity = level > 250.0 ? min(1.0, 0.35 + 2.0 * alpha) : level > 100.0 ? alpha : 0.35 * alpha * level / 100.0;
  side = level > 250.0 ? max(size * 1.6, 4.5) : size;
  gl_PointSize = side;
  tint = vec4(colour.rgb * opacity, opacity);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
flat in float side;
out vec4 pixel;
void main() {
  if (side < 1.8) { pixel = tint; return; }
  float edge = smoothstep(0.5, 0.5 - 1.0 / side, length(gl_PointCoord - 0.5));
  pixel = tint * edge;
}`;

/** A point that a filter or a search leaves out. */
export const FAINT = 60;
export const PLAIN = 200;
/** A point that a search found: larger, and never transparent. */
export const LIT = 255;

/** What is seen: pixels of the canvas are `scale * place + shift`. */
export interface Sight {
  scale: number;
  shift: readonly [number, number];
  /** Side of a point in pixels. */
  size: number;
  alpha: number;
  /** How many points are drawn: the first ones. */
  count: number;
}

/** All points on a canvas of their own, drawn by WebGL2. */
export class PointLayer {
  private gl: WebGL2RenderingContext | null = null;
  private uniforms: Record<"scale" | "shift" | "size" | "alpha", WebGLUniformLocation | null> | null = null;
  private buffers: { place: WebGLBuffer; colour: WebGLBuffer } | null = null;
  private places = new Float32Array(0);
  private colours = new Uint8Array(0);

  private constructor(readonly canvas: HTMLCanvasElement) {}

  /** `null` if the browser has no WebGL2. `redraw` is called when lost memory is there again. */
  static create(canvas: HTMLCanvasElement, redraw: () => void): PointLayer | null {
    const layer = new PointLayer(canvas);
    if (!layer.start()) return null;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      layer.gl = null;
    });
    canvas.addEventListener("webglcontextrestored", () => {
      if (!layer.start()) return;
      layer.send();
      redraw();
    });
    return layer;
  }

  /** Whether the processor draws, and not a GPU. */
  get isSlow(): boolean {
    const names = this.gl?.getExtension("WEBGL_debug_renderer_info");
    const name = names ? String(this.gl!.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
    return /swiftshader|llvmpipe|software|basic render/i.test(name);
  }

  private start(): boolean {
    const gl = this.canvas.getContext("webgl2", { antialias: false, depth: false, powerPreference: "high-performance" });
    if (!gl) return false;
    const program = gl.createProgram()!;
    for (const [type, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
    gl.bindAttribLocation(program, 1, "colour");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return false;
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const at = (name: string) => gl.getUniformLocation(program, name);
    this.uniforms = { scale: at("scale"), shift: at("shift"), size: at("size"), alpha: at("alpha") };
    this.buffers = { place: gl.createBuffer()!, colour: gl.createBuffer()! };
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.place);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.colour);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    this.gl = gl;
    return true;
  }

  private send(): void {
    const { gl, buffers } = this;
    if (!gl || !buffers) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.place);
    gl.bufferData(gl.ARRAY_BUFFER, this.places, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.colour);
    gl.bufferData(gl.ARRAY_BUFFER, this.colours, gl.DYNAMIC_DRAW);
  }

  /** x and y of each point, in the order in which they are drawn. */
  setPlaces(places: Float32Array<ArrayBuffer>): void {
    this.places = places;
    this.colours = new Uint8Array(2 * places.length);
    this.send();
  }

  /** Red, green, blue and manner of each point. */
  setColours(fill: (colours: Uint8Array) => void): void {
    fill(this.colours);
    const { gl, buffers } = this;
    if (!gl || !buffers) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.colour);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.colours);
  }

  draw({ scale, shift, size, alpha, count }: Sight): void {
    const { gl, uniforms, canvas } = this;
    if (!gl || !uniforms) return;
    const { width, height } = canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniforms.scale, (2 * scale) / width, (-2 * scale) / height);
    gl.uniform2f(uniforms.shift, (2 * shift[0]) / width - 1, 1 - (2 * shift[1]) / height);
    gl.uniform1f(uniforms.size, size);
    gl.uniform1f(uniforms.alpha, alpha);
    gl.drawArrays(gl.POINTS, 0, Math.min(count, this.places.length / 2));
  }
}

/** Writes one colour into the array of all. */
export function setColour(colours: Uint8Array, at: number, [r, g, b]: Rgb, manner: number): void {
  colours[4 * at] = r;
  colours[4 * at + 1] = g;
  colours[4 * at + 2] = b;
  colours[4 * at + 3] = manner;
}
