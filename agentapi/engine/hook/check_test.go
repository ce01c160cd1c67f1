//go:build unix

package hook_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// A hook that cannot start is found without running it.
func TestHooksThatCannotStartAreFound(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(home, ".openhands")
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		".openhands/hooks/good":   {"#!/bin/sh\n", 0o755},
		".openhands/hooks/plain":  {"#!/bin/sh\n", 0o644},
		".openhands/hooks/odd":    {"#!/no/such/python -u\n", 0o755},
		".openhands/hooks/env":    {"#!/usr/bin/env none\n", 0o755},
		".openhands/hooks/hidden": {"#!/usr/bin/env mine\n", 0o755},
		".openhands/hooks/bytes":  {"\x7fELF", 0o755},
		"bin/mine":                {"#!/bin/sh\n", 0o755},
		"a b/guard":               {"#!/bin/sh\n", 0o755},
		"rules/list":              {"", 0o644},
	} {
		at := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(file.text), file.mode)); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(at string) bool {
		return !strings.HasPrefix(at, home) || strings.HasPrefix(at, filepath.Join(base, "hooks")) || at == filepath.Join(home, "rules/list")
	}
	find := func(name string) (string, error) {
		if name == "mine" {
			return filepath.Join(home, "bin/mine"), nil
		}
		if name == "none" {
			return "", errors.New("it is not there")
		}
		return "/bin/sh", nil
	}
	for command, want := range map[string]string{
		base + "/hooks/good":                        "",
		"~/.openhands/hooks/good --fast":            "",
		base + "/hooks/bytes":                       "",
		"python3 -c 'import sys; sys.exit(2)'":      "",
		"grep -q x && exit 2; exit 0":               "",
		"if true; then exit 2; fi":                  "",
		"./guard.sh":                                "",
		"grep -f $HOME/rules/list":                  "",
		"[ -e stop ] && exit 2":                     "",
		"$HOME/.openhands/hooks/plain":              "is not executable",
		`"${HOME}"/.openhands/hooks/none`:           "does not exist",
		base + "/hooks":                             "is not a file",
		base + "/hooks/odd x":                       "/no/such/python, does not exist",
		base + "/hooks/env":                         "none, is not in PATH",
		base + "/hooks/hidden":                      "does not show the interpreter of",
		"none --all":                                "there is no program none in PATH",
		"mine":                                      "the sandbox does not show " + home + "/bin/mine",
		"'" + home + "/a b/guard' now":              "the sandbox does not show " + home + "/a b/guard",
		"sh -c 'exec " + home + "/rules'":           "it names " + home + "/rules, which the sandbox does not show",
		"FILE=~/rules; ls ${HOME}/rules >/dev/null": "it names " + home + "/rules, which the sandbox does not show",
	} {
		c := hook.Checker{Home: home, Base: base, Shown: shown, Find: find}
		for _, event := range []string{hookfile.PreToolUse, hookfile.Stop} {
			found := c.Check(hookfile.Config{event: {{Matcher: "*", Hooks: []hookfile.Hook{{Type: hookfile.TypeCommand, Command: command}}}}})
			if want == "" {
				if len(found) > 0 {
					t.Errorf("%s: problems = %+v", command, found)
				}
				continue
			}
			if len(found) != 1 || !strings.Contains(found[0].Why, want) || found[0].Refuses != (event == hookfile.PreToolUse && !strings.HasPrefix(want, "it names ")) || found[0].Command != command {
				t.Errorf("%s: problems = %+v, want %s", command, found, want)
				continue
			}
			if hidden := strings.Contains(want, "show"); hidden != found[0].Hidden || hidden != strings.HasPrefix(found[0].Allow, home+"/") {
				t.Errorf("%s: problems = %+v", command, found[0])
			}
		}
	}
	prompt := "Is it wise?"
	found := hook.Checker{Home: home, Base: base, Shown: shown, Find: find}.Check(hookfile.Config{hookfile.PreToolUse: {{Hooks: []hookfile.Hook{{Type: hookfile.TypePrompt, Prompt: &prompt}}}}})
	if len(found) > 0 {
		t.Errorf("problems of a hook that starts no program = %+v", found)
	}
}
