// What programs do with the Agents SDK for JavaScript. Reads {"base_url", "api_key",
// "model", "task"} from stdin, prints what came of it as JSON. A task is the name of a
// function of tasks.
import {
  Agent,
  hostedMcpTool,
  MemorySession,
  OpenAIConversationsSession,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
} from "@openai/agents";
import OpenAI from "openai";
import { text } from "node:stream/consumers";
import { find, report } from "./report.mjs";

const write = '[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]';
const read = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]';

const request = JSON.parse(await text(process.stdin));
const client = new OpenAI({ baseURL: request.base_url, apiKey: request.api_key });
setTracingDisabled(true);
const runner = new Runner({ tracingDisabled: true });
const model = new OpenAIResponsesModel(client, request.model);

const tasks = {
  async agents() {
    const agent = new Agent({ name: "e2e", model, instructions: "Be brief." });
    const first = await runner.run(agent, write);
    const second = await runner.run(agent, read, { previousResponseId: first.lastResponseId });
    const third = await runner.run(agent, read, { previousResponseId: second.lastResponseId, stream: true });
    let deltas = 0;
    for await (const event of third) deltas += event.data?.type === "output_text_delta" ? 1 : 0;
    await third.completed;
    return {
      texts: [first, second, third].map((r) => r.finalOutput),
      conversations: await conversations(first, second, third),
      deltas: deltas > 0,
      usage: first.state.usage.totalTokens > 0,
      structured: (await runner.run(new Agent({ name: "e2e", model, outputType: report }), find)).finalOutput,
      failed: await failure(() => runner.run(agent, "[[fail 401]]")),
    };
  },

  // Sessions send the whole chat with each message.
  async session() {
    const agent = new Agent({ name: "e2e", model, instructions: "Be brief." });
    const kept = new OpenAIConversationsSession({ client });
    const found = {};
    for (const [name, session] of Object.entries({ memory: new MemorySession(), conversations: kept })) {
      const turns = [];
      for (const prompt of [write, read, read]) turns.push(await runner.run(agent, prompt, { session }));
      found[name] = { texts: turns.map((r) => r.finalOutput), conversations: await conversations(...turns) };
    }
    const last = await kept.popItem();
    found.popped = [last.content[0].text, (await kept.getItems()).length];
    await kept.clearSession();
    return found;
  },

  async approvals() {
    const asked = [];
    const texts = [];
    for (const approve of [true, false]) {
      const tool = hostedMcpTool({
        serverLabel: "openhands",
        serverUrl: "http://127.0.0.1",
        requireApproval: "always",
        async onApproval(context, item) {
          asked.push(JSON.parse(item.rawItem.providerData.arguments).action);
          return approve ? { approve } : { approve, reason: "[[finish As you wish.]]" };
        },
      });
      const result = await runner.run(new Agent({ name: "e2e", model, tools: [tool] }), write);
      texts.push(result.finalOutput);
    }
    return { texts, asked };
  },
};

console.log(JSON.stringify(await tasks[request.task]()));

async function conversations(...results) {
  const ids = await Promise.all(
    results.map(async (r) => (await client.responses.retrieve(r.lastResponseId)).conversation.id),
  );
  return new Set(ids).size;
}

// failure is what a failing run throws. On a machine so slow that its answer has
// begun already, it breaks off; the next call has the same failure.
async function failure(call) {
  let told = "";
  for (let n = 0; n < 3 && !told.startsWith("5"); n++) {
    try {
      await call();
      return "";
    } catch (error) {
      told = `${error.status} ${error.code}`;
    }
  }
  return told;
}
