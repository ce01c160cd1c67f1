package git

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// maxCommits is how many commits a page may have.
const maxCommits = 200

type commit struct {
	SHA     string `json:"sha"`
	Short   string `json:"short_sha"`
	Subject string `json:"subject"`
	Author  string `json:"author"`
	Time    string `json:"timestamp"` // of the author
}

type commitPage struct {
	Commits []commit `json:"commits"`
	More    bool     `json:"has_more"`
}

func (s *server) commits(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	limit, err := wire.Int(r, "limit", 50, pydantic.Above(0, maxCommits))
	if err != nil {
		return err
	}
	page := commitPage{Commits: []commit{}}
	repo, err := s.open(r.Context(), path)
	if err != nil {
		return answer(w, err, page)
	}
	head := repo.parse(r.Context(), "HEAD")
	if head == "" {
		wire.WriteJSON(w, http.StatusOK, page)
		return nil
	}
	out, err := repo.run(r.Context(), "log", "--no-show-signature", "--format=%H%x1f%h%x1f%an%x1f%aI%x1f%s", "-n", strconv.Itoa(limit+1), head)
	if err != nil {
		return answer(w, err, page)
	}
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Split(line, "\x1f")
		if len(f) != 5 {
			continue
		}
		if page.More = len(page.Commits) == limit; page.More {
			break
		}
		page.Commits = append(page.Commits, commit{SHA: f[0], Short: f[1], Author: f[2], Time: f[3], Subject: f[4]})
	}
	wire.WriteJSON(w, http.StatusOK, page)
	return nil
}

func (s *server) commitChanges(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("sha")
	if err := checkSHA(name, "path", "sha"); err != nil {
		return err
	}
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	repo, err := s.open(ctx, path)
	if err != nil {
		return answer(w, err, []change{})
	}
	after, err := repo.resolve(ctx, name)
	if err != nil {
		return answer(w, err, nil)
	}
	out, err := repo.run(ctx, "diff", "--no-ext-diff", "--name-status", "-z", repo.before(ctx, after), after, "--")
	if err != nil {
		return answer(w, err, nil)
	}
	wire.WriteJSON(w, http.StatusOK, parse(out))
	return nil
}
