// Benchmarks in JavaScript and TypeScript, for Regatta: an object with `load`, `next` and `score` becomes the program of a `benchmark.yaml`.
//
// One file without dependencies, for Node 18 and later: copy it beside your benchmark. The types are in comments that TypeScript reads.
// A benchmark is pure: the same call gives the same answer, in every process and at any time. What is logged goes to standard error.

import { createInterface } from "node:readline";

export const VERSION = 1;

/**
 * @typedef {{ id: string, task?: string, group?: string, parts?: string[], worst?: Record<string, number> }} Item
 * @typedef {{ id: string, name: string, arguments: string }} ToolCall
 * @typedef {{ role: string, text: string | null, tool_calls: ToolCall[] }} Reply
 * @typedef {{ role: string, content: string, images?: string[], tool_calls?: ToolCall[], tool_call_id?: string }} Message
 * @typedef {{ name: string, values: Record<string, string | number | boolean> }} Setting
 *
 * @typedef {object} Benchmark
 * @property {(data: Record<string, string>) => (Item & Record<string, any>)[]} load
 * @property {(item: any, setting: Setting["values"], transcript: Reply[]) => object} next
 * @property {(item: any, setting: Setting["values"], transcript: Reply[], verdicts: Map<string, string[]>) => object} score
 * @property {(trials: { item: string, values: Record<string, number> }[][]) => any} [tabulate]
 * @property {(item: any, setting: Setting["values"], role: string, noise: number, seed: number, messages: Message[]) => string | ToolCall[]} [simulate]
 */

/** Asks a model: `messages` are a text, or objects with role and content. */
export function ask(messages, { role = "agent", tools = [], stop = [], ...sampling } = {}) {
  const list = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  return { ask: { role, messages: list, tools, stop, sampling } };
}

/** The session is over. */
export const done = () => ({ done: true });

/** What has happened is no session of this benchmark. */
export const unfit = (why) => ({ unfit: why });

/** Instead of values: what judges are asked first. */
export const questions = (...prompts) => ({ questions: prompts });

/** A generator of numbers in 0..1 from a seed (mulberry32), for `simulate`. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Answers Regatta's calls until there are no more.
 * @param {Benchmark} benchmark
 */
export async function serve(benchmark) {
  console.log = console.info = console.debug = console.error;
  const items = new Map();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const message = JSON.parse(line);
    const said = { v: VERSION, id: message.id };
    try {
      if (message.v !== VERSION) throw new Error(`this helper speaks version ${VERSION} of the protocol, Regatta ${message.v}`);
      said.answer = answer(benchmark, items, message);
    } catch (error) {
      console.error(error);
      said.error = String(error);
    }
    process.stdout.write(JSON.stringify(said) + "\n");
  }
}

function answer(benchmark, items, message) {
  if (message.call === "load") {
    const loaded = benchmark.load(message.data);
    for (const item of loaded) items.set(item.id, item);
    const wire = ({ id, task, group, parts, worst }) => ({ id, task, group, parts, worst });
    const functions = ["tabulate", "simulate"].filter((name) => typeof benchmark[name] === "function");
    return { items: loaded.map(wire), functions };
  }
  if (message.call === "tabulate") return { aggregate: benchmark.tabulate(message.trials) };
  const item = items.get(message.item);
  if (item === undefined) throw new Error(`there is no item ${message.item}`);
  const setting = message.setting.values;
  if (message.call === "simulate") {
    const noise = message.persona === "oracle" ? 0 : message.persona.noisy;
    const reply = benchmark.simulate(item, setting, message.role, noise, message.seed, message.messages);
    return typeof reply === "string" ? { text: reply } : { tool_calls: reply };
  }
  if (message.call === "next") return benchmark.next(item, setting, message.transcript);
  const verdicts = new Map(message.verdicts.map(({ prompt, replies }) => [prompt, replies]));
  const scored = benchmark.score(item, setting, message.transcript, verdicts);
  if (scored.questions) return scored;
  const values = Object.entries(scored.values ?? scored).map(([name, value]) => [name, Number(value)]);
  return { values: Object.fromEntries(values), detail: scored.values ? scored.detail : null };
}
