package browser

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
)

// Window is what Chromium needs to show its windows on a display.
type Window struct {
	flags []string
	env   []string
}

// FindWindow finds the display of the person who started ohgw. home is the home directory.
// Of the variables only those that lead to the display go to Chromium. X11 comes first, as
// the socket of Wayland is in a directory with those of other programs.
func FindWindow(environ []string, home string) (*Window, error) {
	return findWindow(runtime.GOOS, environ, home)
}

func findWindow(system string, environ []string, home string) (*Window, error) {
	if system == "darwin" {
		return &Window{}, nil
	}
	vars := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	if display := vars["DISPLAY"]; display != "" {
		cookies := vars["XAUTHORITY"]
		if cookies == "" {
			cookies = filepath.Join(home, ".Xauthority")
		}
		return &Window{flags: []string{"--ozone-platform=x11"}, env: []string{"DISPLAY=" + display, "XAUTHORITY=" + cookies}}, nil
	}
	display, dir := vars["WAYLAND_DISPLAY"], vars["XDG_RUNTIME_DIR"]
	if display != "" && !filepath.IsAbs(display) && dir != "" {
		display = filepath.Join(dir, display)
	}
	if filepath.IsAbs(display) {
		return &Window{flags: []string{"--ozone-platform=wayland"}, env: []string{"WAYLAND_DISPLAY=" + display}}, nil
	}
	return nil, fault.New("the browser cannot show its window: there is no display, since DISPLAY and WAYLAND_DISPLAY are not set",
		"run ohgw in a terminal of your desktop, or leave out --headed and OHGW_BROWSER_HEADED", nil)
}
