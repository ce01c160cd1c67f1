// Package browser has the tools of a browser, as the model calls them. The browser
// itself is behind an interface.
package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Browser is the browser of one conversation. An error is for the model.
type Browser interface {
	Navigate(ctx context.Context, address string, newTab bool) (string, error)
	Click(ctx context.Context, index int, newTab bool) (string, error)
	Type(ctx context.Context, index int, text string) (string, error)
	State(ctx context.Context, picture bool) (text string, image []byte, err error)
	Content(ctx context.Context, links bool, from int) (string, error)
	Scroll(ctx context.Context, up bool) (string, error)
	Back(ctx context.Context) (string, error)
	Tabs(ctx context.Context) (string, error)
	SwitchTab(ctx context.Context, id string) (string, error)
	CloseTab(ctx context.Context, id string) (string, error)
	Storage(ctx context.Context) (string, error)
	SetStorage(ctx context.Context, state json.RawMessage) (string, error)
	Close() error
}

// Config is what the tools need.
type Config struct {
	Browser Browser
	// SaveDir is for results that are too long, and for pictures.
	SaveDir string
	// Vision reports whether the model is shown pictures.
	Vision func() bool
}

// Tools makes all tools of the browser. The first one closes it.
func Tools(cfg Config) []tool.Tool {
	all := specs()
	list := make([]tool.Tool, 0, len(all))
	for i, s := range all {
		list = append(list, &one{spec: s, cfg: cfg, owns: i == 0})
	}
	return list
}

// one is a tool of the browser.
type one struct {
	spec spec
	cfg  Config
	owns bool
}

// Definition returns what the model is told.
func (o *one) Definition() tool.Definition {
	s := o.spec
	return tool.Definition{
		Name: "browser_" + s.name, Description: s.about, Parameters: s.parameters,
		ActionKind: "Browser" + s.kind + "Action", ObservationKind: tool.KindBrowserObservation, Kind: "Browser" + s.kind + "Tool",
		Annotations: &tool.Annotations{
			Title: "browser_" + s.name, ReadOnly: s.reads, Destructive: s.destroys, Idempotent: s.reads, OpenWorld: s.open,
		},
	}
}

// Locks has one call at a time use the browser.
func (o *one) Locks(json.RawMessage) []string { return []string{"browser:session"} }

// Close closes the browser of the conversation.
func (o *one) Close() error {
	if !o.owns {
		return nil
	}
	return o.cfg.Browser.Close()
}

// arguments are those of all the tools.
type arguments struct {
	URL     string          `json:"url"`
	NewTab  bool            `json:"new_tab"`
	Index   int             `json:"index"`
	Text    string          `json:"text"`
	Picture bool            `json:"include_screenshot"`
	Links   bool            `json:"extract_links"`
	From    int             `json:"start_from_char"`
	Way     string          `json:"direction"`
	Tab     string          `json:"tab_id"`
	State   json.RawMessage `json:"storage_state"`
}

// Run executes one call.
func (o *one) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var a arguments
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "The arguments cannot be read: " + err.Error()}
	}
	text, picture, err := o.do(ctx, a)
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return o.answer("Browser operation failed: "+err.Error(), nil, true)
	}
	return o.answer(text, picture, false)
}

var errNoRecording = errors.New("sessions cannot be recorded here. Use browser_get_state with include_screenshot to show a page")

// do carries a call out.
func (o *one) do(ctx context.Context, a arguments) (text string, picture []byte, err error) {
	b := o.cfg.Browser
	switch o.spec.name {
	case "navigate":
		text, err = b.Navigate(ctx, a.URL, a.NewTab)
	case "click":
		text, err = b.Click(ctx, a.Index, a.NewTab)
	case "type":
		text, err = b.Type(ctx, a.Index, a.Text)
	case "get_state":
		return o.state(ctx, a.Picture)
	case "get_content":
		text, err = b.Content(ctx, a.Links, a.From)
	case "scroll":
		text, err = b.Scroll(ctx, a.Way == "up")
	case "go_back":
		text, err = b.Back(ctx)
	case "list_tabs":
		text, err = b.Tabs(ctx)
	case "switch_tab":
		text, err = b.SwitchTab(ctx, a.Tab)
	case "close_tab":
		text, err = b.CloseTab(ctx, a.Tab)
	case "get_storage":
		text, err = b.Storage(ctx)
	case "set_storage":
		text, err = b.SetStorage(ctx, a.State)
	default:
		err = errNoRecording
	}
	return text, nil, err
}

// state lists the page. A model that is shown no pictures gets none.
func (o *one) state(ctx context.Context, picture bool) (string, []byte, error) {
	seen := picture && o.cfg.Vision()
	text, data, err := o.cfg.Browser.State(ctx, seen)
	if err == nil && picture && !seen {
		text += "\nThere is no screenshot: this model is not shown pictures."
	}
	return text, data, err
}

// answer makes the result. A picture is stored beside the text, as OpenHands does, and
// is in what the model sees.
func (o *one) answer(text string, picture []byte, isError bool) (tool.Result, error) {
	f := tool.BrowserFields{SaveDir: &o.cfg.SaveDir}
	if len(picture) > 0 {
		data := base64.StdEncoding.EncodeToString(picture)
		f.Screenshot = &data
		// The picture is in the event anyway.
		_ = savePicture(o.cfg.SaveDir, data, picture)
	}
	result, err := tool.NewResult(tool.KindBrowserObservation, []event.Content{event.Text(text)}, isError, f)
	if err != nil {
		return result, err
	}
	// A text that is too long is saved here; later only its name is made of it.
	if _, err := tool.Truncate(text, tool.LimitBrowser, o.cfg.SaveDir, "browser"); err != nil {
		return result, fmt.Errorf("save the result: %w", err)
	}
	result.Content, _, err = tool.Content(result.Observation)
	return result, err
}

// savePicture writes a picture to the name that the model is given.
func savePicture(dir, data string, picture []byte) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, event.ScreenshotName(data)), picture, atomicfile.Options{})
}
