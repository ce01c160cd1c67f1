package shell

import (
	"strings"
	"testing"
	"time"
)

func TestASocketThatIsSlowIsDropped(t *testing.T) {
	t.Parallel()
	s := New(Config{Now: time.Now})
	slow := s.watch()
	for range maxBehind + 1 {
		s.all.publish(event{})
	}
	select {
	case <-slow.slow:
	default:
		t.Error("it is still there")
	}
	s.all.publish(event{}) // of which it hears nothing
	s.unwatch(slow)
	for range maxWatchers {
		if s.watch() == nil {
			t.Fatal("there is no place")
		}
	}
	if s.watch() != nil {
		t.Error("there is no limit")
	}
}

func TestTheOldestEventsGoFirst(t *testing.T) {
	t.Parallel()
	s := &store{dir: t.TempDir(), now: time.Now, make: makeOne}
	add := func() event {
		e, err := s.add(kindCommand, func(h header) any { return command{header: h, Kind: kindCommand} })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first, second := add(), add()
	s.files[0].size += maxBytes
	s.bytes += maxBytes
	third := add()
	names, err := s.names(&query{})
	if err != nil || len(names) != 2 || names[0] != second.name || names[1] != third.name {
		t.Errorf("the names: %v, %v; want all but %s", names, err, first.name)
	}
}

func TestTextThatIsSplit(t *testing.T) {
	t.Parallel()
	var b buffer
	var full []string
	for _, piece := range []string{strings.Repeat("x", maxChunk-1), "\xe2\x82", "\xac", "end\xe2"} {
		full = append(full, b.add([]byte(piece))...)
	}
	if len(full) != 1 || !strings.HasSuffix(full[0], "x€") || *b.rest() != "end\ufffd" {
		t.Errorf("%d full, the rest %q", len(full), *b.rest())
	}
}

func FuzzSearchAndNames(f *testing.F) {
	f.Add("20261123111211769740_BashCommand_03db88dd17a54187a3403cd5fac62ee1", `{"command":"x"}`)
	f.Fuzz(func(t *testing.T, name, body string) {
		if named().MatchString(name) {
			q := query{kind: kindOutput, command: "x"}
			q.matches(name)
			_ = timeOf(name)
		}
		_, _ = readRequest([]byte(body), "body")
	})
}
