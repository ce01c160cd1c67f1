package setup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
)

// A closed directory of the user's own is opened by a mode, and named.
func TestClosedProfilesNameTheDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes")
	}
	dir := filepath.Join(t.TempDir(), "openhands")
	if err := os.Mkdir(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	err := (&setup.Env{}).ProfileFault(t.Context(), &fs.PathError{Op: "open", Path: filepath.Join(dir, "profiles"), Err: fs.ErrPermission}, "p")
	told, ok := errors.AsType[*fault.Error](err)
	if !ok || !strings.HasSuffix(told.Hint, ": chmod u+rwx "+dir) {
		t.Errorf("error = %+v", err)
	}
}
