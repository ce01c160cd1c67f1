package turn

import (
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/jpeg" // the formats of screenshots
	_ "image/png"
	"path"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// browserPrefix begins the names of the browser's tools.
const browserPrefix = "browser_"

// browserLine writes an action of the browser in one line; "" for an action of another tool,
// such as one of an MCP server with that name. The number of an element says nothing to a
// person, so the summary follows it.
func browserLine(a *event.Action) string {
	name, ok := strings.CutPrefix(a.ToolName, browserPrefix)
	if !ok {
		return ""
	}
	var in struct {
		Kind   string `json:"kind"`
		URL    string `json:"url"`
		Index  int    `json:"index"`
		Way    string `json:"direction"`
		Tab    string `json:"tab_id"`
		NewTab bool   `json:"new_tab"`
	}
	// Arguments that the model got wrong have no kind; the tool's name remains.
	_ = json.Unmarshal(arguments(a), &in)
	if !strings.HasPrefix(in.Kind, "Browser") || !strings.HasSuffix(in.Kind, "Action") {
		return ""
	}
	switch name {
	case "navigate":
		if in.NewTab {
			return "Open in a new tab: " + in.URL
		}
		return "Open " + in.URL
	case "click":
		return withSummary(a, "Click element "+strconv.Itoa(in.Index))
	case "type":
		return withSummary(a, "Type into element "+strconv.Itoa(in.Index))
	case "scroll":
		if in.Way == "up" {
			return "Scroll up"
		}
		return "Scroll down"
	case "switch_tab":
		return "Switch to tab " + in.Tab
	case "close_tab":
		return "Close tab " + in.Tab
	}
	return map[string]string{
		"get_state": "Look at the page", "get_content": "Read the page", "go_back": "Go back", "list_tabs": "List the tabs",
		"get_storage": "Read cookies and storage", "set_storage": "Change cookies and storage",
		"start_recording": "Start a recording", "stop_recording": "End the recording",
	}[name]
}

// withSummary adds what the model says of an action.
func withSummary(a *event.Action, line string) string {
	if a.Summary == "" || strings.HasPrefix(a.Summary, a.ToolName+": {") {
		return line
	}
	return line + ": " + a.Summary
}

// picture describes the screenshot of an observation that was stored as a file; nil if it has
// none.
func (o observed) picture() *Picture {
	if o.Screenshot == "" || !path.IsAbs(o.SaveDir) || len(o.SaveDir) > maxPath {
		return nil
	}
	p := &Picture{Path: path.Join(o.SaveDir, event.ScreenshotName(o.Screenshot)), Bytes: base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(o.Screenshot, "=")))}
	head := base64.NewDecoder(base64.StdEncoding, strings.NewReader(o.Screenshot))
	if cfg, _, err := image.DecodeConfig(head); err == nil {
		p.Width, p.Height = cfg.Width, cfg.Height
	}
	return p
}

// onPage adds the title of the page to the line of an action of the browser that is done.
// What the model was told says it, or has said it of an earlier action: r.page is the title
// that was told last.
func (r *Reader) onPage(res *callResult, c *Call) {
	if !strings.HasPrefix(res.tool, browserPrefix) || res.state != CallDone || kindOf(res.action) == KindMCP {
		return
	}
	if title := event.PageOf(res.text); title != "" {
		r.page = title
	}
	if r.page != "" && c != nil {
		c.Line = shorten(c.Line+" · "+r.page, maxLine)
	}
}
