package presets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/addresses"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// resolveLimit is for one name: a machine without a network must not wait long.
const resolveLimit = 5 * time.Second

// maxOutput limits what is read of a file.
const maxOutput = 1 << 20

// question is one preset that is being asked for.
type question struct {
	asker  *Asker
	preset string
	path   []string
	found  Found
	late   func() // a tool is idle for too long to be waited for
}

// env is a variable of the user. It comes from the user's shell, not from a
// workspace.
func (q *question) env(name string) string { return q.asker.cfg.Getenv(name) }

// find is the path of a program. An absolute one is its own.
func (q *question) find(name string) (string, error) {
	if filepath.IsAbs(name) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		return "", errNotThere
	}
	for _, dir := range q.path {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", errNotThere
}

// passed are the variables that tools read their settings from, or need to start.
var passed = []string{
	"GOPROXY", "GOSUMDB", "GOENV", "NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "PIP_INDEX_URL",
	"PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME", "ASDF_DIR", "ASDF_DATA_DIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CONFIG_DIRS", "SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE",
}

// ask runs a program, in an empty directory and a clean environment.
func (q *question) ask(ctx context.Context, program string, args ...string) (string, error) {
	path, err := q.find(program)
	if err != nil {
		return "", err
	}
	cfg := q.asker.cfg
	own, err := os.MkdirTemp(cfg.Dir, "ask-")
	if err != nil {
		return "", fmt.Errorf("make an empty directory: %w", err)
	}
	defer os.RemoveAll(own)
	dir, telemetry := filepath.Join(own, "empty"), filepath.Join(own, "go")
	err = errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(telemetry, 0o700), os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600))
	if err != nil {
		return "", fmt.Errorf("make an empty directory: %w", err)
	}
	env := []string{
		"HOME=" + cfg.Home, "PATH=" + strings.Join(q.path, string(filepath.ListSeparator)), "LC_ALL=C",
		"COLUMNS=2000", // no line is broken
		"GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=", "NO_UPDATE_NOTIFIER=1", "npm_config_update_notifier=false", "npm_config_logs_max=0",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
		// What the tools write on their own goes with the directory: the user may not use them.
		"npm_config_cache=" + filepath.Join(own, "npm"), "PIP_NO_CACHE_DIR=1", "TEST_TELEMETRY_DIR=" + telemetry,
	}
	for _, name := range passed {
		if value := q.env(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	run := cfg.Run
	if run == nil {
		run = runLate(cfg.Patience, limit, q.late)
	}
	out, err := run(ctx, dir, env, append([]string{path}, args...))
	if err != nil {
		return "", fmt.Errorf("ask %s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// How long a tool may be idle, as in [sandbox.AskPatiently]: until callers stop
// waiting for it, and until it is ended.
const (
	patience = 15 * time.Second
	limit    = 2 * time.Minute
)

// Run is a Config.Run that runs a tool and ends it, with what it started, when ctx
// ends or when the tool hangs.
func Run(limit time.Duration) func(ctx context.Context, dir string, env, args []string) ([]byte, error) {
	return runLate(limit, limit, func() {})
}

func runLate(patience, limit time.Duration, late func()) func(ctx context.Context, dir string, env, args []string) ([]byte, error) {
	return func(ctx context.Context, dir string, env, args []string) ([]byte, error) {
		out, err := sandbox.AskInTheBackground(ctx, sandbox.Program{Args: args, Env: env, Dir: dir}, patience, late, limit)
		if errors.Is(err, sandbox.ErrNoAnswer) {
			err = fmt.Errorf("%w within %v", err, limit)
		}
		return out, err
	}
}

// read reads a file of the user or of the system. It is empty if there is no file.
func (q *question) read(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			q.problem(err)
		}
		return nil
	}
	defer f.Close()
	var out bytes.Buffer
	buffer := make([]byte, 32<<10)
	for out.Len() < maxOutput {
		n, err := f.Read(buffer)
		out.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	return out.Bytes()
}

// problem records a tool that could not be asked. A missing tool is not a problem.
func (q *question) problem(err error) {
	if err != nil && !errors.Is(err, errNotThere) {
		q.found.Problems = append(q.found.Problems, fmt.Errorf("@%s: %w", q.preset, err))
	}
}

// constant allows the hosts that a tool has built in, over HTTPS. This machine's
// resolver may lead them to a mirror, too.
func (q *question) constant(ctx context.Context, hosts ...string) {
	for _, host := range hosts {
		q.url(ctx, "https://"+host, "built in")
	}
}

// set gives the tools in a sandbox a variable, if there is a value.
func (q *question) set(name, value string) {
	if value != "" {
		q.found.Env = append(q.found.Env, name+"="+value)
	}
}

// url allows the host of a URL that a tool is set to, with its one port. from says
// where it was set. The result is the URL without credentials, or "" if it is not one
// of HTTP.
func (q *question) url(ctx context.Context, text, from string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "sparse+")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "" // a file, a word such as "direct", another protocol
	}
	u.User = nil
	e := netpolicy.Entry{From: "@" + q.preset + ", " + from, Port: map[string]uint16{"http": 80, "https": 443}[u.Scheme]}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			q.problem(fmt.Errorf("%s has a port that is not a number", from))
			return ""
		}
		e.Port = uint16(port)
	}
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	if e.Host, err = netpolicy.ParseHost(host); err != nil {
		q.problem(fmt.Errorf("%s: %w", from, err))
		return ""
	}
	if e.Only, err = q.exceptions(ctx, e.Host); err != nil {
		q.problem(fmt.Errorf("%s: %w", from, err))
		return ""
	}
	same := func(o netpolicy.Entry) bool { return o.Host == e.Host && o.Port == e.Port }
	if !slices.ContainsFunc(q.found.Entries, same) {
		q.found.Entries = append(q.found.Entries, e)
	}
	return u.String()
}

// exceptions resolves the private addresses of a host that the user has set up. The
// gate dials these, and no other private address of that host.
func (q *question) exceptions(ctx context.Context, h netpolicy.Host) ([]netip.Addr, error) {
	found := []netip.Addr{h.Addr}
	if h.Name != "" {
		ctx, cancel := context.WithTimeout(ctx, resolveLimit)
		defer cancel()
		var err error
		if found, err = q.asker.cfg.Resolve(ctx, h.Name); err != nil {
			return nil, nil // without a network now; later it must be a public host
		}
	}
	var only []netip.Addr
	for _, addr := range found {
		addr = addr.Unmap()
		if addresses.Metadata(addr) {
			return nil, fmt.Errorf("host %s is a metadata service of a cloud, which is never allowed", h)
		}
		if addresses.Why(addr, nil) != "" {
			only = append(only, addr)
		}
	}
	return only, nil
}

func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}
