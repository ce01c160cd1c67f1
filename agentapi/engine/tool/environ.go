package tool

import (
	"maps"
	"slices"
	"strings"
)

// allowed reports which variables of our own environment a shell inherits: what
// programs need to be found and to work, and nothing that could be a key, ours
// or anybody's. Everything else stays here.
func allowed(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return true
	}
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "HOSTNAME",
		// where programs keep their files
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
		"MANPATH", "INFOPATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH",
		// the network
		"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
		"SSH_AUTH_SOCK",
		// languages and their package managers
		"GOPATH", "GOROOT", "GOBIN", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB", "GOFLAGS", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN",
		"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME",
		"NVM_DIR", "NVM_BIN", "NODE_PATH", "VOLTA_HOME", "FNM_DIR", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR",
		"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PIPX_HOME", "UV_CACHE_DIR",
		"RBENV_ROOT", "GEM_HOME", "GEM_PATH", "SDKMAN_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
		"HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE",
		"DOCKER_HOST", "ANDROID_HOME", "ANDROID_SDK_ROOT", "DISPLAY", "WAYLAND_DISPLAY":
		return true
	}
	return false
}

// CleanEnvironment selects what of environ (KEY=value) a program of the agent's may
// see, and sets the variables in extra. Nothing of ohgw's own is among it, nor any
// provider's key. It is sorted.
func CleanEnvironment(environ []string, extra map[string]string) []string {
	vars := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && allowed(name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, extra)
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}
