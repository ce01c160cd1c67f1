package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

// testApp is an app without a world.
func testApp() *kit.App {
	none := iostream.New(&strings.Builder{}, false, nil)
	return &kit.App{Env: &kit.Env{Stdout: none, Stderr: none, Getenv: func(string) string { return "" }}}
}

// commands are all commands that do something, by their names.
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	found := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.HasSubCommands() {
			for _, sub := range c.Commands() {
				walk(sub)
			}
			return
		}
		if c.Runnable() {
			found[strings.TrimPrefix(c.CommandPath(), "ohgw ")] = c
		}
	}
	root := newRoot(testApp())
	root.InitDefaultHelpCmd()
	walk(root)
	return found
}

// The commands of the program are known where texts are wrapped.
func TestCommandsAreNotBroken(t *testing.T) {
	t.Parallel()
	for name := range commands(t) {
		if lines := kit.Wrap("ohgw "+name+" --json", 20); len(lines) != 1 {
			t.Errorf("%q is broken: %q", name, lines)
		}
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	for name, c := range commands(t) {
		if len(c.Short) == 0 || len(c.Short) >= 60 || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: Short is %q", name, c.Short)
		}
		if !strings.Contains(c.Long, "\nExit codes:\n  0 ") || !strings.Contains(c.Long, "  2   ") {
			t.Errorf("%s: Long does not say with what it ends", name)
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimSpace(line)) > 80 {
				t.Errorf("%s: Long has a line of more than 80 characters: %s", name, line)
			}
		}
		if n := strings.Count(c.Example, "ohgw "); n < 2 {
			t.Errorf("%s has %d examples, want two", name, n)
		}
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("%s: the shell would complete file names", name)
		}
		if c.Args == nil && name != "help" {
			t.Errorf("%s takes any arguments", name)
		}
	}
}

func TestExamplesAreCommandLines(t *testing.T) {
	t.Parallel()
	for name, c := range commands(t) {
		for line := range strings.Lines(c.Example) {
			for _, args := range typed(line) {
				root := newRoot(testApp())
				root.InitDefaultHelpCmd()
				found, rest, err := root.Find(args)
				if err == nil {
					err = found.ParseFlags(rest)
				}
				if err == nil {
					err = found.ValidateArgs(found.Flags().Args())
				}
				if err != nil || found == root {
					t.Errorf("%s: example %q: command %q, %v", name, strings.TrimSpace(line), found.CommandPath(), err)
				}
			}
		}
	}
}

// words are the words of a shell command, to its end.
func words(command string) []string {
	var all []string
	for {
		command = strings.TrimLeft(command, " ")
		if quoted, ok := strings.CutPrefix(command, `"`); ok {
			word, rest, _ := strings.Cut(quoted, `"`)
			all, command = append(all, word), rest
			continue
		}
		end := strings.IndexAny(command, " |<>)\n")
		if end <= 0 {
			if end < 0 && command != "" {
				all = append(all, command)
			}
			return all
		}
		all, command = append(all, command[:end]), command[end:]
	}
}

// typed are the arguments of each ohgw in a line of shell.
func typed(line string) [][]string {
	var all [][]string
	for _, part := range strings.Split(line, "ohgw ")[1:] {
		all = append(all, words(part))
	}
	return all
}

func TestEveryCommandHasAScript(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var scripts strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	for name := range commands(t) {
		if !strings.Contains(scripts.String(), "ohgw "+name) {
			t.Errorf("no script runs ohgw %s", name)
		}
	}
}

// The exit codes are part of the interface: scripts depend on them.
func TestExitCodesStay(t *testing.T) {
	t.Parallel()
	want := map[fault.Code]string{
		0: "success", 1: "failed", 2: "wrong", 3: "some", 4: "no", 5: "the", 6: "it", 7: "refused", 8: "no", 9: "the", 10: "the", 11: "a", 130: "interrupted",
	}
	got := map[fault.Code]string{}
	for _, line := range fault.ExitCodes() {
		got[line.Code], _, _ = strings.Cut(strings.NewReplacer(";", " ", ":", " ").Replace(line.Meaning), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	named := []fault.Code{fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable, fault.Conflict, fault.Refused, fault.Configuration, fault.Provider, fault.Agent, fault.Budget, fault.Interrupted}
	if diff := cmp.Diff([]fault.Code{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130}, named); diff != "" {
		t.Errorf("the constants, -want +got:\n%s", diff)
	}
}

// The flags are part of the interface, too.
func TestFlagsStay(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"completion": "", "config path": "", "config show": "", "connect": "dry-run file model undo url write", "service install": "no-start on-demand print", "service status": "", "service uninstall": "", "doctor": "bundle key-store live url", "help": "", "models": "url", "pool list": "url", "pool drain": "", "pool up": "", "ps": "kill url", "stop": "now", "logs": "follow lines", "status": "url", "version": "",
		"acp":  "demo model sandbox sandbox-net sandbox-read sandbox-require sandbox-socket sandbox-write url",
		"chat": "backend browser cloud continue conversation demo headed image list model mouse plain print sandbox sandbox-net sandbox-read sandbox-require sandbox-socket sandbox-write stream system theme timeout url vim workspace yes",
		"serve": "addr agent-server allow-host allow-origin backend browser chat-field chat-header cloud confirm demo detach drain headed history housekeeping idle-time image-urls key-store log-format max-body max-idle max-idle-memory max-images max-message " +
			"max-messages max-queue max-runs metrics-open native no-auth one-shot-ttl progress prompt-size repetition responses-ttl run-timeout sandbox sandbox-net sandbox-read sandbox-require sandbox-socket sandbox-write state stream-text titles workspace workspace-per",
		"keys import": "remove-from-profile replace", "keys list": "", "keys remove": "field yes", "keys set": "field file replace", "keys status": "",
		"profiles add": "base-url from-file from-settings key-from model no-check provider replace use", "profiles check": "live timeout", "profiles list": "", "profiles remove": "yes", "profiles rename": "", "profiles show": "", "profiles use": "copy-key",
		"sandbox allow": "conversation workspace", "sandbox diff": "", "sandbox explain": "", "sandbox grants": "", "sandbox reset": "yes", "sandbox revoke": "all conversation workspace",
		"sandbox run": "network", "sandbox status": "", "sandbox test": "", "state check": "", "state migrate": "", "state status": "",
		"profiles migrate": "as-openhands base-url check dry-run force restore strict to",
		"cloud new":        "branch follow git-provider model profile repo title wait", "cloud send": "follow wait wake", "cloud wake": "wait", "cloud tail": "follow last",
		"cloud changes": "", "cloud download files": "", "cloud download changes": "", "cloud download workspace": "", "cloud trajectory": "force format output", "cloud browse": "",
		"conversations list": "all limit repo status", "conversations show": "", "conversations events": "follow kind last source", "conversations files": "",
		"conversations export": "force", "conversations import": "workspace", "conversations remove": "yes",
		"server add": "default key-stdin kind no-check replace url", "server import": "replace", "server list": "", "server remove": "yes", "server test": "", "server use": "",
		"login": "key-store no-browser url", "logout": "key-store",
		"agents list": "", "agents show": "", "agents check": "", "agents new": "description lead llm members mode project tools",
		"tokens create": "all-conversations budget chat-by confirm expires model native tokens workspace", "tokens list": "", "tokens revoke": "yes", "tokens show": "",
	}
	got := map[string]string{}
	for name, c := range commands(t) {
		var flags []string
		for _, word := range strings.Fields(c.LocalNonPersistentFlags().FlagUsages()) {
			if flag, ok := strings.CutPrefix(word, "--"); ok && flag != "help" {
				flags = append(flags, flag)
			}
		}
		got[name] = strings.Join(flags, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A command that the other one of the two nouns about conversations has is named there.
func TestCommandsOfTheOtherNounAreNamed(t *testing.T) {
	t.Parallel()
	all := commands(t)
	named := 0
	for name := range all {
		noun, verb, _ := strings.Cut(name, " ")
		verb, _, _ = strings.Cut(verb, " ")
		other, hint := "conversations", "use ohgw cloud "+verb
		switch {
		case noun == "conversations" && slices.Contains([]string{"list", "show", "events", "remove"}, verb):
			other, hint = "cloud", "use ohgw conversations "+verb+" --server NAME"
		case noun != "cloud":
			continue
		}
		named++
		root := newRoot(testApp())
		root.SetArgs([]string{other, verb, "--odd"})
		f, ok := errors.AsType[*fault.Error](root.Execute())
		if !ok || f.Code != fault.Usage || f.Hint != hint {
			t.Errorf("ohgw %s %s: %+v, want the hint %q", other, verb, f, hint)
		}
	}
	if named < 12 {
		t.Errorf("%d commands were typed", named)
	}
}
