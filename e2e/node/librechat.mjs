// What LibreChat sends, through the library that it sends it with: titles made
// beside the first message, the whole chat with every message, the id of a chat
// in a header from its second message on.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

const { base_url: baseURL, api_key: apiKey, model, steps } = JSON.parse(await new Response(process.stdin).text());

// headers are those of the gateway that say what a request was.
function client(conversation, said) {
  return new ChatOpenAI({
    model, apiKey, streamUsage: true, user: "66f0c0ffee",
    configuration: {
      baseURL,
      defaultHeaders: { "X-LibreChat-Conversation-Id": conversation },
      fetch: async (url, init) => {
        said.requests = (said.requests ?? 0) + 1;
        const response = await fetch(url, init);
        for (const name of ["x-openhands-reconciled", "x-openhands-task", "x-openhands-serverconversation-id"]) {
          said[name.replace("x-openhands-", "")] = response.headers.get(name) ?? "";
        }
        return response;
      },
    },
  });
}

async function ask(conversation, shown, stopAfter = 0) {
  const said = { text: "" };
  const abort = new AbortController();
  try {
    const messages = shown.map((m, i) => (i % 2 ? new AIMessage(m) : new HumanMessage(m)));
    for await (const chunk of await client(conversation, said).stream(messages, { signal: abort.signal })) {
      said.text += chunk.text;
      if (stopAfter && said.text.length >= stopAfter) abort.abort();
    }
  } catch (error) {
    if (!abort.signal.aborted) said.error = String(error);
  }
  return said;
}

async function title(conversation, first) {
  const said = { text: "" };
  const prompt = `Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: ${first}\nAI: `;
  said.text = (await client(conversation, said).invoke([new HumanMessage(prompt)])).text;
  return said;
}

const [first, second, edited, slow, last] = steps;
const id = "5f0c2a52-8a3c-4a0e-9d0b-0c8f2a8e7b11";
const results = {};
[results.first, results.title] = await Promise.all([ask("", [first]), title("", first)]);
const one = [first, results.first.text];
results.second = await ask(id, [...one, second]);
results.edited = await ask(id, [...one, edited]);
const two = [...one, edited, results.edited.text];
results.slow = await ask(id, [...two, slow], 10);
results.last = await ask(id, [...two, slow, results.slow.text, last]);
console.log(JSON.stringify(results));
