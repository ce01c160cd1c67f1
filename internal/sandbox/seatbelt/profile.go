// Package seatbelt has the profiles of macOS' sandbox, for /usr/bin/sandbox-exec.
//
// A profile is a text, so it is tested on every system. Invariants: what a profile
// does not name is refused; no path changes the meaning of a profile.
package seatbelt

import (
	"cmp"
	_ "embed" // the part of a profile that is always the same
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

//go:embed base.sb
var base string

// Profile is what a profile is made of. Its paths are as the disk has them: the
// system compares names to the letter.
type Profile struct {
	Policy   *policy.Policy // checked; Tmp is a directory
	Git      []string       // git directories, in which nothing that redirects git is made
	Proxy    uint16         // the port of the proxy on loopback; 0: there is none
	Reserved []uint16       // ports of loopback that are not reached, and not listened on
	Sought   []uint16       // ports of loopback that are not listened on
	Terminal string         // the path of the program's terminal; "" if it has none
	// Strict keeps programs from the service for certificates, which may connect to
	// hosts that a certificate names.
	Strict bool
}

// trust answers whether a certificate is trusted, for programs that ask the system,
// such as all in Go. It may connect to hosts that a certificate names.
const trust = `
; Certificates. The service asks hosts that they name, so strict is without it.
(allow mach-lookup (global-name "com.apple.trustd.agent"))
`

// Text is the profile in sandbox-exec's language. The error is a path that it cannot
// have.
func (p *Profile) Text() (string, error) {
	w := &writer{}
	w.WriteString(base)
	if !p.Strict {
		w.WriteString(trust)
	}
	w.terminal(p.Terminal)
	w.files(p)
	w.guards(p)
	w.network(p)
	return w.String(), w.err
}

// writer writes rules, and keeps the first error.
type writer struct {
	strings.Builder
	err error
}

func (w *writer) note(text string) { w.WriteString("\n; " + text + "\n") }

// rule writes one rule: what it does with which operations, and the filters.
func (w *writer) rule(operations string, filters ...string) {
	fmt.Fprintf(w, "(%s %s)\n", operations, strings.Join(filters, " "))
}

// literal is the filter for one path, and subpath that for it and all below it.
func (w *writer) literal(at string) string { return "(literal " + w.quote(at) + ")" }
func (w *writer) subpath(at string) string { return "(subpath " + w.quote(at) + ")" }

func (w *writer) quote(at string) string {
	text, err := quote(at)
	if err != nil && w.err == nil {
		w.err = err
	}
	return text
}

func (w *writer) terminal(at string) {
	if at == "" {
		return
	}
	w.note("The terminal of the program, which was opened outside.")
	w.rule("allow file-read* file-write* file-ioctl", w.literal(at))
}

// tree is a part of the file system with rights of its own.
type tree struct {
	at   string
	rank int // at the same path: hidden first, shown after it
	rule string
}

// The rules of trees. What is below another tree comes after it, and wins.
const (
	hiddenRule   = "deny file-read* file-write*"
	readRule     = "allow file-read*"
	writableRule = "allow file-read* file-write*"
)

// writable are the trees that programs write to.
func (p *Profile) writable() []string {
	return p.Policy.Trees()
}

func (w *writer) files(p *Profile) {
	var trees []tree
	for _, at := range p.Policy.Hide {
		trees = append(trees, tree{at, 0, hiddenRule})
	}
	for _, at := range p.writable() {
		trees = append(trees, tree{at, 1, writableRule})
	}
	for _, at := range p.Policy.Read {
		trees = append(trees, tree{at, 2, readRule})
	}
	slices.SortFunc(trees, func(a, b tree) int {
		return cmp.Or(strings.Compare(order(a.at), order(b.at)), cmp.Compare(a.rank, b.rank))
	})
	w.note("The directories above what is shown: that they exist, not what is in them.")
	if above := above(trees); len(above) > 0 {
		filters := make([]string, 0, len(above))
		for _, dir := range above {
			filters = append(filters, w.literal(dir))
		}
		w.rule("allow file-read-metadata", filters...)
	}
	w.note("The workspace, the home directory of the sandbox, and what the policy names.")
	for _, t := range trees {
		w.rule(t.rule, w.subpath(t.at))
		if t.rule == readRule {
			w.rule("deny file-write*", w.subpath(t.at))
		}
	}
	w.note("A writable tree that is moved would take its files to where other rules hold.")
	for _, at := range p.writable() {
		w.rule("deny file-write-unlink", w.literal(at))
	}
}

// order makes a path sort before everything below it, and that before its
// neighbours.
func order(at string) string { return strings.ReplaceAll(at, "/", "\x01") }

// above are the directories above what is shown.
func above(trees []tree) []string {
	var dirs []string
	for _, t := range trees {
		for dir := path.Dir(t.at); t.rank > 0 && len(dir) > 1; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// gitNames are the names in a git directory by which git runs programs, or finds its
// configuration.
var gitNames = []string{"config", "config.worktree", "commondir", "hooks"}

// guards protects files also where they do not exist yet. A disk may not tell upper
// from lower case, nor some other letters from those of ASCII (K and the sign of
// kelvin), so the rules for what does not exist know all spellings.
func (w *writer) guards(p *Profile) {
	if len(p.Policy.Protect)+len(p.Git) == 0 {
		return
	}
	w.note("What is protected in the writable trees, and cannot be moved away.")
	for _, at := range p.Policy.Protect {
		w.rule("deny file-write*", w.literal(at), w.subpath(at))
	}
	for _, dir := range p.Policy.Pins() {
		w.rule("deny file-write-unlink", w.literal(dir))
	}
	for _, dir := range p.Git {
		names := make([]string, 0, len(gitNames)+1)
		for _, name := range gitNames {
			names = append(names, anyCase(name))
		}
		names = append(names, anyCase("info")+"/"+anyCase("attributes"), "[^/]*[^ -~][^/]*", anyCase("info")+"/[^/]*[^ -~][^/]*")
		w.rule("deny file-write*", "(regex "+w.quote("^"+regex(dir)+"/("+strings.Join(names, "|")+")(/.*)?$")+")")
	}
}

// network allows the loopback addresses, for test servers and for the proxy. Rules
// for addresses cannot tell more than this machine from all others.
func (w *writer) network(p *Profile) {
	w.note("Sockets in the writable trees. Those of Docker, of agents and of the resolver are elsewhere.")
	w.rule("allow system-socket", "(socket-domain AF_UNIX)")
	for _, at := range p.writable() {
		w.rule("allow network-bind", "(local unix-socket "+w.subpath(at)+")")
		w.rule("allow network-outbound", "(remote unix-socket "+w.subpath(at)+")")
	}
	w.note("Loopback, on which the proxy listens, too. No other host, and no resolver.")
	w.rule("allow network-bind network-inbound", `(local ip "localhost:*")`)
	w.rule("allow network-outbound", `(remote ip "localhost:*")`)
	for _, port := range p.Reserved {
		if port == p.Proxy {
			continue
		}
		w.rule("deny network-bind network-inbound", fmt.Sprintf(`(local ip "localhost:%d")`, port))
		w.rule("deny network-outbound", fmt.Sprintf(`(remote ip "localhost:%d")`, port))
	}
	for _, port := range p.Sought {
		if port != p.Proxy && !slices.Contains(p.Reserved, port) {
			w.rule("deny network-bind network-inbound", fmt.Sprintf(`(local ip "localhost:%d")`, port))
		}
	}
	if p.Proxy != 0 {
		w.rule("deny network-bind", fmt.Sprintf(`(local ip "localhost:%d")`, p.Proxy))
	}
}
