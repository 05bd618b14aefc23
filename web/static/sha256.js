// SHA-256. Variables have their names from the standard, FIPS 180-4. Browsers have this function themselves (crypto.subtle), but
// offer it only to pages over HTTPS.
const primes = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every(prime => n % prime)) primes.push(n);
// the first 32 bits of a number's fraction
const fractionBits = root => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
const INITIAL_HASH = primes.slice(0, 8).map(prime => fractionBits(Math.sqrt(prime)));
const ROUND_CONSTANTS = primes.map(prime => fractionBits(Math.cbrt(prime)));
const rotateRight = (word, bits) => (word >>> bits) | (word << (32 - bits));

// Return text or bytes with padding: 0x80, zeros, and the length in bits, up to whole blocks of 64 bytes.
function pad(message) {
  const bytes = message.buffer ? message : new TextEncoder().encode(message);
  const blocks = new Uint8Array(((bytes.length + 8) >> 6 << 6) + 64);
  blocks.set(bytes);
  blocks[bytes.length] = 0x80;
  new DataView(blocks.buffer).setBigUint64(blocks.length - 8, BigInt(bytes.length) * 8n);
  return new DataView(blocks.buffer);
}

// Return the hash after a block, whose 16 words were extended to 64.
function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const first = h + (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i] + words[i];
    const second = (rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + state[i]) | 0);
}

// Return the SHA-256 of bytes, or of a text in UTF-8, as 64 hexadecimal digits.
export function sha256(message) {
  const blocks = pad(message);
  let state = INITIAL_HASH;
  for (let offset = 0; offset < blocks.byteLength; offset += 64) {
    const words = Array.from({ length: 16 }, (_, i) => blocks.getUint32(offset + 4 * i));
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [words[i - 15], words[i - 2]];
      const small = rotateRight(x, 7) ^ rotateRight(x, 18) ^ (x >>> 3);
      const large = rotateRight(y, 17) ^ rotateRight(y, 19) ^ (y >>> 10);
      words.push((words[i - 16] + small + words[i - 7] + large) | 0);
    }
    state = compress(state, words);
  }
  return state.map(word => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
