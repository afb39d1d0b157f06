// Anagrams: the letters of a word in alphabetical order, and the model says the word.

import { readFileSync } from "node:fs";
import { ask, done, random, serve } from "./regatta_benchmark.mjs";

const sorted = (word) => [...word].sort().join("");

await serve({
  load: ({ test }) =>
    readFileSync(test, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((word) => ({ id: word, task: `${word.length} letters`, word })),

  next(item, { hint }, transcript) {
    if (transcript.length > 0) return done();
    const begins = hint ? ` It begins with "${item.word[0]}".` : "";
    const prompt = `Which English word has exactly the letters "${sorted(item.word)}"?${begins} Write the word alone.`;
    return ask(prompt, { temperature: 0, max_tokens: 20 });
  },

  score(item, _setting, transcript) {
    const said = (transcript[0].text ?? "").trim().toLowerCase();
    return { values: { right: said === item.word }, detail: { said } };
  },

  simulate: (item, _setting, _role, noise, seed) => (random(seed)() < noise ? sorted(item.word) : item.word),
});
