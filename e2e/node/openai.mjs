// The official client for Node, as it comes.
import OpenAI from "openai";
import { VERSION } from "openai/version";
import { add, counting, main, messages } from "./protocol.mjs";

await main(`openai ${VERSION}, node ${process.version}`, async (request, result) => {
  const client = new OpenAI({
    baseURL: request.base_url,
    apiKey: request.api_key,
    defaultHeaders: request.headers,
    fetch: counting(result),
  });
  if (request.op === "models") {
    result.models = [];
    for await (const model of client.models.list()) result.models.push(model.id);
    return;
  }
  const body = { model: request.model, messages: messages(request) };
  if (!request.stream) {
    const completion = await client.chat.completions.create(body);
    add(request, result, completion.choices[0].message.content);
    result.reasoning = completion.choices[0].message.reasoning_content ?? "";
    result.finish = completion.choices[0].finish_reason;
    result.usage = usage(completion.usage);
    return;
  }
  const stream = await client.chat.completions.create({
    ...body,
    stream: true,
    ...(request.include_usage && { stream_options: { include_usage: true } }),
  });
  for await (const chunk of stream) {
    if (chunk.usage) result.usage = usage(chunk.usage);
    const choice = chunk.choices[0];
    result.reasoning += choice?.delta.reasoning_content ?? "";
    result.finish = choice?.finish_reason ?? result.finish;
    if (add(request, result, choice?.delta.content)) {
      stream.controller.abort();
      return;
    }
  }
});

function usage(u) {
  return { prompt: u.prompt_tokens, completion: u.completion_tokens, total: u.total_tokens };
}
