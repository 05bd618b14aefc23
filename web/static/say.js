// What the scripts say, in the page's language: the English pattern is the key, the catalogue comes from the service.
const language = document.documentElement.lang;
const words = language === "en" ? {} : (await import(`./words.${language}.js`)).default;

// A sentence from its English pattern; parts stand for its {names}.
export function say(pattern, parts = {}) {
  return (words[pattern] || pattern).replace(/\{(\w+)\}/g, (_, name) => parts[name]);
}

// A sentence about n things; in French none is one too.
export function sayN(one, many, n, parts = {}) {
  return say(n === 1 || (n === 0 && language === "fr") ? one : many, { ...parts, n });
}
