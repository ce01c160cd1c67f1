package human_test

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/tui/human"
)

func TestAmountsAreReadAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ what, got, want string }{
		{"no time", human.Duration(0), "0.0 s"},
		{"a clock set back", human.Duration(-time.Second), "0 s"},
		{"part of a second", human.Duration(1234 * time.Millisecond), "1.2 s"},
		{"seconds", human.Duration(59 * time.Second), "59 s"},
		{"almost a minute", human.Duration(59600 * time.Millisecond), "1 min 00 s"},
		{"minutes", human.Duration(61 * time.Second), "1 min 01 s"},
		{"hours", human.Duration(2*time.Hour + 5*time.Minute), "2 h 05 min"},
		{"no tokens", human.Tokens(0), "0"},
		{"three digits", human.Tokens(999), "999"},
		{"four digits", human.Tokens(1000), "1,000"},
		{"seven digits", human.Tokens(1234567), "1,234,567"},
		{"below zero", human.Tokens(-123), "-123"},
		{"few, short", human.Short(999), "999"},
		{"thousands, short", human.Short(1834), "1.8k"},
		{"many thousands, short", human.Short(123_456), "123k"},
		{"millions, short", human.Short(2_500_000), "2.5M"},
		{"cents", human.Money(0.126), "$0.13"},
		{"less than a cent", human.Money(0.00012), "$0.0001"},
		{"nothing to pay", human.Money(0), "$0.00"},
		{"bytes", human.Size(999), "999 bytes"},
		{"kilobytes", human.Size(120_400), "120 kB"},
		{"megabytes", human.Size(1_048_576), "1.0 MB"},
		{"just now", human.Ago(59 * time.Second), "now"},
		{"minutes ago", human.Ago(59 * time.Minute), "59 min ago"},
		{"hours ago", human.Ago(47 * time.Hour), "47 h ago"},
		{"days ago", human.Ago(49 * time.Hour), "2 days ago"},
		{"a line", human.Lines("a\n"), "1 line"},
		{"two lines", human.Lines("a\nb"), "2 lines"},
		{"a sentence", human.Sentence(" it broke "), "It broke"},
		{"another alphabet", human.Sentence("ärger"), "Ärger"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: text = %q, want %q", tc.what, tc.got, tc.want)
		}
	}
}

func TestAnEmptyErrorIsASentence(t *testing.T) {
	t.Parallel()
	if got := human.Sentence("  "); got == "" {
		t.Error("the sentence is empty")
	}
}
