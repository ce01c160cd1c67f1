//go:build e2e && linux

package differential_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// browse starts the conversations of a browser with a model that is shown pictures.
const browse = `set {"agent":{"kind":"Agent","llm":{"model":"openai/gpt-4o","api_key":"sk-llm-test","base_url":"${llm}",
	"usage_id":"agent","num_retries":0},"tools":[{"name":"browser_tool_set"}]}}`

// move is an action in a browser. INDEX in its arguments is that of the element on, and TAB
// the id of the tab on.
type move struct{ tool, args, on string }

// seen is what came of a move.
type seen struct {
	Text    string
	IsError bool
}

// moves are those of the session, in parts that begin when the page before was listed.
func moves(site, work string) [][]move {
	state := move{tool: "get_state"}
	click := func(on string) move { return move{"click", `{"index":INDEX}`, on} }
	fill := func(on, with string) move { return move{"type", fmt.Sprintf(`{"index":INDEX,"text":%q}`, with), on} }
	open := func(path, more string) move {
		return move{tool: "navigate", args: fmt.Sprintf(`{"url":%q%s}`, site+path, more)}
	}
	tab := func(tool string) move { return move{tool, `{"tab_id":"TAB"}`, "/second"} }
	form := []move{}
	for _, k := range formFields() {
		if k.text == "" {
			form = append(form, click(k.name))
		} else {
			form = append(form, fill(k.name, k.text))
		}
	}
	return [][]move{
		{open("/", ""), state},
		{fill("Name", "Ada"), fill("Password", "open sesame"), click("Log in"), {tool: "get_state", args: `{"include_screenshot":true}`}},
		{click("The form"), state},
		append(form, click("Send"), move{tool: "get_content", on: "sent"}),
		{open("/files", ""), state},
		{click("Get the report"), fill("file", filepath.Join(work, "up.txt")), click("Upload"), {tool: "get_content", on: "uploaded"}},
		{open("/second", `,"new_tab":true`), move{tool: "list_tabs"}},
		{tab("switch_tab"), tab("close_tab"), {tool: "list_tabs"}, {tool: "go_back"}, {tool: "scroll"}, tab("switch_tab")},
	}
}

// session plays the moves on one side.
func session(t *testing.T, server *side, site string) (all []seen, pictures int) {
	t.Helper()
	p := newPlay(t, server, scenario{steps: []string{browse}})
	if err := os.WriteFile(filepath.Join(p.dir, "up.txt"), []byte("from here"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed := ""
	for _, part := range moves(site, p.dir) {
		var script []string
		for _, m := range part {
			args := strings.NewReplacer("INDEX", element(listed, m.on), "TAB", tabOf(listed, m.on)).Replace(m.args)
			if args == "" {
				args = "{}"
			}
			script = append(script, "[[tool browser_"+m.tool+" "+args+"]]")
		}
		p.step("say " + strings.Join(append(script, "[[finish next]]"), " then "))
		all = p.observed()
		listed = all[len(all)-1].Text
	}
	for _, r := range p.llm.Requests() {
		n := 0
		for _, m := range r.Messages {
			n += len(m.Images)
		}
		pictures = max(pictures, n)
	}
	return all, pictures
}

// element is the index of an element in a listing.
func element(listed, name string) string {
	var state struct {
		Elements []struct {
			Index       int    `json:"index"`
			Text        string `json:"text"`
			Placeholder string `json:"placeholder"`
		} `json:"interactive_elements"`
	}
	_ = json.Unmarshal([]byte(listed), &state) // other results list no elements
	for _, e := range state.Elements {
		if name != "" && (e.Placeholder == name || e.Text == name) {
			return fmt.Sprint(e.Index)
		}
	}
	return "99999"
}

// tabOf is the id of the tab whose address ends so.
func tabOf(listed, path string) string {
	var tabs []struct {
		ID  string `json:"tab_id"`
		URL string `json:"url"`
	}
	_ = json.Unmarshal([]byte(listed), &tabs) // other results list no tabs
	for _, tab := range tabs {
		if strings.HasSuffix(tab.URL, path) {
			return tab.ID
		}
	}
	return "none"
}

// observed are the observations of the browser so far.
func (p *play) observed() (all []seen) {
	p.t.Helper()
	next := ""
	for {
		var page struct {
			Next  string `json:"next_page_id"`
			Items []struct {
				Kind        string `json:"kind"`
				Error       string `json:"error"`
				Tool        string `json:"tool_name"`
				Observation struct {
					Content []struct {
						Text string `json:"text"`
					} `json:"content"`
					IsError bool `json:"is_error"`
				} `json:"observation"`
			} `json:"items"`
		}
		if err := json.Unmarshal([]byte(p.do(http.MethodGet, p.path+"/events/search?limit=100&page_id="+next, nil)), &page); err != nil {
			p.t.Fatal(err)
		}
		for _, e := range page.Items {
			switch {
			case e.Error != "":
				all = append(all, seen{e.Error, true})
			case e.Kind == "ObservationEvent" && strings.HasPrefix(e.Tool, "browser_"):
				all = append(all, seen{e.Observation.Content[0].Text, e.Observation.IsError})
			}
		}
		if next = page.Next; next == "" {
			return all
		}
	}
}

// TestABrowsingSessionIsThatOfOpenHands leads both browsers through one session, by a scripted
// model, and logs what the model was shown side by side.
func TestABrowsingSessionIsThatOfOpenHands(t *testing.T) {
	site := browsed(t)
	_, port, _ := strings.Cut(site.Listener.Addr().String(), ":")
	agents := agentservertest.Start(t, append(agentservertest.Chromium(t), plainLog)...)
	theirs, theirPictures := session(t, &side{name: "real", url: agents.URL, key: agents.Key}, site.URL)
	ours, ourPictures := session(t, &side{name: "ours", url: startOurs(t, "[sandbox.network]", `local = ["`+port+`"]`), key: key}, site.URL)
	all := slices.Concat(moves(site.URL, "WORK")...)
	if len(theirs) != len(all) || len(ours) != len(all) || theirPictures != 1 || ourPictures != 1 {
		t.Fatalf("%d actions: %d results of OpenHands and %d of ours, %d and %d pictures for the model", len(all), len(theirs), len(ours), theirPictures, ourPictures)
	}
	table := &sideBySide{}
	for i, m := range all {
		a, b := inALine(m, theirs[i], site.URL), inALine(m, ours[i], site.URL)
		name := strings.TrimSpace(m.tool + " " + m.on)
		if why, known := otherwise()[name]; a != b && !known {
			t.Errorf("result of %s (-theirs +ours):\n-%s\n+%s", name, a, b)
		} else if known && !strings.Contains(b, why) {
			t.Errorf("result of %s: %s, without %q", name, b, why)
		}
		_, listed, _ := strings.Cut(a, ": ")
		if m.tool == "get_state" && !strings.HasSuffix(b, listed) {
			t.Errorf("elements of a page (-theirs +ours):\n-%s\n+%s", a, b)
		}
		table.row(m, a, b)
	}
	t.Logf("side by side:\n%s", table)
}
