// The turn comes to this seat: the phone shakes and says it by a short tone, whatever the orders will be. Nothing is
// heard before the page was touched: browsers forbid it.
import { isOn } from './switches.js';

const SHAKE_MS = 120;
const LATE_MS = 100;
const idle = globalThis.requestIdleCallback ?? (later => setTimeout(later, LATE_MS)); // Safari has none
const TONE = { hz: 1046.5, s: 0.08, loud: 0.12 }; // C6 80, as on the buzzer
let audio = null;
let asked = null;

function wake() {
  if (!isOn('signal')) return;
  audio ??= new AudioContext();
  if (audio.state === 'suspended') audio.resume();
}

function sound() {
  if (audio?.state !== 'running') return;
  const now = audio.currentTime;
  const loud = new GainNode(audio, { gain: 0 });
  loud.gain.linearRampToValueAtTime(TONE.loud, now + 0.005);
  loud.gain.setValueAtTime(TONE.loud, now + TONE.s);
  loud.gain.linearRampToValueAtTime(0, now + TONE.s + 0.02);
  const voice = new OscillatorNode(audio, { type: 'triangle', frequency: TONE.hz });
  voice.connect(loud).connect(audio.destination);
  voice.start(now);
  voice.stop(now + TONE.s + 0.02);
}

function look() {
  const now = document.getElementById('live')?.dataset.asked !== undefined;
  if (now && asked === false && isOn('signal')) {
    if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(SHAKE_MS);
    idle(sound, { timeout: LATE_MS }); // what is new is drawn first
  }
  asked = now;
}

// The answer to a touch is drawn first: an audio context takes its time.
for (const touch of ['pointerdown', 'keydown']) document.addEventListener(touch, () => idle(wake), { passive: true });
document.addEventListener('shown', look);
look();
if (navigator.userActivation?.hasBeenActive) wake();
