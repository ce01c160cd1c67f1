package boxes

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// reducedEnviron changes the variables that name places of level full, and adds those
// by which programs find the proxy.
func reducedEnviron(env []string, given, reduced *policy.Policy) []string {
	out := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "HOME" && value == given.HomeAt:
			entry = "HOME=" + reduced.Home
		case name == "PATH":
			entry = "PATH=" + reducedPath(value, given, reduced)
		case name == "TMPDIR":
			continue
		case entry == levelVariable(sandbox.Full):
			entry = levelVariable(sandbox.Reduced)
		}
		out = append(out, entry)
	}
	if reduced.Network {
		out = withProxy(out)
	}
	return append(out, "TMPDIR="+reduced.Tmp, "TMUX_TMPDIR="+reduced.Tmp) // tmux does not know the first one
}

// reducedPath cuts out of a PATH the directories that cannot be read. A shell finds
// programs in them nevertheless, cannot start them, and looks no further. The home
// directory's own are where the box has its home directory.
func reducedPath(list string, given, reduced *policy.Policy) string {
	var dirs []string
	for _, dir := range filepath.SplitList(list) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = filepath.Clean(dir)
		}
		switch {
		case !filepath.IsAbs(dir) || inside.ReducedReads(reduced, real):
		case subpath.Within(given.HomeAt, real):
			dir = filepath.Join(reduced.Home, strings.TrimPrefix(real, given.HomeAt))
		default:
			continue
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		dirs = usualPath // an empty PATH is the current directory
	}
	return strings.Join(slices.Compact(dirs), string(filepath.ListSeparator))
}

// javaProxy are options of Java, which does not read HTTP_PROXY; the port is that of
// broker.ProxyPort. The last one is for Maven 3.9 and later.
const javaProxy = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 " +
	"-Daether.connector.http.useSystemProperties=true"

// withProxy adds the variables of programs that need more than HTTP_PROXY: Maven,
// Gradle, and fetch in Node 24.
func withProxy(env []string) []string {
	for _, name := range []string{"MAVEN_OPTS", "GRADLE_OPTS"} {
		value := javaProxy
		for _, entry := range env {
			if own, ok := strings.CutPrefix(entry, name+"="); ok {
				value = javaProxy + " " + own // theirs win
			}
		}
		env = append(env, name+"="+value)
	}
	return append(env, "NODE_USE_ENV_PROXY=1")
}
