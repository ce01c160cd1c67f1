// What a client program of these tests reads and writes: one request as JSON on
// stdin, one result as JSON on stdout. e2e/clients/protocol.go describes both.

/** Runs one client: reads the request, prints what came of it. */
export async function main(client, run) {
  let text = "";
  for await (const piece of process.stdin) text += piece;
  const request = JSON.parse(text);
  const result = { client, attempts: 0, text: "", reasoning: "", pieces: 0, conversation: "" };
  try {
    await run(request, result);
  } catch (error) {
    result.error = describe(error);
  }
  process.stdout.write(JSON.stringify(result) + "\n");
}

/** A fetch that counts the requests and keeps the conversation's id. */
export function counting(result) {
  return async (input, init) => {
    result.attempts++;
    const response = await fetch(input, init);
    result.conversation = response.headers.get("x-openhands-serverconversation-id") ?? result.conversation;
    return response;
  };
}

/** The messages of a request in OpenAI's form. */
export function messages(request) {
  const content = request.image
    ? [
        { type: "text", text: request.prompt },
        { type: "image_url", image_url: { url: request.image } },
      ]
    : request.prompt;
  const user = { role: "user", content };
  return request.system ? [{ role: "system", content: request.system }, user] : [user];
}

/** Adds a piece of text; true when the client is to hang up. */
export function add(request, result, piece) {
  if (!piece) return false;
  result.text += piece;
  result.pieces++;
  if (request.abort_after && result.pieces >= request.abort_after) result.aborted = true;
  return result.aborted ?? false;
}

/** An error as the person who uses the client finds it. */
function describe(error) {
  const cause = error.lastError ?? error; // of the AI SDK's RetryError
  const body = envelope(cause);
  return {
    class: error.name && error.name !== "Error" ? error.name : error.constructor.name,
    cause: cause === error ? undefined : cause.name,
    status: cause.status ?? cause.statusCode ?? 0,
    code: body.code ?? cause.code ?? "",
    param: body.param ?? cause.param ?? "",
    type: body.type ?? cause.type ?? "",
    message: String(cause.message ?? cause),
  };
}

function envelope(error) {
  if (error.data?.error) return error.data.error; // AI SDK
  return (typeof error.error === "object" && error.error) || {}; // openai
}
