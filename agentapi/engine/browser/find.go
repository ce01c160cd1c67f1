package browser

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// names are those of the program in PATH, the best one first.
func names() []string {
	return []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"microsoft-edge", "microsoft-edge-stable", "brave-browser", "brave",
	}
}

// places are where systems keep the program outside of PATH.
func places(system, home string) []string {
	if system != "darwin" {
		return []string{"/usr/lib/chromium/chromium", "/snap/bin/chromium", "/opt/google/chrome/chrome", "/opt/brave.com/brave/brave"}
	}
	var list []string
	for _, app := range []string{"Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser"} {
		inside := app + ".app/Contents/MacOS/" + app
		list = append(list, filepath.Join("/Applications", inside), filepath.Join(home, "Applications", inside))
	}
	return list
}

// install is the command that installs a browser.
func install(system string) string {
	if system == "darwin" {
		return "install one: brew install --cask chromium"
	}
	return "install one: sudo apt-get install -y chromium, or use your system's package manager"
}

// Find looks for the browser of this machine. chosen is the path of the one that the user
// wants, and of no other then. If there is none, the error says how to install one.
func Find(chosen string, environ []string, home string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", fault.New("the browser of agents needs Linux or macOS", "run ohgw in WSL", nil)
	}
	if chosen != "" {
		if !runs(chosen) {
			return "", fault.New("the setting browser is "+chosen+", which cannot be run", "name the file of a browser, or remove the setting: ohgw then looks for one", nil)
		}
		return chosen, nil
	}
	for _, name := range names() {
		if path, err := sandbox.Find(name, environ); err == nil {
			return path, nil
		}
	}
	for _, path := range places(runtime.GOOS, home) {
		if runs(path) {
			return path, nil
		}
	}
	return "", fault.New("there is no Chromium, Chrome, Edge or Brave on this machine", install(runtime.GOOS), nil)
}

// runs reports whether a file is a program.
func runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
