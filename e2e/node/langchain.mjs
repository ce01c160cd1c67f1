// LangChain for JavaScript, which LibreChat is built on.
import { createRequire } from "node:module";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { add, counting, main, messages } from "./protocol.mjs";

const { version } = createRequire(import.meta.url)("@langchain/openai/package.json");

await main(`@langchain/openai ${version}, node ${process.version}`, async (request, result) => {
  if (request.op === "models") {
    result.unsupported = true; // LangChain has no list of models.
    return;
  }
  const model = new ChatOpenAI({
    model: request.model,
    apiKey: request.api_key,
    streamUsage: Boolean(request.include_usage),
    configuration: { baseURL: request.base_url, defaultHeaders: request.headers, fetch: counting(result) },
  });
  const input = messages(request).map((m) => (m.role === "system" ? new SystemMessage(m) : new HumanMessage(m)));
  if (!request.stream) {
    take(request, result, await model.invoke(input));
    return;
  }
  const abort = new AbortController();
  try {
    for await (const chunk of await model.stream(input, { signal: abort.signal })) {
      if (take(request, result, chunk)) abort.abort();
    }
  } catch (error) {
    if (!result.aborted) throw error;
  }
});

function take(request, result, message) {
  const { usage_metadata: u, response_metadata: meta, additional_kwargs: more } = message;
  if (u) result.usage = { prompt: u.input_tokens, completion: u.output_tokens, total: u.total_tokens };
  result.finish = meta?.finish_reason ?? result.finish;
  result.reasoning += more?.reasoning_content ?? "";
  return add(request, result, message.text);
}
