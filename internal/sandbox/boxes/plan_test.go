package boxes_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// OpenHands' files are not shown, wherever they are: elsewhere, in the workspace,
// around it. A workspace that is their directory is refused.
func TestOpenHandsFilesAreHiddenWhereverTheyAre(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sandbox on Windows")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string {
		dir := filepath.Join(top, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	home := at("home")
	for name, tt := range map[string]struct{ base, workspace string }{
		"elsewhere":        {at("data"), at("one")},
		"in the workspace": {at("two/persist"), at("two")},
		"around it":        {at("three"), at("three/workspace")},
	} {
		p, err := boxes.Plan(boxes.User{Home: home, State: at("state"), Private: []string{tt.base, filepath.Join(home, ".openhands")}}, tt.workspace)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Of(filepath.Join(tt.base, "profiles", "a.json")).State; got != policy.Hidden {
			t.Errorf("%s: a profile is %s", name, got)
		}
		if got := p.Of(filepath.Join(tt.workspace, "main.go")).State; got != policy.Writable {
			t.Errorf("%s: a file of the workspace is %s", name, got)
		}
	}
	same := at("four")
	link := filepath.Join(top, "link")
	if err := os.Symlink(same, link); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{same, link} {
		_, err := boxes.Plan(boxes.User{Home: home, State: at("state"), Private: []string{base}}, same)
		if private, ok := errors.AsType[*boxes.PrivateError](err); !ok || private.Workspace != same {
			t.Errorf("%s: %v", base, err)
		}
	}
}
