// The table screen's voice: says what the table says, once each, after a tap on the key that asks for sound.
// Browsers let a page speak only after a tap; the kiosk's is told not to ask for one.
const ON = 'voice';
const MOST_WAITING = 2;
const key = document.getElementById('sound');
const isKiosk = document.documentElement.classList.contains('kiosk');
const silent = document.body.dataset.live;
let isOn = false;
let last = Infinity; // what was said before this page was there is not said again

const place = () => document.getElementById('voice');
const lines = () => [...(place()?.children ?? [])].map(line => ({ number: Number(line.dataset.number), text: line.textContent }));
const maySpeak = () => place()?.dataset.volume !== undefined;
const canSpeak = () => 'speechSynthesis' in window && speechSynthesis.getVoices().length > 0;

const wanted = () => isKiosk || localStorage.getItem(ON) === 'on';

// The service lets the machine be silent while a screen speaks: the stream tells it.
function follow() {
  const live = isOn ? `${silent}${silent.includes('?') ? '&' : '?'}voice` : silent;
  if (document.body.dataset.live === live) return;
  document.body.dataset.live = live;
  document.dispatchEvent(new Event('follow'));
}

function say(text) {
  const { volume, speed } = place().dataset;
  const spoken = Object.assign(new SpeechSynthesisUtterance(text), {
    lang: document.documentElement.lang, volume: Number(volume), rate: Number(speed),
  });
  spoken.onerror = event => { if (event.error === 'not-allowed') turn(false); };
  speechSynthesis.speak(spoken);
}

function shown() {
  const news = lines().filter(line => line.number > last);
  last = Math.max(last === Infinity ? 0 : last, ...lines().map(line => line.number));
  if (!maySpeak()) {
    if (isOn) speechSynthesis.cancel();
  } else if (isOn && news.length) {
    if (speechSynthesis.pending) speechSynthesis.cancel(); // the newest wins
    news.slice(-MOST_WAITING).forEach(line => say(line.text));
  }
  paint();
}

function paint() {
  if (!key) return;
  key.hidden = isOn || !canSpeak() || !maySpeak();
}

function turn(on) {
  isOn = on && canSpeak();
  if (isOn) localStorage.setItem(ON, 'on');
  else if (!on) localStorage.removeItem(ON);
  follow();
  paint();
}

key?.addEventListener('click', () => {
  turn(true);
  if (isOn) say(key.dataset.hello);
});
document.addEventListener('keydown', event => { if (event.key === 'm' && isOn) turn(false); });
window.speechSynthesis?.addEventListener?.('voiceschanged', () => (wanted() && !isOn ? turn(true) : paint()));
document.addEventListener('shown', shown);
shown();
if (wanted()) turn(true); // where that is not allowed without a tap, the key comes back

// A screen in the kiosk never sleeps while the page is there.
const wake = () => { if (isKiosk && !document.hidden) navigator.wakeLock?.request('screen').catch(() => {}); };
document.addEventListener('visibilitychange', wake);
wake();
