// Tones of the table screen, in the table's own spelling: a note and its ms, `·n` for a pause. They sound where the voice
// was switched on, or in the kiosk, and never in quiet hours.
const HZ = { A4: 440, E5: 659.26, A5: 880, C6: 1046.5, E6: 1318.51, A6: 1760 };
const RISE_S = 0.005;
let context = null;
let loudness = null;

const volume = () => Number(document.getElementById('voice')?.dataset.volume ?? 0);
const isOn = () => document.documentElement.classList.contains('kiosk') || localStorage.getItem('voice') === 'on';

export function sound(text, delayMs) {
  if (!volume() || !isOn()) return;
  context ??= new AudioContext();
  if (context.state === 'suspended') context.resume().catch(() => {});
  if (!loudness) {
    loudness = context.createGain();
    loudness.connect(context.destination);
  }
  loudness.gain.value = volume() * 0.15;
  let at = context.currentTime + delayMs / 1000;
  const words = text.split(' ');
  while (words.length) {
    const word = words.shift();
    if (word.startsWith('·')) at += Number(word.slice(1)) / 1000;
    else {
      const end = at + Number(words.shift()) / 1000;
      note(HZ[word], at, end);
      at = end;
    }
  }
}

function note(hz, from, to) {
  const oscillator = new OscillatorNode(context, { type: 'square', frequency: hz });
  const swell = new GainNode(context, { gain: 0 });
  swell.gain.setTargetAtTime(1, from, RISE_S);
  swell.gain.setTargetAtTime(0, to - RISE_S, RISE_S);
  oscillator.connect(swell).connect(loudness);
  oscillator.start(from);
  oscillator.stop(to + 5 * RISE_S);
}

// What has not sounded yet never does.
export function silence() {
  loudness?.disconnect();
  loudness = null;
}
