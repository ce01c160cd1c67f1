//go:build e2e && linux

package differential_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/truncate"
)

// otherwise has the actions whose results may differ, with what ours has to say. OpenHands
// lists a page before its title has come, reads the page before after a click has sent a
// form, names the address of the tab that it has closed, and types the path of a file into a
// field for files, which changes nothing. Its downloads leave the result as it is.
func otherwise() map[string]string {
	return map[string]string{
		"get_state": " others", "list_tabs": "SITE/upload", "get_content sent": "j is first line k is blue l is on m is on",
		"get_content uploaded": `up.txt has "from here"`, "click Get the report": "report.csv (4 bytes)", "close_tab /second": "now on SITE/upload",
	}
}

var (
	ownNumbers = pattern.Of(`element \d+`)
	ownTitle   = pattern.Of(`\nPage title: .*`)
	ownTab     = pattern.Of(`\b[0-9A-F]{4}\b`)
	ownPath    = pattern.Of(`\S+/downloads/`)
	spaces     = pattern.Of(`\s+`)
)

// inALine is the result of an action in a line, without what is each side's own: the numbers of
// elements and tabs, sizes, the counts of a text, and the title and the next step that ours add.
func inALine(m move, r seen, site string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(r.Text, site, "SITE"), strings.TrimPrefix(site, "http://"), "SITE")
	switch m.tool {
	case "get_state", "list_tabs":
		text = listing(m.tool, text)
	case "get_content":
		_, text, _ = strings.Cut(text, "<webpage_content>")
		text, _, _ = strings.Cut(text, "</webpage_content>")
	default:
		text = ownTitle().ReplaceAllString(ownNumbers().ReplaceAllString(text, "element N"), "")
		text = strings.TrimSuffix(text, ": browser_list_tabs lists the tabs")
		text = ownPath().ReplaceAllString(ownTab().ReplaceAllString(text, "ID"), "downloads/")
	}
	if r.IsError {
		text = "error: " + text
	}
	return strings.TrimSpace(spaces().ReplaceAllString(text, " "))
}

// listing is what a listing shows.
func listing(tool, text string) string {
	if tool == "list_tabs" {
		var tabs []struct{ URL, Title string }
		if json.Unmarshal([]byte(text), &tabs) != nil {
			return text
		}
		return fmt.Sprintf("tabs: %v", tabs)
	}
	var state struct {
		Title    string
		Elements []struct{ Tag, Text, Placeholder, Href string } `json:"interactive_elements"`
	}
	if json.Unmarshal([]byte(text), &state) != nil {
		return text
	}
	fields := 0
	for _, e := range state.Elements {
		if e.Placeholder != "" {
			fields++
		}
	}
	return fmt.Sprintf("%s: %d fields, %d others", state.Title, fields, len(state.Elements)-fields)
}

// sideBySide is a table in Markdown. Equal results of one tool after the other are one row.
type sideBySide struct {
	rows []string
	tool string // of the last row, if both sides were the same
	n    int    // actions in it
}

const cellWidth = 60

func (s *sideBySide) row(m move, theirs, ours string) {
	if ours == theirs && m.tool == s.tool {
		s.n++
		s.rows[len(s.rows)-1] = pattern.Of(`^\| (\w+)[^|]*\|`)().ReplaceAllString(s.rows[len(s.rows)-1], fmt.Sprintf("| $1, %d times |", s.n))
		return
	}
	s.tool, s.n = "", 1
	name := strings.TrimSpace(m.tool + " " + m.on)
	if ours == theirs {
		s.tool, ours = m.tool, "the same"
	} else {
		ours = truncate.Within(ours, cellWidth, "…")
	}
	s.rows = append(s.rows, fmt.Sprintf("| %s | %s | %s |", name, truncate.Within(theirs, cellWidth, "…"), ours))
}

func (s *sideBySide) String() string {
	return "| action | OpenHands 1.58.2 | ohgw |\n| --- | --- | --- |\n" + strings.Join(s.rows, "\n")
}
