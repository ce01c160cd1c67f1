package title_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/title"
)

func TestTitlesFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 80)
	for _, tt := range []struct{ answer, message, want string }{
		{"🐛 Fix it", "please fix", "🐛 Fix it"},
		{" two\nlines ", "x", "two lines"},
		{long, "x", strings.Repeat("ü", 47) + "..."},
		{strings.Repeat("a", 50), "x", strings.Repeat("a", 50)},
		{" ", "the message", "the message"},
		{"", long, strings.Repeat("ü", 47) + "..."},
		{"", "", ""},
		{"<think>A title?\nShort.</think>\n🔧 Mow it", "x", "🔧 Mow it"},
		{"<THINK>a</Think>One<think>b</think> two", "x", "One two"},
		{"<think>It was cut off", "the message", "the message"},
		{"Before <think>and cut", "x", "Before"},
		{"Think > act", "x", "Think > act"},
	} {
		if got := title.Of(tt.answer, tt.message); got != tt.want {
			t.Errorf("Of(%q, %q) = %q, want %q", tt.answer, tt.message, got, tt.want)
		}
	}
}

func TestRequestShowsTheBeginningOfTheMessage(t *testing.T) {
	t.Parallel()
	text := title.Request("begin" + strings.Repeat("x", 2000) + "end").Content[0].Text
	if !strings.Contains(text, "begin") || strings.Contains(text, "end") && strings.HasSuffix(text, "end") {
		t.Errorf("request %q", text)
	}
}
