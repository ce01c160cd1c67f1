package browser

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// maxShot is the size from which on a picture is made as JPEG.
const maxShot = 1 << 20

var (
	//go:embed js/state.js
	stateScript string
	//go:embed js/describe.js
	describeScript string
)

// shown is what the model is told of a tab.
type shown struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// size is a width and a height in pixels.
type size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// state is a page as the model is told of it, in the order of OpenHands.
type state struct {
	shown

	Tabs     []shown         `json:"tabs"`
	Elements json.RawMessage `json:"interactive_elements"`
	Viewport size            `json:"viewport"`
	Page     size            `json:"page"`
	Scroll   struct {
		X int `json:"x"`
		Y int `json:"y"`
	} `json:"scroll"`
	Picture *size `json:"screenshot_dimensions,omitempty"`
}

// State lists the elements of the page that can be used, and makes a picture.
func (s *Session) State(ctx context.Context, picture bool) (text string, image []byte, err error) {
	text, err = s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		var now state
		if t.elements, err = t.keep(ctx, stateScript); err != nil {
			return "", err
		}
		if err := t.on(ctx, t.elements, describeScript, &now); err != nil {
			return "", err
		}
		tabs, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		for _, one := range tabs {
			now.Tabs = append(now.Tabs, shown{one.URL, one.Title})
		}
		if picture {
			if image, err = t.picture(ctx); err != nil {
				return "", err
			}
			now.Picture = &now.Viewport
		}
		return indented(now)
	})
	return text, image, err
}

// picture returns what the page looks like, as PNG, or as JPEG if that would be large.
func (t *tab) picture(ctx context.Context) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	var shot struct {
		Data []byte `json:"data"`
	}
	err := t.do(limited, "Page.captureScreenshot", object{"format": "png"}, &shot)
	if err == nil && len(shot.Data) > maxShot {
		err = t.do(limited, "Page.captureScreenshot", object{"format": "jpeg", "quality": 75}, &shot)
	}
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, errBusy
	}
	return shot.Data, err
}

// indented is JSON for the model.
func indented(v any) (string, error) {
	data, err := plainjson.Indent(v, "", "  ")
	return string(data), err
}
