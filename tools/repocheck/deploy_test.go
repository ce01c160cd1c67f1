package repocheck_test

import (
	"errors"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/iostream"
)

// gateway is a container of ohgw in a file of deploy/.
type gateway struct {
	name string // for messages
	args []string
	env  map[string]string // values of Secrets are empty
}

// check asks the program whether it takes the command line and the variables, with
// their values.
func (g gateway) check(t *testing.T) {
	t.Helper()
	stream := iostream.New(io.Discard, false, nil)
	root := cli.Root(&cli.Env{Stdout: stream, Stderr: stream, Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }})
	cmd, rest, err := root.Find(g.args)
	if err != nil || !cmd.Runnable() || cmd == root {
		t.Errorf("%s: ohgw %s is not a command: %v", g.name, strings.Join(g.args, " "), err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: ohgw %s: %v", g.name, strings.Join(g.args, " "), err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: ohgw %s: %v", g.name, strings.Join(g.args, " "), err)
	}
	known := variables(t)
	for name := range g.env {
		if strings.HasPrefix(name, "OHGW_") && !slices.Contains(known, name) {
			t.Errorf("%s: there is no variable %s", g.name, name)
		}
	}
	flags := map[string][]string{}
	for _, f := range config.Fields() {
		if given := cmd.Flags().Lookup(f.Flag); given != nil && given.Changed {
			flags[f.Flag] = []string{given.Value.String()}
		}
	}
	if _, err := config.Load(config.Source{Flags: flags, Getenv: func(name string) string { return g.env[name] }}); err != nil {
		t.Errorf("%s: its settings are refused: %v", g.name, err)
	}
}

// variables are those of the settings, and those that the docs list beside them.
func variables(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, f := range config.Fields() {
		names = append(names, f.Env)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(OHGW_[A-Z_]+)` \\|").FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		names = append(names, m[1])
	}
	return names
}

// composeFile is what deploy/compose.yaml may have. Compose knows more, but a key that
// is not here is more likely a mistake.
type composeFile struct {
	Name                              string
	Services                          map[string]composeService
	Networks                          map[string]struct{ Internal bool }
	Volumes                           map[string]struct{}
	Secrets                           map[string]struct{ File string }
	OHGW, Gateway, Server, Seed, Tidy any
}

type composeService struct {
	Image           string
	Build           struct{ Context, Dockerfile string }
	User            string
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	SecurityOpt     []string `yaml:"security_opt"`
	Tmpfs           []string
	Restart         string
	Entrypoint      []string
	Command         []string
	Environment     map[string]string
	EnvFile         []string `yaml:"env_file"`
	StopGracePeriod string   `yaml:"stop_grace_period"`
	Secrets         []string
	Networks        []string
	NetworkMode     string `yaml:"network_mode"`
	Volumes         []string
	Ports           []string
	DependsOn       map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck     struct {
		Test              []string
		Interval, Timeout string
		Retries           int
	}
}

var (
	interpolated = regexp.MustCompile(`\$\{([A-Z_]+):-([^}]*)\}`)
	named        = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
)

// compose reads deploy/compose.yaml with the values of deploy/example.env.
func compose(t *testing.T) composeFile {
	t.Helper()
	values := map[string]string{}
	for _, m := range named.FindAllStringSubmatch(read(t, "deploy/example.env"), -1) {
		values[m[1]] = m[2]
	}
	used := map[string]bool{}
	text := interpolated.ReplaceAllStringFunc(read(t, "deploy/compose.yaml"), func(found string) string {
		m := interpolated.FindStringSubmatch(found)
		used[m[1]] = true
		if value, ok := values[m[1]]; !ok || value != m[2] {
			t.Errorf("compose.yaml has %s by default, and example.env says %q", found, value)
		}
		return m[2]
	})
	for name := range values {
		if !used[name] {
			t.Errorf("example.env has %s, which compose.yaml does not use", name)
		}
	}
	// The parts that services share have names of their own.
	text = strings.NewReplacer("x-ohgw:", "ohgw:", "x-gateway:", "gateway:", "x-agent-server:", "server:", "x-profiles:", "seed:", "x-tidy:", "tidy:").Replace(text)
	var c composeFile
	if err := yaml.UnmarshalWithOptions([]byte(text), &c, yaml.Strict()); err != nil {
		t.Fatalf("deploy/compose.yaml: %v", err)
	}
	return c
}

func TestComposeStartsWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	c := compose(t)
	count := 0
	for name, s := range c.Services {
		if s.Image != "ohgw:latest" {
			continue
		}
		count++
		gateway{"deploy/compose.yaml, service " + name, s.Command, s.Environment}.check(t)
		if s.User == "" || !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("the service %s has more rights than it needs", name)
		}
	}
	if count != 3 {
		t.Errorf("compose.yaml has %d services of ohgw, want two gateways and a migration", count)
	}
	gw0, gw1 := c.Services["gw0"], c.Services["gw1"]
	if !slices.Equal(gw0.Command, gw1.Command) || !maps.Equal(gw0.Environment, gw1.Environment) {
		t.Error("the gateways of compose.yaml differ")
	}
}

// An agent-server keeps the workspaces of conversations that are gone.
func TestComposeTidiesEachAgentServer(t *testing.T) {
	t.Parallel()
	c := compose(t)
	count := 0
	for name, s := range c.Services {
		if len(s.EnvFile) == 0 { // only agent-servers have the keys of LLMs
			continue
		}
		count++
		tidy := c.Services[name+"-tidy"]
		if len(tidy.Volumes) != 2 || !slices.Equal(tidy.Volumes[:1], s.Volumes) || !slices.Equal(tidy.Entrypoint, []string{"python3", "/tidy.py"}) {
			t.Errorf("nothing tidies the volumes %v of %s: %+v", s.Volumes, name, tidy)
			continue
		}
		from, _, _ := strings.Cut(tidy.Volumes[1], ":")
		if read(t, path.Join("deploy", from)) == "" {
			t.Errorf("%s is empty", from)
		}
	}
	if count != 2 {
		t.Errorf("compose.yaml has %d agent-servers, want 2", count)
	}
}

func TestComposeNamesWhatItHas(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for name, s := range c.Services {
		for other := range s.DependsOn {
			if _, ok := c.Services[other]; !ok {
				t.Errorf("the service %s depends on %s, which does not exist", name, other)
			}
		}
		for _, network := range s.Networks {
			if _, ok := c.Networks[network]; !ok {
				t.Errorf("the service %s is in the network %s, which does not exist", name, network)
			}
		}
		for _, secret := range s.Secrets {
			if _, ok := c.Secrets[secret]; !ok {
				t.Errorf("the service %s reads the secret %s, which does not exist", name, secret)
			}
		}
		for _, volume := range s.Volumes {
			if from, _, _ := strings.Cut(volume, ":"); !strings.HasPrefix(from, ".") {
				if _, ok := c.Volumes[from]; !ok {
					t.Errorf("the service %s mounts the volume %s, which does not exist", name, from)
				}
			}
		}
		for key, value := range s.Environment {
			if path, ok := strings.CutPrefix(value, "/run/secrets/"); ok && !slices.Contains(s.Secrets, path) {
				t.Errorf("the service %s sets %s to a secret that it does not have", name, key)
			}
			if regexp.MustCompile(`(?i)(password|secret|_key)$`).MatchString(key) {
				t.Errorf("the service %s has a secret in its variable %s", name, key)
			}
		}
	}
	for name, parts := range map[string][]string{
		"deploy/Caddyfile":               {"reverse_proxy gw0:6449 gw1:6449", "flush_interval -1", "health_uri /readyz"},
		"deploy/Dockerfile":              {"FROM golang:1.26 ", "FROM scratch", "\nUSER 65532:65532\n", "XDG_STATE_HOME=/workspace\n"},
		"deploy/Dockerfile.dockerignore": {"\n*\n"}, // and then what may be in a layer: no secrets
	} {
		text := read(t, name)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
	}
}

// manifest is what the test needs of a document for Kubernetes.
type manifest struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Name, Image string
					Args        []string
					Env         []struct{ Name, Value string }
				}
			}
		}
	}
}

// The golden files of tools/chart are what the chart renders.
func TestTheChartStartsWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	count := 0
	for _, name := range files(t) {
		if path.Dir(name) != "tools/chart/testdata/golden" {
			continue
		}
		decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
		for {
			var m manifest
			err := decoder.Decode(&m)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, c := range m.Spec.Template.Spec.Containers {
				if c.Name != "ohgw" && c.Name != "migrate" {
					continue
				}
				count++
				env := map[string]string{}
				for _, v := range c.Env {
					env[v.Name] = strings.ReplaceAll(v.Value, "$(POD_IP)", "10.0.0.1")
				}
				gateway{name + ", " + c.Name, c.Args, env}.check(t)
			}
		}
	}
	if count < 7 {
		t.Errorf("the golden files have only %d containers of ohgw", count)
	}
}
