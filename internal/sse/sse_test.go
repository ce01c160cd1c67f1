package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sse"
)

func TestDataWritesOneFrameInOneWriteAndFlushes(t *testing.T) {
	t.Parallel()
	var writes []string
	flushes := 0
	w := sse.NewWriter(writerFunc(func(p []byte) (int, error) {
		writes = append(writes, string(p))
		return len(p), nil
	}), func() error { flushes++; return nil })
	for _, data := range []string{`{"a":1}`, "[DONE]"} {
		if err := w.Data([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"data: {\"a\":1}\n\n", "data: [DONE]\n\n"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Error(diff)
	}
	if flushes != 2 {
		t.Errorf("flushed %d times, want 2", flushes)
	}
}

func TestDataRefusesMoreThanOneLine(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"a\nb", "a\rb", "\n"} {
		var out bytes.Buffer
		if err := sse.NewWriter(&out, nil).Data([]byte(data)); !errors.Is(err, sse.ErrMultiline) {
			t.Errorf("Data(%q): %v, want ErrMultiline", data, err)
		}
		if out.Len() != 0 {
			t.Errorf("Data(%q) wrote %q", data, &out)
		}
	}
}

func TestDataReportsWhatFailed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	w := sse.NewWriter(writerFunc(func([]byte) (int, error) { return 0, broken }), nil)
	if err := w.Data([]byte("x")); !errors.Is(err, broken) {
		t.Errorf("write: %v", err)
	}
	w = sse.NewWriter(io.Discard, func() error { return broken })
	if err := w.Data([]byte("x")); !errors.Is(err, broken) {
		t.Errorf("flush: %v", err)
	}
}

func TestReaderReadsWhatTheSpecificationAllows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []sse.Event
	}{
		"plain":                 {"data: a\n\ndata: b\n\n", events("a", "b")},
		"no space":              {"data:a\n\n", events("a")},
		"only one space goes":   {"data:  a\n\n", events(" a")},
		"several lines":         {"data: a\ndata: b\ndata\n\n", events("a\nb\n")},
		"CR":                    {"data: a\r\rdata: b\r\r", events("a", "b")},
		"CRLF":                  {"data: a\r\n\r\ndata: b\r\n\r\n", events("a", "b")},
		"mixed":                 {"data: a\r\n\ndata: b\n\r\n", events("a", "b")},
		"comments":              {": hi\n\ndata: a\n: ho\n\n:\n", events("a")},
		"byte order mark":       {"\uFEFFdata: a\n\n", events("a")},
		"name":                  {"event: x\ndata: a\n\ndata: b\n\n", []sse.Event{{Name: "x", Data: []byte("a")}, {Data: []byte("b")}}},
		"name without data":     {"event: x\n\ndata: b\n\n", events("b")},
		"id stays":              {"id: 1\ndata: a\n\ndata: b\n\n", []sse.Event{{ID: "1", Data: []byte("a")}, {ID: "1", Data: []byte("b")}}},
		"id with null":          {"id: 1\x002\ndata: a\n\n", events("a")},
		"unknown field":         {"retry: 5\nfoo: bar\ndata: a\n\n", events("a")},
		"empty data":            {"data\n\n", events("")},
		"incomplete at the end": {"data: a\n\ndata: b\n", events("a")},
		"nothing":               {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for split, r := range map[string]io.Reader{"whole": strings.NewReader(tc.in), "bytes": iotest.OneByteReader(strings.NewReader(tc.in))} {
				got, err := readAll(sse.NewReader(r, 100))
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: ended with %v", split, err)
				}
				if diff := cmp.Diff(tc.want, got, sameBytes); diff != "" {
					t.Errorf("%s: %s", split, diff)
				}
			}
		})
	}
}

// A reader that waited for the byte after a CR would show every event one
// event late.
func TestReaderDoesNotWaitForTheByteAfterAnEvent(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		in := io.MultiReader(strings.NewReader("data: a"+end), iotest.ErrReader(errors.New("read too far")))
		e, err := sse.NewReader(in, 100).Next()
		if err != nil || string(e.Data) != "a" {
			t.Errorf("after %q: %q, %v", end, e.Data, err)
		}
	}
}

func TestReaderBoundsLinesAndData(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"line":  "data: " + strings.Repeat("x", 100) + "\n\n",
		"data":  strings.Repeat("data: xxxxxxxxx\n", 20) + "\n",
		"noise": ":" + strings.Repeat("x", 200),
	} {
		if _, err := sse.NewReader(strings.NewReader(in), 64).Next(); !errors.Is(err, sse.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
}

func FuzzReaderSplitsAnywhereAlike(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: a\rdata: b\r\n\r\n", ": c\n\nid: 4\ndata:\n\n", "\uFEFFdata: x\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 10
		whole, err1 := readAll(sse.NewReader(bytes.NewReader(in), limit))
		split, err2 := readAll(sse.NewReader(iotest.OneByteReader(bytes.NewReader(in)), limit))
		if diff := cmp.Diff(whole, split); diff != "" || !errors.Is(err1, err2) {
			t.Fatalf("the two readings: %v, %v: %s", err1, err2, diff)
		}
		for _, e := range whole {
			if len(e.Data) > limit {
				t.Fatalf("an event of %d bytes", len(e.Data))
			}
		}
	})
}

func FuzzWhatIsWrittenIsRead(f *testing.F) {
	f.Add([]byte(`{"a":"b"}`), []byte(" leading space"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var out bytes.Buffer
		w := sse.NewWriter(&out, nil)
		var want []sse.Event
		for _, data := range [][]byte{a, b} {
			if err := w.Data(data); err == nil {
				want = append(want, sse.Event{Data: data})
			}
		}
		got, _ := readAll(sse.NewReader(&out, len(a)+len(b)+6))
		if diff := cmp.Diff(want, got, sameBytes); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkData(b *testing.B) {
	w := sse.NewWriter(io.Discard, nil)
	frame := bytes.Repeat([]byte("x"), 300)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Data(frame); err != nil {
			b.Fatal(err)
		}
	}
}

// sameBytes makes no difference between empty and nil.
var sameBytes = cmp.Comparer(bytes.Equal)

func readAll(r *sse.Reader) ([]sse.Event, error) {
	var all []sse.Event
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func events(data ...string) []sse.Event {
	var all []sse.Event
	for _, d := range data {
		all = append(all, sse.Event{Data: []byte(d)})
	}
	return all
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
