package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

func valid() policy.Policy {
	return policy.Policy{
		Workspace: "/home/u/src/app", Home: "/home/u/.local/state/ohgw/sandbox/x/home", HomeAt: "/home/u",
		Write: []string{"/data"}, Protect: []string{"/home/u/src/app/.git/modules/a/config", "/data/x"},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p := valid()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	want := []string{"/home/u/src/app/.git", "/home/u/src/app/.git/modules", "/home/u/src/app/.git/modules/a"}
	if diff := cmp.Diff(want, p.Pins()); diff != "" {
		t.Errorf("pins, -want +got:\n%s", diff)
	}
	tests := []struct {
		want string
		edit func(*policy.Policy)
	}{
		{"workspace is missing", func(p *policy.Policy) { p.Workspace = "" }},
		{"open everything", func(p *policy.Policy) { p.Workspace = "/" }},
		{"open everything", func(p *policy.Policy) { p.Hide = []string{"/"} }},
		{"contains the home directory", func(p *policy.Policy) { p.Workspace = "/home/u" }},
		{"cannot be writable", func(p *policy.Policy) { p.Write = []string{"/home"} }},
		{"cannot be writable", func(p *policy.Policy) { p.Write = []string{"/etc/x"} }},
		{"the box's own files", func(p *policy.Policy) { p.HomeAt, p.Write = "/run/home", []string{"/home/u/.local"} }},
		{"clean path", func(p *policy.Policy) { p.Read = []string{"/a/../b"} }},
		{"clean path", func(p *policy.Policy) { p.Tmp = "tmp" }},
		{"zero byte", func(p *policy.Policy) { p.Read = []string{"/a\x00"} }},
		{"out of range", func(p *policy.Policy) { p.Processes = -1 }},
		{"out of range", func(p *policy.Policy) { p.UID = -1 }},
		{"not in a writable directory", func(p *policy.Policy) { p.Protect = []string{"/usr/x"} }},
		{"cannot be a home directory", func(p *policy.Policy) { p.HomeAt = "/usr" }},
		{"are more than", func(p *policy.Policy) { p.Hide = strings.Split(strings.Repeat("/x ", 5000), " ") }},
	}
	for _, test := range tests {
		p := valid()
		test.edit(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check: %v, want %q", err, test.want)
		}
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	good, err := json.Marshal(valid())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Parse(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "{}", "null", "[]", string(good) + "x", strings.Replace(string(good), `"write"`, `"writes"`, 1)} {
		if p, err := policy.Parse([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, p)
		}
	}
}

// What is accepted never opens the whole system, whatever the text was.
func FuzzParse(f *testing.F) {
	good, err := json.Marshal(valid())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"workspace":"/","home":"/a","home_at":"/b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Parse(data)
		if err != nil {
			return
		}
		for _, tree := range append([]string{p.Workspace, p.Home}, p.Write...) {
			for _, kept := range []string{"/etc", "/usr", "/proc", "/dev/sda", "/run"} {
				if subpath.Within(tree, kept) {
					t.Errorf("%q opens %s", data, kept)
				}
			}
		}
		for _, at := range p.Pins() {
			if _, ok := p.Tree(at); !ok {
				t.Errorf("%q pins %s", data, at)
			}
		}
	})
}
