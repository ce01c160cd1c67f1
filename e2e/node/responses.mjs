// What programs do with the Responses API, through OpenAI's library for Node and
// the AI SDK. Reads {"base_url", "api_key", "model"} from stdin, prints what came of
// it as JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { text } from "node:stream/consumers";

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
