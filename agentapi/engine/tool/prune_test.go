package tool_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

func TestSavedOutputsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"terminal_output_3.txt", "terminal_output_1.txt", "mcp_output_2.txt", "other.txt", "terminal_output_4.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	left := func() []string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for _, step := range []struct {
		limit int64
		want  []string
	}{
		{400, []string{"mcp_output_2.txt", "other.txt", "terminal_output_1.txt", "terminal_output_3.txt", "terminal_output_4.txt"}},
		{250, []string{"mcp_output_2.txt", "other.txt", "terminal_output_4.txt"}},
		{0, []string{"other.txt", "terminal_output_4.txt"}},
	} {
		tool.PruneOutputs(dir, step.limit)
		if diff := cmp.Diff(step.want, left()); diff != "" {
			t.Errorf("limit %d: %s", step.limit, diff)
		}
	}
}
