// What programs do with the Responses API, through OpenAI's library for Node and
// the AI SDK. Reads {"base_url", "api_key", "model"} from stdin, prints what came of
// it as JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { text } from "node:stream/consumers";
import { find, report } from "./report.mjs";

const write = '[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]';
const read = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]';
const fail = "[[fail 401]]";

const request = JSON.parse(await text(process.stdin));
const result = {};

const client = new OpenAI({ baseURL: request.base_url, apiKey: request.api_key });
const first = await client.responses.create({ model: request.model, input: write });
const stream = client.responses.stream({ model: request.model, input: read, previous_response_id: first.id });
const second = await stream.finalResponse();
const resumed = await client.responses.stream({ response_id: second.id, starting_after: 3 }).finalResponse();
result.openai = {
  texts: [first.output_text, second.output_text, resumed.output_text],
  same: first.conversation.id === second.conversation.id,
  failed: await failure(() => client.responses.stream({ model: request.model, input: fail }).finalResponse()),
};

const parsed = await client.responses.parse({
  model: request.model,
  input: find,
  text: { format: zodTextFormat(report, "report") },
});
result.openai.parsed = parsed.output_parsed;

const asked = [];
for await (const item of client.responses.inputItems.list(second.id)) asked.push(item.content[0].text);
const long = await client.responses.create({ model: request.model, input: "[[slow 400 100ms]]", background: true });
const cancelled = await client.responses.cancel(long.id);
await client.responses.delete(second.id);
result.openai.input = asked.length === 1 && asked[0] === read;
result.openai.cancelled = cancelled.status;
result.openai.deleted = await failure(() => client.responses.retrieve(second.id));

const { conversations } = client;
const at = await conversations.create({
  items: [{ type: "message", role: "user", content: "My tea is green." }],
  metadata: { who: "e2e" },
});
const added = await conversations.items.create(at.id, { items: [{ type: "message", role: "user", content: "Hot." }] });
const hot = await conversations.items.retrieve(added.data[0].id, { conversation_id: at.id });
await conversations.items.delete(hot.id, { conversation_id: at.id });
const answer = await client.responses.create({ model: request.model, input: write, conversation: at.id });
const listed = [];
for await (const item of conversations.items.list(at.id, { order: "asc", limit: 2 })) {
  if (item.type === "message") listed.push(item.content[0].text);
}
result.conversations = {
  metadata: [at.metadata.who, (await conversations.update(at.id, { metadata: { who: "you" } })).metadata.who],
  retrieved: hot.content[0].text,
  listed: [listed[0], listed.at(-1)],
  same: answer.conversation.id === at.id,
  deleted: (await conversations.delete(at.id)).deleted,
  gone: await failure(() => conversations.retrieve(at.id)),
};

const provider = createOpenAI({ baseURL: request.base_url, apiKey: request.api_key });
const whole = await generateText({ model: provider(request.model), prompt: write });
const id = whole.providerMetadata.openai.responseId;
const streamed = streamText({
  model: provider(request.model),
  prompt: read,
  providerOptions: { openai: { previousResponseId: id } },
  onError() {},
});
let pieces = 0;
let reasoning = "";
for await (const part of streamed.fullStream) {
  if (part.type === "text-delta") pieces++;
  if (part.type === "reasoning-delta") reasoning += part.text;
}
result.ai = {
  texts: [whole.text, await streamed.text],
  pieces: pieces > 0,
  reasoning: reasoning.includes("cat note.txt"),
  usage: (await streamed.usage).totalTokens > 0,
  finish: await streamed.finishReason,
};
console.log(JSON.stringify(result));

async function failure(call) {
  try {
    await call();
    return "";
  } catch (error) {
    return `${error.constructor.name} ${error.code}`;
  }
}
