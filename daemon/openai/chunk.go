package openai

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxFrame is the size under which every frame of a stream stays: some clients
// cannot read a longer line.
const MaxFrame = 64 << 10

// maxPiece is how much text goes into one frame: a byte takes at most six when
// it is escaped.
const maxPiece = (MaxFrame - 2048) / 6

// Done is the last frame of a stream.
const Done = "[DONE]"

// Chunks writes the chunks of one streamed completion. All of them share the
// id, the time and the model, as some clients insist.
//
// Its methods append one chunk, compact and in one line, to dst.
type Chunks struct {
	head []byte // up to the value of choices
	tail []byte // after choices
}

// NewChunks prepares the chunks of a completion. With usage every chunk says
// that its usage is null, and one more chunk brings the numbers.
func NewChunks(id, model string, created int64, usage bool) *Chunks {
	head := appendString([]byte(`{"id":`), id)
	head = append(head, `,"object":"chat.completion.chunk","created":`...)
	head = strconv.AppendInt(head, created, 10)
	head = appendString(append(head, `,"model":`...), model)
	head = append(head, `,"service_tier":"`+serviceTier+`","system_fingerprint":"`+systemFingerprint+`","choices":[`...)
	tail := "]}"
	if usage {
		tail = `],"usage":null}`
	}
	return &Chunks{head: head, tail: []byte(tail)}
}

const (
	deltaOpen  = `{"index":0,"delta":{`
	deltaClose = `},"logprobs":null,"finish_reason":null}`
)

// Role is the first chunk.
func (c *Chunks) Role(dst []byte) []byte {
	dst = append(dst, c.head...)
	dst = append(dst, deltaOpen+`"role":"assistant","content":"","refusal":null`+deltaClose...)
	return append(dst, c.tail...)
}

// Heartbeat is a chunk without content. While a request waits for its turn, it
// reports how many come before it: "ohgw":{"queue":2}.
func (c *Chunks) Heartbeat(dst []byte, queue int) []byte {
	dst = append(dst, c.head...)
	dst = append(dst, deltaOpen+deltaClose...)
	dst = append(dst, c.tail...)
	if queue <= 0 {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"ohgw":{"queue":`...)
	return append(strconv.AppendInt(dst, int64(queue), 10), "}}"...)
}

// Content is a piece of the answer.
func (c *Chunks) Content(dst []byte, text string) []byte { return c.delta(dst, `"content":`, text) }

// CallOf is the chunks of the call of a function of the client: its name, then its
// arguments in pieces.
func (c *Chunks) CallOf(id, function, arguments string) [][]byte {
	chunks := [][]byte{c.Call(nil, id, function)}
	for arguments != "" {
		var piece string
		piece, arguments = Piece(arguments)
		chunks = append(chunks, c.Arguments(nil, piece))
	}
	return chunks
}

// Call begins the call of a function of the client. Its arguments follow in pieces.
func (c *Chunks) Call(dst []byte, id, function string) []byte {
	dst = append(append(dst, c.head...), deltaOpen...)
	dst = appendString(append(dst, `"tool_calls":[{"index":0,"id":`...), id)
	dst = appendString(append(dst, `,"type":"function","function":{"name":`...), function)
	dst = append(append(dst, `,"arguments":""}}]`...), deltaClose...)
	return append(dst, c.tail...)
}

// Arguments is a piece of the arguments of that call.
func (c *Chunks) Arguments(dst []byte, text string) []byte {
	dst = append(append(dst, c.head...), deltaOpen...)
	dst = appendString(append(dst, `"tool_calls":[{"index":0,"function":{"arguments":`...), text)
	dst = append(append(dst, `}}]`...), deltaClose...)
	return append(dst, c.tail...)
}

// Refusal is a piece of why there is no answer in the form that was asked for.
func (c *Chunks) Refusal(dst []byte, text string) []byte { return c.delta(dst, `"refusal":`, text) }

// Reasoning is a piece of what the agent does on its way to the answer.
func (c *Chunks) Reasoning(dst []byte, text string) []byte {
	return c.delta(dst, `"reasoning_content":`, text)
}

// Detail is a chunk that says under the key "ohgw" what has no other place; ext is
// a JSON object in one line. A client that does not know it sees the text, or an
// empty chunk.
func (c *Chunks) Detail(dst []byte, text string, ext []byte) []byte {
	if text == "" {
		dst = c.Heartbeat(dst, 0)
	} else {
		dst = c.Reasoning(dst, text)
	}
	dst = append(dst[:len(dst)-1], `,"ohgw":`...)
	return append(append(dst, ext...), '}')
}

func (c *Chunks) delta(dst []byte, key, text string) []byte {
	dst = append(dst, c.head...)
	dst = append(dst, deltaOpen...)
	dst = appendString(append(dst, key...), text)
	dst = append(dst, deltaClose...)
	return append(dst, c.tail...)
}

// Finish is the chunk that ends the answer. With an extension it says how the
// run ended, where the header can no longer tell.
func (c *Chunks) Finish(dst []byte, reason string, ext *Extension) []byte {
	dst = append(dst, c.head...)
	dst = append(dst, `{"index":0,"delta":{},"logprobs":null,"finish_reason":"`+reason+`"}`...)
	dst = append(dst, c.tail...)
	if ext == nil {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"ohgw":`...)
	dst = ext.append(dst)
	return append(dst, '}')
}

func (e *Extension) append(dst []byte) []byte {
	dst = appendString(append(dst, `{"run_status":`...), e.RunStatus)
	if e.Message != "" {
		dst = appendString(append(dst, `,"message":`...), e.Message)
	}
	if e.Code != "" {
		dst = appendString(append(dst, `,"code":`...), e.Code)
	}
	if e.TextBefore > 0 {
		dst = strconv.AppendInt(append(dst, `,"text_before":`...), int64(e.TextBefore), 10)
	}
	if e.Cost > 0 && !math.IsInf(e.Cost, 1) { // there is no infinity in JSON
		dst = strconv.AppendFloat(append(dst, `,"cost":`...), e.Cost, 'f', -1, 64)
	}
	for i, a := range e.Waiting {
		before := `},{"tool":`
		if i == 0 {
			before = `,"waiting":[{"tool":`
		}
		dst = appendString(append(dst, before...), a.Tool)
		dst = appendString(append(dst, `,"line":`...), a.Line)
	}
	if len(e.Waiting) > 0 {
		dst = append(dst, "}]"...)
	}
	if e.Context.Tokens > 0 {
		dst = strconv.AppendInt(append(dst, `,"context":{"tokens":`...), e.Context.Tokens, 10)
		if e.Context.Window > 0 {
			dst = strconv.AppendInt(append(dst, `,"window":`...), e.Context.Window, 10)
		}
		dst = append(dst, '}')
	}
	if g := e.Goal; g != nil {
		dst = appendString(append(dst, `,"goal":{"status":`...), g.Status)
		dst = strconv.AppendInt(append(dst, `,"rounds":`...), int64(g.Rounds), 10)
		dst = strconv.AppendInt(append(dst, `,"max_rounds":`...), int64(g.MaxRounds), 10)
		if g.Missing != "" {
			dst = appendString(append(dst, `,"missing":`...), g.Missing)
		}
		dst = append(dst, '}')
	}
	dst = appendList(dst, `,"actions":`, e.Actions)
	dst = appendList(dst, `,"sandbox_blocked":`, e.Blocked)
	return append(dst, '}')
}

// appendList appends a member whose value is a list, unless that is empty.
func appendList(dst []byte, key string, list []json.RawMessage) []byte {
	for i, item := range list {
		before := byte(',')
		if i == 0 {
			dst, before = append(dst, key...), '['
		}
		dst = append(append(dst, before), item...)
	}
	if len(list) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// Usage is the chunk with the numbers. It has no choice.
func (c *Chunks) Usage(dst []byte, u Usage) []byte {
	dst = append(dst, c.head...)
	dst = append(dst, `],"usage":`...)
	dst = u.append(dst)
	return append(dst, '}')
}

func (u Usage) append(dst []byte) []byte {
	for _, f := range [...]struct {
		key string
		n   int64
	}{
		{`{"prompt_tokens":`, u.PromptTokens},
		{`,"completion_tokens":`, u.CompletionTokens},
		{`,"total_tokens":`, u.TotalTokens},
		{`,"prompt_tokens_details":{"cached_tokens":`, u.PromptDetails.CachedTokens},
		{`,"audio_tokens":`, u.PromptDetails.AudioTokens},
		{`},"completion_tokens_details":{"reasoning_tokens":`, u.CompletionDetails.ReasoningTokens},
		{`,"audio_tokens":`, u.CompletionDetails.AudioTokens},
		{`,"accepted_prediction_tokens":`, u.CompletionDetails.AcceptedPredictionTokens},
		{`,"rejected_prediction_tokens":`, u.CompletionDetails.RejectedPredictionTokens},
	} {
		dst = strconv.AppendInt(append(dst, f.key...), f.n, 10)
	}
	return append(dst, "}}"...)
}

// Piece is the beginning of text that fits into one frame, and the rest. It
// never cuts a character in two.
func Piece(text string) (piece, rest string) {
	if len(text) <= maxPiece {
		return text, ""
	}
	end := maxPiece
	for end > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], text[end:]
}

// Completion is an answer in one piece.
type Completion struct {
	ID      string
	Model   string
	Created int64
	Content string
	// Function is the client's function whose arguments the content is; empty: it
	// is the text of the message.
	Function string
	// Conversation is a UUID, that the call of the function names.
	Conversation string
	// Refusal says why there is no content; empty: there is.
	Refusal string
	// Reasoning is left out if it is empty.
	Reasoning string
	Finish    string
	Usage     Usage
	// Extension is left out if it is nil.
	Extension *Extension
}

// Append appends the completion in one line.
func (c *Completion) Append(dst []byte) []byte {
	dst = c.appendHead(append(dst, '{'))
	dst = append(dst, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	dst = c.appendAnswer(dst)
	dst = append(dst, `,"annotations":[]`...)
	if c.Reasoning != "" {
		dst = appendString(append(dst, `,"reasoning_content":`...), c.Reasoning)
	}
	dst = append(dst, `},"logprobs":null,"finish_reason":"`+c.Finish+`"}]`...)
	return c.appendTail(dst)
}

// appendAnswer appends the content, the refusal and the calls, of which there is
// one.
func (c *Completion) appendAnswer(dst []byte) []byte {
	switch {
	case c.Refusal != "":
		return appendString(append(dst, `null,"refusal":`...), c.Refusal)
	case c.Function != "":
		dst = appendString(append(dst, `null,"refusal":null,"tool_calls":[{"id":`...), CallID(c.ID, c.Conversation))
		dst = appendString(append(dst, `,"type":"function","function":{"name":`...), c.Function)
		return append(appendString(append(dst, `,"arguments":`...), c.Content), `}}]`...)
	}
	return append(appendString(dst, c.Content), `,"refusal":null`...)
}

// AppendFailure appends what takes the place of a completion where the status
// is 200 already: the error, beside choices of which there are none.
func (c *Completion) AppendFailure(dst []byte, e Error) []byte {
	dst = append(e.append(append(dst, `{"error":`...)), ',')
	return c.appendTail(append(c.appendHead(dst), `,"choices":[]`...))
}

func (c *Completion) appendHead(dst []byte) []byte {
	dst = appendString(append(dst, `"id":`...), c.ID)
	dst = append(dst, `,"object":"chat.completion","created":`...)
	dst = strconv.AppendInt(dst, c.Created, 10)
	return appendString(append(dst, `,"model":`...), c.Model)
}

func (c *Completion) appendTail(dst []byte) []byte {
	dst = c.Usage.append(append(dst, `,"usage":`...))
	dst = append(dst, `,"service_tier":"`+serviceTier+`","system_fingerprint":"`+systemFingerprint+`"`...)
	if c.Extension != nil {
		dst = c.Extension.append(append(dst, `,"ohgw":`...))
	}
	return append(dst, '}')
}
