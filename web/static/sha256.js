// SHA-256 (FIPS 180-4) of a text in UTF-8 or of bytes, as 64 hexadecimal digits: browsers keep crypto.subtle back on plain http.
const primes = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every(prime => n % prime)) primes.push(n);
const fraction = root => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
const START = primes.slice(0, 8).map(prime => fraction(Math.sqrt(prime)));
const ROUND = primes.map(prime => fraction(Math.cbrt(prime)));
const turn = (word, bits) => (word >>> bits) | (word << (32 - bits));

function padded(text) {
  const bytes = text.buffer ? text : new TextEncoder().encode(text);
  const blocks = new Uint8Array(((bytes.length + 8) >> 6 << 6) + 64);
  blocks.set(bytes);
  blocks[bytes.length] = 0x80;
  new DataView(blocks.buffer).setBigUint64(blocks.length - 8, BigInt(bytes.length) * 8n);
  return new DataView(blocks.buffer);
}

function mix(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i];
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + state[i]) | 0);
}

export function sha256(text) {
  const blocks = padded(text);
  let state = START;
  for (let at = 0; at < blocks.byteLength; at += 64) {
    const words = Array.from({ length: 16 }, (_, i) => blocks.getUint32(at + 4 * i));
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [words[i - 15], words[i - 2]];
      const small = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      const large = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
      words.push((words[i - 16] + small + words[i - 7] + large) | 0);
    }
    state = mix(state, words);
  }
  return state.map(word => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
