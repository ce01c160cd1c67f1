package answer

import (
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
)

// Speed is how fast the calls of a turn were, taken together.
type Speed struct {
	read, written             int64
	readSeconds, writeSeconds float64
}

// add takes in what a call took.
func (s *Speed) add(p gateway.Phase) {
	if p.Name != "done" {
		return
	}
	if p.ReadSeconds > 0 {
		s.read, s.readSeconds = s.read+p.Read, s.readSeconds+p.ReadSeconds
	}
	if p.WriteSeconds > 0 {
		s.written, s.writeSeconds = s.written+p.Written, s.writeSeconds+p.WriteSeconds
	}
}

// String is the speed for people; "" where it is not known.
func (s Speed) String() string {
	var parts []string
	for _, part := range []struct {
		did     string
		tokens  int64
		seconds float64
	}{{"read", s.read, s.readSeconds}, {"wrote", s.written, s.writeSeconds}} {
		if part.tokens > 0 && part.seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s %s at %.1f tokens/s", part.did, tokens(part.tokens), float64(part.tokens)/part.seconds))
		}
	}
	return strings.Join(parts, ", ")
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", n)
}
