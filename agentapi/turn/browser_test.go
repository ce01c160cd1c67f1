package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// browsed reads a turn with one action of the browser, as it begins and with its result.
func browsed(t *testing.T, tool, action, text string) []turn.Call {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return calls(t, toolRun(t, "browser_"+tool, action, `{"content":[{"type":"text","text":`+string(quoted)+`}],"is_error":false,"kind":"BrowserObservation"}`))
}

func TestAStepOfTheBrowserIsALineWithTheTitle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ tool, action, text, begun, done string }{
		"navigate": {
			"navigate", `{"url":"https://a.example/x","new_tab":false,"kind":"BrowserNavigateAction"}`,
			"Navigated to: https://a.example/x\nPage title: A page", "Open https://a.example/x", "Open https://a.example/x · A page",
		},
		"OpenHands'": {
			"navigate", `{"url":"https://a.example/x","new_tab":true,"kind":"BrowserNavigateAction"}`,
			"Opened new tab with URL: https://a.example/x", "Open in a new tab: https://a.example/x", "Open in a new tab: https://a.example/x",
		},
		"listing": {
			"get_state", `{"include_screenshot":true,"kind":"BrowserGetStateAction"}`,
			"{\n  \"url\": \"https://a.example\",\n  \"title\": \"The\\nlist \u202eof\",\n  \"tabs\": []\n}", "Look at the page", "Look at the page · The list of",
		},
		"click": {"click", `{"index":5,"kind":"BrowserClickAction"}`, "Clicked element 5\nPage title: Sent", "Click element 5", "Click element 5 · Sent"},
		"other": {"future", `{"kind":"BrowserFutureAction"}`, "Done", "browser_future", "browser_future"},
	} {
		all := browsed(t, tc.tool, tc.action, tc.text)
		if len(all) != 2 || all[0].Line != tc.begun || all[1].Line != tc.done {
			t.Errorf("%s: calls = %+v", name, all)
		}
	}
}

func TestAToolOfAnMCPServerIsNotTheBrowser(t *testing.T) {
	t.Parallel()
	all := calls(t, toolRun(t, "browser_click", `{"data":{"element":"Send","ref":"e5"},"kind":"MCPToolAction"}`,
		`{"content":[{"type":"text","text":"Done\nPage title: x"}],"tool_name":"browser_click","kind":"MCPToolObservation"}`))
	if len(all) != 2 || all[0].Line != "browser_click" || all[1].Line != "browser_click" {
		t.Errorf("calls = %+v", all)
	}
}

func TestAResultWithoutItsActionHasTheNameOfTheTool(t *testing.T) {
	t.Parallel()
	events := toolRun(t, "browser_click", `{"index":5,"kind":"BrowserClickAction"}`,
		`{"content":[{"type":"text","text":"Clicked element 5\nPage title: Sent"}],"kind":"BrowserObservation"}`)
	all := calls(t, append(events[:3], events[4]))
	if len(all) != 1 || all[0].Line != "browser_click · Sent" {
		t.Errorf("calls = %+v", all)
	}
}

func TestAFailedStepOfTheBrowserHasNoTitle(t *testing.T) {
	t.Parallel()
	all := calls(t, toolRun(t, "browser_click", `{"index":5,"kind":"BrowserClickAction"}`,
		`{"content":[{"type":"text","text":"Browser operation failed\nPage title: x"}],"is_error":true,"kind":"BrowserObservation"}`))
	if all[1].Line != "Click element 5" || all[1].State != turn.CallFailed {
		t.Errorf("calls = %+v", all)
	}
}

func TestAStepThatStaysOnAPageHasTheTitleOfTheStepBefore(t *testing.T) {
	t.Parallel()
	events := toolRun(t, "browser_navigate", `{"url":"https://a.example","kind":"BrowserNavigateAction"}`,
		`{"content":[{"type":"text","text":"Navigated to: https://a.example\nPage title: Here"}],"kind":"BrowserObservation"}`)
	next := toolRun(t, "browser_scroll", `{"direction":"up","kind":"BrowserScrollAction"}`,
		`{"content":[{"type":"text","text":"Scrolled up"}],"kind":"BrowserObservation"}`)
	all := calls(t, append(events, next[len(next)-2:]...))
	if len(all) != 4 || all[2].Line != "Scroll up" || all[3].Line != "Scroll up · Here" {
		t.Errorf("calls = %+v", all)
	}
}
