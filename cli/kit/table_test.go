package kit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/tui/wrap"
)

const conversation = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	titles := []string{
		"修复登录页面上的不稳定测试，并检查所有超时设置是否正确", "أصلح الاختبار غير المستقر في صفحة تسجيل الدخول", "🛠️ fix 👩‍👩‍👧 the 🇩🇪 login 🧪 test",
		"abc\u202egnp.exe\u2066 and \u200ffiles", "Fix the flaky test of the login page, and look at all limits of time", "-",
	}
	for _, width := range []int{200, 80, 60, 40} {
		tab := kit.Table{Header: []string{"TITLE", "USED", "MODEL", "ID"}}
		for _, title := range titles {
			tab.Add(title, "2026-11-29 04:40", "openhands_work", conversation)
		}
		screen := show(t, &tab, width)
		if strings.ContainsAny(screen, "\u202e\u2066\u200f") {
			t.Errorf("%d columns: a control of direction is on the screen:\n%s", width, screen)
		}
		if n := strings.Count(screen, conversation); n != len(titles) {
			t.Errorf("%d columns: %d whole ids, want %d:\n%s", width, n, len(titles), screen)
		}
		for line := range strings.Lines(screen) {
			if line = strings.TrimSuffix(line, "\n"); wrap.Width(line) > width {
				t.Errorf("%d columns: a line of %d: %q", width, wrap.Width(line), line)
			}
		}
	}
}

func TestColumnsStandBelowEachOther(t *testing.T) {
	t.Parallel()
	tab := kit.Table{Header: []string{"TITLE", "STATUS", "ID"}}
	for _, title := range []string{"修复登录", "plain", "🧪🧪🧪", "اختبار"} {
		tab.Add(title, "finished", "x1")
	}
	var at []int
	for line := range strings.Lines(show(t, &tab, 80)) {
		if before, _, found := strings.Cut(line, "finished"); found {
			at = append(at, wrap.Width(before))
		}
	}
	if fmt.Sprint(at) != fmt.Sprint([]int{at[0], at[0], at[0], at[0]}) {
		t.Errorf("the status begins in the columns %v", at)
	}
}

func TestALongCellGoesOnInItsColumn(t *testing.T) {
	t.Parallel()
	tab := kit.Table{Header: []string{"NAME", "WHAT"}}
	tab.Add("one", "a text that is too long for a line of this width")
	want := "NAME  WHAT\none   a text that is too long\n      for a line of this width\n"
	if got := show(t, &tab, 32); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func show(t *testing.T, tab *kit.Table, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := tab.Write(iostream.New(&b, true, func() int { return width })); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
