//go:build e2e

package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// frame is one frame of a stream, and when it was here.
type frame struct {
	At   time.Time
	Data string

	Content string // of the delta
	Finish  string
	Error   *struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}
}

// done is the last frame of a stream that ended well.
const done = "[DONE]"

// frames reads a stream frame by frame, until it ends or yield has enough.
func frames(t testing.TB, body io.Reader, yield func(frame) bool) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			if lines.Text() != "" {
				t.Errorf("a line that is no data: %q", lines.Text())
			}
			continue
		}
		f := frame{At: time.Now(), Data: data}
		if data != done {
			f.parse(t)
		}
		if !yield(f) {
			return
		}
	}
}

func (f *frame) parse(t testing.TB) {
	t.Helper()
	var chunk struct {
		Error   json.RawMessage `json:"error"`
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(f.Data), &chunk); err != nil {
		t.Errorf("frame %q: %v", f.Data, err)
	}
	if chunk.Error != nil {
		if err := json.Unmarshal(chunk.Error, &f.Error); err != nil {
			t.Errorf("error frame %q: %v", f.Data, err)
		}
	}
	for _, c := range chunk.Choices {
		f.Content += c.Delta.Content
		f.Finish += c.FinishReason
	}
}

// stream is everything that a stream brought.
type stream struct {
	frames []frame
	text   string
}

func readStream(t testing.TB, body io.Reader) stream {
	t.Helper()
	var s stream
	frames(t, body, func(f frame) bool {
		s.frames = append(s.frames, f)
		s.text += f.Content
		return true
	})
	if len(s.frames) == 0 {
		t.Fatal("the stream has no frame")
	}
	return s
}

func (s stream) last() frame { return s.frames[len(s.frames)-1] }
