package git

import (
	"path"
	"slices"
	"strings"
)

// defaultExcludes are what an archive does not have unless it is asked for: what is
// generated, and what is fetched.
func defaultExcludes() []string {
	return []string{
		".git/", "node_modules/", ".venv/", "venv/", "__pycache__/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/",
		"dist/", "build/", ".next/", "target/", "*.pyc",
	}
}

// pathspecs converts patterns of what is left out to those of git.
func pathspecs(excludes []string) []string {
	var specs []string
	for _, exclude := range excludes {
		pattern := strings.TrimRight(exclude, "/")
		if pattern == "" {
			continue
		}
		if !strings.Contains(pattern, "/") {
			pattern = "**/" + pattern
		}
		if !strings.HasSuffix(exclude, "/") {
			specs = append(specs, ":(glob,exclude)"+pattern)
		}
		specs = append(specs, ":(glob,exclude)"+pattern+"/**")
	}
	return specs
}

// excluded reports whether a path, relative and with slashes, is left out: by a pattern
// with a slash in it from the beginning on, by another one in any element. A pattern with
// a slash at its end is for directories.
func excluded(name string, isDir bool, patterns []string) bool {
	parts := strings.Split(name, "/")
	for _, p := range patterns {
		pattern := strings.TrimRight(p, "/")
		onlyDir := pattern != p && !isDir
		if !strings.Contains(pattern, "/") {
			candidates := parts
			if onlyDir {
				candidates = parts[:len(parts)-1]
			}
			if slices.ContainsFunc(candidates, func(part string) bool { return matches(pattern, part) }) {
				return true
			}
			continue
		}
		of := strings.Split(pattern, "/")
		if len(parts) < len(of) || onlyDir && len(parts) == len(of) {
			continue
		}
		if allMatch(of, parts) {
			return true
		}
	}
	return false
}

func allMatch(patterns, parts []string) bool {
	for i, p := range patterns {
		if !matches(p, parts[i]) {
			return false
		}
	}
	return true
}

// matches compares an element of a path with a pattern of shells.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return err == nil && ok
}

// secretInGit reports whether a file in a git directory may have a password in it: its
// configuration, what was fetched from where, and its logs.
func secretInGit(name string) bool {
	parts := strings.Split(name, "/")
	at := slices.Index(parts, ".git")
	if at < 0 || at == len(parts)-1 {
		return false
	}
	inside := parts[at+1:]
	if slices.Contains(inside, "logs") {
		return true
	}
	switch inside[len(inside)-1] {
	case "config", "config.worktree", "credentials", ".git-credentials", "FETCH_HEAD":
		return true
	}
	return false
}
