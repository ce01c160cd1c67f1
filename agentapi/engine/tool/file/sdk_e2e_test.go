//go:build e2e && unix

package file_test

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// sdkEditor views each file of texts.json in the real editor and inserts a line.
const sdkEditor = `
import json, os
from openhands.tools.file_editor.editor import FileEditor
editor = FileEditor(workspace_root=os.getcwd())
out = {}
for name in json.load(open("texts.json")):
    path = os.path.join(os.getcwd(), name)
    one = {}
    try:
        one["shown"] = editor(command="view", path=path).text.split("\n", 1)[1]
        editor(command="insert", path=path, insert_line=0, new_str="Z")
    except Exception as e:
        one["error"] = type(e).__name__
    one["after"] = open(path, "rb").read().hex()
    out[name] = one
print("RESULT" + json.dumps(out))
`

// What is left out here differs on purpose, and docs/compatibility.md has it.
func TestTheSDKReadsAndWritesTheSameText(t *testing.T) {
	texts := map[string]string{
		"form-feed": "a\fb\nc\n", "vertical": "a\vb\nc\n", "u2028": "a\u2028b\nc\n", "nel": "a\u0085b\nc\n", "fs": "the first line\x1cof\nc\n",
		"no-end": "a\nb", "empty": "", "only-end": "\n", "two-ends": "a\n\n", "bom": "\xef\xbb\xbfa\nb\n",
		"russian": in1251("Привет, мир\nкак дела\n"), "code": in1251("# Загружает файл\nx = 1\nprint('готово')\n"),
		"among": in1251("Привет world, как дела\n"), "two-letters": "\xe4\xe0\n",
		"latin": "caf\xe9\nna\xefve\n", "german": "Gr\xf6\xdfe \xfcber alles: \xc4pfel\n", "quotes": "\x93quoted\x94 \x96 dash \x80\n",
		"colours":       "\x1b[1mbold\x1b[0m\n",
		"latin-control": "caf\xe9 \x01 abcdefghijklmnopqrstuvwxyz\n", "controls": "\x01\x02\x03\x04abc\n",
	}
	dir := t.TempDir()
	var names []string
	for name, text := range texts {
		names = append(names, name)
		write(t, filepath.Join(dir, name), text)
	}
	list, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "texts.json"), string(list))
	theirs := map[string]struct{ Shown, Error, After string }{}
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, sdkEditor)), &theirs); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		path := filepath.Join(dir, name)
		write(t, path, text)
		e := editor(t, file.Config{Dir: dir})
		view := run(t, e, args{"command": "view", "path": path})
		insert := run(t, e, args{"command": "insert", "path": path, "insert_line": 0, "new_str": "Z"})
		sdk := theirs[name]
		if view.IsError != (sdk.Error != "") || insert.IsError != view.IsError {
			t.Errorf("%s: result = %+v, the SDK has %q", name, view, sdk.Error)
			continue
		}
		if _, shown, _ := strings.Cut(view.Text, "\n"); !view.IsError && shown != sdk.Shown {
			t.Errorf("%s: shown are %q, the SDK shows %q", name, shown, sdk.Shown)
		}
		if after := hexOf(content(t, path)); after != sdk.After {
			t.Errorf("%s: the file is %s, the SDK's %s", name, after, sdk.After)
		}
	}
}

func hexOf(s string) string { return hex.EncodeToString([]byte(s)) }
