package chat

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
)

// clipboardTimeout bounds a program that asks a desktop that may be gone.
const clipboardTimeout = 2 * time.Second

// clipboard is the clipboard of the system, by way of the programs that come
// with it.
type clipboard struct {
	goos    string
	getenv  func(string) string
	environ []string
	find    func(program string) (path string, err error)
}

func systemClipboard(a *kit.App) clipboard {
	return clipboard{goos: runtime.GOOS, getenv: a.Getenv, environ: a.Environ(), find: a.LookPath}
}

// writers are the programs that put text into the clipboard, the best first.
func (c clipboard) writers() [][]string {
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
func (c clipboard) readers() [][]string {
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

// copyText puts text into the clipboard.
func (c clipboard) copyText(ctx context.Context, text string) error {
	_, err := c.run(ctx, c.writers(), text)
	return err
}

// image gives the bytes of the picture in the clipboard.
func (c clipboard) image(ctx context.Context) ([]byte, error) { return c.run(ctx, c.readers(), "") }

// run runs the first of the programs that is there.
func (c clipboard) run(ctx context.Context, programs [][]string, in string) ([]byte, error) {
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
