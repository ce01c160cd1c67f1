package patch_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/patch"
)

func one(t *testing.T, body string) patch.Change {
	t.Helper()
	changes, err := patch.Parse("*** Begin Patch\n" + body + "\n*** End Patch\n")
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	return changes[0]
}

func TestUpdatesFindTheirLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch, before, after string
		fuzz                 int
	}{
		"exact":                 {"@@\n a\n-b\n+B\n c", "a\nb\nc\n", "a\nB\nc\n", 0},
		"without the first @@":  {"-b\n+B", "a\nb\nc\n", "a\nB\nc\n", 0},
		"blanks at the end":     {" a\n-b\n+B", "a  \nb\t\nc\n", "a  \nB\nc\n", 1},
		"blanks at both ends":   {"-b\n+B", "a\n\tb\nc\n", "a\nB\nc\n", 100},
		"two parts":             {"@@\n-a\n+A\n@@\n-c\n+C", "a\nb\nc\nd", "A\nb\nC\nd", 0},
		"two changes in a part": {" a\n-b\n c\n+x\n d", "a\nb\nc\nd\n", "a\nc\nx\nd\n", 0},
		"an anchor":             {"@@ func two\n-x\n+y", "func one\nx\nfunc two\nx\n", "func one\nx\nfunc two\ny\n", 0},
		"an anchor with blanks": {"@@ func two\n-x\n+y", "func one\nx\n  func two\nx\n", "func one\nx\n  func two\ny\n", 1},
		"at the end":            {" x\n+y\n*** End of File", "x\nz\nx\n", "x\nz\nx\ny\n", 0},
		"not at the end":        {"-x\n+y\n*** End of File", "x\nz\n", "y\nz\n", 10000},
		"appended":              {"+y\n*** End of File", "x\n", "x\ny\n", 0},
		"CRLF":                  {" a\n-b\n+B\n+C", "a\r\nb\r\nc\r\n", "a\r\nB\r\nC\r\nc\r\n", 0},
		"an empty line":         {" a\n\n-b\n+B", "a\n\nb\n", "a\n\nB\n", 0},
		"no end of line":        {"-b\n+B", "a\nb", "a\nB", 0},
		"an empty file":         {"+a\n+b", "", "a\nb\n", 0},
	} {
		got, fuzz, err := one(t, "*** Update File: f\n"+c.patch).Apply(c.before)
		if got != c.after || fuzz != c.fuzz || err != nil {
			t.Errorf("%s: Apply = %q, fuzz %d, error %v", name, got, fuzz, err)
		}
	}
}

func TestAddedFilesEndWithALineEnd(t *testing.T) {
	t.Parallel()
	if c := one(t, "*** Add File: a/b\n+x\n+\n+y"); c.Kind != patch.Add || c.Path != "a/b" || c.Content != "x\n\ny\n" {
		t.Errorf("change = %+v", c)
	}
	if c := one(t, "*** Update File: a\n*** Move to: b"); c.MoveTo != "b" {
		t.Errorf("change = %+v", c)
	}
}

func TestUpdatesThatDoNotApply(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"-x\n+y", "@@\n-a\n+b\n@@\n-a\n+c", " a\n b\n+c"} {
		if got, _, err := one(t, "*** Update File: f\n"+body).Apply("a\n"); err == nil || !strings.Contains(err.Error(), "does not have these lines") {
			t.Errorf("%q: Apply = %q, error %v", body, got, err)
		}
	}
}

func TestPatchesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "begins with the line",
		"*** Begin Patch":                       "begins with the line",
		"*** Begin Patch\n*** Update File: a":   "begins with the line",
		"*** Begin Patch\n*** End Patch":        "changes no file",
		"*** Begin Patch\nhello\n*** End Patch": "not the heading of a file",
		"*** Begin Patch\n*** Add File: a\nx\n*** End Patch":                      "begins with +",
		"*** Begin Patch\n*** Update File: a\nx\n*** End Patch":                   "begins with a blank",
		"*** Begin Patch\n*** Update File: a\n*** End Patch":                      "no change for a",
		"*** Begin Patch\n*** Update File: a\n@@\n*** End Patch":                  "no lines in this part",
		"*** Begin Patch\n*** Delete File: a\n*** Delete File: a\n*** End Patch":  "changed twice",
		"*** Begin Patch\n*** Update File: a\n-x\n*** Move to: b\n*** End Patch":  "begins with a blank",
		"*** Begin Patch\n*** Update File: a\n*** End of File\n+x\n*** End Patch": "a line with @@",
	} {
		if got, err := patch.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: Parse = %v, error %v", text, got, err)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: f\n@@ a\n a\n-b\n+B\n*** End of File\n*** End Patch", "a\nb\n")
	f.Fuzz(func(_ *testing.T, text, file string) {
		changes, err := patch.Parse(text)
		if err != nil {
			return
		}
		for _, c := range changes {
			_, _, _ = c.Apply(file)
		}
	})
}
