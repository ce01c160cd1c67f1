package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ohgw/ohgw/internal/sse"
)

const (
	// maxFrame bounds a frame of a stream, in bytes. Ours are below 64 KiB.
	maxFrame = 4 << 20
	// maxProgress is how many bytes of a line of progress the reader waits for.
	maxProgress = 8 << 10
)

// errMalformed is a stream that is not one of chat completions.
var errMalformed = errors.New("malformed stream")

// frame is a chunk of a stream, or the error that ends it.
type frame struct {
	envelope

	Choices []struct {
		Delta struct {
			Content   *string `json:"content"`
			Reasoning *string `json:"reasoning_content"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		PromptMore struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionMore struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Extension *extension `json:"ohgw"`
}

// extension is what only this gateway tells.
type extension struct {
	Queue      int      `json:"queue"`
	RunStatus  string   `json:"run_status"`
	Message    string   `json:"message"`
	TextBefore int      `json:"text_before"`
	Cost       *float64 `json:"cost"`
	Waiting    []Action `json:"waiting"`
	Action     *Call    `json:"action"`
	Retry      *Retry   `json:"retry"`
	Context    Context  `json:"context"`
	Sandbox    *Block   `json:"sandbox"`
	Phase      *Phase   `json:"phase"`
	Blocked    []Block  `json:"sandbox_blocked"`
}

// reader reads a stream of chunks into pieces.
type reader struct {
	events   *sse.Reader
	progress []byte // of a line that has not ended
	done     Done
	finished bool // the finish was seen
}

func newReader(r io.Reader) *reader {
	return &reader{events: sse.NewReader(r, maxFrame), done: Done{RunStatus: "finished"}}
}

// next reads a frame. It may have nothing to show. The last pieces are a Done
// alone, with io.EOF. Other errors are a *frameError, errMalformed, errCut, or
// one of the connection.
func (r *reader) next() ([]Piece, error) {
	e, err := r.events.Next()
	switch {
	case errors.Is(err, sse.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	case errors.Is(err, io.EOF) && r.finished:
		return []Piece{r.done}, io.EOF
	case errors.Is(err, io.EOF):
		return nil, errCut
	case err != nil:
		return nil, err
	case string(bytes.TrimSpace(e.Data)) == "[DONE]":
		if !r.finished {
			return nil, fmt.Errorf("%w: an end without a finish", errMalformed)
		}
		return []Piece{r.done}, io.EOF
	}
	var f frame
	if err := json.Unmarshal(e.Data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if f.Error != nil {
		return nil, &frameError{code: f.Error.Code, message: f.Error.Message}
	}
	return r.read(&f), nil
}

// read returns the pieces of a frame, and notes in r how the turn stands.
func (r *reader) read(f *frame) []Piece {
	if u := f.Usage; u != nil {
		r.done.Usage.Prompt, r.done.Usage.Completion = u.Prompt, u.Completion
		r.done.Usage.Cached, r.done.Usage.Reasoning = u.PromptMore.Cached, u.CompletionMore.Reasoning
	}
	queue := 0
	if x := f.Extension; x != nil {
		queue = max(0, x.Queue)
		if x.RunStatus != "" {
			r.done.RunStatus, r.done.Notice, r.done.Waiting = x.RunStatus, x.Message, x.Waiting
			r.done.TextBefore, r.done.Usage.Cost, r.done.Context = max(0, x.TextBefore), x.Cost, x.Context
			r.done.Blocked = x.Blocked
		}
	}
	if x := f.Extension; x != nil && x.Retry != nil {
		x.Retry.Line = f.line()
	}
	if pieces := r.details(f.Extension); pieces != nil {
		return pieces // the line beside them says the same in short
	}
	var pieces []Piece
	if len(f.Choices) == 0 {
		return pieces
	}
	choice := f.Choices[0]
	if t := choice.Delta.Reasoning; t != nil {
		pieces = append(pieces, r.lines(*t)...)
	}
	if t := choice.Delta.Content; t != nil && *t != "" {
		pieces = append(append(pieces, r.rest()...), Text(*t))
	}
	switch {
	case choice.Finish != nil:
		r.done.Finish, r.finished = *choice.Finish, true
		pieces = append(pieces, r.rest()...)
	case choice.Delta.Content == nil && choice.Delta.Reasoning == nil:
		pieces = append(pieces, Waiting{Queue: queue})
	}
	return pieces
}

// line is the line of progress of a frame; "" if there is none.
func (f *frame) line() string {
	if len(f.Choices) == 0 || f.Choices[0].Delta.Reasoning == nil {
		return ""
	}
	return strings.TrimSpace(*f.Choices[0].Delta.Reasoning)
}

// details are the typed pieces of a frame.
func (r *reader) details(x *extension) []Piece {
	switch {
	case x == nil:
	case x.Action != nil && x.Action.ID != "":
		return append(r.rest(), *x.Action)
	case x.Retry != nil:
		return append(r.rest(), *x.Retry)
	case x.Phase != nil:
		return append(r.rest(), *x.Phase)
	case x.Sandbox != nil && x.Sandbox.Target != "":
		return append(r.rest(), *x.Sandbox)
	}
	return nil
}

// lines takes a piece of progress and gives the lines that are complete.
func (r *reader) lines(text string) []Piece {
	var pieces []Piece
	for {
		line, after, found := strings.Cut(text, "\n")
		r.progress = append(r.progress, line...)
		if found || len(r.progress) > maxProgress {
			pieces = append(pieces, r.rest()...)
		}
		if !found {
			return pieces
		}
		text = after
	}
}

// rest returns the line of progress that nothing ended.
func (r *reader) rest() []Piece {
	line := strings.TrimSpace(string(r.progress))
	r.progress = r.progress[:0]
	if line == "" {
		return nil
	}
	return []Piece{Progress(line)}
}

// frameError is the error frame of a stream.
type frameError struct{ code, message string }

func (e *frameError) Error() string { return e.message }
