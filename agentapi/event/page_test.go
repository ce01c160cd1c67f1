package event_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
)

func TestTheTitleOfAPageIsInTheTextOfItsObservation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "",
		"Scrolled down":               "",
		"Navigated to: https://a.com": "",
		"Navigated to: https://a.com\nPage title: A\nA page opened a new tab, AB12.":   "A",
		"{\n  \"url\": \"https://a.com\",\n  \"title\": \"A \\\"1\\\"\"\n}\nA remark.": `A "1"`,
		"{ no listing Page title: A":          "",
		"[{\"title\":\"a tab of the list\"}]": "",
	} {
		if got := event.PageOf(text); got != want {
			t.Errorf("title of %q: %q, want %q", text, got, want)
		}
	}
}
