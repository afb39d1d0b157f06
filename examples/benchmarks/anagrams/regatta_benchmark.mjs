// Benchmarks in JavaScript and TypeScript, for Regatta: an object with `load`, `next` and `score` becomes the program of a `benchmark.yaml`.
//
// One file without dependencies, for Node 18 and later: copy it beside your benchmark. The types are in comments that TypeScript reads.
// A benchmark is pure: the same call gives the same answer, in every process and at any time. What is logged goes to standard error.

import { createInterface } from "node:readline";

export const VERSION = 1;

/**
 * @typedef {{ id: string, task?: string, group?: string, parts?: string[], worst?: Record<string, number> }} Item
 * @typedef {{ id: string, name: string, arguments: string }} ToolCall
 * @typedef {{ role: string, text: string | null, tool_calls: ToolCall[], results?: string[] }} Reply
 * @typedef {{ role: string, content: string, images?: string[], tool_calls?: ToolCall[], tool_call_id?: string }} Message
 * @typedef {{ name: string, values: Record<string, string | number | boolean> }} Setting
 * @typedef {{ name: string, description?: string, parameters: object }} Tool
 * @typedef {{ snapshot: any, seed: number }} WorldState
 *
 * @typedef {object} World A session's world: tools of the agent, or of each role, and what they do.
 * @property {Tool[] | Record<string, Tool[]>} tools
 * @property {(name: string, args: Record<string, any>) => string | Promise<string>} call The result; a `ToolError` is told the model.
 * @property {() => any} [snapshot] The state, for `score`.
 * @property {() => void | Promise<void>} [close]
 *
 * @typedef {object} Benchmark
 * @property {(data: Record<string, string>) => (Item & Record<string, any>)[]} load
 * @property {(item: any, setting: Setting["values"], transcript: Reply[]) => object} next
 * @property {(item: any, setting: Setting["values"], transcript: Reply[], verdicts: Map<string, string[]>, world?: WorldState) => object} score
 * @property {(item: any, setting: Setting["values"], seed: number) => World | Promise<World>} [world] A fresh world of a session.
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

/** Instead of values: what judges are asked first; `{ images: [path] }` among the prompts is what they see before each. */
export const questions = (...prompts) => ({
  questions: prompts.filter((prompt) => typeof prompt === "string"),
  ...Object.assign({}, ...prompts.filter((prompt) => typeof prompt !== "string")),
});

/** Throw it in a tool that cannot do what it was asked: the model is told, and its session goes on. */
export class ToolError extends Error {}

/**
 * The messages of a session with a world as `role` sees them: its own replies with the results of their calls, and what others say.
 * @param {Reply[]} transcript
 */
export function conversation(transcript, role = "agent") {
  return transcript.flatMap((reply) => {
    const content = reply.text ?? "";
    if (reply.role !== role) return reply.tool_calls.length ? [] : [{ role: "user", content }];
    const results = reply.tool_calls.map((call, at) => ({ role: "tool", content: reply.results[at], tool_call_id: call.id }));
    return [{ role: "assistant", content, tool_calls: reply.tool_calls }, ...results];
  });
}

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
  const kept = new Kept(4);
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const message = JSON.parse(line);
    const said = { v: VERSION, id: message.id };
    try {
      if (message.v !== VERSION) throw new Error(`this helper speaks version ${VERSION} of the protocol, Regatta ${message.v}`);
      said.answer = await answer(benchmark, items, kept, message);
    } catch (error) {
      console.error(error);
      said.error = String(error);
    }
    process.stdout.write(written(said) + "\n");
  }
}

/** A message as JSON. Arguments of models may have halves of characters, which are no text: a question mark stands for each. */
function written(message) {
  const text = JSON.stringify(message);
  const whole = (value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "?") : value);
  return text.includes("\\ud") ? JSON.stringify(message, (_, value) => whole(value)) : text;
}

/** Worlds where their sessions have left them, so that the next step of a session repeats no calls. */
class Kept {
  constructor(most) {
    this.most = most;
    this.worlds = [];
  }

  /** A world of `session` after `calls`, and their results; whoever takes it closes it, or puts it back. */
  async take(session, calls, make) {
    const place = placeOf(calls);
    // Few are kept and calls may be many, so each is compared once, and not each beginning of the calls looked up.
    const isOnTheWay = (kept) => kept.session === session && kept.place.every((call, at) => call === place[at]);
    const [farthest] = this.worlds.filter(isOnTheWay).sort((one, other) => other.place.length - one.place.length);
    if (farthest !== undefined) {
      this.worlds.splice(this.worlds.indexOf(farthest), 1);
      try {
        return await play(farthest.world, farthest.results, calls);
      } catch (error) {
        // It may have ended since its last call: a fresh one says whether that was the reason.
        console.error(error);
      }
    }
    return play(await make(), [], calls);
  }

  async put(session, calls, { world, results }) {
    this.worlds.push({ session, place: placeOf(calls), world, results });
    while (this.worlds.length > this.most) await this.worlds.shift().world.close?.();
  }
}

const placeOf = (calls) => calls.map((call) => JSON.stringify(call));

/** All results of `calls`, the first of which `world` has given already. A world that fails is closed. */
async function play(world, before, calls) {
  const results = [...before];
  try {
    for (const call of calls.slice(before.length)) results.push(await result(world, call));
  } catch (error) {
    await world.close?.();
    throw error;
  }
  return { world, results };
}

/** The tools of a world, by the role that may call them. */
const toolsOf = (world) => (Array.isArray(world.tools) ? { agent: world.tools } : world.tools);

async function result(world, call) {
  // A model may call what it likes; a world's other functions are none of its business.
  if (!toolsOf(world)[call.role]?.some(({ name }) => name === call.name)) return `error: there is no tool ${call.name}`;
  let parsed;
  try {
    parsed = JSON.parse(call.arguments || "{}");
  } catch {
    parsed = null;
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) return "error: the arguments are no JSON object";
  try {
    return await world.call(call.name, parsed);
  } catch (error) {
    if (error instanceof ToolError) return `error: ${error.message}`;
    throw error;
  }
}

async function served(benchmark, kept, item, { setting, seed, calls, snapshot }) {
  const session = JSON.stringify([item.id, setting.name]);
  const left = await kept.take(session, calls, () => benchmark.world(item, setting.values, seed));
  const { world, results } = left;
  const answer = { tools: toolsOf(world), results };
  if (!snapshot) {
    await kept.put(session, calls, left);
    return answer;
  }
  // Whoever wants the state scores: the session is over.
  try {
    return { ...answer, snapshot: (await world.snapshot?.()) ?? null };
  } finally {
    await world.close?.();
  }
}

async function answer(benchmark, items, kept, message) {
  if (message.call === "load") {
    const loaded = await benchmark.load(message.data);
    for (const item of loaded) items.set(item.id, item);
    const wire = ({ id, task, group, parts, worst }) => ({ id, task, group, parts, worst });
    const written = { tabulate: "tabulate", simulate: "simulate", serve: "world" };
    const functions = Object.keys(written).filter((name) => typeof benchmark[written[name]] === "function");
    return { items: loaded.map(wire), functions };
  }
  if (message.call === "tabulate") return { aggregate: benchmark.tabulate(message.trials) };
  const item = items.get(message.item);
  if (item === undefined) throw new Error(`there is no item ${message.item}`);
  const setting = message.setting.values;
  if (message.call === "simulate") {
    const noise = message.persona === "oracle" ? 0 : message.persona.noisy;
    const reply = await benchmark.simulate(item, setting, message.role, noise, message.seed, message.messages);
    return typeof reply === "string" ? { text: reply } : { tool_calls: reply };
  }
  if (message.call === "serve") return served(benchmark, kept, item, message);
  if (message.call === "next") return benchmark.next(item, setting, message.transcript);
  const verdicts = new Map(message.verdicts.map(({ prompt, replies }) => [prompt, replies]));
  const scored = await benchmark.score(item, setting, message.transcript, verdicts, message.world);
  if (scored.questions) return scored;
  const values = Object.entries(scored.values ?? scored).map(([name, value]) => [name, Number(value)]);
  return { values: Object.fromEntries(values), detail: scored.values ? scored.detail : null };
}
