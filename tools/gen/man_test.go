package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/cli"
)

func TestEveryCommandHasAPageWithAllSections(t *testing.T) {
	t.Parallel()
	root := cli.Root(world(io.Discard, io.Discard))
	pages := manPages(root)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		page := pages["man/"+pageName(cmd)+".1"]
		sections := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", `"EXIT STATUS"`, "ENVIRONMENT", "FILES", "EXAMPLES", `"SEE ALSO"`}
		at := 0
		for _, section := range sections {
			i := strings.Index(page[at:], "\n.SH "+section+"\n")
			if i < 0 {
				t.Errorf("%s: section %s is missing or in the wrong place", pageName(cmd), section)
				continue
			}
			at += i
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, bold("--"+f.Name)) {
				t.Errorf("%s does not have --%s", pageName(cmd), f.Name)
			}
		})
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				walk(c)
			}
		}
	}
	walk(root)
}

func TestPagesOfCommandsThatAreGoneAreGone(t *testing.T) {
	t.Parallel()
	pages := manPages(cli.Root(world(io.Discard, io.Discard)))
	found, err := filepath.Glob("../../man/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if name := "man/" + filepath.Base(path); pages[name] == "" {
			t.Errorf("%s is the page of no command; run go generate ./...", name)
		}
	}
}

func TestGeneratingRemovesThePageOfACommandThatIsGone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	old := filepath.Join(root, "man", "ohgw-gone.1")
	pages := map[string]string{old: "old"}
	for _, name := range []string{"configuration.md", "faq.md", "clients.md"} {
		pages[filepath.Join(root, "docs", name)] = begin + end
	}
	for name, text := range pages {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", old, err)
	}
	if _, err := os.Stat(filepath.Join(root, "man", "ohgw-serve.1")); err != nil {
		t.Error(err)
	}
}

func TestTextIsNeverARequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"a dot begins a line", ".hidden files", "\\&.hidden files\n"},
		{"a quote begins a line", "'quoted'", "\\(aqquoted\\(aq\n"},
		{"a backslash", `a\b`, "a\\eb\n"},
		{"a minus is one", "agent-server", "agent\\-server\n"},
		{"flags and variables are bold", "(--addr, OHGW_ADDR).", "(\\fB\\-\\-addr\\fR, \\fBOHGW_ADDR\\fR).\n"},
		{"acronyms are not", "an API key", "an API key\n"},
		{"letters beyond ASCII", "grün…", "gr\\[u00FC]n\\[u2026]\n"},
		{"paragraphs", "one\ntwo\n\nthree", "one two\n.PP\nthree\n"},
		{"a list stays as it is", "Like:\n  a  b\n  c  d", "Like:\n.PP\n.RS 4\n.EX\na  b\nc  d\n.EE\n.RE\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r roff
			r.text(tt.text)
			if diff := cmp.Diff(tt.want, r.b.String()); diff != "" {
				t.Errorf("text(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestLinesOfTheSourceAreShort(t *testing.T) {
	t.Parallel()
	var r roff
	r.words(strings.Repeat("word . 'word' ", 40))
	for line := range strings.Lines(r.b.String()) {
		if len(line) > width+len(`\&`)+1 {
			t.Errorf("%d bytes: %q", len(line), line)
		}
		if line[0] == '.' || line[0] == '\'' {
			t.Errorf("a line is a request: %q", line)
		}
	}
}

// TestNamesOfPagesAreShort: mandoc reports a line of more than 80 bytes, and the line
// of NAME cannot be broken.
func TestNamesOfPagesAreShort(t *testing.T) {
	t.Parallel()
	for name, page := range manPages(cli.Root(world(io.Discard, io.Discard))) {
		_, after, _ := strings.Cut(page, "\n.SH NAME\n")
		if line, _, _ := strings.Cut(after, "\n"); len(line) > 80 {
			t.Errorf("%s: the line of NAME has %d bytes; shorten the command's summary to fit into 80:\n%s", name, len(line), line)
		}
	}
}
