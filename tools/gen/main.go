// Command gen writes the files that are made from the program itself: the
// completions of shells, the manual pages, the table of settings in
// docs/configuration.md, the settings of clients in docs/clients.md, the errors
// of the commands in docs/faq.md and the list of all messages in
// docs/messages.tsv. They are committed; a test fails when they are stale.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/connect"
	"github.com/ohgw/ohgw/internal/iostream"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write brings the files of the repository at root up to date.
func write(root string) error {
	program, err := sources(root)
	if err != nil {
		return err
	}
	files, err := generate(root, program)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(root, "man", "*.1"))
	if err != nil {
		return fmt.Errorf("list pages: %w", err)
	}
	for _, page := range old { // one of a command that is gone, perhaps
		if err := os.Remove(page); err != nil {
			return fmt.Errorf("remove page: %w", err)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	return nil
}

// generate returns the text of each file, by its name in the repository at root, whose
// source is program.
func generate(root string, program []source) (map[string]string, error) {
	files := manPages(cli.Root(world(io.Discard, io.Discard)))
	for shell, name := range map[string]string{"bash": "ohgw.bash", "zsh": "_ohgw", "fish": "ohgw.fish", "powershell": "ohgw.ps1"} {
		text, err := output("completion", shell)
		if err != nil {
			return nil, err
		}
		files["completions/"+name] = text
	}
	files["docs/messages.tsv"] = messageTable(messages(program))
	pages := map[string]string{
		"docs/configuration.md": settingsTable(), "docs/clients.md": clientSections(), "docs/faq.md": faultList(faults(program)),
	}
	for name, text := range pages {
		page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		if files[name], err = between(string(page), text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// output is what the program prints for a command line.
func output(args ...string) (string, error) {
	var stdout, stderr strings.Builder
	if code := cli.Run(context.Background(), world(&stdout, &stderr), args); code != 0 {
		return "", fmt.Errorf("ohgw %s ended with %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String(), nil
}

// world returns an environment in which nothing is set and no user is present.
func world(stdout, stderr io.Writer) *cli.Env {
	return &cli.Env{
		Stdout: iostream.New(stdout, false, nil),
		Stderr: iostream.New(stderr, false, nil),
		Stdin:  strings.NewReader(""),
		Getenv: func(string) string { return "" },
	}
}

// The lines of a page between which a table is put.
const (
	begin = "<!-- go generate: begin -->\n"
	end   = "<!-- go generate: end -->\n"
)

// between puts text between the marks of a page.
func between(page, text string) (string, error) {
	head, rest, found := strings.Cut(page, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", errors.New("the marks for the table are missing")
	}
	return head + begin + text + end + tail, nil
}

// settingsTable is the table of all settings.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| flag | variable | key | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range config.Fields() {
		flag := ""
		if f.Flag != "" {
			flag = "--" + strings.TrimSpace(f.Flag+" "+f.Arg)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(flag), code(f.Env), code(f.Key), code(f.Default()), meaning(f))
	}
	return b.String()
}

// clientSections writes the settings of all clients, a section each.
func clientSections() string {
	values := connect.Values{BaseURL: "http://127.0.0.1:6449/v1", ContainerURL: "http://host.docker.internal:6449/v1", Model: "openhands", Program: "ohgw"}
	var b strings.Builder
	for _, c := range connect.Clients() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.", c.Name, c.Title)
		if c.Kept() {
			fmt.Fprintf(&b, " With `--write` this is added to `%s`.", c.File)
		}
		if c.Source != "" {
			fmt.Fprintf(&b, " [Its documentation](%s).", c.Source)
		}
		fmt.Fprintf(&b, "\n\n```%s\n%s```\n", c.Form, c.Settings(values))
		for paragraph := range strings.SplitSeq(c.Notes(values), "\n") {
			fmt.Fprintf(&b, "\n%s\n", paragraph)
		}
	}
	return b.String()
}

func meaning(f config.Field) string {
	if len(f.Choices) == 0 {
		return f.Help
	}
	return f.Help + " (" + code(strings.Join(f.Choices, "`, `")) + ")"
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
