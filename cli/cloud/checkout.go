package cloud

import (
	"context"
	"net/url"
	"os/exec"
	"path"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
)

// checkout is the git repository of the current directory.
type checkout struct{ repo, branch, provider string }

// checkout fills in the repository of the current directory, where --repo asks for it,
// or the person at the terminal takes it.
func (o *newOptions) checkout(ctx context.Context) error {
	if o.Repo != "" && o.Repo != "." || o.Repo == "" && !o.CanAsk() {
		return nil
	}
	here, err := o.currentCheckout(ctx)
	if o.Repo == "." && err != nil {
		return fault.New("the current directory is not a checkout of a repository on a git server", "name the repository: --repo OWNER/NAME", err)
	}
	if err != nil {
		return nil //nolint:nilerr // there is nothing to offer
	}
	if o.Repo == "" {
		yes, err := o.AskYesNo(ctx, "Work in the repository "+here.repo+", branch "+here.branch+"?", "The sandbox gets a clone of it from the git server. What you have not pushed is not in it.")
		if err != nil || !yes {
			return err
		}
	}
	o.Repo = here.repo
	if o.Branch == "" {
		o.Branch = here.branch
	}
	if o.Provider == "" {
		o.Provider = here.provider
	}
	return nil
}

func (o *newOptions) currentCheckout(ctx context.Context) (checkout, error) {
	git, err := o.LookPath("git")
	if err != nil {
		return checkout{}, err
	}
	dir, err := o.Getwd()
	if err != nil {
		return checkout{}, err
	}
	ask := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, git, append([]string{"-C", dir}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	remote, err := ask("remote", "get-url", "origin")
	if err != nil {
		return checkout{}, err
	}
	c, err := parseRemote(remote)
	if err != nil {
		return checkout{}, err
	}
	c.branch, err = ask("symbolic-ref", "--short", "HEAD")
	if err != nil {
		c.branch = "" // A commit is checked out, no branch.
	}
	return c, nil
}

// providers are git servers by a part of their host.
func providers() map[string]string {
	return map[string]string{"github": "github", "gitlab": "gitlab", "bitbucket": "bitbucket", "codeberg": "forgejo"}
}

// parseRemote reads the address of a remote: a URL, or HOST:PATH of ssh.
func parseRemote(text string) (checkout, error) {
	if !strings.Contains(text, "://") {
		host, rest, found := strings.Cut(text, ":")
		if !found || strings.Contains(host, "/") {
			return checkout{}, fault.New("the remote is not on a git server: "+text, "", nil)
		}
		text = "ssh://" + host + "/" + rest
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return checkout{}, fault.New("the remote is not on a git server", "", nil)
	}
	repo := strings.Trim(strings.TrimSuffix(path.Clean(u.Path), ".git"), "/")
	if strings.Count(repo, "/") < 1 {
		return checkout{}, fault.New("the remote does not name an owner and a repository", "", nil)
	}
	c := checkout{repo: repo}
	for part, provider := range providers() {
		if strings.Contains(u.Hostname(), part) {
			c.provider = provider
		}
	}
	return c, nil
}
