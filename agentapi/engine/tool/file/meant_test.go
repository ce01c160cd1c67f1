package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// A model types a path as it reads: with a plain blank, and composed.
func TestAPathThatReadsLikeAnotherIsOffered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ there, typed, escaped string }{
		"a narrow blank": {"Shot 9.41\u202fAM.txt", "Shot 9.41 AM.txt", `9.41\u202fAM`},
		"decomposed":     {"re\u0301sume\u0301.txt", "résumé.txt", `re\u0301sume\u0301`},
		"a directory":    {"my\u00a0notes/a.txt", "my notes/a.txt", `my\u00a0notes`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			there, typed := filepath.Join(dir, test.there), filepath.Join(dir, test.typed)
			if err := os.MkdirAll(filepath.Dir(there), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, there, "old\n")
			e := editor(t, file.Config{Dir: dir, Confined: true})
			for _, call := range []args{
				{"command": "view", "path": typed},
				{"command": "str_replace", "path": typed, "old_str": "old", "new_str": "new"},
				{"command": "insert", "path": typed, "insert_line": 0, "new_str": "new"},
			} {
				got := run(t, e, call)
				if !got.IsError || !strings.Contains(got.Text, "Did you mean "+there+"?") || !strings.Contains(got.Text, test.escaped) {
					t.Errorf("%s: result = %+v", call["command"], got)
				}
			}
			p, err := file.NewPatcher(dir, true, sandbox.Unconfined().(sandbox.Streams))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			call, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n*** Update File: " + test.typed + "\n-old\n+new\n*** End Patch"})
			if err != nil {
				t.Fatal(err)
			}
			result, err := p.Run(t.Context(), tool.Call{Args: call})
			if err != nil || !result.IsError || !strings.Contains(result.Content[0].Text, "Did you mean "+there+"?") {
				t.Errorf("result = %+v, error %v", result, err)
			}
		})
	}
}
