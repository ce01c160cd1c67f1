package seatbelt

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ann is a user with everything that a policy has.
func ann() *Profile {
	const home, repo = "/Users/Ann", "/Users/Ann/src/my \"app\""
	return &Profile{
		Policy: &policy.Policy{
			Workspace: repo, Home: home + "/Library/Application Support/ohgw/sandbox/0123/home", HomeAt: home,
			Tmp:   "/private/var/folders/ab/T/ohgw-1",
			Write: []string{home + "/data"}, Read: []string{home + "/.cargo/bin", repo + "/vendor"},
			Hide:    []string{home + "/Library/Application Support/ohgw", repo + "/.env", "/opt/secret"},
			Protect: []string{repo + "/.git/config", repo + "/.git/hooks", repo + "/.git/modules/lib/hooks"},
		},
		Git:   []string{repo + "/.git", repo + "/.git/modules/lib"},
		Proxy: 50123, Reserved: []uint16{6449, 8000}, Sought: []uint16{8000, 11434}, Terminal: "/dev/ttys004",
	}
}

func text(t testing.TB, p *Profile) string {
	t.Helper()
	got, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	least := &Profile{Policy: &policy.Policy{Workspace: "/Users/Ann/src", Home: "/Users/Ann/own", HomeAt: "/Users/Ann", Tmp: "/private/tmp/1"}, Strict: true}
	for name, p := range map[string]*Profile{"ann.sb": ann(), "least.sb": least} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(text(t, p)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text(t, p)); diff != "" {
			t.Errorf("%s differs (-want +got); go test -update writes it:\n%s", file, diff)
		}
	}
}

// TestWhatAProfileAllows asks the profile as the system does: the last rule that
// names the operation and the path decides.
func TestWhatAProfileAllows(t *testing.T) {
	t.Parallel()
	const ws, own, tmp = "/Users/Ann/src/my \"app\"", "/Users/Ann/Library/Application Support/ohgw/sandbox/0123/home", "/private/var/folders/ab/T/ohgw-1"
	rules := parse(t, text(t, ann()))
	for _, tt := range []struct {
		want       bool
		operations string
		paths      []string
	}{
		{true, "file-read-data file-write-create file-write-data", []string{ws + "/a.go", own + "/.config/x", tmp + "/x", "/Users/Ann/data/x", ws + "/.git/index.lock"}},
		{true, "file-write-create file-write-unlink", []string{ws + "/a", ws + "/.git/HEAD.lock", ws + "/.git/worktrees/new/commondir", ws + "/sub/.git/config", ws + "/.git/refs/heads/für"}},
		{true, "file-read-data", []string{"/usr/bin/git", "/opt/homebrew/bin/go", "/Users/Ann/.cargo/bin/cargo", ws + "/vendor/x", "/System/Library/x", "/System/Volumes/Preboot/Cryptexes/OS/x", "/dev/ttys004", ws + "/.git/config"}},
		{true, "file-read-metadata", []string{"/Users", "/Users/Ann", "/Users/Ann/src", "/Users/Ann/Library"}},
		{false, "file-read-data file-write-data", []string{
			"/Users/Ann/.ssh/id_ed25519", "/Users/Ann", "/Users", "/Users/Ann/Library/Keychains/login.keychain-db", "/Users/Ann/Library/Application Support/ohgw/tokens.json",
			"/Users/Ann/src/other/x", "/Users/Bob/x", "/Library/Keychains/System.keychain", "/System/Volumes/Data/Users/Ann/.ssh/id_ed25519", "/Volumes/disk/x",
			ws + "/.env", "/opt/secret/key", "/private/tmp/x", "/private/var/folders/ab/T/other", "/private/var/run/docker.sock", "/dev/ttys005", "/dev/disk0", "/private/etc/master.passwd",
		}},
		{false, "file-write-data file-write-create file-write-unlink file-write-mode", []string{
			"/usr/bin/x", "/private/etc/hosts", "/Users/Ann/.zshrc", "/Users/Ann/.cargo/bin/cargo", ws + "/vendor/x", "/opt/homebrew/bin/go",
			ws + "/.git/config", ws + "/.git/hooks", ws + "/.git/hooks/pre-commit", ws + "/.git/commondir", ws + "/.git/config.worktree",
			ws + "/.git/COMMONDIR", ws + "/.git/Hooks/x", ws + "/.git/confi\u0261", ws + "/.git/config.wor\u212Atree", ws + "/.git/info/attributes", ws + "/.git/INFO/Attributes",
			ws + "/.git/info/attribute\u017f", ws + "/.git/modules/lib/commondir", ws + "/.git/modules/lib/hooks/x",
		}},
		{false, "file-write-unlink", []string{ws, own, tmp, "/Users/Ann/data", ws + "/.git", ws + "/.git/modules", ws + "/.git/modules/lib"}},
	} {
		for operation := range strings.FieldsSeq(tt.operations) {
			for _, at := range tt.paths {
				if got := decide(t, rules, operation, at); got != tt.want {
					t.Errorf("%s %s: allowed is %t, want %t", operation, at, got, tt.want)
				}
			}
		}
	}
}

func TestStrictHasNoServiceForCertificates(t *testing.T) {
	t.Parallel()
	p := ann()
	open := text(t, p)
	p.Strict = true
	if strict := text(t, p); !strings.Contains(open, "trustd") || strings.Contains(strict, "trustd") {
		t.Error("the service for certificates is not what strict decides")
	}
}

// What the profile is for: none of these services is in it, other than in a comment.
func TestServicesThatWouldLetAProgramOut(t *testing.T) {
	t.Parallel()
	for _, rule := range parse(t, text(t, ann())) {
		all := flatten(rule)
		for _, service := range []string{"SecurityServer", "securityd", "appleevent", "lsd", "launchservices", "coreservices", "pasteboard", "windowserver", "tccd", "docker", "mDNSResponder"} {
			if rule.list[0].atom == "allow" && strings.Contains(strings.ToLower(all), strings.ToLower(service)) {
				t.Errorf("%s is allowed: %s", service, all)
			}
		}
	}
}

func TestPathsThatHaveNoProfile(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"/Users/Ann/a\nb", "/Users/Ann/\x00", "/Users/Ann/\xff", "/Users/Ann/\x7f"} {
		p := ann()
		p.Policy.Read = []string{at}
		if got, err := p.Text(); err == nil {
			t.Errorf("%q has a profile: %s", at, got)
		}
	}
}

// FuzzQuote: no path ends its string, or changes on the way.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"/a", `/a"b`, `/a\`, `/a\"(allow default)`, "/a\nb", "/ü/\u202e", `/(.*)|$`, "/a;b", "/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, at string) {
		quoted, err := quote(at)
		if err != nil {
			if quoted != `""` {
				t.Errorf("%q is refused, and is %s", at, quoted)
			}
			return
		}
		in := &reader{t: t, text: quoted + ")"}
		if got := in.next(); got.text != at || !got.isText || in.text != ")" {
			t.Errorf("%q is read as %q, and %q is left", at, got.text, in.text)
		}
		whole, err := regexp.Compile("^" + regex(at) + "$")
		if err != nil || !whole.MatchString(at) || whole.MatchString(at+"x") {
			t.Errorf("%q as a regular expression: %v", at, err)
		}
	})
}

// node is a part of a profile.
type node struct {
	atom   string
	text   string // of a string, or a regular expression
	isText bool
	list   []node
}

func flatten(n node) string {
	parts := []string{n.atom + n.text}
	for _, inner := range n.list {
		parts = append(parts, flatten(inner))
	}
	return strings.Join(parts, " ")
}

// parse reads the rules of a profile.
func parse(t testing.TB, profile string) []node {
	t.Helper()
	in := &reader{t: t, text: profile}
	var rules []node
	for in.space(); in.text != ""; in.space() {
		rule := in.next()
		if len(rule.list) < 2 || !slices.Contains([]string{"version", "allow", "deny"}, rule.list[0].atom) {
			t.Fatalf("not a rule: %+v", rule)
		}
		rules = append(rules, rule)
	}
	if len(rules) < 3 || rules[1].list[0].atom != "deny" || rules[1].list[1].atom != "default" {
		t.Fatal("a profile has to begin with what it refuses")
	}
	return rules[2:]
}

// reader reads the language of profiles, a Scheme.
type reader struct {
	t    testing.TB
	text string
}

func (r *reader) space() {
	for r.text != "" {
		switch {
		case strings.ContainsAny(r.text[:1], " \t\n"):
			r.text = r.text[1:]
		case r.text[0] == ';':
			_, r.text, _ = strings.Cut(r.text, "\n")
		default:
			return
		}
	}
}

func (r *reader) next() node {
	r.t.Helper()
	r.space()
	switch {
	case r.text == "":
		r.t.Fatal("the profile ends within a rule")
	case r.text[0] == '(':
		r.text = r.text[1:]
		list := []node{}
		for r.space(); !strings.HasPrefix(r.text, ")"); r.space() {
			list = append(list, r.next())
		}
		r.text = r.text[1:]
		return node{list: list}
	case strings.HasPrefix(r.text, `#"`): // without escapes
		raw, rest, _ := strings.Cut(r.text[2:], `"`)
		r.text = rest
		return node{text: raw, isText: true}
	case r.text[0] == '"':
		return r.quoted()
	}
	end := strings.IndexAny(r.text, " \t\n()")
	atom := r.text[:end]
	r.text = r.text[end:]
	return node{atom: atom}
}

func (r *reader) quoted() node {
	var b strings.Builder
	for i := 1; i < len(r.text); i++ {
		switch c := r.text[i]; c {
		case '\\':
			i++
			b.WriteByte(r.text[i])
		case '"':
			r.text = r.text[i+1:]
			return node{text: b.String(), isText: true}
		default:
			b.WriteByte(c)
		}
	}
	r.t.Fatal("a string does not end")
	return node{}
}

// decide is what the rules say about an operation on a path.
func decide(t testing.TB, rules []node, operation, at string) bool {
	t.Helper()
	allowed := false
	for _, rule := range rules {
		named, matches := false, false
		for _, part := range rule.list[1:] {
			if part.atom != "" {
				named = named || part.atom == operation || strings.HasSuffix(part.atom, "*") && strings.HasPrefix(operation, strings.TrimSuffix(part.atom, "*"))
			} else {
				matches = matches || filter(t, part, at)
			}
		}
		if named && matches {
			allowed = rule.list[0].atom == "allow"
		}
	}
	return allowed
}

func filter(t testing.TB, f node, at string) bool {
	t.Helper()
	switch name := f.list[0].atom; name {
	case "literal":
		return f.list[1].text == at
	case "subpath":
		return subpath.Within(f.list[1].text, at)
	case "regex":
		return regexp.MustCompile(f.list[1].text).MatchString(at)
	case "require-all", "target", "sysctl-name", "sysctl-name-prefix", "global-name", "socket-domain", "local", "remote":
		return false // not for the paths here; require-all is for a terminal's extension
	default:
		t.Fatalf("a filter %q for files", name)
		return false
	}
}
