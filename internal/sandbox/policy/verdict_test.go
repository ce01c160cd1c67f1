package policy_test

import (
	"path"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

func TestOf(t *testing.T) {
	t.Parallel()
	p := policy.Policy{
		Workspace: "/home/u/src/app", Home: "/home/u/.state/x/home", HomeAt: "/home/u", Tmp: "/var/x/tmp",
		Write:   []string{"/data", "/home/u/src/lib"},
		Read:    []string{"/home/u/.cargo/bin", "/home/u/src/app/vendor", "/mnt/books"},
		Hide:    []string{"/home", "/mnt", "/root", "/data/keys", "/etc/shadow", "/home/u/src/app/.git/hooks/private"},
		Protect: []string{"/home/u/src/app/.git/hooks", "/home/u/src/app/.git/config"},
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]policy.Verdict{
		"/":                                     {policy.ReadOnly, policy.BySystem, "/"},
		"/etc/hosts":                            {policy.ReadOnly, policy.BySystem, "/"},
		"/etc/shadow":                           {policy.Hidden, policy.ByHide, "/etc/shadow"},
		"/home":                                 {policy.Hidden, policy.ByHide, "/home"},
		"/home/other/x":                         {policy.Hidden, policy.ByHide, "/home"},
		"/home/u":                               {policy.Own, policy.ByHome, "/home/u"},
		"/home/u/.ssh/id":                       {policy.Own, policy.ByHome, "/home/u"},
		"/home/u/src":                           {policy.Own, policy.ByHome, "/home/u"},
		"/home/u/src/app":                       {policy.Writable, policy.ByWorkspace, "/home/u/src/app"},
		"/home/u/src/application":               {policy.Own, policy.ByHome, "/home/u"},
		"/home/u/src/app/vendor/m":              {policy.ReadOnly, policy.ByRead, "/home/u/src/app/vendor"},
		"/home/u/src/app/.git":                  {policy.Writable, policy.ByWorkspace, "/home/u/src/app"},
		"/home/u/src/app/.git/config":           {policy.Protected, policy.ByProtect, "/home/u/src/app/.git/config"},
		"/home/u/src/app/.git/hooks/x":          {policy.Protected, policy.ByProtect, "/home/u/src/app/.git/hooks"},
		"/home/u/src/app/.git/hooks/private/it": {policy.Hidden, policy.ByHide, "/home/u/src/app/.git/hooks/private"},
		"/home/u/src/lib/a":                     {policy.Writable, policy.ByWrite, "/home/u/src/lib"},
		"/home/u/.cargo/bin/cargo":              {policy.ReadOnly, policy.ByRead, "/home/u/.cargo/bin"},
		"/mnt/books/a":                          {policy.ReadOnly, policy.ByRead, "/mnt/books"},
		"/mnt/stick":                            {policy.Hidden, policy.ByHide, "/mnt"},
		"/data/a":                               {policy.Writable, policy.ByWrite, "/data"},
		"/data/keys/a":                          {policy.Hidden, policy.ByHide, "/data/keys"},
		"/tmp/a":                                {policy.Own, policy.ByTmp, "/tmp"},
		"/dev/shm/a":                            {policy.Own, policy.BySystem, "/dev"},
	}
	for at, want := range tests {
		if got := p.Of(at); got != want {
			t.Errorf("%s: verdict = %v, want %v", at, got, want)
		}
	}
}

// What is protected or of the system is never writable, wherever it is.
func FuzzOf(f *testing.F) {
	f.Add("/home/u/src/app/.git/hooks/x", "/home/u/src/app/.git/hooks")
	f.Add("/usr/bin/x", "/data")
	f.Fuzz(func(t *testing.T, at, other string) {
		at, other = path.Clean("/"+at), path.Clean("/"+other)
		p := policy.Policy{Workspace: "/w", Home: "/s/home", HomeAt: "/home/u", Write: []string{other}, Protect: []string{"/w/.git/hooks"}}
		if p.Check() != nil {
			return
		}
		v := p.Of(at)
		if !subpath.Within(v.At, at) {
			t.Errorf("%s: %v is not above it", at, v)
		}
		if v.State == policy.Writable && (policy.OfSystem(at) || subpath.Within("/w/.git/hooks", at)) {
			t.Errorf("%s: verdict = %v", at, v)
		}
	})
}
