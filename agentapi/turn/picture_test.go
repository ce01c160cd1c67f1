package turn_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"image"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestAScreenshotIsAFileOfTheAgentsMachine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1280, 800))); err != nil {
		t.Fatal(err)
	}
	shot := base64.StdEncoding.EncodeToString(b.Bytes())
	const action = `{"include_screenshot":true,"kind":"BrowserGetStateAction"}`
	of := func(data, dir string) *turn.Picture {
		return calls(t, toolRun(t, "browser_get_state", action, `{"content":[{"type":"text","text":"{}"}],"screenshot_data":`+data+`,"full_output_save_dir":`+dir+`,"kind":"BrowserObservation"}`))[1].Picture
	}
	sum := sha256.Sum256([]byte(shot))
	want := &turn.Picture{Path: "/srv/c/observations/browser_screenshot_" + hex.EncodeToString(sum[:4]) + ".png", Bytes: b.Len(), Width: 1280, Height: 800}
	if diff := cmp.Diff(want, of(`"`+shot+`"`, `"/srv/c/observations"`)); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
	for name, got := range map[string]*turn.Picture{
		"no screenshot": of(`null`, `"/srv/c/observations"`), "not stored": of(`"`+shot+`"`, `null`), "not a path": of(`"`+shot+`"`, `"observations"`),
	} {
		if got != nil {
			t.Errorf("%s: picture %+v", name, got)
		}
	}
	if got := of(`"bm8="`, `"/d"`); got == nil || got.Bytes != 2 || got.Width != 0 {
		t.Errorf("a picture that cannot be read: %+v", got)
	}
}
