//go:build unix

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

const situationKey = "sk-situation-0123456789"

// newSituationLLM is a scripted LLM; its base URL.
func newSituationLLM(t *testing.T) string {
	t.Helper()
	s, err := llmtest.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.URL
}

// newRefusing returns an address of this machine that refuses connections, and that no
// other process gets meanwhile.
func newRefusing(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// remote makes the scripted LLM look like a provider elsewhere: a proxy leads
// to it. It wants a key where key is not empty.
func (m *machine) remote(name, key string) {
	m.t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"object":"list","data":[{"id":"test"}]}`)
	}))
	m.t.Cleanup(proxy.Close)
	m.env["HTTP_PROXY"] = proxy.URL
	m.profile(name, `{"model": "openai/test", "base_url": "http://llm.example/v1"}`)
}

// store stores a key as a person does.
func (m *machine) store(name string) {
	m.t.Helper()
	if _, all := m.shell("ohgw keys set "+name, situationKey); !strings.Contains(all, "is in the") {
		m.t.Fatal(all)
	}
}

// listen takes an address until the end of the test.
func (m *machine) listen() string {
	m.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// ollama is the address of a model server that answers from "ollama serve" on.
func (m *machine) ollama() string {
	m.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		m.t.Fatal(err)
	}
	started, serving := m.path("started"), m.path("serving")
	m.program("ollama", fmt.Sprintf("touch %s\nfor i in $(seq 600); do [ -e %s ] && exit; sleep 0.1; done\n", started, serving))
	var wait sync.WaitGroup
	wait.Go(func() { // ends with the test
		waittest.Poll(time.Hour, func() bool { // until the test ends
			_, err := os.Stat(started)
			return err == nil || m.t.Context().Err() != nil
		})
		if m.t.Context().Err() != nil {
			return
		}
		server, err := llmtest.Start(addr)
		if err != nil {
			m.t.Error(err)
			return
		}
		m.t.Cleanup(server.Close)
		if err := os.WriteFile(serving, nil, 0o600); err != nil {
			m.t.Error(err)
		}
	})
	m.t.Cleanup(wait.Wait)
	return addr
}

// expired is a TLS server with a certificate of last year.
func (m *machine) expired() string {
	m.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		m.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		m.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	m.t.Cleanup(server.Close)
	return server.URL
}

// withoutBash is a PATH with everything but bash, and a sudo that installs it.
func (m *machine) withoutBash() {
	m.t.Helper()
	for _, name := range []string{"ohgw", "git", "ln", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			m.t.Skip(err)
		}
		if err := os.Symlink(path, m.path("bin/"+name)); err != nil {
			m.t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		m.t.Skip(err)
	}
	m.program("sudo", "exec ln -sf "+bash+" "+m.path("bin/bash")+"\n")
	m.env["PATH"] = m.path("bin")
}

func chmod(rel string, mode os.FileMode) func(*machine) {
	return func(m *machine) {
		if err := os.Chmod(m.path(rel), mode); err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(func() { _ = os.Chmod(m.path(rel), 0o700) })
	}
}

// situations is the table.
func situations() []situation {
	const state, config = "home/.local/state/ohgw", "home/.config/ohgw"
	return append(providerSituations(), []situation{
		{
			name: "no profile", breaks: func(m *machine) {
				for _, name := range []string{"oh/profiles/work.json", "oh/settings.json"} {
					if err := os.Remove(m.path(name)); err != nil {
						m.t.Fatal(err)
					}
				}
			},
			check: "profiles", finding: "there is no LLM profile", command: "ohgw profiles add",
			types: func(c string) string { return c + ` work --model openai/test --base-url "$ANSWER"` },
		},
		{name: "no profile is active", breaks: func(m *machine) { m.write("oh/settings.json", `{}`) }, check: "key", finding: "no profile is active", command: "ohgw profiles use work"},
		{
			name: "the active profile is gone", breaks: func(m *machine) { m.write("oh/settings.json", `{"active_profile": "gone"}`) },
			check: "profiles", finding: `the active profile "gone" does not exist`, command: "ohgw profiles use work",
		},
		{
			name: "a key in clear text in settings.json", breaks: func(m *machine) {
				entry := `{"model": "openai/test", "base_url": "` + m.llm + `", "api_key": "` + situationKey + `"}`
				m.write("oh/profiles/work.json", entry)
				m.write("oh/settings.json", `{"active_profile": "work", "agent_settings": {"llm": `+entry+`}}`)
			},
			check: "profiles", finding: "of the active profile work is not encrypted in the settings", command: "ohgw keys import --remove-from-profile work",
		},
		{
			name: "broken JSON in a profile", breaks: func(m *machine) {
				m.write("oh/profiles/bad.json", `{"model": "openai/te`)
				m.editor(`{"model": "openai/test"}`)
			},
			check: "profiles", finding: "bad: .*JSON", command: "${EDITOR:-vi} $DIR/oh/profiles/bad.json", after: `profiles\t(2 profiles|bad: there is no key)`,
		},
		{
			name: "a profile in LiteLLM's form", breaks: func(m *machine) {
				m.env["HTTPS_PROXY"] = "http://" + m.refusing
				m.profile("work", `{"model": "litellm_proxy/claude-opus-5", "base_url": "https://llm-proxy.app.all-hands.dev/"}`)
			},
			check: "profiles", finding: "is written in an old form", command: "ohgw profiles migrate",
		},
		{
			name: "a locked keyring", breaks: func(m *machine) {
				m.store("work")
				m.write("keyring/locked", "")
			},
			check: "keyring", finding: "the keyring does not answer; it may be locked", command: "ohgw keys set work --key-store file", stdin: situationKey,
		},
		{
			name: "an unknown key in config.toml", breaks: func(m *machine) {
				m.write(config+"/config.toml", "adr = \"127.0.0.1:0\"\n")
				m.editor(`addr = "127.0.0.1:0"`)
			},
			check: "config", finding: "adr.*did you mean addr", command: `${EDITOR:-vi} "$(ohgw config path)"`,
		},
		{
			name: "half of a config.toml", breaks: func(m *machine) {
				m.write(config+"/config.toml", "addr = \"127.0.0.1:0\n")
				m.editor(`addr = "127.0.0.1:0"`)
			},
			check: "config", finding: "is not valid", command: `${EDITOR:-vi} "$(ohgw config path)"`,
		},
		{
			name: "others can write config.toml", breaks: func(m *machine) {
				m.write(config+"/config.toml", "")
				chmod(config+"/config.toml", 0o666)(m)
			},
			check: "config", finding: "other users can change", command: "chmod go-w $DIR/" + config + "/config.toml",
		},
		{name: "a config directory without rights", breaks: chmod(config, 0), check: "paths", finding: "you cannot read .* .mode 0000", command: "chmod u+rwx $DIR/" + config},
		{name: "others can write the state directory", breaks: chmod(state, 0o777), check: "paths", finding: "other users can write to", command: "chmod 700 $DIR/" + state},
		{
			name: "others can read the names of the keys", breaks: func(m *machine) {
				m.write(state+"/key-names.json", "{}")
				chmod(state+"/key-names.json", 0o644)(m)
			},
			check: "paths", finding: "other users can read", command: "chmod 600 $DIR/" + state + "/key-names.json",
		},
		{
			name: "a file in place of the state directory", breaks: func(m *machine) {
				if err := os.Remove(m.path(state)); err != nil {
					m.t.Fatal(err)
				}
				m.write(state, "")
			},
			check: "paths", finding: "is not a directory", command: "mv $DIR/" + state + " $DIR/" + state + ".old",
		},
		{
			name: "the port is taken", breaks: func(m *machine) { m.env["OHGW_ADDR"] = m.listen() },
			check: "port", finding: "is in use by", command: "ohgw serve --addr 127.0.0.1:0", serves: true, after: `ok\tport\tyour daemon has another port`,
		},
		{
			name: "another user's ohgw has the port", breaks: func(m *machine) {
				other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ohgw: this is another one") }))
				m.t.Cleanup(other.Close)
				m.env["OHGW_ADDR"] = strings.TrimPrefix(other.URL, "http://")
			},
			check: "port", finding: "is in use by another user's ohgw", command: "ohgw serve --addr 127.0.0.1:0", serves: true, after: `ok\tport\tyour daemon has another port`,
		},
		{
			name: "the agent-server is down", breaks: func(m *machine) {
				m.env["OHGW_AGENT_SERVER_URL"] = "http://" + m.refusing
				delete(m.env, "OHGW_BACKEND")
			},
			check: "backend", finding: "cannot be used", command: "export OHGW_BACKEND=embedded",
		},
		{
			name: "the agent-server wants another key", breaks: func(m *machine) {
				s := fakeserver.New(m.t, fakeserver.Options{Model: parrot, Key: "right-key"})
				m.env["OHGW_AGENT_SERVER_URL"], m.env["OHGW_AGENT_SERVER_KEY"] = s.URL, "wrong-key"
				delete(m.env, "OHGW_BACKEND")
			},
			check: "backend", finding: "rejected the key", command: "export OHGW_AGENT_SERVER_KEY=KEY",
			types: func(c string) string { return strings.Replace(c, "=KEY", "=right-key", 1) },
		},
		{
			name: "the agent-server is too old", breaks: func(m *machine) {
				s := fakeserver.New(m.t, fakeserver.Options{Model: parrot, Version: "1.20.0"})
				m.env["OHGW_AGENT_SERVER_URL"] = s.URL
				delete(m.env, "OHGW_BACKEND")
			},
			check: "backend", finding: "older than 1.22", command: "export OHGW_BACKEND=embedded",
		},
		{name: "bash is not installed", breaks: (*machine).withoutBash, check: "engine", finding: "bash.* is not installed", command: "sudo apt-get install -y bash"},
		{name: "a locale without UTF-8", breaks: func(m *machine) { m.env["LC_ALL"] = "C" }, check: "machine", finding: "the locale is not UTF-8", command: "export LC_ALL=C.UTF-8"},
		{
			name: "the address of a daemon that was killed", breaks: func(m *machine) {
				m.write("run/ohgw/daemon.json", `{"addr": "`+m.refusing+`", "pid": 999999}`)
			},
			check: "daemon", finding: "no daemon is running; ohgw serve starts one", command: "ohgw serve", after: "skipped\tdaemon",
			types: func(string) string { return ":" }, // nothing needs a repair
		},
	}...)
}

// providerSituations are those that show when the provider is asked.
func providerSituations() []situation {
	return []situation{
		{
			name: "the model server is down", breaks: func(m *machine) {
				m.profile("work", `{"model": "ollama_chat/test", "base_url": "http://`+m.ollama()+`"}`)
			},
			check: "provider", finding: "127.0.0.1:[0-9]+ refuses connections", command: "ollama serve",
		},
		{name: "a wrong key", breaks: func(m *machine) {
			m.remote("work", situationKey)
			if _, all := m.shell("ohgw keys set work", "sk-wrong-0123456789"); !strings.Contains(all, "is in the") {
				m.t.Fatal(all)
			}
		}, check: "provider", finding: "Incorrect API key", command: "ohgw keys set work --replace", stdin: situationKey},
		{name: "no key", breaks: func(m *machine) { m.remote("work", situationKey) }, check: "key", finding: "has no key", command: "ohgw keys set work", stdin: situationKey},
		{
			name: "a key for another host", breaks: func(m *machine) {
				m.remote("work", situationKey)
				m.store("provider:openai")
			},
			check: "key", finding: "is only sent to that provider's hosts", command: "ohgw keys set work", stdin: situationKey,
		},
		{
			name: "a model that the provider does not have", breaks: func(m *machine) { m.profile("work", `{"model": "openai/tets", "base_url": "`+m.llm+`"}`) },
			check: "provider", finding: "does not list the model tets", command: "ohgw profiles add work --replace --base-url $LLM --model openai/test",
		},
		{
			name: "a base URL without http", breaks: func(m *machine) {
				m.profile("work", `{"model": "openai/test", "base_url": "`+strings.TrimPrefix(m.llm, "http://")+`"}`)
			},
			check: "profiles", finding: "the base URL .* needs http:// or https://", command: "ohgw profiles add work --replace",
			types: func(c string) string { return c + ` --model openai/test --base-url "$ANSWER"` },
		},
		{
			name: "https for a server that speaks http", breaks: func(m *machine) {
				m.profile("work", `{"model": "openai/test", "base_url": "`+strings.Replace(m.llm, "http:", "https:", 1)+`"}`)
			},
			check: "provider", finding: "does not speak TLS", command: "ohgw profiles add work --replace --model openai/test --base-url $LLM",
		},
		{
			name: "an expired certificate", breaks: func(m *machine) { m.profile("work", `{"model": "openai/test", "base_url": "`+m.expired()+`/v1"}`) },
			check: "provider", finding: "certificate has expired", command: "date", after: "certificate has expired", // only the server's owner can renew it
		},
		{
			name: "a proxy that is down", breaks: func(m *machine) {
				m.env["HTTP_PROXY"] = "http://" + m.refusing
				m.env["OPENAI_API_KEY"] = situationKey
				m.profile("work", `{"model": "openai/test", "base_url": "http://localhost.example/v1", "api_key": "`+situationKey+`"}`)
			},
			check: "provider", finding: "the proxy 127.0.0.1:[0-9]+ refuses connections", command: "export NO_PROXY=localhost.example", after: "no such host|misbehaving|network is unreachable",
		},
	}
}
