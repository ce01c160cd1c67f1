package manager_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// toolbox is package managers that answer when they are let go.
type toolbox struct {
	begun chan string // a question has begun: the name of the program

	mu   sync.Mutex
	says map[string]chan string // by program; an empty text is a failure
}

// fails makes a program fail from now on, and recovers makes it answer again.
func (b *toolbox) fails(name string) { close(b.says[name]) }

func (b *toolbox) recovers(name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says[name] = make(chan string, 1)
	b.says[name] <- text
}

func (b *toolbox) run(ctx context.Context, _ string, _, args []string) ([]byte, error) {
	name := filepath.Base(args[0])
	b.begun <- name
	b.mu.Lock()
	says := b.says[name]
	b.mu.Unlock()
	select {
	case text := <-says:
		if text == "" {
			return nil, errors.New("no answer within 15s")
		}
		return []byte(text), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withTools gives a world npm, which the user has set up, and Go.
func withTools(b *toolbox) func(*world) {
	b.begun, b.says = make(chan string, 100), map[string]chan string{"npm": make(chan string, 1), "go": make(chan string, 1)}
	return func(w *world) {
		online(manager.Report)(w)
		bin := filepath.Join(w.root, "tools")
		for name := range b.says {
			write(w.t.(*testing.T), filepath.Join(bin, name), "")
			if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil {
				w.t.Fatal(err)
			}
		}
		write(w.t.(*testing.T), filepath.Join(w.home, ".npmrc"), "")
		w.cfg.Settings.Allow = []string{"listed.example", "@packages"}
		w.cfg.RunTool = b.run
		w.cfg.Getenv = func(name string) string { return map[string]string{"PATH": bin}[name] }
	}
}

const npmSays = `{"registry":"http://npm.example/"}`

// The package managers with settings of the user are asked before there is a program,
// and the first program waits for these alone.
func TestTheFirstProgramWaitsForWhatItNeeds(t *testing.T) {
	t.Parallel()
	var tools toolbox
	w := newWorld(t, real, withTools(&tools))
	m := w.manager()
	m.Prepare(w.env.Workspace)
	if name := <-tools.begun; name != "npm" {
		t.Errorf("%s was asked first", name)
	}
	waits := make(chan string, 1)
	w.env.Progress = func(line string) { waits <- line }
	box := w.box(m)
	said := make(chan string)
	go func() { said <- w.run(box, "echo $NPM_CONFIG_REGISTRY") }()
	if line := <-waits; line != "waiting for package managers to list the hosts they use: @node" {
		t.Errorf("told of %q", line)
	}
	tools.says["npm"] <- npmSays
	if got := <-said; got != "http://npm.example/" {
		t.Errorf("the first program has the registry %q", got)
	}
	w.asks(box, "npm.example", true)
	w.asks(box, "listed.example", true)
	w.quiet()
}

// What a package manager has not said is refused with the reason, and allowed once it
// has said it.
func TestAPackageManagerThatFailedIsAskedAgain(t *testing.T) {
	t.Parallel()
	var tools toolbox
	w := newWorld(t, real, withTools(&tools))
	tools.fails("npm")
	box := w.box(w.manager())
	if got := w.run(box, "echo $NPM_CONFIG_REGISTRY"); got != "" {
		t.Errorf("the first program has the registry %q", got)
	}
	tools.says["go"] <- `{"GOPROXY":"http://proxy.example","GOSUMDB":"off"}`
	w.asks(box, "npm.example", false)
	refused := unlisted("npm.example")
	refused.Why += ", and a package manager did not list the hosts it uses (@node: ask npm config list --json --location=global: no answer within 15s): " +
		"try again, or see ohgw sandbox explain @node"
	w.told(refused)
	w.asks(box, "proxy.example", true) // npm is not asked for that
	tools.recovers("npm", npmSays)
	w.asks(box, "npm.example", true)
	if got := w.run(box, "echo $NPM_CONFIG_REGISTRY"); got != "http://npm.example/" {
		t.Errorf("a later program has the registry %q", got)
	}
	w.quiet()
}

// The end of a box lets go of what waits for a package manager.
func TestCloseEndsTheWaitForPackageManagers(t *testing.T) {
	t.Parallel()
	var tools toolbox
	w := newWorld(t, real, withTools(&tools))
	box := w.box(w.manager())
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error)
	go func() {
		_, err := box.Start(ctx, sandbox.Program{Args: []string{"/bin/true"}, Env: []string{"PATH=/bin"}, Dir: w.env.Workspace})
		started <- err
	}()
	<-tools.begun
	cancel()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	tools.says["npm"] <- npmSays
	p, out, err := w.start(box, request("unknown.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if name := <-tools.begun; name != "go" {
		t.Errorf("%s was asked", name)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	_, _ = p.Wait()
	w.quiet()
}
