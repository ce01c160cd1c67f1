package presets

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// questions are how the tools of each preset are asked.
var questions = map[string]func(context.Context, *question){
	"go": askGo, "node": askNode, "python": askPython, "rust": askRust, "java": askJava, "system": askSystem, "github": askGitHub,
}

// What tools have built in and cannot report. Each is the whole of what the tool
// needs to download, and none of it accepts uploads.
var (
	// The Cargo Book, "Registries": the sparse index, and the "dl" of its config.json.
	cargoHosts = []string{"index.crates.io", "static.crates.io"}
	// Maven's super POM: the repository "central".
	mavenHosts = []string{"repo.maven.apache.org"}
	// GitHub's documentation, "About GitHub's use of your data", and api.github.com/meta
	// ("domains"). It also accepts pushes.
	gitHubHosts = []string{"github.com", "github.com:22", "*.github.com:443", "*.githubusercontent.com:443"}
)

// askGitHub has no tool to ask.
func askGitHub(_ context.Context, q *question) {
	for _, host := range gitHubHosts {
		e, err := netpolicy.ParseEntry(host)
		if q.problem(err); err == nil {
			e.From = "@" + q.preset
			q.found.Entries = append(q.found.Entries, e)
		}
	}
}

// askGo asks for the proxies and the checksum database.
func askGo(ctx context.Context, q *question) {
	out, err := q.ask(ctx, "go", "env", "-json", "GOPROXY", "GOSUMDB")
	var set struct {
		GOPROXY string `json:"GOPROXY"`
		GOSUMDB string `json:"GOSUMDB"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &set)
	}
	if q.problem(err); err != nil {
		return
	}
	var proxies []string
	for part := range strings.FieldsFuncSeq(set.GOPROXY, func(r rune) bool { return r == ',' || r == '|' }) {
		if clean := q.url(ctx, part, "GOPROXY"); clean != "" {
			proxies = append(proxies, clean)
		} else if part = strings.TrimSpace(part); part == "off" || part == "direct" {
			proxies = append(proxies, part)
		}
	}
	q.set("GOPROXY", strings.Join(proxies, ","))
	// "off", NAME, NAME+KEY, or NAME+KEY URL.
	fields := strings.Fields(set.GOSUMDB)
	if len(fields) == 0 || fields[0] == "off" {
		return
	}
	name, _, _ := strings.Cut(fields[0], "+")
	if len(fields) > 1 {
		q.url(ctx, fields[1], "GOSUMDB")
	} else {
		q.url(ctx, "https://"+name, "GOSUMDB")
	}
	if !strings.Contains(set.GOSUMDB, "@") {
		q.set("GOSUMDB", set.GOSUMDB)
	}
}

// askNode asks for the registry, and for those of single scopes.
func askNode(ctx context.Context, q *question) {
	out, err := q.ask(ctx, "npm", "config", "list", "--json", "--location=global")
	settings := map[string]any{}
	if err == nil {
		_, object, _ := strings.Cut(out, "{") // warnings may stand in front
		if err = json.Unmarshal([]byte("{"+object), &settings); err != nil {
			err = fmt.Errorf("ask npm config list: %w", err)
		}
	}
	if q.problem(err); err != nil {
		return
	}
	for name, value := range settings {
		address, isText := value.(string)
		if !isText || name != "registry" && !strings.HasSuffix(name, ":registry") {
			continue
		}
		clean := q.url(ctx, address, "npm's "+name)
		if name == "registry" {
			q.set("NPM_CONFIG_REGISTRY", clean)
		}
	}
	slices.SortFunc(q.found.Entries, func(a, b netpolicy.Entry) int { return strings.Compare(a.String(), b.String()) })
}

// pipSetting is a line of `pip config list`, such as global.index-url='https://…'.
var pipSetting = pattern.Of(`(?m)^(\S*)\.(index-url|extra-index-url|find-links)='([^'\n]*)'`)

// pipAtOnce prints where pip is and what it is set to, which by pip's own commands are two
// starts of Python.
const pipAtOnce = `import os, runpy, sys, pip
print("pip", pip.__version__, "from", os.path.dirname(pip.__file__), "(python)", flush=True)
sys.argv = ["pip", "config", "list"]
runpy.run_module("pip", run_name="__main__", alter_sys=True)`

// askPip asks pip for its version and its settings.
func (q *question) askPip(ctx context.Context) (string, error) {
	pip, none := q.find("pip3")
	python := "python3"
	if none == nil {
		python = q.pythonOf(pip)
	}
	if python != "" {
		out, err := q.ask(ctx, python, "-c", pipAtOnce)
		_, exit := errors.AsType[*sandbox.ExitError](err)
		if err == nil || !exit {
			return out, err
		}
		if none != nil {
			return "", nil //nolint:nilerr // Python is there without pip.
		}
	}
	var out [2]string
	var errs [2]error
	var wait sync.WaitGroup
	for i, args := range [][]string{{"--version"}, {"config", "list"}} {
		wait.Go(func() { out[i], errs[i] = q.ask(ctx, "pip3", args...) })
	}
	wait.Wait()
	return out[0] + "\n" + out[1], errors.Join(errs[:]...)
}

// pythonOf is the Python of a program of pip, as its first line names it, or the one
// beside it; "" if neither is known.
func (q *question) pythonOf(pip string) string {
	line, _, _ := strings.Cut(string(q.read(pip)), "\n")
	if fields := strings.Fields(strings.TrimPrefix(line, "#!")); strings.HasPrefix(line, "#!") && len(fields) > 0 &&
		filepath.IsAbs(fields[0]) && strings.HasPrefix(filepath.Base(fields[0]), "python") {
		return fields[0]
	}
	if beside, err := exec.LookPath(filepath.Join(filepath.Dir(pip), "python3")); err == nil {
		return beside
	}
	return ""
}

// indexDefault is the line of pip's help with the index that is set, or built in.
var indexDefault = pattern.Of(`--index-url\b[^(]*\(default\s+(\S+?)\)`)

// pipIndexOf finds the index that pip uses: the last of its settings, in the order in which
// they count, or the one that it has built in.
func (q *question) pipIndexOf(ctx context.Context, said string) string {
	index, rank := "", -1
	for _, m := range pipSetting().FindAllStringSubmatch(said, -1) {
		if at := slices.Index([]string{"global", "download", "install", ":env:"}, m[1]); m[2] == "index-url" && at > rank {
			index, rank = m[3], at
		}
	}
	if index != "" {
		return index
	}
	if known := q.pipKnows(said); len(known) > 0 {
		return strings.TrimSuffix(known[0][1], "/") + "/simple"
	}
	help, err := q.ask(ctx, "pip3", "download", "--help")
	if err != nil {
		help, err = q.ask(ctx, "python3", "-m", "pip", "download", "--help")
	}
	if q.problem(err); err != nil {
		return ""
	}
	if m := indexDefault().FindStringSubmatch(help); m != nil {
		return m[1]
	}
	return ""
}

// askPython asks pip, and reads what uv is set to.
func askPython(ctx context.Context, q *question) {
	settings, err := q.askPip(ctx)
	index := ""
	if q.problem(err); err == nil && strings.TrimSpace(settings) != "" {
		index = q.pipIndexOf(ctx, settings)
		clean := q.url(ctx, index, "pip's index-url")
		q.set("PIP_INDEX_URL", clean)
		q.set("UV_DEFAULT_INDEX", clean)
		q.pipFiles(ctx, settings, clean)
	}
	var extra []string
	for _, m := range pipSetting().FindAllStringSubmatch(settings, -1) {
		if m[3] == index {
			continue // it is there already
		}
		for address := range strings.FieldsSeq(strings.ReplaceAll(m[3], `\n`, " ")) {
			if clean := q.url(ctx, address, "pip's "+m[2]); clean != "" && m[2] == "extra-index-url" {
				extra = append(extra, clean)
			}
		}
	}
	q.set("PIP_EXTRA_INDEX_URL", strings.Join(extra, " "))
	var uv struct {
		IndexURL string   `toml:"index-url"`
		Extra    []string `toml:"extra-index-url"`
		Index    []struct{ URL string }
	}
	if q.toml(filepath.Join(q.configHome(), "uv", "uv.toml"), &uv) {
		for _, index := range uv.Index {
			uv.Extra = append(uv.Extra, index.URL)
		}
		for _, address := range append(uv.Extra, uv.IndexURL) {
			q.url(ctx, address, "uv.toml")
		}
	}
}

// pipPlace is the package of pip in the line of pip --version.
var pipPlace = pattern.Of(`(?m)^pip \S+ from (.+) \(python`)

// pipIndex is an index that pip has built in, with the host of its files.
var pipIndex = pattern.Of(`PackageIndex\(\s*"(https?://[^"\s]+)",\s*file_storage_domain="([^"\s]+)"`)

// pipKnows are the indexes that pip has built in, each with its address and the host of its
// files.
func (q *question) pipKnows(said string) [][]string {
	place := pipPlace().FindStringSubmatch(said)
	if place == nil || !filepath.IsAbs(place[1]) {
		return nil
	}
	return pipIndex().FindAllStringSubmatch(string(q.read(filepath.Join(place[1], "_internal", "models", "index.py"))), -1)
}

// pipFiles allows the host of the files of a public index, which pip has built in
// and no option shows. Other indexes name their own files' hosts in their pages.
func (q *question) pipFiles(ctx context.Context, said, index string) {
	set, err := url.Parse(index)
	if err != nil {
		return
	}
	for _, m := range q.pipKnows(said) {
		if known, err := url.Parse(m[1]); err == nil && known.Host == set.Host {
			q.constant(ctx, m[2])
		}
	}
}

// configHome is the directory with the user's settings.
func (q *question) configHome() string {
	if dir := q.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(q.asker.cfg.Home, ".config")
}

// toml reads a file, if there is one.
func (q *question) toml(path string, into any) bool {
	data := q.read(path)
	if len(data) == 0 {
		return false
	}
	if err := toml.Unmarshal(data, into); err != nil {
		q.problem(fmt.Errorf("read %s: it is not TOML", path)) // the error may quote a token
		return false
	}
	return true
}

// askRust reads cargo's settings: cargo itself has no stable command that shows
// them.
func askRust(ctx context.Context, q *question) {
	if _, err := q.find("cargo"); err != nil {
		return
	}
	home := q.env("CARGO_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(q.asker.cfg.Home, ".cargo")
	}
	type source struct {
		Registry    string
		ReplaceWith string `toml:"replace-with"`
	}
	var set struct {
		Source     map[string]source
		Registries map[string]struct{ Index string }
	}
	if !q.toml(filepath.Join(home, "config.toml"), &set) {
		q.toml(filepath.Join(home, "config"), &set)
	}
	for name, r := range set.Registries {
		q.url(ctx, r.Index, "cargo's registries."+name)
	}
	name := "crates-io"
	for range len(set.Source) + 1 { // sources may replace each other in a circle
		next := set.Source[name].ReplaceWith
		if next == "" {
			break
		}
		name = next
	}
	if name == "crates-io" && set.Source[name].Registry == "" {
		q.constant(ctx, cargoHosts...)
		return
	}
	q.url(ctx, set.Source[name].Registry, "cargo's source."+name)
	if r, ok := set.Registries[name]; ok {
		q.url(ctx, r.Index, "cargo's registries."+name)
	}
}

// askJava reads Maven's settings. Gradle's mavenCentral() is the same repository.
func askJava(ctx context.Context, q *question) {
	_, maven := q.find("mvn")
	_, gradle := q.find("gradle")
	_, java := q.find("java")
	if maven != nil && gradle != nil && java != nil {
		return
	}
	var set struct {
		Mirrors []struct {
			URL string `xml:"url"`
			Of  string `xml:"mirrorOf"`
		} `xml:"mirrors>mirror"`
		Repositories []string `xml:"profiles>profile>repositories>repository>url"`
		Plugins      []string `xml:"profiles>profile>pluginRepositories>pluginRepository>url"`
	}
	path := filepath.Join(q.asker.cfg.Home, ".m2", "settings.xml")
	if data := q.read(path); len(data) > 0 {
		if err := xml.Unmarshal(data, &set); err != nil {
			q.problem(fmt.Errorf("read %s: it is not XML", path)) // the file may have passwords
			return
		}
	}
	central := true
	for _, m := range set.Mirrors {
		q.url(ctx, m.URL, "Maven's mirror")
		of := strings.Split(strings.ReplaceAll(m.Of, " ", ""), ",")
		all := slices.Contains(of, "*") || slices.Contains(of, "external:*")
		if slices.Contains(of, "central") || all && !slices.Contains(of, "!central") {
			central = false
		}
	}
	for _, address := range append(set.Repositories, set.Plugins...) {
		q.url(ctx, address, "Maven's repository")
	}
	if central {
		q.constant(ctx, mavenHosts...)
	}
}

// askSystem asks apt for its sources, or reads those of apk. Inside, an agent has
// not the rights to install packages; it can download them.
func askSystem(ctx context.Context, q *question) {
	out, err := q.ask(ctx, "apt-get", "indextargets", "--format", "$(SITE)")
	q.problem(err)
	for address := range strings.FieldsSeq(out) {
		q.url(ctx, address, "apt's sources")
	}
	for line := range strings.Lines(string(q.read(filepath.Join(q.asker.cfg.Root, "etc/apk/repositories")))) {
		q.url(ctx, line, "apk's repositories")
	}
}
