package attach

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/tui"
)

// clipboardTimeout bounds a program that asks a desktop that may be gone.
const clipboardTimeout = 2 * time.Second

// Clipboard is the clipboard of the system, by way of the programs that come
// with it.
type Clipboard struct {
	goos    string
	getenv  func(string) string
	environ []string
	find    func(program string) (path string, err error)
}

// System is the clipboard of this system.
func System(a *kit.App) Clipboard {
	return Clipboard{goos: runtime.GOOS, getenv: a.Getenv, environ: a.Environ(), find: a.LookPath}
}

// writers lists the programs that put text into the clipboard, the best first.
func (c Clipboard) writers() [][]string {
	switch c.goos {
	case "darwin":
		return [][]string{{"pbcopy"}}
	case "windows":
		return [][]string{{"clip.exe"}}
	}
	var all [][]string
	if c.getenv("WAYLAND_DISPLAY") != "" {
		all = append(all, []string{"wl-copy"})
	}
	if c.getenv("DISPLAY") != "" {
		all = append(all, []string{"xclip", "-selection", "clipboard"}, []string{"xsel", "--clipboard", "--input"})
	}
	if c.getenv("WSL_DISTRO_NAME") != "" {
		all = append(all, []string{"clip.exe"})
	}
	return append(all, []string{"termux-clipboard-set"})
}

// readers are the programs that give the picture in the clipboard as PNG.
func (c Clipboard) readers() [][]string {
	if c.goos == "darwin" {
		return [][]string{{"pngpaste", "-"}}
	}
	var all [][]string
	if c.getenv("WAYLAND_DISPLAY") != "" {
		all = append(all, []string{"wl-paste", "--no-newline", "--type", "image/png"})
	}
	if c.getenv("DISPLAY") != "" {
		all = append(all, []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"})
	}
	return all
}

// Copy puts text into the clipboard.
func (c Clipboard) Copy(ctx context.Context, text string) error {
	_, err := c.run(ctx, c.writers(), text)
	return err
}

// Paste returns the picture in the clipboard.
func (c Clipboard) Paste(ctx context.Context) (tui.Image, error) {
	data, err := c.run(ctx, c.readers(), "")
	if err != nil {
		return tui.Image{}, err
	}
	image, err := encode("clipboard", data)
	if err != nil {
		return tui.Image{}, fmt.Errorf("there is no image in the clipboard that can be sent: it %w", err)
	}
	return image, nil
}

// run runs the first of the programs that is there.
func (c Clipboard) run(ctx context.Context, programs [][]string, in string) ([]byte, error) {
	var names []string
	for _, words := range programs {
		path, err := c.find(words[0])
		if err != nil {
			names = append(names, words[0])
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, clipboardTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, words[1:]...)
		out := bounded.Head{Max: maxImage, Full: func() error { return fmt.Errorf("more than %d MiB", maxImage>>20) }}
		cmd.Stdin, cmd.Env, cmd.Stdout = strings.NewReader(in), c.environ, &out
		// A program that stays behind to serve the clipboard keeps the output open.
		cmd.WaitDelay = clipboardTimeout
		if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			return nil, fmt.Errorf("run %s: %w", words[0], err)
		}
		return out.Bytes(), nil
	}
	hint := "use a terminal on a desktop"
	if len(names) > 0 {
		hint = "install " + strings.Join(names, " or ")
	}
	return nil, fault.New("the clipboard is not available", hint, nil)
}
