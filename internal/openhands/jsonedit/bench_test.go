package jsonedit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// A profile as OpenHands writes it has about fifty members.
func BenchmarkParseProfile(b *testing.B) {
	var s strings.Builder
	s.WriteString("{\n  \"model\": \"openhands/claude-opus-5\"")
	for i := range 48 {
		fmt.Fprintf(&s, ",\n  \"a_usual_member_name_%d\": \"value\"", i)
	}
	s.WriteString("\n}")
	src := []byte(s.String())
	b.ReportAllocs()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		doc, err := jsonedit.Parse(src)
		if err != nil || !doc.Root().Get("model").Exists() {
			b.Fatal(err)
		}
	}
}
