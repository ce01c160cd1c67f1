package browser

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// errNone says that no Chromium was found.
var errNone = fault.New("there is no Chromium on this machine",
	"install it, such as with: sudo apt-get install -y chromium", nil)

// names are those of the program in PATH, the best one first.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"}

// places are where systems keep the program outside of PATH.
func places(system, home string) []string {
	if system != "darwin" {
		return []string{"/usr/lib/chromium/chromium", "/snap/bin/chromium", "/opt/google/chrome/chrome"}
	}
	var list []string
	for _, app := range []string{"Google Chrome", "Chromium", "Microsoft Edge"} {
		inside := app + ".app/Contents/MacOS/" + app
		list = append(list, filepath.Join("/Applications", inside), filepath.Join(home, "Applications", inside))
	}
	return list
}

// Find looks for the Chromium of this machine; chosen is the path of the one that the
// user wants, and of no other then. Where there is none the error says what to do.
func Find(chosen string, environ []string, home string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", fault.New("the browser tools need Linux or macOS", "run ohgw in WSL", nil)
	}
	if chosen != "" {
		if !runs(chosen) {
			return "", fault.New("the setting browser is "+chosen+", which cannot be run", "ohgw config show says where it is set; without it one is looked for", nil)
		}
		return chosen, nil
	}
	for _, name := range names {
		if path, err := sandbox.Find(name, environ); err == nil {
			return path, nil
		}
	}
	for _, path := range places(runtime.GOOS, home) {
		if runs(path) {
			return path, nil
		}
	}
	return "", errNone
}

// runs reports whether a file is a program.
func runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
