/* tap.js - tests by name, run one after the other; lines of TAP */

export function same(a, b, what) {
  if (a !== b) throw new Error(`${what}: ${a} instead of ${b}`);
}

export function near(a, b, what, within = 1e-9) {
  if (!(Math.abs(a - b) <= within)) throw new Error(`${what}: ${a} instead of ${b}`);
}

/** @param {Record<string, (about: any) => any>} tests */
export async function tap(tests, about) {
  const lines = [`1..${Object.keys(tests).length}`];
  let n = 0;
  for (const [name, test] of Object.entries(tests)) {
    n++;
    try {
      await test(about);
      lines.push(`ok ${n} - ${name}`);
    } catch (error) {
      lines.push(`not ok ${n} - ${name}`, `# ${error.stack.replaceAll('\n', '\n# ')}`);
    }
  }
  return lines.join('\n');
}
