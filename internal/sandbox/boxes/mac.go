package boxes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/gitguard"
	"github.com/ohgw/ohgw/internal/sandbox/seatbelt"
)

// macBox is the box of one conversation on macOS: programs under sandbox-exec. There
// HomeAt is where the user's home directory is, and programs find that of the box by
// the variable HOME; Tmp is the directory of TMPDIR, by default one that ends with
// the box; the network is the proxy alone. Nothing has to be watched.
type macBox struct {
	sandbox.Box // starts and ends sandbox-exec, and so the programs

	program string // sandbox-exec
	profile seatbelt.Profile
	env     []string // of every program, over what it is given
	stop    func() error
	release func() // lets go of the home directory
	tmp     string // to be removed at the end; "" if it is the caller's
}

// newMacBox makes a box whose programs are started by that program.
func newMacBox(program string, cfg Config) (_ *macBox, err error) {
	b := &macBox{Box: sandbox.Outside(sandbox.Reduced, sandbox.Mark{}), program: program, stop: func() error { return nil }, release: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make the sandbox: %w", err), b.Close())
		}
	}()
	p := cfg.Policy
	if p.Tmp == "" {
		if b.tmp, err = os.MkdirTemp("", "ohgw-"); err != nil {
			return nil, err
		}
		p.Tmp = b.tmp
	}
	for _, list := range []*[]string{&p.Write, &p.Protect, &p.Read, &p.Hide} {
		*list = slices.Clone(*list)
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := makeHome(&p); err != nil {
		return nil, err
	}
	var guards gitguard.Guards
	if !cfg.GitOpen {
		if guards, err = gitguard.Find(p.Workspace); err != nil {
			return nil, fmt.Errorf("guard the git directory of %s: %w", p.Workspace, err)
		}
		p.Write, p.Protect = append(p.Write, guards.Write...), append(p.Protect, guards.Protect...)
	}
	if err := spellAll(&p, guards.Watch); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if b.release, err = holdHome(p.Home, false); err != nil {
		b.release = func() {}
		return nil, err
	}
	if err := furnish(&p, p.HomeAt); err != nil {
		return nil, fmt.Errorf("set up the home directory %s: %w", p.Home, err)
	}
	b.profile = seatbelt.Profile{
		Policy: &p, Git: guards.Watch, Strict: cfg.Strict, Reserved: append(localport.WaysOut(), cfg.Reserved...), Sought: cfg.unlistened(),
	}
	b.env = []string{"HOME=" + p.Home, "TMPDIR=" + p.Tmp, levelVariable(sandbox.Reduced)}
	if err := b.openProxy(cfg); err != nil {
		return nil, err
	}
	_, err = b.profile.Text() // an error of a path comes now, and not with a program
	return b, err
}

// openProxy opens the way to the network, which other programs of this machine see,
// too: so it wants a token.
func (b *macBox) openProxy(cfg Config) error {
	if !cfg.Policy.Network || cfg.Serve == nil {
		return nil
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(ln.Addr().String())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	token := rand.Text()
	stop, err := cfg.Serve(Sockets{Proxy: ln, Token: token})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	b.stop, b.profile.Proxy = stop, at.Port()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		b.env = append(b.env, fmt.Sprintf("%s=http://%s:%s@%s", name, ProxyUser, token, at))
	}
	b.env = append(b.env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
	return nil
}

// Environ is the environment of programs: what they need of the user's, and what is
// different inside.
func (b *macBox) Environ(environ []string) []string {
	return append(Environ(environ, b.profile.Policy), b.env...)
}

// terminalName is the path of a terminal.
var terminalName = pattern.Of(`^/dev/ttys[0-9]+$`)

// Start starts a program with a profile.
func (b *macBox) Start(ctx context.Context, p sandbox.Program) (sandbox.Process, error) {
	if len(p.Args) == 0 {
		return nil, errors.New("start a program: there are no arguments")
	}
	path, err := sandbox.Find(p.Args[0], p.Env)
	if err != nil {
		return nil, err
	}
	own := b.profile
	for _, f := range p.Files {
		if f != nil && terminalName().MatchString(f.Name()) {
			own.Terminal = f.Name()
		}
	}
	text, err := own.Text()
	if err != nil {
		return nil, err
	}
	p.Args = append([]string{b.program, "-p", text, "--", path}, p.Args[1:]...)
	p.Env = append(slices.Clip(p.Env), b.env...)
	return b.Box.Start(ctx, p)
}

// Close ends what runs in the box, and its network.
func (b *macBox) Close() error {
	err := errors.Join(b.Box.Close(), b.stop())
	b.release()
	if b.tmp != "" {
		err = errors.Join(err, os.RemoveAll(b.tmp))
	}
	return err
}
