package llm

import (
	"io"
	"net/http/httptrace"
	"testing"
)

func TestABodyIsReleasedOnceItIsSent(t *testing.T) {
	t.Parallel()
	encoded := 0
	begin := func() *sending {
		return &sending{encode: func() ([]byte, error) { encoded++; return []byte("body"), nil }}
	}
	sent := begin()
	body := sent.begin([]byte("body"))
	if trace := httptrace.ContextClientTrace(sent.traced(t.Context())); trace == nil || trace.WroteRequest == nil {
		t.Fatal("the transport does not tell that it sent the request")
	}
	sent.wrote(httptrace.WroteRequestInfo{Err: io.ErrClosedPipe})
	if body.Size() != 4 {
		t.Error("the body is released, and the transport may still read it")
	}
	sent.wrote(httptrace.WroteRequestInfo{})
	if body.Size() != 0 || sent.data != nil {
		t.Error("the body is kept after it was sent")
	}
	sent.wrote(httptrace.WroteRequestInfo{}) // gives nothing back twice

	again, err := sent.again()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(again); err != nil || string(data) != "body" || encoded != 1 {
		t.Errorf("the body again: %q, %v, encoded %d times", data, err, encoded)
	}

	repeated := begin()
	body = repeated.begin([]byte("body"))
	if _, err := repeated.again(); err != nil {
		t.Fatal(err)
	}
	repeated.wrote(httptrace.WroteRequestInfo{})
	if body.Size() != 4 {
		t.Error("the first body is released, and nobody knows which one was sent")
	}
}
