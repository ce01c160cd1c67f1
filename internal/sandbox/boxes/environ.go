package boxes

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// kept are the variables that programs in a box get, as far as they are set.
var kept = []string{
	"PATH", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ", "SHELL", "USER", "LOGNAME", "EDITOR", "PAGER", "CI",
	"JAVA_HOME", "PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "RUSTUP_HOME", "VOLTA_HOME", "FNM_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "SDKMAN_DIR",
	"DOTNET_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "NODE_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH",
	"OH_TERMINAL_PROCESS_PRIORITY",
}

// goVariables are those of Go that name nothing outside of the box.
var goVariables = []string{"GOROOT", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN", "GOOS", "GOARCH", "CGO_ENABLED", "GOMAXPROCS"}

// registries are the variables by which package managers are told their hosts.
var registries = []string{
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX",
}

// secretName is a variable that may be a key. Registered secrets come in another way.
var secretName = pattern.Of(`(?i)KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION`)

// credentialsInURL are those before the host of a URL.
var credentialsInURL = pattern.Of(`://[^/\s]*@`)

// usualPath is PATH where nothing says another one.
var usualPath = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// Environ is the environment of programs in a box with that policy: what they need
// of the user's, and nothing else.
func Environ(environ []string, p *policy.Policy) []string {
	var env []string
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && passes(name) && !credentialsInURL().MatchString(value) {
			env = append(env, entry)
		}
	}
	if !slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") }) {
		env = append(env, "PATH="+strings.Join(usualPath, ":"))
	}
	return append(env, "HOME="+p.HomeAt, "TMPDIR=/tmp", "AI_AGENT=openhands", levelVariable(sandbox.Full))
}

// levelVariable tells programs which box they are in.
func levelVariable(level sandbox.Level) string { return "OHGW_SANDBOX=" + string(level) }

func passes(name string) bool {
	known := strings.HasPrefix(name, "LC_") || slices.Contains(kept, name) || slices.Contains(goVariables, name) || slices.Contains(registries, name)
	return known && !secretName().MatchString(name) // in this order: most names are not known
}
