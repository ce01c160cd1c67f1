package boxes

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/sandbox/broker"
	"github.com/ohgw/ohgw/internal/sandbox/gitguard"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// reduce turns the policy of a box into one of level reduced: the home directory is
// where it is on the disk, and what /tmp is for is in a directory that TMPDIR names.
// What mounts would protect is put back after a change.
func (b *box) reduce(guards gitguard.Guards) (err error) {
	p := &b.policy
	protected := p.Protect
	p.Reduced, p.HomeAt, p.Protect = true, p.Home, nil
	if p.Tmp == "" {
		if p.Tmp, err = privateTmp(); err != nil {
			return fmt.Errorf("make a directory for temporary files: %w", err)
		}
		b.ownTmp = true
	}
	if err = p.Check(); err == nil {
		err = furnish(p, b.cfg.Policy.HomeAt)
	}
	if err != nil {
		return fmt.Errorf("prepare the home directory of the sandbox: %w", errors.Join(err, b.removeTmp()))
	}
	if err = b.keep(gitguard.Guards{Protect: protected, Watch: guards.Watch, Repository: guards.Repository}); err != nil {
		b.unwatch()
		return fmt.Errorf("watch the files of git: %w", errors.Join(err, b.removeTmp()))
	}
	return nil
}

// keep has what is protected put back after each change, in every writable tree.
func (b *box) keep(all gitguard.Guards) error {
	trees := map[string]*gitguard.Guards{}
	in := func(at string) *gitguard.Guards {
		tree, ok := b.policy.Tree(at)
		if ok && trees[tree] == nil {
			trees[tree] = &gitguard.Guards{}
		}
		return trees[tree]
	}
	for _, at := range all.Protect {
		if g := in(at); g != nil {
			g.Protect = append(g.Protect, at)
		}
	}
	for _, at := range all.Watch {
		if g := in(at); g != nil {
			g.Watch = append(g.Watch, at)
		}
	}
	if g := in(all.Repository.Dir); g != nil {
		g.Repository = all.Repository
	}
	told := b.cfg.Removed
	if told == nil {
		told = func(string) {}
	}
	for tree, g := range trees {
		keeper, err := gitguard.NewKeeper(tree, *g, told)
		if err != nil {
			return err
		}
		before := b.unwatch
		b.unwatch = func() { before(); _ = keeper.Close() }
	}
	return nil
}

// removeTmp removes the box's own temporary files.
func (b *box) removeTmp() error {
	if !b.ownTmp {
		return nil
	}
	return os.RemoveAll(b.policy.Tmp)
}

func privateTmp() (string, error) {
	dir, err := os.MkdirTemp("", "ohgw-tmp-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// openBroker opens the network before the helper is started.
func (r *runtime) openBroker(p *policy.Policy, cfg *Config) (err error) {
	own := broker.Config{
		Reserved: append(cfg.unlistened(), cfg.Reserved...), Refused: cfg.Refused,
		Trees: p.Trees(), Sockets: p.Read,
	}
	if p.Network && cfg.Serve != nil {
		if r.proxy, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			return err
		}
		if own.Proxy, err = netip.ParseAddrPort(r.proxy.Addr().String()); err != nil {
			return err
		}
	}
	r.broker = broker.New(own)
	return nil
}

// serveProxy begins to answer for the network, when the helper is ready.
func (r *runtime) serveProxy(serve func(Sockets) (func() error, error)) (err error) {
	r.mu.Lock()
	names, files := r.built.Sockets, r.files
	r.files = nil
	r.mu.Unlock()
	if len(names) != 1 || names[0] != inside.SocketBroker {
		closeFiles(files)
		return fmt.Errorf("the sandbox has the sockets %q", names)
	}
	closeFiles(r.listen(files))
	if r.proxy != nil {
		r.stop, err = serve(Sockets{Proxy: r.broker.Accepts(r.proxy)})
	}
	return err
}

// listen answers the calls of more programs, and returns the files that are left.
// Calls that get no answer fail.
func (r *runtime) listen(files []*os.File) []*os.File {
	if r.broker == nil || len(files) == 0 || r.broker.Serve(files[0]) != nil {
		return files
	}
	return files[1:]
}
