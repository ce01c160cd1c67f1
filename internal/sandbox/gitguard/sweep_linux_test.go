package gitguard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// The index is read in all forms that git writes.
func TestRepositoriesOfAnIndex(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"version 2": nil, "version 4": {"-c", "index.version=4"}, "long object names": {"-c", "init.defaultObjectFormat=sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", append(append([]string{"-C", dir}, options...), args...)...)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %q: %v: %s", args, err, out)
				}
			}
			object, format := "1111111111111111111111111111111111111111", "sha1"
			if name == "long object names" {
				object, format = object+"111111111111111111111111", "sha256"
			}
			run("init", "-q", "--object-format="+format)
			for _, file := range []string{"a", "lib/b", "lib/one-file", "lib/zz/deep/file", "ä/ö"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run("add", ".")
			for _, link := range []string{"lib/one", "lib/zz/deep/two", "z"} {
				run("update-index", "--add", "--cacheinfo", "160000,"+object+","+link)
			}
			run("update-index", "--skip-worktree", "lib/b") // an entry with more flags
			data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			if got := gitlinks(data); !slices.Equal(got, []string{"lib/one", "lib/zz/deep/two", "z"}) {
				t.Errorf("found %q", got)
			}
			for end := range data { // gitlinks reads a file that was cut off, too.
				gitlinks(data[:end])
			}
		})
	}
}

func TestHarmlessPartOfAConfiguration(t *testing.T) {
	t.Parallel()
	const ofClone = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	for text, want := range map[string]string{
		ofClone: ofClone,
		"":      "",
		ofClone + "[core]\n\tsshCommand = evil\n":                           ofClone + "[core]\n",
		ofClone + "[core] fsmonitor = evil\n":                               ofClone,
		ofClone + "[core]\n\tbare = false\\\n\n\tfsmonitor = evil\n":        ofClone + "[core]\n",
		ofClone + "[include]\n\tpath = evil\n[user]\n\tname = A\n":          ofClone + "[include]\n[user]\n\tname = A\n",
		"[submodule \"x\"]\n\turl = ext::sh -c evil\n\tupdate = !evil\n":    "[submodule \"x\"]\n",
		"[submodule \"x url=y\"]\n\tupdate = !evil\n":                       "[submodule \"x url=y\"]\n",
		"[submodule \"x\"]\n\turl = https://example.com/a\n\tactive = true": "[submodule \"x\"]\n\turl = https://example.com/a\n\tactive = true\n",
		"\ufeff[core]\n\tfsmonitor = evil\n\tbare = false\n":                "",
		"[extensions]\n\tworktreeConfig = true\n\tobjectformat = sha256\n":  "[extensions]\n\tobjectformat = sha256\n",
	} {
		if got := harmlessOf(text); got != want {
			t.Errorf("%q: harmlessOf = %q, want %q", text, got, want)
		}
	}
}
