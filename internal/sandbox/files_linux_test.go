package sandbox_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// noBox says why there is no box here, "" if there is one.
var noBox = sync.OnceValue(func() string {
	var prober probe.Prober
	if r := prober.Ask(context.Background()); r.Level != sandbox.Full {
		return r.Reason
	}
	return ""
})

// inBox opens the files of a box around a directory; nil where the kernel forbids
// boxes of that level.
func inBox(level sandbox.Level, confined bool) opener {
	if reason := noBox(); strings.Contains(reason, "forbid") && os.Getenv("CI") != "true" {
		return nil
	}
	return func(t *testing.T, dir string) sandbox.Files {
		t.Helper()
		box, err := boxes.New(boxes.Config{Level: level, Policy: policy.Policy{Workspace: dir, Home: t.TempDir(), HomeAt: "/run/home"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = box.Close() })
		files, err := sandbox.FilesOf(box, dir, confined)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = files.Close() })
		return files
	}
}
