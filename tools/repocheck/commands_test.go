package repocheck_test

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/iostream"
)

// TestCommandsOfTheReadmeExist asks the program itself about every command and
// flag that the documents tell people to type.
func TestCommandsOfTheReadmeExist(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	for _, line := range typed(t, documents(t)...) {
		words, flags := parts(line)
		command := strings.Join(words, " ")
		if _, known := help[command]; !known {
			out := printed(t, append(words, "--help"))
			help[command] = out
			// cobra shows the help of the longest command it knows.
			if usage := "ohgw " + command; !strings.Contains(out, usage) {
				t.Errorf("the documents say %q, which is no command", usage)
			}
		}
		for _, flag := range flags {
			if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).MatchString(help[command]) {
				t.Errorf("the documents say %q, and its help does not know %s", "ohgw "+strings.TrimSpace(command), flag)
			}
		}
	}
	if len(help) < 5 {
		t.Errorf("found only %d commands in the documents", len(help))
	}
}

// printed is what the program prints for a command line that succeeds. It runs
// in this process: building it takes minutes for a user with an empty cache.
func printed(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	stream := iostream.New(&out, false, nil)
	env := &cli.Env{Stdout: stream, Stderr: stream, Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }}
	if code := cli.Run(t.Context(), env, args); code != 0 {
		t.Errorf("ohgw %s ended with %d:\n%s", strings.Join(args, " "), code, &out)
	}
	return out.String()
}

// documents are the pages that people type from. Records of decisions may speak
// of what is not there.
func documents(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, name := range files(t) {
		if path.Ext(name) == ".md" && slices.Contains([]string{".", "docs"}, path.Dir(name)) && name != "CHANGELOG.md" {
			pages = append(pages, name)
		}
	}
	return pages
}

// typed are the lines of the shell blocks, and the code in running text, that
// run ohgw; without what is before it.
func typed(t *testing.T, names ...string) []string {
	t.Helper()
	var lines []string
	for _, name := range names {
		text := read(t, name)
		for _, m := range regexp.MustCompile("(?ms)^```(?:sh|console)\n(.*?)^```").FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[1]) {
				if m := regexp.MustCompile(`(?:^|[\s(])(?:\./cmd/|)ohgw\s+([^|)#]*)`).FindStringSubmatch(line); m != nil {
					lines = append(lines, m[1])
				}
			}
		}
		for _, m := range regexp.MustCompile("`(?:go run \\./cmd/)?ohgw ([^`]+)`").FindAllStringSubmatch(text, -1) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// parts splits a command line into the names of the command and its flags. A
// name is lower case; NAME, <file> and everything after a flag are arguments.
func parts(line string) (words, flags []string) {
	named := true
	for _, word := range strings.Fields(line) {
		switch {
		case strings.HasPrefix(word, "--"):
			flag, _, _ := strings.Cut(word, "=")
			flags = append(flags, flag)
			named = false
		case strings.HasPrefix(word, "-"):
			named = false
		case named && len(words) < 2 && regexp.MustCompile(`^[a-z]+$`).MatchString(word):
			words = append(words, word)
		}
	}
	return words, flags
}
