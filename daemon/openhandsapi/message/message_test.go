package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/message"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func FuzzFrame(f *testing.F) {
	for _, frame := range []string{
		`{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi","cache_prompt":true}]}`,
		`{"role":"user","content":[{"type":"image","image_urls":["data:image/png;base64,AA=="]}]}`, `{"role":"user"}`, `{"role":"user","content":null}`,
		`{"role":"tool"}`, `[]`, `nul`, ``, `{"role":"user","content":[{}]}`, `{"role":"user","content":[null,3]}`, `{"role":3}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := message.ReadFrame(frame)
		if err == nil {
			if data, err := json.Marshal(m.Content); err != nil || !json.Valid(data) {
				t.Errorf("%s was read, and cannot be written: %v", frame, err)
			}
			return
		}
		if e, ok := err.(*pydantic.Error); !ok || e.Error() == "" { //nolint:errorlint // it is not wrapped
			t.Errorf("%s: %v", frame, err)
		}
	})
}

func TestAFrame(t *testing.T) {
	t.Parallel()
	m, err := message.ReadFrame([]byte(`{"role":"user","content":[{"type":"text","text":"a"},{"image_urls":["https://example.org/u"]},{"text":"b"}],"sender":"x"}`))
	if err != nil || len(m.Content) != 3 || m.Content[1].Type != event.TypeImage || m.Content[2].Text != "b" {
		t.Errorf("the message = %+v, %v", m, err)
	}
}

func TestPicturesAreWhatTheirBytesAre(t *testing.T) {
	t.Parallel()
	const gif = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
	for url, want := range map[string]string{
		"data:image/gif;base64," + gif:              "data:image/gif;base64," + gif,
		"data:image/png;base64," + gif:              "data:image/gif;base64," + gif,
		"DATA:IMAGE/JPG;charset=x;base64," + gif:    "data:image/gif;base64," + gif,
		"HTTPS://example.org/a.png":                 "HTTPS://example.org/a.png",
		"data:image/gif;base64," + gif[:40]:         "",
		"data:image/svg+xml;base64,PHN2Zy8+PHN2Zy8": "",
		"data:image/bmp;base64,Qk1BQUFBQUFB":        "",
		"file:///etc/passwd":                        "",
		"u":                                         "",
		"":                                          "",
	} {
		frame, err := json.Marshal(map[string]any{"role": "user", "content": []any{map[string]any{"type": "image", "image_urls": []string{"https://example.org/a", url}}}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := message.ReadFrame(frame)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "image_urls[1] is ") {
				t.Errorf("%s: %v", url, err)
			}
			continue
		}
		if err != nil || m.Content[0].ImageURLs[1] != want {
			t.Errorf("%s: message = %+v, %v, want the image %s", url, m, err, want)
		}
	}
}
