// The sentences that a component says itself come with its data, in the language of the page, and a
// page has one language. This text is put before that of a component.

let words = {};
let locale = "en-US";

function speakAs(data) {
  ({ words, locale } = data);
}

// A sentence with its gaps, such as "{input}", filled.
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

const written = (number, options) => number.toLocaleString(locale, options);
