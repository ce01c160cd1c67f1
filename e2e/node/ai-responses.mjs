// What programs do with the Responses API through the AI SDK. Reads {"base_url",
// "api_key", "model", "task"} from stdin, prints what came of it as JSON. A task is
// the name of a function of tasks.
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, Output, streamText } from "ai";
import { text } from "node:stream/consumers";
import { find, report } from "./report.mjs";

const write = '[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]';
const read = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]';

globalThis.AI_SDK_LOG_WARNINGS = false;
const request = JSON.parse(await text(process.stdin));
const provider = createOpenAI({ baseURL: request.base_url, apiKey: request.api_key });
const model = provider(request.model);

const tasks = {
  // A chat that sends its whole past each time: as references to items where the
  // provider stores them, else as text.
  async ai_whole() {
    const found = {};
    for (const store of [true, false]) {
      const providerOptions = { openai: { store } };
      const messages = [{ role: "user", content: write }];
      const first = await generateText({ model, messages, providerOptions });
      messages.push(...first.response.messages, { role: "user", content: read });
      const second = await generateText({ model, messages, providerOptions });
      messages.push(...second.response.messages, { role: "user", content: read });
      const third = streamText({ model, messages, providerOptions });
      found[store ? "stored" : "not_stored"] = {
        texts: [first.text, second.text, await third.text],
        steps: [first.reasoningText, second.reasoningText, (await third.reasoningText).trim()],
      };
    }
    const streamed = streamText({ model, output: Output.object({ schema: report }), prompt: find });
    found.structured = [
      (await generateObject({ model, schema: report, prompt: find })).object,
      (await generateText({ model, output: Output.object({ schema: report }), prompt: find })).output,
      await streamed.output,
    ];
    return found;
  },

  async approvals() {
    const tools = {
      openhands: provider.tools.mcp({
        serverLabel: "openhands",
        serverUrl: "http://127.0.0.1",
        requireApproval: "always",
      }),
    };
    const asked = [];
    const texts = [];
    for (const approved of [true, false]) {
      const messages = [{ role: "user", content: write }];
      const first = await generateText({ model, messages, tools });
      const requests = first.content.filter((part) => part.type === "tool-approval-request");
      asked.push(...requests.map((part) => part.toolCall.input.action));
      messages.push(...first.response.messages, {
        role: "tool",
        content: requests.map(({ approvalId }) => ({
          type: "tool-approval-response",
          approvalId,
          approved,
          providerExecuted: true,
        })),
      });
      texts.push((await generateText({ model, messages, tools })).text);
    }
    return { texts, asked };
  },
};

console.log(JSON.stringify(await tasks[request.task]()));
