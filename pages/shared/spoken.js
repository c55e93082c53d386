// The sentences of a component come with its data, in the language of the page; a page has one
// language. This file is prepended to a component.

let words = {};
let locale = "en-US";

function speakAs(data) {
  ({ words, locale } = data);
}

// Fills the gaps of a sentence, such as "{input}".
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

const written = (number, options) => number.toLocaleString(locale, options);
