package attach

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTheClipboardIsThatOfTheDesktop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		goos string
		env  map[string]string
		want string // the first writer
	}{
		"mac":     {"darwin", nil, "pbcopy"},
		"windows": {"windows", nil, "clip.exe"},
		"wayland": {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-copy"},
		"x11":     {"linux", map[string]string{"DISPLAY": ":0"}, "xclip"},
		"wsl":     {"linux", map[string]string{"WSL_DISTRO_NAME": "x"}, "clip.exe"},
		"ssh":     {"linux", nil, "termux-clipboard-set"},
	} {
		c := Clipboard{goos: tc.goos, getenv: func(k string) string { return tc.env[k] }, find: func(string) (string, error) { return "", os.ErrNotExist }}
		if got := c.writers()[0][0]; got != tc.want {
			t.Errorf("%s: writers = %s, want %s", name, got, tc.want)
		}
		if err := c.Copy(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "is not available") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheClipboardGetsTheText(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "xclip")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat > "+dir+"/got\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Clipboard{
		goos: "linux", getenv: func(k string) string { return map[string]string{"DISPLAY": ":0"}[k] }, environ: []string{"PATH=/usr/bin:/bin"},
		find: func(name string) (string, error) {
			if name == "xclip" {
				return program, nil
			}
			return "", os.ErrNotExist
		},
	}
	if err := c.Copy(t.Context(), "some text"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "got")); err != nil || string(data) != "some text" {
		t.Errorf("file = %q, error %v", data, err)
	}
}
