package conversations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/tui/wrap"
)

// The list of a server and the events are written row by row: each is one line that fits.
func TestRowsFitTheTerminal(t *testing.T) {
	t.Parallel()
	titles := []string{
		"修复登录页面上的不稳定测试，并检查所有超时设置是否正确", "أصلح الاختبار غير المستقر في صفحة تسجيل الدخول", "🛠️ fix 👩‍👩‍👧 the 🇩🇪 login 🧪 test",
		"abc\u202egnp.exe\u2066 and \u200ffiles", strings.Repeat("long ", 40), "",
	}
	for _, width := range []int{120, 80, 60, 40} {
		var b bytes.Buffer
		app := &kit.App{Env: &kit.Env{Stdout: iostream.New(&b, true, func() int { return width }), Now: func() time.Time { return time.Unix(1e9, 0) }}}
		list := listOptions{place: &place{kit.OnServer{App: app}}}
		events := eventsOptions{oneOptions: oneOptions{place: &place{kit.OnServer{App: app}}}}
		rows := list.terminalRows()
		for i, title := range titles {
			if err := rows.row(account.Conversation{ID: fmt.Sprintf("%032d", i), Title: title, State: "running", Repo: title}); err != nil {
				t.Fatal(err)
			}
			if err := events.line(json.RawMessage("{}"), "04:40:00", "user", "MessageEvent", title); err != nil {
				t.Fatal(err)
			}
		}
		screen := b.String()
		if n := strings.Count(screen, "\n"); n != 2*len(titles)+1 {
			t.Errorf("%d columns: %d lines:\n%s", width, n, screen)
		}
		if strings.ContainsAny(screen, "\u202e\u2066\u200f") {
			t.Errorf("%d columns: a control of direction is on the screen:\n%q", width, screen)
		}
		if strings.Count(screen, "00000000") < len(titles) {
			t.Errorf("%d columns: an id is cut:\n%s", width, screen)
		}
		for line := range strings.Lines(screen) {
			if line = strings.TrimSuffix(line, "\n"); wrap.Width(line) > width {
				t.Errorf("%d columns: a line of %d: %q", width, wrap.Width(line), line)
			}
		}
	}
}
