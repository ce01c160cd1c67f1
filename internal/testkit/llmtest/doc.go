// Package llmtest is a scripted LLM for tests: an HTTP server with the wire of
// OpenAI's chat completions, streamed or not, behind which no model thinks. It
// is what an agent talks to when a test must know every word in advance. It
// checks nothing that a provider would check, and it is not a model for users.
//
// Point an agent at it with the model openai/NAME (any name will do) and the
// base URL [Server.URL].
//
// # Scripts in Go
//
// A test gives the replies in the order in which they will be asked for:
//
//	llm := llmtest.New(t)
//	llm.Reply(
//		llmtest.Tool("terminal", `{"command":"echo hi"}`),
//		llmtest.Finish("done"),
//	)
//
// or maps questions to replies, which suits conversations in parallel:
//
//	llm.On(llmtest.Says("weather"), llmtest.Text("It rains."))
//
// A reply that no client asked for, and a request past the end of the script,
// fail the test. A [Reply] is a plain struct: pace, usage, HTTP errors, hanging
// and breaking off are fields of it.
//
// # Scripts in the user's message
//
// A client that only knows the agent in between writes the script into its own
// message, and the server follows the newest user message it is shown:
//
//	Please: [[say Looking.]] [[tool terminal {"command":"ls"}]] then [[finish There you are.]]
//
// Directives side by side on one line make one reply; the word "then" between
// two of them starts the next one. Other words around the script mean nothing;
// if they or a line break part it, only what comes last counts. So a quoted
// history is harmless, and so is a message that was interrupted before the
// agent said anything: OpenHands sends it again in one with the next message,
// each on lines of its own.
//
//	[[say TEXT]]              text of the assistant
//	[[think TEXT]]            reasoning_content
//	[[tool NAME ARGUMENTS]]   a tool call; several in one reply are parallel calls
//	[[finish TEXT]]           the tool call finish {"message": TEXT}
//	[[slow N DURATION]]       N words, DURATION apart
//	[[pace DURATION]]         time between the pieces (words) of this reply
//	[[wait DURATION]]         time before its first byte
//	[[usage IN OUT]]          its token counts; also [[usage IN OUT CACHED REASONING]]
//	[[stop REASON]]           its finish_reason, such as length
//	[[id ID]]                 the id of the answer, which may repeat
//	[[callid ID]]             the id of its tool calls, which may repeat; behind them
//	[[habit NAME ...]]        how the provider writes the answer, see below
//	[[fail STATUS MESSAGE]]   an HTTP error instead; MESSAGE may be left out
//	[[fail context]]          the HTTP error of a prompt that is too long
//	[[fail NAME]]             the HTTP error of a provider, such as context-mistral
//	[[header NAME VALUE]]     a header of the answer or the error, such as Retry-After
//	[[html STATUS]]           the page of a proxy instead; STATUS may be left out: 200
//	[[hang]]                  after what was said so far: nothing more, ever
//	[[cut]]                   ... the connection breaks
//	[[end]]                   ... the body ends as if all had been said
//	[[garble]]                ... a frame that is not JSON
//	[[error STATUS MESSAGE]]  ... a frame that holds an error; also [[error NAME]]
//	[[drop]]                  the connection breaks before anything is answered
//	[[empty]]                 nothing at all, which is a reply too
//
// ARGUMENTS may be any JSON value, or any text without "]]" for a call that is
// malformed. The place in the script is the number of the model's replies that follow
// the message which holds it; one that fails leaves no trace there, so the
// server counts those itself until the same messages get a reply that succeeds.
// A script that is used up repeats its last reply if that one fails, else says
// "done". A message without a script is answered with its own words.
//
// # Habits of providers
//
// A reply is written as OpenAI writes it, unless it has [Habit]s: the field
// Habits in Go, the directive habit in a script. They change the form of an
// answer, never what it says:
//
//	keepalive            a comment before each frame (OpenRouter)
//	empty-choices        chunks without choices, first and last (Azure)
//	no-done, no-finish   one of the two end marks is missing; both: no end
//	whole                one object where a stream was asked for
//	gzip                 compressed, though no client asked for it
//	reasoning            the name of the reasoning (OpenRouter, Groq, vLLM)
//	reasoning-details    ... with OpenRouter's list
//	think-tags           ... as <think> in the content (local servers)
//	think-parts          ... as parts of the content (Mistral)
//	usage-floats, usage-texts, usage-object, usage-nulls, usage-nothing
//	                     odd shapes of the usage (object: Perplexity's cost)
//	usage-always         the usage is sent though no client asked for it
//	object-arguments     the arguments of a call as an object
//	no-index, one-index  calls that are not counted, or all as the first
//	signed               calls with Google's thought signature, see [Signature]
//
// What providers say when they refuse is [Failures]: the errors of more than
// 30 servers for a context that is full, and those for an empty account, a
// rate limit, a wrong key, an unknown model, an overloaded or absent server;
// "request-..." are errors that only look like a full context.
//
// # Assertions
//
// Every request is kept, with its headers and body and how it ended; see
// [Server.Requests], [Server.Await] and [Request.Wait]. A client that is not Go
// reads the same from GET /requests and empties it with DELETE /requests.
package llmtest
