// Package buildinfo says which build of ohgw this is.
//
// A release build sets Version with the linker; every other build takes what
// the Go toolchain wrote into the binary. It never touches files or network.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is set by release builds: -ldflags "-X …/internal/buildinfo.version=1.2.3".
var version string

// Info is one build.
type Info struct {
	Version  string `json:"version"`            // "1.2.3", or "devel" for a build from a working copy
	Revision string `json:"revision,omitempty"` // the commit; empty where the build does not know it
	Modified bool   `json:"modified,omitempty"` // the working copy was not clean
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"` // "linux/amd64"
}

// Get is the build of this program.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return from(build, version)
}

func from(build *debug.BuildInfo, version string) Info {
	info := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build == nil {
		build = &debug.BuildInfo{}
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	if info.Version == "" && build.Main.Version != "(devel)" {
		info.Version = strings.TrimPrefix(build.Main.Version, "v") // go install …@v1.2.3
	}
	if info.Version == "" {
		info.Version = "devel"
	}
	return info
}
