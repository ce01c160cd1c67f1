package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAWindowIsShownOnTheDisplayOfThePerson(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environ    []string
		flags, env []string
	}{
		"X11": {
			[]string{"DISPLAY=:1", "WAYLAND_DISPLAY=wayland-0", "XDG_RUNTIME_DIR=/run/user/1", "AWS_SECRET=x"},
			[]string{"--ozone-platform=x11"},
			[]string{"DISPLAY=:1", "XAUTHORITY=/home/a/.Xauthority"},
		},
		"cookies": {
			[]string{"DISPLAY=:1", "XAUTHORITY=/run/x"}, []string{"--ozone-platform=x11"}, []string{"DISPLAY=:1", "XAUTHORITY=/run/x"},
		},
		"Wayland": {
			[]string{"WAYLAND_DISPLAY=wayland-0", "XDG_RUNTIME_DIR=/run/user/1"},
			[]string{"--ozone-platform=wayland"},
			[]string{"WAYLAND_DISPLAY=/run/user/1/wayland-0"},
		},
	} {
		w, err := findWindow("linux", tc.environ, "/home/a")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		flags, env := flags("/d", w), environ("/d", w)
		if diff := cmp.Diff(tc.flags, flags[:len(tc.flags)]); diff != "" || slices.Contains(flags, "--headless") || slices.Contains(flags, "--hide-scrollbars") {
			t.Errorf("%s: flags %q (-want +got):\n%s", name, flags, diff)
		}
		if diff := cmp.Diff(tc.env, env[len(env)-len(tc.env):]); diff != "" || strings.Contains(strings.Join(env, " "), "SECRET") {
			t.Errorf("%s: variables %q (-want +got):\n%s", name, env, diff)
		}
	}
}

func TestWithoutADisplayThereIsNoWindow(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{nil, {"DISPLAY="}, {"WAYLAND_DISPLAY=wayland-0"}} {
		if w, err := findWindow("linux", environ, "/home/a"); w != nil || err == nil || !strings.Contains(err.Error(), "DISPLAY and WAYLAND_DISPLAY are not set") {
			t.Errorf("window with the variables %q: %v, %v", environ, w, err)
		}
	}
	if _, err := findWindow("darwin", nil, "/Users/a"); err != nil {
		t.Errorf("macOS: %v", err)
	}
	if flags := flags("/d", nil); !slices.Contains(flags, "--headless") {
		t.Errorf("flags without a window: %q", flags)
	}
}
