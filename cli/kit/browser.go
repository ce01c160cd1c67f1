package kit

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// errNoDesktop says that there is no desktop to open a browser on.
var errNoDesktop = errors.New("there is no desktop")

// OpenBrowser opens an address in the browser of the desktop. It waits a moment for
// the program that does it, not for the browser.
func (a *App) OpenBrowser(ctx context.Context, address string) error {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	default:
		if a.Getenv("DISPLAY") == "" && a.Getenv("WAYLAND_DISPLAY") == "" {
			return errNoDesktop
		}
	}
	path, err := a.LookPath(program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, path, args...).Run()
}
