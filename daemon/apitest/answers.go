package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ohgw/ohgw/internal/sse"
)

// Response is an answer that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   string
	Close  bool  // the connection ends with it
	Err    error // of reading the body
}

// Envelope checks that an answer is OpenAI's envelope and returns its error.
func Envelope(t testing.TB, res Response, status int, code, param string) map[string]any {
	t.Helper()
	if res.Status != status {
		t.Fatalf("status %d, want %d: %s", res.Status, status, res.Body)
	}
	if ct := res.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	return FrameError(t, []byte(res.Body), code, param)
}

// FrameError checks that data is the envelope and returns its error.
func FrameError(t testing.TB, data []byte, code, param string) map[string]any {
	t.Helper()
	e, ok := Valid(t, "error-response", data)["error"].(map[string]any)
	if !ok || len(e) != 4 || !strings.HasPrefix(string(data), `{"error":{`) {
		t.Fatalf("not an envelope: %s", data)
	}
	if e["code"] != any(code) {
		t.Errorf("code %v, want %q: %s", e["code"], code, data)
	}
	if want := any(param); param == "" && e["param"] != nil || param != "" && e["param"] != want {
		t.Errorf("param %v, want %q", e["param"], param)
	}
	if message, _ := e["message"].(string); message == "" {
		t.Errorf("no message: %s", data)
	}
	return e
}

var schemas sync.Map // of compiled schemas by name

// schemaFile is the file of a schema, for tests of the package daemon and of those below it.
func schemaFile(name string) string {
	file := filepath.Join("openai", "testdata", "schemas", name+".json")
	if _, err := os.Stat(file); err != nil {
		return filepath.Join("..", file)
	}
	return file
}

// Valid checks data against one of OpenAI's schemas and returns the object.
func Valid(t testing.TB, name string, data []byte) map[string]any {
	t.Helper()
	s, ok := schemas.Load(name)
	if !ok {
		compiled, err := jsonschema.NewCompiler().Compile(schemaFile(name))
		if err != nil {
			t.Fatal(err)
		}
		s, _ = schemas.LoadOrStore(name, compiled)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("read the JSON: %v: %q", err, data)
	}
	if err := s.(*jsonschema.Schema).Validate(v); err != nil {
		t.Errorf("check the JSON by its schema: %v: %s", err, data)
	}
	return v.(map[string]any)
}

// Completion is an answer in one piece.
type Completion struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage     Usage          `json:"usage"`
	Extension map[string]any `json:"ohgw"`
}

// Usage is what an answer has used.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Reasoning struct {
		Tokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// Completed reads an answer that has to be a chat completion.
func Completed(t testing.TB, res Response) Completion {
	t.Helper()
	if res.Status != http.StatusOK || res.Err != nil {
		t.Fatalf("status %d, %v: %s", res.Status, res.Err, res.Body)
	}
	Valid(t, "chat-completion", []byte(res.Body))
	var c Completion
	if err := json.Unmarshal([]byte(res.Body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Text is what was answered.
func (c Completion) Text() string { return c.Choices[0].Message.Content }

// Chunk is a frame of a stream.
type Chunk struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Role      *string `json:"role"`
			Content   *string `json:"content"`
			Reasoning *string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage     *Usage         `json:"usage"`
	Extension map[string]any `json:"ohgw"`
	Raw       string
}

// Content is the piece of the answer in a chunk.
func (c Chunk) Content() string {
	if len(c.Choices) == 0 || c.Choices[0].Delta.Content == nil {
		return ""
	}
	return *c.Choices[0].Delta.Content
}

func (c Chunk) reasoning() string {
	if len(c.Choices) == 0 || c.Choices[0].Delta.Reasoning == nil {
		return ""
	}
	return *c.Choices[0].Delta.Reasoning
}

// Frames are the chunks of a stream and what ended it: "[DONE]", or an error
// frame, or nothing.
type Frames struct {
	Chunks []Chunk
	End    string
}

// Text is the answer that the chunks make.
func (f Frames) Text() string {
	var b strings.Builder
	for _, c := range f.Chunks {
		b.WriteString(c.Content())
	}
	return b.String()
}

// Reasoning is what the chunks show besides the answer.
func (f Frames) Reasoning() string {
	var b strings.Builder
	for _, c := range f.Chunks {
		b.WriteString(c.reasoning())
	}
	return b.String()
}

// Parse reads a stream and checks what holds for every one.
func Parse(t testing.TB, res Response) Frames {
	t.Helper()
	if res.Status != http.StatusOK {
		t.Fatalf("status %d: %s", res.Status, res.Body)
	}
	for line := range strings.Lines(res.Body) {
		if line != "\n" && !strings.HasPrefix(line, "data: ") {
			t.Errorf("line %q", line)
		}
	}
	var f Frames
	r := sse.NewReader(strings.NewReader(res.Body), 1<<20)
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if f.End != "" {
			t.Errorf("a frame after the end: %s", e.Data)
		}
		if data := string(e.Data); data == "[DONE]" || strings.HasPrefix(data, `{"error":`) {
			f.End = data
			continue
		}
		f.Chunks = append(f.Chunks, ParseChunk(t, e.Data))
	}
	return f
}

// ParseChunk reads a chunk and checks it by its schema.
func ParseChunk(t testing.TB, data []byte) Chunk {
	t.Helper()
	v := Valid(t, "chat-completion-chunk", data)
	if _, has := v["error"]; has {
		t.Errorf("a chunk with an error key: %s", data)
	}
	c := Chunk{Raw: string(data)}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}
