package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/memory"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
)

// The guide for notes takes the place of what is said about AGENTS.md, wherever that is.
func TestTheGuideForNotes(t *testing.T) {
	t.Parallel()
	base, work := t.TempDir(), t.TempDir()
	write(t, base, "MEMORY.md", "Likes tea.")
	write(t, work, ".openhands/memory/MEMORY.md", "Tests need a database.")
	both, project := &memory.Places{User: base, Workspace: work}, &memory.Places{Workspace: work}
	const guide, agents, user = "You keep notes", "AGENTS.md in the root of a repository", ": what holds in every project"
	for name, tt := range map[string]struct {
		cfg               prompt.Config
		want, not, dyn    []string
		smallWant, smaNot []string
	}{
		"no notes": {prompt.Config{}, []string{agents}, []string{guide}, nil, nil, []string{".openhands/memory"}},
		"both": {
			prompt.Config{Notes: both, Sandboxed: true},
			[]string{guide, base + user, ".openhands/memory in the workspace"},
			[]string{agents},
			[]string{"Likes tea.", "Tests need a database.", "the workspace, $TMPDIR, " + base + " and a home"},
			[]string{".openhands/memory/MEMORY.md in the workspace", filepath.Join(base, "MEMORY.md")},
			nil,
		},
		"those of the workspace": {
			prompt.Config{Notes: project, Sandboxed: true},
			[]string{guide, ".openhands/memory in the workspace"},
			[]string{agents, user, "{user}"},
			[]string{"Tests need a database.", "the workspace, $TMPDIR and a home"},
			[]string{".openhands/memory/MEMORY.md in the workspace"},
			[]string{"every project"},
		},
		"with a persona": {prompt.Config{Notes: both, Persona: "You are a monk."}, []string{"You are a monk.\n\n<MEMORY>\n" + guide}, []string{agents, "<ROLE>"}, nil, nil, nil},
		"with a prompt":  {prompt.Config{Notes: both, Static: "Only this."}, []string{"Only this."}, []string{guide}, []string{"Likes tea."}, nil, []string{"openhands/memory"}},
		"read-only": {
			prompt.Config{Notes: both, ReadOnly: true, Sandboxed: true},
			[]string{agents},
			[]string{guide},
			[]string{"Likes tea.", "Tests need a database.", "They can write to $TMPDIR and a home"},
			nil,
			[]string{"openhands/memory"},
		},
		"beside those of a program": {prompt.Config{Notes: both, Memory: "Sent."}, []string{guide}, nil, []string{"Likes tea."}, nil, []string{"Sent."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Workspace, tt.cfg.Now = work, now
			static, dynamic := prompt.New(tt.cfg).System(nil, "openai/x")
			small, smallDynamic := prompt.New(tt.cfg).Small(nil, "openai/x")
			has := func(text string, want, not []string) {
				t.Helper()
				for _, w := range want {
					if !strings.Contains(text, w) {
						t.Errorf("%q is not in %s", w, text)
					}
				}
				for _, w := range not {
					if strings.Contains(text, w) {
						t.Errorf("%q is in %s", w, text)
					}
				}
			}
			has(static, tt.want, tt.not)
			has(dynamic, tt.dyn, nil)
			has(small, tt.smallWant, tt.smaNot)
			has(smallDynamic, tt.dyn, nil)
			if strings.Contains(static, "{") {
				t.Errorf("something is not filled in: %s", static)
			}
		})
	}
}

// A model with a small context is shown the newest notes.
func TestASmallPromptHasTheNewestNotes(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	write(t, work, ".openhands/memory/MEMORY.md", strings.Repeat("An old fact of this project.\n", 1000)+"The newest fact.\n")
	p := prompt.New(prompt.Config{Workspace: work, Now: now, Notes: &memory.Places{Workspace: work}})
	_, dynamic := p.Small(nil, "openai/x")
	if _, full := p.System(nil, "openai/x"); !strings.Contains(dynamic, "The newest fact.") || len(dynamic) > 2000 || len(full) < 6000 || len(full) > 7000 {
		t.Errorf("the small prompt has %d bytes, the full one %d: %s", len(dynamic), len(full), dynamic)
	}
}
