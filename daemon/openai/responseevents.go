package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// StreamEvent is one event of a streamed response.
type StreamEvent struct {
	Type string // as in Data
	Data []byte // a JSON object in one line
}

// Ends reports whether the event is the last one of its stream.
func (e StreamEvent) Ends() bool {
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// ReadEvent reads the data of an event that [ResponseEvents] has made.
func ReadEvent(data []byte) (StreamEvent, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"`))
	name, _, found := bytes.Cut(rest, []byte(`"`))
	if !ok || !found || !bytes.HasSuffix(data, []byte("}")) {
		return StreamEvent{}, false
	}
	return StreamEvent{Type: string(name), Data: data}, true
}

// ResponseEvents turns what becomes of a response into the events of its stream:
// in the order in which clients insist, each with its number. It is not safe
// for concurrent use.
//
// A response has items one after the other: what the agent does is the summary of
// a reasoning item, what it says is a message.
type ResponseEvents struct {
	// NewID makes the id of an item with this prefix.
	NewID func(prefix string) string
	// Emit takes the next event.
	Emit func(StreamEvent)

	res     *Response
	number  int
	open    bool // the last item of the output
	part    bool // of that, a part of a summary
	thought bool // that part is text, and more of it may come
	text    strings.Builder
}

// NewResponseEvents makes the events of r, which it completes.
func NewResponseEvents(r *Response) *ResponseEvents { return &ResponseEvents{res: r} }

// Begin sends the two events that come first, and opens a reasoning item: clients
// give up on silence, and only an open item can be kept alive.
func (e *ResponseEvents) Begin() {
	e.whole("response.created")
	e.whole("response.in_progress")
	e.openItem(false)
}

// Progress adds a line about what the agent does.
func (e *ResponseEvents) Progress(line string) {
	if e.open && e.last().Message {
		if e.text.Len() > 0 {
			e.delta("\n\n") // the texts of several messages are read as one
		}
		e.closeItem(ResponseCompleted)
	}
	if !e.open {
		e.openItem(false)
	}
	if e.part && e.text.Len() > 0 {
		e.closePart()
	}
	e.openPart()
	e.text.WriteString(line)
	e.item("response.reasoning_summary_text.delta", numeral("summary_index", len(e.last().Summary)), text("delta", line))
}

// Thought adds a piece of text to what the agent does: what it says on its way to
// an answer that has a form.
func (e *ResponseEvents) Thought(piece string) {
	switch {
	case e.open && e.last().Message:
		e.closeItem(ResponseCompleted)
	case e.part && !e.thought && e.text.Len() > 0:
		e.closePart()
	}
	if !e.open {
		e.openItem(false)
	}
	if !e.part || e.text.Len() == 0 {
		piece = strings.TrimLeft(piece, "\n")
	}
	for piece != "" {
		var head string
		head, piece = Piece(piece)
		e.openPart()
		e.thought = true
		e.text.WriteString(head)
		e.item("response.reasoning_summary_text.delta", numeral("summary_index", len(e.last().Summary)), text("delta", head))
	}
}

// Refuse writes a message that says why there is no answer in the form that was asked
// for.
func (e *ResponseEvents) Refuse(reason string) {
	if e.open {
		e.closeItem(ResponseCompleted)
	}
	e.openContent(true)
	for reason != "" {
		var head string
		head, reason = Piece(reason)
		e.text.WriteString(head)
		e.item("response.refusal.delta", numeral("content_index", 0), text("delta", head))
	}
}

// Call adds the call of a function of the client, with all of its arguments.
func (e *ResponseEvents) Call(function, arguments string) {
	if e.open {
		e.closeItem(ResponseCompleted)
	}
	item := OutputItem{ID: e.NewID("fc_"), Call: CallID(e.res.ID, ""), Function: function, Status: ResponseInProgress}
	e.res.Output = append(e.res.Output, item)
	e.emit("response.output_item.added", e.index(), raw("item", mustEncode(item)))
	for rest := arguments; rest != ""; {
		var head string
		head, rest = Piece(rest)
		e.item("response.function_call_arguments.delta", text("delta", head))
	}
	e.item("response.function_call_arguments.done", text("name", function), text("arguments", arguments))
	item.Status, item.Arguments = ResponseCompleted, arguments
	*e.last() = item
	e.emit("response.output_item.done", e.index(), raw("item", mustEncode(item)))
}

// Text adds a piece of what the agent says.
func (e *ResponseEvents) Text(piece string) {
	if !e.open || !e.last().Message {
		if piece = strings.TrimLeft(piece, "\n"); piece == "" {
			return
		}
		e.openMessage()
	}
	for piece != "" {
		var head string
		head, piece = Piece(piece)
		e.delta(head)
	}
}

// Beat writes an event without news, which keeps the connection alive.
func (e *ResponseEvents) Beat() {
	if !e.open {
		e.openItem(false)
	}
	if e.last().Message {
		e.delta("")
		return
	}
	e.openPart()
	e.item("response.reasoning_summary_text.delta", numeral("summary_index", len(e.last().Summary)), text("delta", ""))
}

// Said is what the messages say so far, as clients join them.
func (e *ResponseEvents) Said() int {
	n := 0
	for _, i := range e.res.Output {
		n += len(i.Text)
	}
	if e.open && e.last().Message {
		n += e.text.Len()
	}
	return n
}

// Ask adds an action that waits for a confirmation.
func (e *ResponseEvents) Ask(item OutputItem) {
	if e.open {
		e.closeItem(ResponseCompleted)
	}
	e.res.Output = append(e.res.Output, item)
	for _, kind := range []string{"response.output_item.added", "response.output_item.done"} {
		e.emit(kind, e.index(), raw("item", mustEncode(item)))
	}
}

// End ends the response, which has its final status: completed or incomplete.
func (e *ResponseEvents) End() {
	done := len(e.res.Output) > 0 && (e.last().Tool != "" || e.last().Function != "")
	if !done && (!e.open || !e.last().Message) {
		e.openMessage()
	}
	if e.open {
		e.closeItem(ResponseCompleted)
	}
	e.whole("response." + e.res.Status)
}

// Fail ends the response in a failure: two events, because each client reads only
// one of them as an error.
func (e *ResponseEvents) Fail(code, message string) {
	if e.open {
		e.closeItem(ResponseIncomplete)
	}
	failure := mustEncode(map[string]any{"type": TypeServer, "code": code, "message": message, "param": nil})
	e.emit("error", text("code", code), text("message", message), raw("param", []byte("null")), raw("error", failure))
	e.whole("response.failed")
}

func (e *ResponseEvents) last() *OutputItem { return &e.res.Output[len(e.res.Output)-1] }

func (e *ResponseEvents) openMessage() {
	if e.open {
		e.closeItem(ResponseCompleted)
	}
	e.openContent(false)
}

// openContent opens a message with its one part.
func (e *ResponseEvents) openContent(refusal bool) {
	e.openItem(true)
	e.last().Refusal = refusal
	e.item("response.content_part.added", numeral("content_index", 0), raw("part", mustEncode(e.last().part(""))))
}

func (e *ResponseEvents) openItem(message bool) {
	item := OutputItem{ID: e.NewID("rs_")}
	if message {
		item = OutputItem{ID: e.NewID("msg_"), Message: true, Status: ResponseInProgress}
	}
	e.res.Output = append(e.res.Output, item)
	e.open, e.part, e.thought = true, false, false
	e.text.Reset()
	e.emit("response.output_item.added", e.index(), raw("item", mustEncode(item)))
}

// closeItem ends the open item; a message has this status then.
func (e *ResponseEvents) closeItem(status string) {
	item := e.last()
	if item.Message {
		item.Text = e.text.String()
		at := numeral("content_index", 0)
		if item.Refusal {
			e.item("response.refusal.done", at, text("refusal", item.Text))
		} else {
			e.item("response.output_text.done", at, text("text", item.Text), raw("logprobs", []byte("[]")))
		}
		e.item("response.content_part.done", at, raw("part", mustEncode(item.part(item.Text))))
		item.Status = status
	} else {
		e.closePart()
	}
	e.open = false
	e.emit("response.output_item.done", e.index(), raw("item", mustEncode(*item)))
}

func (e *ResponseEvents) openPart() {
	if e.part {
		return
	}
	e.part = true
	e.text.Reset()
	e.item("response.reasoning_summary_part.added", numeral("summary_index", len(e.last().Summary)), raw("part", mustEncode(summaryText{Type: "summary_text"})))
}

func (e *ResponseEvents) closePart() {
	if !e.part {
		return
	}
	said, at := e.text.String(), numeral("summary_index", len(e.last().Summary))
	e.item("response.reasoning_summary_text.done", at, text("text", said))
	e.item("response.reasoning_summary_part.done", at, raw("part", mustEncode(summaryText{"summary_text", said})))
	e.last().Summary = append(e.last().Summary, said)
	e.part, e.thought = false, false
	e.text.Reset()
}

func (e *ResponseEvents) delta(piece string) {
	e.text.WriteString(piece)
	e.item("response.output_text.delta", numeral("content_index", 0), text("delta", piece), raw("logprobs", []byte("[]")))
}

// member appends a member to a JSON object.
type member func(dst []byte) []byte

func text(key, value string) member {
	return func(dst []byte) []byte { return appendString(append(appendString(dst, key), ':'), value) }
}

func raw(key string, value []byte) member {
	return func(dst []byte) []byte { return append(append(appendString(dst, key), ':'), value...) }
}

func numeral(key string, n int) member {
	return func(dst []byte) []byte { return strconv.AppendInt(append(appendString(dst, key), ':'), int64(n), 10) }
}

func (e *ResponseEvents) index() member { return numeral("output_index", len(e.res.Output)-1) }

// item emits an event about the last item.
func (e *ResponseEvents) item(kind string, members ...member) {
	e.emit(kind, append([]member{text("item_id", e.last().ID), e.index()}, members...)...)
}

// whole emits an event with the whole response.
func (e *ResponseEvents) whole(kind string) {
	data, err := json.Marshal(e.res)
	if err != nil {
		data = []byte("{}") // there are only texts and numbers in it
	}
	e.emit(kind, raw("response", data))
}

func (e *ResponseEvents) emit(kind string, members ...member) {
	data := appendString([]byte(`{"type":`), kind)
	data = strconv.AppendInt(append(data, `,"sequence_number":`...), int64(e.number), 10)
	e.number++
	for _, m := range members {
		data = m(append(data, ','))
	}
	e.Emit(StreamEvent{Type: kind, Data: append(data, '}')})
}
