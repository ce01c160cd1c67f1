package tui

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/ohgw/ohgw/internal/gateway"
)

// looked are the pieces of a step of the browser with a screenshot.
func looked() []gateway.Piece {
	begun := gateway.Call{ID: "b", State: "running", Tool: "browser_get_state", Kind: "other", Line: "Look at the page"}
	ended := begun
	ended.State, ended.Line, ended.Picture = "done", "Look at the page · Form", &gateway.Picture{Path: "/srv/shot.png", Bytes: 45_000, Width: 640, Height: 160}
	return pieces(begun, ended, gateway.Text("I see it."))
}

// showing is a chat on a terminal with these variables that can read the screenshot.
func showing(t *testing.T, environ ...string) func(*Config) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 640, 160))); err != nil {
		t.Fatal(err)
	}
	return func(cfg *Config) {
		cfg.Environ = environ
		cfg.ReadPicture = func(path string) ([]byte, error) {
			if path != "/srv/shot.png" {
				return nil, errors.New("no such file")
			}
			return b.Bytes(), nil
		}
	}
}

func TestKittyShowsAScreenshotBelowItsStep(t *testing.T) {
	talk(t, &script{answer: says(looked()...)}, showing(t, "TERM=xterm-kitty"), func(c *chat) {
		c.ask("look")
		c.sees("✓ Look at the page · Form", "\U0010EEEE")
		c.misses("▣")
		if len(c.raw) != 1 || !strings.HasPrefix(c.raw[0], "\x1b_Gf=100,a=T,U=1") {
			c.Errorf("sequences: %.200q", c.raw)
		}
		// Too narrow for it, the line about the picture is there again.
		c.send(tea.WindowSizeMsg{Width: 40, Height: 24})
		c.sees("▣ screenshot, 640×160, 45 kB")
		c.misses("\U0010EEEE")
	})
}

func TestAScreenshotIsShownByItselfAsSixel(t *testing.T) {
	talk(t, &script{answer: says(looked()...)}, showing(t, "TERM=xterm"), func(c *chat) {
		if len(c.raw) != 1 || c.raw[0] != "\x1b[c" {
			c.Errorf("sequences: %q", c.raw)
		}
		c.send(uv.PrimaryDeviceAttributesEvent{62, 4})
		c.ask("look")
		c.sees("▣ screenshot, 640×160, 45 kB · /picture shows it")
		c.press("/picture", "enter")
		c.wait(time.Second)
		c.sees("screenshot, 640×160, 45 kB  any key closes")
		c.misses("I see it.")
		if len(c.raw) != 2 || !strings.HasPrefix(c.raw[1], "\x1b7\x1b[2;1H\x1bP0;1q") || !strings.HasSuffix(c.raw[1], "\x1b\\\x1b8") {
			c.Errorf("sequences: %.200q", c.raw)
		}
		c.press("x")
		c.sees("I see it.")
		c.press("/picture", "enter")
		c.wait(time.Second)
		c.send(tea.WindowSizeMsg{Width: 70, Height: 20})
		c.sees("I see it.")
	})
}

func TestWithoutAWayToShowAScreenshotItsFileIsNamed(t *testing.T) {
	for environ, change := range map[string]func(*Config){
		"this terminal shows no pictures; the file is /srv/shot.png":   showing(t, "TERM=xterm"),
		"the screenshot is on the machine of the agent: /srv/shot.png": nil,
	} {
		t.Run(environ, func(t *testing.T) {
			talk(t, &script{answer: says(looked()...)}, change, func(c *chat) {
				c.ask("look")
				c.sees("▣ screenshot, 640×160, 45 kB")
				c.misses("/picture")
				c.press("/picture", "enter")
				c.sees(environ)
			})
		})
	}
}

func TestWithoutAScreenshotThereIsNothingToShow(t *testing.T) {
	talk(t, &script{answer: says(pieces(gateway.Text("Hi."))...)}, showing(t, "TERM_PROGRAM=iTerm.app"), func(c *chat) {
		c.ask("hi")
		c.press("/picture", "enter")
		c.sees("there is no screenshot in this conversation")
	})
}

func TestAPlainChatSaysWhereAScreenshotIs(t *testing.T) {
	t.Parallel()
	counts(t, onPaper(t, &script{answer: says(looked()...)}, nil, "look"), map[string]int{
		"Finished: Look at the page · Form\nPicture: screenshot, 640×160, 45 kB, in the file /srv/shot.png\n": 1,
	})
}
