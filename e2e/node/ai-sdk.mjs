// Vercel's AI SDK with its provider for OpenAI-compatible servers.
import { createRequire } from "node:module";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { add, counting, main } from "./protocol.mjs";

const { version } = createRequire(import.meta.url)("ai/package.json");

await main(`ai ${version}, node ${process.version}`, async (request, result) => {
  if (request.op === "models") {
    result.unsupported = true; // The SDK has no list of models.
    return;
  }
  const provider = createOpenAICompatible({
    name: "ohgw",
    baseURL: request.base_url,
    apiKey: request.api_key,
    headers: request.headers,
    includeUsage: request.include_usage,
    fetch: counting(result),
  });
  const abort = new AbortController();
  const call = {
    model: provider(request.model),
    instructions: request.system || undefined,
    messages: [{ role: "user", content: content(request) }],
    abortSignal: abort.signal,
  };
  if (!request.stream) {
    const answer = await generateText(call);
    add(request, result, answer.text);
    result.reasoning = answer.reasoningText ?? "";
    result.finish = answer.finishReason;
    result.usage = usage(answer.usage);
    return;
  }
  const answer = streamText({ ...call, onError: () => {} }); // The error is read from the stream.
  for await (const part of answer.fullStream) {
    switch (part.type) {
      case "text-delta":
        if (add(request, result, part.text)) {
          abort.abort();
          return;
        }
        break;
      case "reasoning-delta":
        result.reasoning += part.text;
        break;
      case "finish":
        result.finish = part.finishReason;
        result.usage = usage(part.totalUsage);
        break;
      case "error":
        throw part.error;
    }
  }
});

function content(request) {
  const text = { type: "text", text: request.prompt };
  return request.image ? [text, { type: "file", mediaType: "image", data: request.image }] : [text];
}

function usage(u) {
  return { prompt: u.inputTokens ?? 0, completion: u.outputTokens ?? 0, total: u.totalTokens ?? 0 };
}
