package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/shellword"
)

// pathJSON is what can be said of a path.
type pathJSON struct {
	Kind   string       `json:"kind"`
	Path   string       `json:"path"`
	Exists bool         `json:"exists"`
	State  policy.State `json:"state"`
	Rule   policy.Rule  `json:"rule"`
	At     string       `json:"at"`
	Why    string       `json:"why"`
	Allow  []string     `json:"allow"`

	near string // what the path may have been meant to be
}

func (p pathJSON) table() *kit.Table {
	var t kit.Table
	t.Add("path", p.Path)
	if !p.Exists {
		exists := "no"
		if p.near != "" {
			exists += "; " + p.near
		}
		t.Add("exists", exists)
	}
	t.Add("state", string(p.State))
	t.Add("why", p.Why)
	addCommands(&t, p.Allow)
	return &t
}

// explainPath says what agents may do with a path.
func (r *rules) explainPath(ctx context.Context, o *explainOptions) (explanation, error) {
	at, err := o.Absolute(o.What)
	if err != nil {
		return nil, err
	}
	p, err := r.files(ctx, o.App)
	if err != nil {
		return nil, err
	}
	at = realPath(at)
	v := p.Of(at)
	e := pathJSON{Kind: "path", Path: at, State: v.State, Rule: v.Rule, At: v.At, Why: r.why(v), Allow: []string{}}
	if _, err := os.Lstat(at); err == nil {
		e.Exists = true
	}
	refused := r.commands(&e)
	if len(e.Allow) == 0 && refused != nil && e.Exists {
		e.Why += "; it cannot be allowed: " + refused.Why
	} else if refused != nil && !e.Exists {
		e.near = refused.Hint
	}
	return e, nil
}

// commands adds the commands that would allow more, or says why there is none.
func (r *rules) commands(e *pathJSON) (refused *grants.InvalidError) {
	var wanted []sandbox.Access
	switch e.State {
	case policy.Hidden, policy.Own:
		wanted = []sandbox.Access{sandbox.Read, sandbox.Write}
	case policy.ReadOnly:
		wanted = []sandbox.Access{sandbox.Write}
	case policy.Writable, policy.Protected:
	}
	for _, access := range wanted {
		_, err := r.store.Canonical(grants.Grant{Access: access, Target: e.Path})
		if invalid, ok := errors.AsType[*grants.InvalidError](err); ok {
			refused = invalid
		} else if err == nil {
			e.Allow = append(e.Allow, "ohgw sandbox allow "+string(access)+" "+shellword.Of(e.Path))
		}
	}
	return refused
}

// why explains the rule that decides, in words.
func (r *rules) why(v policy.Verdict) string {
	switch v.Rule {
	case policy.ByWorkspace:
		return "it is in the workspace " + v.At
	case policy.ByHome:
		return "the sandbox has its own home directory at " + v.At + ", and yours is not shown"
	case policy.ByTmp:
		return "the sandbox has its own " + v.At
	case policy.ByWrite:
		if v.At == r.notes {
			return "agents keep notes there (agent_settings.agent_context.load_memory)"
		}
		return r.whose(v.At, sandbox.Write, r.settings.Write, "git needs "+v.At+" for the workspace")
	case policy.ByRead:
		return r.whose(v.At, sandbox.Read, r.settings.Read, v.At+" has programs")
	case policy.ByHide:
		if slices.Contains(r.settings.Hide, v.At) {
			return "the setting sandbox.files.hide has " + v.At
		}
		return v.At + " is hidden in every sandbox"
	case policy.ByProtect:
		if slices.Contains(r.settings.Protect, v.At) {
			return "the setting sandbox.files.protect has " + v.At
		}
		return v.At + " decides which programs git runs outside of the sandbox"
	case policy.BySystem:
		if v.State == policy.Own {
			return "the sandbox has its own " + v.At
		}
	}
	return "what is neither shown as writable nor hidden is read-only"
}

// whose says where a tree of the policy comes from.
func (r *rules) whose(at string, access sandbox.Access, setting []string, other string) string {
	if g, ok := r.grantOf(access, at); ok {
		return "a grant has " + at + " (" + g.Scope() + ")"
	}
	if slices.Contains(setting, at) {
		return "the setting sandbox.files." + string(access) + " has " + at
	}
	return other
}

// realPath is a path without symbolic links, as far as it exists.
func realPath(at string) string {
	at = filepath.Clean(at)
	if real, err := filepath.EvalSymlinks(at); err == nil {
		return real
	}
	dir := filepath.Dir(at)
	if dir == at {
		return at
	}
	return filepath.Join(realPath(dir), filepath.Base(at))
}
